//! A series against a tree, patch after patch, in memory.

use super::adapt::Edit;
use super::rehearse::{Confidence, Place, Rehearsed, rehearse};
use super::source::Source;
use super::splice::{joined, placed, spliced, unified};
use crate::gnu::{Placement, Verdict};
use crate::lines::split;
use crate::series::{Change, FilePatch, Hunk, Patch};
use std::collections::HashMap;

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
    /// The hunk or its proposal is in the adapted series.
    pub is_taken: bool,
}

/// Why a file's hunks have no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The file is to be changed and is not in the tree.
    NoFile,
    /// The file is to be made and is in the tree.
    Exists,
}

/// What the rehearsal found of a series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Port {
    /// A finding for each hunk, in the order of the series.
    pub findings: Vec<Finding>,
    /// For each patch what of it is taken, made for the tree as the adapted patches before it leave it: each hunk fits at
    /// its line.
    pub adapted: Vec<Vec<FilePatch>>,
    /// For each patch the hunks, and files without hunks, that are neither taken nor present already.
    pub left_out: Vec<Vec<FilePatch>>,
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
pub fn rehearse_series<E>(patches: &[Patch], read: &mut Read<'_, E>) -> Result<Port, E> {
    let mut tree = Tree { read, changed: HashMap::new() };
    let mut out = Port::default();
    for (number, patch) in patches.iter().enumerate() {
        let (mut adapted, mut left_out) = (Vec::new(), Vec::new());
        for file in &patch.files {
            let done = one_file(number, file, &mut tree)?;
            left_out.extend(rest(file, &done));
            adapted.extend(done.adapted.filter(FilePatch::is_change));
            out.findings.extend(done.findings);
        }
        out.adapted.push(adapted);
        out.left_out.push(left_out);
    }
    Ok(out)
}

/// A file of a patch: a finding for each hunk, and what of it goes in.
struct Done {
    findings: Vec<Finding>,
    adapted: Option<FilePatch>,
}

/// The file with the hunks that have come to nothing.
fn rest(file: &FilePatch, done: &Done) -> Option<FilePatch> {
    let is_open = |found: &Finding| !found.is_taken && !found.rehearsed.as_ref().is_some_and(|seen| seen.is_present);
    let open = file.hunks.iter().zip(&done.findings).filter(|(_, found)| is_open(found));
    let hunks: Vec<Hunk> = open.map(|(hunk, _)| hunk.clone()).collect();
    match &done.adapted {
        _ if hunks.is_empty() && !(file.hunks.is_empty() && done.adapted.is_none()) => None,
        // The file has its new name and mode already.
        Some(adapted) => {
            let name = adapted.new.clone().or_else(|| adapted.old.clone());
            let (old, change) = (name.clone(), Change::Modified);
            Some(FilePatch { old, new: name, change, old_mode: None, new_mode: None, hunks, ..file.clone() })
        }
        None => Some(FilePatch { hunks, ..file.clone() }),
    }
}

