//! What a file offers to user space, administrators, modules and tracers, and how two trees differ in it.

use super::{File, Place};
use crate::source::{Entry, Invocation, Macro, Table, Unit, Variable};
use schedlab_plan::OneByOne;
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
    /// `added`, `removed`, `changed` or `renamed`: the only ones of their kind gone and come with the same definition; a
    /// member also between the same two others.
    pub change: &'static str,
    /// In the first tree.
    pub before: Option<Interface>,
    /// In the second tree.
    pub after: Option<Interface>,
}

pub(super) fn of(path: &str, unit: &Unit) -> Vec<Interface> {
    let mut out = Collected { path, variables: &unit.variables, out: Vec::new() };
    let names_files = |found: &&Macro| found.text.contains("debugfs_create") || attribute(&found.text).is_some();
    let macros: Vec<&Macro> = unit.macros.iter().filter(names_files).collect();
    for i in &unit.invocations {
        match macros.iter().rev().find(|found| found.name == i.name) {
            Some(found) => by_macro(&mut out, i, &found.text),
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
    for v in unit.variables.iter().filter(|v| v.name.starts_with("sysctl_")).chain(&unit.defaults) {
        out.add(Kind::SysctlDefault, &v.name, v.value.clone(), &v.condition, v.line);
    }
    // `.sysctl_skb_defer_max = 64` of a table of variables.
    for e in unit.tables.iter().flat_map(|t| &t.entries).filter(|e| e.member.starts_with("sysctl_")) {
        out.add(Kind::SysctlDefault, &e.member, e.value.clone(), &e.condition, e.line);
    }
    for m in unit.macros.iter().filter(|_| path.contains("uapi/")) {
        out.add(Kind::UapiConstant, &m.name, m.text.clone(), &m.condition, m.line);
    }
    for t in unit.types.iter().filter(|t| !t.name.is_empty() || t.keyword == "enum") {
        let named = if t.name.is_empty() { "enum".to_owned() } else { format!("{} {}", t.keyword, t.name) };
        if !t.name.is_empty() {
            // The order of what user space sees is part of it: of members their place, of constants their value.
            let members: Vec<&str> = t.members.iter().map(|m| m.name.as_str()).collect();
            let order = if path.contains("uapi/") { members.join(", ") } else { String::new() };
            out.add(Kind::Type, &named, order, &t.condition, t.line);
        }
        for m in &t.members {
            out.add(Kind::Member, &format!("{named}.{}", m.name), m.text.clone(), &m.condition, m.line);
        }
    }
    out.out
}

struct Collected<'a> {
    path: &'a str,
    /// Those of the file, with their initial values.
    variables: &'a [Variable],
    out: Vec<Interface>,
}

impl Collected<'_> {
    /// With the initial value of the variable, if it is of this file and has one: `&one_hundred (100)`.
    fn with_value(&self, text: &str, variable: &str) -> String {
        let variable = variable.trim_start_matches('&');
        let found = self.variables.iter().find(|v| v.name == variable);
        found.map_or_else(|| text.to_owned(), |v| format!("{text} ({})", v.value))
    }

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
        "__setup" | "__setup_param" | "early_param" => (Kind::BootParameter, Some(0)),
        // `_CONDITION`, `_FN`, `_PRINT`: the class, then the event.
        _ if starts("DEFINE_EVENT") => (Kind::Tracepoint, Some(1)),
        _ if starts("TRACE_EVENT") || starts("DECLARE_TRACE") => (Kind::Tracepoint, Some(0)),
        _ if starts("core_param") || starts("late_param") => (Kind::BootParameter, Some(0)),
        _ if starts("module_param") => (Kind::ModuleParameter, Some(0)),
        _ if starts("EXPORT_") => (Kind::Export, Some(0)),
        name if is_attribute_of_sysfs(name) => (Kind::Sysfs, Some(0)),
        _ if starts("DEFINE_STATIC_KEY") => (Kind::StaticKey, Some(0)),
        _ if starts("debugfs_create") => (Kind::Debugfs, quoted),
        _ if starts("proc_create") || starts("proc_mkdir") => (Kind::Procfs, quoted),
        _ => return,
    };
    let Some(at) = name_at.filter(|&at| !argument(at).is_empty()) else { return };
    let rest: Vec<&str> = i.arguments.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, a)| a.as_str()).collect();
    let mut detail = format!("{}({})", i.name, rest.join(", "));
    if matches!(kind, Kind::ModuleParameter | Kind::BootParameter) {
        let variable = if matches!(i.name.as_str(), "module_param_named" | "core_param") { 1 } else { 0 };
        detail = out.with_value(&detail, argument(variable));
    }
    out.add(kind, argument(at).trim_matches('"'), detail, &i.condition, i.line);
}

