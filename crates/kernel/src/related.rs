//! The commits that belong to a feature: those that change its functions and names, those that fix or revert it, and
//! those that were posted with it.

use crate::dossier::{Event, Reference, copied_from, fixed, is_of_one_series, references};
use crate::port::Commit;
use schedlab_plan::InOrder;
use std::collections::{BTreeMap, BTreeSet};

/// A name that more commits than this change tells nothing about a commit.
const COMMON: usize = 20;
/// Least number of names that a commit shares with the given one.
const SHARED: usize = 2;

/// A commit that belongs to the feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Index into the candidates, from 0.
    pub candidate: usize,
    /// The names that it changes and that were given, or that a given commit changes; the rarest first.
    pub names: Vec<String>,
    /// Lines of its message that refer to another commit of the feature: what it fixes, reverts or was posted with.
    pub references: Vec<Reference>,
    /// A given commit fixes or reverts it.
    pub is_fixed: bool,
}

/// Which of `commits`, newest first, belong to the names or to the commits that were given; oldest first. `touched` has
/// the names that each commit changes.
pub fn related(
    names: &BTreeSet<String>,
    seeds: &[usize],
    commits: &[Commit],
    touched: &[BTreeSet<String>],
) -> Vec<Related> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    touched.iter().flatten().for_each(|name| *times.entry(name).or_default() += 1);
    let of_seeds: BTreeSet<&str> = seeds.iter().flat_map(|seed| &touched[*seed]).map(String::as_str).collect();
    let is_asked = |name: &str| names.contains(name);
    let shared = |at: usize| -> Vec<&str> {
        let is_distinctive = |name: &&str| is_asked(name) || of_seeds.contains(name) && times[name] <= COMMON;
        let mut found: Vec<&str> = touched[at].iter().map(String::as_str).filter(is_distinctive).collect();
        found.in_order_by_key(|name| (times[name], *name));
        found
    };
    let is_named = |at: usize| shared(at).into_iter().any(is_asked);
    let events: Vec<Event> = commits.iter().map(event).collect();
    let asked: BTreeSet<usize> = (0..commits.len()).filter(|&at| is_named(at)).chain(seeds.iter().copied()).collect();
    let mut members = asked.clone();
    members.extend((0..commits.len()).filter(|&at| shared(at).len() >= SHARED));
    let fixed_by_given: BTreeSet<usize> = seeds.iter().flat_map(|seed| fixed(&events[*seed], &events)).collect();
    members.extend(&fixed_by_given);
    let leading = |at: usize, members: &BTreeSet<usize>| leading(at, &events, members, &asked);
    // A commit that refers to a member is a member; repeated until no more are found.
    loop {
        let is_new = |at: &usize| !members.contains(at) && !leading(*at, &members).is_empty();
        let more: Vec<usize> = (0..commits.len()).filter(is_new).collect();
        if more.is_empty() {
            break;
        }
        members.extend(more);
    }
    let one = |&at: &usize| Related {
        candidate: at,
        names: shared(at).into_iter().map(str::to_owned).collect(),
        references: leading(at, &members),
        is_fixed: fixed_by_given.contains(&at),
    };
    members.iter().rev().map(one).collect()
}

fn event(commit: &Commit) -> Event {
    let (references, copied_from) = (references(&commit.body), copied_from(&commit.body));
    Event { commit: commit.id.clone(), references, copied_from, ..Event::default() }
}

/// The references of a commit to other members. A mail of the same series counts only if it is that of a given commit,
/// or of one that touches a given name: otherwise each commit that shares a few names would bring in its whole series.
fn leading(at: usize, events: &[Event], to: &BTreeSet<usize>, asked: &BTreeSet<usize>) -> Vec<Reference> {
    let others = || to.iter().filter(|other| **other != at).map(|other| &events[*other]);
    let links = |other: usize| events[other].references.iter().filter(|other| other.kind == "Link");
    let leads = |reference: &&Reference| match reference.kind {
        "Link" => {
            let mut series = asked.iter().filter(|other| **other != at).flat_map(|other| links(*other));
            others().any(|other| other.references.contains(reference))
                || series.any(|other| is_of_one_series(&other.to, &reference.to))
        }
        _ => {
            let one = Event { references: vec![(*reference).clone()], ..Event::default() };
            others().any(|other| !fixed(&one, std::slice::from_ref(other)).is_empty())
        }
    };
    events[at].references.iter().filter(leads).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(id: char, body: &str) -> Commit {
        Commit { id: id.to_string().repeat(40), body: body.to_owned(), ..Commit::default() }
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Newest first: a fix of the fix, the fix, one that shares only a common name, one of the same thread, the
    /// feature.
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
        let mut touched: Vec<BTreeSet<String>> =
            [&["far"][..], &["other"], &["wake_up"], &["doc"], &["wake_wide", "wakee_flips"]].map(names).into();
        let found = |asked: &[&str], seeds: &[usize], commits: &[Commit], touched: &[BTreeSet<String>]| {
            related(&names(asked), seeds, commits, touched).iter().map(|one| one.candidate).collect::<Vec<_>>()
        };
        assert_eq!(found(&[], &[4], &commits, &touched), [4, 3, 1, 0]);
        // The same in a stable tree, where each commit has a different id from the one that the lines name.
        let mut stable = commits.clone();
        for (number, one) in stable.iter_mut().enumerate() {
            one.body += &format!("commit {} upstream.\n", one.id);
            one.id = format!("{number:040}");
        }
        assert_eq!(found(&[], &[4], &stable, &touched), [4, 3, 1, 0]);
        assert_eq!(found(&["wake_up"], &[], &commits, &touched), [2]);
        // A commit that shares two rare names belongs to it even without such a line.
        commits.push(commit('f', ""));
        touched.push(names(&["wake_wide", "wakee_flips"]));
        assert_eq!(found(&[], &[4], &commits, &touched), [5, 4, 3, 1, 0]);
        // What a given commit fixes belongs to it, whatever it changes, and what else leads to that.
        assert_eq!(found(&[], &[0], &commits, &touched), [1, 0]);
        assert!(related(&BTreeSet::new(), &[0], &commits, &touched)[0].is_fixed);
        let why = &related(&BTreeSet::new(), &[4], &commits, &touched)[0];
        assert_eq!(why.names, ["wake_wide", "wakee_flips"]);
    }
}
