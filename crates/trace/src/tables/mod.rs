//! A trace as a directory of tables: its events as they are, and the results of the state machine, for users who want
//! to ask their own questions with pandas, Polars or DuckDB. FORMAT.md describes each column.

mod events;
mod threads;

use crate::convert::{ConvertError, Converted};
use crate::engine::{Began, Censored, CensoredWait, Engine, Observer, Run, Task, TaskId, Wait};
use crate::event::{Context, Cpu, Event, Missing, What};
use crate::prev_state::StateClass;
use crate::{Name, Reader, Tid};
pub(crate) use events::{NO_COLUMN, column};
use schedlab_run::Cell::{self, T, U};
use schedlab_run::{RunError, Table, TableDir};
use std::collections::BTreeMap;
use threads::Threads;

/// Indices of the tables in their directory.
const EVENTS: usize = 0;
const THREADS: usize = 1;
const RUNS: usize = 2;
const WAITS: usize = 3;
const SLEEPS: usize = 4;
const GAPS: usize = 5;

type Columns = &'static [(&'static str, char)];

const RUN_COLUMNS: Columns = &[
    ("thread", 'u'),
    ("tid", 'u'),
    ("comm", 't'),
    ("cpu", 'u'),
    ("start_ns", 'u'),
    ("end_ns", 'u'),
    ("left_state", 't'),
];
const WAIT_COLUMNS: Columns = &[
    ("thread", 'u'),
    ("tid", 'u'),
    ("comm", 't'),
    ("began", 't'),
    ("start_ns", 'u'),
    ("queued_ns", 'u'),
    ("end_ns", 'u'),
    ("cpu", 'u'),
    ("waker_tid", 'u'),
    ("waker_context", 't'),
    ("censored", 't'),
];
const SLEEP_COLUMNS: Columns =
    &[("thread", 'u'), ("tid", 'u'), ("comm", 't'), ("state", 't'), ("start_ns", 'u'), ("end_ns", 'u')];
const GAP_COLUMNS: Columns = &[("cpu", 'u'), ("start_ns", 'u'), ("end_ns", 'u'), ("why", 't'), ("lost", 'u')];

/// The tables of a trace, empty: the start of a [`TableDir`] for [`convert_to_tables`].
pub fn trace_tables() -> Vec<Table> {
    vec![
        Table::new("events", &events::COLUMNS),
        Table::new("threads", threads::COLUMNS),
        Table::new("runs", RUN_COLUMNS),
        Table::new("waits", WAIT_COLUMNS),
        Table::new("sleeps", SLEEP_COLUMNS),
        Table::new("gaps", GAP_COLUMNS),
    ]
}

/// Reads a trace to its end and writes its tables, in bounded memory. The directory still has to be finished.
pub fn convert_to_tables(reader: &mut Reader, dir: &mut TableDir) -> Result<Converted, ConvertError> {
    let (mut engine, mut pending, mut gaps) = (Engine::default(), Pending::default(), BTreeMap::new());
    let (mut batch, mut converted) = (Vec::new(), Converted::default());
    pending.threads.know(reader.snapshots());
    while reader.next_batch(&mut batch)? {
        let classes = reader.states().classes();
        engine.expect(&batch);
        for event in &batch {
            (pending.now, pending.what) = (event.ts, Some(event.what));
            engine.take_dyn(event, &classes, &mut pending);
            match event.what {
                What::GapBegin => _ = gaps.insert(event.cpu, event.ts),
                What::GapEnd { missing, lost } => {
                    let since = gaps.remove(&event.cpu).unwrap_or(event.ts);
                    dir.table(GAPS)?.push(gap(event, since, missing, lost));
                }
                _ => converted.written += u64::from(events::push(dir.table(EVENTS)?, event, reader)),
            }
        }
        pending.hand_out(&engine, reader, dir)?;
    }
    pending.what = None;
    engine.finish_dyn(&mut pending);
    pending.threads.know(reader.snapshots());
    pending.hand_out(&engine, reader, dir)?;
    for (number, task) in engine.tasks().iter().enumerate() {
        let number = pending.threads.number(TaskId(number as u32));
        pending.threads.push(dir.table(THREADS)?, number, task, reader.names());
    }
    Ok(converted)
}

fn gap(event: &Event, since: u64, missing: Missing, lost: u32) -> [Cell<'static>; 5] {
    let why = match missing {
        Missing::Lost => "lost",
        Missing::Chain => "chain",
        Missing::Clock => "clock",
    };
    [cpu(event.cpu), U(Some(since)), U(Some(event.ts)), T(Some(why)), U((lost > 0).then_some(lost.into()))]
}

/// A finished interval of a thread.
#[derive(Debug, Clone, Copy)]
enum Interval {
    Ran(Run),
    Waited(Wait),
    Censored { began: Began, why: Censored, at: u64 },
    Slept(StateClass, u64, u64),
}

