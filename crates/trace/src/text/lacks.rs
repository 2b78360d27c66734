//! What a text lacks by the choice of what was recorded and printed, which is known at its end. One problem tells all of
//! it: of each kind of problem only the first sentence is kept.

use super::letters::Letters;
use super::unseen::Unseen;
use crate::kind::{Kind, Kinds};
use crate::problem::{ProblemKind, Problems};

/// What was met so far.
#[derive(Debug, Default)]
pub(super) struct Lacks {
    /// Events that the ring overwrote.
    pub(super) overwritten: u64,
    /// Some line has flags.
    pub(super) has_flags: bool,
    pub(super) unseen: Unseen,
}

impl Lacks {
    /// Tells it, of a text with these kinds that ends at `end`, and of a machine with so many CPUs.
    pub(super) fn tell(
        &self,
        kinds: Kinds,
        letters: &Letters,
        (cpus, end): (Option<u16>, u64),
        problems: &mut Problems,
    ) {
        const NO_FLAGS: &str = "the interrupt context of wakings is not in this text: where an interrupt woke a task, the thread \
                                that it stopped is taken for the waker; give the perf.data or trace.dat itself, or record \
                                with the trace option irq-info";
        const NO_PLUS: &str = "the words of trace-cmd's plugin do not show a preemption inside the kernel: `R` is `R` or `R+`, \
                               and before Linux 4.14 another letter may be a preemption, too; give the trace.dat itself, or \
                               print it with `trace-cmd report -N`";
        let unseen = kinds.has(Kind::SchedSwitch).then(|| self.unseen.note(cpus.map(u32::from), end)).flatten();
        let has_wakings =
            [Kind::SchedWaking, Kind::SchedWakeup, Kind::SchedWakeupNew].into_iter().any(|kind| kinds.has(kind));
        // Last, since a number of events follows it.
        let full =
            "the ring was full: older events were overwritten, before the trace begins or before a CPU's first event";
        let notes = [
            unseen,
            (has_wakings && !self.has_flags).then(|| NO_FLAGS.to_owned()),
            letters.hides_preemption.then(|| NO_PLUS.to_owned()),
            (self.overwritten > 0).then(|| full.to_owned()),
        ];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        if !notes.is_empty() {
            problems.add_many(ProblemKind::Recording, self.overwritten.max(1), || notes.join("; and "));
        }
    }
}
