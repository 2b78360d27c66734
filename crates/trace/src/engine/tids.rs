//! The state of each thread, by id: two levels of arrays, so that a look-up is two loads and needs no hash.

use super::observer::TaskId;
use crate::event::{Context, Cpu, Prio, Tid};
use crate::prev_state::StateClass;

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not seen yet, or lost sight of.
    Unknown,
    /// On a CPU since `since`; `waking` may be pending.
    Running,
    /// Runnable, switched out at `since`.
    Preempted,
    /// Asleep since `since`; `waking` may be pending.
    Sleeping,
    /// Woken at `waking`.
    Woken,
    /// Switched out for good.
    Dead,
}

/// How the current wait began, as far as the phase does not show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Waking,
    Repaired,
    WakeupOnly,
    New,
}

/// A thread's state: one cache line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// When the phase began.
    pub(super) since: u64,
    /// The waking: pending while running or asleep, the start of the wait while woken.
    pub(super) waking: u64,
    /// When it was enqueued; `NEVER` if it has not been yet.
    pub(super) queued: u64,
    /// The CPUs on which it was seen, as bits of their numbers modulo 64: where it may have run unseen.
    pub(super) seen_on: u64,
    pub(super) task: TaskId,
    pub(super) waker: Tid,
    pub(super) cpu: Cpu,
    pub(super) phase: Phase,
    pub(super) how: How,
    pub(super) class: StateClass,
    /// From its latest switch or waking.
    pub(super) prio: Prio,
    pub(super) context: Context,
    /// A waking came while it was on the CPU.
    pub(super) pending: bool,
    /// It was first seen in this waking, so it may have been running.
    pub(super) unsure: bool,
    /// Forked, and not seen since.
    pub(super) fresh: bool,
}

pub(super) const NEVER: u64 = u64::MAX;

/// No task has this number: the id has not been seen yet.
pub(super) const NO_TASK: TaskId = TaskId(u32::MAX);

const NEW: Slot = Slot {
    since: 0,
    waking: 0,
    queued: NEVER,
    seen_on: 0,
    task: NO_TASK,
    waker: Tid::IDLE,
    cpu: Cpu::ANY,
    phase: Phase::Unknown,
    how: How::Waking,
    class: StateClass::Unknown,
    prio: Prio::UNKNOWN,
    context: Context::NONE,
    pending: false,
    unsure: false,
    fresh: false,
};

impl Slot {
    /// The state of a new task.
    pub(super) fn of(task: TaskId) -> Self {
        Self { task, ..NEW }
    }

    #[inline]
    pub(super) fn see(&mut self, cpu: Cpu) {
        if cpu != Cpu::ANY {
            self.seen_on |= 1 << (cpu.0 % 64);
        }
    }
}

/// Threads per page: threads that are created together have neighbouring ids.
const PAGE: usize = 256;

/// All threads.
#[derive(Debug, Default)]
pub(super) struct Tids {
    pages: Vec<Option<Box<[Slot; PAGE]>>>,
}

#[cold]
fn new_page() -> Box<[Slot; PAGE]> {
    Box::new([NEW; PAGE])
}

impl Tids {
    #[inline(always)]
    pub(super) fn get(&mut self, tid: Tid) -> &mut Slot {
        let (page, at) = (tid.0 as usize / PAGE, tid.0 as usize % PAGE);
        if page >= self.pages.len() {
            self.make_room(page);
        }
        &mut self.pages[page].get_or_insert_with(new_page)[at]
    }

    #[cold]
    fn make_room(&mut self, page: usize) {
        self.pages.resize(page + 1, None);
    }

    /// The task of an id, if the id was seen.
    #[inline]
    pub(super) fn task(&self, tid: Tid) -> Option<TaskId> {
        let page = self.pages.get(tid.0 as usize / PAGE)?.as_ref()?;
        Some(page[tid.0 as usize % PAGE].task).filter(|task| *task != NO_TASK)
    }

    /// Every thread that was met.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Slot> {
        self.pages.iter_mut().flatten().flat_map(|page| page.iter_mut()).filter(|slot| slot.task != NO_TASK)
    }
}

const _: () = assert!(size_of::<Slot>() <= 64, "a thread's state is one cache line");
