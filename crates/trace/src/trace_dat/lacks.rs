//! What a trace.dat lacks by the choice of what was recorded, which is known at its end. One problem tells all of it: of
//! each kind of problem only the first sentence is kept.

use super::header::Header;
use crate::event::{Cpu, What};
use crate::problem::{ProblemKind, Problems};
use crate::text::unseen::Unseen;

/// What was met so far.
#[derive(Debug, Default)]
pub(super) struct Lacks {
    notes: Vec<String>,
    /// Scheduler events of other buffers than that which is read.
    of_other_buffers: u64,
    /// Where tasks are sent, if some CPU has no events.
    sent: Option<Unseen>,
}

impl Lacks {
    pub(super) fn of(header: &Header) -> Self {
        let machine = header.cpus();
        let lacks_some = header.buffers.iter().any(|buffer| {
            let filled = buffer.cpus.iter().filter(|data| data.size > 0).count();
            filled > 0 && filled < machine as usize
        });
        Self { sent: lacks_some.then(Unseen::default), ..Self::default() }
    }

    pub(super) fn note(&mut self, why: String) {
        self.notes.push(why);
    }

    #[cold]
    pub(super) fn of_other_buffer(&mut self) {
        self.of_other_buffers += 1;
    }

    /// Takes an event that is read.
    #[inline]
    pub(super) fn event(&mut self, ts: u64, what: What) {
        if let Some(sent) = &mut self.sent {
            sent.sent(ts, what);
        }
    }

    /// Tells it, of a machine with so many CPUs and a trace with switches of these that ends at `end`.
    pub(super) fn tell(&mut self, cpus: impl Iterator<Item = Cpu>, machine: u32, end: u64, problems: &mut Problems) {
        if let Some(mut sent) = self.sent.take() {
            cpus.for_each(|cpu| sent.meet(cpu));
            self.notes.extend(sent.note(Some(machine), end));
        }
        // Last, since a number of events follows it.
        if self.of_other_buffers > 0 {
            self.notes.push("several buffers hold scheduler events; those of the first are read".into());
        }
        if !self.notes.is_empty() {
            problems.add_many(ProblemKind::Recording, self.of_other_buffers.max(1), || self.notes.join("; and "));
        }
    }
}
