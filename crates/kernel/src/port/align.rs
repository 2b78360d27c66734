//! Finds the place of a hunk's old side in a text by the similarity of lines. It is a semi-global alignment in which
//! every old line counts and the rest of the text is free (Needleman and Wunsch 1970, with Gotoh's gaps for lines that
//! only the text has).

use super::section::Section;
use super::source::{Known, Source};
use crate::series::{Hunk, Line};
use std::collections::HashSet;

/// Maximum size of the table, in cells; a larger search is not done.
const CELLS: usize = 1 << 26;
/// Cost of a gap, that is, of lines that only the text has: once for the gap, and for each line. A gap between two
/// removed lines costs more.
const OPEN: f32 = 0.3;
const EXTEND: f32 = 0.03;
const TORN: f32 = 0.3;
/// Factor for a match that is only similar, if the old line occurs unchanged elsewhere in the text.
const ALIKE: f32 = 0.5;

/// One old line of a hunk.
pub(super) struct Old<'a> {
    pub(super) known: Known<'a>,
    pub(super) is_removed: bool,
    section: Option<Section>,
    weight: f32,
    /// It is not trivial, and the text contains it unchanged.
    stands: bool,
}

/// The old lines of a hunk, with the section that each is in and its weight for this text.
pub(super) fn old_lines<'a>(hunk: &'a Hunk, source: &Source<'_>) -> Vec<Old<'a>> {
    let mut section = Section::of_hunk(&hunk.section);
    let mut out = Vec::new();
    for line in &hunk.lines {
        if matches!(line, Line::Added(_)) {
            continue;
        }
        if let Some(found) = Section::of_line(line.text()) {
            section = Some(found);
        }
        let known = Known::new(line.text());
        let is_removed = matches!(line, Line::Removed(_));
        let times = source.times(&known);
        let rarity = 1.0 / (1.0 + (times.max(1) as f32).ln() / 2.0);
        let weight = known.weight() * rarity * if is_removed { 1.5 } else { 1.0 };
        let stands = times > 0 && known.says_something();
        out.push(Old { known, is_removed, section: section.clone(), weight, stands });
    }
    out
}

/// Where the old lines of a hunk are in the text.
#[derive(Debug, Clone)]
pub(super) struct Alignment {
    /// For each old line its line of the text, from 0, and the similarity (1: equal but for indentation).
    pub(super) map: Vec<Option<(usize, f32)>>,
    pub(super) score: f32,
    /// The score that the hunk would have if all lines matched exactly.
    pub(super) full: f32,
    /// Most of the lines are in the section that the hunk names.
    pub(super) is_at_home: bool,
    /// Everything that the hunk removes is there unchanged.
    pub(super) has_removed: bool,
}

