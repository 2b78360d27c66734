//! The commits that belong to a feature: those that change the functions and names that it is made of, those that fix it or
//! take it back, and those that were sent with it.

use crate::dossier::{Event, Reference, fixed, references};
use crate::names::words;
use crate::port::{Commit, section_name};
use crate::series::{FilePatch, Line};
use std::collections::{BTreeMap, BTreeSet};

/// Of the names of a commit those that more commits than this change say nothing.
const COMMON: usize = 20;
/// Names that a commit shares with the one that was asked for, at least.
const SHARED: usize = 2;

/// A commit that belongs to what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Of the candidates, from 0.
    pub candidate: usize,
    /// Names that were asked for, or that a commit that was asked for changes: those it changes as well, the rarest first.
    pub names: Vec<String>,
    /// Lines of its message that lead to another of them: what it fixes, takes back or was sent with.
    pub references: Vec<Reference>,
}

/// Which of the commits, the newest of which comes first, belong to the names or to the commits that were asked for; the
/// oldest first. `changes` are what each does.
pub fn related(
    names: &BTreeSet<String>,
    seeds: &[usize],
    commits: &[Commit],
    changes: &[Vec<FilePatch>],
) -> Vec<Related> {
    let touched: Vec<BTreeSet<&str>> = changes.iter().map(|files| touched(files)).collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    touched.iter().flatten().for_each(|name| *times.entry(name).or_default() += 1);
    let of_seeds: BTreeSet<&str> = seeds.iter().flat_map(|seed| &touched[*seed]).copied().collect();
    let is_asked = |name: &str| names.contains(name);
    let shared = |at: usize| -> Vec<&str> {
        let is_telling = |name: &&str| is_asked(name) || of_seeds.contains(name) && times[name] <= COMMON;
        let mut found: Vec<&str> = touched[at].iter().copied().filter(is_telling).collect();
        found.sort_by_key(|name| (times[name], *name));
        found
    };
    let is_named = |at: usize| {
        let found = shared(at);
        found.len() >= SHARED || found.iter().any(|name| is_asked(name))
    };
    let events: Vec<Event> = commits.iter().map(event).collect();
    let mut members: BTreeSet<usize> =
        (0..commits.len()).filter(|&at| is_named(at)).chain(seeds.iter().copied()).collect();
    // What leads to one of them is one of them, until no more are found.
    loop {
        let is_new = |at: &usize| !members.contains(at) && !leading(*at, &events, &members).is_empty();
        let more: Vec<usize> = (0..commits.len()).filter(is_new).collect();
        if more.is_empty() {
            break;
        }
        members.extend(more);
    }
    let one = |&at: &usize| Related {
        candidate: at,
        names: shared(at).into_iter().map(str::to_owned).collect(),
        references: leading(at, &events, &members),
    };
    members.iter().rev().map(one).collect()
}

fn event(commit: &Commit) -> Event {
    Event { commit: commit.id.clone(), references: references(&commit.body), ..Event::default() }
}

/// The references of a commit that lead to others of these.
fn leading(at: usize, events: &[Event], to: &BTreeSet<usize>) -> Vec<Reference> {
    let others = || to.iter().filter(|other| **other != at).map(|other| &events[*other]);
    let leads = |reference: &&Reference| match reference.kind {
        "Link" => others().any(|other| other.references.contains(reference)),
        _ => {
            let one = Event { references: vec![(*reference).clone()], ..Event::default() };
            others().any(|other| !fixed(&one, std::slice::from_ref(other)).is_empty())
        }
    };
    events[at].references.iter().filter(leads).cloned().collect()
}

/// Functions that the hunks stand in, and names of several words in lines that differ.
fn touched(files: &[FilePatch]) -> BTreeSet<&str> {
    let is_c = |file: &&FilePatch| file.path().ends_with(".c") || file.path().ends_with(".h");
    let hunks = || files.iter().filter(is_c).flat_map(|file| &file.hunks);
    let lines = hunks().flat_map(|hunk| &hunk.lines).filter(|line| !matches!(line, Line::Context(_)));
    let text = |word| std::str::from_utf8(word).ok();
    let names = lines.flat_map(|line| words(line.text())).filter_map(text);
    let names =
        names.filter(|word| word.trim_matches('_').contains('_') && word.starts_with(|c: char| !c.is_ascii_digit()));
    names.chain(hunks().filter_map(|hunk| text(section_name(&hunk.section)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(id: char, body: &str) -> Commit {
        Commit { id: id.to_string().repeat(40), body: body.to_owned(), ..Commit::default() }
    }

    fn change(function: &str, line: &str) -> Vec<FilePatch> {
        let text = format!("--- a/x.c\n+++ b/x.c\n@@ -1,1 +1,2 @@ int {function}(int x)\n \ty;\n+\t{line};\n");
        crate::parse(text.as_bytes()).remove(0).files
    }

    /// The newest first: a fix of the fix, its fix, one that shares a common name only, one of the same thread, the feature.
    #[test]
    fn a_feature_is_what_shares_its_names_and_what_leads_to_it() {
        let link = "Link: https://example.org/thread\n";
        let mut commits = vec![
            commit('e', "Fixes: dddddddddddd (\"fix\")\n"),
            commit('d', "Fixes: aaaaaaaaaaaa (\"feature\")\n"),
            commit('c', ""),
            commit('b', link),
            commit('a', link),
        ];
        let mut changes = vec![
            change("far", "z"),
            change("other", "z"),
            change("wake_up", "z"),
            change("doc", "z"),
            change("wake_wide", "wakee_flips++"),
        ];
        let found = |names: &[&str], seeds: &[usize], commits: &[Commit], changes: &[Vec<FilePatch>]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            related(&names, seeds, commits, changes).iter().map(|one| one.candidate).collect::<Vec<_>>()
        };
        assert_eq!(found(&[], &[4], &commits, &changes), [4, 3, 1, 0]);
        assert_eq!(found(&["wake_up"], &[], &commits, &changes), [2]);
        // One that shares two rare names belongs to it, without a line that says so.
        commits.push(commit('f', ""));
        changes.push(change("wake_wide", "wakee_flips = 0"));
        assert_eq!(found(&[], &[4], &commits, &changes), [5, 4, 3, 1, 0]);
        let why = &related(&BTreeSet::new(), &[4], &commits, &changes)[0];
        assert_eq!(why.names, ["wake_wide", "wakee_flips"]);
    }
}
