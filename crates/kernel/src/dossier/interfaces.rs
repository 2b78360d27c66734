//! What a file offers to user space, administrators, modules and tracers, and how two trees differ in it.

use super::{File, Place};
use crate::source::{Entry, Invocation, Table, Unit};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What an interface is. The order is that of the dossier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Kind {
    Syscall,
    Sysctl,
    SysctlDefault,
    Debugfs,
    Procfs,
    Sysfs,
    CgroupFile,
    SchedFeature,
    Kconfig,
    BootParameter,
    ModuleParameter,
    MibItem,
    Tracepoint,
    Kfunc,
    StaticKey,
    Export,
    UapiConstant,
    Type,
    Member,
    Operation,
    Signature,
}

/// One interface in one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// What it is.
    pub kind: Kind,
    /// As its users know it; `struct task_struct.se` for a member, `fair_sched_class.enqueue_task` for an operation.
    pub name: String,
    /// What else its definition says: mode, handler, range, default, type.
    pub detail: String,
    /// `#if` conditions; empty if none.
    pub condition: String,
    /// Where it is defined.
    pub place: Place,
}

/// An interface that one tree has and the other has not or has otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct InterfaceChange {
    /// What it is.
    pub kind: Kind,
    /// Its name, in the second tree if it is there.
    pub name: String,
    /// `added`, `removed`, `changed` or `renamed`: the only ones of their kind gone and come with the same definition.
    pub change: &'static str,
    /// In the first tree.
    pub before: Option<Interface>,
    /// In the second tree.
    pub after: Option<Interface>,
}

pub(super) fn of(path: &str, unit: &Unit) -> Vec<Interface> {
    let mut out = Collected { path, out: Vec::new() };
    let macros = unit.macros.iter().filter(|found| found.text.contains("debugfs_create"));
    let macros: BTreeMap<&str, &str> = macros.map(|found| (found.name.as_str(), found.text.as_str())).collect();
    for i in &unit.invocations {
        match macros.get(i.name.as_str()) {
            Some(text) => by_macro(&mut out, i, text),
            None => invocation(&mut out, i),
        }
    }
    unit.tables.iter().for_each(|t| table(&mut out, t));
    for f in &unit.functions {
        let is_syscall = f.by.as_ref().is_some_and(|by| by.contains("SYSCALL_DEFINE"));
        let is_global = !f.signature.split(' ').any(|w| w == "static");
        if is_syscall {
            out.add(Kind::Syscall, &f.name, f.signature.clone(), &f.condition, f.line);
        } else if is_global && f.by.is_none() {
            out.add(Kind::Signature, &f.name, f.signature.clone(), &f.condition, f.line);
        }
    }
    for v in unit.variables.iter().filter(|v| v.name.starts_with("sysctl_")) {
        out.add(Kind::SysctlDefault, &v.name, v.value.clone(), &v.condition, v.line);
    }
    for m in unit.macros.iter().filter(|_| path.contains("uapi/")) {
        out.add(Kind::UapiConstant, &m.name, m.text.clone(), &m.condition, m.line);
    }
    for t in unit.types.iter().filter(|t| !t.name.is_empty() || t.keyword == "enum") {
        let named = if t.name.is_empty() { "enum".to_owned() } else { format!("{} {}", t.keyword, t.name) };
        if !t.name.is_empty() {
            out.add(Kind::Type, &named, String::new(), &t.condition, t.line);
        }
        for m in &t.members {
            out.add(Kind::Member, &format!("{named}.{}", m.name), m.text.clone(), &m.condition, m.line);
        }
    }
    out.out
}

struct Collected<'a> {
    path: &'a str,
    out: Vec<Interface>,
}

impl Collected<'_> {
    fn add(&mut self, kind: Kind, name: &str, detail: String, condition: &str, line: usize) {
        let place = Place { file: self.path.to_owned(), line };
        self.out.push(Interface { kind, name: name.to_owned(), detail, condition: condition.to_owned(), place });
    }
}

fn invocation(out: &mut Collected, i: &Invocation) {
    let argument = |at: usize| i.arguments.get(at).map_or("", String::as_str);
    let starts = |start: &str| i.name.starts_with(start);
    let quoted = i.arguments.iter().position(|a| a.starts_with('"'));
    let (kind, name_at) = match i.name.as_str() {
        "SCHED_FEAT" => (Kind::SchedFeature, Some(0)),
        "SNMP_MIB_ITEM" => (Kind::MibItem, Some(0)),
        // Said of a tracepoint that is defined elsewhere.
        "TRACE_EVENT_FLAGS" | "TRACE_EVENT_PERF_PERM" => return,
        "DECLARE_EVENT_CLASS" => (Kind::Tracepoint, Some(0)),
        "BTF_ID_FLAGS" => (Kind::Kfunc, Some(1)),
        "__setup" | "early_param" | "core_param" => (Kind::BootParameter, Some(0)),
        // `_CONDITION`, `_FN`, `_PRINT`: the class, then the event.
        _ if starts("DEFINE_EVENT") => (Kind::Tracepoint, Some(1)),
        _ if starts("TRACE_EVENT") || starts("DECLARE_TRACE") => (Kind::Tracepoint, Some(0)),
        _ if starts("module_param") => (Kind::ModuleParameter, Some(0)),
        _ if starts("EXPORT_SYMBOL") => (Kind::Export, Some(0)),
        _ if starts("DEVICE_ATTR") || starts("__ATTR") => (Kind::Sysfs, Some(0)),
        _ if starts("DEFINE_STATIC_KEY") => (Kind::StaticKey, Some(0)),
        _ if starts("debugfs_create") => (Kind::Debugfs, quoted),
        _ if starts("proc_create") || starts("proc_mkdir") => (Kind::Procfs, quoted),
        _ => return,
    };
    let Some(at) = name_at.filter(|&at| !argument(at).is_empty()) else { return };
    let rest: Vec<&str> = i.arguments.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, a)| a.as_str()).collect();
    let detail = format!("{}({})", i.name, rest.join(", "));
    out.add(kind, argument(at).trim_matches('"'), detail, &i.condition, i.line);
}

