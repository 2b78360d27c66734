//! What a file offers to user space, administrators, modules and tracers.

use super::{SourceLine, events, makers, sysctl, system_calls};
use crate::source::{Entry, Invocation, Table, Unit};
use serde::Serialize;
use std::collections::BTreeMap;

/// The kind of an interface, in the order of the dossier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Kind {
    Syscall,
    SyscallNumber,
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
    BpfHelper,
    StaticKey,
    Export,
    UapiConstant,
    Type,
    Member,
    Operation,
    Signature,
    Macro,
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
    /// `#if` conditions, or what a Kconfig option depends on by its surroundings; empty if none.
    pub condition: String,
    /// Directory of `/proc/sys` that a sysctl is registered in, if the file says it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// Where it is defined.
    pub place: SourceLine,
}

pub(super) fn of(path: &str, unit: &Unit) -> Vec<Interface> {
    let mut out = Collected { path, unit: Some(unit), out: Vec::new() };
    let (macros, event_macros) = (makers::of(unit), events::macros(unit));
    for i in &unit.invocations {
        match macros.iter().rev().find(|(name, ..)| *name == i.name) {
            Some(&(_, kind, at)) => {
                let detail = format!("{}({})", i.name, i.arguments.join(", "));
                let name = i.arguments.get(at).map(|name| name.trim_matches('"')).filter(|name| !name.is_empty());
                name.into_iter().for_each(|name| out.add(kind, name, detail.clone(), &i.condition, i.line));
            }
            None => match events::expanded(&event_macros, i) {
                Some(events) => events.iter().for_each(|event| invocation(&mut out, event)),
                None => invocation(&mut out, i),
            },
        }
    }
    let folders = sysctl::Folders::new(unit);
    for t in &unit.tables {
        let first = out.out.len();
        table(&mut out, t);
        let folder = folders.of(&t.name);
        out.out[first..].iter_mut().filter(|i| i.kind == Kind::Sysctl).for_each(|i| i.folder.clone_from(&folder));
    }
    for f in &unit.functions {
        let is_global = !f.signature.split(' ').any(|w| w == "static");
        if let Some(name) = system_calls::bare(f) {
            out.add(Kind::Syscall, name, f.signature.clone(), &f.condition, f.line);
            continue;
        }
        let kind = match f.by.as_deref() {
            Some(by) if by.contains("BPF_CALL_") => Kind::BpfHelper,
            None if is_global => Kind::Signature,
            _ => continue,
        };
        out.add(kind, &f.name, f.signature.clone(), &f.condition, f.line);
    }
    for v in unit.variables.iter().filter(|v| v.name.starts_with("sysctl_")).chain(&unit.defaults) {
        out.add(Kind::SysctlDefault, &v.name, v.value.clone(), &v.condition, v.line);
    }
    // `.sysctl_skb_defer_max = 64` of a table of variables.
    for e in unit.tables.iter().flat_map(|t| &t.entries).filter(|e| e.member.starts_with("sysctl_")) {
        out.add(Kind::SysctlDefault, &e.member, e.value.clone(), &e.condition, e.line);
    }
    if path.contains("uapi/") {
        out.macros(Kind::UapiConstant, unit);
    }
    for t in &unit.types {
        let name = if t.is_object { "" } else { &t.name };
        if name.is_empty() && t.keyword != "enum" {
            continue;
        }
        let named = format!("{} {name}", t.keyword);
        let named = named.trim_end();
        if !name.is_empty() {
            // The order is part of what user space sees: it fixes the offsets of members and the values of constants.
            let members: Vec<&str> = t.members.iter().map(|m| m.name.as_str()).collect();
            let order = if path.contains("uapi/") { members.join(", ") } else { String::new() };
            out.add(Kind::Type, named, order, &t.condition, t.line);
        }
        // An enum constant with an explicit value equals one without, if it would have had that value anyway.
        let mut next = Some(0i64);
        for m in &t.members {
            let value = if m.text.is_empty() { next } else { m.text.parse().ok() };
            let is_implied = t.keyword == "enum" && value.is_some() && value == next;
            next = value.and_then(|value| value.checked_add(1));
            let text = if is_implied { String::new() } else { m.text.clone() };
            out.add(Kind::Member, &format!("{named}.{}", m.name), text, &m.condition, m.line);
        }
    }
    out.out
}

