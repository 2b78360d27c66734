//! Missing events of a CPU: losses that a recorder reports, breaks in the chain of switches, clocks that went
//! backwards, overwritten beginnings. Each gap is marked among the pending events, where it begins and where it ends.

use super::{CpuQueue, Order, SWAPPED_NS, queue_index};
use crate::event::{Cpu, Event, Missing, Tid, What};
use crate::problem::{ProblemKind, Problems};
use crate::seconds::Seconds;

/// How far back a late event is moved within its CPU's events. An interrupt between reading the time and reserving
/// space swaps neighbours; if it is later than that, the clock went backwards.
const NEIGHBOURS: usize = 64;

/// What is missing before the first event of a CPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin {
    cpu: Cpu,
    /// From when on its events are complete; `None` while that is not known.
    until: Option<u64>,
    lost: u32,
    /// A problem reports it already.
    reported: bool,
    /// It is not known whether anything is missing; then only waits are unknown.
    unsure: bool,
    /// Other CPUs' events had to be handed out first, so the gap is open.
    marked: bool,
}

impl Begin {
    fn of(cpu: Cpu, reported: bool) -> Self {
        Self { cpu, until: None, lost: 0, reported, unsure: false, marked: false }
    }
}

impl Order {
    /// Events of a CPU were lost between its last and its next event. The recorder noticed this at `ts`, which may be
    /// shortly after the time of that next event.
    pub(crate) fn lost(&mut self, cpu: Cpu, ts: u64, lost: u64, problems: &mut Problems) {
        self.lost_in(queue_index(cpu), cpu, ts, lost, problems);
    }

    /// The same for a stream that is itself in order.
    pub(crate) fn lost_in(&mut self, index: usize, cpu: Cpu, ts: u64, lost: u64, problems: &mut Problems) {
        problems.add_many(ProblemKind::Lost, lost.max(1), || match cpu {
            Cpu::ANY => format!("events were lost up to {:.6} s, on an unknown CPU", Seconds(ts)),
            Cpu(n) if ts == 0 => format!("CPU {n} lost events before the trace begins"),
            Cpu(n) => format!("CPU {n} lost events, noticed at {:.6} s", Seconds(ts)),
        });
        self.ensure_queue(index);
        let queue = &mut self.queues[index];
        let lost = u32::try_from(lost).unwrap_or(u32::MAX);
        if cpu == Cpu::ANY {
            // It is not known which CPU's next event would end the gap, nor when it began: not before the previous
            // round.
            let ts = ts.max(queue.last);
            if self.latest_before == 0 && !queue.seen {
                let before = queue.begin.map_or(0, |begin| begin.lost);
                queue.begin =
                    Some(Begin { until: Some(ts), lost: before.saturating_add(lost), ..Begin::of(cpu, true) });
                (queue.last, self.has_open_begin) = (ts, true);
                return;
            }
            (queue.last, queue.seen) = (queue.last.max(self.latest_before).min(ts), true);
            queue.gap(cpu, (queue.last, ts), Missing::Lost, lost);
            self.pending += 2;
        } else if let Some((_, missing, before)) = &mut queue.losing {
            (*missing, *before) = (Missing::Lost, before.saturating_add(lost));
        } else if queue.seen {
            queue.begin_gap(cpu, self.limit, Missing::Lost, lost);
            self.pending += 1;
        } else {
            queue.begin_with_gap(cpu, lost, true);
            self.has_open_begin = true;
        }
    }

    /// Events of a CPU between the trace's first event and the CPU's own first one were overwritten.
    pub(crate) fn begins_late(&mut self, cpu: Cpu) {
        let index = queue_index(cpu);
        self.ensure_queue(index);
        let queue = &mut self.queues[index];
        if !queue.seen && queue.losing.is_none() {
            queue.begin_with_gap(cpu, 0, true);
            self.has_open_begin = true;
        }
    }

    /// This many events of a CPU were lost at unknown times: none of this CPU's pending events are known to be
    /// complete, and no wait is known.
    pub(crate) fn lost_at_unknown_times(&mut self, cpu: Cpu, lost: u64) {
        let (first, latest) = (self.first_waiting(), self.latest);
        let lost = u32::try_from(lost).unwrap_or(u32::MAX);
        if let Some(queue) = self.queues.get_mut(queue_index(cpu)).filter(|queue| queue.seen && first < latest) {
            queue.insert(queue.at, Event { ts: first, cpu, what: What::GapBegin }, 0);
            queue.put(Event { ts: latest, cpu, what: What::GapEnd { missing: Missing::Lost, lost } });
            self.pending += 2;
        }
        self.waits_unknown(first, latest);
    }

