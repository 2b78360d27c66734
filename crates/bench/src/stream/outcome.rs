//! From a finished herd to the outcome: bytes verified stream by stream, netperf's own row, throughput, CPU and
//! segments.

use super::Run;
use super::herding::{Sockets, received_bytes, sends};
use crate::error::BenchError;
use crate::herd::{Herd, Timeline};
use crate::metrics::{self, metric};
use crate::pipe::across_copies;
use crate::recorder::Recorder;
use schedlab_run::{Direction, Metric, TaskRecord, TrialOutcome};
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::tcp;
use std::os::fd::AsFd;

pub(super) fn build(
    run: &Run<'_>,
    herd: &Herd,
    line: &Timeline,
    sockets: &Sockets,
) -> Result<TrialOutcome, BenchError> {
    let tasks = herd.records();
    let streams = verify(run, &tasks)?;
    let operations: u64 = streams.iter().sum();
    let bytes = operations * run.config.bytes as u64;
    let tiers = metrics::tier_counts((0..tasks.len()).map(|task| run.cells.tier_counts(task)));
    let stamped = (0..tasks.len()).map(|task| run.cells.stamped(task)).sum();
    let histograms = run.recorder.as_ref().map(|recorder| recorder.histograms()).unwrap_or_default();

    let rate = metrics::rate_per_s(line, operations) * run.config.bytes as f64;
    let mut all = vec![metric("received_bytes_per_s", rate, "B/s", Direction::HigherIsBetter)];
    all.extend(cpu(&tasks, line, bytes));
    all.extend(segments(sockets, line)?);
    if sends(run.config).is_some() {
        all.push(metric("time_s", (line.t1_ns - line.t0_ns) as f64 / 1e9, "s", Direction::LowerIsBetter));
    }
    if streams.len() > 1 {
        all.extend(across_copies(&streams));
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
        native_lines: native_lines(run, line, sockets, bytes),
        tasks,
        ..super::INFO.outcome()
    })
}

/// Messages of each stream. Its receiver's bytes must be its sender's, and in loops mode as many as were ordered.
fn verify(run: &Run<'_>, tasks: &[TaskRecord]) -> Result<Vec<u64>, BenchError> {
    let mut streams = Vec::with_capacity(tasks.len() / 2);
    for pair in tasks.chunks_exact(2) {
        let (stream, sent) = (pair[1].group, pair[1].operations);
        let (sent_bytes, received) = (sent * run.config.bytes as u64, received_bytes(run, stream));
        if sent_bytes != received {
            let text = format!("stream {stream}: {sent_bytes} bytes were sent and {received} received");
            return Err(BenchError::Verification(text));
        }
        if let Some(ordered) = sends(run.config).filter(|&ordered| ordered != sent) {
            let text = format!("stream {stream}: {ordered} messages were ordered and {sent} sent");
            return Err(BenchError::Verification(text));
        }
        streams.push(sent);
    }
    Ok(streams)
}

/// What the streams cost: CPU time of all tasks over the bytes they moved, and over the time they took, which is what
/// `perf stat` calls "CPUs utilized" (task-clock over elapsed).
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

/// How the bytes were cut, as TCP_INFO of the senders' connections has counted it over their whole lives.
fn segments(sockets: &Sockets, line: &Timeline) -> Result<Vec<Metric>, BenchError> {
    let (mut bytes, mut segments, mut retransmitted) = (0, 0, 0);
    for socket in &sockets.senders {
        let counts = tcp::counts(socket.as_fd()).map_err(BenchError::io("reading TCP_INFO of a stream"))?;
        bytes += counts.bytes_sent;
        segments += counts.data_segments_sent;
        retransmitted += counts.bytes_retransmitted;
    }
    // Kernels before 4.19 count neither.
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

/// What netperf prints, with the sum of the streams where it would print one after the other.
fn native_lines(run: &Run<'_>, line: &Timeline, sockets: &Sockets, bytes: u64) -> Vec<String> {
    let elapsed_s = line.drained_ns.saturating_sub(line.t0_ns).max(1) as f64 / 1e9;
    let megabits_per_s = bytes as f64 * 8.0 / 1e6 / elapsed_s;
    let (receive, send, message) = (sockets.receive_buffer, sockets.send_buffer, run.config.bytes);
    vec![
        "Recv   Send    Send".to_owned(),
        "Socket Socket  Message  Elapsed".to_owned(),
        "Size   Size    Size     Time     Throughput".to_owned(),
        "bytes  bytes   bytes    secs.    10^6bits/sec".to_owned(),
        String::new(),
        format!("{receive:>6} {send:>6} {message:>6}    {elapsed_s:<6.2}   {megabits_per_s:>7.2}"),
    ]
}
