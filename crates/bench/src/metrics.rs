//! Metrics that all workloads compute in the same way: from the tasks' rows to numbers per operation.

use crate::herd::Timeline;
use schedlab_plan::{Direction, Metric, NamedHistogram, Phase, TaskRecord, Tier, TierCount};

/// A metric.
pub(crate) fn metric(name: &str, value: f64, unit: &str, direction: Direction) -> Metric {
    Metric { name: name.to_owned(), value, unit: unit.to_owned(), direction }
}

/// The five phases of a run whose set-up began at `setup_ns` and whose clean-up has just ended.
pub(crate) fn phases(setup_ns: u64, line: &Timeline, end_ns: u64) -> Vec<Phase> {
    let bounds = [
        ("setup", setup_ns, line.t0_ns),
        ("herd_release", line.t0_ns, line.released_ns),
        ("steady", line.released_ns, line.steady_end_ns.max(line.released_ns)),
        ("drain", line.steady_end_ns.max(line.released_ns), line.drained_ns.max(line.steady_end_ns)),
        ("teardown", line.drained_ns.max(line.steady_end_ns), end_ns),
    ];
    let phase = |(name, start_ns, end_ns): (&str, u64, u64)| Phase { name: name.to_owned(), start_ns, end_ns };
    bounds.into_iter().map(phase).collect()
}

/// Operations per second in the steady state. In loops mode: all operations over the time from t0 to the end of the
/// last loop. In duration mode: those counted when the stop flag was set, over the time from t0 to then.
pub(crate) fn rate_per_s(line: &Timeline, operations: u64) -> f64 {
    let counted = line.steady_operations.unwrap_or(operations);
    counted as f64 * 1e9 / line.steady_end_ns.saturating_sub(line.t0_ns).max(1) as f64
}

/// Sum of a field over the tasks; `None` if any task lacks it.
fn sum(tasks: &[TaskRecord], field: impl Fn(&TaskRecord) -> Option<u64>) -> Option<u64> {
    tasks.iter().map(field).sum()
}

/// Switches, run delay and CPU time per operation, and the latency quantiles and tier shares.
pub(crate) fn per_operation(
    tasks: &[TaskRecord],
    operations: u64,
    tiers: &[TierCount],
    histograms: &[NamedHistogram],
) -> Vec<Metric> {
    let mut found = Vec::new();
    let each = operations.max(1) as f64;
    let mut add = |name: &str, total: Option<u64>, unit: &str, direction| {
        if let Some(total) = total {
            found.push(metric(name, total as f64 / each, unit, direction));
        }
    };
    add("voluntary_switches_per_op", sum(tasks, |t| t.voluntary_switches), "1/op", Direction::Neutral);
    add("involuntary_switches_per_op", sum(tasks, |t| t.involuntary_switches), "1/op", Direction::Neutral);
    add("migrations_per_op", sum(tasks, |t| t.migrations), "1/op", Direction::Neutral);
    add("run_delay_ns_per_op", sum(tasks, |t| t.run_delay_ns), "ns/op", Direction::Neutral);
    add("cpu_ns_per_op", sum(tasks, |t| t.cpu_ns), "ns/op", Direction::LowerIsBetter);
    for named in histograms.iter().filter(|named| named.tier.is_none() && named.name == "latency") {
        found.extend(quantiles(named));
    }
    let seen: u64 = tiers.iter().map(|tier| tier.operations).sum();
    for tier in tiers.iter().filter(|_| seen > 0) {
        let name = format!("tier_share_{}", tier.tier.name());
        found.push(metric(&name, tier.operations as f64 / seen as f64, "share", Direction::Neutral));
    }
    found
}

/// p50 to p99.9, each only if at least ten values are expected beyond it.
pub(crate) fn quantiles(named: &NamedHistogram) -> Vec<Metric> {
    let count = named.histogram.count() as f64;
    let wanted = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];
    let enough = wanted.into_iter().filter(|&(_, q)| count * (1.0 - q) >= 10.0);
    let quantile = |(label, q): (&str, f64)| {
        let value = named.histogram.quantile_ns(q)?;
        Some(metric(&format!("{}_{label}_ns", named.name), value, "ns", Direction::LowerIsBetter))
    };
    enough.filter_map(quantile).collect()
}

/// Jain's fairness index (1: all equal, 1/n: one has everything) and the range over the mean.
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

/// The sum of the tasks' tallies.
pub(crate) fn tier_counts(tallies: impl Iterator<Item = [u64; Tier::ALL.len()]>) -> Vec<TierCount> {
    let mut all = [0u64; Tier::ALL.len()];
    for tally in tallies {
        all.iter_mut().zip(tally).for_each(|(sum, n)| *sum += n);
    }
    let count = |(tier, operations)| TierCount { tier, operations };
    Tier::ALL.into_iter().zip(all).filter(|&(_, n)| n > 0).map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of counters has both times under these names; the metric of the same name is that row divided by the
    /// operations.
    #[test]
    fn a_metric_per_operation_is_the_field_that_it_is_named_after() {
        let task = TaskRecord {
            voluntary_switches: Some(30),
            involuntary_switches: Some(50),
            migrations: Some(70),
            run_ns: Some(1_100),
            run_delay_ns: Some(130),
            cpu_ns: Some(1_700),
            ..TaskRecord::default()
        };
        let found = per_operation(&[task], 10, &[], &[]);
        let found: Vec<(&str, f64)> = found.iter().map(|m| (m.name.as_str(), m.value)).collect();
        let wanted = [
            ("voluntary_switches_per_op", 3.0),
            ("involuntary_switches_per_op", 5.0),
            ("migrations_per_op", 7.0),
            ("run_delay_ns_per_op", 13.0),
            ("cpu_ns_per_op", 170.0),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn fairness_is_one_for_equals_and_a_share_for_a_tyrant() {
        let value =
            |copies: &[u64], name: &str| across_copies(copies).into_iter().find(|m| m.name == name).unwrap().value;
        assert_eq!(value(&[5, 5, 5, 5], "fairness_jain"), 1.0);
        assert_eq!(value(&[8, 0, 0, 0], "fairness_jain"), 0.25);
        assert_eq!((value(&[5, 5], "spread"), value(&[2, 6], "spread")), (0.0, 1.0));
    }
}
