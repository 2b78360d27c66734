//! CPUs to which tasks were sent, but of which a trace has no event: then the trace is a part of what was recorded, or
//! only some CPUs were. A CPU without events shows nothing by itself, because it may have been idle.

use crate::event::{Cpu, Wake, What};
use crate::problem::{ProblemKind, Problems};

/// Longest time until a CPU switches to a task that was sent to it; an idle CPU takes far less.
const MAX_DISPATCH_NS: u64 = 10_000_000;

/// Tasks that must have been sent to a CPU before it is missed: a single one may be a damaged number.
const MIN_SENT: u32 = 2;

/// Most CPUs that are listed in a message.
const LISTED: usize = 16;

/// Tasks that were woken on a CPU or moved to it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    tasks: u32,
    /// Time of the first, ns.
    first: u64,
}

impl Sent {
    pub(crate) fn take(&mut self, ts: u64) {
        self.first = if self.tasks == 0 { ts } else { self.first };
        self.tasks = self.tasks.saturating_add(1);
    }

    pub(crate) fn has_any(self) -> bool {
        self.tasks > 0
    }

    /// Whether the CPU would have switched to such a task by now, if its events were in the trace.
    pub(crate) fn is_overdue(self, now: u64) -> bool {
        self.tasks >= MIN_SENT && now.saturating_sub(self.first) >= MAX_DISPATCH_NS
    }
}

/// For each CPU, by number: whether it has an event, and the tasks sent to it.
#[derive(Debug, Default)]
pub(crate) struct Unseen(Vec<(bool, Sent)>);

impl Unseen {
    #[inline]
    fn of(&mut self, cpu: Cpu) -> Option<&mut (bool, Sent)> {
        let at = usize::from(cpu.0);
        if at >= self.0.len() && cpu.0 < Cpu::MAX_COUNT {
            self.0.resize(at + 1, Default::default());
        }
        self.0.get_mut(at)
    }

    /// A CPU has an event.
    #[inline]
    pub(crate) fn meet(&mut self, cpu: Cpu) {
        if let Some(of) = self.of(cpu) {
            of.0 = true;
        }
    }

    /// Notes to which CPU an event sends a task.
    #[inline]
    pub(crate) fn take(&mut self, ts: u64, what: What) {
        let (What::Wakeup(Wake { target_cpu: to, .. })
        | What::WakeupNew(Wake { target_cpu: to, .. })
        | What::Migrate { dest_cpu: to, .. }) = what
        else {
            return;
        };
        if let Some(of) = self.of(to) {
            of.1.take(ts);
        }
    }

    /// Reports what is missing in a trace that ends at `end`, unless it is known that only some CPUs were recorded.
    pub(crate) fn report(&self, end: u64, problems: &mut Problems) {
        if problems.count(ProblemKind::SomeCpus) == 0
            && let Some(note) = self.note(end)
        {
            problems.add(ProblemKind::SomeCpus, || note);
        }
    }

    fn note(&self, end: u64) -> Option<String> {
        let of = |wanted: &dyn Fn(bool, Sent) -> bool| {
            let cpus = self.0.iter().enumerate().filter(|(_, of)| wanted(of.0, of.1)).map(|(cpu, _)| cpu.to_string());
            cpus.collect::<Vec<_>>()
        };
        let (has, lacks) = (of(&|has, _| has), of(&|has, sent| !has && sent.is_overdue(end)));
        let listed = |cpus: &[String]| cpus[..cpus.len().min(LISTED)].join(", ");
        (!lacks.is_empty()).then(|| {
            format!(
                "the trace has events of CPU {} and none of CPU {}, to which tasks were sent: what they did there is \
                 missing, and a wait may have been a run there; record and print all CPUs",
                listed(&has),
                listed(&lacks)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Prio, Tid};
    use crate::names::Name;

    fn migrate(to: u16) -> What {
        let (tid, comm, prio) = (Tid(7), Name::UNKNOWN, Prio::UNKNOWN);
        What::Migrate { tid, comm, prio, orig_cpu: Cpu(0), dest_cpu: Cpu(to) }
    }

    #[test]
    fn a_cpu_that_was_sent_tasks_and_has_no_event_is_reported() {
        let mut unseen = Unseen::default();
        unseen.meet(Cpu(0));
        for ts in [5, 6] {
            unseen.take(ts, migrate(3));
            unseen.take(ts, migrate(0));
        }
        unseen.take(5, migrate(8191));
        unseen.take(5, migrate(u16::MAX));
        assert_eq!(unseen.note(MAX_DISPATCH_NS), None, "it may not have got to it");
        let note = unseen.note(5 + MAX_DISPATCH_NS).unwrap();
        assert!(note.starts_with("the trace has events of CPU 0 and none of CPU 3, to which"), "{note}");
        unseen.meet(Cpu(3));
        assert_eq!(unseen.note(5 + MAX_DISPATCH_NS), None);
    }
}
