//! Checks whether the ported code runs: boots the built kernel in a guest, counts the calls of the changed functions
//! with probes, and reads the MIB counters that the series increments.

use crate::commands::vm;
use anyhow::Result;
use schedlab_kernel::dossier::{File, Status, compare};
use schedlab_kernel::{Change, FilePatch, Line, Made, Read, is_c};
use schedlab_plan::{Count, OneByOne, TrialOutcome};
use schedlab_report::port::{Proof, Rehearsal, RunCount};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Probes per guest; each is opened on every CPU.
const PROBES: usize = 48;
/// The file with the names of MIB counters.
const COUNTERS: &str = "net/ipv4/proc.c";

/// Refuses a workload that the guest would refuse, before anything is compiled.
pub(super) fn check(workload: &str) -> Result<()> {
    vm::measured::check(&words(workload, &[]))
}

fn words(workload: &str, functions: &[&str]) -> Vec<String> {
    let mut words = vec!["bench".to_owned(), workload.to_owned()];
    if !functions.is_empty() {
        words.extend(["--calls".to_owned(), functions.join(",")]);
    }
    words
}

/// Boots the kernel and counts.
pub(super) fn prove(
    workload: &str,
    kernel: &str,
    rehearsal: &Rehearsal,
    read: &mut Read<'_, anyhow::Error>,
) -> Result<Proof> {
    let functions = changed(rehearsal, read)?;
    let symbols = vm::measured::symbols(kernel)?;
    let symbols: BTreeSet<&str> = symbols.lines().filter_map(symbol).collect();
    let names: BTreeSet<&str> = functions.iter().filter_map(|(_, name)| with_symbol(name, &symbols)).collect();
    let names: Vec<&str> = names.into_iter().take(PROBES).collect();
    let outcome = vm::measured::measured(kernel, &words(workload, &names))?;
    let mut counts: Vec<RunCount> = functions
        .iter()
        .map(|(patch, name)| {
            let count = match with_symbol(name, &symbols) {
                None => Err("no symbol of its own: inlined, or not in this configuration".to_owned()),
                Some(symbol) if !names.contains(&symbol) => {
                    Err(format!("not counted: the limit is {PROBES} functions"))
                }
                Some(symbol) => counter(&outcome, &format!("calls.{symbol}")),
            };
            RunCount { patch: *patch, name: name.clone(), count }
        })
        .collect();
    for (patch, name) in mibs(rehearsal, read)? {
        let count = counter(&outcome, &format!("TcpExt.{name}"));
        counts.push(RunCount { patch, name: format!("TcpExt.{name}"), count });
    }
    Ok(Proof { workload: workload.to_owned(), counts })
}

/// `ADDRESS TYPE NAME` of code.
fn symbol(line: &str) -> Option<&str> {
    let mut parts = line.split_ascii_whitespace().skip(1);
    parts.next().filter(|kind| kind.eq_ignore_ascii_case("t")).and(parts.next())
}

/// The symbol of a function, or of a copy that the compiler made of it.
fn with_symbol<'a>(name: &str, symbols: &BTreeSet<&'a str>) -> Option<&'a str> {
    let is_it = |symbol: &&&str| {
        symbol.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.') && !rest.contains("cold"))
    };
    let from = (Bound::Included(name), Bound::Unbounded);
    symbols.range::<str, _>(from).take_while(|symbol| symbol.starts_with(name)).find(is_it).copied()
}

/// The functions in C files that each patch of the adapted series changes or adds.
fn changed(rehearsal: &Rehearsal, read: &mut Read<'_, anyhow::Error>) -> Result<Vec<(usize, String)>> {
    let (mut out, mut now) = (Vec::new(), Made::new());
    for (number, made) in rehearsal.port.made.iter().enumerate() {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for path in made.keys().filter(|path| is_c(path)) {
            let old = match now.get(path) {
                Some(text) => text.clone(),
                None => read(path)?,
            };
            before.extend(old.map(|text| File::read(path.clone(), text)));
            after.extend(made[path].clone().map(|text| File::read(path.clone(), text)));
        }
        let found = compare(&before, &after).functions;
        out.extend(found.into_iter().filter(|found| found.status != Status::Removed).map(|found| (number, found.name)));
        now.extend(made.clone());
    }
    Ok(out)
}

/// The counters of TcpExt that added lines name.
fn mibs(rehearsal: &Rehearsal, read: &mut Read<'_, anyhow::Error>) -> Result<Vec<(usize, String)>> {
    let text = match rehearsal.port.changed.get(COUNTERS) {
        Some(text) => text.clone(),
        None => read(COUNTERS)?,
    };
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    // `SNMP_MIB_ITEM("TCPAutoCorking", LINUX_MIB_TCPAUTOCORKING),`
    let item = |line: &str| {
        let (_, rest) = line.split_once("SNMP_MIB_ITEM(\"")?;
        let (name, rest) = rest.split_once("\",")?;
        let constant = rest.trim_start().split(')').next()?.trim();
        constant.starts_with("LINUX_MIB_").then(|| (constant.to_owned(), name.to_owned()))
    };
    let names: BTreeMap<String, String> = text.lines().filter_map(item).one_by_one();
    let mut out = BTreeSet::new();
    for (number, files) in rehearsal.port.adapted.iter().enumerate() {
        for word in files.iter().filter(|file| file.change != Change::Deleted).flat_map(added_words) {
            out.extend(names.get(&word).map(|name| (number, name.clone())));
        }
    }
    Ok(out.into_iter().collect())
}

fn added_words(file: &FilePatch) -> Vec<String> {
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| matches!(line, Line::Added(_)));
    let words = |line: &Line| {
        let text = String::from_utf8_lossy(line.text()).into_owned();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.split(|c| !is_word(c)).filter(|word| word.starts_with("LINUX_MIB_")).map(str::to_owned).collect::<Vec<_>>()
    };
    lines.flat_map(words).collect()
}

fn counter(outcome: &TrialOutcome, name: &str) -> Result<u64, String> {
    let found = outcome.counters.iter().find(|counter| counter.name == name);
    match found.map(|counter| &counter.count) {
        Some(Count::Exact(count)) => Ok(*count),
        Some(Count::NotCounted(why)) => Err(why.clone()),
        Some(_) => Err("only estimated".into()),
        None => Err("this workload does not read it".into()),
    }
}
