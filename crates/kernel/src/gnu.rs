//! Where GNU patch 2.7 puts a hunk, and what it says of it. Written from its manual ("Merging a patch file", "Inexact")
//! and from what the program does; `tests/gnu_patch.rs` holds it to the program.
//!
//! A hunk is looked for at its line plus the offset of the hunk before, then one line after, one before, two after and
//! so on; where no place takes all of its old lines, with one and then two lines of context less at either end. A hunk
//! with less context at one end than at the other was made at an end of its file, and fits only there.

use crate::series::{Hunk, Line};

/// Lines of context that may differ at either end: patch's own default.
pub const FUZZ_LIMIT: usize = 2;

/// What patch says of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// At its line.
    Applies,
    /// Some lines away.
    Offset,
    /// With lines of context that differ.
    Fuzz,
    /// Nowhere.
    Fails,
}

/// Where a hunk goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Its old side begins at this line of the text.
    At {
        /// From 0, in the text before any hunk.
        line: usize,
        /// Lines after the one that its header names; negative: before it.
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
    /// In patch's words.
    pub fn verdict(&self) -> Verdict {
        match *self {
            Self::At { fuzz: 1.., .. } => Verdict::Fuzz,
            Self::At { offset: 0, .. } => Verdict::Applies,
            Self::At { .. } => Verdict::Offset,
            Self::Failed | Self::Reversed => Verdict::Fails,
        }
    }
}

/// Where patch puts each hunk of a file; `text` are its lines with their newlines.
pub fn place(hunks: &[Hunk], text: &[&[u8]]) -> Vec<Placement> {
    let mut search = Search { text, offset: 0, frozen: 0 };
    let mut out = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        let (before, behind) = hunk.context();
        let most = before.max(behind).min(FUZZ_LIMIT);
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

/// The text with each hunk at its place: the context stays the text's own.
pub fn apply(hunks: &[Hunk], placements: &[Placement], text: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let write = |out: &mut Vec<u8>, line: &[u8]| {
        // Where more follows a line without a newline, patch gives it one.
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
    /// The offset at which the hunk before was applied.
    offset: isize,
    /// Lines of the text that are written already.
    frozen: usize,
}

impl Search<'_> {
    /// The first place in patch's order, from 0.
    fn find(&self, hunk: &Hunk, fuzz: usize) -> Option<usize> {
        let old = hunk.old_side();
        let named = self.named(hunk, old.is_empty());
        let guess = named + self.offset;
        if old.is_empty() {
            // Matches always, after the end, too.
            return usize::try_from(guess).ok();
        }
        let (before, behind) = hunk.context();
        let longer = before.max(behind);
        // The longer end gives way first; an end that is shorter even then was cut by the end of the file.
        let cut = |end: usize| (fuzz + end).checked_sub(longer);
        let (mut head, tail) = (cut(before), cut(behind));
        // It can have less context by chance of the tool that made it: the beginning is a fact only at line 1.
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
            // Where the guess lies in what is written, the first line behind that is tried before all others, and the
            // guess in spite of that.
            _ if guess < lowest && lowest <= last && fits(lowest) => Some(lowest as usize),
            _ => {
                let farthest = (last - guess).max(guess - lowest);
                (0..=farthest).find_map(|away| {
                    let behind = guess + away;
                    let before = guess - away;
                    if behind <= last && fits(behind) {
                        Some(behind as usize)
                    } else if before >= lowest && fits(before) {
                        Some(before as usize)
                    } else {
                        None
                    }
                })
            }
        }
    }

    /// The line that the header names, from 0; for a hunk without old lines the one after.
    fn named(&self, hunk: &Hunk, is_insertion: bool) -> isize {
        hunk.old_start as isize - isize::from(!is_insertion)
    }

    fn fits(&self, old: &[&[u8]], line: usize, head: usize, tail: usize) -> bool {
        let kept = head..(old.len() - tail).max(head);
        // Ignored lines may hang over the end of the text.
        self.text.get(line + kept.start..line + kept.end).is_some_and(|there| *there == old[kept])
    }

    /// Notes what the next hunk has to know, unless the place lies in what the hunks before have written.
    fn take(&mut self, hunk: &Hunk, line: usize, fuzz: usize) -> Placement {
        let old = hunk.old_side().len();
        self.offset = line as isize - self.named(hunk, old == 0);
        let (before, behind) = hunk.context();
        if line + before < self.frozen {
            return Placement::Failed;
        }
        self.frozen = line + old - behind;
        Placement::At { line, offset: self.offset, fuzz }
    }
}
