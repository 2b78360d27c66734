//! Rehearses all hunks of a file against its text.

use super::Source;
use super::adapt::{Edit, MatchQuality, adapt};
use super::align::{Alignment, align, old_lines};
use super::section::Section;
use super::splice;
use super::tokens::{is_name, words};
use crate::gnu::{FUZZ_LIMIT, Placement, place};
use crate::series::{Hunk, Line};
use std::ops::Range;

/// How far a proposal can be trusted. Even a sure one has to be reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Patch would put it there, by its own rules, if it searched only the function that the hunk names.
    Sure,
    /// Something around the change differs, but the lines show how to adapt it.
    Likely,
    /// Part of it is a guess: check it first.
    Guess,
}

/// Where a change belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkPlace {
    /// First line of the text that changes, from 1.
    pub line: usize,
    /// The function, struct or table around it; empty if there is none.
    pub function: String,
}

/// A hunk, adapted to the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Applies to the text before any other hunk.
    pub hunk: Hunk,
    /// How far to trust it.
    pub confidence: Confidence,
}

/// What was found for a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsed {
    /// Where GNU patch puts it.
    pub patch: Placement,
    /// Where it belongs; `None`: no place in the text is similar.
    pub place: Option<HunkPlace>,
    /// Why patch's place is probably wrong.
    pub flagged: Option<String>,
    /// The text already contains its new side.
    pub is_present: bool,
    /// Set if patch fails or is flagged, and an adapted hunk could be made.
    pub proposal: Option<Proposal>,
}

/// The share of the full score that a place needs; in the function that the hunk names, a smaller share is enough.
const PLACE: f32 = 0.3;
const PLACE_AT_HOME: f32 = 0.12;

/// Dry-runs the hunks of a file.
pub fn rehearse(hunks: &[Hunk], source: &Source<'_>) -> Vec<Rehearsed> {
    let placements = place(hunks, source.lines());
    hunks.iter().zip(placements).map(|(hunk, patch)| one(hunk, patch, source)).collect()
}

fn one(hunk: &Hunk, patch: Placement, source: &Source<'_>) -> Rehearsed {
    if let Some(line) = done_at(hunk, source).filter(|_| !matches!(patch, Placement::At { .. })) {
        return Rehearsed { patch, place: Some(here(line, source)), flagged: None, is_present: true, proposal: None };
    }
    let old = old_lines(hunk, source);
    let near = match patch {
        Placement::At { line, .. } => line,
        _ => hunk.old_start.saturating_sub(1),
    };
    let found = align(&old, source, near).filter(|found| {
        found.has_removed
            || has_side(hunk, found, source)
            || found.score >= if found.is_at_home { PLACE_AT_HOME } else { PLACE } * found.full
    });
    let by_patch = match patch {
        Placement::At { line, .. } => splice::placed(hunk, line),
        _ => Vec::new(),
    };
    let Some(found) = found else {
        let place = by_patch.first().map(|edit| here(edit.at.start, source));
        return Rehearsed { patch, place, flagged: None, is_present: false, proposal: None };
    };
    let adapted = adapt(hunk, &old, &found, source);
    let ours: Option<Vec<Edit>> = adapted.as_ref().map(|edits| edits.iter().map(|(edit, _)| edit.clone()).collect());
    let middle = found.map.iter().flatten().next().map_or(0, |(at, _)| *at);
    let line = ours.as_ref().and_then(|edits| edits.first()).map_or(middle, |edit| edit.at.start);
    let flagged = if by_patch.is_empty() { None } else { flag(patch, &by_patch, ours.as_deref(), &found, source) };
    let is_failed = by_patch.is_empty();
    let is_present = is_failed && is_present(hunk, line, source);
    let proposal = match (&adapted, &ours) {
        (Some(adapted), Some(edits)) if (is_failed && !is_present) || flagged.is_some() => {
            let edits = splice::joined(edits.iter().cloned(), source.lines());
            let proposed = splice::as_one(&edits, hunk.line, source.lines());
            Some(Proposal { hunk: proposed, confidence: confidence(hunk, adapted, &found, source) })
        }
        _ => None,
    };
    let line = if is_failed || flagged.is_some() { line } else { by_patch[0].at.start };
    Rehearsed { patch, place: Some(here(line, source)), flagged, is_present, proposal }
}

