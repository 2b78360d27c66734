//! What the state machine reports: what each thread did, one finished interval at a time.

use super::Engine;
use crate::event::{Context, Cpu, Event, Prio, Tid};
use crate::names::Name;
use crate::prev_state::{StateClass, StateId};

/// A task's number, in the order in which tasks were seen. A reused thread id is another task. If there are very many
/// tasks, the numbers of ended ones are reused ([`Observer::retired`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

impl TaskId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A thread from its start to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub tid: Tid,
    /// Its name; if it was renamed, the last one.
    pub comm: Name,
    /// Its first name, if that was another.
    pub first_comm: Option<Name>,
    /// When it was forked, ns; `None` if it existed before the trace.
    pub start: Option<u64>,
    /// The thread that forked it.
    pub parent: Option<Tid>,
    /// When it was switched out for the last time, ns.
    pub end: Option<u64>,
}

/// How a wait for a CPU began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Began {
    /// Switched out while runnable (`R`, `R+`).
    Preempted,
    /// By a `sched_waking` that was traced after the thread had gone to sleep.
    Waking,
    /// By a `sched_waking` that was traced before the thread's own switch-out; the wait begins at the switch-out.
    Repaired,
    /// By a `sched_wakeup` without its waking: the wait does not include the time until the thread was placed.
    WakeupOnly,
    /// By `sched_wakeup_new`: its first wait.
    New,
}

/// A wait for a CPU whose start and end are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// How it began.
    pub began: Began,
    /// The state in which the thread had left its CPU; unknown for a new thread.
    pub left: StateClass,
    /// Its priority when it was switched in; if the switch does not have it, the one known before.
    pub prio: Prio,
    /// When it began, ns.
    pub start: u64,
    /// When the thread was put on a runqueue, ns; between `start` and then it was being placed. `None` if that was not
    /// traced.
    pub queued: Option<u64>,
    /// When it was switched in, ns.
    pub end: u64,
    /// The CPU on which it was switched in.
    pub cpu: Cpu,
    /// The thread that woke it; itself if it was preempted.
    pub waker: Tid,
    /// The waker's context.
    pub context: Context,
}

impl Wait {
    /// Its length, ns.
    pub fn ns(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// A time on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Switched in, ns.
    pub start: u64,
    /// Switched out, ns.
    pub end: u64,
    /// Where.
    pub cpu: Cpu,
    /// Its priority at the end.
    pub prio: Prio,
    /// The state in which it left; `None` if the trace ends first.
    pub left: Option<(StateId, StateClass)>,
}

/// Why an interval is censored: counted, but not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Censored {
    /// Events were missing during the interval, on a CPU where the thread may have run unseen.
    Gap,
    /// The next event cannot follow: an event is missing, though no loss was reported.
    Contradiction,
    /// The trace ends in it.
    Unfinished,
}

/// A wait whose end is not known, or that may not have been one: counted but not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CensoredWait {
    /// How it began.
    pub began: Began,
    /// The state in which the thread had left its CPU; unknown for a new thread.
    pub left: StateClass,
    /// Its priority, from its latest switch or waking.
    pub prio: Prio,
    /// Why it is not measured.
    pub why: Censored,
    /// The wait lasted at least this long until now, ns: in that time no event is missing, and none shows the thread on
    /// a CPU. 0 if nothing is known.
    pub at_least: u64,
}

/// Receives the results of the state machine.
pub trait Observer {
    /// A thread ran. An interval that the end of the trace cuts off has no `left`.
    fn ran(&mut self, _task: TaskId, _run: &Run) {}
    /// A thread waited for a CPU and got it.
    fn waited(&mut self, _task: TaskId, _wait: &Wait) {}
    /// A wait whose end is not known, or that may not have been one.
    fn wait_censored(&mut self, _task: TaskId, _wait: &CensoredWait) {}
    /// A run whose start or end is not known.
    fn run_censored(&mut self, _task: TaskId, _why: Censored) {}
    /// A thread slept from its switch-out to its waking.
    fn slept(&mut self, _task: TaskId, _state: StateClass, _start: u64, _end: u64) {}
    /// A thread left a CPU, whether or not its run is known.
    fn left(&mut self, _task: TaskId, _cpu: Cpu, _class: StateClass) {}
    /// A thread was switched in on another CPU than before.
    fn moved(&mut self, _task: TaskId, _from: Cpu, _to: Cpu) {}
    /// The task has ended and its number will be reused, because there are too many tasks to remember each.
    fn retired(&mut self, _task: TaskId, _known: &Task) {}
    /// A CPU was idle.
    fn idled(&mut self, _cpu: Cpu, _start: u64, _end: u64) {}
}

/// Dynamic dispatch: analyses that are not speed-critical share one copy of the state machine, to save code size.
impl Observer for &mut dyn Observer {
    fn ran(&mut self, task: TaskId, run: &Run) {
        (**self).ran(task, run);
    }
    fn waited(&mut self, task: TaskId, wait: &Wait) {
        (**self).waited(task, wait);
    }
    fn wait_censored(&mut self, task: TaskId, wait: &CensoredWait) {
        (**self).wait_censored(task, wait);
    }
    fn run_censored(&mut self, task: TaskId, why: Censored) {
        (**self).run_censored(task, why);
    }
    fn slept(&mut self, task: TaskId, state: StateClass, start: u64, end: u64) {
        (**self).slept(task, state, start, end);
    }
    fn left(&mut self, task: TaskId, cpu: Cpu, class: StateClass) {
        (**self).left(task, cpu, class);
    }
    fn moved(&mut self, task: TaskId, from: Cpu, to: Cpu) {
        (**self).moved(task, from, to);
    }
    fn retired(&mut self, task: TaskId, known: &Task) {
        (**self).retired(task, known);
    }
    fn idled(&mut self, cpu: Cpu, start: u64, end: u64) {
        (**self).idled(cpu, start, end);
    }
}

impl Engine {
    /// [`Engine::take`] for callers that need not be fast; they all share one copy of the state machine.
    pub fn take_dyn(&mut self, event: &Event, classes: &[StateClass], mut observer: &mut dyn Observer) {
        self.take(event, classes, &mut observer);
    }

    /// [`Engine::finish`] after [`Engine::take_dyn`].
    pub fn finish_dyn(&mut self, mut observer: &mut dyn Observer) {
        self.finish(&mut observer);
    }
}

/// Totals of a trace, over all tasks and CPUs: events, what became of wakings, gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Events processed, excluding what a recorder knows about the time before the trace, and marks of gaps.
    pub events: u64,
    /// `sched_switch` events.
    pub switches: u64,
    /// Wakings traced before the switch-out of the sleep that they ended: repaired.
    pub repaired: u64,
    /// Wakings of a thread that was not asleep yet, and then did not sleep: cancelled sleeps.
    pub cancelled: u64,
    /// Threads switched in after a sleep without a waking.
    pub unseen_wakings: u64,
    /// Threads woken twice without running in between.
    pub double_wakings: u64,
    /// Events whose time is before that of the previous one.
    pub backwards: u64,
    /// Gaps in the events of a CPU.
    pub gaps: u64,
    /// Gaps that were found after later events had been processed: waits that had ended by then were reported, though
    /// they overlap the gap.
    pub late_gaps: u64,
    /// Tasks that were met.
    pub tasks: u64,
    /// One more than the largest CPU number in a switch.
    pub cpus: u64,
}
