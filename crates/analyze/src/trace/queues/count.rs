//! Follows the queue of each CPU: which threads wait in it and since when, and how long it had each length.

use super::lane::QueueLengths;
use crate::trace::affinity::Affinity;
use crate::trace::follow::{AfterEvent, Analysis, BeforeEvent};
use crate::trace::slices::Slicing;
use schedlab_trace::engine::{Censored, CensoredWait, Task, TaskId, Wait};
use schedlab_trace::{Cpu, Event, Missing, PerTask, Tid, TimeWindow, Wake, What};

/// A thread's state with regard to queues.
#[derive(Debug, Clone, Copy, Default)]
struct Waiter {
    /// The CPU in whose queue it is counted, and the epoch of that queue.
    queue: Option<(Cpu, u32)>,
    /// Time when it was first counted, in this wait.
    since: u64,
    /// The queue's `known_ns` when the thread joined it.
    known_ns: u64,
    /// How long it has been counted in earlier queues, in this wait, ns.
    counted_ns: u64,
    /// Whether it may use no other CPU.
    bound: bool,
}

/// Counts while the engine runs.
#[derive(Debug)]
pub(in crate::trace) struct Counter<'a> {
    window: &'a TimeWindow,
    pub(super) affinity: Affinity,
    pub(super) slicing: Slicing,
    pub(super) lanes: Vec<QueueLengths>,
    waiters: PerTask<Waiter>,
    /// Whether events are missing, on an unknown CPU.
    gap: bool,
    /// Whether a `sched_wakeup` was seen: then threads count from that event on, not from `sched_waking`.
    pub(super) wakeups: bool,
    since: u64,
    /// Number of CPUs with a waiting thread that could run elsewhere, and of CPUs without any thread.
    crowded: u32,
    idle: u32,
    /// Time with any of the former, and the part of it with one of the latter, ns.
    pub(super) crowded_ns: u64,
    pub(super) not_conserved_ns: u64,
    /// Time that was counted for waits that were censored later, ns.
    pub(super) censored_ns: u64,
    /// Time that was not counted for waits that are known, ns.
    pub(super) missed_ns: u64,
}

impl<'a> Counter<'a> {
    pub(super) fn new(window: &'a TimeWindow, slices: usize, affinity: Affinity) -> Self {
        Self {
            window,
            affinity,
            slicing: Slicing::new(slices),
            lanes: Vec::new(),
            waiters: PerTask::default(),
            gap: false,
            wakeups: false,
            since: 0,
            crowded: 0,
            idle: 0,
            crowded_ns: 0,
            not_conserved_ns: 0,
            censored_ns: 0,
            missed_ns: 0,
        }
    }

    /// Completes the counts up to the end of the requested time, and returns that end.
    pub(super) fn end(&mut self, last: u64) -> u64 {
        let end = self.window.to_ns.map_or(last, |to| to.min(last));
        for at in 0..self.lanes.len() {
            self.change(end, Cpu(at as u16), |_| ());
        }
        let join = self.slicing.fit_line(end);
        self.join(join);
        end
    }

    /// Time counted so far for waits that have not ended, ns.
    pub(super) fn unfinished_ns(&self) -> u64 {
        let before = self.waiters.all().iter().filter(|waiter| waiter.queue.is_some()).map(|waiter| waiter.counted_ns);
        before.chain(self.lanes.iter().map(QueueLengths::counted_ns)).fold(0, u64::saturating_add)
    }

    fn join(&mut self, number: usize) {
        if number > 1 {
            self.lanes.iter_mut().for_each(|lane| lane.join(number));
        }
    }

    /// The requested part of an interval; `None` if there is none.
    fn request(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let (from, to) = (from.max(self.window.from_ns), self.window.to_ns.map_or(to, |end| to.min(end)));
        (from < to).then_some((from, to))
    }

    /// Changes a CPU's queue, after counting the time that it was unchanged.
    fn change(&mut self, ts: u64, cpu: Cpu, how: impl FnOnce(&mut QueueLengths)) {
        let at = self.pass(ts, cpu);
        let lane = &mut self.lanes[at];
        let (was_crowded, was_idle) = (lane.is_crowded(), lane.is_idle());
        how(lane);
        self.crowded = self.crowded + u32::from(lane.is_crowded()) - u32::from(was_crowded);
        self.idle = self.idle + u32::from(lane.is_idle()) - u32::from(was_idle);
    }

