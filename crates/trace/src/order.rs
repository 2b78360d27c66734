//! Puts events into the order of time. A source delivers them CPU by CPU (a ring buffer, a page, a round of perf's),
//! nearly sorted for each CPU; here they are merged. Because a CPU's events are seen in sequence before they are
//! merged, gaps are also detected here, and marked where they *begin*, which is impossible when reading in the order of
//! time.

mod gaps;
mod rounds;
#[cfg(test)]
mod tests;

use crate::TraceError;
use crate::event::{Cpu, Event, Missing, Tid, What};
use crate::problem::Problems;
use crate::unseen::Unseen;
use gaps::Begin;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events handed out at once: 128 kB, which fits the second-level cache.
pub const BATCH: usize = 4096;

/// If a clock goes back by less than this, two events were swapped.
pub(crate) const SWAPPED_NS: u64 = 1_000_000;

/// Merges the events of CPUs.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// By number of the CPU, or of the stream; index 0 is for events without a known CPU.
    queues: Vec<CpuQueue>,
    /// CPUs with events that may be handed out, by the time of their first such event and, for equal times, by its
    /// position.
    heads: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Next position in a sorted file; `None` for a source that delivers CPU after CPU.
    places: Option<u64>,
    /// Events up to here may be handed out.
    limit: u64,
    /// Time of the latest event so far, and of the latest at the end of the previous round.
    latest: u64,
    latest_before: u64,
    /// Time of the last event handed out.
    handed_out: u64,
    pending: usize,
    /// Some CPU's events begin after a gap whose end has not been marked yet.
    has_open_begin: bool,
    handing_out: bool,
    finished: bool,
    /// Only some tasks were recorded, so a break in a CPU's chain of switches is expected.
    breaks_are_expected: bool,
    unseen: Unseen,
    has_switches: bool,
    /// The recorder starts its CPUs one after the other.
    starts_in_turn: bool,
}

/// A reader whose events are merged.
pub(crate) trait Merging {
    fn order(&mut self) -> &mut Order;

    /// Reads on, until more events may be handed out or for one piece of the file.
    fn advance(&mut self) -> Result<(), TraceError>;

    /// Replaces the content of `out` by the next events in the order of time; false at the end.
    fn next_batch(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        merge(self, out)
    }
}

/// Reads on until there is a batch.
pub(crate) fn merge(reader: &mut (impl Merging + ?Sized), out: &mut Vec<Event>) -> Result<bool, TraceError> {
    out.clear();
    loop {
        reader.order().take(out);
        if !out.is_empty() {
            return Ok(true);
        }
        if reader.order().is_finished() {
            return Ok(false);
        }
        reader.advance()?;
    }
}

/// The events of one CPU that are not handed out yet.
#[derive(Debug, Default)]
struct CpuQueue {
    events: Vec<Event>,
    /// Position of each event in a sorted file; empty for other sources, where the CPU decides between equal times.
    places: Vec<u64>,
    /// Position of the latest event; 0 for other sources.
    place: u64,
    /// Index of the first event that has not been handed out.
    at: usize,
    /// Time of the last event, even if it has been handed out.
    last: u64,
    /// Time of the last of perf's own records, and of the event before these.
    last_perf_record: u64,
    before_perf_records: u64,
    /// The thread switched in last; `None` after a gap and at the start.
    current: Option<Tid>,
    /// In a gap: on which CPU, why, and how many events were lost. The next event that is in order ends it.
    losing: Option<(Cpu, Missing, u32)>,
    /// It has had a switch; known only where CPUs start in turn.
    has_switched: bool,
    /// The gap is still open after the next event.
    held: bool,
    seen: bool,
    /// The gap before its first event, whose begin has not been marked: it is the begin of the trace, which is not
    /// known before events are handed out.
    begin: Option<Begin>,
}

impl Order {
    /// For a file that is sorted over all CPUs: its order decides between equal times, of which there are many if times
    /// are in whole microseconds.
    pub(crate) fn of_a_sorted_file() -> Self {
        Self { places: Some(0), ..Self::default() }
    }

    /// For a recorder that starts its CPUs one after the other, as perf does (0.1 to 14 ms on two CPUs): a thread may
    /// have run unseen on a CPU before that CPU's first switch. CPU 0 is the first.
    pub(crate) fn of_cpus_in_turn() -> Self {
        Self { starts_in_turn: true, ..Self::default() }
    }

