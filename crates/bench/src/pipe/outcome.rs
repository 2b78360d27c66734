//! From finished copies to the outcome: verified counts, index, spread and fairness across copies.

use super::config::{Config, Tokens};
use crate::dispatch::Length;
use crate::error::BenchError;
use crate::metrics::{across_copies, metric};
use crate::prepared::{Ended, Prepared};
use schedlab_plan::{Direction, TaskRecord, TrialOutcome, counted};

/// UnixBench's baseline for context1 ("George", a SPARCstation 20-61), which has the index 10.0.
const CONTEXT1_BASELINE_LPS: f64 = 4000.0;

pub(super) fn build(config: &Config, run: &Prepared<'_>, ended: Ended) -> Result<TrialOutcome, BenchError> {
    let info = config.tokens.info();
    let copies = verify(config, &ended.tasks)?;
    let operations = copies.iter().sum();
    let rate = ended.rate_per_s(operations);

    let mut own = vec![metric(info.primary[0], rate, "1/s", Direction::HigherIsBetter)];
    if config.tokens == Tokens::One {
        own.push(metric("index", rate / CONTEXT1_BASELINE_LPS * 10.0, "points", Direction::HigherIsBetter));
    }
    own.extend(config.length.loops().map(|_| ended.time_s()));
    if copies.len() > 1 {
        own.extend(across_copies(&copies));
    }
    let native_lines = native_lines(config, ended.steady_s(), operations, rate);
    Ok(TrialOutcome { native_lines, notes: notes(config), ..run.outcome(info, ended, operations, own) })
}

/// Operations of each copy: both sides must have counted the same number, in loops mode the number ordered.
fn verify(config: &Config, tasks: &[TaskRecord]) -> Result<Vec<u64>, BenchError> {
    let mut copies = Vec::with_capacity(tasks.len() / 2);
    for pair in tasks.chunks_exact(2) {
        let (parent, child) = (pair[0].operations, pair[1].operations);
        if parent != child {
            let copy = pair[0].group;
            let text = format!("copy {copy}: the parent counted {}, the child {child}", counted(parent, "operations"));
            return Err(BenchError::Verification(text));
        }
        if let Length::Loops(loops) = config.length
            && parent != loops
        {
            return Err(BenchError::Verification(format!("{} ordered, {parent} done", counted(loops, "operations"))));
        }
        copies.push(parent);
    }
    Ok(copies)
}

/// context1's count line and its index row, or perf's four lines.
fn native_lines(config: &Config, total_s: f64, operations: u64, rate: f64) -> Vec<String> {
    let partners = config.mode.name();
    let partners = if partners == "process" { "processes" } else { "threads" };
    let mut lines = vec![
        format!("# Executed {operations} pipe operations between two {partners}"),
        format!("     Total time: {total_s:.3} [sec]"),
        format!("       {:.6} usecs/op", 1e6 / rate),
        format!("         {rate:.0} ops/sec"),
    ];
    if config.tokens == Tokens::One {
        let index = rate / CONTEXT1_BASELINE_LPS * 10.0;
        lines.insert(0, format!("COUNT|{rate:.0}|1|lps"));
        lines.insert(
            1,
            format!("Pipe-based Context Switching          {CONTEXT1_BASELINE_LPS:>12.1}{rate:>13.1}{index:>9.1}"),
        );
    }
    lines
}

fn notes(config: &Config) -> Vec<String> {
    let bytes = config.bytes;
    let narrow = format!("tiers unknown: {bytes}-byte tokens cannot carry the CPU number");
    if config.is_wide() { Vec::new() } else { vec![narrow] }
}
