//! The state machine of threads and CPUs. Its rules are those of `docs/traces.md`: what a waking before the switch-out
//! means, what a gap makes unknown, when a thread id is another thread.

mod gaps;
mod lives;
mod observer;
#[cfg(test)]
mod tests;
mod tids;

use crate::event::{Cpu, Event, Missing, Tid, Wake, What};
use crate::names::Name;
use crate::prev_state::{StateClass, StateId};
use gaps::Gaps;
use lives::{MOST_TASKS, Tasks, task_of};
pub use observer::{Began, Censored, Counts, Observer, Run, Task, TaskId, Wait};
use tids::{How, NEVER, NO_TASK, Phase, Slot, Tids};

/// Follows every thread and CPU of a trace.
#[derive(Debug)]
pub struct Engine {
    most_tasks: usize,
    cpus: Vec<CpuState>,
    tids: Tids,
    tasks: Tasks,
    gaps: Gaps,
    counts: Counts,
    now: u64,
    first: Option<u64>,
}

/// A CPU: who is on it.
#[derive(Debug, Clone, Copy, Default)]
struct CpuState {
    /// `None` at the start and after a gap.
    current: Option<Tid>,
    /// Since when it is idle, while it is.
    idle_since: Option<u64>,
}

impl Default for Engine {
    fn default() -> Self {
        Self::remembering(MOST_TASKS)
    }
}

impl Engine {
    /// One that retires ended tasks as soon as it has met this many.
    pub fn remembering(most_tasks: usize) -> Self {
        Self {
            most_tasks,
            cpus: Vec::new(),
            tids: Tids::default(),
            tasks: Tasks::default(),
            gaps: Gaps::default(),
            counts: Counts::default(),
            now: 0,
            first: None,
        }
    }

    /// Everything that was met, by [`TaskId`].
    pub fn tasks(&self) -> &[Task] {
        &self.tasks.all
    }

    /// Who is on a CPU now.
    pub fn current(&self, cpu: Cpu) -> Option<Tid> {
        self.cpus.get(usize::from(cpu.0)).and_then(|c| c.current)
    }

    /// What happened to wakings so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Times of the first and of the latest event, ns; `None` before the first.
    pub fn span(&self) -> Option<(u64, u64)> {
        self.first.map(|first| (first, self.now))
    }

    /// Takes the next event. `classes` are those of the trace's states, by number.
    #[inline]
    pub fn take<O: Observer>(&mut self, event: &Event, classes: &[StateClass], observer: &mut O) {
        self.counts.events += 1;
        if event.ts >= self.now {
            self.now = event.ts;
        } else {
            self.counts.backwards += 1;
        }
        let (ts, cpu) = (event.ts, event.cpu);
        // What was made up for the threads of before the trace has no time.
        if self.first.is_none() && ts > 0 {
            self.first = Some(ts);
        }
        match event.what {
            What::Switch { prev, next, prev_comm, next_comm, prev_state, .. } => {
                let class = classes.get(prev_state.index()).copied().unwrap_or(StateClass::Unknown);
                self.counts.switches += 1;
                self.change_current(ts, cpu, next, observer);
                if prev != Tid::IDLE {
                    self.leave(ts, cpu, (prev, prev_comm), (prev_state, class), observer);
                }
                if next != Tid::IDLE {
                    self.enter(ts, cpu, (next, next_comm), observer);
                }
            }
            What::Waking(wake) if wake.tid != Tid::IDLE => self.waking(ts, &wake, observer),
            What::Wakeup(wake) if wake.tid != Tid::IDLE => self.wakeup(ts, &wake, observer),
            _ => self.take_rare(event, observer),
        }
    }

    fn take_rare<O: Observer>(&mut self, event: &Event, observer: &mut O) {
        let ts = event.ts;
        match event.what {
            What::WakeupNew(wake) => self.wakeup_new(ts, &wake, observer),
            What::Migrate { tid, dest_cpu, .. } if tid != Tid::IDLE => self.tids.get(tid).see(dest_cpu),
            What::Fork { parent, child, comm } => self.fork(ts, parent, child, comm, observer),
            What::Exit { tid, .. } => {
                let task = self.tids.get(tid).task;
                if let Some(task) = self.tasks.all.get_mut(task.index()) {
                    task.end = Some(ts);
                }
            }
            What::Exec { tid, old_tid } if tid != old_tid => self.exec(event, tid, old_tid, observer),
            What::Comm { tid, comm } => self.rename(ts, tid, comm),
            What::GapBegin => {
                self.counts.gaps += 1;
                self.gaps.begin(event.cpu);
            }
            What::GapEnd { missing, .. } => self.gap_end(ts, event.cpu, missing, observer),
            _ => {}
        }
    }

