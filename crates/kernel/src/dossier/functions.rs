//! Functions that changed, or were added, removed or renamed.

use super::lines::{Numbers, difference, in_both};
use super::outside::is_seen;
use super::{File, SourceLine};
use crate::port::common;
use crate::source::{Function, code_lines, inner_conditions};
use schedlab_plan::InOrder;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A function counts as renamed if at least this percentage of its distinctive lines is in common, and it must have a
/// minimum of such lines.
const SHARE_PERCENT: usize = 60;
const MIN_DISTINCTIVE: usize = 3;

/// What became of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Only the second tree has it.
    New,
    /// Only the first tree has it.
    Removed,
    /// Its code differs; comments and white space do not count.
    Changed,
    /// At least 60 % of the lines that tell something come from a function of this name, which is gone.
    RenamedFrom(String),
}

/// One function that differs.
#[derive(Debug, Clone, Serialize)]
pub struct FunctionChange {
    /// Its name, in the second tree if it is there; `sys_futex` of a system call, `compat_sys_futex` of a compat one.
    pub name: String,
    /// What became of it: `new`, `removed`, `changed`, or an object whose `renamed_from` is the old name.
    pub status: Status,
    /// Where its name is in the first tree.
    pub before: Option<SourceLine>,
    /// Where it is in the second tree.
    pub after: Option<SourceLine>,
    /// Lines of code that are new.
    pub added: usize,
    /// Lines of code that are gone.
    pub removed: usize,
    /// `#if` conditions, in the second tree if it is there.
    pub condition: String,
    /// `#if` conditions inside of it that lines of the diff stand under, each once; of a new or removed one none.
    pub inner_conditions: Vec<String>,
    /// Signatures before and after, where they differ.
    pub signatures: Option<[String; 2]>,
    /// Whether other files can call it, in each tree; in the first one only if no function of that name stays.
    #[serde(skip)]
    seen: [bool; 2],
}

impl FunctionChange {
    /// Its name in the first tree.
    pub(super) fn old_name(&self) -> &str {
        match &self.status {
            Status::RenamedFrom(old) => old,
            _ => &self.name,
        }
    }

    /// Its name in the second tree, if other files can call it there and the change concerns them.
    pub(super) fn seen(&self) -> Option<&str> {
        let is_other = self.status != Status::Changed || self.signatures.is_some();
        Some(&*self.name).filter(|_| is_other && self.seen[1])
    }

    /// Its name in the first tree, if other files could call it there and no function of that name is left.
    pub(super) fn gone(&self) -> Option<&str> {
        let is_gone = matches!(self.status, Status::Removed | Status::RenamedFrom(_));
        Some(self.old_name()).filter(|_| is_gone && self.seen[0])
    }
}

/// A function, its file, and its lines of code as numbers.
struct At<'a> {
    file: &'a File,
    function: &'a Function,
    code: Vec<usize>,
}

pub(super) fn changes(before: &[File], after: &[File]) -> Vec<FunctionChange> {
    let (old, new) = (by_name(before), by_name(after));
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let (mut gone, mut come, mut out) = (Vec::new(), Vec::new(), Vec::new());
    let mut numbers = Numbers::default();
    for name in names {
        let [mut a, mut b] = [old.get(name), new.get(name)].map(|found| read(found, &mut numbers));
        a.retain(|x| match b.iter().position(|y| x.code == y.code) {
            Some(at) => {
                b.remove(at);
                false
            }
            None => true,
        });
        // The remaining ones are matched by file and condition, then by file, then in order.
        let rules: [fn(&At, &At) -> bool; 3] = [
            |x, y| x.file.path == y.file.path && x.function.condition == y.function.condition,
            |x, y| x.file.path == y.file.path,
            |_, _| true,
        ];
        for matches in rules {
            let mut left = Vec::new();
            for x in a {
                match b.iter().position(|y| matches(&x, y)) {
                    Some(at) => out.push(change(Status::Changed, Some(&x), Some(&b.remove(at)))),
                    None => left.push(x),
                }
            }
            a = left;
        }
        gone.extend(a);
        come.extend(b);
    }
    renamed(&mut gone, come, &numbers, &mut out);
    out.extend(gone.iter().map(|x| change(Status::Removed, Some(x), None)));
    out.iter_mut().for_each(|c| c.seen[0] &= !new.contains_key(c.old_name()));
    let key = |c: &FunctionChange| (c.after.as_ref().or(c.before.as_ref()).map(|p| p.file.clone()), c.name.clone());
    out.in_order_by_key(key);
    out
}

