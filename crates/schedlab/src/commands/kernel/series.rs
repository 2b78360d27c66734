//! Reads patches from files, from folders in the order of quilt's `series` file or of the names, and from commits.

use super::checkout::{cut, git, given};
use crate::input;
use crate::output::say;
use anyhow::{Context, Result, bail};
use schedlab_kernel::{Patch, parse, quilt};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The patches of a folder, in order; at least one, and all of them.
pub(in crate::commands) fn in_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    listed(folder)?.into_iter().collect()
}

/// The patches of a folder, in order, and the entries of its `series` file that cannot be applied; at least one.
fn listed(folder: &Path) -> Result<Vec<Result<PathBuf>>> {
    let list = folder.join("series");
    let found: Vec<Result<PathBuf>> = match input::regular(&list) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text);
            let entry = |entry: Result<&str, _>| {
                entry.map(|name| folder.join(name)).with_context(|| list.display().to_string())
            };
            let entries: Vec<_> = quilt(&text).map(entry).collect();
            if entries.is_empty() {
                bail!("{} names no patch", list.display());
            }
            entries
        }
        Err(error) if error.kind() == ErrorKind::NotFound => by_name(folder)?.into_iter().map(Ok).collect(),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", list.display())),
    };
    if found.is_empty() {
        bail!("{} holds no *.patch or *.diff and no series file", folder.display());
    }
    Ok(found)
}

/// The content of a patch file, or of each patch of a folder, with its name. Patches of a folder that cannot be read are
/// reported and left out; it is an error if all are.
pub(super) fn texts(path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    if !path.is_dir() {
        return Ok(vec![(path.to_owned(), input::bytes(path)?)]);
    }
    let read = |file: Result<PathBuf>| {
        let file = file?;
        let text = input::regular(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        Ok((file, text))
    };
    let (texts, problems): (Vec<_>, Vec<_>) = listed(path)?.into_iter().map(read).partition(Result::is_ok);
    if texts.is_empty() {
        return problems.into_iter().collect();
    }
    for problem in problems.iter().filter_map(|problem: &Result<_>| problem.as_ref().err()) {
        say(format_args!("{problem:#}; it is left out"));
    }
    texts.into_iter().collect()
}

fn by_name(folder: &Path) -> Result<Vec<PathBuf>> {
    let unread = || format!("{} cannot be read as a folder of patches", folder.display());
    let entries = folder.read_dir().with_context(unread)?;
    let mut found: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.retain(|path| path.extension().is_some_and(|end| end == "patch" || end == "diff"));
    found.sort_unstable();
    Ok(found)
}

/// The patches in the files of a series, each with its file, without mails that have no diff, such as cover letters. A
/// file without patches is skipped and reported; it is an error if all are.
pub(super) fn parsed(files: &[(PathBuf, Vec<u8>)]) -> Result<Vec<(PathBuf, Patch)>> {
    let (mut out, mut empty) = (Vec::new(), Vec::new());
    for (file, text) in files {
        let before = out.len();
        let found = parse(text).into_iter().filter(|patch| !patch.files.is_empty() || !patch.refused.is_empty());
        out.extend(found.map(|patch| (file.clone(), patch)));
        if out.len() == before {
            empty.push(format!("{} contains no diff", file.display()));
        }
    }
    if out.is_empty() {
        bail!("{}; give patches as git format-patch, git diff or diff -u write them", empty.join("; "));
    }
    empty.iter().for_each(|said| say(format_args!("{said}; it is skipped")));
    Ok(out)
}

/// A commit, or the commits of a range `A..B` without merges, oldest first, in the format of `git format-patch`.
pub(super) fn mails(tree: &Path, range: &str) -> Result<Vec<u8>> {
    let ids = match range.split_once("..") {
        Some((from, _)) => {
            let ids = [last_of(tree, range)?, format!("^{}", given(tree, from)?)];
            git(tree, &["rev-list", "--reverse", "--topo-order", "--no-merges"], &ids, vec![])?
        }
        None => format!("{}\n", given(tree, range)?).into_bytes(),
    };
    if ids.is_empty() {
        bail!("{range} has no commit of {} but merges", tree.display());
    }
    let ids = with_parents(tree, ids)?;
    let shown = ["diff-tree", "--stdin", "--root", "-r", "-p", "-M", "-U3", "--pretty=email", "--no-textconv"];
    let shown = [&shown[..], &["--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/"]].concat();
    git(tree, &[&shown[..], &["--diff-algorithm=myers"]].concat(), &[], ids)
}

/// Without the commits at which a shallow clone ends: git would show each as a patch that adds the whole tree.
fn with_parents(tree: &Path, ids: Vec<u8>) -> Result<Vec<u8>> {
    if cut(tree).is_none() {
        return Ok(ids);
    }
    let kept = git(tree, &["rev-list", "--no-walk=unsorted", "--min-parents=1", "--stdin"], &[], ids.clone())?;
    let is_left_out = |id: &&[u8]| !kept.split(|&b| b == b'\n').any(|other| other == *id);
    for id in ids.split(|&b| b == b'\n').filter(is_left_out) {
        let id = String::from_utf8_lossy(id);
        let way = "its changes are not known (`git fetch --deepen=1` gets its parent)";
        if kept.is_empty() {
            bail!("{}: the shallow clone ends at {id}: {way}", tree.display());
        }
        say(format_args!("{}: the shallow clone ends at {id}: {way}; it is left out", tree.display()));
    }
    Ok(kept)
}

/// The commit, or the newest of the range.
pub(super) fn last_of(tree: &Path, range: &str) -> Result<String> {
    let last = range.split_once("..").map_or(range, |(_, to)| to);
    given(tree, if last.is_empty() { "HEAD" } else { last })
}
