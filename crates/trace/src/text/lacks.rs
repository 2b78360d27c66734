//! What a text lacks because of the choice of what was recorded and printed, which is known at its end.

use super::letters::Letters;
use crate::kind::{Kind, Kinds};
use crate::problem::{ProblemKind, Problems};

/// What has been seen so far.
#[derive(Debug, Default)]
pub(super) struct Lacks {
    /// Events that the ring overwrote.
    pub(super) overwritten: u64,
    /// Some line has flags.
    pub(super) has_flags: bool,
}

impl Lacks {
    /// Reports it for a text with these kinds.
    pub(super) fn report(&self, kinds: Kinds, letters: &Letters, problems: &mut Problems) {
        const NO_FLAGS: &str = "the interrupt context of wakings is not in this text: where an interrupt woke a task, the thread \
                                that it stopped is taken for the waker; give the perf.data or trace.dat itself, or record \
                                with the trace option irq-info";
        const NO_PLUS: &str = "the words of libtraceevent's plugin (trace-cmd report, perf script) do not show a preemption inside the \
                               kernel: `R` is `R` or `R+`, and before Linux 4.14 another letter may be a preemption, too; give \
                               the trace.dat or perf.data itself, or print it with `trace-cmd report -N`";
        let wakings = [Kind::SchedWaking, Kind::SchedWakeup, Kind::SchedWakeupNew];
        if wakings.into_iter().any(|kind| kinds.has(kind)) && !self.has_flags {
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
