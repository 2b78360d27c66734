//! Functions that use what the changed ones use: where to look for a feature like this one.

use super::{File, FunctionChange, Place};
use crate::names::words;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many are named.
const NAMED: usize = 12;
/// A word in more functions than this says nothing of any.
const COMMON: usize = 40;

/// An unchanged function that shares rare names with changed ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Similar {
    /// Its name.
    pub function: String,
    /// Where it stands, in the tree that the changed functions are in.
    pub place: Place,
    /// Members, constants and knobs that both use, the rarest first.
    pub shared: Vec<String>,
    /// The changed functions that use them.
    pub with: Vec<String>,
}

/// Candidates in the second tree, and in the first for what is gone; those that share most come first. A name that
/// stands in `n` functions counts 1/n.
pub fn similar(functions: &[FunctionChange], before: &[File], after: &[File]) -> Vec<Similar> {
    let is_there = functions.iter().filter(|change| change.after.is_some()).count();
    // Where a feature is taken out, what was like it stands in the first tree.
    let (files, side) = if 2 * is_there >= functions.len() { (after, 1) } else { (before, 0) };
    let place = |change: &FunctionChange| if side == 1 { change.after.clone() } else { change.before.clone() };
    let changed: BTreeSet<(String, usize)> =
        functions.iter().filter_map(place).map(|place| (place.file, place.line)).collect();
    let known = interfaces(files);
    let mut used_by: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let all: Vec<_> = files.iter().flat_map(|file| file.unit.functions.iter().map(move |f| (file, f))).collect();
    for (number, (file, function)) in all.iter().enumerate() {
        let text = &file.text[function.bytes.clone()];
        let named: BTreeSet<&str> =
            words(text).filter_map(|w| known.get(std::str::from_utf8(w).ok()?).copied()).collect();
        named.into_iter().for_each(|name| used_by.entry(name).or_default().push(number));
    }
    let is_changed = |number: &usize| {
        let (file, function) = all[*number];
        changed.contains(&(file.path.clone(), function.line))
    };
    let mut found: BTreeMap<usize, Vec<(&str, usize)>> = BTreeMap::new();
    for (name, users) in used_by.iter().filter(|(_, users)| (2..=COMMON).contains(&users.len())) {
        if users.iter().any(is_changed) {
            let others = users.iter().filter(|number| !is_changed(number));
            others.for_each(|number| found.entry(*number).or_default().push((name, users.len())));
        }
    }
    let weight = |shared: &[(&str, usize)]| shared.iter().map(|(_, users)| 10_000 / users).sum::<usize>();
    let mut ranked: Vec<(usize, Vec<(&str, usize)>)> =
        found.into_iter().filter(|(_, shared)| shared.len() > 1).collect();
    ranked.sort_by_key(|(number, shared)| (usize::MAX - weight(shared), *number));
    let named = ranked.into_iter().take(NAMED).map(|(number, mut shared)| {
        shared.sort_by_key(|(name, users)| (*users, *name));
        let (file, function) = all[number];
        let users = shared.iter().flat_map(|(name, _)| &used_by[name]).filter(|number| is_changed(number));
        Similar {
            function: function.name.clone(),
            place: Place { file: file.path.clone(), line: function.line },
            with: users.map(|&number| all[number].1.name.clone()).collect::<BTreeSet<_>>().into_iter().collect(),
            shared: shared.into_iter().map(|(name, _)| name.to_owned()).collect(),
        }
    });
    named.collect()
}

/// Names that are a member, a constant, a scheduler feature or a knob's variable, each as itself.
fn interfaces(files: &[File]) -> BTreeMap<&str, &str> {
    let mut out = BTreeMap::new();
    for unit in files.iter().map(|file| &file.unit) {
        let members = unit.types.iter().flat_map(|found| &found.members).map(|member| member.name.as_str());
        let constants =
            unit.macros.iter().filter(|found| !found.text.starts_with('(')).map(|found| found.name.as_str());
        let variables = unit.variables.iter().map(|found| found.name.as_str());
        let features =
            unit.invocations.iter().filter(|found| found.name == "SCHED_FEAT").filter_map(|f| f.arguments.first());
        let all = members.chain(constants).chain(variables).chain(features.map(String::as_str));
        out.extend(all.filter(|name| name.len() > 3).map(|name| (name, name)));
    }
    out
}
