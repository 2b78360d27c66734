//! A finished run as rows, one for each payload.

use super::Run;
use super::shared::Batch;
use crate::transport::Transport;

/// One payload over all pairs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// As Google Benchmark names it.
    pub(super) name: String,
    pub(super) bytes: usize,
    pub(super) pairs: usize,
    /// Operations of all pairs.
    pub(super) operations: u64,
    /// Mean over the pairs, as the library averages over its threads.
    pub(super) real_ns_per_op: f64,
    /// CPU time of the client thread only, as the library counts it.
    pub(super) cpu_ns_per_op: f64,
    /// Payload bytes that arrived at the servers per second of real time, summed over the pairs; as many came back.
    pub(super) bytes_per_s: f64,
}

impl Row {
    fn new(transport: Transport, bytes: usize, batches: &[Batch]) -> Self {
        let pairs = batches.len();
        let mean = |of: fn(&Batch) -> u64| {
            let each = batches.iter().map(|batch| of(batch) as f64 / batch.operations.max(1) as f64);
            each.sum::<f64>() / pairs.max(1) as f64
        };
        let rate = |batch: &Batch| batch.operations as f64 * bytes as f64 * 1e9 / batch.real_ns.max(1) as f64;
        Self {
            name: name(transport, bytes, pairs),
            bytes,
            pairs,
            operations: batches.iter().map(|batch| batch.operations).sum(),
            real_ns_per_op: mean(|batch| batch.real_ns),
            cpu_ns_per_op: mean(|batch| batch.cpu_ns),
            bytes_per_s: batches.iter().map(rate).sum(),
        }
    }

    /// Operations per second of all pairs.
    pub(super) fn operations_per_s(&self) -> f64 {
        self.bytes_per_s / self.bytes as f64
    }
}

/// libhwbinder_benchmark's name for binder, so that the two can be compared by name; similar names for other
/// transports.
fn name(transport: Transport, bytes: usize, pairs: usize) -> String {
    let kind = if transport == Transport::Binder { "binderize" } else { transport.name() };
    let threads = if pairs > 1 { format!("/threads:{pairs}") } else { String::new() };
    format!("BM_sendVec_{kind}/{bytes}{threads}")
}

/// A row for each payload.
pub(super) fn rows(run: &Run<'_>) -> Vec<Row> {
    let batches = |series: usize| -> Vec<Batch> {
        (0..run.config.pairs as usize).map(|pair| run.pace.batch(pair, series)).collect()
    };
    let payloads = run.config.payloads.iter().enumerate();
    payloads.map(|(series, &bytes)| Row::new(run.config.transport, bytes, &batches(series))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_means_over_the_pairs_and_rates_are_sums() {
        let batches = [
            Batch { operations: 1_000, real_ns: 1_000_000, cpu_ns: 400_000 },
            Batch { operations: 500, real_ns: 1_000_000, cpu_ns: 400_000 },
        ];
        let row = Row::new(Transport::Binder, 64, &batches);
        assert_eq!((row.name.as_str(), row.operations), ("BM_sendVec_binderize/64/threads:2", 1_500));
        assert_eq!((row.real_ns_per_op, row.cpu_ns_per_op), (1_500.0, 600.0));
        // 1.5 million echoes of 64 bytes per second.
        assert_eq!((row.bytes_per_s, row.operations_per_s()), (96e6, 1.5e6));
        assert_eq!(name(Transport::SeccompNotify { sync: true }, 4, 1), "BM_sendVec_seccomp-notify-sync/4");
    }
}
