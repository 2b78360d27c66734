//! Events into the order of time. A source delivers them CPU by CPU (a ring buffer, a page, a round of perf's), each
//! CPU nearly sorted; here they are merged. Because a CPU's events are seen in a row before anything is merged, this is
//! also where a gap is found out, and marked where it *begins*, which nobody could do who reads in the order of time.

use crate::event::{Cpu, Event, Missing, Tid, What};
use crate::problem::{ProblemKind, Problems};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events handed out at once: 128 kB, which fit the second-level cache.
pub const BATCH: usize = 4096;

/// Events held back at most (256 MiB). A recorder that marks its rounds needs a few MB per CPU.
const MOST_PENDING: usize = 8 << 20;

/// How far back in a CPU's events a late one is put in its place. An interrupt between taking the time and reserving
/// the space swaps neighbours; more is a clock that went back.
const NEIGHBOURS: usize = 64;

/// A clock that goes back by less than this is two events that changed places.
const SWAPPED_NS: u64 = 1_000_000;

/// Merges the events of CPUs.
#[derive(Debug, Default)]
pub(crate) struct Order {
    cpus: Vec<Lane>,
    /// CPUs with events that may be handed out, by the time of the first.
    heads: BinaryHeap<Reverse<(u64, u32)>>,
    /// Events up to here may be handed out.
    limit: u64,
    /// The latest event so far, and at the end of the round before.
    latest: u64,
    latest_before: u64,
    /// Of the last event handed out.
    handed_out: u64,
    pending: usize,
    handing_out: bool,
}

/// The events of one CPU that are not handed out yet.
#[derive(Debug, Default)]
struct Lane {
    events: Vec<Event>,
    /// The first that is not handed out.
    at: usize,
    /// Time of the last event, also when it was handed out.
    last: u64,
    /// Who was switched in last; `None` after a gap and at the start.
    current: Option<Tid>,
    /// In a gap: on which CPU, why, and how many events were lost. The next event in order ends it.
    losing: Option<(Cpu, Missing, u32)>,
    seen: bool,
}

impl Order {
    /// Adds an event of a CPU, after the CPU's earlier ones.
    #[inline]
    pub(crate) fn push(&mut self, event: Event, problems: &mut Problems) {
        self.push_in(lane_index(event.cpu), event, problems);
    }

    /// Adds an event of a stream that is in order by itself, where a CPU has several of them.
    #[inline]
    pub(crate) fn push_in(&mut self, index: usize, event: Event, problems: &mut Problems) {
        if index >= self.cpus.len() {
            self.cpus.resize_with(index + 1, Lane::default);
        }
        let lane = &mut self.cpus[index];
        if event.ts < lane.last {
            return self.push_late(index, event, problems);
        }
        if lane.losing.is_some() {
            self.pending += 1;
            lane.end_of_gap(event.ts);
        }
        if let What::Switch { prev, next, .. } = event.what {
            if lane.current.is_some_and(|current| current != prev) {
                self.pending += 2;
                lane.chain_break(event, prev, problems);
            }
            lane.current = Some(next);
        }
        if let What::Exec { tid, old_tid } = event.what {
            // The thread on the CPU has another id from now on.
            lane.current = lane.current.map(|c| if c == old_tid { tid } else { c });
        }
        lane.last = event.ts;
        lane.seen = true;
        lane.events.push(event);
        self.pending += 1;
        self.latest = self.latest.max(event.ts);
    }

    /// Events of a CPU were lost between its last event and its next one. The recorder noticed at `ts`, which may be a
    /// little after the time of that next event.
    pub(crate) fn lost(&mut self, cpu: Cpu, ts: u64, lost: u64, problems: &mut Problems) {
        self.lost_in(lane_index(cpu), cpu, ts, lost, problems);
    }

