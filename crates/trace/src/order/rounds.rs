//! Decides, by the recorder's rounds, which events may be handed out, and hands them out in the order of time.

use super::{BATCH, CpuQueue, Order, queue_index};
use crate::event::{Cpu, Event, Missing, Tid};
use crate::problem::{ProblemKind, Problems};
use std::cmp::Reverse;

/// Most events held back (256 MiB). For a recorder that marks its rounds, a few MB per CPU are enough.
const MAX_PENDING: usize = 8 << 20;

impl Order {
    /// The end of a recorder's round: everything older than the end of the previous round may be handed out.
    pub(crate) fn end_of_round(&mut self, problems: &mut Problems) {
        self.release(self.latest_before, problems);
        self.latest_before = self.latest;
    }

    /// Everything up to `ts` may be handed out.
    pub(crate) fn release(&mut self, ts: u64, problems: &mut Problems) {
        self.limit = self.limit.max(ts);
        self.latest_before = self.latest_before.max(ts);
        self.gather(problems);
    }

    /// Time of the latest event so far.
    pub(crate) fn latest(&self) -> u64 {
        self.latest
    }

    /// Starts the search for the latest event of one stream; returns the latest of all.
    pub(crate) fn replace_latest(&mut self, ts: u64) -> u64 {
        std::mem::replace(&mut self.latest, ts)
    }

    /// Whether a CPU has had an event.
    pub(crate) fn has_seen(&self, cpu: Cpu) -> bool {
        self.queues.get(queue_index(cpu)).is_some_and(|queue| queue.seen)
    }

    /// No more events will come.
    pub(crate) fn finish(&mut self, problems: &mut Problems) {
        if self.breaks_are_expected {
            self.last_runs_are_unknown();
        }
        for queue in self.queues.iter_mut().filter(|queue| queue.losing.is_some()) {
            self.pending += queue.end_of_gap(self.latest.max(queue.last));
        }
        // If switches were not recorded, a CPU to which tasks were sent need not have an event.
        if self.has_switches {
            self.unseen.report(self.queues.iter().map(|queue| queue.last).max().unwrap_or(0), problems);
        }
        self.limit = u64::MAX;
        self.finished = true;
        self.gather(problems);
    }

    /// Only some tasks were recorded: a task that was switched in may have left its CPU unseen since then.
    fn last_runs_are_unknown(&mut self) {
        let latest = self.latest;
        for (number, queue) in self.queues.iter_mut().skip(1).enumerate() {
            let runs = queue.current.is_some_and(|current| current != Tid::IDLE);
            if runs && queue.losing.is_none() && queue.last < latest {
                queue.gap(Cpu(number as u16), (queue.last, latest), Missing::Chain, 0);
                self.pending += 2;
            }
        }
    }

    /// Whether no more events will come.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether events are pending that may be handed out.
    pub(crate) fn is_ready(&self) -> bool {
        self.handing_out
    }

    /// Keeps memory bounded if a source never ends its rounds: hands out the older half.
    pub(crate) fn relieve(&mut self, problems: &mut Problems) {
        if self.pending < MAX_PENDING {
            return;
        }
        let mut starts: Vec<(u64, u64)> =
            self.queues.iter().filter(|q| q.at < q.events.len()).map(|q| (q.events[q.at].ts, q.last)).collect();
        starts.sort_unstable();
        let oldest = starts.first().map_or(0, |s| s.0);
        let latest = starts.iter().map(|s| s.1).max().unwrap_or(0);
        problems.add(ProblemKind::Unsorted, || {
            format!("more than {MAX_PENDING} events had to be held back for ordering; some may be out of order")
        });
        self.release(oldest + (latest - oldest) / 2, problems);
    }

    fn gather(&mut self, problems: &mut Problems) {
        if self.has_open_begin && self.first_waiting() <= self.limit {
            self.settle_begins(problems);
        }
        self.heads.clear();
        for (index, queue) in self.queues.iter().enumerate() {
            if let Some(first) = queue.events.get(queue.at).filter(|e| e.ts <= self.limit) {
                self.heads.push(Reverse((first.ts, queue.place_of(queue.at, index as u32), index as u32)));
            }
        }
        self.handing_out = !self.heads.is_empty();
    }

    /// Hands out up to [`BATCH`] events in order; none if all that may go are gone.
    pub(crate) fn take(&mut self, out: &mut Vec<Event>) {
        while out.len() < BATCH {
            let Some(Reverse((.., index))) = self.heads.pop() else { break };
            let next = self.heads.peek().map_or((u64::MAX, u64::MAX), |r| (r.0.0, r.0.1));
            let queue = &mut self.queues[index as usize];
            let waiting = &queue.events[queue.at..];
            let most = waiting.len().min(BATCH - out.len());
            // Takes this CPU's events up to the next event of any other CPU; these are often many.
            let is_later = |at: usize, e: &Event| {
                e.ts > next.0 || e.ts == next.0 && queue.place_of(queue.at + at, index) > next.1 || e.ts > self.limit
            };
            let run = waiting[..most].iter().enumerate().position(|(at, e)| is_later(at, e)).unwrap_or(most);
            out.extend_from_slice(&waiting[..run]);
            queue.at += run;
            self.pending -= run;
            if let Some(first) = queue.events.get(queue.at).filter(|e| e.ts <= self.limit) {
                self.heads.push(Reverse((first.ts, queue.place_of(queue.at, index), index)));
            } else {
                queue.compact();
            }
        }
        self.handing_out = !self.heads.is_empty();
        if let Some(last) = out.last() {
            self.handed_out = last.ts;
        }
    }
}

impl CpuQueue {
    /// Reuses the space of events that have been handed out.
    fn compact(&mut self) {
        if self.at * 2 >= self.events.len() {
            self.events.drain(..self.at);
            self.places.drain(..self.at.min(self.places.len()));
            self.at = 0;
        }
    }
}