/// `SDM(u32, 0644, busy_factor)` of `#define SDM(type, mode, member) debugfs_create_##type(#member, …)`.
fn by_macro(out: &mut Collected, i: &Invocation, text: &str) {
    let Some((parameters, body)) = text.strip_prefix('(').and_then(|text| text.split_once(')')) else { return };
    let is_name = |parameter: &str| body.contains(&format!("(#{},", parameter.trim()));
    let named = parameters.split(',').position(is_name).and_then(|at| i.arguments.get(at));
    let Some(name) = named else { return };
    let detail = format!("{}({})", i.name, i.arguments.join(", "));
    out.add(Kind::Debugfs, name, detail, &i.condition, i.line);
}

fn table(out: &mut Collected, t: &Table) {
    let (kind, key) = match t.of.as_str() {
        "ctl_table" => (Kind::Sysctl, "procname"),
        "cftype" => (Kind::CgroupFile, "name"),
        _ => {
            for e in t.entries.iter().filter(|e| is_name(&e.value)) {
                let name = format!("{} {}.{}", t.of, t.name, e.member);
                out.add(Kind::Operation, name.trim_start(), e.value.clone(), &e.condition, e.line);
            }
            return;
        }
    };
    let mut elements: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    t.entries.iter().for_each(|e| elements.entry(e.element).or_default().push(e));
    for entries in elements.values() {
        let Some(named) = entries.iter().find(|e| e.member == key) else { continue };
        let rest: Vec<String> =
            entries.iter().filter(|e| e.member != key).map(|e| format!("{}={}", e.member, e.value)).collect();
        out.add(kind, named.value.trim_matches('"'), rest.join(", "), &named.condition, named.line);
    }
}

/// A word in lower case: a function or an object, no number and no flag.
fn is_name(value: &str) -> bool {
    let value = value.strip_prefix('&').unwrap_or(value);
    let is_word = value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_word && value.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && !matches!(value, "true" | "false")
}

/// What differs. A definition that only moved is no change. Where a name is defined several times (under `#if`), they
/// are matched by their text first, the rest in the order of files and lines.
pub(super) fn changes(before: &[File], after: &[File]) -> Vec<InterfaceChange> {
    let (old, new) = (by_name(before), by_name(after));
    let keys: BTreeSet<&(Kind, &str)> = old.keys().chain(new.keys()).collect();
    let mut out = Vec::new();
    for key in keys {
        let (mut a, mut b) = (old.get(key).cloned().unwrap_or_default(), new.get(key).cloned().unwrap_or_default());
        // Several members of one name are those of types without: only their number counts.
        a.retain(|x| match b.iter().position(|y| x.detail == y.detail && x.condition == y.condition) {
            Some(at) => {
                b.remove(at);
                false
            }
            None => true,
        });
        for at in 0..a.len().max(b.len()) {
            let (before, after) = (a.get(at).copied().cloned(), b.get(at).copied().cloned());
            let change = match (&before, &after) {
                (Some(_), Some(_)) => "changed",
                (Some(_), None) => "removed",
                _ => "added",
            };
            out.push(InterfaceChange { kind: key.0, name: key.1.to_owned(), change, before, after });
        }
    }
    // Functions that come and go are the matter of the functions' chapter; members go with their type.
    let whole: BTreeSet<String> =
        out.iter().filter(|c| c.kind == Kind::Type && c.change != "changed").map(|c| c.name.clone()).collect();
    out.retain(|c| match c.kind {
        Kind::Signature => c.change == "changed",
        Kind::Member => !c.name.rsplit_once('.').is_some_and(|(of, _)| whole.contains(of)),
        _ => true,
    });
    renamed(out)
}

fn by_name(files: &[File]) -> BTreeMap<(Kind, &str), Vec<&Interface>> {
    let mut out: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for i in files.iter().flat_map(|f| &f.interfaces) {
        out.entry((i.kind, i.name.as_str())).or_default().push(i);
    }
    out
}

/// Joins a removed and an added one that say the same, if no others of their kind do.
fn renamed(mut changes: Vec<InterfaceChange>) -> Vec<InterfaceChange> {
    let mut said: BTreeMap<(Kind, String), [Vec<usize>; 2]> = BTreeMap::new();
    for (at, c) in changes.iter().enumerate().filter(|(_, c)| c.change != "changed") {
        let is_telling =
            matches!(c.kind, Kind::Sysctl | Kind::CgroupFile | Kind::Debugfs | Kind::Procfs | Kind::BootParameter);
        if let Some(i) = c.before.as_ref().or(c.after.as_ref()).filter(|i| is_telling && !i.detail.is_empty()) {
            said.entry((i.kind, i.detail.clone())).or_default()[usize::from(c.before.is_none())].push(at);
        }
    }
    let mut gone = BTreeSet::new();
    for pair in said.into_values() {
        if let [[removed], [added]] = [&pair[0][..], &pair[1][..]] {
            changes[*added].before = changes[*removed].before.clone();
            changes[*added].change = "renamed";
            gone.insert(*removed);
        }
    }
    let mut at = 0;
    changes.retain(|_| (!gone.contains(&at), at += 1).0);
    changes
}
