//! Follows work items from being queued to being executed, and the kworkers that execute them.

use super::spans::Spans;
use crate::trace::follow::{AfterEvent, Analysis, BeforeEvent, KnownTasks};
use crate::trace::scope::Scope;
use schedlab_trace::engine::{Began, CensoredWait, Run, Task, TaskId, Wait};
use schedlab_trace::{Cells, Cpu, Event, Name, PerTask, Tid, What};
use std::collections::HashMap;

/// Most work items that wait at the same time: 48 MB.
const MAX_WAITING: usize = 1 << 20;

/// Most functions and workqueues; further ones are counted together.
const MAX_FUNCTIONS: usize = 1 << 12;

/// Most waits and items kept for a kworker: those since a work item was queued. For other threads, the waits that would
/// count if they turn out to be kworkers.
const MAX_OF_A_WORKER: usize = 1 << 12;
const MAX_OF_OTHERS: usize = 16;

/// A work item that was queued and not started.
#[derive(Debug, Clone, Copy)]
struct Queued {
    ts: u64,
    cpu: Cpu,
    workqueue: Name,
    activated: Option<u64>,
}

/// How the time between being queued and being executed is divided, in this order of precedence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Split {
    /// Until the item was activated: it waited because of the limit of active items.
    pub(super) inactive_ns: u64,
    /// The kworker executed other items.
    pub(super) busy_ns: u64,
    /// The kworker was woken, or preempted, and waited for a CPU.
    pub(super) waiting_ns: u64,
    /// The rest: until the kworker was woken, and from its switch-in on.
    pub(super) other_ns: u64,
}

impl Split {
    fn add(&mut self, other: &Self) {
        self.inactive_ns += other.inactive_ns;
        self.busy_ns += other.busy_ns;
        self.waiting_ns += other.waiting_ns;
        self.other_ns += other.other_ns;
    }
}

/// The items of one function on one workqueue.
#[derive(Debug, Clone, Default)]
pub(super) struct OfFunction {
    /// Queued to started.
    pub(super) latency: Cells,
    pub(super) split: Split,
    /// Started to ended.
    pub(super) execution: Cells,
    pub(super) longest: Option<Longest>,
    /// Items on an unbound workqueue.
    pub(super) unbound: u64,
    /// Items that started but were not seen being queued.
    pub(super) unseen: u64,
    /// Items during which events are missing.
    pub(super) censored: u64,
}

/// The item of a function that waited longest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Longest {
    pub(super) queued: u64,
    pub(super) started: u64,
    pub(super) cpu: Cpu,
    pub(super) worker: Tid,
    pub(super) split: Split,
}

/// A kworker, or any task that may turn out to be one.
#[derive(Debug, Clone, Default)]
struct Worker {
    /// Whether it has executed an item.
    is_one: bool,
    /// Waits for a CPU, except for those inside items, which are part of the items.
    waits: Spans,
    /// Items that it executed.
    items: Spans,
    /// The item being executed, its start, its function, and the CPUs whose gaps could hide another execution of it.
    now: Option<(u64, u64, usize, u64)>,
}

/// The waits of one task, for a trace without work items.
#[derive(Debug, Clone, Default)]
pub(super) struct OfTask {
    pub(super) wakeup: Cells,
    pub(super) preempt: Cells,
    pub(super) run_ns: u64,
    pub(super) censored: u64,
}

/// Follows work items while the engine runs.
#[derive(Debug)]
pub(in crate::trace) struct Items<'a> {
    scope: &'a Scope,
    waiting: HashMap<u64, Queued>,
    workers: PerTask<Worker>,
    pub(super) functions: Vec<((Name, Name), OfFunction)>,
    by_name: HashMap<(Name, Name), usize>,
    pub(super) tasks: PerTask<OfTask>,
    /// Tasks that ended and are no longer kept, by name.
    pub(super) retired: Vec<(Name, OfTask)>,
    /// Items that were queued again before they started: they were cancelled, or their start is not in the trace.
    pub(super) queued_again: u64,
    pub(super) started: u64,
}

impl<'a> Items<'a> {
    pub(in crate::trace) fn new(scope: &'a Scope) -> Self {
        Self {
            scope,
            waiting: HashMap::new(),
            workers: PerTask::default(),
            functions: Vec::new(),
            by_name: HashMap::new(),
            tasks: PerTask::default(),
            retired: Vec::new(),
            queued_again: 0,
            started: 0,
        }
    }

