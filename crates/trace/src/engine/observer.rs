//! What the state machine reports: what each thread did, one finished interval at a time.

use super::Engine;
use crate::event::{Context, Cpu, Event, Prio, Tid};
use crate::names::Name;
use crate::prev_state::{StateClass, StateId};

/// A task's number, in the order in which they were met. A thread id that is used again is another task. Where there are
/// very many, the numbers of those that have ended are used again ([`Observer::retired`]).
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
    /// Its name; the last one where it was renamed.
    pub comm: Name,
    /// Its first name, where that was another.
    pub first_comm: Option<Name>,
    /// When it was forked, ns; `None` where it was there before the trace.
    pub start: Option<u64>,
    /// Who forked it.
    pub parent: Option<Tid>,
    /// When it was switched out for the last time, ns.
    pub end: Option<u64>,
}

/// How a wait for a CPU began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Began {
    /// Switched out while runnable (`R`, `R+`).
    Preempted,
    /// By a `sched_waking` that was seen after the thread had gone to sleep.
    Waking,
    /// By a `sched_waking` that was traced before the thread's own switch-out; the wait begins at the switch-out.
    Repaired,
    /// By a `sched_wakeup` without its waking: the time of the placement is not in it.
    WakeupOnly,
    /// By `sched_wakeup_new`: its first wait.
    New,
}

/// A wait for a CPU that is known from end to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// How it began.
    pub began: Began,
    /// The state in which the thread had left its CPU; unknown of a new one.
    pub left: StateClass,
    /// Its priority when it was switched in; as known before if the switch does not have it.
    pub prio: Prio,
    /// When it began, ns.
    pub start: u64,
    /// When a queue had the thread, ns; between `start` and here it was being placed. `None` where that was not traced.
    pub queued: Option<u64>,
    /// When it was switched in, ns.
    pub end: u64,
    /// Where it was switched in.
    pub cpu: Cpu,
    /// Who woke it; itself where it was preempted.
    pub waker: Tid,
    /// Where the waker was.
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
    /// Why it left; `None` if the trace ends first.
    pub left: Option<(StateId, StateClass)>,
}

/// Why an interval is censored: counted, but not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Censored {
    /// Events were missing in it, on a CPU where the thread may have run unseen.
    Gap,
    /// What came next cannot follow it: an event of it is missing, though nothing was reported lost.
    Contradiction,
    /// The trace ends in it.
    Unfinished,
}

/// A wait that is not known to the end or to be one: counted and not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CensoredWait {
    /// How it began.
    pub began: Began,
    /// The state in which the thread had left its CPU; unknown of a new one.
    pub left: StateClass,
    /// Its priority, as the latest switch or waking of it said.
    pub prio: Prio,
    /// Why it is not measured.
    pub why: Censored,
    /// It lasted for this long before now at least, ns: since then no event is missing, and none shows it on a CPU. 0 where
    /// nothing is known.
    pub at_least: u64,
}

/// Receives what the state machine finds.
pub trait Observer {
    /// A thread ran. An interval that the end of the trace cuts off has no `left`.
    fn ran(&mut self, _task: TaskId, _run: &Run) {}
    /// A thread waited for a CPU and got it.
    fn waited(&mut self, _task: TaskId, _wait: &Wait) {}
    /// A wait that is not known to the end or to be one.
    fn wait_censored(&mut self, _task: TaskId, _wait: &CensoredWait) {}
    /// A run of which start or end is not known.
    fn run_censored(&mut self, _task: TaskId, _why: Censored) {}
    /// A thread slept from its switch-out to its waking.
    fn slept(&mut self, _task: TaskId, _state: StateClass, _start: u64, _end: u64) {}
    /// A thread left a CPU, whether or not its run is known.
    fn left(&mut self, _task: TaskId, _cpu: Cpu, _class: StateClass) {}
    /// A thread was switched in on another CPU than before.
    fn moved(&mut self, _task: TaskId, _from: Cpu, _to: Cpu) {}
    /// The task has ended, and its number will be reused: there are too many to remember each.
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
    /// [`Engine::take`] for callers that need not be fast: all of them share one copy of the state machine.
    pub fn tell(&mut self, event: &Event, classes: &[StateClass], mut observer: &mut dyn Observer) {
        self.take(event, classes, &mut observer);
    }

    /// [`Engine::finish`] after [`Engine::tell`].
    pub fn finish_telling(&mut self, mut observer: &mut dyn Observer) {
        self.finish(&mut observer);
    }
}

/// What happened to wakings, over all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Events taken; what a recorder knows of the time before the trace, and marks of gaps, do not count.
    pub events: u64,
    /// `sched_switch` events.
    pub switches: u64,
    /// Wakings traced before the switch-out that they ended: repaired.
    pub repaired: u64,
    /// Wakings of a thread that had not slept yet, and then did not: cancelled sleeps.
    pub cancelled: u64,
    /// Switched in after a sleep without a waking.
    pub unseen_wakings: u64,
    /// Woken twice without having run.
    pub double_wakings: u64,
    /// Events of a time before the one just taken.
    pub backwards: u64,
    /// Gaps in the events of some CPU.
    pub gaps: u64,
    /// Those that were found when later events had been taken: waits that ended by then are told, though they overlap one.
    pub late_gaps: u64,
    /// Tasks that were met.
    pub tasks: u64,
    /// One more than the largest number of a CPU with a switch.
    pub cpus: u64,
}
