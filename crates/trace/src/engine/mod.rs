//! The state machine of threads and CPUs. Its rules are those of `docs/traces.md`: what a waking before the switch-out
//! means, what becomes unknown through a gap, when a thread id stands for another thread.

mod begin;
mod gaps;
mod lives;
mod observer;
#[cfg(test)]
mod tests;
mod tids;

use crate::event::{Cpu, Event, Missing, Prio, Tid, Wake, What};
use crate::names::Name;
use crate::numbered::PerCpu;
use crate::prev_state::{StateClass, StateId};
use begin::Begin;
use gaps::Gaps;
use lives::{MAX_TASKS, Tasks, task_of};
pub use observer::{Began, Censored, CensoredWait, Counts, Observer, Run, Task, TaskId, Wait};
use tids::{How, NEVER, NO_TASK, Phase, Slot, Tids};

/// A waking is traced on the waker's CPU, which may be any. If that CPU lost events, a pending waking may have been
/// cancelled and another one ended the sleep.
const ANY_CPU: u64 = u64::MAX;

/// Follows every thread and CPU of a trace.
#[derive(Debug)]
pub struct Engine {
    most_tasks: usize,
    cpus: PerCpu<CpuState>,
    tids: Tids,
    tasks: Tasks,
    gaps: Gaps,
    counts: Counts,
    now: u64,
    begin: Begin,
    /// Whether `sched_waking` is in the trace.
    wakings_recorded: bool,
}

/// A CPU, and the thread on it.
#[derive(Debug, Clone, Copy, Default)]
struct CpuState {
    /// `None` at the start and after a gap.
    current: Option<Tid>,
    /// Since when the CPU has been idle, if it is.
    idle_since: Option<u64>,
}

impl Default for Engine {
    fn default() -> Self {
        Self::remembering(MAX_TASKS)
    }
}

impl Engine {
    /// An engine that retires ended tasks as soon as it has seen this many tasks.
    pub fn remembering(most_tasks: usize) -> Self {
        Self {
            most_tasks,
            cpus: PerCpu::default(),
            tids: Tids::default(),
            tasks: Tasks::default(),
            gaps: Gaps::default(),
            counts: Counts::default(),
            now: 0,
            begin: Begin::default(),
            wakings_recorded: false,
        }
    }

    /// All tasks seen, by [`TaskId`].
    pub fn tasks(&self) -> &[Task] {
        &self.tasks.all
    }

    /// The task for which a thread id currently stands; `None` if it was not seen, or if its task has ended and was
    /// forgotten.
    #[inline]
    pub fn task(&self, tid: Tid) -> Option<TaskId> {
        self.tids.task(tid)
    }

    /// The thread on a CPU now.
    pub fn current(&self, cpu: Cpu) -> Option<Tid> {
        self.cpus.get(cpu).and_then(|c| c.current)
    }

    /// Totals so far.
    pub fn counts(&self) -> Counts {
        Counts { tasks: self.tasks.met, cpus: self.cpus.all().len() as u64, ..self.counts }
    }

    /// Whether a task with this id may have been seen; forgotten tasks make this uncertain.
    pub fn may_have_met(&self, tid: Tid) -> bool {
        self.tasks.met > self.tasks.all.len() as u64 || self.tasks.all.iter().any(|task| task.tid == tid)
    }

    /// Whether events are missing between `since` and now on one of the CPUs `seen_on` (bits of their numbers modulo
    /// 64).
    pub fn missed(&self, since: u64, seen_on: u64) -> bool {
        self.gaps.taint(since, self.now, seen_on)
    }

    /// Times of the first and of the latest event, ns; `None` before the first. If events are perf's own records of
    /// threads (`noted` of them, [`crate::Reader::noted_in_all`]), which begin long before the tracepoints, the first
    /// is one that cannot be such a record.
    pub fn span(&self, noted: u64) -> Option<(u64, u64)> {
        self.begin.at(noted > 0).map(|first| (first, self.now))
    }

    /// Looks for a `sched_waking` among the coming events: if a `sched_wakeup` before the first one lacks its waking,
    /// that was before the trace.
    pub fn expect(&mut self, events: &[Event]) {
        let is_waking = |event: &Event| matches!(event.what, What::Waking(_));
        self.wakings_recorded = self.wakings_recorded || events.iter().any(is_waking);
    }

