//! Turns the place of a hunk into an edit of the text. Each change of the hunk is inserted between the lines of the
//! text that match its neighbours in the hunk.

use super::align::{Alignment, Old, is_home};
use super::source::Source;
use super::tokens::{distinctive, is_name, likeness, merged, words};
use crate::series::{Hunk, Line};
use std::collections::HashMap;
use std::ops::Range;

/// Lines of the text, and the lines that replace them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// From 0, in the text before the edit.
    pub(super) at: Range<usize>,
    pub(super) lines: Vec<Vec<u8>>,
}

/// How an edit was found, the most certain first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchQuality {
    /// The text has the removed lines unchanged, or the lines on both sides of an addition.
    Exact,
    /// One neighbour of an addition matches; the other differs or is missing.
    OneSide,
    /// Lines differ in words that the hunk does not change. These words were kept, or also used in the added lines.
    Words,
    /// Part of it is a guess.
    Assumed,
}

/// Bonus of the line before an addition over the line after it, when one of them has to be chosen.
const BEFORE: f32 = 0.2;

/// A run of changes in a hunk: old lines `old` become `new`.
struct Group<'a> {
    old: Range<usize>,
    new: Vec<&'a [u8]>,
}

fn groups(hunk: &Hunk) -> Vec<Group<'_>> {
    let (mut out, mut at, mut is_open) = (Vec::<Group<'_>>::new(), 0, false);
    for line in &hunk.lines {
        if let Line::Context(_) = line {
            (at, is_open) = (at + 1, false);
            continue;
        }
        if !is_open {
            out.push(Group { old: at..at, new: Vec::new() });
            is_open = true;
        }
        let Some(group) = out.last_mut() else { continue };
        match line {
            Line::Added(text) => group.new.push(text),
            _ => {
                at += 1;
                group.old.end = at;
            }
        }
    }
    out
}

