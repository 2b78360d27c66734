//! The lines of shared memory through which messengers and workers communicate: one for each task, with its futex word
//! first.
//!
//! Closed loop, as in schbench: a worker adds itself to its messenger's list without a lock, posts the messenger and
//! waits; the messenger takes the whole list at once and posts each worker on it. Open loop: the messenger increments a
//! worker's count of posted requests and posts the worker. The requests themselves are instants of a known schedule, so
//! a queue of any length needs no memory.
//!
//! A waiter stores "blocked" before it checks for the last time, and a poster publishes its change before it reads that
//! word, both sequentially consistent: one of them sees the other, so no wakeup is lost.

use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::cpu_number::current_cpu;
use schedlab_sys::futex::Scope;
use schedlab_sys::shared_memory::SharedFutexes;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

const RUNNING: u32 = 0;
const BLOCKED: u32 = 1;

/// Words of a worker's line after its futex word.
mod worker {
    pub(super) const NEXT: usize = 0;
    pub(super) const WAKE_NS: usize = 1;
    pub(super) const WAKER_CPU: usize = 2;
    pub(super) const POSTED: usize = 3;
    pub(super) const END_NS: usize = 4;
    pub(super) const UNSERVED: usize = 5;
    pub(super) const QUEUED: usize = 6;
}

/// Words of a messenger's line after its futex word.
mod messenger {
    pub(super) const HEAD: usize = 0;
    pub(super) const LEFT: usize = 1;
    pub(super) const EPOCH_NS: usize = 2;
}

/// In a list's head, in addition to the worker's number: a worker on the list wants a timestamp.
const WANTS_STAMP: u64 = 1 << 32;
const NUMBER: u64 = WANTS_STAMP - 1;

/// All lines; a task's line has the task's number.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    shared: Arc<SharedFutexes>,
    scope: Scope,
}

impl Lines {
    pub(super) fn new(tasks: usize, scope: Scope) -> io::Result<Self> {
        Ok(Self { shared: Arc::new(SharedFutexes::new(tasks)?), scope })
    }

    /// Maps the lines into the calling task.
    pub(super) fn fault_in(&self) {
        self.shared.fault_in();
    }

    #[inline(always)]
    pub(super) fn of(&self, task: usize) -> Line<'_> {
        Line { state: self.shared.word(task), words: self.shared.beside(task), scope: self.scope }
    }

    /// The messenger takes all workers off its list and wakes them, latest first; returns how many. There is one clock
    /// read for all of them, before the first wakeup, so that if the messenger is preempted within the list, the
    /// latency of the remaining ones shows it. `prepare` runs for each worker before it is woken; it learns whether a
    /// stamp is wanted and may take a later one.
    #[inline(always)]
    pub(super) fn wake_all<E>(
        &self,
        own: Line<'_>,
        mut prepare: impl FnMut(usize, bool) -> Result<Option<u64>, E>,
    ) -> Result<u64, E> {
        let head = own.words[messenger::HEAD].swap(0, SeqCst);
        let wants_stamp = head & WANTS_STAMP != 0;
        let batch_ns = if wants_stamp { monotonic_ns() } else { 0 };
        let (mut number, mut woken) = (head & NUMBER, 0);
        while number != 0 {
            let task = (number - 1) as usize;
            let line = self.of(task);
            // Read before the post, because the worker may add itself to the list again at once.
            number = line.words[worker::NEXT].load(Relaxed);
            let own_ns = prepare(task, wants_stamp)?;
            line.words[worker::WAKE_NS].store(own_ns.unwrap_or(batch_ns), Relaxed);
            line.words[worker::WAKER_CPU].store(current_cpu().into(), Relaxed);
            line.post();
            woken += 1;
        }
        Ok(woken)
    }
}

/// One task's line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    state: &'a AtomicU32,
    words: &'a [AtomicU64],
    scope: Scope,
}

