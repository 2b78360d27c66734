//! Times when the running task of a CPU is unknown: before its first switch; and where events are missing, from the last
//! switch to a thread (how long that thread ran is unknown) to the next switch.

use schedlab_trace::{Cpu, Event, PerCpu, Tid, TimeWindow, What};

/// Such a time on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownInterval {
    /// Which CPU.
    pub cpu: u16,
    /// Its begin, ns of the trace's clock.
    pub start_ns: u64,
    /// Its end, ns.
    pub end_ns: u64,
}

/// Finds holes while a trace is read.
#[derive(Debug, Default)]
pub(super) struct Holes {
    /// Time of the first event.
    first: Option<u64>,
    cpus: PerCpu<Known>,
}

/// Whether it is known which thread has a CPU.
#[derive(Debug, Clone, Copy, Default)]
enum Known {
    /// No switch was seen on the CPU yet.
    #[default]
    NotYet,
    /// With the time of the switch-in: if a gap follows, it is not known how long the thread ran. `None` if the CPU is
    /// idle.
    Yes(Option<u64>),
    NotSince(u64),
}

impl Holes {
    /// The hole that ends with an event, limited to the window.
    pub(super) fn take(&mut self, event: &Event, window: &TimeWindow) -> Option<UnknownInterval> {
        let (ts, cpu) = (event.ts, event.cpu);
        if !event.is_from_before() {
            self.first.get_or_insert(ts);
        }
        match event.what {
            What::Switch { next, .. } => {
                let now = Known::Yes((next != Tid::IDLE).then_some(ts));
                let known = std::mem::replace(self.cpus.of(cpu), now);
                let start = match known {
                    Known::Yes(_) => return None,
                    Known::NotYet => self.first?,
                    Known::NotSince(start) => start,
                };
                within(UnknownInterval { cpu: cpu.0, start_ns: start, end_ns: ts }, window)
            }
            What::GapBegin => {
                let all = 0..self.cpus.all().len();
                let cpus = if cpu == Cpu::ANY { all } else { usize::from(cpu.0)..usize::from(cpu.0) + 1 };
                for known in cpus.map(|cpu| Cpu(cpu as u16)) {
                    let known = self.cpus.of(known);
                    if let Known::Yes(since) = *known {
                        *known = Known::NotSince(since.unwrap_or(ts));
                    }
                }
                None
            }
            _ => None,
        }
    }

    /// The holes that last until the end of the trace.
    pub(super) fn finish(self, end: u64, window: &TimeWindow) -> impl Iterator<Item = UnknownInterval> {
        let open = |(cpu, known): (usize, &Known)| match known {
            Known::NotSince(start) => {
                within(UnknownInterval { cpu: cpu as u16, start_ns: *start, end_ns: end }, window)
            }
            Known::NotYet | Known::Yes(_) => None,
        };
        self.cpus.all().iter().enumerate().filter_map(open).collect::<Vec<_>>().into_iter()
    }
}

/// The part of a hole in the window.
fn within(hole: UnknownInterval, window: &TimeWindow) -> Option<UnknownInterval> {
    let start_ns = hole.start_ns.max(window.from_ns);
    let end_ns = window.to_ns.map_or(hole.end_ns, |to| hole.end_ns.min(to));
    let is_on = window.cpus.as_ref().is_none_or(|cpus| cpus.contains(&Cpu(hole.cpu)));
    (is_on && start_ns < end_ns).then_some(UnknownInterval { start_ns, end_ns, ..hole })
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_trace::{Missing, Name, Prio, StateId};

    fn switch(ts: u64, cpu: u16, next: u32) -> Event {
        let (prev, next, name, prio) = (Tid(1), Tid(next), Name::UNKNOWN, Prio::UNKNOWN);
        let (prev_comm, next_comm, prev_prio, next_prio) = (name, name, prio, prio);
        let prev_state = StateId::UNKNOWN;
        let what = What::Switch { prev, next, prev_comm, next_comm, prev_state, prev_prio, next_prio };
        Event { ts, cpu: Cpu(cpu), what }
    }

    fn found(window: &TimeWindow) -> Vec<(u16, u64, u64)> {
        let mark = |ts, cpu, what| Event { ts, cpu, what };
        let end = What::GapEnd { missing: Missing::Lost, lost: 1 };
        let events = [
            switch(10, 0, 2),
            switch(25, 1, 0),
            mark(30, Cpu(0), What::GapBegin),
            mark(40, Cpu(0), end),
            switch(50, 0, 3),
            switch(55, 0, 2),
            mark(60, Cpu::ANY, What::GapBegin),
            mark(70, Cpu::ANY, end),
            switch(80, 1, 2),
        ];
        let mut holes = Holes::default();
        let mut all: Vec<UnknownInterval> = events.iter().filter_map(|event| holes.take(event, window)).collect();
        all.extend(holes.finish(90, window));
        all.iter().map(|hole| (hole.cpu, hole.start_ns, hole.end_ns)).collect()
    }

    #[test]
    fn a_hole_lasts_to_the_next_switch_of_its_cpu() {
        // It is not known how long the thread of CPU 0 ran; CPU 1 was idle until its gap.
        let all = [(1, 10, 25), (0, 10, 50), (1, 60, 80), (0, 55, 90)];
        assert_eq!(found(&TimeWindow::default()), all);
        let window = TimeWindow { from_ns: 35, to_ns: Some(45), cpus: Some(vec![Cpu(0)]) };
        assert_eq!(found(&window), [(0, 35, 45)], "what lies outside of the time asked for is none");
    }
}
