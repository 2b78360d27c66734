//! Rehearses a series against a tree, patch by patch, in memory.

use super::file::{look, settle, take};
use super::moves::{MoveEnd, halves, moves};
use super::present::{Present, Sign};
use super::rehearse::Rehearsed;
use super::section::is_named;
use crate::gnu::Verdict;
use crate::series::{Change, FilePatch, Hunk, Patch};
use std::collections::{BTreeMap, HashMap};

/// What the rehearsal found for one hunk of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which patch of the series, from 0.
    pub patch: usize,
    /// The file's name in the tree, or the name in the patch.
    pub file: String,
    /// What GNU patch does.
    pub verdict: Verdict,
    /// Why there is no text to apply the hunk to.
    pub obstacle: Option<Obstacle>,
    /// What was found in the text, if there is one.
    pub rehearsed: Option<Rehearsed>,
    /// Why it may belong elsewhere than where patch puts it, if the tree that the series was written for is known.
    pub doubt: Option<String>,
    /// The tree already has it, according to its text or its history.
    pub is_present: bool,
    /// The hunk or its proposal is in the adapted series.
    pub is_taken: bool,
    /// For a hunk that is left out: what the tree lacks of the names in the lines that it changes.
    pub gone: Vec<String>,
    /// For such a hunk: how many of the lines that it changes are nowhere in the file, and how many there are.
    pub gone_lines: [usize; 2],
    /// Functions and members that it, or its proposal, defines although the file already has them. Such a proposal is
    /// left out.
    pub twice: Vec<String>,
    /// Set if the hunk is half of a move and the other half decides: why it is left out or present.
    pub half: Option<String>,
}

impl Finding {
    /// The function, struct or table around the hunk's place, for a reader. Empty if there is none: in text and
    /// makefiles, and for a line such as the `do {` of a macro that only looks like one.
    pub fn section(&self) -> &str {
        let place = self.rehearsed.as_ref().and_then(|seen| seen.place.as_ref());
        let name = place.map_or("", |place| place.function.as_str());
        if is_named(&self.file, name) { name } else { "" }
    }
}

/// What the rehearsal found for a file that gets a new name or mode, or that is created or deleted without lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFinding {
    /// Which patch of the series, from 0.
    pub patch: usize,
    /// What the patch does to it.
    pub change: Change,
    /// Its name in the tree, or the name in the patch.
    pub file: String,
    /// Its other name.
    pub to: Option<String>,
    /// Its mode before and after, where they differ.
    pub modes: Option<(u32, u32)>,
    /// Why that is not possible.
    pub obstacle: Option<Obstacle>,
    /// The tree already has the change.
    pub is_present: bool,
    /// It is in the adapted series.
    pub is_taken: bool,
}

/// Why the hunks of a file have no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The patch changes a file that is not in the tree.
    NoFile,
    /// The patch creates a file that the tree has, or renames another file to its name.
    Exists,
}

/// What the rehearsal found for a series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Port {
    /// A finding for each hunk, in the order of the series.
    pub findings: Vec<Finding>,
    /// Changes to whole files, in the order of the series.
    pub files: Vec<FileFinding>,
    /// For each patch, what is taken of it, written for the tree as the earlier adapted patches leave it: each hunk
    /// applies at its line.
    pub adapted: Vec<Vec<FilePatch>>,
    /// For each patch the hunks, and files without hunks, that are neither taken nor present already.
    pub left_out: Vec<Vec<FilePatch>>,
    /// For each patch, the files that it touches as it leaves them; `None` if the file is deleted.
    pub made: Vec<Made>,
    /// The files that the adapted series touches, as it leaves them; `None` if the file is deleted.
    pub changed: HashMap<String, Option<Vec<u8>>>,
}

/// New contents of files by path; `None` if the file is deleted.
pub type Made = BTreeMap<String, Option<Vec<u8>>>;

/// Returns a file of the tree; `None` if there is none.
pub type Read<'a, E> = dyn FnMut(&str) -> Result<Option<Vec<u8>>, E> + 'a;

/// A tree with the changes of a series, in memory only.
pub(super) struct Tree<'a, 'b, E> {
    read: &'a mut Read<'b, E>,
    /// Contents of changed files; `None` if the file is deleted.
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

/// Rehearses the patches in order. A patch sees the results of the earlier patches: those of GNU patch or, for hunks
/// that are flagged or fail, their proposal if it is sure or likely, else nothing. If the history has a patch (`there`,
/// one entry for each patch or none at all), none of it is taken; if only its subject matches, only the hunks that fail
/// are not taken.
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

/// What was found for one patch.
#[derive(Default)]
struct One {
    findings: Vec<Finding>,
    files: Vec<FileFinding>,
    adapted: Vec<FilePatch>,
    left_out: Vec<FilePatch>,
}

/// Rehearses a patch; if half of a move is not possible, again without its other half.
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
    halves: &[MoveEnd],
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

/// The file with those hunks that are neither taken nor present.
fn rest(file: &FilePatch, findings: &[Finding], done: Option<&FilePatch>) -> Option<FilePatch> {
    let open = file.hunks.iter().zip(findings).filter(|(_, found)| !found.is_taken && !found.is_present);
    let hunks: Vec<Hunk> = open.map(|(hunk, _)| hunk.clone()).collect();
    match done {
        _ if hunks.is_empty() && !(file.hunks.is_empty() && done.is_none()) => None,
        // The file already has its new name and mode.
        Some(done) => {
            let name = done.new.clone().or_else(|| done.old.clone());
            let (old, change) = (name.clone(), Change::Modified);
            Some(FilePatch { old, new: name, change, old_mode: None, new_mode: None, hunks, ..file.clone() })
        }
        None => Some(FilePatch { hunks, ..file.clone() }),
    }
}
