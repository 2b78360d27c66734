//! One line for every time on a CPU: when it ended, how long the task had slept, waited and run, and why it left the
//! CPU.

use super::calls::{self, Calls};
use super::facts::TraceFacts;
use super::holes::{Holes, UnknownInterval};
use super::scope::Scope;
use schedlab_trace::engine::{Began, CensoredWait, Engine, Observer, Run, Task, TaskId, Wait};
use schedlab_trace::{Cpu, Kinds, Name, PerTask, Reader, StateClass, Syscall, TraceError, What};
use serde::Serialize;

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    calls::KINDS.into_iter().fold(Kinds::TASKS, Kinds::with)
}

/// One time on a CPU. Times are absent where their begin is not in the trace or events are missing in them. A time on a
/// CPU in which events are missing has a row if the wait before it is known: no wait of `latency` is left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimehistRow {
    /// When the task left the CPU, ns of the trace's clock; where `run_ns` is absent, when it got the CPU.
    pub at_ns: u64,
    /// Which CPU.
    pub cpu: u16,
    /// The task's name.
    pub comm: String,
    /// Its id.
    pub tid: u32,
    /// Asleep before, ns.
    pub slept_ns: Option<u64>,
    /// The system call in which it slept: its name on the trace's architecture, or `syscall` and its number; absent where
    /// system calls were not recorded, and of a sleep outside of one (a page fault, a thread of the kernel).
    pub slept_in: Option<String>,
    /// From the waking to this time on a CPU, ns.
    pub wakeup_wait_ns: Option<u64>,
    /// From the preemption to this time on a CPU, ns.
    pub preempt_wait_ns: Option<u64>,
    /// On the CPU (`run/1`), ns; absent if events are missing in that time.
    pub run_ns: Option<u64>,
    /// Why it left, in the trace's letters; absent at the end of the trace, and where `run_ns` is absent.
    pub left: Option<String>,
}

/// The contents of a picture.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turns {
    /// The times on CPUs.
    pub rows: Vec<TimehistRow>,
    /// The times in which it is not known which thread had a CPU.
    pub holes: Vec<UnknownInterval>,
}

/// Receives each row; returning false stops the analysis.
pub type Sink<'a> = &'a mut dyn FnMut(&TimehistRow) -> bool;

/// Reads a trace to its end, or until `each` returns false. In the scope, states select by the state in which the task
/// left the CPU, and priorities by its priority then.
pub fn timehist(reader: &mut Reader, scope: &Scope, each: Sink<'_>) -> Result<TraceFacts, TraceError> {
    read(reader, scope, each, &mut |_| true)
}

/// The same for a picture: every row, and the times in which it is not known which thread had a CPU; `None` if there
/// are more than `most` of both together.
pub fn turns(reader: &mut Reader, scope: &Scope, most: usize) -> Result<(TraceFacts, Option<Turns>), TraceError> {
    let (mut rows, mut holes) = (Vec::new(), Vec::new());
    let number = std::cell::Cell::new(0);
    let fits = || {
        number.set(number.get() + 1);
        number.get() <= most
    };
    // A time on a CPU of unknown length is covered by a hole instead.
    let mut each = |row: &TimehistRow| {
        row.run_ns.is_none() || {
            rows.push(row.clone());
            fits()
        }
    };
    let facts = read(reader, scope, &mut each, &mut |hole| {
        holes.push(hole);
        fits()
    })?;
    Ok((facts, (number.get() <= most).then_some(Turns { rows, holes })))
}

fn read(
    reader: &mut Reader,
    scope: &Scope,
    each: Sink<'_>,
    each_hole: &mut dyn FnMut(UnknownInterval) -> bool,
) -> Result<TraceFacts, TraceError> {
    let (mut engine, mut history, mut in_calls) = (Engine::default(), History::default(), Calls::default());
    let mut holes = Holes::default();
    let mut batch = Vec::new();
    let mut going = true;
    while going && reader.next_batch(&mut batch)? {
        let classes = reader.states().classes();
        engine.expect(&batch);
        for event in &batch {
            // The switch contains the name of the thread that leaves; the thread may have another name when the row is
            // written.
            let mut left = StateClass::Unknown;
            (history.name, history.next, history.call) = match event.what {
                What::Switch { prev, prev_comm, next_comm, prev_state, .. } => {
                    left = classes.get(prev_state.index()).copied().unwrap_or(left);
                    let [name, next] = [prev_comm, next_comm].map(|comm| Some(comm).filter(|c| *c != Name::UNKNOWN));
                    (name, next, in_calls.of(prev, &engine))
                }
                _ => (None, None, None),
            };
            in_calls.take(event, left);
            going &= holes.take(event, &scope.window).is_none_or(&mut *each_hole);
            engine.take_dyn(event, &classes, &mut history);
        }
        history.name = None;
        going &= history.hand_out(&engine, reader, scope, each);
    }
    if going {
        engine.finish_dyn(&mut history);
        history.hand_out(&engine, reader, scope, each);
        let end = engine.span(0).map_or(0, |(_, end)| end);
        holes.finish(end, &scope.window).take_while(|hole| each_hole(*hole)).for_each(drop);
    }
    Ok(TraceFacts::of(reader, &engine, scope))
}

