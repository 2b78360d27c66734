//! Two states in a checkout, through the program `git`. Nothing is checked out.

use super::dossier::{Raw, Sides};
use super::trees;
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) fn sides(tree: &Path, range: &str, paths: &[String]) -> Result<Sides> {
    if range.starts_with('-') || range.contains("...") {
        bail!("{range} is no file, commit or range A..B");
    }
    let (from, to) = match range.split_once("..") {
        Some((from, to)) => (from.to_owned(), if to.is_empty() { "HEAD" } else { to }.to_owned()),
        None => (format!("{range}^"), range.to_owned()),
    };
    let commit = |name: &str| -> Result<String> {
        let asked = format!("{name}^{{commit}}");
        let answer = git(tree, &["rev-parse", "--verify", "--quiet", "--end-of-options", &asked], &[]);
        let answer =
            answer.with_context(|| format!("{name} is no commit of {} (a shallow clone has few)", tree.display()))?;
        Ok(String::from_utf8_lossy(&answer).trim().to_owned())
    };
    let ids = [commit(&from)?, commit(&to)?];
    let changed = git(tree, &["diff", "--name-only", "--no-ext-diff", "-z", &ids[0], &ids[1]], &[])?;
    let changed: Vec<String> = names(&changed);
    let paths = if paths.is_empty() { trees::folders(changed.iter().map(String::as_str)) } else { paths.to_vec() };
    let span = format!("{}..{}", ids[0], ids[1]);
    let log = git(tree, &["log", "--reverse", "--no-merges", "--format=%h %as %an: %s", &span, "--"], &paths)?;
    let commits = String::from_utf8_lossy(&log).lines().map(str::to_owned).collect();
    let files = [files(tree, &ids[0], &paths)?, files(tree, &ids[1], &paths)?];
    Ok(Sides { names: [from, to], files, paths, commits, problems: Vec::new() })
}

fn names(list: &[u8]) -> Vec<String> {
    list.split(|&b| b == 0).filter(|n| !n.is_empty()).map(|n| String::from_utf8_lossy(n).into_owned()).collect()
}

/// The files of a commit, in the order of their paths.
fn files(tree: &Path, commit: &str, paths: &[String]) -> Result<Vec<Raw>> {
    let list = git(
        tree,
        &["ls-tree", "-r", "-z", "--full-tree", "--format=%(objecttype) %(objectname) %(path)", commit, "--"],
        paths,
    )?;
    let entry = |line: String| {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        Some((words.next().filter(|kind| kind == "blob")?, words.next()?, words.next().filter(|p| trees::is_read(p))?))
    };
    let entries: Vec<(String, String, String)> = names(&list).into_iter().filter_map(entry).collect();
    let asked: String = entries.iter().map(|(_, id, _)| format!("{id}\n")).collect();
    let blobs = answered(tree, &["cat-file", "--batch=%(objectsize)"], asked.into_bytes())?;
    let (mut rest, mut out) = (&blobs[..], Vec::with_capacity(entries.len()));
    for (_, id, path) in entries {
        // A size, a line end, the bytes, a line end.
        let end = rest.iter().position(|&b| b == b'\n');
        let size = end.and_then(|end| std::str::from_utf8(&rest[..end]).ok()?.parse::<usize>().ok());
        let text = end.zip(size).and_then(|(end, size)| rest.get(end + 1..end + 1 + size));
        let text = text.with_context(|| format!("git cat-file has not given {path} ({id})"))?;
        rest = rest.get(end.unwrap_or(0) + text.len() + 2..).unwrap_or_default();
        out.push((path, text.to_vec()));
    }
    Ok(out)
}

fn command(tree: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(tree).args(["--no-pager", "--literal-pathspecs"]).env("GIT_OPTIONAL_LOCKS", "0");
    git
}

pub(super) fn git(tree: &Path, arguments: &[&str], paths: &[String]) -> Result<Vec<u8>> {
    let answer = command(tree).args(arguments).args(paths).output().context("the program git cannot be run")?;
    if !answer.status.success() {
        bail!("git {}: {}", arguments[0], String::from_utf8_lossy(&answer.stderr).trim());
    }
    Ok(answer.stdout)
}

/// What git answers to `input`, written while the answer is read: either may be larger than a pipe.
pub(super) fn answered(tree: &Path, arguments: &[&str], input: Vec<u8>) -> Result<Vec<u8>> {
    let mut git = command(tree);
    let mut child =
        git.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("git cannot be run")?;
    let mut pipe = child.stdin.take().context("git has no input")?;
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let answer = child.wait_with_output()?;
    let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    if !answer.status.success() {
        bail!("git {} failed: {}", arguments[0], answer.status);
    }
    written.context("git has not read what it was asked")?;
    Ok(answer.stdout)
}
