//! The queue that each thread is in and what each CPU does: a wait is divided by these when it ends.

use super::follow::{Known, KnownTasks};
use super::lanes::{CpuActivity, CpuHistories, OnCpu};
use super::places::QueuePosition;
use schedlab_trace::engine::{TaskId, Wait};
use schedlab_trace::{Cpu, Event, Name, PerTask, StateClass, Tid, What};

/// Follows threads from queue to queue, and CPUs from thread to thread.
#[derive(Debug, Default)]
pub(super) struct RunQueues {
    places: PerTask<QueuePosition>,
    pub(super) lanes: CpuHistories,
}

/// A stretch of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stretch {
    /// Between the waking and the queue, or between queues.
    Placing,
    /// In a queue, while the CPU did this.
    WaitPart(CpuActivity),
    /// All of one queue, reported after its parts.
    Queue,
}

impl RunQueues {
    /// A switch: the thread that left a CPU with the class of its state, and the thread that got the CPU.
    #[inline]
    pub(super) fn switched(&mut self, event: &Event, class: StateClass, out: Option<TaskId>, into: Option<TaskId>) {
        if let Some(task) = out {
            self.places.of(task).left(event.ts, event.cpu, class.is_runnable());
        }
        if let Some(task) = into {
            self.places.of(task).entered();
        }
    }

    /// A waking or wakeup of a thread.
    #[inline]
    pub(super) fn woken(&mut self, event: &Event, target: Cpu, task: TaskId, known: &Known) {
        match event.what {
            What::Waking(_) => self.places.of(task).waking(event, target, known),
            _ if !known.on_cpu => self.places.of(task).queued(event, target),
            _ => {}
        }
    }

    /// A migration of a thread between queues.
    pub(super) fn moved(&mut self, event: &Event, task: TaskId, known: &Known) {
        if !known.on_cpu {
            self.places.of(task).moved(event, self.lanes.switched(event.cpu));
        }
    }

    /// Number of moves in a wait that are not reported separately.
    pub(super) fn forgotten(&self, task: TaskId) -> u32 {
        self.places.get(task).map_or(0, QueuePosition::forgotten)
    }

    /// Calls `each` with the stretches of a wait between two times in it, each with its begin and end.
    #[inline]
    pub(super) fn divide(
        &self,
        task: TaskId,
        wait: &Wait,
        (from, to): (u64, u64),
        mut each: impl FnMut(Stretch, u64, u64),
    ) {
        let queued = wait.queued.unwrap_or(wait.start).clamp(wait.start, wait.end).clamp(from, to);
        each(Stretch::Placing, from, queued);
        let nowhere = QueuePosition::default();
        self.places.get(task).unwrap_or(&nowhere).within(queued, to, wait.cpu, |cpu, start, end| {
            // Parts after the requested end are ignored.
            let (start, end) = (start.min(to), end.min(to));
            let Some(cpu) = cpu else { return each(Stretch::Placing, start, end.max(start)) };
            self.lanes.walk(cpu, start, end, |start, end, does| each(Stretch::WaitPart(does), start, end));
            each(Stretch::Queue, start, end);
        });
    }

    /// Forgets a task, because its number will be reused.
    pub(super) fn retired(&mut self, task: TaskId) {
        *self.places.of(task) = QueuePosition::default();
    }
}

impl CpuActivity {
    /// With the thread's name instead of its state, and the thread's id.
    pub(super) fn named(self, known: &KnownTasks) -> (CpuActivity<Name>, Option<Tid>) {
        match self {
            Self::Task(OnCpu { task, comm, .. }) => (CpuActivity::Task(comm), Some(known.get(task).tid)),
            Self::Idle => (CpuActivity::Idle, None),
            Self::Unknown => (CpuActivity::Unknown, None),
            Self::Irq(irq, name) => (CpuActivity::Irq(irq, name), None),
            Self::Softirq(vec) => (CpuActivity::Softirq(vec), None),
        }
    }
}
