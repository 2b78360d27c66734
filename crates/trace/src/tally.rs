//! What each task in a trace did, counted: the input of most analyses, small however long the trace is.

mod censored;

use crate::cells::Cells;
use crate::engine::{Began, Censored, CensoredWait, Counts, Engine, Observer, Run, Task, TaskId, Wait};
use crate::event::{Cpu, Prio, Tid};
use crate::names::Name;
use crate::numbered::{PerCpu, PerTask};
use crate::prev_state::StateClass;
use crate::{Reader, TimeWindow, TraceError, for_each_batch};
use censored::LeastWait;
use std::collections::BTreeMap;

/// The longest wait of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Longest {
    /// Its start, ns of the trace's clock.
    pub start: u64,
    /// Its end, ns.
    pub end: u64,
    /// Where it ended.
    pub cpu: u16,
}

/// Which waits are counted, by the state in which the thread had left its CPU and by its priority.
pub type WantedWaits<'a> = Option<&'a dyn Fn(StateClass, Prio) -> bool>;

/// What one task did.
#[derive(Debug, Clone, Default)]
pub struct TaskTally {
    /// Number of known times on a CPU; the last one may end with the trace.
    pub runs: u64,
    /// Their sum, ns.
    pub run_ns: u64,
    /// The longest, ns.
    pub longest_run_ns: u64,
    /// Switched out asleep or dead, like the kernel's `nvcsw`.
    pub voluntary: u64,
    /// Switched out runnable, like the kernel's `nivcsw`.
    pub involuntary: u64,
    /// Switched in on another CPU than before.
    pub migrations: u64,
    /// Waking → switched in.
    pub wakeup: Cells,
    /// Waking → on a runqueue, for waits where both were traced.
    pub placement: Cells,
    /// On a runqueue → switched in, for waits where the former was traced.
    pub queueing: Cells,
    /// Switched out runnable → switched in.
    pub preempt: Cells,
    /// The longest of `wakeup`.
    pub longest_wakeup: Longest,
    /// The longest of `preempt`.
    pub longest_preempt: Longest,
    /// Waits in `wakeup` that began at the switch-out, because their waking came before it.
    pub repaired: u64,
    /// Waits after wakeups that are in no distribution, by reason.
    pub censored_wakeup: [u64; 3],
    /// The same for waits after preemptions.
    pub censored_preempt: [u64; 3],
    /// Runs whose start or end is unknown.
    pub censored_runs: u64,
}

impl TaskTally {
    /// Whether nothing but its name was seen.
    pub fn is_empty(&self) -> bool {
        self.runs + self.voluntary + self.involuntary + self.censored_runs == 0 && !self.has_waits()
    }

    /// Whether it waited, including censored waits.
    pub fn has_waits(&self) -> bool {
        let censored = self.censored_wakeup.iter().chain(&self.censored_preempt).sum::<u64>();
        self.wakeup.count() + self.preempt.count() + censored > 0
    }
}

impl Longest {
    /// Whether it takes the place of `other` when both are added up.
    pub fn replaces(&self, other: &Self) -> bool {
        self.end.saturating_sub(self.start) > other.end.saturating_sub(other.start) || other.end == 0
    }

    fn merge(&mut self, other: &Self) {
        if other.replaces(self) {
            *self = *other;
        }
    }
}

impl TaskTally {
    /// Adds what another task did.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.run_ns += other.run_ns;
        self.longest_run_ns = self.longest_run_ns.max(other.longest_run_ns);
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.migrations += other.migrations;
        self.repaired += other.repaired;
        self.censored_runs += other.censored_runs;
        self.wakeup.merge(&other.wakeup);
        self.placement.merge(&other.placement);
        self.queueing.merge(&other.queueing);
        self.preempt.merge(&other.preempt);
        self.longest_wakeup.merge(&other.longest_wakeup);
        self.longest_preempt.merge(&other.longest_preempt);
        for (sum, more) in self.censored_wakeup.iter_mut().zip(other.censored_wakeup) {
            *sum += more;
        }
        for (sum, more) in self.censored_preempt.iter_mut().zip(other.censored_preempt) {
            *sum += more;
        }
    }
}

