//! All hunks of a file against its text.

use super::Source;
use super::adapt::{Edit, Way, adapt};
use super::align::{Alignment, align, old_lines};
use super::splice;
use super::tokens::{is_name, words};
use crate::gnu::{FUZZ_LIMIT, Placement, place};
use crate::series::Hunk;
use std::ops::Range;

/// How far a proposal can be trusted. It is a proposal still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Patch would put it there by its own rules, if it looked only at the function that the hunk names.
    Sure,
    /// Something around the change differs, and what to do about it follows from the lines.
    Likely,
    /// Something had to be assumed: look at it first.
    Guess,
}

/// Where a change belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// First line of the text that changes, from 1.
    pub line: usize,
    /// The function, struct or table around it; empty where there is none.
    pub function: String,
}

/// A hunk made for the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Against the text before any hunk.
    pub hunk: Hunk,
    /// How far to trust it.
    pub confidence: Confidence,
}

/// What is known of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsed {
    /// Where GNU patch puts it.
    pub patch: Placement,
    /// Where it belongs; `None`: nothing in the text is like it.
    pub place: Option<Place>,
    /// Why it should not go where patch puts it.
    pub flagged: Option<String>,
    /// Its new side stands in the text already.
    pub is_present: bool,
    /// Where patch fails or is flagged, if there is anything to propose.
    pub proposal: Option<Proposal>,
}

/// Of what a hunk that stands there as it is would score: less is no place, and in the function that it names, a little
/// is enough.
const PLACE: f32 = 0.3;
const PLACE_AT_HOME: f32 = 0.12;

/// Rehearses the hunks of a file.
pub fn rehearse(hunks: &[Hunk], source: &Source<'_>) -> Vec<Rehearsed> {
    let placements = place(hunks, source.lines());
    hunks.iter().zip(placements).map(|(hunk, patch)| one(hunk, patch, source)).collect()
}

fn one(hunk: &Hunk, patch: Placement, source: &Source<'_>) -> Rehearsed {
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

/// All lines before the changes, or all behind them, stand one behind the other, and in no other place of the text.
fn has_side(hunk: &Hunk, found: &Alignment, source: &Source<'_>) -> bool {
    let (before, behind) = hunk.context();
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
    stands(0..before.min(end)) || stands(end - behind.min(end)..end)
}

fn here(line: usize, source: &Source<'_>) -> Place {
    let function = source.section(line).map(|s| String::from_utf8_lossy(&s.name).into_owned()).unwrap_or_default();
    Place { line: line + 1, function }
}

/// Why patch's place is not the right one.
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
        // It has left out lines that tell the two places apart.
        Placement::At { fuzz: 1.., .. } => {
            Some(format!("patch puts it to line {}, by all its lines it is for line {}", there.line, here.line))
        }
        _ => None,
    }
}

/// What the hunk makes of its lines, from the first change to the last, stands near the place where they belong, beside a
/// line that is beside it in the hunk, or in the same section where it brings a name that the hunk's old lines have not; and
/// what it was made of does not.
fn is_present(hunk: &Hunk, near: usize, source: &Source<'_>) -> bool {
    let (new, old) = (hunk.new_side(), hunk.old_side());
    let window = near.saturating_sub(new.len() + 20)..(near + new.len() + 20).min(source.lines.len());
    let there: Vec<&[u8]> = source.known[window.clone()].iter().map(|line| line.trimmed).collect();
    let (before, behind) = hunk.context();
    let (new, old) = (trimmed(&new), trimmed(&old));
    let core = |side: &[&[u8]]| before.min(side.len())..(side.len() - behind).max(before.min(side.len()));
    let stands = |side: &[&[u8]]| !side.is_empty() && there.windows(side.len()).any(|lines| lines == side);
    let (made, was) = (core(&new), core(&old));
    let tells = |line: &&[u8]| line.len() > 3;
    let (first, last) = (made.start.saturating_sub(1), (made.end + 1).min(new.len()));
    let beside = [first..made.end, made.start..last].into_iter().filter(|range| {
        let line = if range.start < made.start { first } else { last - 1 };
        *range != made && tells(&new[line])
    });
    let (made_of, was_of) = (&new[made.clone()], &old[was]);
    let is_here = |at: usize| source.section(window.start + at) == source.section(near);
    let is_in_section =
        || there.windows(made_of.len().max(1)).enumerate().any(|(at, lines)| lines == made_of && is_here(at));
    made_of.iter().any(tells)
        && (stands(&new[first..last])
            || beside.into_iter().any(|range| stands(&new[range]))
            || brings_a_name(made_of, &old) && is_in_section())
        && (was_of.is_empty() || !stands(was_of) || made_of.windows(was_of.len()).any(|w| w == was_of))
}

/// Whether the made lines have a name of several words that no old line has. Statements do not count: a function may have
/// the same one twice.
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

fn confidence(hunk: &Hunk, adapted: &[(Edit, Way)], found: &Alignment, source: &Source<'_>) -> Confidence {
    let worst = adapted.iter().map(|(_, way)| *way).max().unwrap_or(Way::Assumed);
    match worst {
        Way::Exact if is_sure(hunk, found, source) => Confidence::Sure,
        Way::Exact | Way::OneSide | Way::Words if found.score >= 0.45 * found.full => Confidence::Likely,
        _ => Confidence::Guess,
    }
}

/// Patch would put it there if it looked at that function alone: all lines but those of the context that patch ignores, too,
/// stand there as they are, one behind the other, and in no other place of the function.
fn is_sure(hunk: &Hunk, found: &Alignment, source: &Source<'_>) -> bool {
    let (before, behind) = hunk.context();
    let kept = before.min(FUZZ_LIMIT)..found.map.len() - behind.min(FUZZ_LIMIT);
    let (old, Some(Some((first, _)))) = (hunk.old_side(), found.map.get(kept.start).copied()) else { return false };
    let Some(lines) = old.get(kept).filter(|lines| !lines.is_empty()).map(trimmed) else { return false };
    let places = source.known.windows(lines.len()).enumerate().filter(|(at, there)| {
        there.iter().map(|line| line.trimmed).eq(lines.iter().copied()) && source.section(*at) == source.section(first)
    });
    found.is_at_home && places.map(|(at, _)| at).eq([first])
}
