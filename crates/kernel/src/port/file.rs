//! One file of a patch against the tree: the findings for its hunks, and which of them are taken.

use super::adapt::Edit;
use super::present::Sign;
use super::rehearse::{Confidence, HunkPlace, Proposal, Rehearsed, rehearse};
use super::series::{FileFinding, Finding, Obstacle, Read, Tree};
use super::source::Source;
use super::splice::{joined, placed, spliced, unified};
use super::twice::twice;
use crate::gnu::{Placement, Verdict};
use crate::lines::split;
use crate::series::{Change, FilePatch, Hunk};

/// A file of a patch, as found in the tree.
pub(super) struct Look {
    patch: usize,
    /// Its name in the tree, or else the name in the patch.
    path: String,
    /// What happens to the whole file in this tree.
    change: Change,
    /// Why that is not possible.
    obstacle: Option<Obstacle>,
    /// The change is already done: the file is deleted, or has its new name.
    is_done: bool,
    /// One for each hunk; none is taken yet.
    pub(super) findings: Vec<Finding>,
}

/// The file that a patch refers to, as GNU patch chooses it.
pub(crate) struct PatchTarget {
    /// Its name in the tree, or as the patch calls it.
    pub(crate) path: String,
    /// What happens to it there.
    pub(crate) change: Change,
    /// Its text, if the tree has it.
    pub(crate) text: Option<Vec<u8>>,
    /// Why nothing of it can be done.
    pub(crate) obstacle: Option<Obstacle>,
    has_new_name: bool,
}

pub(crate) fn patch_target<E>(file: &FilePatch, read: &mut Read<'_, E>) -> Result<PatchTarget, E> {
    let (mut path, mut text) = (file.path().to_owned(), read(file.path())?);
    // In `diff -u x.c.orig x.c` the names differ, and the one that exists is meant.
    if let (Change::Modified, None, Some(old)) = (file.change, &text, &file.old)
        && let Some(other) = read(old)?
    {
        (path, text) = (old.clone(), Some(other));
    }
    // As in GNU patch: a hunk that starts at line 0 of a missing file creates the file.
    let makes = file.hunks.first().is_some_and(|hunk| hunk.old_start == 0)
        && file.hunks.iter().all(|hunk| hunk.old_side().is_empty());
    let change = match file.change {
        Change::Modified if makes && text.is_none() => Change::Created,
        change => change,
    };
    let to = file.new.as_ref().filter(|_| matches!(change, Change::Renamed | Change::Copied));
    let has_new_name = to.map_or(Ok(false), |to| read(to).map(|text| text.is_some()))?;
    let obstacle = match (change, &text) {
        (Change::Created, Some(there)) if !there.is_empty() => Some(Obstacle::Exists),
        (Change::Created, _) => None,
        (_, None) => Some(Obstacle::NoFile),
        _ => has_new_name.then_some(Obstacle::Exists),
    };
    Ok(PatchTarget { path, change, text, obstacle, has_new_name })
}