fn one_file<E>(patch: usize, file: &FilePatch, tree: &mut Tree<'_, '_, E>) -> Result<Done, E> {
    let (mut path, mut text) = (file.path().to_owned(), tree.text(file.path())?);
    // `diff -u x.c.orig x.c`: the names differ, and the one that is there is meant.
    if let (Change::Modified, None, Some(old)) = (file.change, &text, &file.old)
        && let Some(other) = tree.text(old)?
    {
        (path, text) = (old.clone(), Some(other));
    }
    let finding = |verdict, obstacle, rehearsed, is_taken| {
        let file = path.clone();
        Finding { patch, file, verdict, obstacle, rehearsed, is_taken }
    };
    let all = |one: &dyn Fn(&Hunk) -> Finding| file.hunks.iter().map(one).collect();
    match (file.change, text) {
        (Change::Created, Some(there)) if !there.is_empty() => {
            let exists = |hunk: &Hunk| {
                let is_present = hunk.new_side().concat() == there;
                let seen = without_text(Placement::Reversed, None, is_present);
                finding(Verdict::Fails, Some(Obstacle::Exists), Some(seen), false)
            };
            Ok(Done { findings: all(&exists), adapted: None })
        }
        (Change::Created, there) => {
            let made: Vec<u8> = file.hunks.iter().flat_map(|hunk| hunk.new_side().concat()).collect();
            let lines: Vec<Vec<u8>> = split(&made).into_iter().map(<[u8]>::to_vec).collect();
            let hunks = if lines.is_empty() { Vec::new() } else { unified(&[Edit { at: 0..0, lines }], &[]) };
            tree.changed.insert(path.clone(), Some(made));
            let is_new = there.is_none();
            let (change, old) = if is_new { (Change::Created, None) } else { (Change::Modified, Some(path.clone())) };
            let at = Placement::At { line: 0, offset: 0, fuzz: 0 };
            let place = Place { line: 1, function: String::new() };
            let applies =
                |_: &Hunk| finding(Verdict::Applies, None, Some(without_text(at, Some(place.clone()), false)), true);
            Ok(Done { findings: all(&applies), adapted: Some(FilePatch { change, old, hunks, ..file.clone() }) })
        }
        (_, None) => {
            let absent = |_: &Hunk| finding(Verdict::Fails, Some(Obstacle::NoFile), None, false);
            Ok(Done { findings: all(&absent), adapted: None })
        }
        (_, Some(text)) => {
            let source = Source::new(&text);
            let found = rehearse(&file.hunks, &source);
            let (is_taken, edits) = taken(&file.hunks, &found, &source);
            let after = spliced(&edits, source.lines());
            let hunks = unified(&edits, source.lines());
            let adapted = moved(file, &path, after, tree)?.map(|file| FilePatch { hunks, ..file });
            let one = |(one, is_taken): (Rehearsed, bool)| {
                finding(one.patch.verdict(), None, Some(one), is_taken && adapted.is_some())
            };
            let findings = found.into_iter().zip(is_taken).map(one).collect();
            Ok(Done { findings, adapted })
        }
    }
}

fn without_text(patch: Placement, place: Option<Place>, is_present: bool) -> Rehearsed {
    Rehearsed { patch, place, flagged: None, is_present, proposal: None }
}

/// Gives the tree what the file at `path` has become, under the name that it then has, and answers how a patch says so.
/// `None`: it is to have the name of another file.
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
                // Lines are left: its mode stays as well.
                done.old_mode = None;
            }
        }
    }
    Ok(Some(done))
}

/// Which hunks are taken, and the edits that they make of the text.
fn taken(hunks: &[Hunk], found: &[Rehearsed], source: &Source<'_>) -> (Vec<bool>, Vec<Edit>) {
    let edits = hunks.iter().zip(found).map(|(hunk, one)| match (&one.proposal, one.patch) {
        (Some(proposal), _) if proposal.confidence < Confidence::Guess => {
            let hunk = &proposal.hunk;
            placed(hunk, hunk.old_start - usize::from(!hunk.old_side().is_empty()))
        }
        (None, Placement::At { line, .. }) => placed(hunk, line),
        _ => Vec::new(),
    });
    let mut edits: Vec<(usize, Vec<Edit>)> = edits.enumerate().filter(|(_, edits)| !edits.is_empty()).collect();
    let begin = |edits: &[Edit]| edits.first().map_or(0, |edit| edit.at.start);
    let end = |edits: &[Edit]| edits.last().map_or(0, |edit| edit.at.end);
    edits.sort_by_key(|(_, edits)| (begin(edits), end(edits)));
    // Of two for the same lines the first is taken.
    let mut free = 0;
    edits.retain(|(_, edits)| {
        let is_free = begin(edits) >= free;
        free = if is_free { end(edits) } else { free };
        is_free
    });
    let mut is_taken = vec![false; hunks.len()];
    edits.iter().for_each(|(hunk, _)| is_taken[*hunk] = true);
    (is_taken, joined(edits.into_iter().flat_map(|(_, edits)| edits), source.lines()))
}