    /// The end of the trace: what is not finished is told as such.
    pub fn finish<O: Observer>(&mut self, observer: &mut O) {
        let end = self.now;
        for slot in self.tids.all() {
            match slot.phase {
                Phase::Running => {
                    self.counts.cancelled += u64::from(slot.pending);
                    if self.gaps.taint(slot.since, slot.seen_on) {
                        observer.run_censored(slot.task, Censored::Gap);
                    } else {
                        observer.ran(slot.task, &Run { start: slot.since, end, cpu: slot.cpu, left: None });
                    }
                }
                Phase::Preempted => observer.wait_censored(slot.task, Began::Preempted, Censored::Unfinished),
                Phase::Woken => observer.wait_censored(slot.task, slot.began(), Censored::Unfinished),
                Phase::Sleeping if slot.pending => {
                    observer.wait_censored(slot.task, Began::Repaired, Censored::Unfinished);
                }
                Phase::Sleeping | Phase::Unknown | Phase::Dead => {}
            }
            slot.phase = Phase::Unknown;
        }
        for (number, cpu) in self.cpus.iter_mut().enumerate() {
            if let Some(since) = cpu.idle_since.take() {
                observer.idled(Cpu(number as u16), since, end);
            }
        }
    }

    /// The CPU gets `next`; whoever was thought to be on it and is not the one that leaves was lost sight of.
    #[inline]
    fn change_current<O: Observer>(&mut self, ts: u64, cpu: Cpu, next: Tid, observer: &mut O) {
        let at = usize::from(cpu.0);
        if at >= self.cpus.len() {
            self.cpus.resize(at + 1, CpuState::default());
        }
        let state = &mut self.cpus[at];
        state.current = Some(next);
        let idle_since = (next == Tid::IDLE).then_some(ts);
        if let Some(since) = std::mem::replace(&mut state.idle_since, idle_since) {
            observer.idled(cpu, since, ts);
        }
    }

    #[inline]
    fn leave<O: Observer>(
        &mut self,
        ts: u64,
        cpu: Cpu,
        (tid, comm): (Tid, Name),
        (state, class): (StateId, StateClass),
        observer: &mut O,
    ) {
        let slot = task_of(&mut self.tids, &mut self.tasks, tid, comm);
        match slot.phase {
            Phase::Running if slot.cpu == cpu && slot.since <= ts && !self.gaps.taint(slot.since, slot.seen_on) => {
                observer.ran(slot.task, &Run { start: slot.since, end: ts, cpu, left: Some((state, class)) });
            }
            Phase::Running => observer.run_censored(slot.task, Censored::Gap),
            // First met by a waking, and it was on the CPU all the time: that waking is pending.
            Phase::Woken if slot.unsure && slot.how == How::Waking => slot.pending = true,
            Phase::Woken if slot.unsure => {}
            Phase::Woken => {
                observer.wait_censored(slot.task, slot.began(), Censored::Contradiction);
                slot.pending = false;
            }
            Phase::Preempted => observer.wait_censored(slot.task, Began::Preempted, Censored::Contradiction),
            Phase::Sleeping | Phase::Unknown | Phase::Dead => slot.pending = false,
        }
        observer.left(slot.task, cpu, class);
        (slot.since, slot.cpu, slot.class, slot.unsure) = (ts, cpu, class, false);
        slot.see(cpu);
        slot.phase = match class {
            StateClass::Runnable | StateClass::Preempted => Phase::Preempted,
            StateClass::Dead => Phase::Dead,
            StateClass::Unknown => Phase::Unknown,
            _ => Phase::Sleeping,
        };
        if slot.phase != Phase::Sleeping && slot.pending {
            // It did not sleep after all.
            slot.pending = false;
            self.counts.cancelled += 1;
        }
        if slot.phase == Phase::Dead {
            self.tasks.all[slot.task.index()].end = Some(ts);
            if self.tasks.all.len() >= self.most_tasks {
                observer.retired(slot.task, &self.tasks.all[slot.task.index()]);
                self.tasks.free.push(slot.task);
                *slot = Slot::of(NO_TASK);
            }
        }
    }

    #[inline]
    fn enter<O: Observer>(&mut self, ts: u64, cpu: Cpu, (tid, comm): (Tid, Name), observer: &mut O) {
        let slot = task_of(&mut self.tids, &mut self.tasks, tid, comm);
        let task = slot.task;
        if slot.phase == Phase::Sleeping && slot.pending {
            self.counts.repaired += 1;
            slot.wait_from_repaired();
        }
        let began = match slot.phase {
            Phase::Woken => Some(slot.began()),
            Phase::Preempted => Some(Began::Preempted),
            Phase::Sleeping => {
                self.counts.unseen_wakings += 1;
                None
            }
            Phase::Running => {
                observer.run_censored(task, Censored::Contradiction);
                None
            }
            Phase::Unknown | Phase::Dead => None,
        };
        if let Some(began) = began {
            let preempted = began == Began::Preempted;
            let start = if preempted { slot.since } else { slot.waking };
            let (waker, context) = if preempted { (tid, crate::Context::NONE) } else { (slot.waker, slot.context) };
            let queued = if preempted { None } else { Some(slot.queued).filter(|q| *q != NEVER) };
            slot.see(cpu);
            if ts < start || self.gaps.taint(start, slot.seen_on) {
                observer.wait_censored(task, began, Censored::Gap);
            } else {
                observer.waited(task, &Wait { began, start, queued, end: ts, cpu, waker, context });
            }
        }
        if slot.cpu != cpu && slot.cpu != Cpu::ANY {
            observer.moved(task, slot.cpu, cpu);
        }
        slot.see(cpu);
        (slot.phase, slot.since, slot.cpu) = (Phase::Running, ts, cpu);
        (slot.pending, slot.unsure, slot.fresh) = (false, false, false);
    }

