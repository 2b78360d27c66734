//! Events into the order of time. A source delivers them CPU by CPU (a ring buffer, a page, a round of perf's), each
//! CPU nearly sorted; here they are merged. Because a CPU's events are seen in a row before anything is merged, this is
//! also where a gap is found out, and marked where it *begins*, which nobody could do who reads in the order of time.

#[cfg(test)]
mod tests;

use crate::TraceError;
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
pub(crate) const SWAPPED_NS: u64 = 1_000_000;

/// Merges the events of CPUs.
#[derive(Debug, Default)]
pub(crate) struct Order {
    cpus: Vec<Lane>,
    /// CPUs with events that may be handed out, by the time of the first, and by its place where times are equal.
    heads: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Places of a sorted file that were given; `None` where CPUs come one after the other.
    places: Option<u64>,
    /// Events up to here may be handed out.
    limit: u64,
    /// The latest event so far, and at the end of the round before.
    latest: u64,
    latest_before: u64,
    /// Of the last event handed out.
    handed_out: u64,
    pending: usize,
    /// Some CPU's events begin behind a gap that is not marked to its end.
    begins_late: bool,
    handing_out: bool,
    finished: bool,
    /// A CPU's switches are not all there, by the choice of what to record: a break in their chain is no news.
    breaks_are_expected: bool,
}

/// A reader whose events are put into order.
pub(crate) trait Merging {
    fn order(&mut self) -> &mut Order;

    /// Reads on: until more events may be handed out, or a piece of the file.
    fn advance(&mut self) -> Result<(), TraceError>;

    /// The next events in the order of time, into `out`, which is emptied; false at the end.
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
struct Lane {
    events: Vec<Event>,
    /// The place of each in a sorted file; empty for other sources, where the CPU decides between equal times.
    places: Vec<u64>,
    /// Of the latest event; 0 of other sources.
    place: u64,
    /// The first that is not handed out.
    at: usize,
    /// Time of the last event, also when it was handed out.
    last: u64,
    /// Who was switched in last; `None` after a gap and at the start.
    current: Option<Tid>,
    /// In a gap: on which CPU, why, and how many events were lost. The next event in order ends it.
    losing: Option<(Cpu, Missing, u32)>,
    /// The gap goes on with the next event.
    held: bool,
    seen: bool,
    /// The gap before its events, of which the begin is not marked: it is that of the trace, which is not known before events
    /// are handed out.
    begin: Option<Begin>,
}

/// What is missing before the events of a CPU.
#[derive(Debug, Clone, Copy)]
struct Begin {
    cpu: Cpu,
    /// From when on they are complete; `None` while that is not known.
    until: Option<u64>,
    lost: u32,
    /// A problem tells of it already.
    told: bool,
    /// Events of others had to be handed out first, and the gap is open.
    marked: bool,
}

impl Order {
    /// For a file that is in order over all CPUs: it decides between equal times, which are many where a time is in whole
    /// microseconds.
    pub(crate) fn of_a_sorted_file() -> Self {
        Self { places: Some(0), ..Self::default() }
    }

    /// Whether breaks in the chain of switches are gaps as ever, and no problem of their own from now on.
    pub(crate) fn breaks_are_expected(&mut self, are_expected: bool) {
        self.breaks_are_expected = are_expected;
    }

    /// Adds an event of a CPU, after the CPU's earlier ones.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event, problems: &mut Problems) {
        self.push_in(lane_index(event.cpu), event, problems);
    }

    /// The same for what comes seldom: it is in the program once.
    #[inline(never)]
    pub(crate) fn push_rare(&mut self, event: Event, problems: &mut Problems) {
        self.push_in(lane_index(event.cpu), event, problems);
    }

