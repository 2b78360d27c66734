//! From the finished tasks to the outcome: verified counts, hackbench's own lines, metrics.

use super::config::{Config, Transport};
use super::spawn::senders_left;
use crate::error::BenchError;
use crate::herd::Mode;
use crate::metrics::metric;
use crate::prepared::{Ended, Prepared};
use schedlab_plan::{Direction, Stamping, TrialOutcome};

pub(super) fn build(config: &Config, run: &Prepared<'_>, ended: Ended) -> Result<TrialOutcome, BenchError> {
    let operations = verify(config, run, &ended)?;
    let mut own = vec![metric("msgs_per_s", ended.rate_per_s(operations), "1/s", Direction::HigherIsBetter)];
    own.extend(config.length.loops().map(|_| ended.time_s()));
    let native_lines = native_lines(config, ended.line.t1_ns - ended.line.t0_ns);
    Ok(TrialOutcome {
        native_lines,
        notes: notes(config, run.order.stamping),
        ..run.outcome(&super::INFO, ended, operations, own)
    })
}

/// Messages received, which must equal the messages sent; in loops mode, also the number ordered for each task.
fn verify(config: &Config, run: &Prepared<'_>, ended: &Ended) -> Result<u64, BenchError> {
    let (sent, received) = (ended.total("sender"), ended.total("receiver"));
    if sent != received {
        return Err(BenchError::Verification(format!("{sent} messages were sent and {received} received")));
    }
    match config.messages() {
        Some(ordered) if ordered != received => {
            Err(BenchError::Verification(format!("{ordered} messages were requested and {received} received")))
        }
        None if senders_left(config, run) != 0 => {
            Err(BenchError::Verification("a sender did not stop at the flag".to_owned()))
        }
        _ => Ok(received),
    }
}

/// hackbench's output, word for word; `Time:` is truncated to milliseconds as by its `%lu.%03lu`. If there are not as
/// many senders as receivers, the number of descriptors is that of the receivers' pairs.
fn native_lines(config: &Config, time_ns: u64) -> Vec<String> {
    let Some(loops) = config.length.loops() else { return Vec::new() };
    let mode = match config.mode {
        Mode::Process => "process",
        Mode::Thread => "threaded",
    };
    let (groups, descriptors, tasks) = (config.groups, config.receivers * 2, config.tasks());
    let ms = time_ns / 1_000_000;
    vec![
        format!(
            "Running in {mode} mode with {groups} groups using {descriptors} file descriptors each (== {tasks} tasks)"
        ),
        format!("Each sender will pass {loops} messages of {} bytes", config.bytes),
        format!("Time: {}.{:03}", ms / 1000, ms % 1000),
    ]
}

fn notes(config: &Config, stamping: Stamping) -> Vec<String> {
    let mut notes = Vec::new();
    if !config.has_header() {
        let bytes = config.bytes;
        notes.push(format!("tiers and latency unknown: {bytes}-byte messages cannot carry the 16-byte header"));
    } else if config.senders > 1 && (config.bytes > 4096 || config.transport == Transport::Tcp) {
        notes
            .push("messages of several senders may interleave here; those that did have no tier and no latency".into());
    }
    if stamping != Stamping::Off && !schedlab_sys::cpu_number::is_plain_load() {
        notes.push("no rseq area: the CPU number costs a getcpu call on each message".to_owned());
    }
    notes
}
