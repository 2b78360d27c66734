//! The effect of each event on the state of its thread.

use super::{Event, Found, Gap, State, What};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Unknown,
    Running,
    Preempted,
    Asleep,
    Woken,
    Dead,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Start {
    #[default]
    Waking,
    /// A `sched_wakeup` without a preceding waking.
    Wakeup,
    New,
}

#[derive(Debug, Clone, Default)]
struct Thread {
    phase: Phase,
    /// The thread left its CPU, or got it, at this event.
    since: usize,
    /// The wait began at this event: a waking, or the switch-out if the waking came before it.
    from: usize,
    start: Start,
    queued: bool,
    /// The thread was woken before anything else was seen of it, so it may have been on a CPU.
    unsure: bool,
    /// The event of a waking that came before the switch-out.
    pending: Option<usize>,
    on: u32,
    seen_on: BTreeSet<u32>,
}

/// All threads.
pub(super) struct Machine<'a> {
    events: &'a [Event],
    gaps: Vec<Gap>,
    threads: BTreeMap<u32, Thread>,
    /// Whether the trace has `sched_waking` events.
    wakings: bool,
    found: Found,
}

impl<'a> Machine<'a> {
    pub(super) fn new(events: &'a [Event], gaps: Vec<Gap>) -> Self {
        let wakings = events.iter().any(|e| matches!(e.what, What::Waking { .. }));
        Self { events, gaps, threads: BTreeMap::new(), wakings, found: Found::default() }
    }

    pub(super) fn found(self) -> Found {
        self.found
    }

    fn ts(&self, at: usize) -> u64 {
        self.events[at].ts
    }

    /// Whether events are missing between two events on one of these CPUs (`None`: on any).
    fn is_doubtful(&self, from: usize, to: usize, cpus: Option<&BTreeSet<u32>>) -> bool {
        let begun = self.ts(from);
        let overlaps = |gap: &&Gap| gap.from < to && self.ts(gap.to) > begun;
        self.gaps.iter().filter(overlaps).any(|gap| cpus.is_none_or(|cpus| cpus.contains(&gap.cpu)))
    }

    /// The thread on this CPU may have left it during the gap that ends now.
    pub(super) fn lose_sight(&mut self, cpu: u32) {
        for thread in self.threads.values_mut().filter(|t| t.phase == Phase::Running && t.on == cpu) {
            (thread.phase, thread.pending) = (Phase::Unknown, None);
        }
    }

    /// The thread with an id; if a thread with this id has ended, a new one.
    fn thread(&mut self, tid: u32) -> &mut Thread {
        let thread = self.threads.entry(tid).or_default();
        if thread.phase == Phase::Dead {
            *thread = Thread::default();
        }
        thread
    }

    pub(super) fn take(&mut self, at: usize, Event { cpu, what, .. }: &Event) {
        let cpu = *cpu;
        match *what {
            What::Switch { prev, state, next } => {
                if prev != 0 {
                    self.leave(at, cpu, prev, state);
                }
                if next != 0 {
                    self.enter(at, cpu, next);
                }
            }
            What::Waking { tid, target_cpu } if tid != 0 => self.waking(at, tid, target_cpu),
            What::Wakeup { tid, target_cpu } if tid != 0 => self.wakeup(at, tid, target_cpu),
            What::WakeupNew { tid, target_cpu } if tid != 0 => {
                let seen_on = BTreeSet::from([target_cpu]);
                let start = Start::New;
                let new = Thread { phase: Phase::Woken, from: at, start, queued: true, seen_on, ..Thread::default() };
                self.threads.insert(tid, new);
            }
            What::Migrate { tid, orig_cpu, dest_cpu } if tid != 0 => {
                self.thread(tid).seen_on.extend([orig_cpu, dest_cpu]);
            }
            What::Fork { child } => {
                self.threads.insert(child, Thread::default());
            }
            _ => {}
        }
    }

