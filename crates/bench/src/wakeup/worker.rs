//! The workers' timed loops, compiled once for each stamping level, delay and end condition.
//!
//! Closed loop: t0 of a wakeup is when the messenger starts on the list that the worker is on, t1 is when the worker
//! runs again. Open loop: t0 is the instant at which the request was meant to arrive, t1 is when the worker starts on
//! it, whether it slept until then or was busy with an earlier one.

use super::arrivals::Arrivals;
use super::job::Job;
use super::lines::Line;
use crate::delay::Delay;
use crate::dispatch::{TimedLoop, Until};
use crate::recorder::Recorder;
use crate::stamp::Stamp;
use crate::task::{TaskError, Work};
use crate::topology::Topology;
use schedlab_plan::Tier;
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::cpu_number::current_cpu;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Series of the recorder; the messenger of an open loop records into the third.
pub(super) const CLOSED_SERIES: &[&str] = &["latency", "request"];
pub(super) const OPEN_SERIES: &[&str] = &["latency", "request", "arrival_late"];
const LATENCY: usize = 0;
const REQUEST: usize = 1;
pub(super) const ARRIVAL_LATE: usize = 2;

/// What a worker of either loop works with.
pub(super) struct Worker<'a> {
    pub(super) own: Line<'a>,
    pub(super) messenger: Line<'a>,
    /// Its task number, which is also that of its line.
    pub(super) task: usize,
    pub(super) job: &'a mut dyn Job,
    pub(super) topology: &'a Topology,
    pub(super) recorder: Option<&'a Recorder>,
    pub(super) counter: &'a AtomicU64,
}

impl Worker<'_> {
    /// Counts the tier of the last wakeup and returns it.
    #[inline(always)]
    fn tier(&self, work: &mut Work) -> Tier {
        let tier = self.topology.tier(self.own.waker_cpu(), current_cpu());
        work.tiers[tier as usize] += 1;
        tier
    }

    /// Not inlined: the cost of a call is negligible against a wakeup, and there are dozens of loops.
    #[inline(never)]
    fn record(&self, series: usize, tier: Tier, ns: u64) {
        if let Some(recorder) = self.recorder {
            recorder.record(series, tier, self.task, ns);
        }
    }

    /// Records the wakeup, from its intended instant until the worker runs.
    #[inline(never)]
    fn record_wake(&self, tier: Tier, meant_ns: u64, begun_ns: u64) {
        if let Some(recorder) = self.recorder {
            recorder.record_operation(LATENCY, tier, self.task, begun_ns.saturating_sub(meant_ns), begun_ns);
        }
    }
}

/// Makes a request, waits, is woken, and serves the request itself.
pub(super) struct Closed<'a>(pub(super) Worker<'a>);

impl TimedLoop for Closed<'_> {
    type Output = Result<Work, TaskError>;

    fn run<S: Stamp, P: Delay, U: Until>(self, mut stamp: S, delay: P, until: U) -> Self::Output {
        let (worker, mut work) = (self.0, Work::default());
        let timed = worker.job.is_timed();
        while until.more(work.operations) {
            let (due, number) = (stamp.due(), work.operations + 1);
            worker.job.ask(number);
            worker.own.block();
            worker.own.join(worker.messenger, worker.task, due);
            worker.messenger.post();
            worker.own.wait();
            delay.spin();
            let begun_ns = if due { monotonic_ns() } else { 0 };
            let tier = worker.tier(&mut work);
            if due {
                worker.record_wake(tier, worker.own.wake_ns(), begun_ns);
                work.stamped += 1;
            }
            worker.job.serve(number)?;
            if due && timed {
                worker.record(REQUEST, tier, monotonic_ns().saturating_sub(begun_ns));
            }
            work.operations = number;
            worker.counter.store(number, Relaxed);
        }
        worker.messenger.leave();
        Ok(work)
    }
}

/// Serves what arrives, in order, until the messenger ends.
pub(super) struct Open<'a> {
    pub(super) worker: Worker<'a>,
    /// Its share of the schedule; the start is filled in when the messenger has set it.
    pub(super) arrivals: Arrivals,
}

impl TimedLoop for Open<'_> {
    type Output = Result<Work, TaskError>;

    fn run<S: Stamp, P: Delay, U: Until>(self, mut stamp: S, delay: P, until: U) -> Self::Output {
        let Self { worker, mut arrivals } = self;
        let (mut work, mut queued) = (Work::default(), 0);
        while until.more(work.operations) {
            let slept = worker.own.wait_for_news(work.operations);
            if worker.own.end_ns() != 0 {
                break;
            }
            queued += u64::from(!slept);
            delay.spin();
            let due = stamp.due();
            arrivals.epoch_ns = worker.messenger.epoch_ns();
            let intended_ns = arrivals.intended_ns(work.operations);
            let tier = worker.tier(&mut work);
            if due {
                worker.record_wake(tier, intended_ns, monotonic_ns());
                work.stamped += 1;
            }
            worker.job.serve(work.operations + 1)?;
            if due {
                worker.record(REQUEST, tier, monotonic_ns().saturating_sub(intended_ns));
            }
            work.operations += 1;
            worker.counter.store(work.operations, Relaxed);
        }
        worker.messenger.leave();
        worker.wait_for_end(work.operations);
        arrivals.epoch_ns = worker.messenger.epoch_ns();
        let unserved = worker.count_unserved(&mut stamp, &arrivals, &mut work);
        worker.own.leave_counts(unserved, queued);
        Ok(work)
    }
}

impl Worker<'_> {
    /// A worker that has served all its requests waits until the messenger has seen that all workers have.
    fn wait_for_end(&self, served: u64) {
        while self.own.end_ns() == 0 {
            self.own.wait_for_news(self.own.posted().max(served));
        }
    }

    /// Counts requests that arrived but were not started: without them an overloaded run would look fast. Each counts
    /// with the time it had waited at the end, which is a lower bound, and belongs to no tier. Returns how many there
    /// are.
    fn count_unserved<S: Stamp>(&self, stamp: &mut S, arrivals: &Arrivals, work: &mut Work) -> u64 {
        let (posted, end_ns) = (self.own.posted(), self.own.end_ns());
        for k in work.operations..posted {
            if stamp.due() {
                let waited_ns = end_ns.saturating_sub(arrivals.intended_ns(k));
                if let Some(recorder) = self.recorder {
                    recorder.record_untiered(LATENCY, self.task, waited_ns);
                    recorder.record_untiered(REQUEST, self.task, waited_ns);
                }
                work.stamped += 1;
            }
        }
        posted.saturating_sub(work.operations)
    }
}
