//! CPUs to which tasks were sent and of which a trace has no event: it is a part of what was recorded, or only some CPUs
//! were. A CPU without events alone shows nothing, since it may have been idle.

use crate::event::{Cpu, What};
use crate::problem::{ProblemKind, Problems};

/// A CPU switches to a task that it was sent long before this is over, also where it was idle.
const TAKEN_NS: u64 = 10_000_000;

/// One may be a damaged number.
const SENT: u32 = 2;

/// CPUs that are listed in a message.
const LISTED: usize = 16;

/// What each CPU has, by its number.
#[derive(Debug, Default)]
pub(crate) struct Unseen(Vec<Of>);

#[derive(Debug, Clone, Copy, Default)]
struct Of {
    has_events: bool,
    /// Tasks that were woken on it or moved to it, and the first time.
    sent: u32,
    first: u64,
}

impl Unseen {
    #[inline]
    fn of(&mut self, cpu: Cpu) -> Option<&mut Of> {
        let at = usize::from(cpu.0);
        if at >= self.0.len() && cpu.0 < Cpu::MOST {
            self.0.resize(at + 1, Of::default());
        }
        self.0.get_mut(at)
    }

    /// A CPU has an event.
    #[inline]
    pub(crate) fn meet(&mut self, cpu: Cpu) {
        if let Some(of) = self.of(cpu) {
            of.has_events = true;
        }
    }

    /// Takes note of where an event sends a task.
    #[inline]
    pub(crate) fn take(&mut self, ts: u64, what: What) {
        let (What::Wakeup(crate::Wake { target_cpu: to, .. })
        | What::WakeupNew(crate::Wake { target_cpu: to, .. })
        | What::Migrate { dest_cpu: to, .. }) = what
        else {
            return;
        };
        let Some(of) = self.of(to) else { return };
        of.first = if of.sent == 0 { ts } else { of.first };
        of.sent = of.sent.saturating_add(1);
    }

    /// Tells what is missing in a trace that ends at `end`, of a machine with so many CPUs.
    pub(crate) fn tell(&self, machine: Option<u32>, end: u64, problems: &mut Problems) {
        if let Some(note) = self.note(machine, end) {
            problems.add(ProblemKind::Recording, || note);
        }
    }

    fn note(&self, machine: Option<u32>, end: u64) -> Option<String> {
        let of = |wanted: fn(&Of, u64) -> bool| {
            let cpus = self.0.iter().enumerate().filter(|(_, of)| wanted(of, end)).map(|(cpu, _)| cpu.to_string());
            cpus.collect::<Vec<_>>()
        };
        let has = of(|of, _| of.has_events);
        let lacks = of(|of, end| !of.has_events && of.sent >= SENT && end.saturating_sub(of.first) >= TAKEN_NS);
        let listed = |cpus: &[String]| cpus[..cpus.len().min(LISTED)].join(", ");
        let machine = machine.map_or(String::new(), |machine| format!(" ({} of {machine})", has.len()));
        (!lacks.is_empty()).then(|| {
            format!(
                "the trace has events of CPU {}{machine} and none of CPU {}, to which tasks were sent: what they did there is \
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
    fn a_cpu_that_was_sent_tasks_and_has_no_event_is_told() {
        let mut unseen = Unseen::default();
        unseen.meet(Cpu(0));
        for ts in [5, 6] {
            unseen.take(ts, migrate(3));
            unseen.take(ts, migrate(0));
        }
        unseen.take(5, migrate(8191));
        unseen.take(5, migrate(u16::MAX));
        assert_eq!(unseen.note(None, TAKEN_NS), None, "it may not have got to it");
        let note = unseen.note(Some(8), 5 + TAKEN_NS).unwrap();
        assert!(note.starts_with("the trace has events of CPU 0 (1 of 8) and none of CPU 3, to which"), "{note}");
        unseen.meet(Cpu(3));
        assert_eq!(unseen.note(None, 5 + TAKEN_NS), None);
    }
}
