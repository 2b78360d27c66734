//! Rehearses a series against a tree, patch by patch, in memory.

use super::file::{look, settle, take};
use super::moves::{Half, halves, moves};
use super::present::{Present, Sign};
use super::rehearse::Rehearsed;
use crate::gnu::Verdict;
use crate::series::{Change, FilePatch, Hunk, Patch};
use std::collections::{BTreeMap, HashMap};

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
    /// Why it may belong elsewhere than patch puts it, where the tree that it is from was asked.
    pub doubt: Option<String>,
    /// The tree has it already: its text says so, or its history has the patch.
    pub is_present: bool,
    /// The hunk or its proposal is in the adapted series.
    pub is_taken: bool,
    /// Of a hunk that is left out: what the lines that it changes use and the tree lacks.
    pub gone: Vec<String>,
    /// Of the same hunk: how many of the lines that it changes are nowhere in the file, of how many.
    pub gone_lines: [usize; 2],
    /// Functions and members that it, or its proposal, defines and the file has already. Such a proposal is left out.
    pub twice: Vec<String>,
    /// It moves something, and the other half decides: why it is left out, or present.
    pub half: Option<String>,
}

/// What the rehearsal found of a file that gets another name or mode, or that comes or goes without a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFinding {
    /// Which patch of the series, from 0.
    pub patch: usize,
    /// What happens to it.
    pub change: Change,
    /// Its name in the tree, or as the patch calls it.
    pub file: String,
    /// Its other name.
    pub to: Option<String>,
    /// Its mode before and after, where they differ.
    pub modes: Option<(u32, u32)>,
    /// Why it cannot be.
    pub obstacle: Option<Obstacle>,
    /// The tree has it already.
    pub is_present: bool,
    /// It is in the adapted series.
    pub is_taken: bool,
}

/// Why a file's hunks have no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The file is to be changed and is not in the tree.
    NoFile,
    /// The patch makes a file that the tree has, or gives another one its name.
    Exists,
}

/// What the rehearsal found of a series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Port {
    /// A finding for each hunk, in the order of the series.
    pub findings: Vec<Finding>,
    /// What happens to files as a whole, in the order of the series.
    pub files: Vec<FileFinding>,
    /// For each patch what of it is taken, made for the tree as the adapted patches before it leave it: each hunk fits at
    /// its line.
    pub adapted: Vec<Vec<FilePatch>>,
    /// For each patch the hunks, and files without hunks, that are neither taken nor present already.
    pub left_out: Vec<Vec<FilePatch>>,
    /// For each patch the files that it touches, as it leaves them; `None`: the file is gone.
    pub made: Vec<Made>,
    /// What the adapted series makes of the files that it touches; `None`: the file is gone.
    pub changed: HashMap<String, Option<Vec<u8>>>,
}

/// New contents of files by path; `None`: the file is gone.
pub type Made = BTreeMap<String, Option<Vec<u8>>>;

/// Answers a file of the tree; `None`: there is none.
pub type Read<'a, E> = dyn FnMut(&str) -> Result<Option<Vec<u8>>, E> + 'a;

/// A tree that a series changes, in memory only.
pub(super) struct Tree<'a, 'b, E> {
    read: &'a mut Read<'b, E>,
    /// What patches have made of files; `None`: the file is gone.
    pub(super) changed: HashMap<String, Option<Vec<u8>>>,
}

impl<E> Tree<'_, '_, E> {
    pub(super) fn text(&mut self, path: &str) -> Result<Option<Vec<u8>>, E> {
        match self.changed.get(path) {
            Some(text) => Ok(text.clone()),
            None => (self.read)(path),
        }
    }
}