/// The macros of headers that make a file of /sys whose name is their first argument; those of the file itself are known
/// by what they hold.
fn is_attribute_of_sysfs(by: &str) -> bool {
    const STARTS: &[&str] =
        &["__ATTR", "DEVICE_ATTR", "DRIVER_ATTR", "BUS_ATTR", "CLASS_ATTR", "SENSOR_DEVICE_ATTR", "KERNEL_ATTR"];
    STARTS.iter().any(|start| by.starts_with(start)) || matches!(by, "cpufreq_freq_attr_ro" | "cpufreq_freq_attr_rw")
}

/// `SDM(u32, 0644, busy_factor)` of `#define SDM(type, mode, member) debugfs_create_##type(#member, …)`, and `SLAB_ATTR(x)` of
/// `#define SLAB_ATTR(name) … = __ATTR_RW(name)`.
fn by_macro(out: &mut Collected, i: &Invocation, text: &str) {
    let Some((parameters, body)) = text.strip_prefix('(').and_then(|text| text.split_once(')')) else { return };
    let (kind, argument) = attribute(body).map_or((Kind::Debugfs, ""), |argument| (Kind::Sysfs, argument));
    let is_name = |parameter: &str| match kind {
        Kind::Sysfs => parameter.trim() == argument,
        _ => body.contains(&format!("(#{},", parameter.trim())),
    };
    let named = parameters.split(',').position(is_name).and_then(|at| i.arguments.get(at));
    let Some(name) = named else { return };
    let detail = format!("{}({})", i.name, i.arguments.join(", "));
    out.add(kind, name, detail, &i.condition, i.line);
}

/// What names the file of /sys that a macro makes: `x` of `__ATTR_RO(x)`, or of `.name = __stringify(x)` in an attribute.
fn attribute(text: &str) -> Option<&str> {
    let (_, rest) = match text.split_once("__ATTR") {
        Some((_, rest)) => rest.split_once('(')?,
        None => text.split_once("__stringify(").filter(|_| text.contains("_attribute"))?,
    };
    rest.split([',', ')']).next().map(str::trim)
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
        let shown = |e: &&Entry| {
            // A default that is an interface by itself is not repeated.
            let is_own = e.value.trim_start_matches('&').starts_with("sysctl_");
            let value = if is_own { e.value.clone() } else { out.with_value(&e.value, &e.value) };
            format!("{}={value}", e.member)
        };
        let rest: Vec<String> = entries.iter().copied().filter(|e| e.member != key).map(|e| shown(&e)).collect();
        out.add(kind, named.value.trim_matches('"'), rest.join(", "), &named.condition, named.line);
    }
}

/// A word in lower case: a function or an object, no number and no flag.
fn is_name(value: &str) -> bool {
    let value = value.strip_prefix('&').unwrap_or(value);
    let is_word = value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_word && value.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && !matches!(value, "true" | "false")
}