/// Pairs each new function with the removed one that it shares most lines with; without one it is new.
fn renamed(gone: &mut Vec<At>, come: Vec<At>, numbers: &Numbers, out: &mut Vec<FunctionChange>) {
    let lines_gone: Vec<Vec<usize>> = gone.iter().map(|x| numbers.distinctive(&x.code)).collect();
    // Only functions that share a line are compared: between two releases all pairs would be some 10^8.
    let mut with_line: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, lines) in lines_gone.iter().enumerate() {
        lines.iter().for_each(|line| with_line.entry(*line).or_default().push(at));
    }
    let mut left: Vec<Option<At>> = std::mem::take(gone).into_iter().map(Some).collect();
    for y in come {
        let lines = numbers.distinctive(&y.code);
        let near = lines.iter().filter_map(|line| with_line.get(line)).flatten();
        let near: BTreeSet<usize> = near.copied().filter(|at| left[*at].is_some()).collect();
        let share = |x: &[usize]| 200 * in_both(x, &lines) / (x.len() + lines.len());
        let best =
            near.into_iter().filter(|_| lines.len() >= MIN_DISTINCTIVE).map(|at| (share(&lines_gone[at]), at)).max();
        match best.filter(|best| best.0 >= SHARE_PERCENT).and_then(|(_, at)| left[at].take()) {
            Some(x) => out.push(change(Status::RenamedFrom(x.function.name.clone()), Some(&x), Some(&y))),
            None => out.push(change(Status::New, None, Some(&y))),
        }
    }
    gone.extend(left.into_iter().flatten());
}

/// The functions of a tree by name, in the order of files.
pub(super) type Named<'a> = BTreeMap<&'a str, Vec<(&'a File, &'a Function)>>;

pub(super) fn by_name(files: &[File]) -> Named<'_> {
    let mut out: Named<'_> = BTreeMap::new();
    for file in files {
        for function in &file.unit.functions {
            out.entry(function.name.as_str()).or_default().push((file, function));
        }
    }
    out
}

fn read<'a>(found: Option<&Vec<(&'a File, &'a Function)>>, numbers: &mut Numbers) -> Vec<At<'a>> {
    let at = |&(file, function): &(&'a File, &'a Function)| {
        let lines = code_lines(&file.text, function);
        At { file, function, code: numbers.of(&lines.iter().map(String::as_bytes).collect::<Vec<_>>()) }
    };
    found.into_iter().flatten().map(at).collect()
}

fn change(status: Status, before: Option<&At>, after: Option<&At>) -> FunctionChange {
    let code = |at: Option<&At>| at.map(|a| a.code.clone()).unwrap_or_default();
    let place = |at: &At| SourceLine { file: at.file.path.clone(), line: at.function.line };
    let (added, removed) = difference(&code(before), &code(after));
    let shown = after.or(before).map(|at| at.function);
    let signatures = match (before, after) {
        (Some(x), Some(y)) if x.function.signature != y.function.signature => {
            Some([x.function.signature.clone(), y.function.signature.clone()])
        }
        _ => None,
    };
    FunctionChange {
        name: shown.map(|f| f.name.clone()).unwrap_or_default(),
        status,
        before: before.map(place),
        after: after.map(place),
        added,
        removed,
        condition: shown.map(|f| f.condition.clone()).unwrap_or_default(),
        inner_conditions: before.zip(after).map(|(x, y)| conditions_of_diff(x, y)).unwrap_or_default(),
        signatures,
        seen: [before, after].map(|at| at.is_some_and(|at| is_seen(&at.file.path, &at.function.signature))),
    }
}

/// The conditions inside either version that apply to lines of the diff.
fn conditions_of_diff(old: &At, new: &At) -> Vec<String> {
    let [a, b] = [old, new].map(|at| inner_conditions(&at.file.text, at.function));
    if a.iter().chain(&b).all(String::is_empty) {
        return Vec::new();
    }
    let [x, y] = [old, new].map(|at| at.code.iter().map(|number| number.to_ne_bytes()).collect::<Vec<_>>());
    let [x, y] = [&x, &y].map(|lines| lines.iter().map(|line| &line[..]).collect::<Vec<_>>());
    let same = common(&x, &y).unwrap_or_default();
    let is_gone = |at: &usize| same.binary_search_by_key(at, |pair| pair.0).is_err();
    let is_new = |at: &usize| same.binary_search_by_key(at, |pair| pair.1).is_err();
    let gone = (0..a.len()).filter(is_gone).map(|at| &a[at]);
    let come = (0..b.len()).filter(is_new).map(|at| &b[at]);
    // A line that is in both versions may be under another condition now.
    let moved = same.iter().filter(|(i, j)| a[*i] != b[*j]).flat_map(|(i, j)| [&a[*i], &b[*j]]);
    let mut out: Vec<String> = Vec::new();
    for held in gone.chain(come).chain(moved).filter(|held| !held.is_empty()) {
        if !out.contains(held) {
            out.push(held.clone());
        }
    }
    out
}