/// The edits of a hunk at its place, in the order of the text, and how each was found. `None` if one of the changes has
/// no place.
pub(super) fn adapt(
    hunk: &Hunk,
    old: &[Old<'_>],
    place: &Alignment,
    source: &Source<'_>,
) -> Option<Vec<(Edit, MatchQuality)>> {
    let renames = renames(old, place, source);
    let mut out: Vec<(Edit, MatchQuality)> = Vec::new();
    for group in groups(hunk) {
        let (mut edit, mut way) = match standing(&group.old, place) {
            Some(there) => replaced(&group, hunk, there, place, source),
            None if group.new.is_empty() => {
                (Edit { at: alone(&old[group.old], source)?, lines: Vec::new() }, MatchQuality::Assumed)
            }
            None => added(&group, old, place, source)?,
        };
        if way != MatchQuality::Words && carried_over(&mut edit.lines, &renames) {
            way = way.max(MatchQuality::Words);
        }
        if out.last().is_some_and(|(before, _)| before.at.end > edit.at.start) {
            return None;
        }
        end_as_around(&mut edit, source);
        out.push((edit, way));
    }
    Some(out)
}

/// Gives the new lines the line ends of the text around them, because the patch may have others.
fn end_as_around(edit: &mut Edit, source: &Source<'_>) {
    let Some(near) = source.lines.get(edit.at.start).or(source.lines.last()) else { return };
    let has_cr = near.ends_with(b"\r\n");
    for line in edit.lines.iter_mut().filter(|line| line.ends_with(b"\n") && line.ends_with(b"\r\n") != has_cr) {
        let end = line.len() - 1;
        if has_cr {
            line.insert(end, b'\r');
        } else {
            line.remove(end - 1);
        }
    }
}

/// For removed lines whose neighbours did not match: the place where they stand consecutively in the section that the
/// hunk names, if there is exactly one.
fn alone(removed: &[Old<'_>], source: &Source<'_>) -> Option<Range<usize>> {
    let first = removed.iter().find(|line| line.known.says_something())?;
    let stands = |at: &usize| {
        let there = &source.known[*at..*at + removed.len()];
        is_home(first, source, *at)
            && there.iter().zip(removed).all(|(there, line)| there.trimmed == line.known.trimmed)
    };
    let mut places = (0..=source.known.len().checked_sub(removed.len())?).filter(stands);
    let at = places.next()?;
    places.next().is_none().then_some(at..at + removed.len())
}

/// The lines of the text from the first to the last that match an old line of the range.
fn standing(old: &Range<usize>, place: &Alignment) -> Option<Range<usize>> {
    let mut lines = place.map[old.clone()].iter().flatten().map(|(line, _)| *line);
    let first = lines.next()?;
    Some(first..lines.next_back().unwrap_or(first) + 1)
}

fn replaced(
    group: &Group<'_>,
    hunk: &Hunk,
    there: Range<usize>,
    place: &Alignment,
    source: &Source<'_>,
) -> (Edit, MatchQuality) {
    let is_exact = there.len() == group.old.len()
        && group
            .old
            .clone()
            .zip(there.clone())
            .all(|(i, j)| place.map[i].is_some_and(|(at, like)| at == j && like == 1.0));
    let new: Vec<Vec<u8>> = group.new.iter().map(|line| line.to_vec()).collect();
    if is_exact {
        return (Edit { at: there, lines: new }, MatchQuality::Exact);
    }
    let old = hunk.old_side()[group.old.clone()].concat();
    let text = source.lines[there.clone()].concat();
    if group.new.is_empty() {
        return (Edit { at: there, lines: new }, MatchQuality::Assumed);
    }
    match merged(&old, &group.new.concat(), &text) {
        Some(merged) => (
            Edit { at: there, lines: crate::split(&merged).into_iter().map(<[u8]>::to_vec).collect() },
            MatchQuality::Words,
        ),
        None => (Edit { at: there, lines: new }, MatchQuality::Assumed),
    }
}

/// An old line near an addition that matches a line of the text.
#[derive(Clone, Copy)]
struct Neighbour {
    old: usize,
    there: usize,
    like: f32,
    /// Number of old lines between it and the addition that match no line.
    steps: usize,
}

impl Neighbour {
    fn is_exact(self) -> bool {
        self.steps == 0 && self.like == 1.0
    }
}

/// Inserts the lines between the matches of the lines before and after them. If the text has other lines between those
/// two, inserts them next to the better match.
fn added(group: &Group<'_>, old: &[Old<'_>], place: &Alignment, source: &Source<'_>) -> Option<(Edit, MatchQuality)> {
    let near = |i: usize, steps| place.map[i].map(|(there, like)| Neighbour { old: i, there, like, steps });
    let before = (0..group.old.start).rev().enumerate().find_map(|(steps, i)| near(i, steps));
    let after = (group.old.end..old.len()).enumerate().find_map(|(steps, i)| near(i, steps));
    let (at, way) = match (before, after) {
        (Some(a), Some(b)) if a.there + 1 == b.there => {
            (b.there, if a.is_exact() && b.is_exact() { MatchQuality::Exact } else { MatchQuality::OneSide })
        }
        (Some(a), Some(b)) if goes_after(a, b, &group.new, old, source) => {
            (b.there, if b.is_exact() { MatchQuality::OneSide } else { MatchQuality::Assumed })
        }
        (Some(a), _) => (a.there + 1, if a.is_exact() { MatchQuality::OneSide } else { MatchQuality::Assumed }),
        (None, Some(b)) => (b.there, if b.is_exact() { MatchQuality::OneSide } else { MatchQuality::Assumed }),
        (None, None) => return None,
    };
    let way = if group.old.is_empty() { way } else { MatchQuality::Assumed };
    Some((Edit { at: at..at, lines: group.new.iter().map(|line| line.to_vec()).collect() }, way))
}

/// Decides, if the text has other lines between the two neighbours of an addition, whether it goes next to the one
/// after it. Lines at the end of a paragraph or block stay there, and so do lines at the beginning of one.
fn goes_after(before: Neighbour, after: Neighbour, new: &[&[u8]], old: &[Old<'_>], source: &Source<'_>) -> bool {
    let (line, there) = (old[before.old].known.trimmed, source.known[before.there].trimmed);
    if before.steps == 0 && line.last() != there.last() {
        // The statement continues on the next line of the text.
        return true;
    }
    let mut said = new.iter().filter(|line| !line.trim_ascii().is_empty());
    let Some(first) = said.next() else { return false };
    let last = said.next_back().unwrap_or(first).trim_ascii();
    let is_torn = |at: usize| tears(source.lines[at - 1], first);
    if is_torn(before.there + 1) != is_torn(after.there) {
        return is_torn(before.there + 1);
    }
    let next = old[after.old].known.trimmed;
    let is_end = after.steps == 0 && (next.is_empty() || next.starts_with(b"}") || next.starts_with(b"#include"));
    let is_begin = line.ends_with(b"{") || line.is_empty() && !is_end;
    if before.steps == 0 && (is_end || is_begin) {
        return !is_begin;
    }
    if last.ends_with(b"*/") {
        // A comment goes above what it describes.
        return true;
    }
    // How strongly a neighbour attracts the addition: it is directly next to it, unchanged, not trivial, and similar to
    // it.
    let hold = |n: Neighbour, added: &[u8]| {
        let known = &old[n.old].known;
        n.like * known.weight() - n.steps as f32 + likeness(&known.words, &distinctive(added))
    };
    hold(before, first) + BEFORE < hold(after, last)
}

/// Whether an added line directly after this line would come between a condition and its statement, or be unreachable.
fn tears(line: &[u8], added: &[u8]) -> bool {
    let indent = |line: &[u8]| line.len() - line.trim_ascii_start().len();
    let is_as_deep = indent(line) == indent(added);
    let (text, added) = (line.trim_ascii(), added.trim_ascii());
    let starts = |text: &[u8], with: &[&str]| with.iter().any(|word| words(text).first() == Some(&word.as_bytes()));
    let is_head = starts(text, &["if", "else", "for", "while"]) && !text.ends_with(b"{") && !text.ends_with(b";");
    let is_end = starts(text, &["return", "goto", "break", "continue"]) && text.ends_with(b";");
    let is_label = added.ends_with(b":") || starts(added, &["case", "default", "#", "}"]);
    (is_head && !added.starts_with(b"{")) || (is_end && is_as_deep && !is_label)
}

/// Names that the text replaces on every matched line: the hunk's `folio` is `page` in the text.
fn renames<'a>(old: &'a [Old<'_>], place: &Alignment, source: &'a Source<'_>) -> HashMap<&'a [u8], &'a [u8]> {
    let mut found: HashMap<&[u8], Option<&[u8]>> = HashMap::new();
    for (line, there) in old.iter().zip(&place.map) {
        let Some((at, _)) = *there else { continue };
        let (ours, theirs) = (words(line.known.trimmed), words(source.known[at].trimmed));
        if ours.len() != theirs.len() {
            continue;
        }
        for (a, b) in ours.into_iter().zip(theirs).filter(|(a, b)| is_name(a) && is_name(b)) {
            let entry = found.entry(a).or_insert(Some(b));
            if *entry != Some(b) {
                *entry = None;
            }
        }
    }
    let found = found.into_iter().filter_map(|(a, b)| b.filter(|b| *b != a).map(|b| (a, b)));
    // If the text also uses the hunk's name, that name is kept: it means the same there.
    let there = |name: &[u8]| source.known.iter().any(|line| words(line.trimmed).contains(&name));
    found.filter(|(name, _)| !there(name)).collect()
}

/// Renames names in added lines as in the text; returns whether there were any.
fn carried_over(lines: &mut [Vec<u8>], renames: &HashMap<&[u8], &[u8]>) -> bool {
    let mut any = false;
    for line in lines.iter_mut().filter(|_| !renames.is_empty()) {
        let new: Vec<&[u8]> = words(line).into_iter().map(|word| renames.get(word).copied().unwrap_or(word)).collect();
        let new = new.concat();
        any |= new != *line;
        *line = new;
    }
    any
}
