//! Every time on a CPU as a line: when it ended, how long the task had slept, waited and run, and why it left.

use super::facts::{TraceFacts, seconds};
use super::filter::TaskFilter;
use schedlab_trace::engine::{Began, Engine, Observer, Run, TaskId, Wait};
use schedlab_trace::{Kinds, Reader, StateClass, TimeWindow, TraceError};
use serde::Serialize;

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    Kinds::TASKS
}

/// One time on a CPU. Times are absent where their begin is not in the trace or events are missing in them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimehistRow {
    /// When the task left the CPU, s of the trace's clock.
    pub at_s: f64,
    /// Which CPU.
    pub cpu: u16,
    /// The task's name.
    pub comm: String,
    /// Its id.
    pub tid: u32,
    /// Asleep before, ns.
    pub slept_ns: Option<u64>,
    /// From the waking to this time on a CPU, ns.
    pub wakeup_wait_ns: Option<u64>,
    /// From the preemption to this time on a CPU, ns.
    pub preempt_wait_ns: Option<u64>,
    /// On the CPU, ns.
    pub run_ns: u64,
    /// Why it left, in the trace's letters; absent at the end of the trace.
    pub left: Option<String>,
}

/// Who takes a row; false is enough.
pub type Sink<'a> = &'a mut dyn FnMut(&TimehistRow) -> bool;

/// Reads a trace to its end, or until `each` has seen enough.
pub fn timehist(
    reader: &mut Reader,
    tasks: &TaskFilter,
    window: &TimeWindow,
    each: Sink<'_>,
) -> Result<TraceFacts, TraceError> {
    let (mut engine, mut history) = (Engine::default(), History::default());
    let mut batch = Vec::new();
    let mut going = true;
    while going && reader.next_batch(&mut batch)? {
        let classes = reader.states().classes();
        for event in &batch {
            engine.take(event, &classes, &mut history);
        }
        going = history.hand_out(&engine, reader, (tasks, window), each);
    }
    if going {
        engine.finish(&mut history);
        history.hand_out(&engine, reader, (tasks, window), each);
    }
    Ok(TraceFacts::new(reader, &engine.counts(), engine.span()))
}

/// What came before the present time on a CPU.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    slept: Option<u64>,
    wakeup: Option<u64>,
    preempt: Option<u64>,
}

#[derive(Default)]
struct History {
    before: Vec<Before>,
    /// Finished and not handed out.
    runs: Vec<(TaskId, Run, Before)>,
}

impl History {
    fn of(&mut self, task: TaskId) -> &mut Before {
        if task.index() >= self.before.len() {
            self.before.resize(task.index() + 1, Before::default());
        }
        &mut self.before[task.index()]
    }

    fn hand_out(
        &mut self,
        engine: &Engine,
        reader: &Reader,
        (tasks, window): (&TaskFilter, &TimeWindow),
        each: Sink<'_>,
    ) -> bool {
        for (task, run, before) in self.runs.drain(..) {
            let task = &engine.tasks()[task.index()];
            if !window.has(run.end, run.cpu) || !tasks.has(task, reader.names()) {
                continue;
            }
            let row = TimehistRow {
                at_s: seconds(run.end),
                cpu: run.cpu.0,
                comm: reader.names().text(task.comm).to_owned(),
                tid: task.tid.0,
                slept_ns: before.slept,
                wakeup_wait_ns: before.wakeup,
                preempt_wait_ns: before.preempt,
                run_ns: run.end.saturating_sub(run.start),
                left: run.left.map(|(state, _)| reader.states().letters(state).to_owned()),
            };
            if !each(&row) {
                return false;
            }
        }
        true
    }
}

impl Observer for History {
    fn ran(&mut self, task: TaskId, run: &Run) {
        let before = std::mem::take(self.of(task));
        self.runs.push((task, *run, before));
    }

    fn run_censored(&mut self, task: TaskId, _why: schedlab_trace::engine::Censored) {
        *self.of(task) = Before::default();
    }

    fn waited(&mut self, task: TaskId, wait: &Wait) {
        let before = self.of(task);
        if wait.began == Began::Preempted {
            before.preempt = Some(wait.ns());
        } else {
            before.wakeup = Some(wait.ns());
        }
    }

    fn slept(&mut self, task: TaskId, _state: StateClass, start: u64, end: u64) {
        self.of(task).slept = Some(end.saturating_sub(start));
    }
}
