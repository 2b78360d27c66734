//! The messengers' loops. They do not depend on the stamping level: a worker that wants a stamp sets a flag on the
//! list.

use super::arrivals::Arrivals;
use super::job::Pages;
use super::lines::{Line, Lines};
use super::worker::ARRIVAL_LATE;
use crate::recorder::Recorder;
use crate::task::{StopFlag, TaskError, Work};
use schedlab_plan::Tier;
use schedlab_sys::clock::monotonic_ns;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A messenger and its workers, which are the tasks that follow it.
pub(super) struct Messenger<'a> {
    pub(super) lines: &'a Lines,
    pub(super) task: usize,
    pub(super) workers: usize,
    pub(super) counter: &'a AtomicU64,
}

impl<'a> Messenger<'a> {
    fn own(&self) -> Line<'a> {
        self.lines.of(self.task)
    }

    fn worker(&self, number: usize) -> Line<'a> {
        self.lines.of(self.task + 1 + number)
    }

    /// Closed loop: wakes the workers that ask, until every worker is done. An operation is a wakeup.
    pub(super) fn serve(self) -> Result<Work, TaskError> {
        self.until_all_left(|_, _| Ok(None))
    }

    /// The same with a page to reply in for each worker; each gets its own stamp, after the page.
    pub(super) fn serve_pages(self, pages: &Pages, first_page: usize) -> Result<Work, TaskError> {
        // The tasks' memory, allocated before the loop.
        let mut answered = vec![0u64; self.workers];
        let first_worker = self.task + 1;
        self.until_all_left(|task, wants_stamp| {
            let number = task - first_worker;
            answered[number] += 1;
            pages.answer(first_page + number, answered[number])?;
            Ok(wants_stamp.then(monotonic_ns))
        })
    }

    fn until_all_left(
        self,
        mut prepare: impl FnMut(usize, bool) -> Result<Option<u64>, TaskError>,
    ) -> Result<Work, TaskError> {
        let own = self.own();
        let mut work = Work::default();
        loop {
            own.block();
            work.operations += self.lines.wake_all(own, &mut prepare)?;
            self.counter.store(work.operations, Relaxed);
            if own.workers_left() == 0 {
                return Ok(work);
            }
            own.wait();
        }
    }

    /// Open loop: posts every request at its instant, to the workers in turn, until the stop flag is set or `total` is
    /// reached. A messenger that is late posts everything due at once, each request with its intended instant. An
    /// operation is a posted request.
    pub(super) fn generate(
        self,
        arrivals: Arrivals,
        total: u64,
        stop: &StopFlag,
        recorder: Option<&Recorder>,
    ) -> Result<Work, TaskError> {
        let arrivals = Arrivals { epoch_ns: monotonic_ns(), ..arrivals };
        self.own().set_epoch_ns(arrivals.epoch_ns);
        let (mut posted, mut next) = (0, 0);
        let end_ns = loop {
            let (now_ns, intended_ns) = (monotonic_ns(), arrivals.intended_ns(posted));
            if stop.is_set() {
                break now_ns;
            }
            if posted == total {
                if self.wait_for_leave() {
                    break monotonic_ns();
                }
                continue;
            }
            if now_ns < intended_ns {
                stop.sleep_until_ns(intended_ns);
                continue;
            }
            if let Some(recorder) = recorder {
                recorder.record(ARRIVAL_LATE, Tier::SameCpu, self.task, now_ns - intended_ns);
            }
            self.worker(next).post_one();
            posted += 1;
            next = if next + 1 == self.workers { 0 } else { next + 1 };
            self.counter.store(posted, Relaxed);
        };
        Ok(Work { operations: self.end(&arrivals, posted, next, total, end_ns), ..Work::default() })
    }

    /// In a run by loops, when all requests are posted: waits for a worker to report, and returns whether all are done.
    fn wait_for_leave(&self) -> bool {
        self.own().block();
        if self.own().workers_left() == 0 {
            return true;
        }
        self.own().wait();
        false
    }

    /// What is due by now but not yet posted has arrived too; then all workers are told of the end.
    fn end(&self, arrivals: &Arrivals, mut posted: u64, mut next: usize, total: u64, end_ns: u64) -> u64 {
        while posted < total && arrivals.intended_ns(posted) <= end_ns {
            self.worker(next).post_one();
            posted += 1;
            next = (next + 1) % self.workers;
        }
        (0..self.workers).for_each(|number| self.worker(number).close(end_ns));
        posted
    }
}
