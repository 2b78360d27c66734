//! Which thread is which: a number for each that the whole directory uses, and what is known of it.

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

/// The numbers of threads. The engine's are used again where there are very many; these are not.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// By the engine's number; 0 means none yet.
    numbers: Vec<u64>,
    last: u64,
    /// Ended, and known to the engine no more.
    pub(super) retired: BTreeMap<u64, Task>,
    start: HashMap<u32, ThreadState>,
    end: HashMap<u32, ThreadState>,
}

impl Threads {
    /// Takes what our own recordings have on threads: those at its start while it is read, those at its end after.
    pub(super) fn know(&mut self, snapshots: &[Snapshot]) {
        for snapshot in snapshots {
            let of = match snapshot.moment {
                Moment::Start => &mut self.start,
                Moment::End => &mut self.end,
            };
            of.extend(snapshot.threads.iter().map(|thread| (thread.tid, thread.clone())));
        }
    }

    /// The number of a task, from 1 in the order in which they were met.
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

    /// The engine's number will be another task's.
    pub(super) fn retire(&mut self, task: TaskId, known: &Task) {
        let number = self.number(task);
        self.retired.insert(number, known.clone());
        self.numbers[task.index()] = 0;
    }

    pub(super) fn push(&self, table: &mut Table, number: u64, task: &Task, names: &Names) {
        // A thread id is another thread's after its end: the first snapshot knows who was there before the trace, the
        // last one who is still there.
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