    /// Items that were queued but not started by the end of the trace.
    pub(super) fn left_over(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn function(&mut self, function: Name, workqueue: Name) -> usize {
        if let Some(at) = self.by_name.get(&(function, workqueue)) {
            return *at;
        }
        let full = self.functions.len() >= MAX_FUNCTIONS;
        let key = if full { (Name::UNKNOWN, Name::UNKNOWN) } else { (function, workqueue) };
        let next = self.functions.len();
        let at = *self.by_name.entry(key).or_insert(next);
        if at == next {
            self.functions.push((key, OfFunction::default()));
        }
        at
    }

    fn queued(&mut self, work: u64, queued: Queued) {
        if self.waiting.len() >= MAX_WAITING && !self.waiting.contains_key(&work) {
            // Starts are missing from the trace. To find the item that waits longest would be expensive, so all are
            // dropped.
            self.queued_again += self.waiting.len() as u64;
            self.waiting.clear();
        }
        self.queued_again += u64::from(self.waiting.insert(work, queued).is_some());
    }

    /// Whether an item that this kworker now starts or ends is selected.
    fn is_selected(&self, event: &Event, known: &KnownTasks, worker: TaskId) -> bool {
        let known = known.get(worker);
        known.chosen && self.scope.has_prio(known.prio) && self.scope.window.has(event.ts, event.cpu)
    }

    fn started(&mut self, after: &AfterEvent<'_>, work: u64, (function, worker): (Name, TaskId)) {
        let AfterEvent { event, engine, known, .. } = *after;
        let (ts, cpu) = (event.ts, event.cpu);
        let queued = self.waiting.remove(&work);
        let at = self.function(function, queued.map_or(Name::UNKNOWN, |q| q.workqueue));
        let tid = known.get(worker).tid;
        let split = queued.map(|q| self.workers.of(worker).split(&q, ts));
        // An unseen execution and queueing in between would be on the CPU of the queueing or of the execution, or on
        // any CPU.
        let cpus = match queued.map_or(Cpu::ANY, |queued| queued.cpu) {
            Cpu::ANY => u64::MAX,
            Cpu(queued) => 1 << (queued % 64) | 1 << (cpu.0 % 64),
        };
        let of_worker = self.workers.of(worker);
        (of_worker.is_one, of_worker.now) = (true, Some((work, ts, at, cpus)));
        if !self.is_selected(event, known, worker) {
            return;
        }
        self.started += 1;
        let of = &mut self.functions[at].1;
        let Some((queued, split)) = queued.zip(split) else {
            of.unseen += 1;
            return;
        };
        if engine.missed(queued.ts, cpus) {
            of.censored += 1;
            return;
        }
        let ns = ts.saturating_sub(queued.ts);
        if of.longest.is_none_or(|l| ns > l.started - l.queued) {
            of.longest = Some(Longest { queued: queued.ts, started: ts.max(queued.ts), cpu, worker: tid, split });
        }
        of.latency.add(ns);
        of.split.add(&split);
        of.unbound += u64::from(queued.cpu == Cpu::ANY);
    }

    fn ended(&mut self, after: &AfterEvent<'_>, work: u64, worker: TaskId) {
        let AfterEvent { event, engine, known, .. } = *after;
        let selected = self.is_selected(event, known, worker);
        let worker = self.workers.of(worker);
        let Some((_, start, at, cpus)) = worker.now.take().filter(|(of, ..)| *of == work) else { return };
        worker.items.push(start, event.ts, MAX_OF_A_WORKER);
        worker.waits.cut(start);
        if selected && !engine.missed(start, cpus) {
            self.functions[at].1.execution.add(event.ts.saturating_sub(start));
        }
    }
}

impl Worker {
    /// Divides the time from `queued` to `now`.
    fn split(&self, queued: &Queued, now: u64) -> Split {
        let from = queued.activated.unwrap_or(queued.ts).clamp(queued.ts, now.max(queued.ts));
        let (busy_ns, waiting_ns) = (self.items.within(from, now), self.waits.within(from, now));
        let all = now.saturating_sub(from);
        Split { inactive_ns: from - queued.ts, busy_ns, waiting_ns, other_ns: all.saturating_sub(busy_ns + waiting_ns) }
    }
}

impl Analysis for Items<'_> {
    #[inline]
    fn take(&mut self, after: &AfterEvent<'_>) {
        let AfterEvent { event, engine, .. } = *after;
        let of = |worker: Tid| if worker == Tid::IDLE { None } else { engine.task(worker) };
        match event.what {
            What::WorkQueued { work, workqueue, cpu, .. } => {
                self.queued(work.get(), Queued { ts: event.ts, cpu, workqueue, activated: None });
            }
            What::WorkActivated { work, .. } => {
                if let Some(queued) = self.waiting.get_mut(&work.get()) {
                    queued.activated.get_or_insert(event.ts);
                }
            }
            What::WorkStarted { work, function, worker } => {
                if let Some(worker) = of(worker) {
                    self.started(after, work.get(), (function, worker));
                }
            }
            What::WorkEnded { work, worker, .. } => {
                if let Some(worker) = of(worker) {
                    self.ended(after, work.get(), worker);
                }
            }
            _ => {}
        }
    }

    fn ran(&mut self, _before: &BeforeEvent<'_>, task: TaskId, run: &Run) {
        if self.scope.window.has(run.end, run.cpu) {
            self.tasks.of(task).run_ns += run.end.saturating_sub(run.start);
        }
    }

    #[inline]
    fn waited(&mut self, _before: &BeforeEvent<'_>, task: TaskId, wait: &Wait) {
        let worker = self.workers.of(task);
        let most = if worker.is_one { MAX_OF_A_WORKER } else { MAX_OF_OTHERS };
        worker.waits.push(wait.start, wait.end, most);
        let scope = self.scope;
        if scope.window.has(wait.end, wait.cpu) && scope.has_state(wait.left) && scope.has_prio(wait.prio) {
            let of_task = self.tasks.of(task);
            let waits = if wait.began == Began::Preempted { &mut of_task.preempt } else { &mut of_task.wakeup };
            waits.add(wait.ns());
        }
    }

    fn wait_censored(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &CensoredWait) {
        // The CPU on which the wait would have ended is not known.
        let scope = self.scope;
        if scope.window.has_time(before.event.ts) && scope.has_state(wait.left) && scope.has_prio(wait.prio) {
            self.tasks.of(task).censored += 1;
        }
    }

    fn retired(&mut self, before: &BeforeEvent<'_>, task: TaskId, as_known: &Task) {
        *self.workers.of(task) = Worker::default();
        let done = std::mem::take(self.tasks.of(task));
        if self.retired.len() < MAX_FUNCTIONS && before.known.get(task).chosen {
            self.retired.push((as_known.comm, done));
        }
    }
}
