//! The commits of a range and the release that each landed in.

use super::checkout::git;
use super::history::{self, listed};
use super::prerequisites;
use super::steps::{Step, Steps};
use anyhow::Result;
use schedlab_kernel::dossier::{Event, copied_from, references};
use schedlab_kernel::{FilePatch, abbreviated};
use std::collections::HashMap;
use std::path::Path;

/// Commits that are read, and tags that are searched, the oldest first.
const COMMITS: &str = "-n20000";
const TAGS: usize = 500;
/// Commits whose changes are read.
const STEPS: usize = 5000;

/// The commits of `to` that are not in `from` and touch the paths, the oldest first.
pub(super) fn events(tree: &Path, from: &str, to: &str, paths: &[String]) -> Result<Vec<Event>> {
    read(tree, from, &["--reverse", "--no-merges", COMMITS, &format!("{from}..{to}"), "--"], paths)
}

/// These commits in their order; `from` has none of them.
pub(super) fn of(tree: &Path, from: &str, ids: &[String]) -> Result<Vec<Event>> {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    read(tree, from, &[&["--no-walk=unsorted"], &ids[..], &["--"]].concat(), &[])
}

/// The changes of each commit; empty if there are more than are read.
pub(super) fn steps(tree: &Path, events: &[Event]) -> Result<Steps> {
    if events.len() > STEPS {
        return Ok(Steps::default());
    }
    let ids: Vec<String> = events.iter().map(|event| event.id.clone()).collect();
    let changes = prerequisites::changes(tree, &history::by_id(tree, &ids)?)?;
    let step =
        |(event, files): (&Event, Vec<FilePatch>)| Step { label: event.commit.clone(), id: event.id.clone(), files };
    Ok(Steps { all: events.iter().zip(changes).map(step).collect(), checkout: Some(tree.to_owned()) })
}

fn read(tree: &Path, from: &str, which: &[&str], paths: &[String]) -> Result<Vec<Event>> {
    let commits = listed(tree, which, paths)?;
    let released = if commits.is_empty() { HashMap::new() } else { releases(tree, from, paths, commits.len())? };
    let event = |[id, subject, body, date, author]: [String; 5]| Event {
        commit: abbreviated(&id).to_owned(),
        id: id.clone(),
        date,
        author,
        subject,
        release: released.get(&id).cloned(),
        references: references(&body),
        copied_from: copied_from(&body),
    };
    Ok(commits.into_iter().map(event).collect())
}

/// The first tag that contains each commit. Tags are sorted by date, then by version, and only as many are searched as
/// the `wanted` commits need.
fn releases(tree: &Path, from: &str, paths: &[String], wanted: usize) -> Result<HashMap<String, String>> {
    let list = ["-c", "versionsort.suffix=-rc", "for-each-ref", "--sort=version:refname", "--sort=creatordate"];
    let list = [&list[..], &["--format=%(refname)", "--no-merged", from, "refs/tags"]].concat();
    let tags = String::from_utf8_lossy(&git(tree, &list, &[], vec![])?).into_owned();
    let (mut out, mut seen) = (HashMap::new(), vec![from.to_owned()]);
    for tag in tags.lines().take(TAGS) {
        if out.len() >= wanted {
            break;
        }
        let mut asked = vec!["rev-list", tag, "--not"];
        asked.extend(seen.iter().map(String::as_str));
        asked.push("--");
        let landed = git(tree, &asked, paths, vec![])?;
        let name = tag.strip_prefix("refs/tags/").unwrap_or(tag);
        for id in String::from_utf8_lossy(&landed).lines() {
            out.entry(id.to_owned()).or_insert_with(|| name.to_owned());
        }
        seen.push(tag.to_owned());
    }
    Ok(out)
}