    /// A thread that waits between these times may have run on any CPU.
    fn waits_unknown(&mut self, from: u64, until: u64) {
        let index = queue_index(Cpu::ANY);
        self.ensure_queue(index);
        let queue = &mut self.queues[index];
        let ts = from.max(queue.last).max(self.handed_out);
        if ts < until {
            queue.last = ts;
            queue.put(Event { ts, cpu: Cpu::ANY, what: What::WaitsUnknown { until: until.into() } });
            self.pending += 1;
        }
    }

    /// Time of the first pending event; what a recorder found when it started does not count.
    pub(super) fn first_waiting(&self) -> u64 {
        let first = |queue: &CpuQueue| {
            queue.events[queue.at..].iter().find(|event| !event.is_from_before()).map(|event| event.ts)
        };
        self.queues.iter().filter_map(first).min().unwrap_or(u64::MAX).max(self.handed_out)
    }

    /// Events of a CPU between its last one and `ts` were lost; the events after `ts` follow.
    pub(crate) fn lost_until(&mut self, cpu: Cpu, ts: u64, problems: &mut Problems) {
        self.lost(cpu, ts, 0, problems);
        let queue = &mut self.queues[queue_index(cpu)];
        queue.last = queue.last.max(ts);
        self.pending += queue.end_of_gap(queue.last);
    }

    /// Holds the gap of a CPU open, so that its events are inside it; after it is released, the next event ends the
    /// gap.
    pub(crate) fn hold_gap(&mut self, cpu: Cpu, held: bool) {
        if let Some(queue) = self.queues.get_mut(queue_index(cpu)) {
            queue.held = held;
        }
    }

    /// The events of a CPU are complete from `ts` on; earlier ones may be missing.
    pub(crate) fn begins_at(&mut self, cpu: Cpu, ts: u64) {
        let index = queue_index(cpu);
        self.ensure_queue(index);
        self.queues[index].begin = Some(Begin { until: Some(ts), ..Begin::of(cpu, false) });
        self.has_open_begin = true;
    }

    /// It is not known whether the events of a CPU are complete before `ts`.
    pub(crate) fn may_begin_at(&mut self, cpu: Cpu, ts: u64) {
        self.begins_at(cpu, ts);
        if let Some(begin) = &mut self.queues[queue_index(cpu)].begin {
            begin.unsure = true;
        }
    }

    /// Marks what is missing at the beginnings of CPUs, for all readers. The gaps start at the first event of the
    /// trace, which is not known until events are handed out; before that event, a gap would have no effect. Until the
    /// last CPU has begun, any thread may have run there unseen, even one that was not seen there before.
    pub(super) fn settle_begins(&mut self, problems: &mut Problems) {
        let first = if self.handed_out > 0 { self.handed_out } else { self.first_waiting() };
        let mut last = first;
        self.has_open_begin = false;
        for queue in &mut self.queues {
            let Some(begin) = queue.begin.take() else { continue };
            last = last.max(begin.until.unwrap_or(self.limit));
            if begin.unsure {
                continue;
            }
            if let Some(until) = begin.until.filter(|until| !begin.reported && *until > first) {
                let cpu = begin.cpu.0;
                let until = Seconds(until);
                problems.add(ProblemKind::Lost, || format!("the events of CPU {cpu} before {until:.6} s are missing"));
            }
            self.pending += queue.mark_begin(begin, first);
            self.has_open_begin |= queue.begin.is_some();
        }
        self.waits_unknown(first, last);
    }

