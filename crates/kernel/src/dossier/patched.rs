//! A tree with a patch in it, as GNU patch makes it. What does not apply is left out and named.

use crate::gnu::{Placement, apply, place};
use crate::lines::split;
use crate::series::{Change, FilePatch};
use std::collections::BTreeMap;

/// Files of a tree by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Makes of a file what the patch does; answers what of that is left out, and why. `files` has all that the tree has of
/// the names in the patch. The file is chosen as for a rehearsal.
pub fn patch_file(files: &mut Files, file: &FilePatch) -> Option<String> {
    let (path, change) = meant(files, file);
    if let Some(why) = obstacle(files, file, path, change) {
        return Some(format!("{path}: {why}; what the patch does to it is left out"));
    }
    let text = files.get(path).cloned().unwrap_or_default();
    let (made, missed) = match change {
        Change::Created => (file.hunks.iter().flat_map(|hunk| hunk.new_side().concat()).collect(), 0),
        _ => patched(file, &text),
    };
    let said = said(path, change, &made, [missed, file.hunks.len()]);
    store(files, file, path, change, made);
    said
}

/// The file's name in the tree, and what happens to it there.
fn meant<'a>(files: &Files, file: &'a FilePatch) -> (&'a str, Change) {
    let path = file.path();
    if file.change != Change::Modified || files.contains_key(path) {
        return (path, file.change);
    }
    // `diff -u x.h x.h.new`: the names differ, and the one that exists is meant.
    if let Some(old) = file.old.as_ref().filter(|old| files.contains_key(*old)) {
        return (old, Change::Modified);
    }
    // Lines for line 0 of a missing file create it.
    let makes = file.hunks.first().is_some_and(|hunk| hunk.old_start == 0)
        && file.hunks.iter().all(|hunk| hunk.old_side().is_empty());
    (path, if makes { Change::Created } else { Change::Modified })
}

/// Why nothing of it can be done.
fn obstacle(files: &Files, file: &FilePatch, path: &str, change: Change) -> Option<String> {
    let to = file.new.as_ref().filter(|_| matches!(change, Change::Renamed | Change::Copied));
    match (change, files.get(path), to) {
        // An empty one is filled.
        (Change::Created, text, _) => {
            text.is_some_and(|text| !text.is_empty()).then(|| "the tree has that file already".into())
        }
        (_, None, _) => Some("the tree has no such file".into()),
        (_, Some(_), Some(to)) if files.contains_key(to) => Some(format!("the tree has {to} already")),
        _ => None,
    }
}

/// The text with the hunks that apply, and how many do not.
fn patched(file: &FilePatch, text: &[u8]) -> (Vec<u8>, usize) {
    let lines = split(text);
    let placements = place(&file.hunks, &lines);
    let missed = placements.iter().filter(|placement| !matches!(placement, Placement::At { .. })).count();
    (apply(&file.hunks, &placements, &lines), missed)
}

fn said(path: &str, change: Change, made: &[u8], [missed, hunks]: [usize; 2]) -> Option<String> {
    let stays = change == Change::Deleted && !made.is_empty();
    match (missed, stays) {
        (0, false) => None,
        (0, true) => Some(format!("{path}: it has lines that the patch does not remove, so the file stays")),
        _ => {
            let end = if stays { "; the file stays" } else { "" };
            Some(format!("{path}: {missed} of {hunks} hunks do not apply and are left out{end}"))
        }
    }
}

fn store(files: &mut Files, file: &FilePatch, path: &str, change: Change, made: Vec<u8>) {
    match (change, &file.new) {
        (Change::Renamed | Change::Copied, Some(to)) => {
            if change == Change::Renamed {
                files.remove(path);
            }
            files.insert(to.clone(), made);
        }
        (Change::Deleted, _) if made.is_empty() => _ = files.remove(path),
        _ => _ = files.insert(path.to_owned(), made),
    }
}