/// Where the text has the new side of the hunk as a whole, context included, in exactly one place, and the old side
/// nowhere. Also works for hunks that only remove lines. Inside a function, it must be the function that the hunk
/// names.
fn done_at(hunk: &Hunk, source: &Source<'_>) -> Option<usize> {
    let (before, after) = hunk.context();
    let (new, old) = (trimmed(&hunk.new_side()), trimmed(&hunk.old_side()));
    let is_distinctive = |side: &[&[u8]]| side.iter().any(|line| line.len() > 3);
    if !is_distinctive(&new[..before.min(new.len())]) || !is_distinctive(&new[new.len() - after.min(new.len())..]) {
        return None;
    }
    let places = |side: &[&[u8]]| {
        let there = source.known.windows(side.len()).enumerate();
        let same = there.filter(|(_, lines)| lines.iter().map(|line| line.trimmed).eq(side.iter().copied()));
        same.map(|(at, _)| at + before).take(2).collect::<Vec<_>>()
    };
    let [at] = places(&new)[..] else { return None };
    let is_inner = |line: &Line| line.text().first().is_none_or(u8::is_ascii_whitespace);
    let changed = || hunk.lines.iter().filter(|line| !matches!(line, Line::Context(_)) && line.text().len() > 3);
    let is_in_function = changed().all(is_inner);
    let named = Section::of_hunk(&hunk.section).filter(|_| is_in_function);
    let is_named = named.is_none_or(|named| source.section(at).is_some_and(|there| named.is(there)));
    // Removed lines (of a removed definition, its first lines) must not be near: otherwise they still have to be
    // removed.
    let is_left = |line: &Line| {
        let there = source.known.iter().enumerate().filter(|(_, other)| other.trimmed == line.text().trim_ascii());
        there.into_iter().any(|(place, _)| !is_in_function || source.section(place) == source.section(at))
    };
    let mut gone = changed().filter(|line| is_in_function || !is_inner(line));
    let adds = changed().any(|line| matches!(line, Line::Added(_)));
    (is_named && places(&old).is_empty() && (adds || !gone.any(is_left))).then_some(at)
}

/// Whether all lines before the changes, or all lines after them, stand consecutively in exactly one place of the text.
fn has_side(hunk: &Hunk, found: &Alignment, source: &Source<'_>) -> bool {
    let (before, after) = hunk.context();
    let (old, end) = (trimmed(&hunk.old_side()), found.map.len());
    let stands = |side: Range<usize>| {
        let Some(Some((first, _))) = found.map.get(side.start).copied().filter(|_| side.len() > 1) else {
            return false;
        };
        let there = source.known.windows(side.len()).enumerate();
        let same =
            there.filter(|(_, lines)| lines.iter().map(|line| line.trimmed).eq(old[side.clone()].iter().copied()));
        same.map(|(at, _)| at).eq([first])
    };
    stands(0..before.min(end)) || stands(end - after.min(end)..end)
}

fn here(line: usize, source: &Source<'_>) -> HunkPlace {
    let function = source.section(line).map(|s| String::from_utf8_lossy(&s.name).into_owned()).unwrap_or_default();
    HunkPlace { line: line + 1, function }
}

/// Why patch's place is probably wrong.
fn flag(
    patch: Placement,
    by_patch: &[Edit],
    ours: Option<&[Edit]>,
    found: &Alignment,
    source: &Source<'_>,
) -> Option<String> {
    let ours = ours?;
    let (theirs, mine) = (by_patch.first()?.at.start, ours.first()?.at.start);
    if ours == by_patch || theirs == mine || found.score < 0.6 * found.full {
        return None;
    }
    let (there, here) = (here(theirs, source), here(mine, source));
    match patch {
        _ if there.function != here.function => {
            Some(format!("patch puts it into `{}`, it is for `{}`", there.function, here.function))
        }
        // The lines that fuzz ignored tell the two places apart.
        Placement::At { fuzz: 1.., .. } => {
            Some(format!("patch puts it to line {}, by all its lines it is for line {}", there.line, here.line))
        }
        _ => None,
    }
}

