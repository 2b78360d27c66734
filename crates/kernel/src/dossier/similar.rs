//! Functions that use the same names as the changed ones: where to look for a similar feature.

use super::{File, FunctionChange, SourceLine, find};
use crate::names::words;
use crate::source::code_lines;
use schedlab_plan::{InOrder, OneByOne};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// At most this many are listed.
const NAMED: usize = 12;
/// A word that is in more functions than this is not specific to any.
const COMMON: usize = 40;

/// An unchanged function that shares rare names with changed ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Similar {
    /// Its name.
    pub function: String,
    /// Where it is, in the tree that the changed functions are in.
    pub place: SourceLine,
    /// Members, constants and knobs that both use, the rarest first.
    pub shared: Vec<String>,
    /// The changed functions that use them.
    pub with: Vec<String>,
}

/// Candidates in the second tree, or in the first if a feature was removed; those that share most with the lines that
/// differ come first. A name that `n` functions use counts 1/n.
pub fn similar(functions: &[FunctionChange], before: &[File], after: &[File]) -> Vec<Similar> {
    let is_there = functions.iter().filter(|change| change.after.is_some()).count();
    // If a feature is removed, similar code is in the first tree.
    let (files, side) = if 2 * is_there >= functions.len() { (after, 1) } else { (before, 0) };
    // The lines of the changed functions' names, by file.
    let mut changed: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for place in functions.iter().filter_map(|change| [&change.before, &change.after][side].as_ref()) {
        changed.entry(&place.file).or_default().push(place.line);
    }
    let known = interfaces(files);
    let asked = asked(functions, before, after, &known);
    let all: Vec<_> = files.iter().flat_map(|file| file.unit.functions.iter().map(move |f| (file, f))).collect();
    let mut used_by: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, (file, function)) in all.iter().enumerate() {
        let uses = known.in_lines(&code_lines(&file.text, function));
        uses.into_iter().filter(|n| asked.contains_key(n)).for_each(|n| used_by.entry(n).or_default().push(number));
    }
    let is_changed = |number: usize| {
        let (file, function) = all[number];
        changed.get(file.path.as_str()).is_some_and(|lines| lines.contains(&function.line))
    };
    let named = ranked(&used_by, is_changed).into_iter().map(|(number, shared)| {
        let (file, function) = all[number];
        let with: BTreeSet<&str> = shared.iter().flat_map(|name| asked[name].iter().copied()).collect();
        Similar {
            function: function.name.clone(),
            place: SourceLine { file: file.path.clone(), line: function.line },
            with: with.into_iter().map(str::to_owned).collect(),
            shared: shared.into_iter().map(str::to_owned).collect(),
        }
    });
    named.collect()
}

/// For each interface name, the changed functions that have it in a line that differs.
fn asked<'a>(
    functions: &'a [FunctionChange],
    before: &[File],
    after: &[File],
    known: &Interfaces<'a>,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut out: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for change in functions {
        let [old, new] = [(before, &change.before), (after, &change.after)].map(|(files, at)| code(files, at.as_ref()));
        let [gone, come] = [(&old, &new), (&new, &old)].map(|(a, b)| -> Vec<String> {
            let other: BTreeSet<&str> = b.iter().map(String::as_str).one_by_one();
            a.iter().filter(|line| !other.contains(line.as_str())).cloned().collect()
        });
        for name in known.in_lines(&[gone, come].concat()) {
            out.entry(name).or_default().insert(&change.name);
        }
    }
    out
}

/// Numbers of the functions that share several names with changed ones, those that share most first; with the names,
/// the rarest first.
fn ranked<'a>(
    used_by: &BTreeMap<&'a str, Vec<usize>>,
    is_changed: impl Fn(usize) -> bool,
) -> Vec<(usize, Vec<&'a str>)> {
    let mut found: BTreeMap<usize, Vec<(usize, &str)>> = BTreeMap::new();
    for (name, users) in used_by.iter().filter(|(_, users)| users.len() <= COMMON) {
        let others = users.iter().filter(|number| !is_changed(**number));
        others.for_each(|number| found.entry(*number).or_default().push((users.len(), name)));
    }
    let weight = |shared: &[(usize, &str)]| shared.iter().map(|(users, _)| 10_000 / users).sum::<usize>();
    let mut ranked: Vec<_> = found.into_iter().filter(|(_, shared)| shared.len() > 1).collect();
    ranked.in_order_by_key(|(number, shared)| (usize::MAX - weight(shared), *number));
    let named = ranked.into_iter().take(NAMED).map(|(number, mut shared)| {
        shared.in_order_by(Ord::cmp);
        (number, shared.into_iter().map(|(_, name)| name).collect())
    });
    named.collect()
}

/// The code of the function whose name is at this place.
fn code(files: &[File], place: Option<&SourceLine>) -> Vec<String> {
    let found = place.and_then(|place| {
        let file = find(files, &place.file)?;
        Some((file, file.unit.functions.iter().find(|function| function.line == place.line)?))
    });
    found.map_or(Vec::new(), |(file, function)| code_lines(&file.text, function))
}

/// Names of members, constants, scheduler features and variables of knobs.
struct Interfaces<'a>(BTreeSet<&'a str>);

impl<'a> Interfaces<'a> {
    /// The names that occur in these lines.
    fn in_lines(&self, lines: &[String]) -> BTreeSet<&'a str> {
        let all = lines.iter().flat_map(|line| words(line.as_bytes()));
        all.filter_map(|word| self.0.get(std::str::from_utf8(word).ok()?).copied()).collect()
    }
}

fn interfaces(files: &[File]) -> Interfaces<'_> {
    let mut out = BTreeSet::new();
    for unit in files.iter().map(|file| &file.unit) {
        let members = unit.types.iter().flat_map(|found| &found.members).map(|member| member.name.as_str());
        let constants =
            unit.macros.iter().filter(|found| !found.text.starts_with('(')).map(|found| found.name.as_str());
        let variables = unit.variables.iter().map(|found| found.name.as_str());
        let features =
            unit.invocations.iter().filter(|found| found.name == "SCHED_FEAT").filter_map(|f| f.arguments.first());
        let all = members.chain(constants).chain(variables).chain(features.map(String::as_str));
        out.extend(all.filter(|name| name.len() > 3));
    }
    Interfaces(out)
}
