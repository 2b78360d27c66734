//! How the time of each task was spent: on a CPU, waiting for one, asleep by kind of sleep, and how much is unknown.

use super::facts::TraceFacts;
use super::request::AnalysisRequest;
use super::scope::Scope;
use schedlab_plan::InOrder;
use schedlab_trace::engine::{Began, Engine, Observer, Run, Task, TaskId, Wait};
use schedlab_trace::{Ended, Kinds, Names, PerTask, Prio, Reader, StateClass, TraceError, for_each_batch};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-states/1";

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    Kinds::TASKS
}

/// Times of one task, ns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StatesRow {
    /// Its last name.
    pub comm: String,
    /// Its id; absent in a row that sums exited tasks, which were too many to keep apart.
    pub tid: Option<u32>,
    /// Tasks in the row.
    pub tasks: u64,
    /// From its start or the start of the trace to its end or that of the trace.
    pub seen_ns: u64,
    /// On a CPU.
    pub running_ns: u64,
    /// Waiting for a CPU after a wakeup.
    pub wakeup_wait_ns: u64,
    /// Waiting for a CPU after a preemption.
    pub preempt_wait_ns: u64,
    /// Asleep, `S`.
    pub interruptible_ns: u64,
    /// Asleep, `D`.
    pub uninterruptible_ns: u64,
    /// Asleep, `I`.
    pub idle_ns: u64,
    /// Stopped, traced, parked, or in another state.
    pub other_ns: u64,
    /// The rest of `seen_ns`: before the task's first event, after its last one, and censored waits.
    pub unknown_ns: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct States {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// Tasks, by run time, longest first.
    pub rows: Vec<StatesRow>,
    /// Rows that are not shown.
    pub more_rows: u64,
}

/// Reads a trace to its end. In the scope, states select the tasks that spent time in them, those with most of it
/// first; priorities select tasks that ran or got a CPU at one of them; the time window is ignored.
pub fn states(reader: &mut Reader, request: &AnalysisRequest) -> Result<States, TraceError> {
    let AnalysisRequest { scope, top, .. } = request;
    let (mut engine, mut times) =
        (Engine::default(), Times { scope, tasks: PerTask::default(), retired: BTreeMap::new() });
    for_each_batch(reader, |batch, classes| {
        engine.expect(batch);
        batch.iter().for_each(|event| engine.take_dyn(event, classes, &mut times));
    })?;
    engine.finish_dyn(&mut times);
    let span = engine.span(reader.noted_in_all());
    let names = reader.names();
    let met = |times: &TaskTimes| times.is_selected(scope);
    let wanted = engine.tasks().iter().zip(times.tasks.first(engine.tasks().len()));
    let wanted = wanted.filter(|(task, times)| scope.tasks.has(task, names) && met(times));
    let mut rows: Vec<StatesRow> =
        wanted.map(|(task, times)| times.row.of(task, names.text(task.comm), span)).collect();
    let retired = times.retired.into_iter().filter(|(ended, _)| scope.tasks.has_ended(ended, names));
    rows.extend(retired.map(|(ended, row)| row.of_retired(names, &ended)));
    let most = |row: &StatesRow| if scope.states.is_empty() { row.running_ns } else { row.within(&scope.states) };
    rows.in_order_by(|a, b| (most(b), a.tid).cmp(&(most(a), b.tid)));
    let more_rows = rows.len().saturating_sub(top.unwrap_or(usize::MAX)) as u64;
    rows.truncate(rows.len() - more_rows as usize);
    Ok(States { schema: SCHEMA, trace: TraceFacts::of(reader, &engine, scope), rows, more_rows })
}

impl StatesRow {
    fn known(&self) -> u64 {
        let waits = self.wakeup_wait_ns + self.preempt_wait_ns;
        self.running_ns + waits + self.interruptible_ns + self.uninterruptible_ns + self.idle_ns + self.other_ns
    }