/// What the engine has reported and has no row yet: names are looked up at the end of the batch.
#[derive(Debug, Default)]
struct Pending {
    now: u64,
    /// What the engine takes.
    what: Option<What>,
    threads: Threads,
    /// With the thread's number, its task as long as it has one, and its name at that time if the event contains it.
    intervals: Vec<(u64, TaskId, Option<Name>, Interval)>,
}

impl Pending {
    fn add(&mut self, task: TaskId, interval: Interval) {
        let comm = match (&interval, self.what) {
            (Interval::Ran(_), Some(What::Switch { prev_comm, .. })) => Some(prev_comm),
            (Interval::Waited(_), Some(What::Switch { next_comm, .. })) => Some(next_comm),
            (Interval::Slept(..), Some(What::Waking(wake) | What::Wakeup(wake))) => Some(wake.comm),
            _ => None,
        };
        let comm = comm.filter(|comm| *comm != Name::UNKNOWN);
        self.intervals.push((self.threads.number(task), task, comm, interval));
    }

    fn hand_out(&mut self, engine: &Engine, reader: &Reader, dir: &mut TableDir) -> Result<(), ConvertError> {
        for (number, task, comm, interval) in self.intervals.drain(..) {
            // The number of a retired task may belong to another by now.
            let known = self.threads.retired.get(&number).unwrap_or(&engine.tasks()[task.index()]);
            interval.push(dir, (number, known.tid, reader.names().text(comm.unwrap_or(known.comm))), reader)?;
        }
        for (number, known) in std::mem::take(&mut self.threads.retired) {
            self.threads.push(dir.table(THREADS)?, number, &known, reader.names());
        }
        Ok(())
    }
}

impl Observer for Pending {
    fn ran(&mut self, task: TaskId, run: &Run) {
        self.add(task, Interval::Ran(*run));
    }

    fn waited(&mut self, task: TaskId, wait: &Wait) {
        self.add(task, Interval::Waited(*wait));
    }

    fn wait_censored(&mut self, task: TaskId, wait: &CensoredWait) {
        self.add(task, Interval::Censored { began: wait.began, why: wait.why, at: self.now });
    }

    fn slept(&mut self, task: TaskId, state: StateClass, start: u64, end: u64) {
        self.add(task, Interval::Slept(state, start, end));
    }

    fn retired(&mut self, task: TaskId, known: &Task) {
        self.threads.retire(task, known);
    }
}

impl Interval {
    fn push(self, dir: &mut TableDir, (number, tid, comm): (u64, Tid, &str), reader: &Reader) -> Result<(), RunError> {
        let thread = [U(Some(number)), U(Some(tid.0.into())), T(Some(comm).filter(|comm| !comm.is_empty()))];
        let [number, tid, comm] = thread;
        match self {
            Self::Ran(run) => {
                let left = T(run.left.map(|(state, _)| reader.states().letters(state)));
                dir.table(RUNS)?.push([number, tid, comm, cpu(run.cpu), U(Some(run.start)), U(Some(run.end)), left]);
            }
            Self::Waited(wait) => {
                let woken = wait.began != Began::Preempted;
                dir.table(WAITS)?.push([
                    number,
                    tid,
                    comm,
                    T(Some(began_word(wait.began))),
                    U(Some(wait.start)),
                    U(wait.queued),
                    U(Some(wait.end)),
                    cpu(wait.cpu),
                    U(woken.then_some(wait.waker.0.into())),
                    T(woken.then_some(context_word(wait.context))),
                    T(None),
                ]);
            }
            Self::Censored { began, why, at } => {
                let why = match why {
                    Censored::Gap => "gap",
                    Censored::Contradiction => "contradiction",
                    Censored::Unfinished => "unfinished",
                };
                let (began, end, why) = (T(Some(began_word(began))), U(Some(at)), T(Some(why)));
                let none = U(None);
                dir.table(WAITS)?.push([number, tid, comm, began, none, none, end, none, none, T(None), why]);
            }
            Self::Slept(state, start, end) => {
                let state = T(Some(state.sleep_letter()));
                dir.table(SLEEPS)?.push([number, tid, comm, state, U(Some(start)), U(Some(end))]);
            }
        }
        Ok(())
    }
}

fn began_word(began: Began) -> &'static str {
    match began {
        Began::Preempted => "preempted",
        Began::Waking => "waking",
        Began::Repaired => "repaired",
        Began::WakeupOnly => "wakeup_only",
        Began::New => "new",
    }
}

fn context_word(context: Context) -> &'static str {
    match (context.is_hard(), context.is_interrupt()) {
        (true, _) => "hardirq",
        (_, true) => "softirq",
        _ => "task",
    }
}

/// Null for "any" or an unknown CPU.
fn cpu(cpu: Cpu) -> Cell<'static> {
    U((cpu != Cpu::ANY).then_some(cpu.0.into()))
}