impl Interface {
    pub(super) fn new(kind: Kind, name: String, detail: String, condition: String, place: SourceLine) -> Self {
        Self { kind, name, detail, condition, folder: String::new(), place }
    }
}

/// Symbols that assembly exports, one per line.
pub(super) fn of_assembly(path: &str, text: &[u8]) -> Vec<Interface> {
    let text = String::from_utf8_lossy(text);
    let export = |(at, line): (usize, &str)| {
        let (by, rest) = line.trim().split_once('(').filter(|(by, _)| by.starts_with("EXPORT_SYMBOL"))?;
        let (name, place) = (rest.split([')', ',']).next()?.trim(), SourceLine { file: path.to_owned(), line: at + 1 });
        Some(Interface::new(Kind::Export, name.to_owned(), format!("{by}()"), String::new(), place))
    };
    text.lines().enumerate().filter_map(export).collect()
}

/// Macros outside of uapi headers.
pub(super) fn macros(path: &str, unit: &Unit) -> Vec<Interface> {
    let mut out = Collected { path, unit: None, out: Vec::new() };
    if !path.contains("uapi/") {
        out.macros(Kind::Macro, unit);
    }
    out.out
}

struct Collected<'a> {
    path: &'a str,
    /// To look up what a definition refers to: variables with their initial values, event classes.
    unit: Option<&'a Unit>,
    out: Vec<Interface>,
}

impl Collected<'_> {
    /// The text with the initial value of the variable, if the variable is in this file and has one: `&one_hundred
    /// (100)`.
    fn with_value(&self, text: &str, variable: &str) -> String {
        let variable = variable.trim_start_matches('&');
        let found = self.unit.into_iter().flat_map(|unit| &unit.variables).find(|v| v.name == variable);
        found.map_or_else(|| text.to_owned(), |v| format!("{text} ({})", v.value))
    }

    fn macros(&mut self, kind: Kind, unit: &Unit) {
        unit.macros.iter().for_each(|m| self.add(kind, &m.name, m.text.clone(), &m.condition, m.line));
    }

    fn add(&mut self, kind: Kind, name: &str, detail: String, condition: &str, line: usize) {
        let place = SourceLine { file: self.path.to_owned(), line };
        self.out.push(Interface::new(kind, name.to_owned(), detail, condition.to_owned(), place));
    }
}

