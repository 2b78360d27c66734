//! Finds definitions in a hunk that the file already has: they would not compile, and the change is probably there.

use super::adapt::Edit;
use super::series::Finding;
use super::splice::{joined, spliced};
use crate::names::words;
use crate::series::{Hunk, Line};
use crate::source::{code_lines, scan};
use std::collections::BTreeMap;

/// The struct of a member, or an empty string; the name; and its `#if` condition.
type Defined = (String, String, String);

/// What is defined, with the code of each definition.
type Definitions = BTreeMap<Defined, Vec<Vec<String>>>;

/// Records for each hunk that is taken which functions and members it defines a second time; `each` has the edits of
/// these hunks. Such a proposal is withdrawn, because its place was our guess: the hunk is present if it adds nothing
/// else, otherwise left out. Returns whether a proposal was withdrawn.
pub(super) fn twice(
    hunks: &[Hunk],
    findings: &mut [Finding],
    each: &[(usize, Vec<Edit>)],
    whole: &[Edit],
    lines: &[&[u8]],
) -> bool {
    each.iter().for_each(|(number, _)| findings[*number].twice.clear());
    let adds = |edit: &Edit| edit.lines.iter().any(|line| line.iter().any(u8::is_ascii_alphabetic));
    if !whole.iter().any(adds) {
        return false;
    }
    let before = defined(&lines.concat());
    // What one hunk removes, another may add, so the text with all hunks counts.
    let all = doubled(&before, &defined(&spliced(whole, lines)));
    let mut is_changed = false;
    for (number, edits) in each.iter().filter(|_| !all.is_empty()) {
        if !all.iter().any(|((_, name, _), _)| adds_word(&hunks[*number], name)) {
            continue;
        }
        let after = defined(&spliced(&joined(edits.iter().cloned(), lines), lines));
        let mut own = doubled(&before, &after);
        own.retain(|(of, _)| all.iter().any(|(other, _)| other == of));
        let finding = &mut findings[*number];
        finding.twice = own.iter().map(|((_, name, _), _)| name.clone()).collect();
        let Some(seen) = finding.rehearsed.as_mut().filter(|seen| seen.proposal.is_some() && !own.is_empty()) else {
            continue;
        };
        (is_changed, finding.is_taken) = (true, false);
        if own.iter().all(|(_, is_same)| *is_same) && stands(edits, lines) {
            finding.twice.clear();
            (finding.is_present, seen.proposal) = (true, None);
        }
    }
    is_changed
}

/// Whether the edits only add lines that the text already has, apart from white space.
fn stands(edits: &[Edit], lines: &[&[u8]]) -> bool {
    let is_there = |line: &Vec<u8>| lines.iter().any(|own| own.trim_ascii() == line.trim_ascii());
    let is_distinctive = |line: &&Vec<u8>| line.iter().any(u8::is_ascii_alphanumeric);
    edits.iter().all(|edit| edit.at.is_empty() && edit.lines.iter().filter(is_distinctive).all(is_there))
}

/// What is defined more often after the edits than before, and whether all its definitions are then the same.
fn doubled(before: &Definitions, after: &Definitions) -> Vec<(Defined, bool)> {
    let is_more = |of: &Defined, count: usize| before.get(of).is_some_and(|there| count > there.len());
    let doubled = after.iter().filter(|(of, codes)| is_more(of, codes.len()));
    doubled.map(|(of, codes)| (of.clone(), codes.windows(2).all(|pair| pair[0] == pair[1]))).collect()
}

fn defined(text: &[u8]) -> Definitions {
    let unit = scan(text);
    let functions = unit.functions.iter().filter(|function| function.by.is_none());
    let functions = functions
        .map(|one| ((String::new(), one.name.clone(), one.condition.clone()), code_lines(text, one)))
        .collect::<Vec<_>>();
    // Anonymous types cannot be told apart.
    let types = unit.types.into_iter().filter(|found| !found.name.is_empty());
    let members = types.flat_map(|found| {
        let of = found.name;
        found.members.into_iter().map(move |one| ((of.clone(), one.name, one.condition), vec![one.text]))
    });
    let mut out = Definitions::new();
    for (of, code) in functions.into_iter().chain(members) {
        out.entry(of).or_default().push(code);
    }
    out
}

fn adds_word(hunk: &Hunk, name: &str) -> bool {
    let mut added = hunk.lines.iter().filter(|line| matches!(line, Line::Added(_)));
    added.any(|line| words(line.text()).any(|word| word == name.as_bytes()))
}