/// Rehearses the hunks of a file; also returns the file's text, if the tree has it.
pub(super) fn look<E>(
    patch: usize,
    file: &FilePatch,
    tree: &mut Tree<'_, '_, E>,
) -> Result<(Look, Option<Vec<u8>>), E> {
    let PatchTarget { path, change, text, obstacle, has_new_name } = patch_target(file, &mut |path| tree.text(path))?;
    let is_done = text.is_none() && (change == Change::Deleted || has_new_name);
    let finding = |obstacle, seen: Option<Rehearsed>| Finding {
        patch,
        file: path.clone(),
        verdict: seen.as_ref().map_or(Verdict::Fails, |seen| seen.patch.verdict()),
        obstacle,
        is_present: seen.as_ref().is_some_and(|seen| seen.is_present),
        rehearsed: seen,
        doubt: None,
        is_taken: false,
        gone: Vec::new(),
        gone_lines: [0; 2],
        twice: Vec::new(),
        half: None,
    };
    let all = |one: &dyn Fn(&Hunk) -> Finding| file.hunks.iter().map(one).collect();
    let findings = match (change, &text) {
        (Change::Created, Some(there)) if !there.is_empty() => all(&|hunk| {
            let is_present = hunk.new_side().concat() == *there;
            finding(Some(Obstacle::Exists), Some(without_text(Placement::Reversed, None, is_present)))
        }),
        (Change::Created, _) => all(&|_| {
            let at = Placement::At { line: 0, offset: 0, fuzz: 0 };
            let place = HunkPlace { line: 1, function: String::new() };
            finding(None, Some(without_text(at, Some(place), false)))
        }),
        (_, None) => all(&|_| finding(Some(Obstacle::NoFile), None)),
        (_, Some(text)) => {
            let found = rehearse(&file.hunks, &Source::new(text));
            found.into_iter().map(|seen| finding(None, Some(seen))).collect()
        }
    };
    Ok((Look { patch, path, change, obstacle, is_done, findings }, text))
}

impl Look {
    /// The finding for the file as a whole: if it has no hunks, or gets a new name or mode.
    pub(super) fn as_whole(&self, file: &FilePatch, is_taken: bool, is_known: bool) -> Option<FileFinding> {
        let is_moved = matches!(file.change, Change::Renamed | Change::Copied);
        let is_said = is_moved || file.modes().is_some() || file.hunks.is_empty();
        let is_present = self.is_done || is_known;
        is_said.then(|| FileFinding {
            patch: self.patch,
            change: self.change,
            file: self.path.clone(),
            to: file.new.clone().filter(|_| is_moved),
            modes: file.modes(),
            obstacle: self.obstacle.filter(|_| !is_present),
            is_present,
            is_taken,
        })
    }
}

fn without_text(patch: Placement, place: Option<HunkPlace>, is_present: bool) -> Rehearsed {
    Rehearsed { patch, place, flagged: None, is_present, proposal: None }
}

/// For a patch that is in the history. If only the subject matches, hunks that apply keep their findings.
pub(super) fn settle(findings: &mut [Finding], by: Sign) {
    for found in findings.iter_mut().filter(|found| by < Sign::Subject || found.verdict == Verdict::Fails) {
        found.is_present = true;
        if let Some(seen) = &mut found.rehearsed {
            (seen.flagged, seen.proposal) = (None, None);
        }
    }
}

/// Applies to the tree what can be taken of the file, and returns it as a patch; `None` if nothing can be taken.
pub(super) fn take<E>(
    file: &FilePatch,
    look: &mut Look,
    text: Option<Vec<u8>>,
    tree: &mut Tree<'_, '_, E>,
) -> Result<Option<FilePatch>, E> {
    match (look.change, text) {
        (Change::Created, Some(there)) if !there.is_empty() => Ok(None),
        (Change::Created, there) => {
            let made: Vec<u8> = file.hunks.iter().flat_map(|hunk| hunk.new_side().concat()).collect();
            let lines: Vec<Vec<u8>> = split(&made).into_iter().map(<[u8]>::to_vec).collect();
            let hunks = if lines.is_empty() { Vec::new() } else { unified(&[Edit { at: 0..0, lines }], &[]) };
            tree.changed.insert(look.path.clone(), Some(made));
            look.findings.iter_mut().for_each(|found| found.is_taken = true);
            let (change, old) = match there {
                None => (Change::Created, None),
                Some(_) => (Change::Modified, Some(look.path.clone())),
            };
            Ok(Some(FilePatch { change, old, hunks, ..file.clone() }))
        }
        (_, None) => Ok(None),
        (_, Some(text)) => {
            let lines = split(&text);
            let edits = fitting(file, &mut look.findings, &lines);
            let done = moved(file, &look.path, spliced(&edits, &lines), tree)?;
            if done.is_none() {
                let is_in_the_way = Some(Obstacle::Exists);
                look.findings.iter_mut().for_each(|found| (found.is_taken, found.obstacle) = (false, is_in_the_way));
            }
            Ok(done.map(|done| FilePatch { hunks: unified(&edits, &lines), ..done }))
        }
    }
}

