//! From the finished tasks to the outcome: verified wakeups and requests, what an open loop left unserved, schbench's
//! own lines.

use super::{INFO, Run};
use crate::error::BenchError;
use crate::herd::Timeline;
use crate::metrics::metric;
use crate::prepared::Ended;
use schedlab_plan::{Direction, Histogram, Metric, NamedHistogram, TaskRecord, TrialOutcome};

/// What the workers of an open loop left behind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Left {
    /// Requests that arrived but were not started.
    unserved: u64,
    /// Requests that were already waiting when their worker came for them.
    queued: u64,
}

pub(super) fn build(run: &Run<'_>, ended: Ended) -> Result<TrialOutcome, BenchError> {
    let left = left(run, &ended.tasks);
    let served = verify(run, &ended, left)?;
    let rate = ended.rate_per_s(served);
    let mut own = vec![metric("requests_per_s", rate, "1/s", Direction::HigherIsBetter)];
    if let Some(asked) = run.config.rate {
        own.extend(open_loop(asked as f64, rate, served, left));
    }
    let native_lines = native_lines(&ended.line, rate, &ended.histograms);
    let mut outcome = run.shared.outcome(&INFO, ended, served, own);
    // The generator's lateness has no waker and no wakee.
    outcome.histograms.retain(|named| named.name != "arrival_late" || named.tier.is_none());
    Ok(TrialOutcome { native_lines, notes: notes(served, left), ..outcome })
}

fn left(run: &Run<'_>, tasks: &[TaskRecord]) -> Left {
    let mut left = Left::default();
    for (task, _) in tasks.iter().enumerate().filter(|(_, task)| task.role == "worker") {
        let (unserved, queued) = run.lines.of(task).counts();
        left.unserved += unserved;
        left.queued += queued;
    }
    left
}

/// Requests served. Each corresponds to one wakeup by a messenger (closed) or one posted request (open), and none is
/// lost; in loops mode, each worker must have served the number ordered.
fn verify(run: &Run<'_>, ended: &Ended, left: Left) -> Result<u64, BenchError> {
    let (given, served) = (ended.total("messenger"), ended.total("worker"));
    if given != served + left.unserved {
        let unserved = left.unserved;
        let text = format!("messengers gave {given} requests, workers served {served} and left {unserved}");
        return Err(BenchError::Verification(text));
    }
    if let Some(loops) = run.config.length.loops()
        && let Some(task) = ended.tasks.iter().find(|task| task.role == "worker" && task.operations != loops)
    {
        let (tid, done) = (task.tid, task.operations);
        return Err(BenchError::Verification(format!("worker {tid} served {done} requests, {loops} were requested")));
    }
    Ok(served)
}

fn open_loop(asked: f64, rate: f64, served: u64, left: Left) -> Vec<Metric> {
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    vec![
        metric("asked_per_s", asked, "1/s", Direction::Neutral),
        metric("achieved_share", rate / asked, "share", Direction::HigherIsBetter),
        metric("queued_share", share(left.queued, served), "share", Direction::LowerIsBetter),
        metric("unserved_share", share(left.unserved, served + left.unserved), "share", Direction::LowerIsBetter),
    ]
}

/// schbench's tables, in whole microseconds as there, but including the values below one that it drops.
fn native_lines(line: &Timeline, rate: f64, histograms: &[NamedHistogram]) -> Vec<String> {
    let seconds = (line.steady_end_ns - line.t0_ns) / 1_000_000_000;
    let mut lines = Vec::new();
    for (name, title) in [("latency", "Wakeup Latencies"), ("request", "Request Latencies")] {
        let Some(named) = histograms.iter().find(|named| named.name == name && named.tier.is_none()) else { continue };
        lines.push(format!(
            "{title} percentiles (usec) runtime {seconds} (s) ({} total samples)",
            named.histogram.count()
        ));
        lines.extend(percentiles(&named.histogram));
    }
    lines.push(format!("average rps: {rate:.2}"));
    lines
}

fn percentiles(histogram: &Histogram) -> Vec<String> {
    let us = |ns: f64| (ns / 1_000.0) as u64;
    let count = histogram.count() as f64;
    let mut lines = Vec::new();
    let mut below = 0.0;
    for (star, percent) in [(' ', 50.0), (' ', 90.0), ('*', 99.0), (' ', 99.9)] {
        let Some(value) = histogram.quantile_ns(percent / 100.0) else { continue };
        let samples = (count * percent / 100.0).round();
        lines.push(format!("      {star} {percent:.1}th: {:<10} ({} samples)", us(value), samples - below));
        below = samples;
    }
    lines.push(format!("        min={}, max={}", us(histogram.min_ns as f64), us(histogram.max_ns as f64)));
    lines
}

fn notes(served: u64, left: Left) -> Vec<String> {
    let all = served + left.unserved;
    // One request in flight is normal; a hundredth of all requests is a queue that never empties.
    if left.unserved * 100 <= all {
        return Vec::new();
    }
    vec![format!(
        "overloaded: {} of {all} requests were still waiting at the end; they count with the time waited until then",
        left.unserved
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::histogram::{BUCKETS, bucket_of};

    #[test]
    fn percentiles_are_schbenchs_lines_with_the_zeros_it_drops() {
        let mut cells = vec![0; BUCKETS];
        cells[bucket_of(200)] = 60;
        cells[bucket_of(9_000)] = 40;
        let lines = percentiles(&Histogram::from_dense(&cells, 0, 200, 9_000));
        assert_eq!(lines[0], "        50.0th: 0          (50 samples)");
        assert_eq!(lines[2], "      * 99.0th: 9          (9 samples)");
        assert_eq!(lines[4], "        min=0, max=9");
    }

    #[test]
    fn a_queue_that_never_empties_is_noted() {
        assert!(notes(1_000, Left { unserved: 1, queued: 0 }).is_empty());
        assert!(notes(100, Left { unserved: 50, queued: 99 })[0].contains("50 of 150 requests"));
    }
}