    #[inline]
    fn waking<O: Observer>(&mut self, ts: u64, wake: &Wake, observer: &mut O) {
        let slot = task_of(&mut self.tids, &mut self.tasks, wake.tid, wake.comm);
        match slot.phase {
            Phase::Running => {
                self.counts.cancelled += u64::from(slot.pending);
                (slot.pending, slot.waking, slot.waker, slot.context) = (true, ts, wake.waker, wake.context);
                return;
            }
            // Preempted on its way to sleep: the waking keeps it from that, and it goes on waiting as it did.
            Phase::Preempted => {
                self.counts.cancelled += 1;
                return;
            }
            Phase::Sleeping => {
                self.counts.cancelled += u64::from(slot.pending);
                if slot.since <= ts && !self.gaps.taint(slot.since, slot.seen_on) {
                    observer.slept(slot.task, slot.class, slot.since, ts);
                }
            }
            Phase::Woken if slot.unsure => self.counts.cancelled += 1,
            // A thread is woken out of a sleep only: it must have run and slept unseen.
            Phase::Woken => {
                self.counts.double_wakings += 1;
                observer.wait_censored(slot.task, slot.began(), Censored::Contradiction);
            }
            Phase::Unknown | Phase::Dead => slot.unsure = true,
        }
        slot.woken(ts, NEVER, How::Waking, wake);
    }

    #[inline]
    fn wakeup<O: Observer>(&mut self, ts: u64, wake: &Wake, observer: &mut O) {
        let slot = task_of(&mut self.tids, &mut self.tasks, wake.tid, wake.comm);
        match slot.phase {
            Phase::Woken => {
                if slot.queued == NEVER {
                    slot.queued = ts;
                }
                slot.see(wake.target_cpu);
            }
            // Still on its CPU when a queue has it: it never left the queue.
            Phase::Running => {
                self.counts.cancelled += u64::from(slot.pending);
                slot.pending = false;
            }
            Phase::Sleeping if slot.pending => {
                self.counts.repaired += 1;
                slot.wait_from_repaired();
                slot.queued = ts;
                slot.see(wake.target_cpu);
            }
            Phase::Sleeping => {
                if slot.since <= ts && !self.gaps.taint(slot.since, slot.seen_on) {
                    observer.slept(slot.task, slot.class, slot.since, ts);
                }
                slot.woken(ts, ts, How::WakeupOnly, wake);
            }
            Phase::Unknown | Phase::Dead => {
                slot.unsure = true;
                slot.woken(ts, ts, How::WakeupOnly, wake);
            }
            Phase::Preempted => {}
        }
    }

    fn gap_end<O: Observer>(&mut self, ts: u64, cpu: Cpu, missing: Missing, observer: &mut O) {
        self.gaps.end(cpu, ts);
        let Some(state) = self.cpus.get_mut(usize::from(cpu.0)) else { return };
        state.idle_since = None;
        let Some(current) = state.current.take().filter(|c| *c != Tid::IDLE) else { return };
        let slot = self.tids.get(current);
        if slot.phase == Phase::Running && slot.cpu == cpu {
            let why = if missing == Missing::Chain { Censored::Contradiction } else { Censored::Gap };
            observer.run_censored(slot.task, why);
            (slot.phase, slot.pending) = (Phase::Unknown, false);
        }
    }
}

impl Slot {
    fn began(&self) -> Began {
        match self.how {
            How::Waking => Began::Waking,
            How::Repaired => Began::Repaired,
            How::WakeupOnly => Began::WakeupOnly,
            How::New => Began::New,
        }
    }

    #[inline]
    fn woken(&mut self, ts: u64, queued: u64, how: How, wake: &Wake) {
        (self.phase, self.waking, self.queued, self.how) = (Phase::Woken, ts, queued, how);
        (self.waker, self.context, self.pending, self.fresh) = (wake.waker, wake.context, false, false);
        self.see(wake.target_cpu);
    }

    /// The pending waking was the one that ended this sleep: the wait began at the switch-out.
    fn wait_from_repaired(&mut self) {
        (self.phase, self.how, self.pending) = (Phase::Woken, How::Repaired, false);
        (self.waking, self.queued) = (self.since, NEVER);
    }
}
