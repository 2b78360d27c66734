//! What a text lacks by the choice of what was recorded and printed, which is known at its end.

use super::letters::Letters;
use crate::event::{Event, What};
use crate::problem::{ProblemKind, Problems};
use crate::unseen::Unseen;

/// What was met so far.
#[derive(Debug, Default)]
pub(super) struct Lacks {
    /// Events that the ring overwrote.
    pub(super) overwritten: u64,
    /// Some line has flags.
    pub(super) has_flags: bool,
    has_wakings: bool,
    has_switches: bool,
    pub(super) unseen: Unseen,
}

impl Lacks {
    /// Takes an event that is read.
    pub(super) fn event(&mut self, event: &Event) {
        match event.what {
            What::Switch { .. } => self.has_switches = true,
            What::Waking(_) => self.has_wakings = true,
            What::Wakeup(_) | What::WakeupNew(_) => {
                self.has_wakings = true;
                self.unseen.take(event.ts, event.what);
            }
            What::Migrate { .. } => self.unseen.take(event.ts, event.what),
            _ => {}
        }
    }

    /// Tells it, of a machine with so many CPUs and a text that ends at `end`.
    pub(super) fn tell(&self, letters: &Letters, cpus: Option<u16>, end: u64, problems: &mut Problems) {
        const NO_FLAGS: &str = "the interrupt context of wakings is not in this text: where an interrupt woke a task, the thread \
                                that it stopped is taken for the waker; give the perf.data or trace.dat itself, or record \
                                with the trace option irq-info";
        const NO_PLUS: &str = "the words of trace-cmd's plugin do not show a preemption inside the kernel: `R` is `R` or `R+`, \
                               and before Linux 4.14 another letter may be a preemption, too; give the trace.dat itself, or \
                               print it with `trace-cmd report -N`";
        if self.has_switches {
            self.unseen.tell(cpus.map(u32::from), end, problems);
        }
        if self.has_wakings && !self.has_flags {
            problems.add(ProblemKind::Recording, || NO_FLAGS.into());
        }
        if letters.hides_preemption {
            problems.add(ProblemKind::Recording, || NO_PLUS.into());
        }
        if self.overwritten > 0 {
            problems.add_many(ProblemKind::Recording, self.overwritten, || {
                "the ring was full: older events were overwritten, before the trace begins or before a CPU's first event".into()
            });
        }
    }
}