/// Whether the text already contains the new lines of the hunk, from the first change to the last, near the place where
/// they belong. Either a line next to them in the hunk must be next to them in the text too, or they must be in the
/// same section and contain a name that the hunk's old lines do not have. The old lines must not be there.
fn is_present(hunk: &Hunk, near: usize, source: &Source<'_>) -> bool {
    let (new, old) = (hunk.new_side(), hunk.old_side());
    let window = near.saturating_sub(new.len() + 20)..(near + new.len() + 20).min(source.lines.len());
    let there: Vec<&[u8]> = source.known[window.clone()].iter().map(|line| line.trimmed).collect();
    let (before, after) = hunk.context();
    let (new, old) = (trimmed(&new), trimmed(&old));
    let core = |side: &[&[u8]]| before.min(side.len())..(side.len() - after).max(before.min(side.len()));
    let stands = |side: &[&[u8]]| !side.is_empty() && there.windows(side.len()).any(|lines| lines == side);
    let (made, was) = (core(&new), core(&old));
    let is_distinctive = |line: &&[u8]| line.len() > 3;
    let (first, last) = (made.start.saturating_sub(1), (made.end + 1).min(new.len()));
    let beside = [first..made.end, made.start..last].into_iter().filter(|range| {
        let line = if range.start < made.start { first } else { last - 1 };
        *range != made && is_distinctive(&new[line])
    });
    let (made_of, was_of) = (&new[made.clone()], &old[was]);
    let is_here = |at: usize| source.section(window.start + at) == source.section(near);
    let is_in_section =
        || there.windows(made_of.len().max(1)).enumerate().any(|(at, lines)| lines == made_of && is_here(at));
    made_of.iter().any(is_distinctive)
        && (stands(&new[first..last])
            || beside.into_iter().any(|range| stands(&new[range]))
            || brings_a_name(made_of, &old) && is_in_section())
        && (was_of.is_empty() || !stands(was_of) || made_of.windows(was_of.len()).any(|w| w == was_of))
}

/// Whether the new lines contain a name of several words that no old line has. Statements do not count, because a
/// function may contain the same statement twice.
fn brings_a_name(made_of: &[&[u8]], old: &[&[u8]]) -> bool {
    let is_new = |word: &&[u8]| {
        let has_parts = word.contains(&b'_') && is_name(word);
        has_parts && !old.iter().any(|line| words(line).contains(word))
    };
    let is_statement = |line: &&[u8]| line.ends_with(b";");
    !made_of.iter().any(is_statement) && made_of.iter().flat_map(|line| words(line)).any(|word| is_new(&word))
}

fn trimmed<'a>(lines: &[&'a [u8]]) -> Vec<&'a [u8]> {
    lines.iter().map(|line| line.trim_ascii()).collect()
}

fn confidence(hunk: &Hunk, adapted: &[(Edit, MatchQuality)], found: &Alignment, source: &Source<'_>) -> Confidence {
    let worst = adapted.iter().map(|(_, way)| *way).max().unwrap_or(MatchQuality::Assumed);
    match worst {
        MatchQuality::Exact if is_sure(hunk, found, source) => Confidence::Sure,
        MatchQuality::Exact | MatchQuality::OneSide | MatchQuality::Words if found.score >= 0.45 * found.full => {
            Confidence::Likely
        }
        _ => Confidence::Guess,
    }
}

/// Whether patch would put it there if it searched only that function: all lines, except the context lines that fuzz
/// may ignore, stand there unchanged and consecutively, and nowhere else in the function.
fn is_sure(hunk: &Hunk, found: &Alignment, source: &Source<'_>) -> bool {
    let (before, after) = hunk.context();
    let kept = before.min(FUZZ_LIMIT)..found.map.len() - after.min(FUZZ_LIMIT);
    let (old, Some(Some((first, _)))) = (hunk.old_side(), found.map.get(kept.start).copied()) else { return false };
    let Some(lines) = old.get(kept).filter(|lines| !lines.is_empty()).map(trimmed) else { return false };
    let places = source.known.windows(lines.len()).enumerate().filter(|(at, there)| {
        there.iter().map(|line| line.trimmed).eq(lines.iter().copied()) && source.section(*at) == source.section(first)
    });
    found.is_at_home && places.map(|(at, _)| at).eq([first])
}
