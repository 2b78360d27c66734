//! `timer/1` against Debian's cyclictest: both pinned to one CPU, with /dev/cpu_dma_latency held at 0 µs, for the same
//! number of wakeups. Compares mean and median lateness, in nanoseconds, from the same pairs of runs.
//!
//! The reference's figures cover only its wakeups, so ours are those of `wake_latency`, not of `latency`, which also
//! contains missed periods.

use crate::pairs::{Ratio, interleave_by};
use crate::program;
use anyhow::{Context, Result, bail};

/// Wakeups of a run, one per millisecond: enough for a median, few enough for many pairs.
const WAKES: u32 = 1_000;

/// Mean and median lateness of the wakeups of one run, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lateness {
    mean_ns: f64,
    median_ns: f64,
}

/// Table rows below [`crate::pairs::HEADER`], for names that contain `filter`.
pub fn rows(filter: &str, pairs: usize) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for (policy, ours, reference) in [("SCHED_OTHER", "policy=other", ""), ("SCHED_FIFO", "policy=fifo:80", "-p 80")] {
        let name = format!("cyclictest {policy}");
        if !name.contains(filter) {
            continue;
        }
        if !program::exists("cyclictest") {
            bail!("cyclictest is not installed: apt install rt-tests");
        }
        let found = interleave_by(pairs, 0x5EED, || run_reference(reference), || run_ours(ours))?;
        for (figure, of) in [("mean", mean as fn(&Lateness) -> f64), ("median", median)] {
            let logs: Vec<f64> = found.iter().map(|(reference, ours)| (of(ours) / of(reference)).ln()).collect();
            let ratio = Ratio::from_logs(&logs).context("no pairs")?;
            let typical = format!("{:.1} µs", typical(&found, of) / 1e3);
            rows.push(ratio.row(&format!("{name}, {figure} lateness"), "one CPU", typical));
        }
    }
    Ok(rows)
}

fn mean(lateness: &Lateness) -> f64 {
    lateness.mean_ns
}

fn median(lateness: &Lateness) -> f64 {
    lateness.median_ns
}

/// The reference's middle figure, to which the ratio refers.
fn typical(found: &[(Lateness, Lateness)], of: fn(&Lateness) -> f64) -> f64 {
    schedlab_stats::median(&found.iter().map(|(reference, _)| of(reference)).collect::<Vec<_>>())
}

fn run_ours(policy: &str) -> Result<Lateness> {
    let spec = format!("timer:loops={WAKES},dma_latency=0us,{policy}");
    let outcome = program::outcome(Some("0"), &[&spec, "--counters", "basic"])?;
    let wakes = outcome.histograms.iter().find(|h| h.name == "wake_latency").context("no wake_latency")?;
    let mean_ns = wakes.histogram.mean_ns().context("no wakeups")?;
    Ok(Lateness { mean_ns, median_ns: program::median_ns(&outcome, "wake_latency")? })
}

/// With a histogram of one bucket per nanosecond, up to 0.5 ms; later wakeups are in its overflow, and in the mean.
fn run_reference(policy: &str) -> Result<Lateness> {
    let line = format!("-q -N -i 1000 -l {WAKES} -h 500000 {policy}");
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let text = program::text(program::on_cpus(Some("0"), "cyclictest", &arguments))?;
    parse(&text).with_context(|| {
        let last: Vec<&str> = text.lines().rev().take(8).collect();
        format!("cyclictest printed no histogram of {WAKES} wakeups; its last lines, last first: {last:?}")
    })
}

/// Rows `NANOSECONDS COUNT`, then `# Avg Latencies: NNNNN` and `# Histogram Overflows: NNNNN`.
fn parse(text: &str) -> Option<Lateness> {
    let comment = |label: &str| text.lines().find_map(|l| l.strip_prefix(label))?.trim().parse::<u64>().ok();
    let row = |line: &str| -> Option<(u64, u64)> {
        let (ns, count) = line.split_once([' ', '\t'])?;
        Some((ns.parse().ok()?, count.trim().parse().ok()?))
    };
    let cells: Vec<(u64, u64)> = text.lines().filter_map(row).filter(|&(_, count)| count > 0).collect();
    let total = cells.iter().map(|&(_, count)| count).sum::<u64>() + comment("# Histogram Overflows:")?;
    let mut below = 0;
    let middle = cells.iter().find(|&&(_, count)| {
        below += count;
        2 * below >= total
    });
    let mean_ns = comment("# Avg Latencies:")? as f64;
    (total > 0).then_some(())?;
    Some(Lateness { mean_ns, median_ns: middle?.0 as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000000 000000\n000001 000002\n000002 000001\n\
                           000003 000000\n000004 000001\n# Total: 000000004\n# Min Latencies: 00001\n\
                           # Avg Latencies: 00031\n# Max Latencies: 00150\n# Histogram Overflows: 00001\n\
                           # Histogram Overflow at cycle number:\n# Thread 0: 00003\n";

    #[test]
    fn the_median_counts_the_overflows_and_the_mean_is_the_references_own() {
        assert_eq!(parse(PRINTED), Some(Lateness { mean_ns: 31.0, median_ns: 2.0 }));
    }

    #[test]
    fn a_print_without_a_histogram_is_not_taken_for_one() {
        assert_eq!(parse("T: 0 ( 1) P: 0 I:1000 C: 10 Min: 1 Act: 2 Avg: 3 Max: 4\n"), None);
        let half_late = PRINTED.replace("Overflows: 00001", "Overflows: 00009");
        assert_eq!(parse(&half_late), None, "the middle lies in the overflow");
    }
}
