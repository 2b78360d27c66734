//! Edits of a text: from placed hunks, to the resulting text, and to a unified diff.

use super::adapt::Edit;
use super::section;
use crate::series::{Hunk, Line};
use std::ops::Range;

/// Lines of context at either end of a hunk that we write.
pub(super) const CONTEXT: usize = 3;

/// The edits of a hunk whose old side is at this line, from 0.
pub(super) fn placed(hunk: &Hunk, mut line: usize) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::new();
    let mut is_open = false;
    for change in &hunk.lines {
        if let Line::Context(_) = change {
            (line, is_open) = (line + 1, false);
            continue;
        }
        if !is_open {
            out.push(Edit { at: line..line, lines: Vec::new() });
            is_open = true;
        }
        let Some(edit) = out.last_mut() else { continue };
        match change {
            Line::Added(text) => edit.lines.push(text.clone()),
            _ => {
                line += 1;
                edit.at.end = line;
            }
        }
    }
    out
}

/// Merges edits that touch, and ends the text as patch would: if lines follow a line without a newline, the newline is
/// added. The edits must be sorted and not overlap; edits beyond the end of the text are moved to its end.
pub(super) fn joined(edits: impl IntoIterator<Item = Edit>, text: &[&[u8]]) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::new();
    for mut edit in edits {
        edit.at = edit.at.start.min(text.len())..edit.at.end.min(text.len());
        match out.last_mut().filter(|before| before.at.end >= edit.at.start) {
            Some(before) => {
                before.at.end = before.at.end.max(edit.at.end);
                before.lines.extend(edit.lines);
            }
            None => out.push(edit),
        }
    }
    for edit in &mut out {
        let is_cut = |line: &[u8]| !line.ends_with(b"\n");
        if edit.at == (text.len()..text.len())
            && let Some(last) = text.last().filter(|last| is_cut(last) && !edit.lines.is_empty())
        {
            edit.at.start -= 1;
            edit.lines.insert(0, last.to_vec());
        }
        let inner = edit.lines.len().saturating_sub(usize::from(edit.at.end == text.len()));
        edit.lines[..inner].iter_mut().filter(|line| is_cut(line)).for_each(|line| line.push(b'\n'));
    }
    out
}

/// The text with the edits applied.
pub(super) fn spliced(edits: &[Edit], text: &[&[u8]]) -> Vec<u8> {
    let (mut at, mut out) = (0, Vec::new());
    for edit in edits {
        out.extend(text[at..edit.at.start].concat());
        out.extend(edit.lines.concat());
        at = edit.at.end;
    }
    out.extend(text[at..].concat());
    out
}

/// The edits as hunks like those of `diff -u`: with context from the text, and nearby edits in one hunk.
pub(super) fn unified(edits: &[Edit], text: &[&[u8]]) -> Vec<Hunk> {
    let mut shift = 0isize;
    let near = |a: &Edit, b: &Edit| b.at.start - a.at.end <= 2 * CONTEXT;
    let mut out = Vec::new();
    for edits in edits.chunk_by(near) {
        let (Some(first), Some(last)) = (edits.first(), edits.last()) else { continue };
        let range = first.at.start.saturating_sub(CONTEXT)..(last.at.end + CONTEXT).min(text.len());
        out.push(hunk(edits, range, text, shift));
        shift += edits.iter().map(|edit| edit.lines.len() as isize - edit.at.len() as isize).sum::<isize>();
    }
    out
}

/// Edits within `range` of a text, as one hunk; `shift` is the number of lines that earlier hunks added.
fn hunk(edits: &[Edit], range: Range<usize>, text: &[&[u8]], shift: isize) -> Hunk {
    let context = |range: Range<usize>| text[range].iter().map(|line| Line::Context(line.to_vec()));
    let (mut at, mut lines) = (range.start, Vec::new());
    for edit in edits {
        lines.extend(context(at..edit.at.start));
        lines.extend(text[edit.at.clone()].iter().map(|line| Line::Removed(line.to_vec())));
        lines.extend(edit.lines.iter().cloned().map(Line::Added));
        at = edit.at.end;
    }
    lines.extend(context(at..range.end));
    let start = |first: usize, is_empty: bool| first + usize::from(!is_empty);
    let is_new_empty = !lines.iter().any(|line| !matches!(line, Line::Removed(_)));
    Hunk {
        old_start: start(range.start, range.is_empty()),
        new_start: start(range.start.saturating_add_signed(shift), is_new_empty),
        section: section::heading(text, range.start).to_vec(),
        line: 0,
        lines,
    }
}

/// The edits as one hunk; the line numbers of both sides are those of the text.
pub(super) fn as_one(edits: &[Edit], line: usize, text: &[&[u8]]) -> Hunk {
    let first = edits.first().map_or(0, |edit| edit.at.start).saturating_sub(CONTEXT);
    let last = (edits.last().map_or(0, |edit| edit.at.end) + CONTEXT).min(text.len());
    Hunk { line, ..hunk(edits, first..last, text, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_insertions_after_a_last_line_without_a_newline_are_one() {
        let text: Vec<&[u8]> = vec![b"a\n", b"b"];
        for at in [2, 3, 9] {
            let edit = |at: usize, line: &str| Edit { at: at..at, lines: vec![line.into()] };
            let edits = joined([edit(2, "c\n"), edit(at, "d\n")], &text);
            assert_eq!(spliced(&edits, &text), b"a\nb\nc\nd\n", "at {at}");
            assert_eq!(unified(&edits, &text).len(), 1);
        }
    }
}
