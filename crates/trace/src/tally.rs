//! What every task of a trace did, counted: the input of most analyses, small whatever the length of the trace.

use crate::cells::Cells;
use crate::engine::{Began, Censored, Counts, Engine, Observer, Run, Task, TaskId, Wait};
use crate::event::{Cpu, Event};
use crate::prev_state::StateClass;
use crate::{BATCH, Reader, TimeWindow, TraceError};

/// The longest wait of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Longest {
    /// Its begin, ns of the trace's clock.
    pub start: u64,
    /// Its end, ns.
    pub end: u64,
    /// Where it ended.
    pub cpu: u16,
}

/// What one task did.
#[derive(Debug, Clone, Default)]
pub struct TaskTally {
    /// Times on a CPU that are known, the last one up to the end of the trace.
    pub runs: u64,
    /// Their sum, ns.
    pub run_ns: u64,
    /// The longest, ns.
    pub longest_run_ns: u64,
    /// Switched out asleep or dead, as the kernel's `nvcsw`.
    pub voluntary: u64,
    /// Switched out runnable, as the kernel's `nivcsw`.
    pub involuntary: u64,
    /// Switched in on another CPU than before.
    pub migrations: u64,
    /// Waking → switched in.
    pub wakeup: Cells,
    /// Waking → on a queue, of the waits where both were traced.
    pub placement: Cells,
    /// On a queue → switched in, of the waits where that was traced.
    pub queueing: Cells,
    /// Switched out runnable → switched in.
    pub preempt: Cells,
    /// The longest of `wakeup`.
    pub longest_wakeup: Longest,
    /// The longest of `preempt`.
    pub longest_preempt: Longest,
    /// Waits of `wakeup` that began at the switch-out, their waking having come before it.
    pub repaired: u64,
    /// Waits that are not in the distributions: wakeups and preemptions, by reason.
    pub censored_wakeup: [u64; 3],
    /// See [`TaskTally::censored_wakeup`].
    pub censored_preempt: [u64; 3],
    /// Runs of which start or end is unknown.
    pub censored_runs: u64,
}

impl TaskTally {
    /// Nothing was seen of it but its name.
    pub fn is_empty(&self) -> bool {
        let censored = self.censored_wakeup.iter().chain(&self.censored_preempt).sum::<u64>() + self.censored_runs;
        let waits = self.wakeup.count() + self.preempt.count();
        self.runs + self.voluntary + self.involuntary + waits + censored == 0
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

/// Everything counted in a trace.
#[derive(Debug, Default)]
pub struct Tally {
    /// Each task with what it did, in the order in which they were met.
    pub tasks: Vec<(Task, TaskTally)>,
    /// Each CPU, by number.
    pub cpus: Vec<CpuTally>,
    /// What happened to wakings.
    pub counts: Counts,
    /// Times of the first and the last event, ns; `None` of a trace without events.
    pub span: Option<(u64, u64)>,
}

/// Counts while the engine goes.
#[derive(Debug)]
struct Counter<'a> {
    window: &'a TimeWindow,
    /// Of the event that the engine takes.
    now: u64,
    tasks: Vec<TaskTally>,
    cpus: Vec<CpuTally>,
}

/// Reads a trace to its end and counts what its tasks did.
pub fn tally(reader: &mut Reader, window: &TimeWindow) -> Result<Tally, TraceError> {
    let mut engine = Engine::default();
    let mut counter = Counter { window, now: 0, tasks: Vec::new(), cpus: Vec::new() };
    let mut batch: Vec<Event> = Vec::with_capacity(BATCH);
    while reader.next_batch(&mut batch)? {
        let classes = reader.states().classes();
        for event in &batch {
            counter.now = event.ts;
            engine.take(event, &classes, &mut counter);
        }
    }
    engine.finish(&mut counter);
    let (counts, span) = (engine.counts(), engine.span());
    counter.tasks.resize(engine.tasks().len(), TaskTally::default());
    let tasks = engine.tasks().iter().cloned().zip(counter.tasks).collect();
    Ok(Tally { tasks, cpus: counter.cpus, counts, span })
}

impl Counter<'_> {
    #[inline]
    fn task(&mut self, task: TaskId) -> &mut TaskTally {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, TaskTally::default());
        }
        &mut self.tasks[task.index()]
    }

    #[inline]
    fn cpu(&mut self, cpu: Cpu) -> &mut CpuTally {
        let at = usize::from(cpu.0);
        if at >= self.cpus.len() {
            self.cpus.resize(at + 1, CpuTally::default());
        }
        &mut self.cpus[at]
    }
}

impl Observer for Counter<'_> {
    #[inline]
    fn ran(&mut self, task: TaskId, run: &Run) {
        if !self.window.has(run.end, run.cpu) {
            return;
        }
        let ns = run.end.saturating_sub(run.start);
        let tally = self.task(task);
        tally.runs += 1;
        tally.run_ns += ns;
        tally.longest_run_ns = tally.longest_run_ns.max(ns);
        self.cpu(run.cpu).busy_ns += ns;
    }

    #[inline]
    fn waited(&mut self, task: TaskId, wait: &Wait) {
        if !self.window.has(wait.end, wait.cpu) {
            return;
        }
        let ns = wait.ns();
        let longest = Longest { start: wait.start, end: wait.end, cpu: wait.cpu.0 };
        let tally = self.task(task);
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

    fn wait_censored(&mut self, task: TaskId, began: Began, why: Censored) {
        // Where it would have ended is not known.
        if self.window.cpus.is_none() && !self.window.has(self.now, Cpu::ANY) {
            return;
        }
        let tally = self.task(task);
        let kind = if began == Began::Preempted { &mut tally.censored_preempt } else { &mut tally.censored_wakeup };
        kind[why as usize] += 1;
    }

    fn run_censored(&mut self, task: TaskId, _why: Censored) {
        self.task(task).censored_runs += 1;
    }

    #[inline]
    fn left(&mut self, task: TaskId, cpu: Cpu, class: StateClass) {
        if !self.window.has(self.now, cpu) {
            return;
        }
        let tally = self.task(task);
        if class.is_runnable() {
            tally.involuntary += 1;
        } else {
            tally.voluntary += 1;
        }
        self.cpu(cpu).switches += 1;
    }

    fn moved(&mut self, task: TaskId, _from: Cpu, to: Cpu) {
        if !self.window.has(self.now, to) {
            return;
        }
        self.task(task).migrations += 1;
    }

    fn idled(&mut self, cpu: Cpu, start: u64, end: u64) {
        if !self.window.has(end, cpu) {
            return;
        }
        self.cpu(cpu).idle_ns += end.saturating_sub(start);
    }
}