/// Stores the new content of the file at `path` in the tree, under its new name if it gets one, and returns the header
/// of a patch that does this. `None` if another file already has that name.
fn moved<E>(file: &FilePatch, path: &str, after: Vec<u8>, tree: &mut Tree<'_, '_, E>) -> Result<Option<FilePatch>, E> {
    let mut done = FilePatch { old: Some(path.to_owned()), new: Some(path.to_owned()), ..file.clone() };
    match (file.change, &file.new) {
        (Change::Renamed | Change::Copied, Some(to)) => {
            if tree.text(to)?.is_some() {
                return Ok(None);
            }
            if file.change == Change::Renamed {
                tree.changed.insert(path.to_owned(), None);
            }
            tree.changed.insert(to.clone(), Some(after));
            done.new = Some(to.clone());
        }
        (Change::Deleted, _) if after.is_empty() => {
            tree.changed.insert(path.to_owned(), None);
            done.new = None;
        }
        _ => {
            tree.changed.insert(path.to_owned(), Some(after));
            done.change = Change::Modified;
            if file.change == Change::Deleted {
                // Some lines remain, so the file is not deleted, and keeps its mode.
                done.old_mode = None;
            }
        }
    }
    Ok(Some(done))
}

/// The edits of the hunks that are taken. If a proposal turns out to define what the file already has, it is dropped
/// and the edits are put together again.
fn fitting(file: &FilePatch, findings: &mut [Finding], text: &[&[u8]]) -> Vec<Edit> {
    loop {
        let each = taken(&file.hunks, findings);
        let edits = joined(each.iter().flat_map(|(_, edits)| edits.iter().cloned()), text);
        if !file.is_c() || !twice(&file.hunks, findings, &each, &edits, text) {
            return edits;
        }
    }
}

/// Marks the hunks that are taken, and returns the edits of each, in the order of the text.
fn taken(hunks: &[Hunk], findings: &mut [Finding]) -> Vec<(usize, Vec<Edit>)> {
    let found = findings.iter().map(|found| {
        let seen = found.rehearsed.as_ref().map(|seen| (&seen.proposal, seen.patch));
        let is_twice = |proposal: &Option<Proposal>| proposal.is_some() && !found.twice.is_empty();
        seen.filter(|(proposal, _)| !(found.is_present || found.half.is_some() || is_twice(proposal)))
    });
    let edits = hunks.iter().zip(found).map(|(hunk, found)| match found {
        Some((Some(proposal), _)) if proposal.confidence < Confidence::Guess => {
            let hunk = &proposal.hunk;
            placed(hunk, hunk.old_start - usize::from(!hunk.old_side().is_empty()))
        }
        Some((None, Placement::At { line, .. })) => placed(hunk, line),
        _ => Vec::new(),
    });
    let mut edits: Vec<(usize, Vec<Edit>)> = edits.enumerate().filter(|(_, edits)| !edits.is_empty()).collect();
    let begin = |edits: &[Edit]| edits.first().map_or(0, |edit| edit.at.start);
    let end = |edits: &[Edit]| edits.last().map_or(0, |edit| edit.at.end);
    edits.sort_by_key(|(_, edits)| (begin(edits), end(edits)));
    // If two hunks change the same lines, the first one is taken.
    let mut free = 0;
    edits.retain(|(_, edits)| {
        let is_free = begin(edits) >= free;
        free = if is_free { end(edits) } else { free };
        is_free
    });
    for (number, found) in findings.iter_mut().enumerate() {
        found.is_taken = edits.iter().any(|(hunk, _)| *hunk == number);
    }
    edits
}
