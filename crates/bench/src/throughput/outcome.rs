//! From finished pairs to the outcome: verified counts, a row for each payload, Google Benchmark's lines.

use super::config::Format;
use super::google_benchmark::{self, Context};
use super::measured::{self, Row};
use super::{INFO, Run};
use crate::error::BenchError;
use crate::metrics::metric;
use crate::placement;
use crate::prepared::Ended;
use schedlab_plan::{Direction, Metric, TaskRecord, TrialOutcome};
use std::path::Path;

pub(super) fn build(run: &Run<'_>, ended: Ended) -> Result<TrialOutcome, BenchError> {
    let operations = verify(run, &ended.tasks)?;
    let rows = measured::rows(run);
    let topology = &run.shared.order.topology;
    let overloaded = placement::overloaded(run.config.pairs, &run.config.cpus, topology);
    Ok(TrialOutcome {
        native_lines: native_lines(run, &rows),
        notes: overloaded.into_iter().collect(),
        ..run.shared.outcome(&INFO, ended, operations, row_metrics(&rows))
    })
}

/// All echoes, measured or not: client and server of each pair must have counted the same number.
fn verify(run: &Run<'_>, tasks: &[TaskRecord]) -> Result<u64, BenchError> {
    let mut sum = 0;
    // The first process of a binder run is its context manager.
    for (pair, two) in tasks[run.config.transport.managers()..].chunks_exact(2).enumerate() {
        let (served, done) = (two[0].operations, two[1].operations);
        if served != done {
            let text = format!("pair {pair}: the client counted {done} echoes, the server {served}");
            return Err(BenchError::Verification(text));
        }
        sum += done;
    }
    Ok(sum)
}

/// The geometric mean over all payloads (of a single payload, its own value); then, in a sweep, each payload.
fn row_metrics(rows: &[Row]) -> Vec<Metric> {
    let mean = |of: fn(&Row) -> f64| {
        let logs = rows.iter().map(|row| of(row).max(f64::MIN_POSITIVE).ln());
        (logs.sum::<f64>() / rows.len().max(1) as f64).exp()
    };
    let mut all = vec![
        metric("real_time_ns", mean(|row| row.real_ns_per_op), "ns", Direction::LowerIsBetter),
        metric("client_cpu_time_ns", mean(|row| row.cpu_ns_per_op), "ns", Direction::LowerIsBetter),
        metric("ops_per_s", mean(Row::operations_per_s), "1/s", Direction::HigherIsBetter),
        metric("bytes_per_s", mean(|row| row.bytes_per_s), "B/s", Direction::HigherIsBetter),
    ];
    if rows.len() > 1 {
        for row in rows {
            let of_size = |name: &str| format!("{name}_{}", row.bytes);
            all.push(metric(&of_size("real_time_ns"), row.real_ns_per_op, "ns", Direction::LowerIsBetter));
            all.push(metric(&of_size("bytes_per_s"), row.bytes_per_s, "B/s", Direction::HigherIsBetter));
        }
    }
    all
}

fn native_lines(run: &Run<'_>, rows: &[Row]) -> Vec<String> {
    let context = || Context::read(Path::new("/proc"), Path::new("/sys"), run.shared.order.topology.online().len());
    match run.config.format {
        Format::None => google_benchmark::console(rows),
        Format::Console => {
            let mut lines = google_benchmark::console_context(&context());
            lines.extend(google_benchmark::console(rows));
            lines
        }
        Format::Json => google_benchmark::json(&context(), rows),
    }
}