    /// Sets whether breaks in the chain of switches are, from now on, only marked as gaps and not reported as problems.
    pub(crate) fn breaks_are_expected(&mut self, are_expected: bool) {
        self.breaks_are_expected = are_expected;
    }

    /// Adds an event of a CPU, after the CPU's earlier ones.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event, problems: &mut Problems) {
        self.push_in(queue_index(event.cpu), event, problems);
    }

    /// An out-of-line variant for rare events, to save code size.
    #[inline(never)]
    pub(crate) fn push_rare(&mut self, event: Event, problems: &mut Problems) {
        self.push_in(queue_index(event.cpu), event, problems);
    }

    /// Adds one of perf's own records, not of the kernel's tracepoints: it does not show that nothing was missing
    /// until then.
    #[inline(never)]
    pub(crate) fn push_perf_record(&mut self, event: Event, problems: &mut Problems) {
        let index = queue_index(event.cpu);
        let (last, last_record) = self.queues.get(index).map_or((0, 0), |queue| (queue.last, queue.last_perf_record));
        self.push_in(index, event, problems);
        let queue = &mut self.queues[index];
        if last != last_record {
            queue.before_perf_records = last;
        }
        queue.last_perf_record = queue.last;
    }

    /// Notes that a CPU has an event, of a kind that nobody wants, so it is not added.
    #[inline]
    pub(crate) fn meet(&mut self, cpu: Cpu) {
        self.unseen.meet(cpu);
    }

    /// Adds an event of a stream that is itself in order; a CPU may have several such streams.
    #[inline(always)]
    pub(crate) fn push_in(&mut self, index: usize, event: Event, problems: &mut Problems) {
        self.ensure_queue(index);
        self.unseen.meet(event.cpu);
        let queue = &mut self.queues[index];
        if let Some(places) = &mut self.places {
            *places += 1;
            queue.place = *places;
        }
        if event.ts < queue.last || event.ts < self.limit {
            // The event is not passed to a function, because it would first be written to memory.
            queue.events.push(event);
            return self.settle_late(index, problems);
        }
        if queue.losing.is_some() && !queue.held {
            self.pending += queue.end_of_gap(event.ts);
        }
        if let What::Switch { prev, next, .. } = event.what {
            match queue.current {
                Some(current) if current != prev => {
                    self.pending += 2;
                    let reported = (!self.breaks_are_expected).then_some(&mut *problems);
                    queue.chain_break(event.cpu, event.ts, prev, self.limit, reported);
                }
                None if self.starts_in_turn && !self.breaks_are_expected => {
                    self.pending += queue.mark_late_start(&event);
                }
                _ => {}
            }
            queue.current = (!queue.held).then_some(next);
            self.has_switches = true;
        } else {
            self.unseen.take(event.ts, event.what);
        }
        if let What::Exec { tid, old_tid } = event.what {
            // The thread on the CPU gets another id.
            queue.current = queue.current.map(|c| if c == old_tid { tid } else { c });
        }
        queue.last = event.ts;
        queue.seen = true;
        queue.put(event);
        self.pending += 1;
        self.latest = self.latest.max(event.ts);
    }

    /// Makes sure that the queue of this index exists.
    #[inline(always)]
    fn ensure_queue(&mut self, index: usize) {
        if index >= self.queues.len() {
            self.add_queues(index);
        }
    }

    #[cold]
    fn add_queues(&mut self, index: usize) {
        let place = u64::from(self.places.is_some());
        self.queues.resize_with(index + 1, || CpuQueue { place, ..CpuQueue::default() });
    }
}

impl CpuQueue {
    #[inline(always)]
    fn put(&mut self, event: Event) {
        self.events.push(event);
        if self.place > 0 {
            self.places.push(self.place);
        }
    }

    /// Inserts an event among those pending; `place` is its position in a sorted file.
    fn insert(&mut self, at: usize, event: Event, place: u64) {
        self.events.insert(at, event);
        if self.place > 0 {
            self.places.insert(at, place);
        }
    }

    /// The position that decides between events with equal times.
    #[inline(always)]
    fn place_of(&self, at: usize, index: u32) -> u64 {
        self.places.get(at).copied().unwrap_or(u64::from(index))
    }
}

/// The index of a CPU's queue: one more than its number; index 0 is for events without a known CPU.
#[inline]
fn queue_index(cpu: Cpu) -> usize {
    usize::from(cpu.0.wrapping_add(1))
}