    fn pass(&mut self, ts: u64, cpu: Cpu) -> usize {
        let at = usize::from(cpu.0);
        if at >= self.lanes.len() {
            self.meet(at);
        }
        if let Some((from, to)) = self.request(self.since, ts).filter(|_| self.crowded > 0) {
            self.crowded_ns += to - from;
            self.not_conserved_ns += if self.idle > 0 { to - from } else { 0 };
        }
        self.since = self.since.max(ts);
        let request = self.request(self.lanes[at].since, ts).filter(|_| self.lanes[at].known);
        if let Some((from, to)) = request {
            let join = self.slicing.fit(to);
            self.join(join);
            self.lanes[at].pass((from, to), &self.slicing);
        }
        // A gap is recorded at its beginning, which may be earlier than events that have been processed since.
        self.lanes[at].since = self.lanes[at].since.max(ts);
        at
    }

    #[cold]
    fn meet(&mut self, at: usize) {
        let known = self.lanes.len();
        self.lanes.resize_with(at + 1, QueueLengths::default);
        for (cpu, lane) in self.lanes.iter_mut().enumerate().skip(known) {
            lane.request = self.window.cpus.as_ref().is_none_or(|cpus| cpus.contains(&Cpu(cpu as u16)));
        }
    }

    /// Counts a thread in a queue from now on.
    fn enter(&mut self, ts: u64, task: TaskId, cpu: Cpu, tid: Tid) {
        if cpu == Cpu::ANY {
            return;
        }
        let bound = self.affinity.is_one(self.affinity.of(tid));
        let (mut epoch, mut known_ns) = (0, 0);
        self.change(ts, cpu, |lane| {
            (epoch, known_ns) = (lane.epoch, lane.known_ns);
            lane.waiting += 1;
            lane.movable += u64::from(!bound);
            lane.came_ns = lane.came_ns.wrapping_add(known_ns);
        });
        let waiter = self.waiters.of(task);
        if waiter.queue.is_none() && waiter.counted_ns == 0 {
            waiter.since = ts;
        }
        (waiter.queue, waiter.known_ns, waiter.bound) = (Some((cpu, epoch)), known_ns, bound);
    }

    /// Stops counting a thread; returns whether it was counted.
    fn quit(&mut self, ts: u64, task: TaskId) -> bool {
        let Some((cpu, epoch)) = self.waiters.of(task).queue.take() else { return false };
        let waiter = *self.waiters.of(task);
        let mut counted_ns = 0;
        self.change(ts, cpu, |lane| {
            if lane.epoch == epoch {
                counted_ns = lane.known_ns - waiter.known_ns;
                lane.waiting -= 1;
                lane.movable -= u64::from(!waiter.bound);
                lane.came_ns = lane.came_ns.wrapping_sub(waiter.known_ns);
            }
        });
        let sum = &mut self.waiters.of(task).counted_ns;
        *sum = sum.saturating_add(counted_ns);
        true
    }

    /// Stops counting a thread of which it is not known whether it was really waiting.
    fn quit_censored(&mut self, ts: u64, task: TaskId) {
        self.quit(ts, task);
        let counted_ns = std::mem::take(&mut self.waiters.of(task).counted_ns);
        self.censored_ns = self.censored_ns.saturating_add(counted_ns);
    }

    fn move_to(&mut self, ts: u64, task: TaskId, cpu: Cpu, tid: Tid) {
        let from = self.waiters.of(task).queue;
        if from.is_some_and(|(from, _)| from != cpu) && cpu != Cpu::ANY && self.quit(ts, task) {
            self.enter(ts, task, cpu, tid);
        }
    }

    /// From now on, the threads that wait for a CPU are not known.
    fn lose(&mut self, ts: u64, cpu: Cpu) {
        let mut counted_ns = 0;
        self.change(ts, cpu, |lane| {
            counted_ns = lane.counted_ns();
            (lane.waiting, lane.movable, lane.came_ns) = (0, 0, 0);
            lane.epoch = lane.epoch.wrapping_add(1);
        });
        self.censored_ns = self.censored_ns.saturating_add(counted_ns);
    }

