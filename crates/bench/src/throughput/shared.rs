//! What the processes of `throughput/1` share: the payload that each pair is at, a barrier before each payload, so that
//! pairs measured together run together, and each client's batches.

use schedlab_sys::futex;
use schedlab_sys::shared_memory::{SharedFutexes, SharedWords, WORDS_PER_TASK_LINE};
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The measured operations of one client with one payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) operations: u64,
    pub(super) real_ns: u64,
    /// CPU time of the client's thread.
    pub(super) cpu_ns: u64,
}

const BATCH_WORDS: usize = 3;

/// Shared by all pairs of a run.
#[derive(Debug)]
pub(super) struct Pace {
    /// A line for each pair: the size its server expects next, 0 for none.
    sizes: SharedWords,
    /// Number of clients that have reached each payload.
    arrived: SharedFutexes,
    batches: SharedWords,
    pairs: usize,
    payloads: usize,
}

impl Pace {
    pub(super) fn new(pairs: usize, payloads: usize, first: usize) -> io::Result<Self> {
        let sizes = SharedWords::new(pairs * WORDS_PER_TASK_LINE)?;
        (0..pairs).for_each(|pair| sizes.words()[pair * WORDS_PER_TASK_LINE].store(first as u64, Relaxed));
        let batches = SharedWords::new(pairs * payloads * BATCH_WORDS)?;
        Ok(Self { sizes, arrived: SharedFutexes::new(1)?, batches, pairs, payloads })
    }

    /// Client: blocks until every client has reached payload number `series`.
    pub(super) fn wait_for_all(&self, series: usize) {
        let word: &AtomicU32 = self.arrived.word(0);
        let wanted = ((series + 1) * self.pairs) as u32;
        if word.fetch_add(1, AcqRel) + 1 == wanted {
            futex::wake(word, u32::MAX);
            return;
        }
        loop {
            let arrived = word.load(Acquire);
            if arrived >= wanted {
                return;
            }
            futex::wait(word, arrived, u64::MAX);
        }
    }

    /// Client: the payload size that follows the next echo; `None` if there is none.
    pub(super) fn announce(&self, pair: usize, bytes: Option<usize>) {
        self.sizes.words()[pair * WORDS_PER_TASK_LINE].store(bytes.unwrap_or(0) as u64, Release);
    }

    /// Server: the announced size.
    #[inline(always)]
    pub(super) fn announced(&self, pair: usize) -> Option<usize> {
        let bytes = self.sizes.words()[pair * WORDS_PER_TASK_LINE].load(Acquire);
        (bytes > 0).then_some(bytes as usize)
    }

    fn batch_at(&self, pair: usize, series: usize) -> usize {
        (pair * self.payloads + series) * BATCH_WORDS
    }

    /// Client: what it measured.
    pub(super) fn leave(&self, pair: usize, series: usize, batch: Batch) {
        let words = [batch.operations, batch.real_ns, batch.cpu_ns];
        for (word, value) in self.batches.words()[self.batch_at(pair, series)..].iter().zip(words) {
            word.store(value, Release);
        }
    }

    /// Control process: what the client recorded.
    pub(super) fn batch(&self, pair: usize, series: usize) -> Batch {
        let words = &self.batches.words()[self.batch_at(pair, series)..];
        let [operations, real_ns, cpu_ns] = [0, 1, 2].map(|i| words[i].load(Acquire));
        Batch { operations, real_ns, cpu_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_the_barrier_before_the_last_one() {
        let pace = Pace::new(3, 2, 4).unwrap();
        let passed = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for series in 0..2 {
                        pace.wait_for_all(series);
                        passed.fetch_add(1, AcqRel);
                    }
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert_eq!(passed.load(Acquire), 0);
            pace.wait_for_all(0);
            pace.wait_for_all(1);
        });
        assert_eq!(passed.load(Acquire), 4);
    }

    #[test]
    fn announcements_and_batches_are_each_pairs_own() {
        let pace = Pace::new(2, 2, 4).unwrap();
        assert_eq!((pace.announced(0), pace.announced(1)), (Some(4), Some(4)));
        pace.announce(1, Some(8));
        assert_eq!((pace.announced(0), pace.announced(1)), (Some(4), Some(8)));
        pace.announce(1, None);
        assert_eq!(pace.announced(1), None);
        let batch = |n| Batch { operations: n, real_ns: n + 1, cpu_ns: n + 2 };
        for (pair, series) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            pace.leave(pair, series, batch((pair * 10 + series) as u64));
        }
        assert_eq!((pace.batch(0, 1), pace.batch(1, 0)), (batch(1), batch(10)));
    }
}
