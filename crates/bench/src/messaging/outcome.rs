//! From a finished herd to the outcome: counts verified, hackbench's own lines, metrics.

use super::Run;
use super::herding::senders_left;
use crate::dispatch::Length;
use crate::error::BenchError;
use crate::herd::{Herd, Mode, Timeline};
use crate::metrics;
use crate::recorder::Recorder;
use schedlab_run::{Direction, Stamping, TaskRecord, TrialOutcome};
use schedlab_sys::clock::monotonic_ns;

pub(super) fn build(run: &Run<'_>, herd: &Herd, line: &Timeline) -> Result<TrialOutcome, BenchError> {
    let tasks = herd.records();
    let operations = verify(run, &tasks)?;
    let tiers = metrics::tier_counts((0..tasks.len()).map(|task| run.cells.tier_counts(task)));
    let stamped = (0..tasks.len()).map(|task| run.cells.stamped(task)).sum();
    let histograms = run.recorder.as_ref().map(|recorder| recorder.histograms()).unwrap_or_default();

    let rate = metrics::rate_per_s(line, operations);
    let mut all = vec![metrics::metric("msgs_per_s", rate, "1/s", Direction::HigherIsBetter)];
    if let Length::Loops(_) = run.config.length {
        let time_s = (line.t1_ns - line.t0_ns) as f64 / 1e9;
        all.push(metrics::metric("time_s", time_s, "s", Direction::LowerIsBetter));
    }
    all.extend(metrics::per_operation(&tasks, operations, &tiers, &histograms));

    Ok(TrialOutcome {
        operations,
        metrics: all,
        phases: metrics::phases(run.setup_ns, line, monotonic_ns()),
        histograms,
        slowest: run.recorder.as_ref().map(Recorder::slowest).unwrap_or_default(),
        tiers,
        stamping: metrics::stamping_report(&run.loops(None, 0), stamped, run.stamp_cost_ns, &tasks),
        native_lines: native_lines(run, line),
        notes: notes(run),
        tasks,
        ..super::INFO.outcome()
    })
}

/// Messages received, which must be all that were sent, and in loops mode as many as were ordered for each task.
fn verify(run: &Run<'_>, tasks: &[TaskRecord]) -> Result<u64, BenchError> {
    let total = |role: &str| tasks.iter().filter(|t| t.role == role).map(|t| t.operations).sum::<u64>();
    let (sent, received) = (total("sender"), total("receiver"));
    if sent != received {
        return Err(BenchError::Verification(format!("{sent} messages were sent and {received} received")));
    }
    match run.config.messages() {
        Some(ordered) if ordered != received => {
            Err(BenchError::Verification(format!("{ordered} messages were ordered and {received} moved")))
        }
        None if senders_left(run) != 0 => Err(BenchError::Verification("a sender did not stop at the flag".to_owned())),
        _ => Ok(received),
    }
}

/// What hackbench prints, word for word; `Time:` truncated to milliseconds as its `%lu.%03lu` does. With unequal
/// senders and receivers the descriptors are those of the receivers' pairs.
fn native_lines(run: &Run<'_>, line: &Timeline) -> Vec<String> {
    let config = run.config;
    let Length::Loops(loops) = config.length else { return Vec::new() };
    let mode = match config.mode {
        Mode::Process => "process",
        Mode::Thread => "threaded",
    };
    let (groups, descriptors, tasks) = (config.groups, config.receivers * 2, config.tasks());
    let ms = (line.t1_ns - line.t0_ns) / 1_000_000;
    vec![
        format!(
            "Running in {mode} mode with {groups} groups using {descriptors} file descriptors each (== {tasks} tasks)"
        ),
        format!("Each sender will pass {loops} messages of {} bytes", config.bytes),
        format!("Time: {}.{:03}", ms / 1000, ms % 1000),
    ]
}

fn notes(run: &Run<'_>) -> Vec<String> {
    let config = run.config;
    let mut notes = Vec::new();
    if !config.has_header() {
        let bytes = config.bytes;
        notes.push(format!("tiers and latency unknown: {bytes}-byte messages cannot carry the 16-byte header"));
    } else if config.senders > 1 && (config.bytes > 4096 || config.transport == super::config::Transport::Tcp) {
        notes
            .push("messages of several senders may interleave here; those that did have no tier and no latency".into());
    }
    if run.order.stamping != Stamping::Off && !schedlab_sys::cpu_number::is_plain_load() {
        notes.push("no rseq area: the CPU number costs a getcpu call on each message".to_owned());
    }
    notes
}