/// The best place in the text; if several are equal, the one nearest to line `near`. `None`: nothing is similar, or the
/// table would be too large.
pub(super) fn align(old: &[Old<'_>], source: &Source<'_>, near: usize) -> Option<Alignment> {
    let (m, width) = (old.len(), source.lines.len() + 1);
    if m == 0 || (m + 1).checked_mul(width)? > CELLS {
        return None;
    }
    // A line of the text that equals one of the hunk's lines is not matched with a different one.
    let own: HashSet<&[u8]> = old.iter().filter(|line| line.stands).map(|line| line.known.trimmed).collect();
    let is_own: Vec<bool> = source.known.iter().map(|line| own.contains(line.trimmed)).collect();
    let mut from = vec![0u8; (m + 1) * width];
    let mut row = Row { score: vec![0.0; width], gap: vec![f32::NEG_INFINITY; width] };
    for (i, line) in old.iter().enumerate() {
        if i > 0 && line.is_removed && old[i - 1].is_removed {
            row.gap.iter_mut().for_each(|score| *score -= TORN);
        }
        row = next(line, &row, source, &is_own, &mut from[(i + 1) * width..(i + 2) * width]);
    }
    let ends = &row.score;
    let distance = |j: usize| (j as isize - (near + m) as isize).unsigned_abs();
    let end = (0..width).max_by(|&a, &b| ends[a].total_cmp(&ends[b]).then_with(|| distance(b).cmp(&distance(a))))?;
    let mut map = trace(&from, old, source, end);
    close_up(&mut map, old, source);
    map.iter().flatten().next()?;
    let full = old.iter().map(|line| line.weight + bonus(line)).sum();
    let standing = || old.iter().zip(&map).filter_map(|(line, there)| there.map(|(at, _)| (line, at)));
    let at_home = standing().filter(|(line, at)| is_home(line, source, *at)).count();
    let is_at_home = 2 * at_home > standing().count();
    let mut removed =
        old.iter().zip(&map).filter(|(line, _)| line.is_removed && line.known.says_something()).peekable();
    let has_removed = removed.peek().is_some() && removed.all(|(_, there)| there.is_some_and(|(_, like)| like == 1.0));
    Some(Alignment { has_removed, map, score: ends[end], full, is_at_home })
}

/// For the old lines so far, the best scores of alignments that end before each line of the text, and the best of those
/// that end with a gap.
struct Row {
    score: Vec<f32>,
    gap: Vec<f32>,
}

/// Computes the row of one more old line. `from` records in two bits of each cell where its score comes from, and in a
/// third bit whether a gap that ends there was extended.
fn next(line: &Old<'_>, above: &Row, source: &Source<'_>, is_own: &[bool], from: &mut [u8]) -> Row {
    let width = from.len();
    let pattern = source.pattern(&line.known);
    let skip = line.weight * if line.is_removed { 0.6 } else { 0.3 };
    let mut row = Row { score: vec![f32::NEG_INFINITY; width], gap: vec![f32::NEG_INFINITY; width] };
    let better = |j: usize| above.score[j].max(above.gap[j]);
    let is_gap = |j: usize| u8::from(above.gap[j] > above.score[j]);
    for (j, cell) in from.iter_mut().enumerate() {
        let (mut best, mut way) = (better(j) - skip, is_gap(j));
        if j > 0 {
            let like = source.likeness(&pattern, j - 1);
            let gain = if like < 1.0 && is_own[j - 1] { 0.0 } else { gain(line, like, source, j - 1) };
            if gain > 0.0 && better(j - 1) + gain >= best {
                (best, way) = (better(j - 1) + gain, 2 | is_gap(j - 1));
            }
            let (opened, extended) = (row.score[j - 1] - OPEN, row.gap[j - 1] - EXTEND);
            row.gap[j] = opened.max(extended);
            way |= u8::from(extended > opened) << 2;
        }
        row.score[j] = best;
        *cell = way;
    }
    row
}

fn trace(from: &[u8], old: &[Old<'_>], source: &Source<'_>, end: usize) -> Vec<Option<(usize, f32)>> {
    let width = source.lines.len() + 1;
    let mut map = vec![None; old.len()];
    let (mut i, mut j) = (old.len(), end);
    while i > 0 {
        let way = from[i * width + j] & 3;
        i -= 1;
        if way & 2 != 0 {
            j -= 1;
            map[i] = Some((j, old[i].known.likeness(&source.known[j])));
        }
        if way & 1 != 0 {
            // Skips the lines that only the text has.
            while from[i * width + j] & 4 != 0 {
                j -= 1;
            }
            j -= 1;
        }
    }
    map
}

/// A trivial line goes with its neighbours: if several blank lines of the hunk could match one blank line of the text,
/// it is matched with the one whose neighbour is the same in the hunk and in the text.
fn close_up(map: &mut [Option<(usize, f32)>], old: &[Old<'_>], source: &Source<'_>) {
    let at = |map: &[Option<(usize, f32)>], i: usize| map.get(i).copied().flatten().map(|(line, _)| line);
    let beside = |map: &[Option<(usize, f32)>], i: usize, line: usize| {
        let before = i.checked_sub(1).and_then(|i| at(map, i)).is_some_and(|there| there + 1 == line);
        before || at(map, i + 1) == Some(line + 1)
    };
    for i in 0..map.len() {
        let Some(line) = at(map, i).filter(|line| !old[i].known.says_something() && !beside(map, i, *line)) else {
            continue;
        };
        let is_free = |k: &usize| map[*k].is_none() && old[*k].known.trimmed == source.known[line].trimmed;
        let before = (0..i).rev().take_while(|k| map[*k].is_none()).filter(is_free);
        let after = (i + 1..map.len()).take_while(|k| map[*k].is_none()).filter(is_free);
        let better = before.chain(after).find(|k| beside(map, *k, line));
        if let Some(k) = better {
            map.swap(i, k);
        }
    }
}

fn bonus(line: &Old<'_>) -> f32 {
    if line.section.is_some() { 0.1 + 0.5 * line.weight } else { 0.0 }
}

/// The score of matching this old line with that line of the text, given their similarity.
fn gain(line: &Old<'_>, like: f32, source: &Source<'_>, at: usize) -> f32 {
    if like == 0.0 {
        return 0.0;
    }
    let worth = match like {
        1.0 => 1.0,
        like if line.stands => ALIKE * (1.6 * like - 0.7),
        like => 1.6 * like - 0.7,
    };
    line.weight * worth + if is_home(line, source, at) { bonus(line) } else { 0.0 }
}

pub(super) fn is_home(line: &Old<'_>, source: &Source<'_>, at: usize) -> bool {
    matches!((&line.section, source.section(at)), (Some(wanted), Some(there)) if wanted.is(there))
}
