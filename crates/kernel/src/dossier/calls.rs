//! Who calls what changed, and through which operations: the functions to read first.

use super::functions::{Named, by_name};
use super::{File, FunctionChange, OutsideCaller, SourceLine};
use crate::source::{Call, assigned};
use schedlab_plan::{InOrder, OneByOne};
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
/// by the operation it is registered as.
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
    /// Functions that call such a member: any of the table's type, so more than dispatch to this one.
    pub dispatched_from: Vec<Caller>,
}

/// Macros in small letters that call nothing.
const ANNOTATIONS: [&str; 4] = ["likely", "unlikely", "container_of", "container_of_const"];

/// One tree, indexed.
pub(super) struct Tree<'a> {
    functions: Named<'a>,
    callers: BTreeMap<&'a str, BTreeSet<Caller>>,
    /// By member called.
    dispatches: BTreeMap<&'a str, BTreeSet<Caller>>,
    /// By function: what it is registered in, a table or `function()` that puts it there, and the member.
    registered: BTreeMap<&'a str, Vec<(String, &'a str)>>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(files: &'a [File]) -> Self {
        let (mut callers, mut dispatches): (BTreeMap<_, BTreeSet<_>>, BTreeMap<_, BTreeSet<_>>) = Default::default();
        let mut registered: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let functions = by_name(files);
        for file in files {
            for function in &file.unit.functions {
                let caller = Caller { function: function.name.clone(), file: file.path.clone(), is_outside: false };
                for call in &function.calls {
                    let to = if call.is_member { &mut dispatches } else { &mut callers };
                    to.entry(call.name.as_str()).or_default().insert(caller.clone());
                }
                let assigned = assigned(&file.text[function.bytes.clone()]);
                for (member, value) in assigned.filter(|(_, value)| functions.contains_key(value)) {
                    registered.entry(value).or_default().push((format!("{}()", function.name), member));
                }
            }
            for table in &file.unit.tables {
                for entry in &table.entries {
                    let value = entry.value.trim_start_matches('&');
                    registered.entry(value).or_default().push((table.name.clone(), entry.member.as_str()));
                }
            }
        }
        Self { functions, callers, dispatches, registered }
    }

    /// The file that a call from `file` goes to; `None` if no file defines it, or several others do.
    pub(super) fn file_of(&self, call: &str, file: &str) -> Option<&'a str> {
        let all = self.functions.get(call)?;
        let is_in = |path: &str| all.iter().all(|(other, _)| other.path == path);
        let first = all.first().map(|(other, _)| other.path.as_str())?;
        if all.iter().any(|(other, _)| other.path == file) { None } else { Some(first).filter(|path| is_in(path)) }
    }

    /// What a function calls; `->` stands before what it calls through a member.
    pub(super) fn calls(&self, name: &str, place: Option<&SourceLine>) -> BTreeSet<String> {
        let Some(place) = place else { return BTreeSet::new() };
        let found = self.functions.get(name).into_iter().flatten();
        let here = found.filter(|(file, f)| file.path == place.file && f.line == place.line);
        // Macros in capitals are guards and annotations more often than calls.
        let is_call =
            |c: &&Call| c.name.bytes().any(|b| b.is_ascii_lowercase()) && !ANNOTATIONS.contains(&c.name.as_str());
        let named = here.flat_map(|(_, f)| &f.calls).filter(is_call);
        named.map(|c| if c.is_member { format!("->{}", c.name) } else { c.name.clone() }).collect()
    }
}

pub(super) fn key_functions(
    changes: &[FunctionChange],
    trees: &[Tree; 2],
    outside: &[OutsideCaller],
) -> Vec<KeyFunction> {
    let mut ranked: Vec<(usize, KeyFunction)> = changes.iter().filter_map(|c| key_function(c, trees)).collect();
    ranked.in_order_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    let mut out: Vec<KeyFunction> = ranked.into_iter().take(KEY_FUNCTIONS).map(|(_, f)| f).collect();
    // They have no part in the rank: those of a function that kept its signature are not known.
    for found in outside {
        let caller = Caller { function: found.caller.clone(), file: found.place.file.clone(), is_outside: true };
        out.iter_mut().filter(|f| f.name == found.function).for_each(|f| f.callers.push(caller.clone()));
    }
    out
}

fn key_function(change: &FunctionChange, trees: &[Tree; 2]) -> Option<(usize, KeyFunction)> {
    let place = change.after.as_ref().or(change.before.as_ref())?.clone();
    let tree = &trees[usize::from(change.after.is_some())];
    let name = change.name.as_str();
    let callers: Vec<Caller> =
        tree.callers.get(name).into_iter().flatten().filter(|c| c.function != name).cloned().collect();
    let entries = tree.registered.get(name).cloned().unwrap_or_default();
    let members: BTreeSet<&str> = entries.iter().map(|e| e.1).collect();
    let dispatched: BTreeSet<&Caller> = members.iter().filter_map(|m| tree.dispatches.get(m)).flatten().one_by_one();
    let (old, new) =
        (trees[0].calls(change.old_name(), change.before.as_ref()), trees[1].calls(name, change.after.as_ref()));
    // Those of `a` that `b` has, or has not.
    let shared = |a: &BTreeSet<String>, b: &BTreeSet<String>, is_shared: bool| -> Vec<String> {
        a.iter().filter(|call| b.contains(*call) == is_shared).cloned().collect()
    };
    let lines = change.added + change.removed;
    // Lines count most; what many call or a table leads to is met by more code.
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
        registered: entries.iter().map(|(table, member)| format!("{table}.{member}")).collect(),
        dispatched_from: dispatched.into_iter().cloned().collect(),
    };
    Some((rank, found))
}
