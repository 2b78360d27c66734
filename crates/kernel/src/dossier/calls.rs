//! Callers and calls of what changed, and the operation tables that refer to it: the functions to read first.

use super::dispatch::Dispatches;
use super::functions::{Named, by_name};
use super::{File, FunctionChange, OutsideCaller, SourceLine};
use crate::source::{Call, Function};
use schedlab_plan::InOrder;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many key functions a dossier has.
const KEY_FUNCTIONS: usize = 25;

/// A function that calls another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Caller {
    /// The caller.
    pub function: String,
    /// Its file.
    pub file: String,
    /// It is outside of the paths. Such callers are looked for if the function is new, gone or has another signature.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_outside: bool,
}

/// A changed function with what surrounds it. Calls and callers are those by name: a call through a pointer is found
/// by the operation it is registered as, and by the type that it is called through.
#[derive(Debug, Clone, Serialize)]
pub struct KeyFunction {
    /// Its name.
    pub name: String,
    /// Where it is, in the second tree if it has it.
    pub place: SourceLine,
    /// Lines of its code in the diff; with the callers, the tables and the signature what its rank is made of.
    pub lines: usize,
    /// Its signature differs.
    pub is_signature_changed: bool,
    /// Callers in the tree that the place is in, by name; those outside of the paths are the last.
    pub callers: Vec<Caller>,
    /// Calls that both versions make.
    pub calls_kept: Vec<String>,
    /// Calls that only the second version makes; of a new function all.
    pub calls_added: Vec<String>,
    /// Calls that only the first version made; of one that is gone all.
    pub calls_removed: Vec<String>,
    /// `table.member` that it is registered as, or `function().member` if that function puts it there.
    pub registered: Vec<String>,
    /// Functions that call such a member of the table's type: any table of it, so more than dispatch to this one.
    pub dispatched_from: Vec<Caller>,
    /// Functions that call a member of this name, with as many arguments, through what has no type that is known: of this
    /// table's or of another's. Twelve at most.
    pub perhaps_dispatched_from: Vec<Caller>,
    /// How many more of these there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_perhaps: usize,
}

/// Lower-case macros that are not calls.
const ANNOTATIONS: [&str; 4] = ["likely", "unlikely", "container_of", "container_of_const"];

/// One tree, indexed.
pub(super) struct Tree<'a> {
    functions: Named<'a>,
    callers: BTreeMap<&'a str, BTreeSet<Caller>>,
    dispatches: Dispatches<'a>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(files: &'a [File]) -> Self {
        let mut callers: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let functions = by_name(files);
        for file in files {
            for function in &file.unit.functions {
                let caller = Caller { function: function.name.clone(), file: file.path.clone(), is_outside: false };
                for call in function.calls.iter().filter(|call| !call.is_member) {
                    callers.entry(call.name.as_str()).or_default().insert(caller.clone());
                }
            }
        }
        let dispatches = Dispatches::new(files, &functions);
        Self { functions, callers, dispatches }
    }

    /// The file that a call from `file` goes to; `None` if no file defines the name, or several others do.
    pub(super) fn file_of(&self, call: &str, file: &str) -> Option<&'a str> {
        let all = self.functions.get(call)?;
        let is_in = |path: &str| all.iter().all(|(other, _)| other.path == path);
        let first = all.first().map(|(other, _)| other.path.as_str())?;
        if all.iter().any(|(other, _)| other.path == file) { None } else { Some(first).filter(|path| is_in(path)) }
    }

    /// What a function calls; calls through a member begin with `->`.
    pub(super) fn calls(&self, name: &str, place: Option<&SourceLine>) -> BTreeSet<String> {
        let Some(place) = place else { return BTreeSet::new() };
        let found = self.functions.get(name).into_iter().flatten();
        let here = found.filter(|(file, f)| file.path == place.file && f.line == place.line);
        // Upper-case macros are guards and annotations more often than calls.
        let is_call =
            |c: &&Call| c.name.bytes().any(|b| b.is_ascii_lowercase()) && !ANNOTATIONS.contains(&c.name.as_str());
        let named = here.flat_map(|(_, f)| &f.calls).filter(is_call);
        named.map(|c| if c.is_member { format!("->{}", c.name) } else { c.name.clone() }).collect()
    }
}

pub(super) fn key_functions<'a>(
    changes: &[FunctionChange],
    trees: &'a [Tree<'a>; 2],
    outside: &[OutsideCaller],
) -> Vec<KeyFunction> {
    let mut ranked: Vec<(usize, KeyFunction, Defined)> =
        changes.iter().filter_map(|c| key_function(c, trees)).collect();
    ranked.in_order_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    let with_dispatch = |(_, f, of): (usize, KeyFunction, Defined)| {
        let found = of.tree.dispatches.of(&of.tree.functions, of.file, of.function);
        let (dispatched_from, perhaps_dispatched_from) = (found.surely.into_iter().collect(), found.perhaps);
        KeyFunction { dispatched_from, perhaps_dispatched_from, more_perhaps: found.more, ..f }
    };
    let mut out: Vec<KeyFunction> = ranked.into_iter().take(KEY_FUNCTIONS).map(with_dispatch).collect();
    // Callers outside do not count for the rank, because they are unknown for functions that kept their signature.
    for found in outside {
        let caller = Caller { function: found.caller.clone(), file: found.place.file.clone(), is_outside: true };
        out.iter_mut().filter(|f| f.name == found.function).for_each(|f| f.callers.push(caller.clone()));
    }
    out
}

/// A function where its code is.
struct Defined<'a> {
    tree: &'a Tree<'a>,
    file: &'a File,
    function: &'a Function,
}

fn key_function<'a>(change: &FunctionChange, trees: &'a [Tree<'a>; 2]) -> Option<(usize, KeyFunction, Defined<'a>)> {
    let place = change.after.as_ref().or(change.before.as_ref())?.clone();
    let tree = &trees[usize::from(change.after.is_some())];
    let name = change.name.as_str();
    let callers: Vec<Caller> =
        tree.callers.get(name).into_iter().flatten().filter(|c| c.function != name).cloned().collect();
    let mut here = tree.functions.get(name)?.iter();
    let &(file, function) = here.find(|(file, found)| file.path == place.file && found.line == place.line)?;
    let entries = tree.dispatches.registered(&tree.functions, file, function);
    let (old, new) =
        (trees[0].calls(change.old_name(), change.before.as_ref()), trees[1].calls(name, change.after.as_ref()));
    // The calls of `a` that `b` makes too, or those that it does not.
    let shared = |a: &BTreeSet<String>, b: &BTreeSet<String>, is_shared: bool| -> Vec<String> {
        a.iter().filter(|call| b.contains(*call) == is_shared).cloned().collect()
    };
    let lines = change.added + change.removed;
    // Lines count most. Functions with many callers, or in an operation table, are used by more code.
    let rank =
        lines + 3 * callers.len().min(20) + 10 * entries.len().min(3) + 5 * usize::from(change.signatures.is_some());
    let found = KeyFunction {
        name: name.to_owned(),
        place,
        lines,
        is_signature_changed: change.signatures.is_some(),
        callers,
        calls_kept: shared(&new, &old, true),
        calls_added: shared(&new, &old, false),
        calls_removed: shared(&old, &new, false),
        registered: entries.iter().map(|entry| entry.shown()).collect(),
        dispatched_from: Vec::new(),
        perhaps_dispatched_from: Vec::new(),
        more_perhaps: 0,
    };
    Some((rank, found, Defined { tree, file, function }))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
