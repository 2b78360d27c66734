//! The table that says which part of the kernel a function is of, against sources: each function of each profile that
//! `vm profile --json` wrote, by its name and by the file of the TREE that defines it. About 1 minute.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, bail};
use schedlab_analyze::profile::{group_of, group_of_source};
use schedlab_benches::table;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The group of functions that match no row of the table.
const OTHER: &str = "other";
/// Maximum share of all instructions that may be in no known part.
const MAX_OTHER: f64 = 0.05;

fn main() -> Result<()> {
    let started = Instant::now();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((tree, profiles)) = words.split_first().filter(|(_, profiles)| !profiles.is_empty()) else {
        bail!("name a tree of kernel sources and profiles: cargo xtask bench groups -- TREE PROFILE.json…");
    };
    let defined = defined(Path::new(tree))?;
    let (mut rows, mut is_met, mut differ) = (Vec::new(), true, BTreeMap::new());
    for file in profiles {
        let found = Agreement::of(file, &defined, &mut differ)?;
        is_met &= found.other <= MAX_OTHER;
        let share = |share: f64| format!("{:.2} %", 100.0 * share);
        let shares = [found.other, found.known, found.differs].map(share);
        rows.push(
            [vec![found.title, found.functions.to_string()], shares.into(), vec![table::met(found.other <= MAX_OTHER)]]
                .concat(),
        );
    }
    let header = [
        "profile",
        "functions",
        "other, of instructions",
        "of one part by source",
        "of another one by name",
        "other ≤ 5 %",
    ];
    table::print("Names against sources", &header, &rows);
    let mut differ: Vec<_> = differ.into_iter().collect();
    differ.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for ((name, by_name, by_source), _) in differ.into_iter().take(10) {
        println!("{name}: {by_name} by name, {by_source} by source");
    }
    table::closing("groups", started.elapsed());
    if is_met { Ok(()) } else { bail!("more than 5 % of the instructions of a profile are of no known part") }
}

/// How far names and sources agree for a profile, as shares of the kernel's instructions.
struct Agreement {
    title: String,
    functions: usize,
    other: f64,
    known: f64,
    differs: f64,
}

type Differ = BTreeMap<(String, &'static str, &'static str), u64>;

impl Agreement {
    fn of(file: &str, defined: &BTreeMap<String, BTreeSet<&'static str>>, differ: &mut Differ) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("{file} cannot be read"))?;
        let whole: Value = serde_json::from_str(&text).with_context(|| format!("{file} is not JSON"))?;
        let profile = whole["profiles"].as_array().and_then(|all| all.last()).context("no profile is in it")?;
        let functions = profile["functions"].as_object().context("it has no functions")?;
        let all = profile["instructions"]["kernel"].as_f64().context("it has no instructions")?;
        let mut sums = [0_u64; 3];
        for (name, count) in functions {
            let (by_name, count) = (group_of(name), count.as_u64().unwrap_or(0));
            sums[0] += if by_name == OTHER { count } else { 0 };
            // A name that is defined in files of several parts decides nothing.
            let plain = name.split('.').next().unwrap_or(name);
            let Some(by_source) = defined.get(plain).filter(|groups| groups.len() == 1).and_then(|g| g.first()) else {
                continue;
            };
            sums[1] += count;
            if *by_source != by_name {
                sums[2] += count;
                *differ.entry((name.clone(), by_name, by_source)).or_default() += count;
            }
        }
        let title =
            format!("{}, {}", profile["kernel"].as_str().unwrap_or("?"), profile["command"].as_str().unwrap_or("?"));
        let [other, known, differs] = sums.map(|sum| sum as f64 / all);
        Ok(Self { title, functions: functions.len(), other, known, differs })
    }
}

/// The parts of the kernel whose files define each function.
fn defined(tree: &Path) -> Result<BTreeMap<String, BTreeSet<&'static str>>> {
    let (mut found, mut left) = (BTreeMap::<String, BTreeSet<&'static str>>::new(), vec![tree.to_owned()]);
    while let Some(directory) = left.pop() {
        let entries =
            std::fs::read_dir(&directory).with_context(|| format!("{} cannot be read", directory.display()))?;
        let paths: Vec<PathBuf> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        for path in paths {
            let relative = path.strip_prefix(tree)?.to_string_lossy().into_owned();
            if path.is_dir() && is_looked_at(&relative) {
                left.push(path);
            } else if relative.ends_with(".c") {
                let group = group_of_source(&relative);
                let unit = schedlab_kernel::source::scan(&std::fs::read(&path)?);
                for function in unit.functions {
                    let is_call = function.by.as_deref().is_some_and(|by| by.starts_with("SYSCALL_DEFINE"));
                    let prefixes: &[&str] = if is_call { &["__x64_sys_", "__do_sys_", "__se_sys_"] } else { &[""] };
                    for prefix in prefixes {
                        found.entry(format!("{prefix}{}", function.name)).or_default().insert(group);
                    }
                }
            }
        }
    }
    Ok(found)
}

/// Files that are linked into a kernel for x86-64.
fn is_looked_at(relative: &str) -> bool {
    let has = |parts: &[&str]| parts.iter().any(|part| Path::new(relative).starts_with(part));
    let of_others = relative.starts_with("arch/") && !has(&["arch/x86"]);
    !of_others && !has(&["tools", "scripts", "Documentation", "samples", "arch/x86/boot", "usr", "certs"])
}
