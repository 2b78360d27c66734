//! From finished copies to the outcome: counts verified, index, spread and fairness across copies.

use super::Run;
use super::config::Tokens;
use crate::dispatch::Length;
use crate::error::BenchError;
use crate::herd::{Herd, Timeline};
use crate::metrics::{self, metric};
use crate::recorder::Recorder;
use schedlab_run::{Direction, Metric, TaskRecord, TrialOutcome, counted};
use schedlab_sys::clock::monotonic_ns;

/// UnixBench's baseline for context1 ("George", a SPARCstation 20-61), which it rates 10.0.
const CONTEXT1_BASELINE_LPS: f64 = 4000.0;

pub(super) fn build(run: &Run<'_>, herd: &Herd, line: &Timeline) -> Result<TrialOutcome, BenchError> {
    let info = run.config.tokens.info();
    let tasks = herd.records();
    let copies = verify(run, &tasks)?;
    let operations = copies.iter().sum();
    let tiers = metrics::tier_counts((0..tasks.len()).map(|task| run.cells.tier_counts(task)));
    let stamped = (0..tasks.len()).map(|task| run.cells.stamped(task)).sum();
    let histograms = run.recorder.as_ref().map(|recorder| recorder.histograms()).unwrap_or_default();
    let rate = metrics::rate_per_s(line, operations);

    let mut all = vec![metric(info.primary[0], rate, "1/s", Direction::HigherIsBetter)];
    if run.config.tokens == Tokens::One {
        all.push(metric("index", rate / CONTEXT1_BASELINE_LPS * 10.0, "points", Direction::HigherIsBetter));
    }
    if let Length::Loops(_) = run.config.length {
        all.push(metric("time_s", (line.t1_ns - line.t0_ns) as f64 / 1e9, "s", Direction::LowerIsBetter));
    }
    if copies.len() > 1 {
        all.extend(across_copies(&copies));
    }
    all.extend(metrics::per_operation(&tasks, operations, &tiers, &histograms));

    Ok(TrialOutcome {
        operations,
        metrics: all,
        phases: metrics::phases(run.setup_ns, line, monotonic_ns()),
        histograms,
        slowest: run.recorder.as_ref().map(Recorder::slowest).unwrap_or_default(),
        tiers,
        stamping: metrics::stamping_report(&run.loops(0), stamped, run.stamp_cost_ns, &tasks),
        native_lines: native_lines(run, line, operations, rate),
        notes: notes(run),
        tasks,
        ..info.outcome()
    })
}

/// Operations of each copy: both sides must have counted the same, and in loops mode as many as were ordered.
fn verify(run: &Run<'_>, tasks: &[TaskRecord]) -> Result<Vec<u64>, BenchError> {
    let mut copies = Vec::with_capacity(tasks.len() / 2);
    for pair in tasks.chunks_exact(2) {
        let (parent, child) = (pair[0].operations, pair[1].operations);
        if parent != child {
            let copy = pair[0].group;
            let text = format!("copy {copy}: the parent counted {}, the child {child}", counted(parent, "operations"));
            return Err(BenchError::Verification(text));
        }
        if let Length::Loops(loops) = run.config.length
            && parent != loops
        {
            return Err(BenchError::Verification(format!("{} ordered, {parent} done", counted(loops, "operations"))));
        }
        copies.push(parent);
    }
    Ok(copies)
}

/// Jain's fairness index (1: all alike, 1/n: one has all) and the range over the mean.
pub(crate) fn across_copies(copies: &[u64]) -> Vec<Metric> {
    let sum: f64 = copies.iter().map(|&n| n as f64).sum();
    let squares: f64 = copies.iter().map(|&n| (n as f64).powi(2)).sum();
    let (low, high) = (copies.iter().min().copied().unwrap_or(0), copies.iter().max().copied().unwrap_or(0));
    let mean = (sum / copies.len() as f64).max(f64::MIN_POSITIVE);
    vec![
        metric(
            "fairness_jain",
            sum * sum / (copies.len() as f64 * squares).max(1.0),
            "share",
            Direction::HigherIsBetter,
        ),
        metric("spread", (high - low) as f64 / mean, "share", Direction::LowerIsBetter),
    ]
}

/// context1's count line and its index row, or perf's four lines.
fn native_lines(run: &Run<'_>, line: &Timeline, operations: u64, rate: f64) -> Vec<String> {
    let total_s = (line.steady_end_ns - line.t0_ns) as f64 / 1e9;
    let partners = run.config.mode.name();
    let partners = if partners == "process" { "processes" } else { "threads" };
    let mut lines = vec![
        format!("# Executed {operations} pipe operations between two {partners}"),
        format!("     Total time: {total_s:.3} [sec]"),
        format!("       {:.6} usecs/op", 1e6 / rate),
        format!("         {rate:.0} ops/sec"),
    ];
    if run.config.tokens == Tokens::One {
        let index = rate / CONTEXT1_BASELINE_LPS * 10.0;
        lines.insert(0, format!("COUNT|{rate:.0}|1|lps"));
        lines.insert(
            1,
            format!("Pipe-based Context Switching          {CONTEXT1_BASELINE_LPS:>12.1}{rate:>13.1}{index:>9.1}"),
        );
    }
    lines
}

fn notes(run: &Run<'_>) -> Vec<String> {
    let bytes = run.config.bytes;
    let narrow = format!("tiers unknown: {bytes}-byte tokens cannot carry the CPU number");
    if run.config.is_wide() { Vec::new() } else { vec![narrow] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_for_equals_and_a_share_for_a_tyrant() {
        let value =
            |copies: &[u64], name: &str| across_copies(copies).into_iter().find(|m| m.name == name).unwrap().value;
        assert_eq!(value(&[5, 5, 5, 5], "fairness_jain"), 1.0);
        assert_eq!(value(&[8, 0, 0, 0], "fairness_jain"), 0.25);
        assert_eq!((value(&[5, 5], "spread"), value(&[2, 6], "spread")), (0.0, 1.0));
    }
}
