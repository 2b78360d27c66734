//! All hunks of a file against its text.

use super::Source;
use super::adapt::{Edit, Way, adapt};
use super::align::{Alignment, align, old_lines};
use super::splice;
use crate::gnu::{Placement, place};
use crate::series::Hunk;

/// How far a proposal can be trusted. It is a proposal still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The changed lines and their neighbours stand in one place only, in the function that the hunk names.
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
/// Of the best place's score: another one that has as much is its rival.
const AS_GOOD: f32 = 0.99;

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
    let found = align(&old, source, near)
        .filter(|found| found.score >= if found.is_at_home { PLACE_AT_HOME } else { PLACE } * found.full);
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
    let flagged = if by_patch.is_empty() { None } else { flag(hunk, &by_patch, ours.as_deref(), &found, source) };
    let is_failed = by_patch.is_empty();
    let is_present = is_failed && is_present(hunk, line, source);
    let proposal = match (&adapted, &ours) {
        (Some(adapted), Some(edits)) if (is_failed && !is_present) || flagged.is_some() => {
            let edits = splice::joined(edits.iter().cloned(), source.lines());
            let proposed = splice::as_one(&edits, hunk.line, source.lines());
            Some(Proposal { hunk: proposed, confidence: confidence(hunk, adapted, &found) })
        }
        _ => None,
    };
    let line = if is_failed || flagged.is_some() { line } else { by_patch[0].at.start };
    Rehearsed { patch, place: Some(here(line, source)), flagged, is_present, proposal }
}

fn here(line: usize, source: &Source<'_>) -> Place {
    let function = source.section(line).map(|s| String::from_utf8_lossy(&s.name).into_owned()).unwrap_or_default();
    Place { line: line + 1, function }
}

/// Why patch's place is not the right one.
fn flag(
    _hunk: &Hunk,
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
    if there.function == here.function {
        return None;
    }
    Some(format!("patch puts it into `{}`, it is for `{}`", there.function, here.function))
}

/// The added lines stand in one stretch near the place where they belong, and the removed ones do not.
fn is_present(hunk: &Hunk, near: usize, source: &Source<'_>) -> bool {
    let (new, old) = (hunk.new_side(), hunk.old_side());
    let window = near.saturating_sub(new.len() + 20)..(near + new.len() + 20).min(source.lines.len());
    let there = &source.lines[window];
    let (before, behind) = hunk.context();
    let core = |side: &[&[u8]]| -> Vec<Vec<u8>> {
        side[before.min(side.len())..side.len() - behind.min(side.len() - before.min(side.len()))]
            .iter()
            .map(|l| l.trim_ascii().to_vec())
            .collect()
    };
    let (new, old) = (core(&new), core(&old));
    let stands = |side: &[Vec<u8>]| {
        !side.is_empty()
            && there.windows(side.len()).any(|lines| lines.iter().zip(side).all(|(a, b)| a.trim_ascii() == &b[..]))
    };
    let says_something = new.iter().any(|line| line.len() > 3);
    says_something
        && stands(&new)
        && (old.is_empty() || !stands(&old) || new.windows(old.len().max(1)).any(|w| w == &old[..]))
}

fn confidence(hunk: &Hunk, adapted: &[(Edit, Way)], found: &Alignment) -> Confidence {
    let worst = adapted.iter().map(|(_, way)| *way).max().unwrap_or(Way::Assumed);
    let share = found.score / found.full;
    match worst {
        Way::Exact
            if is_whole(hunk, adapted.len(), found)
                && found.is_at_home
                && found.rival < AS_GOOD * found.score
                && share >= 0.55 =>
        {
            Confidence::Sure
        }
        Way::Exact | Way::OneSide | Way::Words if share >= 0.45 => Confidence::Likely,
        _ => Confidence::Guess,
    }
}

/// From the first change of the hunk to the last its lines stand there one after the other, as they are. Of several
/// changes the lines beside them do, too: where one of those differs, the same commit often had more to change there.
fn is_whole(hunk: &Hunk, changes: usize, found: &Alignment) -> bool {
    let (before, behind) = hunk.context();
    let beside = usize::from(changes > 1);
    let changed = before.saturating_sub(beside)..(found.map.len() + beside - behind).min(found.map.len());
    let changed = &found.map[changed];
    changed.iter().all(|there| there.is_some_and(|(_, like)| like == 1.0))
        && changed.windows(2).all(|pair| matches!(pair, [Some((a, _)), Some((b, _))] if a + 1 == *b))
}
