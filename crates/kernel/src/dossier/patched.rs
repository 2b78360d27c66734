//! A tree with a patch applied, as GNU patch does it. What does not apply is left out and reported.

use crate::gnu::{Placement, apply, place};
use crate::lines::split;
use crate::port::{Obstacle, patch_target};
use crate::series::{Change, FilePatch};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Files of a tree by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Applies the patch of one file; returns what is left out of it, and why. `files` must contain all files of the tree
/// that the patch names.
pub fn patch_file(files: &mut Files, file: &FilePatch) -> Option<String> {
    if file.is_link() {
        return Some(format!("{}: it is a symbolic link; it is left out", file.path()));
    }
    let Ok(patch_target) = patch_target(file, &mut |path| Ok::<_, Infallible>(files.get(path).cloned()));
    let (path, change) = (patch_target.path.as_str(), patch_target.change);
    if let Some(obstacle) = patch_target.obstacle {
        let to = file.new.as_deref().filter(|_| matches!(change, Change::Renamed | Change::Copied));
        let why = match obstacle {
            Obstacle::NoFile => "the tree has no such file".to_owned(),
            Obstacle::Exists => format!("the tree has {} already", to.unwrap_or("that file")),
        };
        return Some(format!("{path}: {why}; what the patch does to it is left out"));
    }
    let (made, missed) = match change {
        Change::Created => (file.hunks.iter().flat_map(|hunk| hunk.new_side().concat()).collect(), 0),
        _ => patched(file, &patch_target.text.unwrap_or_default()),
    };
    let said = said(path, change, &made, [missed, file.hunks.len()]);
    store(files, file, path, change, made);
    said
}

/// The text with the hunks that apply, and the number of those that do not.
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
