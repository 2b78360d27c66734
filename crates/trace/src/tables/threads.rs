//! Identifies threads: a number for each, used in the whole directory, and what is known about it.

use super::Columns;
use crate::Names;
use crate::engine::{Task, TaskId};
use crate::recording::{Moment, Snapshot, ThreadState};
use schedlab_run::Cell::{I, T, U};
use schedlab_run::Table;
use std::collections::{BTreeMap, HashMap};

pub(super) const COLUMNS: Columns = &[
    ("thread", 'u'),
    ("tid", 'u'),
    ("pid", 'u'),
    ("comm", 't'),
    ("first_comm", 't'),
    ("start_ns", 'u'),
    ("end_ns", 'u'),
    ("parent_tid", 'u'),
    ("is_kernel", 'u'),
    ("policy", 'u'),
    ("prio", 'i'),
    ("nice", 'i'),
    ("cpus_allowed", 't'),
    ("cgroup", 't'),
];

/// The numbers of threads. The engine reuses its numbers if there are very many threads; these are never reused.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// By the engine's number; 0 means that there is none yet.
    numbers: Vec<u64>,
    last: u64,
    /// Tasks that have ended and that the engine no longer knows.
    pub(super) retired: BTreeMap<u64, Task>,
    start: HashMap<u32, ThreadState>,
    end: HashMap<u32, ThreadState>,
}

impl Threads {
    /// Takes the threads from our own recordings: those at the start while it is read, those at the end afterwards.
    pub(super) fn know(&mut self, snapshots: &[Snapshot]) {
        for snapshot in snapshots {
            let of = match snapshot.moment {
                Moment::Start => &mut self.start,
                Moment::End => &mut self.end,
            };
            of.extend(snapshot.threads.iter().map(|thread| (thread.tid, thread.clone())));
        }
    }

    /// The number of a task, from 1 in the order in which they were seen.
    pub(super) fn number(&mut self, task: TaskId) -> u64 {
        if task.index() >= self.numbers.len() {
            self.numbers.resize(task.index() + 1, 0);
        }
        let number = &mut self.numbers[task.index()];
        if *number == 0 {
            self.last += 1;
            *number = self.last;
        }
        *number
    }

    /// The engine's number will be reused for another task.
    pub(super) fn retire(&mut self, task: TaskId, known: &Task) {
        let number = self.number(task);
        self.retired.insert(number, known.clone());
        self.numbers[task.index()] = 0;
    }

    pub(super) fn push(&self, table: &mut Table, number: u64, task: &Task, names: &Names) {
        // After a thread ends, its id may be reused. The first snapshot has the threads from before the trace, the last
        // one those that still exist.
        let tid = task.tid.0;
        let from_start = || self.start.get(&tid).filter(|_| task.start.is_none());
        let state = self.end.get(&tid).filter(|_| task.end.is_none()).or_else(from_start);
        let text = |name| T(Some(names.text(name)).filter(|text| !text.is_empty()));
        table.push([
            U(Some(number)),
            U(Some(tid.into())),
            U(state.map(|state| state.pid.into())),
            text(task.comm),
            task.first_comm.map_or(T(None), text),
            U(task.start),
            U(task.end),
            U(task.parent.map(|parent| parent.0.into())),
            U(state.map(|state| state.kernel.into())),
            U(state.map(|state| state.policy.into())),
            I(state.map(|state| state.prio.into())),
            I(state.map(|state| state.nice.into())),
            T(state.map(|state| state.cpus_allowed.as_str())),
            T(state.map(|state| state.cgroup.as_str())),
        ]);
    }
}
