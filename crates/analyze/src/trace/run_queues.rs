//! In whose queue each thread is and who has each CPU: what a wait is divided by when it ends.

use super::follow::{KnownTasks, Taken};
use super::lanes::{Does, Lanes};
use super::places::Place;
use schedlab_trace::engine::{TaskId, Wait};
use schedlab_trace::{Cpu, Event, Name, PerTask, Tid, What};

/// Follows threads from queue to queue.
#[derive(Debug, Default)]
pub(super) struct RunQueues {
    places: PerTask<Place>,
    lanes: Lanes<(TaskId, Name)>,
}

/// A stretch of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stretch {
    /// Between the waking and the queue, or between queues.
    Placing,
    /// In a queue, behind what its CPU did.
    Behind(Does<(TaskId, Name)>),
    /// All of one queue, told after the parts of it.
    Queue,
}

impl RunQueues {
    #[inline]
    pub(super) fn take(&mut self, taken: &Taken<'_>) {
        let Event { ts, cpu, what } = *taken.event;
        match what {
            What::Switch { next_comm, .. } => {
                if let Some(task) = taken.out {
                    self.places.of(task).left(ts, cpu, taken.class.is_runnable());
                }
                if let Some(task) = taken.into {
                    self.places.of(task).entered();
                }
                self.lanes.switch(ts, cpu, taken.into.map(|task| (task, next_comm)));
            }
            What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) => {
                let Some(task) = taken.woken else { return };
                let known = taken.known.get(task);
                match what {
                    What::Waking(_) => self.places.of(task).waking(taken.event, wake.target_cpu, known),
                    _ if !known.on_cpu => self.places.of(task).queued(taken.event, wake.target_cpu),
                    _ => {}
                }
            }
            What::Migrate { tid, .. } => {
                if let Some(task) = taken.engine.task(tid).filter(|task| !taken.known.get(*task).on_cpu) {
                    let switched = self.lanes.switched(cpu);
                    self.places.of(task).moved(taken.event, switched);
                }
            }
            _ => self.lanes.take_rare(taken.event),
        }
    }

    /// What a CPU does now.
    pub(super) fn now(&self, cpu: Cpu) -> Does<(TaskId, Name)> {
        self.lanes.now(cpu)
    }

    /// Moves of a wait that are not handed out one by one.
    pub(super) fn forgotten(&self, task: TaskId) -> u32 {
        self.places.get(task).map_or(0, Place::forgotten)
    }

    /// Hands out the stretches of a wait that has ended, between two times in it; of each its begin and end.
    #[inline]
    pub(super) fn divide(
        &mut self,
        task: TaskId,
        wait: &Wait,
        (from, to): (u64, u64),
        mut each: impl FnMut(Stretch, u64, u64),
    ) {
        let queued = wait.queued.unwrap_or(wait.start).clamp(wait.start, wait.end).clamp(from, to);
        each(Stretch::Placing, from, queued);
        let Self { places, lanes } = self;
        places.of(task).within(queued, to, wait.cpu, |cpu, start, end| {
            // What lies behind the end that is asked for is no part.
            let (start, end) = (start.min(to), end.min(to));
            let Some(cpu) = cpu else { return each(Stretch::Placing, start, end.max(start)) };
            lanes.walk(cpu, start, end, |start, end, does| each(Stretch::Behind(does), start, end));
            each(Stretch::Queue, start, end);
        });
    }

    /// Forgets a task, whose number will be another's.
    pub(super) fn retired(&mut self, task: TaskId) {
        *self.places.of(task) = Place::default();
    }
}

impl Does<(TaskId, Name)> {
    /// By the thread's name, and which one it is.
    pub(super) fn named(self, known: &KnownTasks) -> (Does<Name>, Option<Tid>) {
        match self {
            Self::Task((task, comm)) => (Does::Task(comm), Some(known.get(task).tid)),
            Self::Idle => (Does::Idle, None),
            Self::Unknown => (Does::Unknown, None),
            Self::Irq(irq, name) => (Does::Irq(irq, name), None),
            Self::Softirq(vec) => (Does::Softirq(vec), None),
        }
    }
}
