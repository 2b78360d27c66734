//! From finished threads to the outcome: missed periods, cyclictest's own line for each thread.

use super::dma_latency::DmaLatency;
use super::loops::Tally;
use super::{INFO, Run};
use crate::dispatch::Length;
use crate::error::BenchError;
use crate::herd::{Herd, Timeline};
use crate::metrics::{self, metric};
use crate::recorder::Recorder;
use schedlab_run::{Direction, Metric, NamedHistogram, TaskRecord, TrialOutcome};
use schedlab_sys::clock::monotonic_ns;

pub(super) fn build(
    run: &Run<'_>,
    herd: &Herd,
    line: &Timeline,
    dma_latency: &DmaLatency,
) -> Result<TrialOutcome, BenchError> {
    let tasks = herd.records();
    let wakes: u64 = tasks.iter().map(|task| task.operations).sum();
    let tallies: Vec<Tally> = (0..tasks.len()).map(|thread| Tally::of(run.cells.group(thread))).collect();
    let histograms = run.recorder.as_ref().map(|recorder| recorder.histograms()).unwrap_or_default();
    verify(run, &tasks, &tallies, &histograms)?;

    let mut all = vec![metric("wakeups_per_s", metrics::rate_per_s(line, wakes), "1/s", Direction::HigherIsBetter)];
    if run.recorder.is_some() {
        all.extend(missed(wakes, &tallies));
    }
    all.extend(metrics::per_operation(&tasks, wakes, &[], &histograms));
    let stamped = if run.recorder.is_some() { wakes } else { 0 };

    Ok(TrialOutcome {
        operations: wakes,
        metrics: all,
        phases: metrics::phases(run.setup_ns, line, monotonic_ns()),
        histograms,
        slowest: run.recorder.as_ref().map(Recorder::slowest).unwrap_or_default(),
        stamping: metrics::stamping_report(&run.loops(), stamped, run.stamp_cost_ns, &tasks),
        native_lines: native_lines(run, &tasks, &tallies, dma_latency),
        notes: notes(run, dma_latency),
        tasks,
        ..INFO.outcome()
    })
}

/// In loops mode as many wake-ups as were ordered; every period that began is in the distribution, missed or not.
fn verify(
    run: &Run<'_>,
    tasks: &[TaskRecord],
    tallies: &[Tally],
    histograms: &[NamedHistogram],
) -> Result<(), BenchError> {
    if let Length::Loops(loops) = run.config.length
        && let Some(task) = tasks.iter().find(|task| task.operations != loops)
    {
        let (thread, woke) = (task.group, task.operations);
        return Err(BenchError::Verification(format!("thread {thread} woke {woke} times, {loops} were ordered")));
    }
    if run.recorder.is_none() {
        return Ok(());
    }
    let periods = tasks.iter().map(|task| task.operations).chain(tallies.iter().map(|tally| tally.missed)).sum::<u64>();
    let kept = histograms.iter().find(|named| named.name == "latency").map_or(0, |named| named.histogram.count());
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

/// What `cyclictest -q -N` prints: its columns are of the wake-ups alone, without the periods that were missed.
fn native_lines(run: &Run<'_>, tasks: &[TaskRecord], tallies: &[Tally], dma_latency: &DmaLatency) -> Vec<String> {
    let mut lines: Vec<String> = dma_latency.native_line().into_iter().collect();
    if run.recorder.is_none() {
        return lines;
    }
    let priority = run.config.policy.map_or(0, |policy| policy.sched_numbers().1);
    lines.extend(tasks.iter().zip(tallies).map(|(task, tally)| {
        format!(
            "T:{:>2} ({:>5}) P:{priority:>2} I:{} C:{:>7} Min:{:>7} Act:{:>8} Avg:{:>8} Max:{:>8}",
            task.group,
            task.tid,
            run.config.interval_of(task.group) / 1_000,
            task.operations,
            tally.min_ns,
            tally.act_ns,
            tally.mean_ns(),
            tally.max_ns
        )
    }));
    lines
}

fn notes(run: &Run<'_>, dma_latency: &DmaLatency) -> Vec<String> {
    let mut notes: Vec<String> = dma_latency.note.clone().into_iter().collect();
    if run.recorder.is_none() {
        notes.push("--latency off reads no clock: latencies and missed periods are unknown".to_owned());
    }
    notes
}
