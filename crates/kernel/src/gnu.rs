//! Where GNU patch 2.7 puts a hunk, and what it reports. Written from its manual ("Merging a patch file", "Inexact")
//! and from its behaviour; `tests/all/gnu_patch.rs` compares it with the program.
//!
//! A hunk is searched for at its line plus the offset of the previous hunk, then one line after, one before, two after
//! and so on. If no place matches all of its old lines, the search is repeated with one and then two lines of context
//! less at either end. A hunk with less context at one end than at the other was made at an end of its file, and
//! matches only there.

use crate::series::{Hunk, Line};

/// Lines of context that may differ at either end: patch's own default.
pub const FUZZ_LIMIT: usize = 2;

/// What patch reports for a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Applies at its line.
    Applies,
    /// Applies at an offset.
    Offset,
    /// Applies with fuzz: some context lines differ.
    Fuzz,
    /// Does not apply.
    Fails,
}

/// Where a hunk is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Its old side begins at this line of the text.
    At {
        /// From 0, in the text before any hunk.
        line: usize,
        /// Lines after the one in the hunk's header; negative if before it.
        offset: isize,
        /// Lines of context that were ignored at either end.
        fuzz: usize,
    },
    /// `Hunk #N FAILED`.
    Failed,
    /// `Reversed (or previously applied) patch detected`: the first hunk fits backwards, and patch skips the file.
    Reversed,
}

impl Placement {
    /// The verdict that patch reports.
    pub fn verdict(&self) -> Verdict {
        match *self {
            Self::At { fuzz: 1.., .. } => Verdict::Fuzz,
            Self::At { offset: 0, .. } => Verdict::Applies,
            Self::At { .. } => Verdict::Offset,
            Self::Failed | Self::Reversed => Verdict::Fails,
        }
    }
}

/// Where patch puts each hunk of a file; `text` is the file as lines with their newlines.
pub fn place(hunks: &[Hunk], text: &[&[u8]]) -> Vec<Placement> {
    let mut search = Search { text, offset: 0, frozen: 0 };
    let mut out = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        let (before, after) = hunk.context();
        let most = before.max(after).min(FUZZ_LIMIT);
        let mut placement = Placement::Failed;
        for fuzz in 0..=most {
            if let Some(line) = search.find(hunk, fuzz) {
                placement = search.take(hunk, line, fuzz);
                break;
            }
            let is_first = out.is_empty();
            if is_first && (Search { text, offset: 0, frozen: 0 }).find(&hunk.reversed(), fuzz).is_some() {
                return vec![Placement::Reversed; hunks.len()];
            }
        }
        out.push(placement);
    }
    out
}

/// The text with each hunk applied; context lines stay those of the text.
pub fn apply(hunks: &[Hunk], placements: &[Placement], text: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let write = |out: &mut Vec<u8>, line: &[u8]| {
        // If lines follow one without a newline, patch adds the newline.
        if out.last().is_some_and(|&byte| byte != b'\n') {
            out.push(b'\n');
        }
        out.extend_from_slice(line);
    };
    let mut next = 0;
    for (hunk, placement) in hunks.iter().zip(placements) {
        let &Placement::At { mut line, .. } = placement else { continue };
        for change in &hunk.lines {
            if !matches!(change, Line::Context(_)) {
                let line = line.min(text.len());
                text[next.min(line)..line].iter().for_each(|kept| write(&mut out, kept));
                next = next.max(line);
            }
            match change {
                Line::Context(_) => line += 1,
                Line::Removed(_) => (line, next) = (line + 1, line + 1),
                Line::Added(added) => write(&mut out, added),
            }
        }
    }
    text[next..].iter().for_each(|kept| write(&mut out, kept));
    out
}

struct Search<'a> {
    text: &'a [&'a [u8]],
    /// The offset of the previous hunk.
    offset: isize,
    /// Lines of the text that are already written.
    frozen: usize,
}

impl Search<'_> {
    /// The first match in patch's order, from 0.
    fn find(&self, hunk: &Hunk, fuzz: usize) -> Option<usize> {
        let old = hunk.old_side();
        let named = self.named(hunk, old.is_empty());
        let guess = named + self.offset;
        if old.is_empty() {
            // An insertion without context always matches, even after the end.
            return usize::try_from(guess).ok();
        }
        let (before, after) = hunk.context();
        let longer = before.max(after);
        // Fuzz first shortens the longer context. A context that is still shorter was cut by an end of the file.
        let cut = |end: usize| (fuzz + end).checked_sub(longer);
        let (mut head, tail) = (cut(before), cut(after));
        // The tool that made the hunk may have written less context; only a hunk at line 1 is known to be at the
        // beginning.
        if head.is_none() && named > 0 {
            head = Some(0);
        }
        let fits = |line: isize| {
            usize::try_from(line).is_ok_and(|line| self.fits(&old, line, head.unwrap_or(0), tail.unwrap_or(0)))
        };
        let lines = self.text.len() as isize;
        let last = lines - old.len() as isize + tail.unwrap_or(0) as isize;
        let lowest = self.frozen as isize;
        match (head, tail) {
            (None, None) => (last == 0 && fits(0) && self.frozen <= before).then_some(0),
            (None, _) => (fits(0) && self.frozen <= before).then_some(0),
            (_, None) => (last >= lowest && fits(last)).then_some(last as usize),
            // If the guess is among lines that are already written, the first line after those is tried before all
            // others, and the guess itself is still tried.
            _ if guess < lowest && lowest <= last && fits(lowest) => Some(lowest as usize),
            _ => {
                let farthest = (last - guess).max(guess - lowest);
                (0..=farthest).find_map(|away| {
                    let after = guess + away;
                    let before = guess - away;
                    if after <= last && fits(after) {
                        Some(after as usize)
                    } else if before >= lowest && fits(before) {
                        Some(before as usize)
                    } else {
                        None
                    }
                })
            }
        }
    }

    /// The line in the header, from 0; for a hunk without old lines the line after it.
    fn named(&self, hunk: &Hunk, is_insertion: bool) -> isize {
        hunk.old_start as isize - isize::from(!is_insertion)
    }

    fn fits(&self, old: &[&[u8]], line: usize, head: usize, tail: usize) -> bool {
        let kept = head..(old.len() - tail).max(head);
        // Ignored lines may reach beyond the end of the text.
        self.text.get(line + kept.start..line + kept.end).is_some_and(|there| *there == old[kept])
    }

    /// Records the position for the next hunk; fails if the place is among lines that earlier hunks have written.
    fn take(&mut self, hunk: &Hunk, line: usize, fuzz: usize) -> Placement {
        let old = hunk.old_side().len();
        self.offset = line as isize - self.named(hunk, old == 0);
        let (before, after) = hunk.context();
        if line + before < self.frozen {
            return Placement::Failed;
        }
        self.frozen = line + old - after;
        Placement::At { line, offset: self.offset, fuzz }
    }
}
