//! What the history of the target contains of the patches, if the target is a checkout; read with the program `git`.

use super::checkout::{cut, git, is_checkout};
use crate::output::say;
use anyhow::{Context, Result};
use schedlab_kernel::{Commit, Patch, apply_reverts, fixed, present};
use schedlab_report::port::History;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Commits that are read, and how many of them with their changes, the newest first.
const COMMITS: usize = 20_000;
const CHANGES: usize = 2_000;
/// Bytes of file names on one command line.
const NAMES: usize = 1 << 20;

/// Reads the commits that touch the files of the series. A tree without history is not an error: then nothing is found.
pub(super) fn read(tree: &Path, patches: &[Patch]) -> History {
    // A tree that was unpacked inside another checkout is not that checkout.
    if !is_checkout(tree) {
        return History::default();
    }
    found(tree, patches).unwrap_or_else(|error| {
        say(format_args!(
            "{} is a checkout whose history cannot be read; patches are known by text alone: {error:#}",
            tree.display()
        ));
        History::default()
    })
}

fn found(tree: &Path, patches: &[Patch]) -> Result<History> {
    let files = patches.iter().flat_map(|patch| &patch.files).flat_map(|file| [&file.old, &file.new]).flatten();
    let files: Vec<String> = files.collect::<BTreeSet<_>>().into_iter().cloned().collect();
    let size: usize = files.iter().map(|file| file.len() + 1).sum();
    anyhow::ensure!(size < NAMES, "the series names {} files, too many for one command line of git", files.len());
    let ids = changes(tree, &files)?;
    let mut commits = commits(tree, COMMITS, &["--no-merges", "HEAD"], &files)?;
    commits.iter_mut().for_each(|commit| commit.patch_id = ids.get(&commit.id).cloned());
    let is_shallow = cut(tree).is_some();
    let ours = of_series(tree, patches)?;
    let one = |(number, patch)| present(patch, ours.get(&name(number)).map(String::as_str), &commits);
    let mut present: Vec<_> = patches.iter().enumerate().map(one).collect();
    apply_reverts(&mut present);
    Ok(History {
        present,
        fixed: patches.iter().map(|patch| fixed(patch, &commits)).collect(),
        is_whole: !is_shallow && commits.len() < COMMITS,
    })
}

/// The newest of these commits that touch the files, without patch ids.
pub(super) fn commits(tree: &Path, most: usize, which: &[&str], files: &[String]) -> Result<Vec<Commit>> {
    let most = format!("-n{most}");
    read_commits(tree, &[&[most.as_str()], which, &["--"]].concat(), files)
}

/// These commits in their order, without patch ids.
pub(super) fn by_id(tree: &Path, ids: &[String]) -> Result<Vec<Commit>> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    if ids.is_empty() {
        Ok(Vec::new())
    } else {
        read_commits(tree, &[&["--no-walk=unsorted"], &ids[..], &["--"]].concat(), &[])
    }
}

fn read_commits(tree: &Path, which: &[&str], files: &[String]) -> Result<Vec<Commit>> {
    let log = listed(tree, which, files)?;
    let commit = |[id, subject, body, _, _]: [String; 5]| Commit { id, subject, body, patch_id: None };
    Ok(log.into_iter().map(commit).collect())
}

/// Id, subject, body, date and author of the commits that `git rev-list` lists.
pub(super) fn listed(tree: &Path, which: &[&str], files: &[String]) -> Result<Vec<[String; 5]>> {
    let log = ["rev-list", "--no-commit-header", "--format=%H%x00%s%x00%b%x00%as%x00%an%x00"];
    let log = git(tree, &[&log[..], which].concat(), files, vec![])?;
    // A commit ends with a zero byte and a newline.
    let mut fields =
        log.split(|&b| b == 0).map(|field| String::from_utf8_lossy(field).trim_start_matches('\n').to_owned());
    let mut next = || Some([fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?]);
    Ok(std::iter::from_fn(&mut next).collect())
}

/// The changes of the commits in a list, each after a line with its id, as in `git format-patch`, whatever the
/// checkout's configuration is. A commit without a parent has none: a shallow clone may have been cut there, and the
/// diff would be the whole tree. For a merge it is the combined diff against all parents.
pub(super) fn diffs(tree: &Path, paths: &[String], commits: Vec<u8>) -> Result<Vec<u8>> {
    let shown = ["diff-tree", "--stdin", "-r", "-p", "--cc", "-M", "-U3", "--no-textconv", "--no-ext-diff"];
    let shown = [&shown[..], &["--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=myers", "--"]].concat();
    git(tree, &shown, paths, commits)
}

/// Patch ids of the newest commits.
fn changes(tree: &Path, files: &[String]) -> Result<HashMap<String, String>> {
    let most = format!("-n{CHANGES}");
    let newest = git(tree, &["rev-list", "--no-merges", &most, "HEAD", "--"], files, vec![])?;
    patch_ids(tree, diffs(tree, &[], newest)?)
}

/// A made-up commit id for patch number `number` of the series.
fn name(number: usize) -> String {
    format!("{number:040x}")
}

fn of_series(tree: &Path, patches: &[Patch]) -> Result<HashMap<String, String>> {
    let mut text = Vec::new();
    for (number, patch) in patches.iter().enumerate() {
        text.extend(format!("commit {}\n", name(number)).bytes());
        patch.files.iter().for_each(|file| text.extend(file.to_bytes()));
    }
    patch_ids(tree, text)
}

/// By commit id.
fn patch_ids(tree: &Path, text: Vec<u8>) -> Result<HashMap<String, String>> {
    let said = git(tree, &["patch-id", "--stable"], &[], text).context("git patch-id")?;
    let said = String::from_utf8_lossy(&said);
    Ok(said.lines().filter_map(|line| line.split_once(' ').map(|(id, of)| (of.to_owned(), id.to_owned()))).collect())
}