    fn switch(&mut self, after: &AfterEvent<'_>, prev: Tid, next: Tid) {
        let Event { ts, cpu, .. } = *after.event;
        self.slicing.start.get_or_insert(ts.max(self.window.from_ns));
        if let Some(task) = after.next {
            self.quit_censored(ts, task);
        }
        let gap = self.gap;
        self.change(ts, cpu, |lane| {
            (lane.seen, lane.known, lane.running) = (true, !gap && !lane.gap, next != Tid::IDLE);
        });
        // A CPU that goes idle has an empty queue: threads still listed in it left without a traced event.
        if next == Tid::IDLE && self.wakeups && after.engine.counts().gaps > 0 {
            self.lose(ts, cpu);
        }
        if let Some(task) = after.prev {
            self.quit_censored(ts, task);
            if after.class.is_runnable() {
                self.enter(ts, task, cpu, prev);
            }
        }
    }

    /// Between the waking and the enqueueing a thread is being placed, if `sched_wakeup` is recorded.
    fn woken(&mut self, after: &AfterEvent<'_>, wake: &Wake) {
        let (Event { ts, what, .. }, Some(task)) = (*after.event, after.woken) else { return };
        self.wakeups |= matches!(what, What::Wakeup(_));
        let placing = self.wakeups && matches!(what, What::Waking(_));
        if after.known.get(task).on_cpu || placing {
            return;
        }
        match self.waiters.of(task).queue {
            Some((cpu, epoch)) if self.lanes[usize::from(cpu.0)].epoch == epoch => {
                self.move_to(ts, task, wake.target_cpu, wake.tid);
            }
            _ => self.enter(ts, task, wake.target_cpu, wake.tid),
        }
    }

    /// A gap begins, or ends; after its end the next switch shows which thread has the CPU. After a break in the chain
    /// of switches, a waiting thread most likely still waits, because such a break needs only one missing switch.
    fn gap(&mut self, ts: u64, cpu: Cpu, ended: Option<Missing>) {
        let (all, begins) = (cpu == Cpu::ANY, ended.is_none());
        self.gap = if all { begins } else { self.gap };
        let cpus = if all { 0..self.lanes.len() } else { usize::from(cpu.0)..usize::from(cpu.0) + 1 };
        for cpu in cpus.map(|cpu| Cpu(cpu as u16)) {
            self.change(ts, cpu, |lane| {
                (lane.known, lane.running) = (false, false);
                lane.gap = if all { lane.gap } else { begins };
            });
            if ended.is_some_and(|missing| missing != Missing::Chain) {
                self.lose(ts, cpu);
            }
        }
    }
}

impl Analysis for Counter<'_> {
    fn take(&mut self, after: &AfterEvent<'_>) {
        let Event { ts, cpu, what } = *after.event;
        match what {
            What::Switch { prev, next, .. } => self.switch(after, prev, next),
            What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) => self.woken(after, &wake),
            What::Migrate { tid, dest_cpu, .. } => {
                if let Some(task) = after.engine.task(tid) {
                    self.move_to(ts, task, dest_cpu, tid);
                }
            }
            What::GapBegin => self.gap(ts, cpu, None),
            What::GapEnd { missing, .. } => self.gap(ts, cpu, Some(missing)),
            _ => _ = self.affinity.take(after.event),
        }
    }

    fn waited(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &Wait) {
        self.quit(before.event.ts, task);
        let Waiter { since, counted_ns, .. } = *self.waiters.of(task);
        let queued = wait.queued.unwrap_or(wait.start);
        let from = if counted_ns > 0 { since.min(queued).max(wait.start) } else { queued };
        let waited_ns = self.request(from, wait.end).map_or(0, |(from, to)| to - from);
        self.missed_ns = self.missed_ns.saturating_add(waited_ns.saturating_sub(counted_ns));
        self.waiters.of(task).counted_ns = 0;
    }

    fn wait_censored(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &CensoredWait) {
        // A thread still waiting at the end of the trace counts as waiting.
        if wait.why != Censored::Unfinished {
            self.quit_censored(before.event.ts, task);
        }
    }

    fn retired(&mut self, before: &BeforeEvent<'_>, task: TaskId, _as_known: &Task) {
        self.quit_censored(before.event.ts, task);
        *self.waiters.of(task) = Waiter::default();
    }
}
