//! The CPU on whose queue a thread waits: from the placement, through every migration, to the switch-in.

use super::follow::Known;
use schedlab_trace::{Cpu, Event, What};

/// Most moves that are kept within one wait.
const MAX_MOVES: usize = 64;

/// The queue that one thread is on.
#[derive(Debug, Clone, Default)]
pub(super) struct QueuePosition {
    cpu: Option<Cpu>,
    since: u64,
    /// Its waker's CPU and the time of the waking, until a queue has the thread. A migration from that CPU is the
    /// placement, as long as the waker still runs there.
    placing_on: Option<(Cpu, u64)>,
    /// Earlier queues: CPU, from, to; no CPU while the thread was being placed.
    earlier: Vec<(Option<Cpu>, u64, u64)>,
    /// How many of these were merged: they count as one, on an unknown CPU.
    forgotten: u32,
}

impl QueuePosition {
    /// The thread left its CPU; a waking before that counts only if the thread sleeps.
    #[inline]
    pub(super) fn left(&mut self, ts: u64, cpu: Cpu, runnable: bool) {
        (self.cpu, self.since) = (Some(cpu), ts);
        self.placing_on = self.placing_on.filter(|_| !runnable);
        self.forget();
    }

    /// The thread got a CPU.
    #[inline]
    pub(super) fn entered(&mut self) {
        self.placing_on = None;
    }

    /// The thread is being woken. A preempted thread is still in its queue, and is not placed again.
    #[inline]
    pub(super) fn waking(&mut self, event: &Event, target: Cpu, wakee: &Known) {
        if wakee.left_runnable() {
            return;
        }
        self.placing_on = Some((event.cpu, event.ts));
        if wakee.left_asleep() {
            (self.cpu, self.since) = (known(target).or(self.cpu), event.ts);
            self.forget();
        }
    }

    /// The thread was enqueued.
    #[inline]
    pub(super) fn queued(&mut self, event: &Event, target: Cpu) {
        self.placing_on = None;
        self.move_to(event.ts, known(target).or(self.cpu), self.cpu);
    }

    /// `sched_migrate_task`, on a CPU whose last switch was at `switched`.
    pub(super) fn moved(&mut self, event: &Event, switched: u64) {
        let What::Migrate { dest_cpu, .. } = event.what else { return };
        let placing = self.placing_on.take().is_some_and(|(cpu, woken)| cpu == event.cpu && switched <= woken);
        let was = if placing { None } else { self.cpu };
        self.move_to(event.ts, known(dest_cpu), was);
    }

    fn move_to(&mut self, ts: u64, to: Option<Cpu>, was: Option<Cpu>) {
        if to == self.cpu && was == self.cpu {
            return;
        }
        if self.earlier.len() >= MAX_MOVES {
            let (.., end) = self.earlier.remove(1);
            let first = &mut self.earlier[0];
            (first.0, first.2) = (Some(Cpu::ANY), end);
            self.forgotten += 1;
        }
        self.earlier.push((was, self.since, ts));
        (self.cpu, self.since) = (to, ts);
    }

    fn forget(&mut self) {
        self.earlier.clear();
        self.forgotten = 0;
    }

    /// Number of moves that `within` does not report separately.
    pub(super) fn forgotten(&self) -> u32 {
        self.forgotten
    }

    /// Calls `each` with the queues between two times; the last one is that of the CPU that finally ran the thread.
    #[inline]
    pub(super) fn within(&self, from: u64, to: u64, cpu: Cpu, mut each: impl FnMut(Option<Cpu>, u64, u64)) {
        for (was, start, end) in &self.earlier {
            if *end > from {
                each(*was, from.max(*start), to.min(*end));
            }
        }
        // If migrations are not traced, only the last queue is known.
        each(Some(cpu), if self.earlier.is_empty() { from } else { from.max(self.since) }, to);
    }
}

fn known(cpu: Cpu) -> Option<Cpu> {
    (cpu != Cpu::ANY).then_some(cpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_trace::{Name, Prio, Tid};

    #[test]
    fn however_often_it_is_moved_the_parts_are_the_whole() {
        let mut place = QueuePosition::default();
        place.left(5, Cpu(0), true);
        for n in 1..=200_u16 {
            let (tid, comm, prio) = (Tid(1), Name::UNKNOWN, Prio::UNKNOWN);
            let what = What::Migrate { tid, comm, prio, orig_cpu: Cpu(n - 1), dest_cpu: Cpu(n) };
            place.moved(&Event { ts: 10 * u64::from(n), cpu: Cpu(n), what }, 0);
        }
        let mut parts = Vec::new();
        place.within(5, 3000, Cpu(200), |cpu, from, to| parts.push((cpu, from, to)));
        assert!(parts.windows(2).all(|pair| pair[0].2 == pair[1].1), "{parts:?}");
        assert_eq!((parts[0].0, parts[0].1, parts.last()), (Some(Cpu::ANY), 5, Some(&(Some(Cpu(200)), 2000, 3000))));
        assert_eq!(parts.len() as u32 - 1 + place.forgotten(), 200);
    }
}