    /// The same of a stream that is in order by itself.
    pub(crate) fn lost_in(&mut self, index: usize, cpu: Cpu, ts: u64, lost: u64, problems: &mut Problems) {
        problems.add_many(ProblemKind::Lost, lost.max(1), || match cpu {
            Cpu::ANY => format!("events were lost up to {ts} ns, on an unknown CPU"),
            Cpu(n) => format!("CPU {n} lost events up to {ts} ns"),
        });
        if index >= self.cpus.len() {
            self.cpus.resize_with(index + 1, Lane::default);
        }
        let lane = &mut self.cpus[index];
        let lost = u32::try_from(lost).unwrap_or(u32::MAX);
        if cpu == Cpu::ANY {
            // Nobody knows whose next event would end it, nor since when: since the round before, at the earliest.
            let ts = ts.max(lane.last);
            (lane.last, lane.seen) = (lane.last.max(self.latest_before).min(ts), true);
            lane.gap(cpu, ts, Missing::Lost, lost);
            self.pending += 2;
        } else if let Some((_, missing, before)) = &mut lane.losing {
            (*missing, *before) = (Missing::Lost, before.saturating_add(lost));
        } else {
            lane.begin_gap(cpu, Missing::Lost, lost);
            self.pending += 1;
        }
    }

    #[cold]
    fn push_late(&mut self, index: usize, event: Event, problems: &mut Problems) {
        let lane = &mut self.cpus[index];
        self.pending += 1;
        let waiting = &lane.events[lane.at..];
        let later = waiting.iter().rev().take(NEIGHBOURS + 1).take_while(|e| e.ts > event.ts).count();
        let swapped = lane.last - event.ts < SWAPPED_NS && later <= NEIGHBOURS && event.ts >= self.handed_out;
        if swapped && !matches!(event.what, What::Switch { .. }) {
            lane.events.insert(lane.events.len() - later, event);
            return;
        }
        let (cpu, back) = (event.cpu, lane.last - event.ts);
        problems.add(ProblemKind::ClockBack, || {
            format!("the clock of CPU {} went back by {back} ns at {} ns", cpu.0, lane.last)
        });
        // Time of a lane never goes back: until the clock has caught up, everything happens where it stood, in a gap.
        let ts = lane.last;
        if lane.losing.is_none() {
            lane.begin_gap(cpu, Missing::Clock, 0);
            self.pending += 1;
        }
        if let What::Switch { next, .. } = event.what {
            lane.current = Some(next);
        }
        lane.events.push(Event { ts, ..event });
    }

    /// A recorder's end of a round: what is older than the end of the round before may be handed out.
    pub(crate) fn end_of_round(&mut self) {
        self.release(self.latest_before);
        self.latest_before = self.latest;
    }

    /// Everything up to `ts` may be handed out.
    pub(crate) fn release(&mut self, ts: u64) {
        self.limit = self.limit.max(ts);
        self.latest_before = self.latest_before.max(ts);
        self.gather();
    }

    /// Time of the latest event so far.
    pub(crate) fn latest(&self) -> u64 {
        self.latest
    }

    /// No more events will come.
    pub(crate) fn finish(&mut self) {
        for lane in self.cpus.iter_mut().filter(|lane| lane.losing.is_some()) {
            lane.end_of_gap(self.latest.max(lane.last));
            self.pending += 1;
        }
        self.limit = u64::MAX;
        self.gather();
    }

    /// Events that may be handed out are waiting.
    pub(crate) fn is_ready(&self) -> bool {
        self.handing_out
    }

    /// Keeps memory bounded where a source never ends its rounds: hands out the older half.
    pub(crate) fn relieve(&mut self, problems: &mut Problems) {
        if self.pending < MOST_PENDING {
            return;
        }
        let mut starts: Vec<(u64, u64)> =
            self.cpus.iter().filter(|l| l.at < l.events.len()).map(|l| (l.events[l.at].ts, l.last)).collect();
        starts.sort_unstable();
        let oldest = starts.first().map_or(0, |s| s.0);
        let latest = starts.iter().map(|s| s.1).max().unwrap_or(0);
        problems.add(ProblemKind::Unsorted, || {
            format!("more than {MOST_PENDING} events had to be held back for ordering; some may be out of order")
        });
        self.release(oldest + (latest - oldest) / 2);
    }

