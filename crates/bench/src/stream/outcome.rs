//! From the finished tasks to the outcome: bytes verified for each stream, netperf's own row, throughput, CPU time and
//! segments.

use super::config::Config;
use super::spawn::{Sockets, received_bytes};
use crate::error::BenchError;
use crate::herd::Timeline;
use crate::metrics::{across_copies, metric};
use crate::prepared::{Ended, Prepared};
use schedlab_plan::{Direction, Metric, TaskRecord, TrialOutcome};
use schedlab_sys::tcp;
use std::os::fd::AsFd;

pub(super) fn build(
    config: &Config,
    run: &Prepared<'_>,
    ended: Ended,
    sockets: &Sockets,
) -> Result<TrialOutcome, BenchError> {
    let streams = verify(config, run, &ended.tasks)?;
    let operations: u64 = streams.iter().sum();
    let bytes = operations * config.bytes as u64;

    let rate = ended.rate_per_s(operations) * config.bytes as f64;
    let mut own = vec![metric("received_bytes_per_s", rate, "B/s", Direction::HigherIsBetter)];
    own.extend(cpu(&ended.tasks, &ended.line, bytes));
    own.extend(segments(sockets, &ended.line)?);
    own.extend(config.length.loops().map(|_| ended.time_s()));
    if streams.len() > 1 {
        own.extend(across_copies(&streams));
    }
    let native_lines = native_lines(config, &ended.line, sockets, bytes);
    Ok(TrialOutcome { native_lines, ..run.outcome(&super::INFO, ended, operations, own) })
}

/// Messages of each stream. The receiver must have got all bytes that the sender sent, in loops mode the number
/// ordered.
fn verify(config: &Config, run: &Prepared<'_>, tasks: &[TaskRecord]) -> Result<Vec<u64>, BenchError> {
    let mut streams = Vec::with_capacity(tasks.len() / 2);
    for pair in tasks.chunks_exact(2) {
        let (stream, sent) = (pair[1].group, pair[1].operations);
        let (sent_bytes, received) = (sent * config.bytes as u64, received_bytes(run, stream));
        if sent_bytes != received {
            let text = format!("stream {stream}: {sent_bytes} bytes were sent and {received} received");
            return Err(BenchError::Verification(text));
        }
        if let Some(ordered) = config.length.loops().filter(|&ordered| ordered != sent) {
            let text = format!("stream {stream}: {ordered} messages were ordered and {sent} sent");
            return Err(BenchError::Verification(text));
        }
        streams.push(sent);
    }
    Ok(streams)
}

/// CPU cost of the streams: CPU time of all tasks over the bytes moved, and over the time taken; `perf stat` calls the
/// latter "CPUs utilized" (task-clock over elapsed).
fn cpu(tasks: &[TaskRecord], line: &Timeline, bytes: u64) -> Vec<Metric> {
    let Some(busy_ns) = tasks.iter().map(|task| task.run_ns.filter(|&ns| ns > 0).or(task.cpu_ns)).sum::<Option<u64>>()
    else {
        return Vec::new();
    };
    let elapsed_ns = line.drained_ns.saturating_sub(line.t0_ns).max(1) as f64;
    // ns per byte is s per GB.
    let per_gb = busy_ns as f64 / bytes.max(1) as f64;
    vec![
        metric("cpu_s_per_gb", per_gb, "s/GB", Direction::LowerIsBetter),
        metric("cpus_utilized", busy_ns as f64 / elapsed_ns, "CPUs", Direction::Neutral),
    ]
}

/// How the bytes were segmented, from TCP_INFO of the senders' connections, counted over their whole lives.
fn segments(sockets: &Sockets, line: &Timeline) -> Result<Vec<Metric>, BenchError> {
    let (mut bytes, mut segments, mut retransmitted) = (0, 0, 0);
    for socket in &sockets.senders {
        let counts = tcp::counts(socket.as_fd()).map_err(BenchError::io("reading TCP_INFO of a stream"))?;
        bytes += counts.bytes_sent;
        segments += counts.data_segments_sent;
        retransmitted += counts.bytes_retransmitted;
    }
    // Kernels before 4.19 lack the byte count.
    if bytes == 0 || segments == 0 {
        return Ok(Vec::new());
    }
    let elapsed_s = line.drained_ns.saturating_sub(line.t0_ns).max(1) as f64 / 1e9;
    Ok(vec![
        metric("mean_segment_bytes", bytes as f64 / segments as f64, "bytes", Direction::Neutral),
        metric("data_segments_per_s", segments as f64 / elapsed_s, "1/s", Direction::Neutral),
        metric("retransmitted_share", retransmitted as f64 / bytes as f64, "share", Direction::LowerIsBetter),
    ])
}

/// netperf's output, with the sum of the streams where netperf would print one row after another.
fn native_lines(config: &Config, line: &Timeline, sockets: &Sockets, bytes: u64) -> Vec<String> {
    let elapsed_s = line.drained_ns.saturating_sub(line.t0_ns).max(1) as f64 / 1e9;
    let megabits_per_s = bytes as f64 * 8.0 / 1e6 / elapsed_s;
    let (receive, send, message) = (sockets.receive_buffer, sockets.send_buffer, config.bytes);
    vec![
        "Recv   Send    Send".to_owned(),
        "Socket Socket  Message  Elapsed".to_owned(),
        "Size   Size    Size     Time     Throughput".to_owned(),
        "bytes  bytes   bytes    secs.    10^6bits/sec".to_owned(),
        String::new(),
        format!("{receive:>6} {send:>6} {message:>6}    {elapsed_s:<6.2}   {megabits_per_s:>7.2}"),
    ]
}
