//! The catalogue of knobs against sources of kernels: each TREE that is named is searched for the sysctls and debugfs files
//! of its scheduler, and for the network sysctls that the catalogue has. What the catalogue says of that version must be
//! there, and what is there must be in the catalogue. About 1 minute.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, bail};
use schedlab_benches::{program, table};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

type Version = (u32, u32);

fn main() -> Result<()> {
    let started = Instant::now();
    let trees: Vec<String> = std::env::args().skip(1).collect();
    if trees.is_empty() {
        bail!("name trees of kernel sources: cargo xtask bench knobs -- TREE…");
    }
    let mut catalogue = Command::new(program::schedlab()?);
    catalogue.args(["tune", "catalog", "--json", "--top", "0"]);
    let catalogue: Value = serde_json::from_slice(&program::output(catalogue)?.stdout)?;
    let knobs = catalogue["knobs"].as_array().context("knobs")?;
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for tree in &trees {
        let tree = Path::new(tree);
        let version = version_of(tree)?;
        let (here, known) = (defined(tree)?, described(knobs, version));
        let mut wrong: Vec<String> =
            known.difference(&here).map(|name| format!("{name} is not in the source")).collect();
        // Only some of the network's sysctls are in the catalogue; all of the scheduler's must be.
        let of_scheduler = here.iter().filter(|name| !name.starts_with("net"));
        wrong
            .extend(of_scheduler.filter(|n| !known.contains(*n)).map(|name| format!("{name} is not in the catalogue")));
        rows.push(vec![
            format!("{}.{}", version.0, version.1),
            known.iter().filter(|name| !name.starts_with("net")).count().to_string(),
            known.iter().filter(|name| name.starts_with("net")).count().to_string(),
            wrong.len().to_string(),
            table::met(wrong.is_empty()),
        ]);
        problems.extend(wrong.into_iter().map(|what| format!("{}: {what}", tree.display())));
    }
    let header = ["Linux", "places of the scheduler", "of the network", "missing or unknown", "agree"];
    table::print("The catalogue against the sources", &header, &rows);
    table::closing("knobs", started.elapsed());
    if problems.is_empty() { Ok(()) } else { bail!("{} findings:\n{}", problems.len(), problems.join("\n")) }
}

fn version(text: &str) -> Option<Version> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// From the Makefile; for a partial tree from the name of its directory, `6.12.111`.
fn version_of(tree: &Path) -> Result<Version> {
    if !tree.join("Makefile").exists() {
        let name = tree.file_name().and_then(|name| version(name.to_str()?));
        return name.with_context(|| format!("{} has no Makefile and is not named by its version", tree.display()));
    }
    let text = std::fs::read_to_string(tree.join("Makefile")).with_context(|| format!("{}", tree.display()))?;
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix('='));
        line.and_then(|number| number.trim().parse().ok()).with_context(|| format!("{name} of {}", tree.display()))
    };
    Ok((number("VERSION")?, number("PATCHLEVEL")?))
}

/// The names that this version has according to the catalogue: `sched_rt_period_us`, `debugfs:base_slice_ns`,
/// `net:tcp_rmem`.
fn described(knobs: &[Value], of: Version) -> BTreeSet<String> {
    let places = knobs.iter().flat_map(|knob| knob["places"].as_array().into_iter().flatten());
    let here = places.filter(|place| {
        let bound = |end: &str| place[end].as_str().and_then(version);
        bound("from").is_none_or(|from| from <= of) && bound("to").is_none_or(|to| of <= to)
    });
    let name = |place: &Value| {
        let (kind, path) = place["place"].as_str()?.split_once(':')?;
        let last = path.rsplit(['.', '/']).next()?;
        match kind {
            "sysctl" if path.starts_with("net.") => Some(format!("net:{last}")),
            "sysctl" if last.starts_with("sched_") || last.starts_with("numa_balancing") => Some(last.to_owned()),
            "debugfs" => Some(format!("debugfs:{last}")),
            "spec" if path.starts_with("autogroup") => Some("sched_autogroup_enabled".into()),
            _ => None,
        }
    };
    here.filter_map(name).collect()
}

/// The names that the sources define.
fn defined(tree: &Path) -> Result<BTreeSet<String>> {
    let read = |file: &Path| std::fs::read_to_string(file).unwrap_or_default();
    let mut found = BTreeSet::new();
    let scheduler = std::fs::read_dir(tree.join("kernel/sched"))?.flatten().map(|item| item.path());
    let files: Vec<_> = scheduler.filter(|path| path.extension().is_some_and(|e| e == "c")).collect();
    for file in files.iter().chain(&[tree.join("kernel/sysctl.c")]) {
        let text = read(file);
        let of_scheduler = |name: &&str| name.starts_with("sched_") || name.starts_with("numa_balancing");
        // The directory of the sched domains, whose files are not knobs.
        let sysctls = named(&text, ".procname").filter(of_scheduler).filter(|name| *name != "sched_domain");
        found.extend(sysctls.map(str::to_owned));
        let writable = text.split("debugfs_create_").skip(1).filter(|call| {
            let call = call.split(';').next().unwrap_or_default();
            !call.starts_with("dir") && call.contains("0644")
        });
        let names = writable.filter_map(|call| call.split('"').nth(1));
        // These only switch what `sched/debug` and the kernel log show.
        found.extend(
            names.filter(|name| !["verbose", "sched_debug"].contains(name)).map(|name| format!("debugfs:{name}")),
        );
    }
    for file in ["net/core/sysctl_net_core.c", "net/ipv4/sysctl_net_ipv4.c", "net/unix/sysctl_net_unix.c"] {
        found.extend(named(&read(&tree.join(file)), ".procname").map(|name| format!("net:{name}")));
    }
    Ok(found)
}

/// The strings that a field of a structure is initialised with.
fn named<'a>(text: &'a str, field: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(field).skip(1).filter_map(|rest| rest.split(',').next()?.split('"').nth(1))
}