/// What one CPU did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTally {
    /// Threads left it.
    pub switches: u64,
    /// Time of known runs, ns.
    pub busy_ns: u64,
    /// Time of the idle thread between known switches, ns.
    pub idle_ns: u64,
}

/// How ended tasks are remembered if there are too many to remember each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ended {
    /// Their name.
    pub comm: Name,
    /// Their first name, if that was another.
    pub first_comm: Option<Name>,
    /// Their id, if that matters.
    pub tid: Option<Tid>,
}

/// Everything counted in a trace.
#[derive(Debug, Default)]
pub struct Tally {
    /// Each task and what it did, in the order in which tasks were seen.
    pub tasks: Vec<(Task, TaskTally)>,
    /// If there were too many to remember each: ended tasks added up, with their number.
    pub retired: Vec<(Ended, u64, TaskTally)>,
    /// Each CPU, by number.
    pub cpus: Vec<CpuTally>,
    /// Totals over all tasks and CPUs.
    pub counts: Counts,
    /// Times of the first and the last event, ns; `None` for a trace without events.
    pub span: Option<(u64, u64)>,
}

impl Tally {
    /// Whether a task with this id may be in the trace; tasks that were added up make this uncertain.
    pub fn may_have_met(&self, tid: Tid) -> bool {
        !self.retired.is_empty() || self.tasks.iter().any(|(task, _)| task.tid == tid)
    }
}

/// Counts while the engine goes.
struct Counter<'a> {
    window: &'a TimeWindow,
    wanted: WantedWaits<'a>,
    ended: &'a dyn Fn(&Task) -> Option<Ended>,
    /// All of the trace is in the window.
    whole: bool,
    /// Time of the event that the engine is processing.
    now: u64,
    tasks: PerTask<TaskTally>,
    retired: BTreeMap<Ended, (u64, TaskTally)>,
    cpus: PerCpu<CpuTally>,
    /// The censored waits that certainly lasted longest, after wakeups and preemptions.
    censored: [LeastWait; 2],
}

/// Reads a trace to its end and counts what its tasks did; only the wanted waits are counted, with `None` all. If there
/// are too many tasks, `ended` determines how an ended one is remembered; with `None`, it is not.
pub fn tally(
    reader: &mut Reader,
    window: &TimeWindow,
    wanted: WantedWaits<'_>,
    ended: &dyn Fn(&Task) -> Option<Ended>,
) -> Result<Tally, TraceError> {
    let mut engine = Engine::default();
    let (tasks, cpus) = (PerTask::default(), PerCpu::default());
    let whole = *window == TimeWindow::default();
    let retired = BTreeMap::new();
    let mut counter =
        Counter { window, wanted, ended, whole, now: 0, tasks, retired, cpus, censored: Default::default() };
    for_each_batch(reader, |batch, classes| {
        engine.expect(batch);
        for event in batch {
            counter.now = event.ts;
            engine.take(event, classes, &mut counter);
        }
    })?;
    engine.finish(&mut counter);
    let (counts, span) = (engine.counts(), engine.span(reader.noted_in_all()));
    let done = std::mem::take(&mut counter.tasks).first(engine.tasks().len());
    let tasks: Vec<(Task, TaskTally)> = engine.tasks().iter().cloned().zip(done).collect();
    let all = || tasks.iter().map(|(_, done)| done).chain(counter.retired.values().map(|(_, done)| done));
    let longest = [all().map(|done| done.wakeup.max_ns()).max(), all().map(|done| done.preempt.max_ns()).max()];
    for ((censored, longest), what) in counter.censored.iter().zip(longest).zip(["wakeup", "preemption"]) {
        censored.report(what, longest.unwrap_or(0), counts.switches > 0, &tasks, reader);
    }
    let retired = counter.retired.into_iter().map(|(ended, (number, done))| (ended, number, done)).collect();
    Ok(Tally { tasks, retired, cpus: counter.cpus.all().to_vec(), counts, span })
}

