//! The legs of a profile: instructions of system calls on pipes, by what became of the calls.

use anyhow::{Context, Result};
use schedlab_record::profile::KernelSymbols;
use schedlab_run::InOrder;
use schedlab_vm::profile::{Counted, LEGS, Landmark, NAMES_OF_LANDMARKS, Profile};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The first one is what is in no leg.
const OUTSIDE: usize = 0;

/// One profile for each of the LEGS.
pub(super) struct Legs {
    /// Complete calls.
    calls: Vec<u64>,
    profiles: Vec<Profile>,
}

/// Where this kernel's functions begin by which legs are told apart.
pub(super) fn landmarks(symbols: &KernelSymbols<'_>) -> Result<Vec<Landmark>> {
    let address = |(argument, names): &(&'static str, &[&str])| {
        let found = names.iter().find_map(|name| symbols.named(name));
        let named = || format!("its kernel has no function {}, by which legs are told apart", names.join(" or "));
        Ok((*argument, found.with_context(named)?.start))
    };
    NAMES_OF_LANDMARKS.iter().map(address).collect()
}

impl Legs {
    pub(super) fn of<'s>(counted: &Counted, name_of: impl Fn(u64) -> Option<&'s str>) -> Self {
        let profiles = counted.legs.iter().map(|leg| leg.by_function(&name_of)).collect();
        Self { calls: counted.calls.clone(), profiles }
    }

    /// The legs, then the functions that have most, in each of them.
    pub(super) fn show(&self, operations: u64, top: usize, out: &mut dyn Write) -> io::Result<()> {
        let per_operation = |count: u64| count as f64 / operations as f64;
        writeln!(out, "\n{:>12} {:>12} {:>12}  leg", "calls per op", "instr per op", "per call")?;
        // What is in no leg comes last.
        for leg in (1..LEGS.len()).chain([OUTSIDE]) {
            let (calls, profile) = (self.calls[leg], &self.profiles[leg]);
            let instructions = profile.kernel();
            let (shown, each) = match (leg, calls) {
                (OUTSIDE, _) | (_, 0) => (String::new(), String::new()),
                _ => (format!("{:.2}", per_operation(calls)), format!("{:.1}", instructions as f64 / calls as f64)),
            };
            writeln!(out, "{shown:>12} {:>12.1} {each:>12}  {}", per_operation(instructions), LEGS[leg])?;
        }
        writeln!(out, "\nper op:")?;
        let short = ["write", "that wakes", "read", "that waits", "outside"];
        writeln!(out, "{}  function", short.map(|name| format!("{name:>11}")).concat())?;
        let rows = self.rows();
        let mut show = |counts: &[u64], name: &str| {
            let cells = (1..LEGS.len()).chain([OUTSIDE]).map(|leg| format!("{:>11.2}", per_operation(counts[leg])));
            writeln!(out, "{}  {name}", cells.collect::<String>())
        };
        rows.iter().take(top).try_for_each(|(name, counts)| show(counts, name))?;
        if rows.len() > top {
            let of = |leg: usize| rows.iter().skip(top).map(|(_, counts)| counts[leg]).sum();
            let rest: Vec<u64> = (0..LEGS.len()).map(of).collect();
            show(&rest, &format!("{} others", rows.len() - top))?;
        }
        Ok(())
    }

    /// By function, the most first: the counts of all legs.
    fn rows(&self) -> Vec<(&str, Vec<u64>)> {
        let mut rows: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (leg, profile) in self.profiles.iter().enumerate() {
            for (name, count) in profile.rows() {
                rows.entry(name).or_insert_with(|| vec![0; LEGS.len()])[leg] += count;
            }
        }
        let mut rows: Vec<(&str, Vec<u64>)> = rows.into_iter().collect();
        rows.in_order_by_key(|(name, counts)| (std::cmp::Reverse(counts.iter().sum::<u64>()), *name));
        rows
    }

    pub(super) fn to_json(&self) -> serde_json::Value {
        let one = |leg: usize| {
            let (calls, profile) = (self.calls[leg], &self.profiles[leg]);
            serde_json::json!({
                "leg": LEGS[leg],
                "calls": calls,
                "instructions": {
                    "programs": profile.programs,
                    "kernel": profile.kernel(),
                    "no_function": profile.unknown,
                },
                "functions": profile.functions,
            })
        };
        (0..LEGS.len()).map(one).collect()
    }
}
