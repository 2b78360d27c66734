//! The cost of recording: an operation without a trace, with events that go into a buffer that nobody reads, and with
//! events that are recorded. The events are the kernel's part, which no recorder can avoid; the ratio of the two costs
//! shows what our recorder adds.

use schedlab_plan::{TrialRecord, TrialStatus};
use schedlab_stats::{Estimate, ratio_of_means, t_estimate};
use serde::Serialize;

/// Costs of a self-test, ns of an operation, as means over blocks with 95 % intervals.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecorderCost {
    /// An operation without a trace, ns.
    pub plain_ns: f64,
    /// Cost of the events alone, ns.
    pub events_alone_ns: Range,
    /// Cost of recording them, ns.
    pub recording_ns: Range,
    /// The second divided by the first; `None` if the cost of the events alone cannot be distinguished from zero.
    pub ratio: Option<Range>,
    /// Blocks behind these numbers.
    pub blocks: usize,
    /// Events recorded, in total.
    pub events: u64,
    /// Events lost, in total.
    pub lost: u64,
}

/// A mean and its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// The mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl From<Estimate> for Range {
    fn from(estimate: Estimate) -> Self {
        Self { mean: estimate.mean, low: estimate.interval.lo, high: estimate.interval.hi }
    }
}

const LEVEL: f64 = 0.95;

/// From the trials of a self-test: arm 0 without a trace, arm 1 unread, arm 2 recorded; `rate` is the metric in
/// operations per second. `None` for fewer than two complete blocks.
pub fn recorder_cost(trials: &[TrialRecord], rate: &str) -> Option<RecorderCost> {
    let mut blocks: Vec<[f64; 3]> = Vec::new();
    let mut used: Vec<u32> = trials.iter().filter(|t| !t.warm_up).map(|t| t.block).collect();
    used.dedup();
    for block in used {
        let of_arm = |arm: u32| {
            let rows = trials.iter().filter(|t| !t.warm_up && t.block == block && t.arm == Some(arm));
            mean(rows.map(|t| ns_an_operation(t, rate)).collect::<Option<Vec<f64>>>()?)
        };
        if let (Some(plain), Some(unread), Some(recorded)) = (of_arm(0), of_arm(1), of_arm(2)) {
            blocks.push([plain, unread, recorded]);
        }
    }
    let column = |of: fn(&[f64; 3]) -> f64| blocks.iter().map(of).collect::<Vec<f64>>();
    let (alone, recording) = (column(|b| b[1] - b[0]), column(|b| b[2] - b[0]));
    let (alone_ns, recording_ns) = (t_estimate(&alone, LEVEL)?, t_estimate(&recording, LEVEL)?);
    let counted = |name: &str| {
        let counters = trials.iter().filter(|t| t.arm == Some(2)).filter_map(|t| t.outcome.as_ref());
        let of = counters.flat_map(|o| &o.counters).filter(|c| c.name == name);
        of.filter_map(|c| c.count.value()).sum()
    };
    Some(RecorderCost {
        plain_ns: mean(column(|b| b[0]))?,
        events_alone_ns: alone_ns.into(),
        recording_ns: recording_ns.into(),
        ratio: ratio_of_means(&alone, &recording, LEVEL).filter(|_| alone_ns.mean > 0.0).map(Range::from),
        blocks: blocks.len(),
        events: counted("trace_events"),
        lost: counted("trace_lost"),
    })
}

fn ns_an_operation(trial: &TrialRecord, rate: &str) -> Option<f64> {
    let outcome = trial.outcome.as_ref().filter(|_| trial.status == TrialStatus::Ok)?;
    let metric = outcome.metrics.iter().find(|m| m.name == rate)?;
    (metric.value > 0.0).then(|| 1e9 / metric.value)
}

fn mean(values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::{Count, Counter, Direction, Metric, TrialOutcome};

    fn trial(block: u32, arm: u32, ns: f64) -> TrialRecord {
        let metric =
            Metric { name: "rate".into(), value: 1e9 / ns, unit: "1/s".into(), direction: Direction::HigherIsBetter };
        let count = Count::Exact(100);
        let counter = Counter { name: "trace_events".into(), scope: "host".into(), source: "tracefs".into(), count };
        TrialRecord {
            trial: 0,
            workload: 0,
            arm: Some(arm),
            block,
            position: 0,
            repeats_block: None,
            warm_up: false,
            status: TrialStatus::Ok,
            marks: Vec::new(),
            started_unix_ns: 0,
            wall_ns: 0,
            boot_id: String::new(),
            outcome: Some(TrialOutcome { metrics: vec![metric], counters: vec![counter], ..TrialOutcome::default() }),
        }
    }

    #[test]
    fn costs_are_differences_within_a_block_whatever_the_machine_does_between_blocks() {
        let trials: Vec<TrialRecord> = (0..10)
            .flat_map(|block| {
                let (drift, noise) = (f64::from(block) * 50.0, f64::from(block % 2));
                [(0, 1000.0), (1, 1100.0), (2, 1110.0 + noise)].map(|(arm, ns)| trial(block, arm, ns + drift))
            })
            .collect();
        let cost = recorder_cost(&trials, "rate").unwrap();
        assert!((cost.events_alone_ns.mean - 100.0).abs() < 1e-6 && (cost.recording_ns.mean - 110.5).abs() < 1e-6);
        let ratio = cost.ratio.unwrap();
        assert!((ratio.mean - 1.105).abs() < 1e-9 && ratio.low > 1.10 && ratio.high < 1.11, "{ratio:?}");
        assert_eq!((cost.blocks, cost.events, cost.lost), (10, 1000, 0));
    }

    #[test]
    fn events_that_cost_nothing_have_no_ratio_and_one_block_says_nothing() {
        let trials: Vec<TrialRecord> = (0..6)
            .flat_map(|block| {
                let noise = if block % 2 == 0 { 5.0 } else { -5.0 };
                [trial(block, 0, 1000.0), trial(block, 1, 1000.0 + noise), trial(block, 2, 1010.0)]
            })
            .collect();
        assert_eq!(recorder_cost(&trials, "rate").unwrap().ratio, None);
        assert_eq!(recorder_cost(&trials[..3], "rate"), None);
        assert_eq!(recorder_cost(&trials, "other"), None);
    }
}
