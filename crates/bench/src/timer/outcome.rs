//! From finished threads to the outcome: missed periods, cyclictest's own line for each thread.

use super::config::{Config, INFO};
use super::dma_latency::DmaLatency;
use super::loops::Tally;
use crate::error::BenchError;
use crate::metrics::metric;
use crate::prepared::{Ended, Prepared};
use schedlab_plan::{Direction, Metric, TaskRecord, TrialOutcome};

pub(super) fn build(
    config: &Config,
    run: &Prepared<'_>,
    ended: Ended,
    dma_latency: &DmaLatency,
) -> Result<TrialOutcome, BenchError> {
    let timed = run.recorder.is_some();
    let wakes = ended.total("timer");
    let tallies: Vec<Tally> = (0..ended.tasks.len()).map(|thread| Tally::of(run.cells.group(thread))).collect();
    verify(config, &ended, &tallies, timed)?;

    let mut own = vec![metric("wakeups_per_s", ended.rate_per_s(wakes), "1/s", Direction::HigherIsBetter)];
    let (mut native_lines, mut notes) =
        (Vec::from_iter(dma_latency.native_line()), Vec::from_iter(dma_latency.note.clone()));
    if timed {
        own.extend(missed(wakes, &tallies));
        native_lines.extend(rows(config, &ended.tasks, &tallies));
    } else {
        notes.push("--latency off reads no clock: latencies and missed periods are unknown".to_owned());
    }
    Ok(TrialOutcome { native_lines, notes, ..run.outcome(&INFO, ended, wakes, own) })
}

/// In loops mode, the number of wakeups must be the number ordered; every period that began must be in the
/// distribution, missed or not.
fn verify(config: &Config, ended: &Ended, tallies: &[Tally], timed: bool) -> Result<(), BenchError> {
    if let Some(loops) = config.length.loops()
        && let Some(task) = ended.tasks.iter().find(|task| task.operations != loops)
    {
        let (thread, woke) = (task.group, task.operations);
        return Err(BenchError::Verification(format!("thread {thread} woke {woke} times, {loops} were requested")));
    }
    if !timed {
        return Ok(());
    }
    let periods = ended.total("timer") + tallies.iter().map(|tally| tally.missed).sum::<u64>();
    let kept = ended.histograms.iter().find(|named| named.name == "latency").map_or(0, |named| named.histogram.count());
    match periods == kept {
        true => Ok(()),
        false => Err(BenchError::Verification(format!("{periods} periods began and {kept} latencies were kept"))),
    }
}

fn missed(wakes: u64, tallies: &[Tally]) -> Vec<Metric> {
    let missed: u64 = tallies.iter().map(|tally| tally.missed).sum();
    let at_once = tallies.iter().map(|tally| tally.missed_at_once).max().unwrap_or(0);
    let share = missed as f64 / (wakes + missed).max(1) as f64;
    vec![
        metric("missed_periods", missed as f64, "periods", Direction::LowerIsBetter),
        metric("missed_share", share, "share", Direction::LowerIsBetter),
        metric("missed_at_once", at_once as f64, "periods", Direction::LowerIsBetter),
    ]
}

/// The output of `cyclictest -q -N`: its columns cover only the wakeups, not the missed periods.
fn rows(config: &Config, tasks: &[TaskRecord], tallies: &[Tally]) -> Vec<String> {
    let priority = config.policy.map_or(0, |policy| policy.sched_numbers().1);
    let row = |(task, tally): (&TaskRecord, &Tally)| {
        format!(
            "T:{:>2} ({:>5}) P:{priority:>2} I:{} C:{:>7} Min:{:>7} Act:{:>8} Avg:{:>8} Max:{:>8}",
            task.group,
            task.tid,
            config.interval_of(task.group) / 1_000,
            task.operations,
            tally.min_ns,
            tally.act_ns,
            tally.mean_ns(),
            tally.max_ns
        )
    };
    tasks.iter().zip(tallies).map(row).collect()
}
