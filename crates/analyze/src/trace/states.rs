//! Where the time of each task went: on a CPU, waiting for one, asleep and in which way, and how much of it is not known.

use super::facts::{TraceFacts, seconds};
use super::filter::TaskFilter;
use schedlab_trace::engine::{Began, Engine, Observer, Run, Task, TaskId, Wait};
use schedlab_trace::{Kinds, Reader, StateClass, TraceError};
use serde::Serialize;

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
    /// Its id.
    pub tid: u32,
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
    /// Stopped, traced or parked, or in a state of no meaning here.
    pub other_ns: u64,
    /// The rest of `seen_ns`: before the first event and after the last one of the task, and what is censored.
    pub unknown_ns: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct States {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// Tasks, those that ran most first.
    pub rows: Vec<StatesRow>,
    /// Rows that are not shown.
    pub more_rows: u64,
}

/// Reads a trace to its end.
pub fn states(reader: &mut Reader, tasks: &TaskFilter, top: Option<usize>) -> Result<States, TraceError> {
    let (mut engine, mut times) = (Engine::default(), Times::default());
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        let classes = reader.states().classes();
        for event in &batch {
            engine.take(event, &classes, &mut times);
        }
    }
    engine.finish(&mut times);
    let span = engine.span();
    times.0.resize(engine.tasks().len(), StatesRow::default());
    let names = reader.names();
    let wanted = engine.tasks().iter().zip(times.0).filter(|(task, row)| tasks.has(task, names) && row.known() > 0);
    let mut rows: Vec<StatesRow> = wanted.map(|(task, row)| row.of(task, names.text(task.comm), span)).collect();
    rows.sort_by(|a, b| (b.running_ns, a.tid).cmp(&(a.running_ns, b.tid)));
    let more_rows = rows.len().saturating_sub(top.unwrap_or(usize::MAX)) as u64;
    rows.truncate(rows.len() - more_rows as usize);
    Ok(States { schema: SCHEMA, trace: TraceFacts::new(reader, &engine.counts(), span), rows, more_rows })
}

impl StatesRow {
    fn known(&self) -> u64 {
        let waits = self.wakeup_wait_ns + self.preempt_wait_ns;
        self.running_ns + waits + self.interruptible_ns + self.uninterruptible_ns + self.idle_ns + self.other_ns
    }

    fn of(mut self, task: &Task, comm: &str, span: Option<(u64, u64)>) -> Self {
        let (first, last) = span.unwrap_or((0, 0));
        let seen = task.end.unwrap_or(last).saturating_sub(task.start.unwrap_or(first));
        self.unknown_ns = seen.saturating_sub(self.known());
        Self { comm: comm.to_owned(), tid: task.tid.0, seen_ns: seen, ..self }
    }

    /// A share of the time that it was seen.
    pub fn share(&self, ns: u64) -> f64 {
        if self.seen_ns == 0 { 0.0 } else { seconds(ns) / seconds(self.seen_ns) }
    }
}

/// By [`TaskId`].
#[derive(Default)]
struct Times(Vec<StatesRow>);

impl Times {
    fn of(&mut self, task: TaskId) -> &mut StatesRow {
        if task.index() >= self.0.len() {
            self.0.resize(task.index() + 1, StatesRow::default());
        }
        &mut self.0[task.index()]
    }
}

impl Observer for Times {
    fn ran(&mut self, task: TaskId, run: &Run) {
        self.of(task).running_ns += run.end.saturating_sub(run.start);
    }

    fn waited(&mut self, task: TaskId, wait: &Wait) {
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
