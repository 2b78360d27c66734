//! Reads histories: lists, and checkouts, through git's plumbing.

use crate::commands::kernel::{commit, git, write_files};
use crate::exit::usage;
use crate::input;
use anyhow::{Context, Result};
use schedlab_vm::host::build;
use std::path::{Path, PathBuf};

/// A list of comma-separated words, or the lines of a file.
pub(super) fn list(text: &str) -> Result<Vec<String>> {
    let file = Path::new(text);
    if file.is_file() && !text.contains(',') {
        return Ok(lines(&input::text(file)?));
    }
    Ok(text.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect())
}

/// Lines that are neither empty nor comments.
pub(super) fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// The commits from `good` to `bad` along first parents as (id, `id subject`), the good one first.
pub(super) fn commits(checkout: &Path, good: &str, bad: &str) -> Result<Vec<(String, String)>> {
    let (from, to) = (commit(checkout, good)?, commit(checkout, bad)?);
    if from == to {
        usage!("GOOD {good} and BAD {bad} are the same commit: give an older one as GOOD");
    }
    let range = format!("{from}..{to}");
    let format = ["rev-list", "--first-parent", "--reverse", "--no-commit-header", "--format=%H %h %s"];
    let listed = git(checkout, &[&format[..], &[&range]].concat(), &[], vec![])?;
    let first = git(checkout, &[&format[..], &["--max-count=1", &from]].concat(), &[], vec![])?;
    let texts = [first, listed].concat();
    let one = |line: &str| line.split_once(' ').map(|(id, name)| (id.to_owned(), name.to_owned()));
    let commits: Vec<(String, String)> = String::from_utf8_lossy(&texts).lines().filter_map(one).collect();
    let is_before = git(checkout, &["merge-base", "--is-ancestor", &from, &to], &[], vec![]).is_ok();
    if commits.len() < 2 || !is_before {
        usage!("GOOD {good} is not an ancestor of BAD {bad}: exchange them, or use a common ancestor as GOOD");
    }
    Ok(commits)
}

/// Refuses a commit that no kernel can be built from.
pub(super) fn must_be_a_kernel(checkout: &Path, commit: &str) -> Result<()> {
    let files = build::FILES_OF_A_TREE;
    let there = git(checkout, &["ls-tree", "--name-only", "-z", commit, "--"], &files.map(str::to_owned), vec![])?;
    let there = String::from_utf8_lossy(&there);
    match files.iter().find(|file| !there.split('\0').any(|path| path == **file)) {
        Some(file) => {
            usage!("--git {}: {commit:.12} is not a kernel source tree: it has no {file}", checkout.display())
        }
        None => Ok(()),
    }
}

/// The changes of a commit against the good one, as a patch.
pub(super) fn changes(checkout: &Path, from: &str, to: &str) -> Result<Vec<u8>> {
    git(checkout, &["diff-tree", "-p", "--no-ext-diff", "--no-textconv", "--no-renames", from, to], &[], vec![])
}

/// The files of a commit in `place`, extracted once.
pub(super) fn extracted(checkout: &Path, commit: &str, place: &Path) -> Result<PathBuf> {
    let unmade = || format!("{} cannot be made", place.display());
    let (done, tree) = (place.join("commit"), place.join("tree"));
    if std::fs::read_to_string(&done).is_ok_and(|of| of == commit) {
        return Ok(tree);
    }
    let _ = std::fs::remove_dir_all(place);
    std::fs::create_dir_all(&tree).with_context(unmade)?;
    write_files(checkout, commit, &tree)?;
    std::fs::write(&done, commit).with_context(unmade)?;
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_list_is_words_or_a_file() {
        assert_eq!(list("debian:6.1, debian:6.6").unwrap(), ["debian:6.1", "debian:6.6"]);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kernels");
        std::fs::write(&file, "# oldest first\ndebian:6.1\n\ndebian:6.12\n").unwrap();
        assert_eq!(list(file.to_str().unwrap()).unwrap(), ["debian:6.1", "debian:6.12"]);
    }

    #[test]
    fn a_checkout_gives_its_commits_their_changes_and_the_good_tree() {
        let directory = tempfile::tempdir().unwrap();
        let (checkout, place) = (directory.path().join("tree"), directory.path().join("source"));
        std::fs::create_dir(&checkout).unwrap();
        let run = |arguments: &[&str]| {
            let identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"];
            let status = Command::new("git").arg("-C").arg(&checkout).args(identity).args(arguments).output();
            assert!(status.is_ok_and(|output| output.status.success()), "{arguments:?}");
        };
        run(&["init", "-q"]);
        // A filter in the checkout's configuration is a program chosen by the owner of the checkout.
        let ran = directory.path().join("ran");
        run(&["config", "filter.evil.smudge", &format!("touch {}; cat", ran.display())]);
        std::fs::write(checkout.join(".gitattributes"), "*.c filter=evil\n").unwrap();
        std::os::unix::fs::symlink("fair.c", checkout.join("link.c")).unwrap();
        run(&["add", "-A"]);
        for (number, text) in ["one\n", "two\n", "three\n"].iter().enumerate() {
            std::fs::write(checkout.join("fair.c"), text).unwrap();
            run(&["add", "fair.c"]);
            run(&["commit", "-q", "-m", &format!("step {number}")]);
        }
        let found = commits(&checkout, "HEAD~2", "HEAD").unwrap();
        let subjects: Vec<&str> = found.iter().filter_map(|(_, name)| name.split_once(' ')).map(|(_, s)| s).collect();
        assert_eq!(subjects, ["step 0", "step 1", "step 2"]);
        let patch = String::from_utf8(changes(&checkout, &found[0].0, &found[2].0).unwrap()).unwrap();
        assert!(patch.contains("-one\n+three\n"), "{patch}");
        let tree = extracted(&checkout, &found[0].0, &place).unwrap();
        assert_eq!(std::fs::read_to_string(tree.join("fair.c")).unwrap(), "one\n");
        assert_eq!(std::fs::read_link(tree.join("link.c")).unwrap(), Path::new("fair.c"));
        assert_eq!(std::fs::read_to_string(checkout.join("fair.c")).unwrap(), "three\n", "the checkout stays");
        assert!(!ran.exists(), "the checkout's filter ran");
        for (good, bad, needle) in [
            ("HEAD", "HEAD~2", "exchange them"),
            ("HEAD~9", "HEAD", "is not a commit"),
            ("HEAD", "HEAD", "the same commit"),
        ] {
            let why = commits(&checkout, good, bad).unwrap_err().to_string();
            assert!(why.contains(needle), "{good} {bad}: {why}");
        }
    }
}