/// What differs. A definition that only moved is no change. Where a name is defined several times (under `#if`, or in
/// several files), they are matched by file and text, then by text, then by file, the rest in the order of files and lines.
pub(super) fn changes(before: &[File], after: &[File]) -> Vec<InterfaceChange> {
    let (old, new) = (by_name(before), by_name(after));
    let keys: BTreeSet<&(Kind, &str)> = old.keys().chain(new.keys()).one_by_one();
    let mut out = Vec::new();
    for key in keys {
        let (mut a, mut b) = (old.get(key).cloned().unwrap_or_default(), new.get(key).cloned().unwrap_or_default());
        let is_same = |x: &Interface, y: &Interface| x.detail == y.detail && x.condition == y.condition;
        let is_of_one_file = |x: &Interface, y: &Interface| x.place.file == y.place.file;
        pairs(&mut a, &mut b, |x, y| is_same(x, y) && is_of_one_file(x, y));
        pairs(&mut a, &mut b, is_same);
        let mut left: Vec<_> =
            pairs(&mut a, &mut b, is_of_one_file).into_iter().map(|(x, y)| (Some(x), Some(y))).collect();
        left.extend((0..a.len().max(b.len())).map(|at| (a.get(at).copied(), b.get(at).copied())));
        for (before, after) in left {
            let (before, after) = (before.cloned(), after.cloned());
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
    renamed(out, [before, after])
}

/// Takes out the pairs that match, each with the first that is left.
fn pairs<'a>(
    a: &mut Vec<&'a Interface>,
    b: &mut Vec<&'a Interface>,
    is_one: impl Fn(&Interface, &Interface) -> bool,
) -> Vec<(&'a Interface, &'a Interface)> {
    let mut out = Vec::new();
    a.retain(|x| match b.iter().position(|y| is_one(x, y)) {
        Some(at) => {
            out.push((*x, b.remove(at)));
            false
        }
        None => true,
    });
    out
}

fn by_name(files: &[File]) -> BTreeMap<(Kind, &str), Vec<&Interface>> {
    let mut out: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for i in files.iter().flat_map(|f| &f.interfaces) {
        out.entry((i.kind, i.name.as_str())).or_default().push(i);
    }
    out
}

/// Joins a removed and an added one of which the same stays, if that is so of no others of their kind.
fn renamed(mut changes: Vec<InterfaceChange>, sides: [&[File]; 2]) -> Vec<InterfaceChange> {
    let mut said: BTreeMap<(Kind, String), [Vec<usize>; 2]> = BTreeMap::new();
    for (at, c) in changes.iter().enumerate().filter(|(_, c)| c.change != "changed") {
        let side = usize::from(c.before.is_none());
        let Some(stays) = [&c.before, &c.after][side].as_ref().and_then(|i| stays(i, sides[side])) else { continue };
        said.entry((c.kind, stays)).or_default()[side].push(at);
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

/// What stays of an interface when only its name changes; `None` where others may well have the same.
fn stays(i: &Interface, files: &[File]) -> Option<String> {
    /// Structs with fewer members are too much alike.
    const MEMBERS: usize = 3;
    let is_telling = match i.kind {
        Kind::Sysctl | Kind::CgroupFile | Kind::Debugfs | Kind::Procfs | Kind::BootParameter | Kind::MibItem => true,
        // What is asked of the user.
        Kind::Kconfig => i.detail.contains('"'),
        Kind::ModuleParameter => i.detail.starts_with("module_param_named"),
        Kind::Type | Kind::Member => {
            let of = if i.kind == Kind::Type { &i.name } else { i.name.rsplit_once('.')?.0 };
            let all = &files[files.binary_search_by(|f| f.path.as_str().cmp(&i.place.file)).ok()?].interfaces;
            let at = all.iter().position(|other| other == i)?;
            let member = |i: &&Interface| i.kind == Kind::Member && i.name.rsplit_once('.').is_some_and(|n| n.0 == of);
            if i.kind == Kind::Type {
                let members: Vec<&str> = all[at + 1..].iter().take_while(member).map(|m| m.detail.as_str()).collect();
                return (members.len() >= MEMBERS).then(|| members.join("; "));
            }
            let near = [at.checked_sub(1), Some(at + 1)].map(|at| at.and_then(|at| all.get(at)).filter(member));
            let [before, after] = near.map(|near| near.map_or("", |near| &near.name));
            // The name comes behind the type. A constant of an enum has none, and one bit is like another.
            let (head, tail) = i.detail.rsplit_once(&i.name[of.len() + 1..])?;
            let is_telling = !of.starts_with("enum") && !tail.starts_with(':');
            return is_telling.then(|| format!("{of} in {}: {before} {head}*{tail} {after}", i.place.file));
        }
        _ => false,
    };
    (is_telling && !i.detail.is_empty()).then(|| i.detail.clone())
}
