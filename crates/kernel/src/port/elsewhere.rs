//! Finds hunks that patch applies in a place that the wider context contradicts. If the tree that the series was
//! written for is known, a hunk can get as many context lines as are needed to tell two places of one function apart.

use super::rehearse::{HunkPlace, rehearse};
use super::series::{Made, Port, Read};
use super::source::Source;
use crate::gnu::Placement;
use crate::lines::split;
use crate::series::{Hunk, Line, Patch};

/// Lines of context added on either side.
const AROUND: usize = 30;

/// The hunk, which matches at this line of a text (from 0), with more context lines from the text.
pub fn widened(hunk: &Hunk, line: usize, text: &[&[u8]]) -> Hunk {
    let first = line.min(text.len());
    let last = (first + hunk.old_side().len()).min(text.len());
    let begin = first.saturating_sub(AROUND);
    let context = |lines: &[&[u8]]| lines.iter().map(|line| Line::Context(line.to_vec())).collect::<Vec<_>>();
    let after = context(&text[last..(last + AROUND).min(text.len())]);
    let lines = [context(&text[begin..first]), hunk.lines.clone(), after].concat();
    Hunk { old_start: hunk.old_start.saturating_sub(first - begin), lines, ..hunk.clone() }
}

/// Marks hunks as doubtful if the lines around them in the tree that the series was written for are elsewhere in the
/// target; `home` is the rehearsal on that tree. Both trees are read as the earlier patches leave them.
pub fn doubt<E>(
    patches: &[Patch],
    port: &mut Port,
    home: &Port,
    source: &mut Read<'_, E>,
    target: &mut Read<'_, E>,
) -> Result<(), E> {
    let mut numbers = 0..;
    for (at, file) in patches.iter().enumerate().flat_map(|(at, patch)| patch.files.iter().map(move |file| (at, file)))
    {
        let mine: Vec<usize> = numbers.by_ref().take(file.hunks.len()).collect();
        let is_asked = |number: &usize| line(home, *number).is_some() && line(port, *number).is_some();
        let Some(first) = mine.first().copied().filter(|_| mine.iter().any(is_asked)) else { continue };
        let there = before(&home.made[..at], &home.findings[first].file, source)?;
        let here = before(&port.made[..at], &port.findings[first].file, target)?;
        let (there, here) = (there.unwrap_or_default(), here.unwrap_or_default());
        let (there, here) = (split(&there), Source::new(&here));
        for (hunk, number) in file.hunks.iter().zip(mine) {
            let (Some(from), Some(_)) = (line(home, number), line(port, number)) else { continue };
            let wide = rehearse(&[widened(hunk, from, &there)], &here).pop().and_then(|wide| wide.place);
            let finding = &mut port.findings[number];
            let place = finding.rehearsed.as_ref().and_then(|seen| seen.place.as_ref());
            finding.doubt =
                wide.filter(|wide| place.is_some_and(|place| place.line != wide.line)).map(|wide| said(&wide));
        }
    }
    Ok(())
}

fn said(place: &HunkPlace) -> String {
    let function = if place.function.is_empty() { String::new() } else { format!(" in `{}`", place.function) };
    format!("by the lines around it where it is from it belongs to line {}{function}", place.line)
}

/// The line at which patch applies a hunk that is taken and not flagged.
fn line(port: &Port, number: usize) -> Option<usize> {
    let finding = port.findings.get(number).filter(|finding| finding.is_taken)?;
    let seen = finding.rehearsed.as_ref().filter(|seen| seen.flagged.is_none())?;
    match seen.patch {
        Placement::At { line, .. } => Some(line),
        _ => None,
    }
}

/// A file as the patches so far leave it.
fn before<E>(made: &[Made], path: &str, read: &mut Read<'_, E>) -> Result<Option<Vec<u8>>, E> {
    match made.iter().rev().find_map(|made| made.get(path)) {
        Some(text) => Ok(text.clone()),
        None => read(path),
    }
}