fn invocation(out: &mut Collected, i: &Invocation) {
    let argument = |at: usize| i.arguments.get(at).map_or("", String::as_str);
    let starts = |start: &str| i.name.starts_with(start);
    let quoted = i.arguments.iter().position(|a| a.starts_with('"'));
    let (kind, name_at) = match i.name.as_str() {
        "SCHED_FEAT" => (Kind::SchedFeature, Some(0)),
        "SNMP_MIB_ITEM" => (Kind::MibItem, Some(0)),
        // They refer to tracepoints that are defined elsewhere, or to several.
        "TRACE_EVENT_FLAGS" | "TRACE_EVENT_PERF_PERM" | "DECLARE_EVENT_CLASS" => return,
        "BTF_ID_FLAGS" => (Kind::Kfunc, Some(1)),
        "__setup" | "__setup_param" | "early_param" => (Kind::BootParameter, Some(0)),
        // `_CONDITION`, `_FN`, `_PRINT`: the class, then the event.
        _ if starts("DEFINE_EVENT") => (Kind::Tracepoint, Some(1)),
        _ if starts("TRACE_EVENT") || starts("DECLARE_TRACE") => (Kind::Tracepoint, Some(0)),
        _ if starts("core_param") || starts("late_param") => (Kind::BootParameter, Some(0)),
        // The prefix is the first argument.
        "__module_param_call" => (Kind::ModuleParameter, Some(1)),
        name if starts("module_param") || name.ends_with("_param_cb") => (Kind::ModuleParameter, Some(0)),
        _ if starts("EXPORT_") => (Kind::Export, Some(0)),
        name if is_attribute_of_sysfs(name) => (Kind::Sysfs, Some(0)),
        // The first argument is the option that decides the initial value, the second is the key.
        _ if starts("DEFINE_STATIC_KEY_MAYBE") => (Kind::StaticKey, Some(1)),
        _ if starts("DEFINE_STATIC_KEY") => (Kind::StaticKey, Some(0)),
        _ if starts("debugfs_create") => (Kind::Debugfs, quoted),
        _ if starts("proc_create") || starts("proc_mkdir") || starts("proc_symlink") => (Kind::Procfs, quoted),
        _ => return,
    };
    let Some(at) = name_at.filter(|&at| !argument(at).is_empty()) else { return };
    let rest: Vec<&str> = i.arguments.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, a)| a.as_str()).collect();
    let mut detail = format!("{}({})", i.name, rest.join(", "));
    if matches!(kind, Kind::ModuleParameter | Kind::BootParameter) {
        let variable = if matches!(i.name.as_str(), "module_param_named" | "core_param") { 1 } else { 0 };
        detail = out.with_value(&detail, argument(variable));
    }
    // An event has the fields of its class.
    let is_class = |c: &&Invocation| c.name == "DECLARE_EVENT_CLASS" && c.arguments.first() == i.arguments.first();
    let class = out.unit.filter(|_| starts("DEFINE_EVENT")).and_then(|unit| unit.invocations.iter().find(is_class));
    if let Some(class) = class {
        detail = format!("{detail}: {}", class.arguments[1..].join(", "));
    }
    out.add(kind, argument(at).trim_matches('"'), detail, &i.condition, i.line);
}

/// Macros of headers that make a file of /sys named by their first argument. Macros of the C file itself are recognised
/// by their bodies.
pub(super) fn is_attribute_of_sysfs(by: &str) -> bool {
    const STARTS: &[&str] = &[
        "__ATTR",
        "BIN_ATTR",
        "BUS_ATTR",
        "CLASS_ATTR",
        "DEVICE_ATTR",
        "DRIVER_ATTR",
        "EVENT_ATTR_STR",
        "KERNEL_ATTR",
        "PMU_EVENT_ATTR",
        "PMU_FORMAT_ATTR",
        "SENSOR_DEVICE_ATTR",
        "cpufreq_freq_attr_r",
        "define_one_global_r",
        "gov_attr_r",
    ];
    STARTS.iter().any(|start| by.starts_with(start))
}

fn table(out: &mut Collected, t: &Table) {
    let (kind, key) = match t.of.as_str() {
        "ctl_table" => (Kind::Sysctl, "procname"),
        "cftype" => (Kind::CgroupFile, "name"),
        _ => {
            let attribute = t.entries.iter().find(|e| e.member == "attr").filter(|_| t.of.ends_with("attribute"));
            if let Some(name) = attribute.and_then(|e| e.value.split('"').nth(1)) {
                out.add(Kind::Sysfs, name, t.of.clone(), &t.condition, t.line);
            }
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
        let is_folder = entries.iter().any(|e| e.member == "child");
        let Some(named) = entries.iter().find(|e| e.member == key && !is_folder) else { continue };
        let shown = |e: &&Entry| {
            // A default that is listed as an interface of its own is not repeated.
            let is_own = e.value.trim_start_matches('&').starts_with("sysctl_");
            let value = if is_own { e.value.clone() } else { out.with_value(&e.value, &e.value) };
            format!("{}={value}", e.member)
        };
        let rest: Vec<String> = entries.iter().copied().filter(|e| e.member != key).map(|e| shown(&e)).collect();
        out.add(kind, named.value.trim_matches('"'), rest.join(", "), &named.condition, named.line);
    }
}

/// A lower-case word: a function or an object, not a number or a flag.
fn is_name(value: &str) -> bool {
    let value = value.strip_prefix('&').unwrap_or(value);
    let is_word = value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_word && value.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && !matches!(value, "true" | "false")
}
