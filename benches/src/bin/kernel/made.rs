//! Compares the definitions that macros make at file scope with a search line by line that knows no C: the macro, its
//! first argument and the line must be the same.

use super::functions::collect;
use anyhow::{Context, Result};
use schedlab_benches::table;
use schedlab_kernel::source::{Unit, scan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const PLACES: [&str; 6] =
    ["kernel/sched", "kernel/futex", "net/ipv4", "net/core", "include/trace/events", "include/linux/sched"];

/// The rows, each for macros whose names begin like this.
const FAMILIES: [(&str, &[&str]); 9] = [
    ("SYSCALL_DEFINE, COMPAT_SYSCALL_DEFINE", &["SYSCALL_DEFINE", "COMPAT_SYSCALL_DEFINE"]),
    ("BPF_CALL", &["BPF_CALL_"]),
    (
        "TRACE_EVENT, DEFINE_EVENT, DECLARE_EVENT_CLASS, DECLARE_TRACE",
        &["TRACE_EVENT", "DEFINE_EVENT", "DECLARE_EVENT_CLASS", "DECLARE_TRACE"],
    ),
    ("other DEFINE_…", &["DEFINE_"]),
    ("other DECLARE_…", &["DECLARE_"]),
    ("EXPORT_SYMBOL", &["EXPORT_SYMBOL", "EXPORT_TRACEPOINT_SYMBOL", "EXPORT_PER_CPU_SYMBOL"]),
    ("SCHED_FEAT", &["SCHED_FEAT"]),
    ("SNMP_MIB_ITEM", &["SNMP_MIB_ITEM"]),
    (
        "module_param, __setup, early_param, initcalls",
        &[
            "module_param",
            "__setup",
            "early_param",
            "core_initcall",
            "subsys_initcall",
            "fs_initcall",
            "late_initcall",
            "device_initcall",
            "postcore_initcall",
            "arch_initcall",
            "pure_initcall",
            "early_initcall",
            "module_init",
            "module_exit",
        ],
    ),
];

/// The row that a macro belongs to.
fn family(of: &str) -> Option<usize> {
    let begins = |(_, starts): &(&str, &[&str])| starts.iter().any(|start| of.starts_with(start));
    FAMILIES.iter().position(begins)
}

/// A definition: row, macro, first argument, line, file.
type Made = (usize, String, String, usize, String);

pub(crate) fn run(trees: &[PathBuf]) -> Result<bool> {
    let (mut is_met, mut differ) = (true, Vec::new());
    for tree in trees {
        let (mut ours, mut theirs) = (BTreeSet::new(), BTreeSet::new());
        for place in PLACES {
            let mut files = Vec::new();
            collect(&tree.join(place), &mut files)?;
            for file in files {
                let text = std::fs::read(&file).with_context(|| file.display().to_string())?;
                let name = file.display().to_string();
                scanned(&scan(&text), &name, &mut ours);
                searched(&String::from_utf8_lossy(&text), &name, &mut theirs);
            }
        }
        let mut rows = BTreeMap::new();
        for (row, (title, _)) in FAMILIES.iter().enumerate() {
            let count = |of: &mut dyn Iterator<Item = &Made>| of.filter(|made| made.0 == row).count();
            let [all, found, extra] = [
                count(&mut theirs.iter()),
                count(&mut theirs.intersection(&ours)),
                count(&mut ours.difference(&theirs)),
            ];
            rows.insert(row, vec![(*title).to_owned(), all.to_string(), found.to_string(), extra.to_string()]);
        }
        let both = ours.intersection(&theirs).count();
        let share = |of: usize| 100.0 * both as f64 / of.max(1) as f64;
        let (recall, precision) = (share(theirs.len()), share(ours.len()));
        let ok = recall >= 99.5 && precision >= 99.5 && both > 0;
        is_met &= ok;
        let met = format!("recall {recall:.2} %, precision {precision:.2} % (both ≥ 99.5 %): {}", table::met(ok));
        let total = [met, theirs.len().to_string(), both.to_string(), (ours.len() - both).to_string()];
        rows.insert(FAMILIES.len(), total.to_vec());
        let header = ["defined by", "a search finds", "the scanner, too", "the scanner alone"];
        let title = format!("What macros define in {}", tree.display());
        table::print(&title, &header, &rows.into_values().collect::<Vec<_>>());
        let shown = |made: &Made| format!("{}({}) {}:{}", made.1, made.2, made.4, made.3);
        differ.extend(theirs.difference(&ours).map(|made| format!("only the search: {}", shown(made))));
        differ.extend(ours.difference(&theirs).map(|made| format!("only ours:  {}", shown(made))));
    }
    println!("\n{}", differ.join("\n"));
    Ok(is_met)
}

fn scanned(unit: &Unit, file: &str, out: &mut BTreeSet<Made>) {
    let mut put = |of: &str, first: &str, line: usize| {
        if let Some(row) = family(of) {
            let first = first.split_whitespace().collect();
            out.insert((row, of.to_owned(), first, line, file.to_owned()));
        }
    };
    for function in &unit.functions {
        if let Some(by) = &function.by {
            put(by, &function.name, function.line);
        }
    }
    for one in unit.invocations.iter().filter(|one| one.function.is_none()) {
        put(&one.name, one.arguments.first().map(String::as_str).unwrap_or_default(), one.line);
    }
    for one in &unit.tables {
        if let Some((of, rest)) = one.name.split_once('(') {
            put(of, rest.split([',', ')']).next().unwrap_or_default(), one.line);
        }
    }
}

/// Words that may precede the macro.
const BEFORE: [&str; 9] = [
    "static",
    "asmlinkage",
    "inline",
    "notrace",
    "extern",
    "__init",
    "noinline",
    "__always_inline",
    "__cacheline_aligned",
];

/// Lines that begin with one of the macros, outside of comments and of the texts of other macros.
fn searched(text: &str, file: &str, out: &mut BTreeSet<Made>) {
    let (mut in_comment, mut in_macro, mut dead) = (false, false, 0usize);
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let is_text_of_macro = in_macro;
        in_macro = line.ends_with('\\') && (in_macro || line.starts_with('#'));
        let was_in_comment = in_comment;
        if let Some(begun) = line.rfind("/*").filter(|_| !in_comment) {
            in_comment = !line[begun..].contains("*/");
        } else if in_comment {
            in_comment = !line.contains("*/");
        }
        let directive: String = line.split_whitespace().collect();
        match (dead, directive.starts_with("#if")) {
            (0, _) if directive == "#if0" => dead = 1,
            (1.., true) => dead += 1,
            (1.., _) if directive.starts_with("#endif") => dead -= 1,
            (1, _) if directive.starts_with("#el") => dead = 0,
            _ => {}
        }
        if was_in_comment || is_text_of_macro || dead > 0 {
            continue;
        }
        let mut rest = line.trim_start();
        while let Some(next) = BEFORE.iter().find_map(|word| rest.strip_prefix(word)?.strip_prefix(' ')) {
            rest = next.trim_start();
        }
        let Some((of, first)) = rest.split_once('(') else { continue };
        let Some(row) = family(of).filter(|_| of.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')) else {
            continue;
        };
        // Inside a function, DECLARE_… and DEFINE_… define something local.
        let is_item = of == "SNMP_MIB_ITEM";
        if line.starts_with(char::is_whitespace) && !is_item {
            continue;
        }
        let first: String = std::iter::once(first).chain(lines[at + 1..].iter().copied()).take(4).collect();
        let first = first.split([',', ')']).next().unwrap_or_default().split_whitespace().collect();
        out.insert((row, of.to_owned(), first, at + 1, file.to_owned()));
    }
}
