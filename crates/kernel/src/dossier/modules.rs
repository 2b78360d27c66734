//! Calls between files or folders: the flow of a change that is too large for one picture per function.

use super::calls::Tree;
use super::functions::FunctionChange;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// With more files than this, the modules are folders.
const FILES: usize = 64;

/// Calls by name that the functions that differ make from one module into another. Those through a pointer and those of
/// names that several files define are not among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModuleCalls {
    /// The callers' file, or folder.
    pub from: String,
    /// Where what they call is.
    pub to: String,
    /// Pairs of caller and callee that both versions have.
    pub kept: usize,
    /// Pairs that only the second version has.
    pub added: usize,
    /// Pairs that only the first version has.
    pub removed: usize,
}

pub(super) fn module_calls(changes: &[FunctionChange], trees: &[Tree; 2]) -> Vec<ModuleCalls> {
    let mut pairs: Vec<(String, String, [bool; 2])> = Vec::new();
    for change in changes {
        let sides = [(&change.before, change.old_name()), (&change.after, change.name.as_str())];
        let mut calls: BTreeMap<(String, String, String), [bool; 2]> = BTreeMap::new();
        for (side, (place, name)) in sides.into_iter().enumerate() {
            let Some(place) = place else { continue };
            for call in trees[side].calls(name, Some(place)) {
                let Some(to) = trees[side].file_of(&call, &place.file) else { continue };
                calls.entry((place.file.clone(), to.to_owned(), call)).or_default()[side] = true;
            }
        }
        pairs.extend(calls.into_iter().map(|((from, to, _), sides)| (from, to, sides)));
    }
    let files: BTreeSet<&str> = pairs.iter().flat_map(|(from, to, _)| [from.as_str(), to]).collect();
    let is_by_file = files.len() <= FILES;
    let module = |file: &str| match file.rsplit_once('/').filter(|_| !is_by_file) {
        Some((folder, _)) => folder.to_owned(),
        None => file.to_owned(),
    };
    let mut out: BTreeMap<(String, String), [usize; 3]> = BTreeMap::new();
    for (from, to, sides) in &pairs {
        let counts = out.entry((module(from), module(to))).or_default();
        match sides {
            [true, true] => counts[0] += 1,
            [false, _] => counts[1] += 1,
            [true, false] => counts[2] += 1,
        }
    }
    let between = out.into_iter().filter(|((from, to), _)| from != to);
    between.map(|((from, to), [kept, added, removed])| ModuleCalls { from, to, kept, added, removed }).collect()
}
