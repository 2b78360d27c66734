//! Which task a thread id stands for: births, names, and reused ids.

use super::Engine;
use super::observer::{Censored, Observer, Task, TaskId};
use super::tids::{How, NO_TASK, Phase, Slot, Tids};
use crate::event::{Event, Tid, Wake};
use crate::names::Name;

/// Number of tasks that are remembered individually: some 100 MB with what analyses keep for each.
pub(super) const MAX_TASKS: usize = 1 << 17;

/// All tasks seen.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) all: Vec<Task>,
    /// Numbers of retired tasks.
    pub(super) free: Vec<TaskId>,
    /// All tasks, including those whose number now belongs to another.
    pub(super) met: u64,
}

impl Engine {
    pub(super) fn wakeup_new<O: Observer>(&mut self, ts: u64, wake: &Wake, observer: &mut O) {
        self.gaps.sent(wake.target_cpu, ts);
        let known = *self.tids.get(wake.tid);
        if known.task != NO_TASK && !known.fresh && !known.is_name_only() {
            // Its fork was not traced: the id now belongs to another thread.
            self.begin_task(wake.tid, wake.comm, None, None, observer);
        }
        let slot = task_of(&mut self.tids, &mut self.tasks, wake.tid, wake.comm);
        slot.take_prio(wake.prio);
        slot.woken(ts, ts, How::New, wake);
        let start = &mut self.tasks.all[slot.task.index()].start;
        *start = start.or(Some(ts));
    }

    pub(super) fn fork<O: Observer>(&mut self, ts: u64, parent: Tid, child: Tid, comm: Name, observer: &mut O) {
        if child == Tid::IDLE {
            return;
        }
        let slot = *self.tids.get(child);
        // perf's records and the kernel's events may both report the same fork, or only have named the thread before.
        if slot.task != NO_TASK && (slot.fresh || slot.is_name_only()) {
            let task = &mut self.tasks.all[slot.task.index()];
            task.start = task.start.or((ts > 0).then_some(ts));
            task.parent = task.parent.or((ts > 0).then_some(parent));
            if comm != Name::UNKNOWN {
                task.comm = comm;
            }
            return;
        }
        let of_parent = self.tids.get(parent).task;
        let inherited = self.tasks.all.get(of_parent.index()).map_or(Name::UNKNOWN, |t| t.comm);
        let comm = if comm == Name::UNKNOWN { inherited } else { comm };
        self.begin_task(child, comm, (ts > 0).then_some(ts), Some(parent), observer);
        self.tids.get(child).fresh = true;
    }

    /// From now on a thread id stands for another thread.
    pub(super) fn begin_task<O: Observer>(
        &mut self,
        tid: Tid,
        comm: Name,
        start: Option<u64>,
        parent: Option<Tid>,
        observer: &mut O,
    ) {
        let old = *self.tids.get(tid);
        self.tasks.goes_on(&old, old.since.max(old.waking));
        match old.phase {
            Phase::Woken | Phase::Preempted => {
                observer.wait_censored(old.task, &old.censored(Censored::Contradiction, 0));
            }
            Phase::Running => observer.run_censored(old.task, Censored::Contradiction),
            Phase::Sleeping | Phase::Unknown | Phase::Dead => {}
        }
        if old.task != NO_TASK && self.tasks.all.len() >= self.most_tasks {
            observer.retired(old.task, &self.tasks.all[old.task.index()]);
            self.tasks.free.push(old.task);
        }
        let new = self.tasks.add(tid, comm);
        *self.tids.get(tid) = Slot::of(new);
        (self.tasks.all[new.index()].start, self.tasks.all[new.index()].parent) = (start, parent);
    }

    /// A thread of a group calls exec and takes over the id of the group's leader, which ends.
    pub(super) fn exec<O: Observer>(&mut self, event: &Event, tid: Tid, old_tid: Tid, observer: &mut O) {
        let slot = *self.tids.get(old_tid);
        if slot.task == NO_TASK || tid == Tid::IDLE {
            return;
        }
        let (comm, start) = (self.tasks.all[slot.task.index()].comm, self.tasks.all[slot.task.index()].start);
        self.begin_task(tid, comm, start, None, observer);
        let task = self.tids.get(tid).task;
        *self.tids.get(tid) = Slot { task, ..slot };
        *self.tids.get(old_tid) = Slot { phase: Phase::Dead, ..Slot::of(slot.task) };
        self.tasks.all[slot.task.index()].end = Some(event.ts);
        if let Some(state) = self.cpus.get_mut(event.cpu).filter(|c| c.current == Some(old_tid)) {
            state.current = Some(tid);
        }
    }

    pub(super) fn rename(&mut self, ts: u64, tid: Tid, comm: Name) {
        if tid == Tid::IDLE {
            return;
        }
        let slot = task_of(&mut self.tids, &mut self.tasks, tid, Name::UNKNOWN);
        let task = &mut self.tasks.all[slot.task.index()];
        if task.comm != comm {
            if ts > 0 && task.comm != Name::UNKNOWN {
                task.first_comm.get_or_insert(task.comm);
            }
            task.comm = comm;
        }
    }
}

/// The state of a thread; a new task begins if the id was not seen before or its previous task is dead.
#[inline(always)]
pub(super) fn task_of<'a>(tids: &'a mut Tids, tasks: &mut Tasks, tid: Tid, comm: Name) -> &'a mut Slot {
    let slot = tids.get(tid);
    match tasks.all.get_mut(slot.task.index()) {
        // Not every change of a name is traced; the last name seen is kept.
        Some(task) if slot.phase != Phase::Dead => {
            if task.comm != comm && comm != Name::UNKNOWN {
                task.comm = comm;
            }
        }
        // If a migration showed its CPUs before it had a task, they are kept for the task.
        None if slot.task == NO_TASK => slot.task = tasks.add(tid, comm),
        _ => *slot = Slot::of(tasks.add(tid, comm)),
    }
    slot
}

impl Tasks {
    /// A task that has begun to exit may still run, wait and sleep, so its last switch-out cannot be recognised yet.
    pub(super) fn goes_on(&mut self, slot: &Slot, now: u64) {
        let until = match slot.phase {
            Phase::Dead => return,
            Phase::Unknown => slot.since.max(slot.waking),
            _ => now,
        };
        if let Some(end) = self.all.get_mut(slot.task.index()).and_then(|task| task.end.as_mut()) {
            *end = until.max(*end);
        }
    }

    #[cold]
    fn add(&mut self, tid: Tid, comm: Name) -> TaskId {
        let task = Task { tid, comm, first_comm: None, start: None, parent: None, end: None };
        self.met += 1;
        if let Some(id) = self.free.pop() {
            self.all[id.index()] = task;
            return id;
        }
        self.all.push(task);
        TaskId(self.all.len() as u32 - 1)
    }
}
