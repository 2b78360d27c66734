//! Injected delays: the known effects that experiments must find. A **spin** is a calibrated delay in every operation.
//! It is counted in turns of a dependent multiplication, not by the clock, because a few nanoseconds are less than a
//! clock read takes; the number of turns is in a shared cell, so that a switchback controller can change it while tasks
//! run. A **stall** makes every serving task stand still during the same intervals of wall-clock time, as a garbage
//! collector or a frozen machine would: a latency measurement with coordinated omission cannot see it.

use schedlab_sys::clock::{monotonic_ns, sleep_until_ns};
use schedlab_sys::shared_memory::{SharedWords, WORDS_PER_TASK_LINE};
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Words of the shared cell: turns of the spin, and the instant that stalls are counted from (0: no operation yet).
const TURNS: usize = 0;
const EPOCH_NS: usize = WORDS_PER_TASK_LINE;

/// A stall of `ns` in the middle of every `period_ns` since the first operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// Length of a stall, ns.
    pub ns: u64,
    /// From one stall to the next, ns; longer than the stall.
    pub period_ns: u64,
}

impl Stall {
    /// The end of the stall that covers an instant; `None` outside stalls. Both in ns since the first operation.
    pub(crate) fn end_ns(self, since_ns: u64) -> Option<u64> {
        let begin_ns = (self.period_ns - self.ns) / 2;
        let within_ns = since_ns % self.period_ns;
        let stalled = (begin_ns..begin_ns + self.ns).contains(&within_ns);
        stalled.then(|| since_ns - within_ns + begin_ns + self.ns)
    }
}

/// The shared cell that holds the injected spin, and the injected stall.
#[derive(Debug, Clone)]
pub struct DelayCell {
    shared: Arc<SharedWords>,
    turns_per_ns: f64,
    stall: Option<Stall>,
}

impl DelayCell {
    /// Maps the cell, and measures how fast a turn is on this machine.
    pub(crate) fn new(spin_ns: u64, stall: Option<Stall>) -> io::Result<Self> {
        let shared = Arc::new(SharedWords::new(2 * WORDS_PER_TASK_LINE)?);
        let cell = Self { shared, turns_per_ns: turns_per_ns(), stall };
        cell.set_ns(spin_ns as f64);
        Ok(cell)
    }

    /// Sets the spin of all operations that begin from now on, ns (fractions count).
    pub fn set_ns(&self, spin_ns: f64) {
        self.shared.words()[TURNS].store((spin_ns.max(0.0) * self.turns_per_ns).round() as u64, Relaxed);
    }

    /// The current spin, ns.
    pub fn ns(&self) -> f64 {
        self.shared.words()[TURNS].load(Relaxed) as f64 / self.turns_per_ns
    }

    /// Sleeps to the end of the current stall, if there is one.
    #[cold]
    #[inline(never)]
    fn sit_out(&self, stall: Stall) {
        let (epoch, now_ns) = (&self.shared.words()[EPOCH_NS], monotonic_ns());
        let epoch_ns = match epoch.compare_exchange(0, now_ns, Relaxed, Relaxed) {
            Ok(_) => now_ns,
            Err(first) => first,
        };
        if let Some(end_ns) = stall.end_ns(now_ns.saturating_sub(epoch_ns)) {
            sleep_until_ns(epoch_ns + end_ns);
        }
    }
}

/// Compiled in or not: see [`crate::stamp`].
pub(crate) trait Delay: Clone + Send + 'static {
    /// Spins for as many turns as the cell holds, and sits out a stall.
    fn spin(&self);
}

/// Nothing injected.
#[derive(Clone, Copy)]
pub(crate) struct NoDelay;

impl Delay for NoDelay {
    #[inline(always)]
    fn spin(&self) {}
}

impl Delay for DelayCell {
    #[inline(always)]
    fn spin(&self) {
        turn(self.shared.words()[TURNS].load(Relaxed));
        if let Some(stall) = self.stall {
            self.sit_out(stall);
        }
    }
}

/// `turns` steps of a chain that no compiler can shorten and no out-of-order core can overlap.
#[inline(always)]
fn turn(turns: u64) {
    let mut x = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..turns {
        x = black_box(x.wrapping_mul(0x5851_f42d_4c95_7f2d));
    }
    black_box(x);
}

/// The fastest of some short runs, because interference can only add time.
fn turns_per_ns() -> f64 {
    const TURNS: u64 = 20_000;
    let fastest = (0..9).map(|_| {
        let t0 = monotonic_ns();
        turn(TURNS);
        monotonic_ns() - t0
    });
    TURNS as f64 / fastest.min().unwrap_or(1).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of a turn is measured where it is used; the benchmarks show that turns are not optimized away.
    #[test]
    fn a_spin_is_as_many_turns_as_its_time_holds() {
        let shared = Arc::new(SharedWords::new(2 * WORDS_PER_TASK_LINE).unwrap());
        let cell = DelayCell { shared, turns_per_ns: 0.25, stall: None };
        let turns = |ns: f64| {
            cell.set_ns(ns);
            (cell.shared.words()[TURNS].load(Relaxed), cell.ns())
        };
        assert_eq!(
            [turns(20_000.0), turns(6.0), turns(0.0), turns(-3.0)],
            [(5000, 20_000.0), (2, 8.0), (0, 0.0), (0, 0.0)]
        );
        assert!(turns_per_ns() > 0.0);
    }

    /// One column per millisecond: `.` runs on, a digit is the millisecond (of ten) at which the stall ends.
    #[test]
    fn a_stall_lies_in_the_middle_of_every_period() {
        let stall = Stall { ns: 2_000_000, period_ns: 6_000_000 };
        let drawn: String = (0..12_u64)
            .map(|ms| match stall.end_ns(ms * 1_000_000) {
                None => '.',
                Some(end_ns) => char::from_digit((end_ns / 1_000_000 % 10) as u32, 10).unwrap(),
            })
            .collect();
        assert_eq!(drawn, "..44....00..");
        assert_eq!(stall.end_ns(3_999_999), Some(4_000_000));
    }

    #[test]
    fn a_task_sits_a_stall_out_to_its_end() {
        let stall = Stall { ns: 8_000_000, period_ns: 10_000_000 };
        let cell = DelayCell::new(0, Some(stall)).unwrap();
        cell.spin();
        let since_first_ns = || monotonic_ns() - cell.shared.words()[EPOCH_NS].load(Relaxed);
        let mut sat_out = 0;
        while sat_out < 3 {
            let before_ns = since_first_ns();
            cell.spin();
            if let Some(end_ns) = stall.end_ns(before_ns) {
                assert!(since_first_ns() >= end_ns, "in a stall at {before_ns} ns that ends at {end_ns} ns");
                sat_out += 1;
            }
        }
    }
}
