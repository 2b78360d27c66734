//! Computes the waits in a list of events with a separate state machine, written from the rules in `docs/traces.md` and
//! not from the engine in `crates/trace`: gaps are found in a first pass, waits in a second one, and each wait is then
//! checked against all gaps.

mod machine;

use machine::Machine;
use std::collections::{BTreeMap, BTreeSet};

/// An event of a scheduler trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// ns of the trace's clock.
    pub ts: u64,
    /// Where it was traced.
    pub cpu: u32,
    /// The kind of event.
    pub what: What,
}

/// How a thread leaves its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// `R` and `R+`.
    Runnable,
    /// `X` and `Z`.
    Dead,
    /// All others.
    Asleep,
}

/// What happened, with thread ids and CPU numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as the kernel names them")]
pub enum What {
    Switch {
        prev: u32,
        state: State,
        next: u32,
    },
    Waking {
        tid: u32,
        target_cpu: u32,
    },
    Wakeup {
        tid: u32,
        target_cpu: u32,
    },
    WakeupNew {
        tid: u32,
        target_cpu: u32,
    },
    Migrate {
        tid: u32,
        orig_cpu: u32,
        dest_cpu: u32,
    },
    Fork {
        child: u32,
    },
    /// The end or rename of a thread: only shows that its CPU was recorded at this time.
    Answered,
    /// An event that `trace latency` does not read.
    Other,
    /// Events are missing on this CPU between its previous event and this time.
    Lost,
}

/// Waits of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// Their number.
    pub count: u64,
    /// All of them together, ns.
    pub sum_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

impl Waits {
    fn add(&mut self, ns: u64) {
        (self.count, self.sum_ns, self.max_ns) = (self.count + 1, self.sum_ns + ns, self.max_ns.max(ns));
    }
}

/// Both kinds of waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// From a waking to the switch-in.
    pub wakeup: Waits,
    /// From a switch-out while runnable to the next switch-in.
    pub preempt: Waits,
    /// Waits that overlap a gap.
    pub censored: u64,
}

/// Between the events at `from` and `to` something is missing on this CPU.
struct Gap {
    cpu: u32,
    from: usize,
    to: usize,
}

/// The waits in a trace whose events are in the order of their times; `in_turn`: its recorder starts the CPUs one after
/// the other, CPU 0 first.
pub fn waits(events: &[Event], in_turn: bool) -> Found {
    let mut gaps = gaps(events);
    if in_turn {
        gaps.extend(starts(events));
    }
    let ends: BTreeSet<usize> = gaps.iter().map(|gap| gap.to).collect();
    let mut machine = Machine::new(events, gaps);
    for (at, event) in events.iter().enumerate() {
        if ends.contains(&at) {
            machine.lose_sight(event.cpu);
        }
        machine.take(at, event);
    }
    machine.found()
}

/// Gaps before the first switch of each CPU that started later than CPU 0: a waiting thread may have run there.
fn starts(events: &[Event]) -> Vec<Gap> {
    let mut begun = BTreeSet::from([0]);
    let switches = events.iter().enumerate().filter(|(_, event)| matches!(event.what, What::Switch { .. }));
    let firsts = switches.filter(|(_, event)| begun.insert(event.cpu));
    firsts.map(|(to, event)| Gap { cpu: event.cpu, from: to.saturating_sub(1), to }).collect()
}

/// A gap goes from the last event of a CPU that was read to a switch away from a thread that was not put there, or to
/// the end of a loss.
fn gaps(events: &[Event]) -> Vec<Gap> {
    let (mut last, mut current) = (BTreeMap::new(), BTreeMap::new());
    let mut gaps = Vec::new();
    for (at, Event { cpu, what, .. }) in events.iter().enumerate().filter(|(_, event)| event.what != What::Other) {
        let from = last.insert(*cpu, at).unwrap_or(0);
        let broken = match what {
            What::Lost => {
                current.remove(cpu);
                true
            }
            What::Switch { prev, next, .. } => current.insert(*cpu, *next).is_some_and(|thread| thread != *prev),
            _ => false,
        };
        if broken {
            gaps.push(Gap { cpu: *cpu, from, to: at });
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Asleep, Runnable};

    fn switch(ts: u64, cpu: u32, prev: u32, state: State, next: u32) -> Event {
        Event { ts, cpu, what: What::Switch { prev, state, next } }
    }

    fn waking(ts: u64, cpu: u32, tid: u32) -> Event {
        Event { ts, cpu, what: What::Waking { tid, target_cpu: cpu } }
    }

    fn found(events: &[Event]) -> (Vec<u64>, Vec<u64>, u64) {
        let Found { wakeup, preempt, censored } = waits(events, false);
        let of = |waits: Waits| if waits.count == 0 { vec![] } else { vec![waits.count, waits.sum_ns, waits.max_ns] };
        (of(wakeup), of(preempt), censored)
    }

    #[test]
    fn a_wakeup_and_a_preemption_are_apart() {
        let events = [
            switch(0, 0, 0, Runnable, 5),
            waking(10, 0, 7),
            switch(14, 0, 5, Runnable, 7),
            switch(20, 0, 7, Asleep, 5),
        ];
        assert_eq!(found(&events), (vec![1, 4, 4], vec![1, 6, 6], 0));
    }

    #[test]
    fn a_waking_before_the_switch_out_counts_from_that_unless_another_one_comes() {
        let early = [switch(0, 0, 0, Runnable, 5), waking(3, 1, 5), switch(10, 0, 5, Asleep, 0)];
        let back = switch(40, 0, 0, Runnable, 5);
        let repaired = [&early[..], std::slice::from_ref(&back)].concat();
        assert_eq!(found(&repaired), (vec![1, 30, 30], vec![], 0));
        let cancelled = [&early[..], &[waking(35, 1, 5), back]].concat();
        assert_eq!(found(&cancelled), (vec![1, 5, 5], vec![], 0));
    }

    #[test]
    fn a_wait_across_the_start_of_its_cpu_is_unknown() {
        let events = [waking(5, 0, 7), waking(6, 0, 8), switch(9, 1, 0, Runnable, 7), switch(9, 0, 0, Runnable, 8)];
        let on_1 = |event: &Event| matches!(event.what, What::Waking { tid: 7, .. });
        let events = events.map(|event| match on_1(&event) {
            true => Event { what: What::Waking { tid: 7, target_cpu: 1 }, ..event },
            false => event,
        });
        assert_eq!(found(&events), (vec![2, 7, 4], vec![], 0));
        let Found { wakeup, censored, .. } = waits(&events, true);
        assert_eq!((wakeup.count, wakeup.max_ns, censored), (1, 3, 1));
    }

    #[test]
    fn a_break_of_the_chain_censors_who_waited_on_that_cpu_and_nobody_else() {
        let events = [
            switch(0, 0, 0, Runnable, 5),
            switch(1, 1, 0, Runnable, 8),
            waking(10, 0, 7),
            switch(11, 1, 8, Runnable, 9),
            // Thread 5 was never seen to leave.
            switch(20, 0, 6, Asleep, 0),
            switch(30, 0, 0, Runnable, 7),
            switch(31, 1, 9, Asleep, 8),
        ];
        assert_eq!(found(&events), (vec![], vec![1, 20, 20], 1));
    }
}