impl Counter<'_> {
    /// Whether an interval that ends then, on that CPU, counts.
    #[inline]
    fn counts(&self, end: u64, cpu: Cpu) -> bool {
        self.whole || self.window.has(end, cpu)
    }
}

impl Observer for Counter<'_> {
    #[inline(always)]
    fn ran(&mut self, task: TaskId, run: &Run) {
        if !self.counts(run.end, run.cpu) {
            return;
        }
        let ns = run.end.saturating_sub(run.start);
        let tally = self.tasks.of(task);
        tally.runs += 1;
        tally.run_ns += ns;
        tally.longest_run_ns = tally.longest_run_ns.max(ns);
        self.cpus.of(run.cpu).busy_ns += ns;
    }

    #[inline(always)]
    fn waited(&mut self, task: TaskId, wait: &Wait) {
        if !self.counts(wait.end, wait.cpu) || self.wanted.is_some_and(|wanted| !wanted(wait.left, wait.prio)) {
            return;
        }
        let ns = wait.ns();
        let longest = Longest { start: wait.start, end: wait.end, cpu: wait.cpu.0 };
        let tally = self.tasks.of(task);
        if wait.began == Began::Preempted {
            if ns > tally.preempt.max_ns() || tally.preempt.count() == 0 {
                tally.longest_preempt = longest;
            }
            tally.preempt.add(ns);
            return;
        }
        if ns > tally.wakeup.max_ns() || tally.wakeup.count() == 0 {
            tally.longest_wakeup = longest;
        }
        tally.wakeup.add(ns);
        if let Some(queued) = wait.queued {
            tally.queueing.add(wait.end.saturating_sub(queued));
            if matches!(wait.began, Began::Waking | Began::Repaired) {
                tally.placement.add(queued.saturating_sub(wait.start));
            }
        }
        tally.repaired += u64::from(wait.began == Began::Repaired);
    }

    fn wait_censored(&mut self, task: TaskId, wait: &CensoredWait) {
        // It is not known on which CPU it would have ended.
        if !self.window.has_time(self.now) || self.wanted.is_some_and(|wanted| !wanted(wait.left, wait.prio)) {
            return;
        }
        let tally = self.tasks.of(task);
        let preempted = wait.began == Began::Preempted;
        let kind = if preempted { &mut tally.censored_preempt } else { &mut tally.censored_wakeup };
        kind[wait.why as usize] += 1;
        self.censored[usize::from(preempted)].take(task, wait, self.now);
    }

    fn run_censored(&mut self, task: TaskId, _why: Censored) {
        if self.window.has_time(self.now) {
            self.tasks.of(task).censored_runs += 1;
        }
    }

    #[inline(always)]
    fn left(&mut self, task: TaskId, cpu: Cpu, class: StateClass) {
        if !self.counts(self.now, cpu) {
            return;
        }
        let tally = self.tasks.of(task);
        if class.is_runnable() {
            tally.involuntary += 1;
        } else {
            tally.voluntary += 1;
        }
        self.cpus.of(cpu).switches += 1;
    }

    fn moved(&mut self, task: TaskId, _from: Cpu, to: Cpu) {
        if !self.counts(self.now, to) {
            return;
        }
        self.tasks.of(task).migrations += 1;
    }

    fn retired(&mut self, task: TaskId, known: &Task) {
        self.censored.iter_mut().for_each(|longest| longest.retire(task, known));
        let done = std::mem::take(self.tasks.of(task));
        if let Some(ended) = (self.ended)(known) {
            let (number, sum) = self.retired.entry(ended).or_default();
            *number += 1;
            sum.merge(&done);
        }
    }

    fn idled(&mut self, cpu: Cpu, start: u64, end: u64) {
        if !self.counts(end, cpu) {
            return;
        }
        self.cpus.of(cpu).idle_ns += end.saturating_sub(start);
    }
}