    /// The time in these states, or in all if there are none; `R` is waiting for a CPU, including after a wakeup.
    fn within(&self, states: &[StateClass]) -> u64 {
        let of = |state: &StateClass| match state {
            StateClass::Runnable => self.wakeup_wait_ns + self.preempt_wait_ns,
            // `Runnable` includes both.
            StateClass::Preempted if states.contains(&StateClass::Runnable) => 0,
            StateClass::Preempted => self.preempt_wait_ns,
            StateClass::Interruptible => self.interruptible_ns,
            StateClass::Uninterruptible => self.uninterruptible_ns,
            StateClass::Idle => self.idle_ns,
            _ => self.other_ns,
        };
        if states.is_empty() { self.known() } else { states.iter().map(of).sum() }
    }

    fn of(mut self, task: &Task, comm: &str, span: Option<(u64, u64)>) -> Self {
        let (first, last) = span.unwrap_or((0, 0));
        let seen = task.end.unwrap_or(last).saturating_sub(task.start.unwrap_or(first));
        self.unknown_ns = seen.saturating_sub(self.known());
        Self { comm: comm.to_owned(), tid: Some(task.tid.0), tasks: 1, seen_ns: seen, ..self }
    }

    /// It is not known how long each of these tasks existed.
    fn of_retired(self, names: &Names, ended: &Ended) -> Self {
        let comm = names.text(ended.comm).to_owned();
        Self { comm, tid: ended.tid.map(|tid| tid.0), seen_ns: self.known(), ..self }
    }

    fn add(&mut self, other: &Self) {
        self.running_ns += other.running_ns;
        self.wakeup_wait_ns += other.wakeup_wait_ns;
        self.preempt_wait_ns += other.preempt_wait_ns;
        self.interruptible_ns += other.interruptible_ns;
        self.uninterruptible_ns += other.uninterruptible_ns;
        self.idle_ns += other.idle_ns;
        self.other_ns += other.other_ns;
    }

    /// A time as a share of the time in which the task was seen.
    pub fn share(&self, ns: u64) -> f64 {
        if self.seen_ns == 0 { 0.0 } else { ns as f64 / self.seen_ns as f64 }
    }
}

/// The sums for one task.
#[derive(Debug, Clone, Default)]
struct TaskTimes {
    row: StatesRow,
    /// Whether it was seen at a selected priority.
    met_prio: bool,
}

impl TaskTimes {
    fn is_selected(&self, scope: &Scope) -> bool {
        (scope.prios.is_empty() || self.met_prio) && self.row.within(&scope.states) > 0
    }
}

struct Times<'a> {
    scope: &'a Scope,
    /// By [`TaskId`].
    tasks: PerTask<TaskTimes>,
    retired: BTreeMap<Ended, StatesRow>,
}

impl Times<'_> {
    fn of(&mut self, task: TaskId) -> &mut StatesRow {
        &mut self.tasks.of(task).row
    }

    fn meet(&mut self, task: TaskId, prio: Prio) {
        if self.scope.has_prio(prio) {
            self.tasks.of(task).met_prio = true;
        }
    }
}

impl Observer for Times<'_> {
    fn retired(&mut self, task: TaskId, known: &Task) {
        let times = std::mem::take(self.tasks.of(task));
        if let Some(ended) = self.scope.tasks.ended(known).filter(|_| times.is_selected(self.scope)) {
            let sum = self.retired.entry(ended).or_default();
            sum.tasks += 1;
            sum.add(&times.row);
        }
    }

    fn ran(&mut self, task: TaskId, run: &Run) {
        self.meet(task, run.prio);
        self.of(task).running_ns += run.end.saturating_sub(run.start);
    }

    fn waited(&mut self, task: TaskId, wait: &Wait) {
        self.meet(task, wait.prio);
        let row = self.of(task);
        let sum = if wait.began == Began::Preempted { &mut row.preempt_wait_ns } else { &mut row.wakeup_wait_ns };
        *sum += wait.ns();
    }

    fn slept(&mut self, task: TaskId, state: StateClass, start: u64, end: u64) {
        let row = self.of(task);
        let sum = match state {
            StateClass::Interruptible => &mut row.interruptible_ns,
            StateClass::Uninterruptible => &mut row.uninterruptible_ns,
            StateClass::Idle => &mut row.idle_ns,
            _ => &mut row.other_ns,
        };
        *sum += end.saturating_sub(start);
    }
}