    /// Processes the next event. `classes` are those of the trace's states, by number.
    #[inline]
    pub fn take<O: Observer>(&mut self, event: &Event, classes: &[StateClass], observer: &mut O) {
        if event.ts >= self.now {
            self.now = event.ts;
        } else {
            self.counts.backwards += 1;
        }
        let (ts, cpu) = (event.ts, event.cpu);
        if !self.begin.is_known() && !event.is_from_before() {
            self.begin.note(event);
        }
        if !self.gaps.has_events(cpu) && cpu != Cpu::ANY && event.begins_its_cpu() {
            self.gaps.begins(cpu);
        }
        match event.what {
            What::Switch { prev, next, prev_comm, next_comm, prev_state, prev_prio, next_prio } => {
                let class = classes.get(prev_state.index()).copied().unwrap_or(StateClass::Unknown);
                self.counts.switches += 1;
                self.change_current(ts, cpu, next, observer);
                if prev != Tid::IDLE {
                    self.leave(ts, cpu, (prev, prev_comm, prev_prio), (prev_state, class), observer);
                }
                if next != Tid::IDLE {
                    self.enter(ts, cpu, (next, next_comm, next_prio), observer);
                }
            }
            What::Waking(wake) if wake.tid != Tid::IDLE => self.waking(ts, &wake, observer),
            What::Wakeup(wake) if wake.tid != Tid::IDLE => self.wakeup(ts, &wake, observer),
            _ => return self.take_rare(event, observer),
        }
        self.counts.events += 1;
    }