    /// Moves a queue's newest event to its place; it is older than the previous one, or than what was handed out.
    #[cold]
    pub(super) fn settle_late(&mut self, index: usize, problems: &mut Problems) {
        let queue = &mut self.queues[index];
        let Some(event) = queue.events.pop() else { return };
        self.pending += 1;
        if event.is_from_before() {
            return queue.put(event);
        }
        let waiting = &queue.events[queue.at..];
        let later = waiting.iter().rev().take(NEIGHBOURS + 1).take_while(|e| e.ts > event.ts).count();
        let back = queue.last.saturating_sub(event.ts);
        let swapped = (1..SWAPPED_NS).contains(&back) && later <= NEIGHBOURS && event.ts >= self.handed_out;
        if swapped && !matches!(event.what, What::Switch { .. }) {
            let at = queue.events.len() - later;
            return queue.insert(at, event, queue.place);
        }
        let (cpu, last, limit) = (event.cpu, queue.last, self.limit);
        if last > limit {
            problems.add(ProblemKind::ClockBack, || {
                format!("the clock of CPU {} went back by {} s at {:.6} s", cpu.0, Seconds(back), Seconds(last))
            });
        } else {
            problems.add(ProblemKind::Unsorted, || {
                format!(
                    "an event of CPU {} at {:.6} s came after the recorder had said that all up to {:.6} s were there; \
                     it is given a later time than it has",
                    cpu.0,
                    Seconds(event.ts),
                    Seconds(limit)
                )
            });
        }
        // Time never goes backwards: until the clock has caught up, all events get the last time, and the interval is a
        // gap.
        let ts = last.max(limit);
        if !queue.seen {
            // A gap before the first event of a CPU has no effect.
            queue.last = ts;
        }
        if queue.losing.is_none() {
            queue.begin_gap(cpu, limit, Missing::Clock, 0);
            self.pending += 1;
        }
        if let What::Switch { next, .. } = event.what {
            queue.current = Some(next);
        }
        queue.last = ts;
        queue.put(Event { ts, ..event });
    }
}

impl CpuQueue {
    /// A switch while no thread is known to be on the CPU: if it is the first of a CPU that started late, waits of
    /// threads that were there before are unknown. Returns the number of events added.
    #[cold]
    pub(super) fn mark_late_start(&mut self, event: &Event) -> usize {
        let begins = !std::mem::replace(&mut self.has_switched, true) && event.cpu != Cpu(0);
        if begins {
            let until = event.ts.into();
            self.put(Event { ts: event.ts, cpu: event.cpu, what: What::WaitsUnknown { until } });
        }
        usize::from(begins)
    }

    #[cold]
    pub(super) fn chain_break(&mut self, cpu: Cpu, ts: u64, prev: Tid, limit: u64, problems: Option<&mut Problems>) {
        let current = self.current.map_or(0, |c| c.0);
        if let Some(problems) = problems {
            problems.add(ProblemKind::ChainBreak, || {
                let at = Seconds(ts);
                format!(
                    "CPU {} at {at:.6} s: prev_pid is {}, but next_pid of the switch before is {current}",
                    cpu.0, prev.0
                )
            });
        }
        self.gap(cpu, (self.last_known(limit), ts), Missing::Chain, 0);
    }

    /// Time of the last event that the kernel's tracepoints wrote; events up to `limit` may have been handed out.
    fn last_known(&self, limit: u64) -> u64 {
        if self.last == self.last_perf_record { self.before_perf_records.max(limit).min(self.last) } else { self.last }
    }

    fn begin_gap(&mut self, cpu: Cpu, limit: u64, missing: Missing, lost: u32) {
        self.put_begin(self.last_known(limit), cpu);
        (self.losing, self.current) = (Some((cpu, missing, lost)), None);
    }

    /// A gap begins right after the CPU's previous event, and before events of other CPUs with that time that come
    /// later in a file.
    fn put_begin(&mut self, ts: u64, cpu: Cpu) {
        let later = self.events[self.at..].iter().rev().take_while(|event| event.ts > ts).count();
        self.insert(self.events.len() - later, Event { ts, cpu, what: What::GapBegin }, 0);
    }

    /// The CPU's first events are missing.
    fn begin_with_gap(&mut self, cpu: Cpu, lost: u32, reported: bool) {
        self.begin = Some(Begin::of(cpu, reported));
        (self.losing, self.current) = (Some((cpu, Missing::Lost, lost)), None);
    }

    /// Ends the gap; returns how many more events are pending.
    #[cold]
    pub(super) fn end_of_gap(&mut self, ts: u64) -> usize {
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

    /// Marks the gap before the CPU's events, which begins at `first` and may still be open; returns the number of
    /// marks.
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
            // The end first, because a mark is inserted before events with the same time.
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

    /// Inserts the mark of a gap into the pending events, before those with the same time.
    fn mark(&mut self, event: Event) {
        let earlier = self.events[self.at..].partition_point(|e| e.ts < event.ts);
        self.insert(self.at + earlier, event, 0);
    }

    /// Marks events between two times as missing.
    pub(super) fn gap(&mut self, cpu: Cpu, (from, ts): (u64, u64), missing: Missing, lost: u32) {
        // A gap before the first event of a CPU has no effect.
        let from = if self.seen { from } else { ts };
        self.put_begin(from, cpu);
        self.put(Event { ts, cpu, what: What::GapEnd { missing, lost } });
        self.last = ts;
        self.seen = true;
        self.current = None;
    }
}
