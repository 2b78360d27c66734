//! A series against a tree, patch after patch, in memory.

use super::rehearse::{Confidence, Place, Rehearsed, rehearse};
use super::source::Source;
use crate::gnu::{Placement, Verdict, apply};
use crate::series::{Change, FilePatch, Hunk, Line, Patch};
use std::collections::HashMap;
use std::ops::Range;

/// What the rehearsal found of one hunk of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which patch of the series, from 0.
    pub patch: usize,
    /// The file in the tree, or as the patch calls it.
    pub file: String,
    /// What patch says.
    pub verdict: Verdict,
    /// Why there is no text to look at.
    pub obstacle: Option<Obstacle>,
    /// What was found in the text, where there is one.
    pub rehearsed: Option<Rehearsed>,
}

/// Why a file's hunks have no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The file is to be changed and is not in the tree.
    NoFile,
    /// The file is to be made and is in the tree.
    Exists,
}

/// Answers a file of the tree; `None`: there is none.
pub type Read<'a, E> = dyn FnMut(&str) -> Result<Option<Vec<u8>>, E> + 'a;

/// A tree that a series changes, in memory only.
struct Tree<'a, 'b, E> {
    read: &'a mut Read<'b, E>,
    /// What patches have made of files; `None`: the file is gone.
    changed: HashMap<String, Option<Vec<u8>>>,
}

impl<E> Tree<'_, '_, E> {
    fn text(&mut self, path: &str) -> Result<Option<Vec<u8>>, E> {
        match self.changed.get(path) {
            Some(text) => Ok(text.clone()),
            None => (self.read)(path),
        }
    }
}

/// Rehearses the patches in their order. A patch sees what
/// those before it have made: patch's own result, but for hunks that are flagged or fail; of these their proposal is
/// taken if it is sure or likely, and nothing else.
pub fn rehearse_series<E>(patches: &[Patch], read: &mut Read<'_, E>) -> Result<Vec<Finding>, E> {
    let mut tree = Tree { read, changed: HashMap::new() };
    let mut out = Vec::new();
    for (number, patch) in patches.iter().enumerate() {
        for file in &patch.files {
            out.extend(one_file(number, file, &mut tree)?);
        }
    }
    Ok(out)
}

fn one_file<E>(patch: usize, file: &FilePatch, tree: &mut Tree<'_, '_, E>) -> Result<Vec<Finding>, E> {
    let (mut path, mut text) = (file.path().to_owned(), tree.text(file.path())?);
    // `diff -u x.c.orig x.c`: the names differ, and the one that is there is meant.
    if let (Change::Modified, None, Some(old)) = (file.change, &text, &file.old)
        && let Some(other) = tree.text(old)?
    {
        (path, text) = (old.clone(), Some(other));
    }
    let finding = |verdict, obstacle, rehearsed| Finding { patch, file: path.clone(), verdict, obstacle, rehearsed };
    let made = |hunk: &Hunk| hunk.new_side().concat();
    match (file.change, text) {
        (Change::Created, Some(there)) if !there.is_empty() => Ok(file
            .hunks
            .iter()
            .map(|hunk| {
                let is_present = made(hunk) == there;
                let rehearsed =
                    Rehearsed { patch: Placement::Reversed, place: None, flagged: None, is_present, proposal: None };
                finding(Verdict::Fails, Some(Obstacle::Exists), Some(rehearsed))
            })
            .collect()),
        (Change::Created, _) => {
            let text = file.hunks.iter().flat_map(made).collect();
            tree.changed.insert(path.clone(), Some(text));
            let place = Some(Place { line: 1, function: String::new() });
            Ok(file
                .hunks
                .iter()
                .map(|_| {
                    let patch = Placement::At { line: 0, offset: 0, fuzz: 0 };
                    let rehearsed =
                        Rehearsed { patch, place: place.clone(), flagged: None, is_present: false, proposal: None };
                    finding(Verdict::Applies, None, Some(rehearsed))
                })
                .collect())
        }
        (_, None) => Ok(file.hunks.iter().map(|_| finding(Verdict::Fails, Some(Obstacle::NoFile), None)).collect()),
        (change, Some(text)) => {
            let source = Source::new(&text);
            let found = rehearse(&file.hunks, &source);
            let after = outcome(&file.hunks, &found, &source);
            let to = file.new.clone().unwrap_or_else(|| path.clone());
            if change == Change::Renamed {
                tree.changed.insert(path.clone(), None);
            }
            let is_gone = change == Change::Deleted && after.is_empty();
            let target = if matches!(change, Change::Renamed | Change::Copied) { to } else { path.clone() };
            tree.changed.insert(target, (!is_gone).then_some(after));
            Ok(found.into_iter().map(|one| finding(one.patch.verdict(), None, Some(one))).collect())
        }
    }
}

/// The text with what can be taken of the hunks.
fn outcome(hunks: &[Hunk], found: &[Rehearsed], source: &Source<'_>) -> Vec<u8> {
    let taken = hunks.iter().zip(found).filter_map(|(hunk, one)| match (&one.proposal, one.patch) {
        (Some(proposal), _) if proposal.confidence < Confidence::Guess => {
            let line = proposal.hunk.old_start - usize::from(!proposal.hunk.old_side().is_empty());
            Some((proposal.hunk.clone(), Placement::At { line, offset: 0, fuzz: 0 }))
        }
        (None, Placement::At { .. }) => Some((hunk.clone(), one.patch)),
        _ => None,
    });
    let mut taken: Vec<(Range<usize>, Hunk, Placement)> =
        taken.map(|(hunk, at)| (changed(&hunk, at), hunk, at)).collect();
    taken.sort_by_key(|(range, ..)| (range.start, range.end));
    // Of two for the same lines the first is taken.
    let mut end = 0;
    taken.retain(|(range, ..)| {
        let is_free = range.start >= end;
        end = if is_free { range.end } else { end };
        is_free
    });
    let (hunks, places): (Vec<Hunk>, Vec<Placement>) = taken.into_iter().map(|(_, hunk, at)| (hunk, at)).unzip();
    apply(&hunks, &places, source.lines())
}

/// The lines of the text from the first change of a placed hunk to the last.
fn changed(hunk: &Hunk, at: Placement) -> Range<usize> {
    let Placement::At { line, .. } = at else { return 0..0 };
    let (before, behind) = hunk.context();
    let old = hunk.lines.iter().filter(|line| !matches!(line, Line::Added(_))).count();
    line + before..line + old - behind
}