    fn leave(&mut self, at: usize, cpu: u32, tid: u32, state: State) {
        let thread = self.thread(tid);
        match thread.phase {
            Phase::Running => {}
            // The thread was on the CPU all the time, so the waking came before the switch-out.
            Phase::Woken if thread.unsure && thread.start == Start::Waking => thread.pending = Some(thread.from),
            _ => thread.pending = None,
        }
        (thread.since, thread.on, thread.unsure) = (at, cpu, false);
        thread.seen_on.insert(cpu);
        thread.phase = match state {
            State::Runnable => Phase::Preempted,
            State::Dead => Phase::Dead,
            State::Asleep => Phase::Asleep,
        };
        if thread.phase != Phase::Asleep {
            thread.pending = None;
        }
    }

    fn enter(&mut self, at: usize, cpu: u32, tid: u32) {
        let thread = self.thread(tid);
        thread.seen_on.insert(cpu);
        let came = std::mem::replace(
            thread,
            Thread { phase: Phase::Running, since: at, on: cpu, seen_on: thread.seen_on.clone(), ..Thread::default() },
        );
        let cpus = Some(&came.seen_on);
        let (from, doubtful) = match (came.phase, came.pending) {
            // The waking ended this sleep, unless another one was missed.
            (Phase::Asleep, Some(waking)) => {
                (came.since, self.is_doubtful(waking, at, None) || self.is_doubtful(came.since, at, cpus))
            }
            // Woken while it waited: that ended a sleep, if the thread ran and slept unseen.
            (Phase::Preempted, Some(_)) => (came.since, self.is_doubtful(came.since, at, None)),
            (Phase::Preempted, None) => (came.since, self.is_doubtful(came.since, at, cpus)),
            (Phase::Woken, _) => {
                let late = came.start == Start::Wakeup && self.wakings;
                (came.from, late || self.is_doubtful(came.from, at, cpus))
            }
            _ => return,
        };
        let ns = self.ts(at) - self.ts(from);
        match came.phase {
            _ if doubtful => self.found.censored += 1,
            Phase::Preempted => self.found.preempt.add(ns),
            _ => self.found.wakeup.add(ns),
        }
    }

    fn waking(&mut self, at: usize, tid: u32, target_cpu: u32) {
        let thread = self.thread(tid);
        match thread.phase {
            Phase::Running | Phase::Preempted => {
                thread.pending = Some(at);
                return;
            }
            Phase::Unknown => thread.unsure = true,
            // A second waking: the conclusion from the first one was wrong, this one counts.
            _ => {}
        }
        (thread.phase, thread.from, thread.start) = (Phase::Woken, at, Start::Waking);
        (thread.queued, thread.pending) = (false, None);
        thread.seen_on.insert(target_cpu);
    }

    fn wakeup(&mut self, at: usize, tid: u32, target_cpu: u32) {
        let pending = self.thread(tid).pending;
        let is_known = pending.is_some_and(|waking| !self.is_doubtful(waking, at, None));
        let thread = self.thread(tid);
        match thread.phase {
            // A thread that is enqueued while it is still on its CPU did not sleep: the sleep was cancelled.
            Phase::Running => {
                thread.pending = None;
                return;
            }
            Phase::Preempted => {
                thread.pending = Some(at);
                return;
            }
            Phase::Woken if thread.queued && !thread.unsure => (thread.from, thread.start) = (at, Start::Wakeup),
            Phase::Woken => {}
            Phase::Asleep if is_known => (thread.from, thread.start) = (thread.since, Start::Waking),
            Phase::Asleep => (thread.from, thread.start) = (at, Start::Wakeup),
            Phase::Unknown | Phase::Dead => (thread.from, thread.start, thread.unsure) = (at, Start::Wakeup, true),
        }
        (thread.phase, thread.queued, thread.pending) = (Phase::Woken, true, None);
        thread.seen_on.insert(target_cpu);
    }
}