    fn gather(&mut self) {
        self.heads.clear();
        for (index, lane) in self.cpus.iter().enumerate() {
            if let Some(first) = lane.events.get(lane.at).filter(|e| e.ts <= self.limit) {
                self.heads.push(Reverse((first.ts, index as u32)));
            }
        }
        self.handing_out = !self.heads.is_empty();
    }

    /// Hands out up to [`BATCH`] events in order; nothing when all that may go is gone.
    pub(crate) fn take(&mut self, out: &mut Vec<Event>) {
        while out.len() < BATCH {
            let Some(Reverse((_, index))) = self.heads.pop() else { break };
            let next = self.heads.peek().map_or((u64::MAX, u32::MAX), |r| r.0);
            let lane = &mut self.cpus[index as usize];
            let waiting = &lane.events[lane.at..];
            let most = waiting.len().min(BATCH - out.len());
            // As far as this CPU is ahead of the others: often many events.
            let run = waiting[..most].iter().position(|e| e.ts > self.limit || (e.ts, index) > next).unwrap_or(most);
            out.extend_from_slice(&waiting[..run]);
            lane.at += run;
            self.pending -= run;
            if let Some(first) = lane.events.get(lane.at).filter(|e| e.ts <= self.limit) {
                self.heads.push(Reverse((first.ts, index)));
            } else {
                lane.compact();
            }
        }
        self.handing_out = !self.heads.is_empty();
        if let Some(last) = out.last() {
            self.handed_out = last.ts;
        }
    }
}

impl Lane {
    fn chain_break(&mut self, event: Event, prev: Tid, problems: &mut Problems) {
        let (cpu, current) = (event.cpu.0, self.current.map_or(0, |c| c.0));
        problems.add(ProblemKind::ChainBreak, || {
            format!("CPU {cpu} at {} ns: {} leaves the CPU, where {current} had been put", event.ts, prev.0)
        });
        self.gap(event.cpu, event.ts, Missing::Chain, 0);
    }

    fn begin_gap(&mut self, cpu: Cpu, missing: Missing, lost: u32) {
        self.events.push(Event { ts: self.last, cpu, what: What::GapBegin });
        (self.losing, self.current) = (Some((cpu, missing, lost)), None);
    }

    fn end_of_gap(&mut self, ts: u64) {
        if let Some((cpu, missing, lost)) = self.losing.take() {
            self.events.push(Event { ts, cpu, what: What::GapEnd { missing, lost } });
        }
    }

    /// Marks events as missing from the last one to `ts`.
    fn gap(&mut self, cpu: Cpu, ts: u64, missing: Missing, lost: u32) {
        // Before the first event of a CPU there is nothing that the gap could hide from us.
        let from = if self.seen { self.last } else { ts };
        self.events.push(Event { ts: from, cpu, what: What::GapBegin });
        self.events.push(Event { ts, cpu, what: What::GapEnd { missing, lost } });
        self.last = ts;
        self.seen = true;
        self.current = None;
    }

    /// Gives the room of what was handed out back to what follows.
    fn compact(&mut self) {
        if self.at * 2 >= self.events.len() {
            self.events.drain(..self.at);
            self.at = 0;
        }
    }
}