impl Line<'_> {
    /// Announces that the task is about to wait, so that no post from now on is lost.
    #[inline(always)]
    pub(super) fn block(self) {
        self.state.store(BLOCKED, SeqCst);
    }

    /// Waits for a post; returns at once if one came since [`Self::block`].
    #[inline(always)]
    pub(super) fn wait(self) {
        while self.state.load(SeqCst) == BLOCKED {
            self.scope.wait(self.state, BLOCKED, u64::MAX);
        }
    }

    /// Wakes the line's task if it waits or is about to.
    #[inline(always)]
    pub(super) fn post(self) {
        if self.state.swap(RUNNING, SeqCst) == BLOCKED {
            self.scope.wake(self.state, 1);
        }
    }

    /// The CPU that its waker ran on at the last wakeup or post.
    #[inline(always)]
    pub(super) fn waker_cpu(self) -> u32 {
        self.words[worker::WAKER_CPU].load(Relaxed) as u32
    }

    // Closed loop.

    /// A worker (number `task`) joins its messenger's list.
    #[inline(always)]
    pub(super) fn join(self, messenger: Line<'_>, task: usize, wants_stamp: bool) {
        let list = &messenger.words[messenger::HEAD];
        let own = (task as u64 + 1) | if wants_stamp { WANTS_STAMP } else { 0 };
        let mut head = list.load(Relaxed);
        loop {
            self.words[worker::NEXT].store(head & NUMBER, Relaxed);
            match list.compare_exchange_weak(head, own | (head & WANTS_STAMP), SeqCst, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// When the messenger started on the list from which it woke this worker, CLOCK_MONOTONIC ns; only for stamped
    /// requests.
    #[inline(always)]
    pub(super) fn wake_ns(self) -> u64 {
        self.words[worker::WAKE_NS].load(Relaxed)
    }

    /// Before the release: sets how many workers this messenger serves.
    pub(super) fn set_workers(self, workers: u32) {
        self.words[messenger::LEFT].store(workers.into(), Release);
    }

    /// A worker of this messenger is done.
    pub(super) fn leave(self) {
        self.words[messenger::LEFT].fetch_sub(1, SeqCst);
        self.post();
    }

    /// Workers that are not done.
    #[inline(always)]
    pub(super) fn workers_left(self) -> u64 {
        self.words[messenger::LEFT].load(SeqCst)
    }

    // Open loop.

    /// The messenger starts its schedule.
    pub(super) fn set_epoch_ns(self, ns: u64) {
        self.words[messenger::EPOCH_NS].store(ns, Release);
    }

    /// The schedule's start; valid once a request has been posted.
    pub(super) fn epoch_ns(self) -> u64 {
        self.words[messenger::EPOCH_NS].load(Acquire)
    }

    /// The messenger posts one more request and wakes the worker if it waits.
    #[inline(always)]
    pub(super) fn post_one(self) {
        self.words[worker::WAKER_CPU].store(current_cpu().into(), Relaxed);
        self.words[worker::POSTED].fetch_add(1, SeqCst);
        self.post();
    }

    /// The messenger ends: no request after `end_ns` is posted.
    pub(super) fn close(self, end_ns: u64) {
        self.words[worker::END_NS].store(end_ns, SeqCst);
        self.post();
    }

    /// Requests posted so far.
    #[inline(always)]
    pub(super) fn posted(self) -> u64 {
        self.words[worker::POSTED].load(SeqCst)
    }

    /// When the messenger ended; 0 while it runs.
    #[inline(always)]
    pub(super) fn end_ns(self) -> u64 {
        self.words[worker::END_NS].load(SeqCst)
    }

    /// The worker waits until more than `handled` requests are posted or the messenger has ended; returns whether it
    /// slept.
    #[inline(always)]
    pub(super) fn wait_for_news(self, handled: u64) -> bool {
        let mut slept = false;
        while self.posted() <= handled && self.end_ns() == 0 {
            self.block();
            if self.posted() > handled || self.end_ns() != 0 {
                self.state.store(RUNNING, SeqCst);
                break;
            }
            self.wait();
            slept = true;
        }
        slept
    }

    /// The worker stores its counts: requests not served, and requests that had to queue.
    pub(super) fn leave_counts(self, unserved: u64, queued: u64) {
        self.words[worker::UNSERVED].store(unserved, Release);
        self.words[worker::QUEUED].store(queued, Release);
    }

    /// `(unserved, queued)`.
    pub(super) fn counts(self) -> (u64, u64) {
        (self.words[worker::UNSERVED].load(Acquire), self.words[worker::QUEUED].load(Acquire))
    }
}

#[cfg(test)]
mod tests;
