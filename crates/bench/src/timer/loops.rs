//! The timed loop of `timer/1`, compiled once for each stamping level, delay and end condition.
//!
//! t0 of a wakeup is the instant at which its period begins (the expiry that the sleep was armed for), t1 the first
//! clock read after the sleep. At `off` there is no clock in the loop: missed periods go unnoticed, and a thread that
//! fell behind catches up with sleeps that return at once.

use super::periods::Periods;
use crate::delay::Delay;
use crate::dispatch::{TimedLoop, Until};
use crate::recorder::Recorder;
use crate::stamp::Stamp;
use crate::task::{TaskError, Work};
use schedlab_plan::Tier;
use schedlab_sys::clock::{monotonic_ns, sleep_until_ns};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Series of the recorder.
pub(super) const SERIES: &[&str] = &["latency", "wake_latency"];
const LATENCY: usize = 0;
const WAKE_LATENCY: usize = 1;

/// One thread.
pub(super) struct Timer<'a> {
    pub(super) interval_ns: u64,
    pub(super) recorder: Option<&'a Recorder>,
    pub(super) thread: usize,
    pub(super) counter: &'a AtomicU64,
    /// Where the thread stores its [`Tally`].
    pub(super) line: &'a [AtomicU64],
}

impl TimedLoop for Timer<'_> {
    type Output = Result<Work, TaskError>;

    fn run<S: Stamp, P: Delay, U: Until>(self, _stamp: S, delay: P, until: U) -> Self::Output {
        let mut work = Work::default();
        let mut tally = Tally::default();
        let mut periods = Periods::from(monotonic_ns(), self.interval_ns);
        while until.more(work.operations) {
            sleep_until_ns(periods.next_ns());
            delay.spin();
            if S::ANY {
                let now_ns = monotonic_ns();
                let woke = periods.woke(now_ns, |late_ns| self.record(LATENCY, late_ns));
                self.record_wake(woke.late_ns, now_ns);
                tally.add(woke.late_ns, woke.missed);
            } else {
                periods.pass();
            }
            work.operations += 1;
            self.counter.store(work.operations, Relaxed);
        }
        work.stamped = if S::ANY { work.operations } else { 0 };
        tally.leave(self.line);
        Ok(work)
    }
}

impl Timer<'_> {
    /// Not inlined: the cost of a call is negligible against a wakeup, and there are a dozen loops.
    #[inline(never)]
    fn record(&self, series: usize, ns: u64) {
        if let Some(recorder) = self.recorder {
            // A timer has no tiers, because its waker is an interrupt.
            recorder.record(series, Tier::SameCpu, self.thread, ns);
        }
    }
}

impl Timer<'_> {
    /// The wakeup itself, which counts as late once, however many periods the thread slept through.
    #[inline(never)]
    fn record_wake(&self, ns: u64, now_ns: u64) {
        if let Some(recorder) = self.recorder {
            recorder.record_operation(WAKE_LATENCY, Tier::SameCpu, self.thread, ns, now_ns);
        }
    }
}

/// What a thread sums up itself: cyclictest's columns, and the periods it slept through.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) min_ns: u64,
    pub(super) act_ns: u64,
    pub(super) sum_ns: u64,
    pub(super) max_ns: u64,
    /// Periods that began while the thread was still asleep.
    pub(super) missed: u64,
    /// Most of them in one go.
    pub(super) missed_at_once: u64,
    wakes: u64,
}

impl Tally {
    #[inline(always)]
    fn add(&mut self, late_ns: u64, missed: u64) {
        self.min_ns = if self.wakes == 0 { late_ns } else { self.min_ns.min(late_ns) };
        self.act_ns = late_ns;
        self.sum_ns += late_ns;
        self.max_ns = self.max_ns.max(late_ns);
        self.missed += missed;
        self.missed_at_once = self.missed_at_once.max(missed);
        self.wakes += 1;
    }

    fn words(&self) -> [u64; 7] {
        [self.min_ns, self.act_ns, self.sum_ns, self.max_ns, self.missed, self.missed_at_once, self.wakes]
    }

    fn leave(&self, line: &[AtomicU64]) {
        line.iter().zip(self.words()).for_each(|(word, value)| word.store(value, Release));
    }

    /// The tally that the thread of this line stored.
    pub(super) fn of(line: &[AtomicU64]) -> Self {
        let [min_ns, act_ns, sum_ns, max_ns, missed, missed_at_once, wakes] =
            std::array::from_fn(|i| line[i].load(Acquire));
        Self { min_ns, act_ns, sum_ns, max_ns, missed, missed_at_once, wakes }
    }

    /// Mean lateness of the wakeups, ns.
    pub(super) fn mean_ns(&self) -> u64 {
        self.sum_ns / self.wakes.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_is_cyclictests_columns_and_survives_its_line() {
        let mut tally = Tally::default();
        for (late, missed) in [(5, 0), (2, 0), (90, 3), (3, 1)] {
            tally.add(late, missed);
        }
        let line: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(9)).collect();
        tally.leave(&line);
        assert_eq!(Tally::of(&line), tally);
        assert_eq!((tally.min_ns, tally.act_ns, tally.mean_ns(), tally.max_ns), (2, 3, 25, 90));
        assert_eq!((tally.missed, tally.missed_at_once), (4, 3));
        assert_eq!(Tally::default().mean_ns(), 0);
    }
}