/// The lane of a CPU: its number, and one lane in front for events of no known CPU.
#[inline]
fn lane_index(cpu: Cpu) -> usize {
    usize::from(cpu.0.wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Prio;
    use crate::names::Name;
    use crate::prev_state::StateId;

    fn idle(cpu: u16, ts: u64) -> Event {
        Event { ts, cpu: Cpu(cpu), what: What::CpuIdle { state: 1, cpu: Cpu(cpu) } }
    }

    fn switch(cpu: u16, ts: u64, prev: u32, next: u32) -> Event {
        let what = What::Switch {
            prev: Tid(prev),
            next: Tid(next),
            prev_comm: Name::UNKNOWN,
            next_comm: Name::UNKNOWN,
            prev_prio: Prio::UNKNOWN,
            next_prio: Prio::UNKNOWN,
            prev_state: StateId::UNKNOWN,
        };
        Event { ts, cpu: Cpu(cpu), what }
    }

    fn take_all(order: &mut Order) -> Vec<(u64, u16)> {
        events(order).iter().map(|e| (e.ts, e.cpu.0)).collect()
    }

    fn events(order: &mut Order) -> Vec<Event> {
        let mut all = Vec::new();
        while order.is_ready() {
            let mut batch = Vec::new();
            order.take(&mut batch);
            all.extend(batch);
        }
        all
    }

    #[test]
    fn a_round_lets_go_what_the_round_before_had_seen() {
        let (mut order, mut problems) = (Order::default(), Problems::default());
        for event in [idle(0, 10), idle(0, 30), idle(1, 5), idle(1, 31)] {
            order.push(event, &mut problems);
        }
        order.end_of_round();
        assert!(!order.is_ready());
        // CPU 1 had more to say about the time before 31.
        for event in [idle(0, 40), idle(1, 35)] {
            order.push(event, &mut problems);
        }
        order.end_of_round();
        assert_eq!(take_all(&mut order), [(5, 1), (10, 0), (30, 0), (31, 1)]);
        order.finish();
        assert_eq!(take_all(&mut order), [(35, 1), (40, 0)]);
        assert_eq!((order.pending, problems.all().count()), (0, 0));
    }

    #[test]
    fn neighbours_that_changed_places_are_put_right() {
        let (mut order, mut problems) = (Order::default(), Problems::default());
        for event in [idle(0, 10), idle(0, 30), idle(0, 20)] {
            order.push(event, &mut problems);
        }
        order.finish();
        assert_eq!(take_all(&mut order), [(10, 0), (20, 0), (30, 0)]);
        assert_eq!(problems.all().count(), 0);
    }

    #[test]
    fn a_clock_that_goes_back_is_a_gap_and_time_goes_on() {
        let (mut order, mut problems) = (Order::default(), Problems::default());
        for event in [idle(0, 5_000_000), idle(0, 1_000), idle(0, 5_000_001)] {
            order.push(event, &mut problems);
        }
        order.finish();
        let found = events(&mut order);
        assert!(found.is_sorted_by_key(|e| e.ts), "{found:?}");
        assert_eq!(found[1].what, What::GapBegin);
        assert_eq!(found[3].what, What::GapEnd { missing: Missing::Clock, lost: 0 });
        assert_eq!(problems.count(ProblemKind::ClockBack), 1);
    }

    #[test]
    fn a_gap_begins_at_the_last_event_before_it() {
        let (mut order, mut problems) = (Order::default(), Problems::default());
        for event in [switch(0, 10, 0, 7), idle(1, 15), switch(0, 20, 8, 0)] {
            order.push(event, &mut problems);
        }
        order.lost(Cpu(1), 30, 5, &mut problems);
        order.push(idle(1, 29), &mut problems);
        order.finish();
        let found: Vec<_> = events(&mut order).iter().map(|e| (e.ts, e.cpu.0, e.what)).collect();
        assert_eq!(found[1], (10, 0, What::GapBegin));
        assert_eq!(found[3], (15, 1, What::GapBegin));
        assert_eq!(found[4], (20, 0, What::GapEnd { missing: Missing::Chain, lost: 0 }));
        assert_eq!(found[6], (29, 1, What::GapEnd { missing: Missing::Lost, lost: 5 }));
        assert_eq!((problems.count(ProblemKind::ChainBreak), problems.count(ProblemKind::Lost)), (1, 5));
    }

    #[test]
    fn batches_are_bounded_and_nothing_is_left_over() {
        let (mut order, mut problems) = (Order::default(), Problems::default());
        for ts in 0..10_000 {
            order.push(idle((ts % 3) as u16, ts), &mut problems);
        }
        order.finish();
        let mut batch = Vec::new();
        order.take(&mut batch);
        assert_eq!(batch.len(), BATCH);
        let rest = events(&mut order);
        assert_eq!(batch.len() + rest.len(), 10_000);
        assert!(batch.iter().chain(&rest).map(|e| e.ts).eq(0..10_000));
    }
}