    fn take_rare<O: Observer>(&mut self, event: &Event, observer: &mut O) {
        let ts = event.ts;
        // What a recorder found when it started is not an event of the trace either.
        self.counts.events += u64::from(!event.what.is_mark() && !event.is_from_before());
        match event.what {
            What::WakeupNew(wake) if wake.tid != Tid::IDLE => self.wakeup_new(ts, &wake, observer),
            What::Migrate { tid, orig_cpu, dest_cpu, .. } if tid != Tid::IDLE => {
                // It was on the queue that it leaves, whether or not it was seen there.
                let slot = self.tids.get(tid);
                slot.see(orig_cpu);
                slot.see(dest_cpu);
                self.gaps.sent(dest_cpu, ts);
            }
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
                self.counts.late_gaps += u64::from(ts < self.now);
                self.gaps.begin(event.cpu);
            }
            What::GapEnd { missing, .. } => self.gap_end(ts, event.cpu, missing, observer),
            What::WaitsUnknown { until } => self.gaps.waits_unknown(event.cpu, until.get()),
            _ => {}
        }
    }

    /// The end of the trace: reports unfinished intervals as such.
    pub fn finish<O: Observer>(&mut self, observer: &mut O) {
        let end = self.now;
        for slot in self.tids.all() {
            self.tasks.goes_on(slot, end);
            match slot.phase {
                Phase::Running => {
                    self.counts.cancelled += u64::from(slot.pending);
                    if self.gaps.taint_run(slot.since, slot.cpu) {
                        observer.run_censored(slot.task, Censored::Gap);
                    } else {
                        observer.ran(
                            slot.task,
                            &Run { start: slot.since, end, cpu: slot.cpu, prio: slot.prio, left: None },
                        );
                    }
                }
                Phase::Preempted | Phase::Woken => {
                    // It may have run, and ended or slept, where events are missing; no later event shows whether it
                    // did. If it is known from a waking only, it may have been on a CPU all the time.
                    let is_tainted = self.gaps.taint(slot.wait_start(), end, slot.seen_on);
                    let since = if slot.unsure || is_tainted { u64::MAX } else { self.gaps.complete_since() };
                    let at_least = slot.waited_at_least(since, end, self.wakings_recorded);
                    let why = if is_tainted { Censored::Gap } else { Censored::Unfinished };
                    observer.wait_censored(slot.task, &slot.censored(why, at_least));
                }
                Phase::Sleeping if slot.pending => {
                    observer.wait_censored(slot.task, &slot.censored(Censored::Unfinished, 0));
                }
                Phase::Sleeping | Phase::Unknown | Phase::Dead => {}
            }
            slot.phase = Phase::Unknown;
        }
        for cpu in (0..self.cpus.all().len()).map(|number| Cpu(number as u16)) {
            if let Some(since) = self.cpus.of(cpu).idle_since.take() {
                observer.idled(cpu, since, end);
            }
        }
    }

    /// Notes that `next` is on the CPU now; if the CPU was idle, reports for how long.
    #[inline]
    fn change_current<O: Observer>(&mut self, ts: u64, cpu: Cpu, next: Tid, observer: &mut O) {
        let state = self.cpus.of(cpu);
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
        (tid, comm, prio): (Tid, Name, Prio),
        (state, class): (StateId, StateClass),
        observer: &mut O,
    ) {
        let slot = task_of(&mut self.tids, &mut self.tasks, tid, comm);
        slot.take_prio(prio);
        match slot.phase {
            Phase::Running if slot.cpu == cpu && slot.since <= ts && !self.gaps.taint_run(slot.since, cpu) => {
                let left = Some((state, class));
                observer.ran(slot.task, &Run { start: slot.since, end: ts, cpu, prio: slot.prio, left });
            }
            Phase::Running => observer.run_censored(slot.task, Censored::Gap),
            // It was first seen in a waking while it was on the CPU all the time: that waking is pending.
            Phase::Woken if slot.unsure && slot.how == How::Waking => slot.pending = true,
            Phase::Woken if slot.unsure => {}
            Phase::Woken | Phase::Preempted => {
                observer.wait_censored(slot.task, &slot.censored(Censored::Contradiction, 0));
                slot.pending = false;
            }
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
    fn enter<O: Observer>(&mut self, ts: u64, cpu: Cpu, (tid, comm, prio): (Tid, Name, Prio), observer: &mut O) {
        let slot = task_of(&mut self.tids, &mut self.tasks, tid, comm);
        let task = slot.task;
        slot.take_prio(prio);
        let mut doubted = false;
        if slot.phase == Phase::Sleeping && slot.pending {
            doubted = self.gaps.taint(slot.waking, ts, ANY_CPU);
            self.counts.repaired += u64::from(!doubted);
            slot.wait_from_repaired();
        } else if slot.phase == Phase::Preempted && slot.pending {
            // Woken from a sleep that was not traced, if it may have been missed on any CPU.
            doubted = self.gaps.taint(slot.since, ts, ANY_CPU);
        }
        let began = match slot.phase {
            Phase::Woken | Phase::Preempted => Some(slot.began()),
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
            let start = slot.wait_start();
            let (waker, context) = if preempted { (tid, crate::Context::NONE) } else { (slot.waker, slot.context) };
            let queued = if preempted { None } else { Some(slot.queued).filter(|q| *q != NEVER) };
            slot.see(cpu);
            // If wakings are recorded, a missing one was lost or came before the trace.
            let late = began == Began::WakeupOnly && self.wakings_recorded;
            self.counts.unseen_wakings += u64::from(late);
            if ts < start || doubted || late || self.gaps.taint(start, ts, slot.seen_on) {
                let at_least = slot.waited_at_least(self.gaps.complete_since(), ts, self.wakings_recorded);
                observer.wait_censored(task, &slot.censored(Censored::Gap, at_least));
            } else {
                let (left, prio) = (slot.left(), slot.prio);
                observer.waited(task, &Wait { began, left, prio, start, queued, end: ts, cpu, waker, context });
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
        self.wakings_recorded = true;
        let slot = task_of(&mut self.tids, &mut self.tasks, wake.tid, wake.comm);
        slot.take_prio(wake.prio);
        match slot.phase {
            Phase::Running => {
                self.counts.cancelled += u64::from(slot.pending);
                (slot.pending, slot.waking, slot.waker, slot.context) = (true, ts, wake.waker, wake.context);
                return;
            }
            // Preempted on its way to sleep: the waking keeps it from sleeping, and its wait continues. Or it has run
            // and slept unseen since.
            Phase::Preempted => {
                self.counts.cancelled += 1;
                slot.pending = true;
                return;
            }
            Phase::Sleeping => {
                self.counts.cancelled += u64::from(slot.pending);
                // The CPU on which it ran last, seen or not.
                slot.see(wake.target_cpu);
                if slot.since <= ts && !self.gaps.taint(slot.since, ts, slot.seen_on) {
                    observer.slept(slot.task, slot.class, slot.since, ts);
                }
            }
            Phase::Woken if slot.unsure => self.counts.cancelled += 1,
            // Only a sleeping thread is woken: it must have run and slept unseen.
            Phase::Woken => {
                self.counts.double_wakings += 1;
                observer.wait_censored(slot.task, &slot.censored(Censored::Contradiction, 0));
            }
            Phase::Unknown | Phase::Dead => slot.unsure = true,
        }
        slot.woken(ts, NEVER, How::Waking, wake);
    }

    #[inline]
    fn wakeup<O: Observer>(&mut self, ts: u64, wake: &Wake, observer: &mut O) {
        self.gaps.sent(wake.target_cpu, ts);
        let slot = task_of(&mut self.tids, &mut self.tasks, wake.tid, wake.comm);
        slot.take_prio(wake.prio);
        match slot.phase {
            // It was on a queue already: it must have run and slept unseen.
            Phase::Woken if slot.queued != NEVER && !slot.unsure => {
                self.counts.double_wakings += 1;
                observer.wait_censored(slot.task, &slot.censored(Censored::Contradiction, 0));
                slot.woken(ts, ts, How::WakeupOnly, wake);
            }
            Phase::Woken => {
                if slot.queued == NEVER {
                    slot.queued = ts;
                }
                slot.see(wake.target_cpu);
            }
            // A wakeup of a task that is still running: it never slept.
            Phase::Running => {
                self.counts.cancelled += u64::from(slot.pending);
                slot.pending = false;
            }
            Phase::Sleeping if slot.pending && !self.gaps.taint(slot.waking, ts, ANY_CPU) => {
                self.counts.repaired += 1;
                slot.wait_from_repaired();
                slot.queued = ts;
                slot.see(wake.target_cpu);
            }
            Phase::Sleeping => {
                // If wakings are recorded, the one that ended the sleep came earlier, at an unknown time.
                let known = !slot.pending && !self.wakings_recorded && slot.since <= ts;
                if known && !self.gaps.taint(slot.since, ts, slot.seen_on) {
                    observer.slept(slot.task, slot.class, slot.since, ts);
                }
                slot.woken(ts, ts, How::WakeupOnly, wake);
            }
            Phase::Unknown | Phase::Dead => {
                slot.unsure = true;
                slot.woken(ts, ts, How::WakeupOnly, wake);
            }
            Phase::Preempted => slot.pending = true,
        }
    }

    fn gap_end<O: Observer>(&mut self, ts: u64, cpu: Cpu, missing: Missing, observer: &mut O) {
        self.gaps.end(cpu, ts);
        let Some(state) = self.cpus.get_mut(cpu) else { return };
        state.idle_since = None;
        let Some(current) = state.current.take().filter(|c| *c != Tid::IDLE) else { return };
        let slot = self.tids.get(current);
        if slot.phase == Phase::Running && slot.cpu == cpu {
            let why = if missing == Missing::Chain { Censored::Contradiction } else { Censored::Gap };
            observer.run_censored(slot.task, why);
            (slot.phase, slot.pending, slot.class) = (Phase::Unknown, false, StateClass::Unknown);
        }
    }
}

impl Slot {
    /// Whether only its name is known.
    fn is_name_only(&self) -> bool {
        self.phase == Phase::Unknown && self.seen_on == 0
    }

    /// How its wait began; if it is asleep with a waking pending, it has been waiting since it left its CPU.
    fn began(&self) -> Began {
        match (self.phase, self.how) {
            (Phase::Preempted, _) => Began::Preempted,
            (Phase::Sleeping, _) | (_, How::Repaired) => Began::Repaired,
            (_, How::Waking) => Began::Waking,
            (_, How::WakeupOnly) => Began::WakeupOnly,
            (_, How::New) => Began::New,
        }
    }

    /// The state in which it left its CPU before the wait; a new thread has none.
    fn left(&self) -> StateClass {
        if self.began() == Began::New { StateClass::Unknown } else { self.class }
    }

    /// Its wait, whose end is not known.
    fn censored(&self, why: Censored, at_least: u64) -> CensoredWait {
        CensoredWait { began: self.began(), left: self.left(), prio: self.prio, why, at_least }
    }

    /// How long it has certainly waited until `now`, if no event has been missing since `complete_since`: if it was not
    /// waiting then, a later event shows that it was woken.
    #[cold]
    fn waited_at_least(&self, complete_since: u64, now: u64, wakings_recorded: bool) -> u64 {
        let start = self.wait_start();
        let may_have_slept = self.phase == Phase::Preempted && (self.pending || !wakings_recorded);
        if may_have_slept && complete_since > start { 0 } else { now.saturating_sub(start.max(complete_since)) }
    }

    /// When its wait began, as far as known.
    fn wait_start(&self) -> u64 {
        if self.phase == Phase::Woken { self.waking } else { self.since }
    }

    /// Takes the priority from an event, if the event has one.
    #[inline]
    fn take_prio(&mut self, prio: Prio) {
        if prio != Prio::UNKNOWN {
            self.prio = prio;
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
