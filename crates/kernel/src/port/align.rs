//! The place of a hunk's old side in a text by the likeness of lines: a semi-global alignment in which every old line
//! counts and the text around is free (Needleman and Wunsch 1970, with Gotoh's gaps for lines that only the text has).

use super::section::Section;
use super::source::{Known, Source};
use crate::series::{Hunk, Line};

/// Cells of the table at most; beyond, no place is looked for.
const CELLS: usize = 1 << 26;
/// To begin lines that only the text has, and for each of them; between two removed lines they cost more.
const OPEN: f32 = 0.3;
const EXTEND: f32 = 0.03;
const TORN: f32 = 0.3;

/// One old line of a hunk.
pub(super) struct Old<'a> {
    pub(super) known: Known<'a>,
    pub(super) is_removed: bool,
    section: Option<Section>,
    weight: f32,
}

/// The old lines of a hunk, with the section each stands in and the weight that each has in this text.
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
        let rarity = 1.0 / (1.0 + (source.times(&known).max(1) as f32).ln() / 2.0);
        let weight = known.weight() * rarity * if is_removed { 1.5 } else { 1.0 };
        out.push(Old { known, is_removed, section: section.clone(), weight });
    }
    out
}

/// Where each old line stands.
#[derive(Debug, Clone)]
pub(super) struct Alignment {
    /// For each old line its line of the text, from 0, and how like it is (1: the same but for indentation).
    pub(super) map: Vec<Option<(usize, f32)>>,
    pub(super) score: f32,
    /// The best score of a place that shares no line with this one.
    pub(super) rival: f32,
    /// The score of a hunk that stands there line by line.
    pub(super) full: f32,
    /// Most of the lines stand in the section that the hunk names.
    pub(super) is_at_home: bool,
}

/// The best place in the text; of equals the one nearest to line `near`. `None`: nothing like it, or too long to look.
pub(super) fn align(old: &[Old<'_>], source: &Source<'_>, near: usize) -> Option<Alignment> {
    let (m, n) = (old.len(), source.lines.len());
    let width = n + 1;
    if m == 0 || (m + 1).checked_mul(width)? > CELLS {
        return None;
    }
    let mut from = vec![0u8; (m + 1) * width];
    let mut above = vec![0.0f32; width];
    let mut gap_above = vec![f32::NEG_INFINITY; width];
    for (i, line) in old.iter().enumerate() {
        let skip = line.weight * if line.is_removed { 0.6 } else { 0.3 };
        let torn = if i > 0 && line.is_removed && old[i - 1].is_removed { TORN } else { 0.0 };
        gap_above.iter_mut().for_each(|score| *score -= torn);
        let mut row = vec![f32::NEG_INFINITY; width];
        let mut gap = vec![f32::NEG_INFINITY; width];
        for j in 0..width {
            let cell = &mut from[(i + 1) * width + j];
            // Two bits: where the score of this cell is from. Two more: the same of a gap that ends here.
            let up = above[j].max(gap_above[j]) - skip;
            let (mut best, mut way) = (up, if above[j] >= gap_above[j] { 0 } else { 1 });
            if j > 0 {
                let gain = gain(line, source, j - 1);
                let before = above[j - 1].max(gap_above[j - 1]);
                if gain > 0.0 && before + gain >= best {
                    (best, way) = (before + gain, if above[j - 1] >= gap_above[j - 1] { 2 } else { 3 });
                }
                let (opened, extended) = (row[j - 1] - OPEN, gap[j - 1] - EXTEND);
                gap[j] = opened.max(extended);
                way |= u8::from(extended > opened) << 2;
            }
            row[j] = best;
            *cell = way;
        }
        (above, gap_above) = (row, gap);
    }
    let distance = |j: usize| (j as isize - (near + m) as isize).unsigned_abs();
    let end = (0..width).max_by(|&a, &b| above[a].total_cmp(&above[b]).then_with(|| distance(b).cmp(&distance(a))))?;
    let score = above[end];
    let map = trace(&from, old, source, end);
    let first = map.iter().flatten().next()?.0;
    let last = map.iter().flatten().last()?.0;
    let is_apart = |j: &usize| *j <= first || *j > last + m;
    let rival = (0..width).filter(is_apart).map(|j| above[j]).fold(0.0, f32::max);
    let full = old.iter().map(|line| line.weight + bonus(line)).sum();
    let standing = || old.iter().zip(&map).filter_map(|(line, there)| there.map(|(at, _)| (line, at)));
    let at_home = standing().filter(|(line, at)| is_home(line, source, *at)).count();
    let is_at_home = 2 * at_home > standing().count();
    Some(Alignment { map, score, rival, full, is_at_home })
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
            // Through the lines that only the text has, to where they began.
            while from[i * width + j] & 4 != 0 {
                j -= 1;
            }
            j -= 1;
        }
    }
    map
}

fn bonus(line: &Old<'_>) -> f32 {
    if line.section.is_some() { 0.1 + 0.2 * line.weight } else { 0.0 }
}

/// What it is worth that this old line is that line of the text.
fn gain(line: &Old<'_>, source: &Source<'_>, at: usize) -> f32 {
    let like = line.known.likeness(&source.known[at]);
    if like == 0.0 {
        return 0.0;
    }
    let worth = if like == 1.0 { 1.0 } else { 1.6 * like - 0.7 };
    line.weight * worth + if is_home(line, source, at) { bonus(line) } else { 0.0 }
}

fn is_home(line: &Old<'_>, source: &Source<'_>, at: usize) -> bool {
    matches!((&line.section, source.section(at)), (Some(wanted), Some(there)) if wanted.is(there))
}