/// Rehearses the patches in order. A patch sees the results of the patches before it: patch's own result, or, for hunks
/// that are flagged or fail, their proposal if it is sure or likely, and otherwise nothing. If the history has a patch
/// (`there`, one entry for each patch or none at all), none of it is taken; if only its subject says so, just the hunks
/// that fail are not taken.
pub fn rehearse_series<E>(patches: &[Patch], there: &[Option<Present>], read: &mut Read<'_, E>) -> Result<Port, E> {
    let mut tree = Tree { read, changed: HashMap::new() };
    let mut out = Port::default();
    for (number, patch) in patches.iter().enumerate() {
        let there = there.get(number).into_iter().flatten().find(|there| there.reverted_by.is_none());
        let One { findings, files, adapted, left_out } = as_a_whole(number, patch, there, &mut tree)?;
        out.findings.extend(findings);
        out.files.extend(files);
        let names = adapted.iter().flat_map(|file| [&file.old, &file.new]).flatten();
        let made = |name: &String| Some((name.clone(), tree.changed.get(name)?.clone()));
        out.made.push(names.filter_map(made).collect());
        out.adapted.push(adapted);
        out.left_out.push(left_out);
    }
    out.changed = tree.changed;
    Ok(out)
}

/// What was found of one patch.
#[derive(Default)]
struct One {
    findings: Vec<Finding>,
    files: Vec<FileFinding>,
    adapted: Vec<FilePatch>,
    left_out: Vec<FilePatch>,
}

/// Rehearses a patch; where one half of a move cannot be, once more without the other.
fn as_a_whole<E>(number: usize, patch: &Patch, there: Option<&Present>, tree: &mut Tree<'_, '_, E>) -> Result<One, E> {
    let (moves, mut before) = (moves(patch), Vec::new());
    let names = || patch.files.iter().flat_map(|file| [&file.old, &file.new]).flatten().filter(|_| !moves.is_empty());
    for name in names() {
        before.extend(tree.text(name)?.map(|text| (name.clone(), text)));
    }
    let was: Vec<_> = names().map(|name| (name.clone(), tree.changed.get(name).cloned())).collect();
    let mut halves = Vec::new();
    loop {
        let out = one(number, patch, there, &halves, tree)?;
        let more = self::halves(patch, &moves, &out.findings, &before);
        if more.is_empty() {
            return Ok(out);
        }
        halves.extend(more);
        for (name, text) in &was {
            tree.changed.remove(name);
            tree.changed.extend(text.clone().map(|text| (name.clone(), text)));
        }
    }
}

fn one<E>(
    number: usize,
    patch: &Patch,
    there: Option<&Present>,
    halves: &[Half],
    tree: &mut Tree<'_, '_, E>,
) -> Result<One, E> {
    let mut out = One::default();
    for file in &patch.files {
        let (mut look, text) = look(number, file, tree)?;
        for half in halves {
            let at = half.hunk.checked_sub(out.findings.len());
            at.and_then(|at| look.findings.get_mut(at)).into_iter().for_each(|found| half.mark(found));
        }
        let is_whole = match there.map(|there| there.by) {
            Some(by) => {
                settle(&mut look.findings, by);
                by < Sign::Subject
            }
            None => false,
        };
        let done = if is_whole { None } else { take(file, &mut look, text, tree)? };
        let whole = look.as_whole(file, done.is_some(), there.is_some());
        let is_there = is_whole || whole.as_ref().is_some_and(|whole| whole.is_present && file.hunks.is_empty());
        if !is_there {
            out.left_out.extend(rest(file, &look.findings, done.as_ref()));
        }
        out.files.extend(whole);
        out.adapted.extend(done.filter(FilePatch::is_change));
        out.findings.extend(look.findings);
    }
    Ok(out)
}

/// The file with its hunks that are neither taken nor present.
fn rest(file: &FilePatch, findings: &[Finding], done: Option<&FilePatch>) -> Option<FilePatch> {
    let open = file.hunks.iter().zip(findings).filter(|(_, found)| !found.is_taken && !found.is_present);
    let hunks: Vec<Hunk> = open.map(|(hunk, _)| hunk.clone()).collect();
    match done {
        _ if hunks.is_empty() && !(file.hunks.is_empty() && done.is_none()) => None,
        // The file has its new name and mode already.
        Some(done) => {
            let name = done.new.clone().or_else(|| done.old.clone());
            let (old, change) = (name.clone(), Change::Modified);
            Some(FilePatch { old, new: name, change, old_mode: None, new_mode: None, hunks, ..file.clone() })
        }
        None => Some(FilePatch { hunks, ..file.clone() }),
    }
}