/// What preceded the present time on a CPU.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    /// The system call in which the thread left its CPU.
    left_in: Option<Syscall>,
    slept: Option<u64>,
    wakeup: Option<u64>,
    preempt: Option<u64>,
    /// The start of the present time on a CPU, after a wait: a run of length 0, and the thread's name at that time.
    got: Option<(Run, Option<Name>)>,
}

/// A run that has ended but has not been written as a row.
struct Ran {
    id: TaskId,
    /// The task, if its number has been reused since.
    retired: Option<Task>,
    /// Its name at that time, if the event contains it.
    name: Option<Name>,
    run: Run,
    /// Whether its length is known.
    is_known: bool,
    before: Before,
}

#[derive(Default)]
struct History {
    before: PerTask<Before>,
    runs: Vec<Ran>,
    /// The name of the thread that the present event takes off a CPU.
    name: Option<Name>,
    /// The name of the thread that gets the CPU.
    next: Option<Name>,
    /// The system call that the former is in.
    call: Option<Syscall>,
}

impl History {
    fn hand_out(&mut self, engine: &Engine, reader: &Reader, scope: &Scope, each: Sink<'_>) -> bool {
        let arch = reader.info().arch;
        for Ran { id, retired, name, run, is_known, before } in self.runs.drain(..) {
            let task = retired.as_ref().unwrap_or(&engine.tasks()[id.index()]);
            let class = run.left.map_or(StateClass::Unknown, |(_, class)| class);
            let selected = scope.window.has(run.end, run.cpu) && scope.has_state(class) && scope.has_prio(run.prio);
            if !selected || !scope.tasks.has(task, reader.names()) {
                continue;
            }
            let row = TimehistRow {
                at_ns: run.end,
                cpu: run.cpu.0,
                comm: reader.names().text(name.unwrap_or(task.comm)).to_owned(),
                tid: task.tid.0,
                slept_ns: before.slept,
                slept_in: before.slept.and(before.left_in).map(|call| calls::name(call, &arch)),
                wakeup_wait_ns: before.wakeup,
                preempt_wait_ns: before.preempt,
                run_ns: is_known.then(|| run.end.saturating_sub(run.start)),
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
        let before = std::mem::take(self.before.of(task));
        self.runs.push(Ran { id: task, retired: None, name: self.name, run: *run, is_known: true, before });
    }

    fn left(&mut self, task: TaskId, _cpu: Cpu, _class: StateClass) {
        self.before.of(task).left_in = self.call;
    }

    fn retired(&mut self, task: TaskId, known: &Task) {
        *self.before.of(task) = Before::default();
        let of_task = self.runs.iter_mut().filter(|ran| ran.id == task && ran.retired.is_none());
        of_task.for_each(|ran| ran.retired = Some(known.clone()));
    }

    fn run_censored(&mut self, task: TaskId, _why: schedlab_trace::engine::Censored) {
        let before = std::mem::take(self.before.of(task));
        if let Some((run, name)) = before.got {
            self.runs.push(Ran { id: task, retired: None, name, run, is_known: false, before });
        }
    }

    fn waited(&mut self, task: TaskId, wait: &Wait) {
        let next = self.next;
        let before = self.before.of(task);
        let run = Run { start: wait.end, end: wait.end, cpu: wait.cpu, prio: wait.prio, left: None };
        before.got = Some((run, next));
        if wait.began == Began::Preempted {
            before.preempt = Some(wait.ns());
        } else {
            before.wakeup = Some(wait.ns());
        }
    }

    fn wait_censored(&mut self, task: TaskId, _wait: &CensoredWait) {
        // The thread may have run unseen in between: then its sleep was before that run, not before the next one.
        *self.before.of(task) = Before::default();
    }

    fn slept(&mut self, task: TaskId, _state: StateClass, start: u64, end: u64) {
        self.before.of(task).slept = Some(end.saturating_sub(start));
    }
}