    /// Adds an event of a stream that is in order by itself, where a CPU has several of them.
    #[inline(always)]
    pub(crate) fn push_in(&mut self, index: usize, event: Event, problems: &mut Problems) {
        if index >= self.cpus.len() {
            self.meet(index);
        }
        let lane = &mut self.cpus[index];
        if let Some(places) = &mut self.places {
            *places += 1;
            lane.place = *places;
        }
        if event.ts < lane.last || event.ts < self.limit {
            // No call takes the event itself: where one does, it is put together in memory first.
            lane.events.push(event);
            return self.settle_late(index, problems);
        }
        if lane.losing.is_some() && !lane.held {
            self.pending += lane.end_of_gap(event.ts);
        }
        if let What::Switch { prev, next, .. } = event.what {
            if lane.current.is_some_and(|current| current != prev) {
                self.pending += 2;
                lane.chain_break(event.cpu, event.ts, prev, (!self.breaks_are_expected).then_some(&mut *problems));
            }
            lane.current = (!lane.held).then_some(next);
        }
        if let What::Exec { tid, old_tid } = event.what {
            // The thread on the CPU has another id from now on.
            lane.current = lane.current.map(|c| if c == old_tid { tid } else { c });
        }
        lane.last = event.ts;
        lane.seen = true;
        lane.put(event);
        self.pending += 1;
        self.latest = self.latest.max(event.ts);
    }

