//! Short measurements before the fork: the cost of a clock read, and a lower bound on the cost of passing a message.

use crate::error::BenchError;
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::fd::{self, Pair};
use std::hint::black_box;
use std::io;
use std::os::fd::AsFd;

/// Cost of one clock read, ns: the cheapest of several batches.
pub(crate) fn clock_read_ns() -> f64 {
    const READS: u64 = 64;
    let batch = || {
        let t0 = monotonic_ns();
        for _ in 0..READS {
            black_box(monotonic_ns());
        }
        monotonic_ns() - t0
    };
    (0..20).map(|_| batch()).min().unwrap_or(0) as f64 / READS as f64
}

/// A lower bound on the cost of a message of this size through such a channel, ns.
pub(crate) fn message_ns(channel: fn() -> io::Result<Pair>, bytes: usize) -> Result<f64, BenchError> {
    let calibrating = || BenchError::io("calibrating the stamping interval");
    let pair = channel().map_err(calibrating())?;
    transfer_ns(&pair, bytes).map_err(calibrating())
}

/// Time to write one message into a pair and read it back in the same process, ns. There is no context switch, so this
/// is a lower bound, and a stamping interval derived from it errs towards fewer stamps.
fn transfer_ns(pair: &Pair, bytes: usize) -> io::Result<f64> {
    const MESSAGES: u64 = 32;
    // A message larger than the smallest pipe would block the only task here, so at most a page of it is timed. A page
    // costs enough to derive the interval from.
    let mut message = vec![0u8; bytes.clamp(1, 4096)];
    let mut cheapest = u64::MAX;
    for _ in 0..6 {
        let t0 = monotonic_ns();
        for _ in 0..MESSAGES {
            fd::write_full(pair.write.as_fd(), &message)?;
            fd::read_full(pair.read.as_fd(), &mut message)?;
        }
        cheapest = cheapest.min(monotonic_ns() - t0);
    }
    Ok(cheapest as f64 / MESSAGES as f64)
}

/// The sender's share of the cost of a message (0 to 1): several writes into a pair, then as many reads, in the same
/// process.
pub(crate) fn sending_share(pair: &Pair, bytes: usize) -> io::Result<f64> {
    // All of them fit into the smallest pipe.
    const MESSAGES: usize = 12;
    let mut message = vec![0u8; bytes.clamp(1, 4096)];
    let (mut writing, mut reading) = (u64::MAX, u64::MAX);
    for _ in 0..12 {
        let t0 = monotonic_ns();
        for _ in 0..MESSAGES {
            fd::write_full(pair.write.as_fd(), &message)?;
        }
        let t1 = monotonic_ns();
        for _ in 0..MESSAGES {
            fd::read_full(pair.read.as_fd(), &mut message)?;
        }
        writing = writing.min(t1 - t0);
        reading = reading.min(monotonic_ns() - t1);
    }
    Ok(writing as f64 / (writing + reading).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_plausible() {
        let clock = clock_read_ns();
        assert!((1.0..5_000.0).contains(&clock), "{clock}");
        let transfer = transfer_ns(&fd::pipe_pair().unwrap(), 100).unwrap();
        assert!(transfer > 50.0, "{transfer}");
        for make in [fd::pipe_pair, fd::unix_pair, fd::tcp_pair] {
            let share = sending_share(&make().unwrap(), 100).unwrap();
            assert!((0.05..0.95).contains(&share), "{share}");
        }
    }
}
