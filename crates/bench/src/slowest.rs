//! The slowest operations of a traced trial, with their times: a small board in shared memory to which every task may
//! write. Without a trace the bar is so high that nothing passes it, and a stamped operation costs one load and one
//! comparison.

use schedlab_plan::{InOrder, SlowOperation};
use schedlab_sys::shared_memory::{SharedWords, WORDS_PER_TASK_LINE};
use schedlab_sys::thread::current_tid;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Operations that are kept.
const PLACES: usize = 32;

/// The bar has its own line: it is read at each stamped operation, and seldom written.
const BAR: usize = 0;
const FIRST_PLACE: usize = WORDS_PER_TASK_LINE;

/// Words of a slot: duration, end time, thread, and the series and group.
const LENGTH: usize = 0;
const END: usize = 1;
const THREAD: usize = 2;
const SERIES: usize = 3;
const WORDS: usize = 4;

/// Marks a slot that is being written. No operation is as long, so it is never chosen as the shortest.
const TAKEN: u64 = u64::MAX;

/// How often a task that finds its slot busy looks for another one. Then it gives up: that many other tasks are writing
/// longer operations at the same time.
const TRIES: usize = 4;

/// The board.
#[derive(Debug, Clone)]
pub(crate) struct Slowest(Arc<SharedWords>);

impl Slowest {
    /// One that keeps nothing.
    pub(crate) fn new() -> io::Result<Self> {
        let words = SharedWords::new(FIRST_PLACE + PLACES * WORDS)?;
        words.words()[BAR].store(u64::MAX, Relaxed);
        Ok(Self(Arc::new(words)))
    }

    /// Starts keeping operations. Call it before the fork.
    pub(crate) fn keep(&self) {
        self.0.words()[BAR].store(0, Relaxed);
    }

    /// Maps the board into the calling process, before the release.
    pub(crate) fn fault_in(&self) {
        self.0.fault_in(0..FIRST_PLACE + PLACES * WORDS, false);
    }

    /// An operation of `ns` ended at `end_ns`, in thread `tid`; 0 is the calling one.
    #[inline(always)]
    pub(crate) fn offer(&self, (series, group): (usize, usize), ns: u64, end_ns: u64, tid: u32) {
        if ns > self.0.words()[BAR].load(Relaxed) {
            self.put((series, group), ns, end_ns, tid);
        }
    }

    /// Replaces the shortest operation. Only the task that has set a slot to [`TAKEN`] writes to it, so no slot mixes
    /// two operations; no task waits for another.
    #[cold]
    fn put(&self, (series, group): (usize, usize), ns: u64, end_ns: u64, tid: u32) {
        let words = self.0.words();
        for _ in 0..TRIES {
            let Some((place, shortest)) = shortest(words) else { return };
            if ns <= shortest {
                return;
            }
            let of = &words[place..place + WORDS];
            if of[LENGTH].compare_exchange(shortest, TAKEN, Acquire, Relaxed).is_err() {
                continue;
            }
            of[END].store(end_ns, Relaxed);
            of[THREAD].store(if tid == 0 { current_tid() } else { tid }.into(), Relaxed);
            of[SERIES].store((series as u64) << 32 | group as u64, Relaxed);
            of[LENGTH].store(ns.min(TAKEN - 1), Release);
            if let Some((_, bar)) = self::shortest(words) {
                words[BAR].store(bar, Relaxed);
            }
            return;
        }
    }

    /// The operations kept, the slowest first, with the names of the series. Call it after all tasks have ended.
    pub(crate) fn operations(&self, names: &[&str]) -> Vec<SlowOperation> {
        let words = self.0.words();
        let mut found: Vec<SlowOperation> = Vec::new();
        for of in words[FIRST_PLACE..FIRST_PLACE + PLACES * WORDS].chunks_exact(WORDS) {
            // A task that was killed while it wrote leaves a slot taken for ever.
            let ns = of[LENGTH].load(Acquire);
            if ns == 0 || ns == TAKEN {
                continue;
            }
            let (end_ns, series) = (of[END].load(Relaxed), of[SERIES].load(Relaxed));
            found.push(SlowOperation {
                name: names.get((series >> 32) as usize).copied().unwrap_or_default().to_owned(),
                start_ns: end_ns.saturating_sub(ns),
                end_ns,
                tid: of[THREAD].load(Relaxed) as u32,
                group: series as u32,
            });
        }
        found.in_order_by_key(|operation| (std::cmp::Reverse(operation.ns()), operation.start_ns));
        found
    }
}

/// The slot with the shortest operation that is not being written, by its first word.
fn shortest(words: &[AtomicU64]) -> Option<(usize, u64)> {
    let places = (FIRST_PLACE..FIRST_PLACE + PLACES * WORDS).step_by(WORDS);
    let lengths = places.map(|place| (place, words[place + LENGTH].load(Relaxed)));
    lengths.filter(|(_, length)| *length != TAKEN).min_by_key(|(_, length)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_kept_and_nothing_where_nobody_asks() {
        let board = Slowest::new().unwrap();
        board.offer((0, 0), 1_000_000, 5_000_000, 0);
        assert!(board.operations(&["latency"]).is_empty());
        board.keep();
        for n in 0..1000u64 {
            // Each length once, in an order that goes up and down.
            let ns = (n * 389) % 1000 + 1;
            board.offer(((n % 2) as usize, 7), ns, 10_000 + ns, 0);
        }
        let found = board.operations(&["even", "odd"]);
        let lengths: Vec<u64> = found.iter().map(SlowOperation::ns).collect();
        assert_eq!(lengths, (969..=1000).rev().collect::<Vec<u64>>());
        assert!(found.iter().all(|o| o.start_ns == 10_000 && o.group == 7 && o.tid == current_tid()));
        assert!(found.iter().any(|o| o.name == "even") && found.iter().any(|o| o.name == "odd"));
    }

    #[test]
    fn tasks_that_write_at_once_mix_nothing() {
        let board = Slowest::new().unwrap();
        board.keep();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let board = board.clone();
                scope.spawn(move || {
                    // The end time contains the group, so a mix of two operations would show.
                    (1..5_000u64)
                        .for_each(|n| board.offer((0, thread as usize), n * 4 + thread, (thread + 1) << 40, 0));
                });
            }
        });
        let found = board.operations(&["latency"]);
        assert_eq!(found.len(), PLACES);
        for operation in &found {
            let thread = u64::from(operation.group);
            assert_eq!((operation.ns() % 4, operation.end_ns >> 40), (thread, thread + 1), "{operation:?}");
        }
        assert_eq!(found[0].ns(), 4_999 * 4 + 3);
    }
}