    #[cold]
    fn meet(&mut self, index: usize) {
        let place = u64::from(self.places.is_some());
        self.cpus.resize_with(index + 1, || Lane { place, ..Lane::default() });
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
            Cpu(n) if ts == 0 => format!("CPU {n} lost events before the trace begins"),
            Cpu(n) => format!("CPU {n} lost events, noticed at {ts} ns"),
        });
        if index >= self.cpus.len() {
            self.meet(index);
        }
        let lane = &mut self.cpus[index];
        let lost = u32::try_from(lost).unwrap_or(u32::MAX);
        if cpu == Cpu::ANY {
            // Nobody knows whose next event would end it, nor since when: since the round before, at the earliest.
            let ts = ts.max(lane.last);
            if self.latest_before == 0 && !lane.seen {
                let before = lane.begin.map_or(0, |begin| begin.lost);
                lane.begin = Some(Begin { until: Some(ts), lost: before.saturating_add(lost), ..Begin::of(cpu, true) });
                (lane.last, self.begins_late) = (ts, true);
                return;
            }
            (lane.last, lane.seen) = (lane.last.max(self.latest_before).min(ts), true);
            lane.gap(cpu, ts, Missing::Lost, lost);
            self.pending += 2;
        } else if let Some((_, missing, before)) = &mut lane.losing {
            (*missing, *before) = (Missing::Lost, before.saturating_add(lost));
        } else if lane.seen {
            lane.begin_gap(cpu, Missing::Lost, lost);
            self.pending += 1;
        } else {
            lane.begin_behind_gap(cpu, lost, true);
            self.begins_late = true;
        }
    }

    /// What a CPU traced between the trace's first event and its own next one was overwritten.
    pub(crate) fn begins_late(&mut self, cpu: Cpu) {
        let index = lane_index(cpu);
        if index >= self.cpus.len() {
            self.meet(index);
        }
        let lane = &mut self.cpus[index];
        if !lane.seen && lane.losing.is_none() {
            lane.begin_behind_gap(cpu, 0, true);
            self.begins_late = true;
        }
    }

    /// So many events of a CPU were lost, nobody knows when: of what is not handed out yet nothing of this CPU is known to be
    /// complete, and no wait.
    pub(crate) fn lost_at_unknown_times(&mut self, cpu: Cpu, lost: u64) {
        let (first, latest) = (self.first_waiting(), self.latest);
        let lost = u32::try_from(lost).unwrap_or(u32::MAX);
        if let Some(lane) = self.cpus.get_mut(lane_index(cpu)).filter(|lane| lane.seen && first < latest) {
            lane.events.insert(lane.at, Event { ts: first, cpu, what: What::GapBegin });
            lane.events.push(Event { ts: latest, cpu, what: What::GapEnd { missing: Missing::Lost, lost } });
            self.pending += 2;
        }
        self.waits_unknown(first, latest);
    }

    /// What waits between these times may have run on any CPU.
    fn waits_unknown(&mut self, from: u64, until: u64) {
        let index = lane_index(Cpu::ANY);
        if index >= self.cpus.len() {
            self.meet(index);
        }
        let lane = &mut self.cpus[index];
        let ts = from.max(lane.last).max(self.handed_out);
        if ts < until {
            lane.last = ts;
            lane.put(Event { ts, cpu: Cpu::ANY, what: What::WaitsUnknown { until: until.into() } });
            self.pending += 1;
        }
    }

    /// Time of the first event that is not handed out; what a recorder found when it began is none.
    fn first_waiting(&self) -> u64 {
        let first =
            |lane: &Lane| lane.events[lane.at..].iter().find(|event| !event.is_from_before()).map(|event| event.ts);
        self.cpus.iter().filter_map(first).min().unwrap_or(u64::MAX).max(self.handed_out)
    }

    /// Events of a CPU between its last one and `ts` were lost; those behind `ts` follow.
    pub(crate) fn lost_until(&mut self, cpu: Cpu, ts: u64, problems: &mut Problems) {
        self.lost(cpu, ts, 0, problems);
        let lane = &mut self.cpus[lane_index(cpu)];
        lane.last = lane.last.max(ts);
        self.pending += lane.end_of_gap(lane.last);
    }

    /// In a gap of a CPU: its events stand in the gap, which the next one ends when this is taken back.
    pub(crate) fn hold_gap(&mut self, cpu: Cpu, held: bool) {
        if let Some(lane) = self.cpus.get_mut(lane_index(cpu)) {
            lane.held = held;
        }
    }

    /// The events of a CPU are complete from `ts` on; before, some may be missing.
    pub(crate) fn begins_at(&mut self, cpu: Cpu, ts: u64) {
        let index = lane_index(cpu);
        if index >= self.cpus.len() {
            self.meet(index);
        }
        self.cpus[index].begin = Some(Begin { until: Some(ts), ..Begin::of(cpu, false) });
        self.begins_late = true;
    }

    /// Marks what is missing at the beginnings of CPUs, for all readers: from the first event of the trace on, which is not
    /// known before events are handed out. Before that one there is nothing that a gap could hide from us. Until the last CPU
    /// has begun, a thread of any other may have run there, also one that was not seen there before: nobody could see it.
    fn settle_begins(&mut self, problems: &mut Problems) {
        let first = if self.handed_out > 0 { self.handed_out } else { self.first_waiting() };
        let mut last = first;
        self.begins_late = false;
        for lane in &mut self.cpus {
            let Some(begin) = lane.begin.take() else { continue };
            if let Some(until) = begin.until.filter(|until| !begin.told && *until > first) {
                let cpu = begin.cpu.0;
                problems.add(ProblemKind::Lost, || format!("the events of CPU {cpu} before {until} ns are missing"));
            }
            self.pending += lane.mark_begin(begin, first);
            self.begins_late |= lane.begin.is_some();
            last = last.max(begin.until.unwrap_or(self.limit));
        }
        self.waits_unknown(first, last);
    }

    /// Finds the place of a lane's newest event, which is older than the one before, or than what was handed out.
    #[cold]
    fn settle_late(&mut self, index: usize, problems: &mut Problems) {
        let lane = &mut self.cpus[index];
        let Some(event) = lane.events.pop() else { return };
        self.pending += 1;
        if event.is_from_before() {
            return lane.put(event);
        }
        let waiting = &lane.events[lane.at..];
        let later = waiting.iter().rev().take(NEIGHBOURS + 1).take_while(|e| e.ts > event.ts).count();
        let back = lane.last.saturating_sub(event.ts);
        let swapped = (1..SWAPPED_NS).contains(&back) && later <= NEIGHBOURS && event.ts >= self.handed_out;
        if swapped && !matches!(event.what, What::Switch { .. }) {
            let at = lane.events.len() - later;
            lane.events.insert(at, event);
            if lane.place > 0 {
                lane.places.insert(at, lane.place);
            }
            return;
        }
        let (cpu, last, limit) = (event.cpu, lane.last, self.limit);
        if last > limit {
            problems.add(ProblemKind::ClockBack, || {
                format!("the clock of CPU {} went back by {back} ns at {last} ns", cpu.0)
            });
        } else {
            problems.add(ProblemKind::Unsorted, || {
                format!(
                    "an event of CPU {} at {} ns came after the recorder had said that all up to {limit} ns were there; \
                     it is told later than it was",
                    cpu.0, event.ts
                )
            });
        }
        // Time never goes back: until the clock has caught up, everything happens where it stood, in a gap.
        let ts = last.max(limit);
        if !lane.seen {
            // Before the first event of a CPU there is nothing that the gap could hide from us.
            lane.last = ts;
        }
        if lane.losing.is_none() {
            lane.begin_gap(cpu, Missing::Clock, 0);
            self.pending += 1;
        }
        if let What::Switch { next, .. } = event.what {
            lane.current = Some(next);
        }
        lane.last = ts;
        lane.put(Event { ts, ..event });
    }

    /// A recorder's end of a round: what is older than the end of the round before may be handed out.
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

    /// Has the latest event of one stream be found; returns that of all.
    pub(crate) fn replace_latest(&mut self, ts: u64) -> u64 {
        std::mem::replace(&mut self.latest, ts)
    }

    /// Whether a CPU has had events.
    pub(crate) fn has_seen(&self, cpu: Cpu) -> bool {
        self.cpus.get(lane_index(cpu)).is_some_and(|lane| lane.seen)
    }

    /// No more events will come.
    pub(crate) fn finish(&mut self, problems: &mut Problems) {
        for lane in self.cpus.iter_mut().filter(|lane| lane.losing.is_some()) {
            self.pending += lane.end_of_gap(self.latest.max(lane.last));
        }
        self.limit = u64::MAX;
        self.finished = true;
        self.gather(problems);
    }

    /// Whether no more events will come.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
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
        self.release(oldest + (latest - oldest) / 2, problems);
    }

    fn gather(&mut self, problems: &mut Problems) {
        if self.begins_late && self.first_waiting() <= self.limit {
            self.settle_begins(problems);
        }
        self.heads.clear();
        for (index, lane) in self.cpus.iter().enumerate() {
            if let Some(first) = lane.events.get(lane.at).filter(|e| e.ts <= self.limit) {
                self.heads.push(Reverse((first.ts, lane.place_of(lane.at, index as u32), index as u32)));
            }
        }
        self.handing_out = !self.heads.is_empty();
    }

    /// Hands out up to [`BATCH`] events in order; nothing when all that may go is gone.
    pub(crate) fn take(&mut self, out: &mut Vec<Event>) {
        while out.len() < BATCH {
            let Some(Reverse((.., index))) = self.heads.pop() else { break };
            let next = self.heads.peek().map_or((u64::MAX, u64::MAX), |r| (r.0.0, r.0.1));
            let lane = &mut self.cpus[index as usize];
            let waiting = &lane.events[lane.at..];
            let most = waiting.len().min(BATCH - out.len());
            // As far as this CPU is ahead of the others: often many events.
            let is_later = |at: usize, e: &Event| {
                e.ts > next.0 || e.ts == next.0 && lane.place_of(lane.at + at, index) > next.1 || e.ts > self.limit
            };
            let run = waiting[..most].iter().enumerate().position(|(at, e)| is_later(at, e)).unwrap_or(most);
            out.extend_from_slice(&waiting[..run]);
            lane.at += run;
            self.pending -= run;
            if let Some(first) = lane.events.get(lane.at).filter(|e| e.ts <= self.limit) {
                self.heads.push(Reverse((first.ts, lane.place_of(lane.at, index), index)));
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
    #[inline(always)]
    fn put(&mut self, event: Event) {
        self.events.push(event);
        if self.place > 0 {
            self.places.push(self.place);
        }
    }

    /// What decides between an event and others of its time.
    #[inline(always)]
    fn place_of(&self, at: usize, index: u32) -> u64 {
        self.places.get(at).copied().unwrap_or(u64::from(index))
    }

    #[cold]
    fn chain_break(&mut self, cpu: Cpu, ts: u64, prev: Tid, problems: Option<&mut Problems>) {
        let current = self.current.map_or(0, |c| c.0);
        if let Some(problems) = problems {
            problems.add(ProblemKind::ChainBreak, || {
                format!("CPU {} at {ts} ns: {} leaves the CPU, where {current} had been put", cpu.0, prev.0)
            });
        }
        self.gap(cpu, ts, Missing::Chain, 0);
    }

    fn begin_gap(&mut self, cpu: Cpu, missing: Missing, lost: u32) {
        self.put(Event { ts: self.last, cpu, what: What::GapBegin });
        (self.losing, self.current) = (Some((cpu, missing, lost)), None);
    }

    /// The CPU's first event is missing, and those before it.
    fn begin_behind_gap(&mut self, cpu: Cpu, lost: u32, told: bool) {
        self.begin = Some(Begin::of(cpu, told));
        (self.losing, self.current) = (Some((cpu, Missing::Lost, lost)), None);
    }

    /// The gap ends; how many events more are waiting.
    #[cold]
    fn end_of_gap(&mut self, ts: u64) -> usize {
        let Some((cpu, missing, lost)) = self.losing.take() else { return 0 };
        match &mut self.begin {
            Some(begin) if !self.seen => {
                (begin.until, begin.lost) = (begin.until.max(Some(ts)), lost);
                return 0;
            }
            begin => _ = begin.take_if(|begin| begin.marked),
        }
        self.put(Event { ts, cpu, what: What::GapEnd { missing, lost } });
        1
    }

    /// Marks the gap before the CPU's events, which begins at `first` and may still be open; by how many marks.
    fn mark_begin(&mut self, begin: Begin, first: u64) -> usize {
        let Begin { cpu, until, lost, .. } = begin;
        if until.is_some_and(|until| until <= first && lost == 0) {
            return 0;
        }
        match until {
            None => {
                self.begin = Some(Begin { marked: true, ..begin });
                (self.last, self.seen) = (first, true);
            }
            // First the end, since a mark comes in front of what is there of its time.
            Some(until) => {
                self.mark(Event { ts: until.max(first), cpu, what: What::GapEnd { missing: Missing::Lost, lost } });
            }
        }
        if begin.marked {
            return 0;
        }
        self.mark(Event { ts: first, cpu, what: What::GapBegin });
        1 + usize::from(until.is_some())
    }

    /// Puts the mark of a gap among the events that wait: in front of those of its time.
    fn mark(&mut self, event: Event) {
        let later = self.events[self.at..].partition_point(|e| e.ts < event.ts);
        let at = self.at + later;
        self.events.insert(at, event);
        if self.place > 0 {
            self.places.insert(at, 0);
        }
    }

    /// Marks events as missing from the last one to `ts`.
    fn gap(&mut self, cpu: Cpu, ts: u64, missing: Missing, lost: u32) {
        // Before the first event of a CPU there is nothing that the gap could hide from us.
        let from = if self.seen { self.last } else { ts };
        self.put(Event { ts: from, cpu, what: What::GapBegin });
        self.put(Event { ts, cpu, what: What::GapEnd { missing, lost } });
        self.last = ts;
        self.seen = true;
        self.current = None;
    }

    /// Gives the room of what was handed out back to what follows.
    fn compact(&mut self) {
        if self.at * 2 >= self.events.len() {
            self.events.drain(..self.at);
            self.places.drain(..self.at.min(self.places.len()));
            self.at = 0;
        }
    }
}

impl Begin {
    fn of(cpu: Cpu, told: bool) -> Self {
        Self { cpu, until: None, lost: 0, told, marked: false }
    }
}

/// The lane of a CPU: its number, and one lane in front for events of no known CPU.
#[inline]
fn lane_index(cpu: Cpu) -> usize {
    usize::from(cpu.0.wrapping_add(1))
}
