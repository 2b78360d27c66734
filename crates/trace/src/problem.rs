//! What was wrong with a trace that could be read all the same: kinds, how often, and where first. Bounded, whatever
//! the file holds.

use std::fmt;
use std::panic::Location;

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file ends inside a record or a section.
    Truncated,
    /// Events the recorder says it lost.
    Lost,
    /// The thread switched out is not the one switched in before, though no loss was reported.
    ChainBreak,
    /// The clock of a CPU went back.
    ClockBack,
    /// A record that cannot be what its header says; skipped.
    BadRecord,
    /// An event of a known name with fields of another layout; skipped.
    OtherLayout,
    /// An event that belongs to no event of the file; skipped.
    UnknownEvent,
    /// Records of a type that is not known here; skipped.
    UnknownRecord,
    /// A CPU or thread number that no machine has; skipped.
    ImpossibleNumber,
    /// Events that came later than the recorder's marks allow, or of which more had to be held back than is allowed: some are
    /// given a later time than they have.
    Unsorted,
    /// A part of the file that could not be read; the rest was.
    SkippedPart,
    /// `prev_state` is a bare number and the kernel's letters for it are not in the file.
    GuessedStates,
    /// Only some tasks were recorded: of every CPU switches and wakings are missing, by choice.
    SomeTasks,
    /// Only some CPUs were recorded, or are in the file: of the others everything is missing.
    SomeCpus,
    /// The recorder lost something at a time that is not known; whether it was of the scheduler is not known either.
    MayBeLost,
    /// Something about the recording that changes what can be concluded from it.
    Recording,
}

/// One kind of problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What.
    pub kind: ProblemKind,
    /// How often: records, or events where `kind` is [`ProblemKind::Lost`].
    pub count: u64,
    /// The first one, in a sentence.
    pub first: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 | 1 => f.write_str(&self.first),
            n => write!(f, "{} ({n} in all)", self.first),
        }
    }
}

/// The problems of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(Vec<(Met, Problem)>);

/// What is counted as one problem: a kind, and for kinds whose sentences say unrelated things the line of code that says it.
/// Few whatever the file holds, and compared without making the sentence.
type Met = (ProblemKind, Option<&'static Location<'static>>);

impl ProblemKind {
    fn is_of_unrelated_sentences(self) -> bool {
        matches!(self, ProblemKind::SkippedPart | ProblemKind::Recording)
    }
}

impl Problems {
    /// Counts one; `first` is asked for the sentence when it is the first of its kind. Of [`ProblemKind::Recording`] and
    /// [`ProblemKind::SkippedPart`] each caller's first sentence is kept.
    #[track_caller]
    pub fn add(&mut self, kind: ProblemKind, first: impl FnOnce() -> String) {
        self.add_many(kind, 1, first);
    }

    /// Counts several at once.
    #[track_caller]
    pub fn add_many(&mut self, kind: ProblemKind, count: u64, first: impl FnOnce() -> String) {
        let caller = Location::caller();
        let met = (kind, kind.is_of_unrelated_sentences().then_some(caller));
        match self.0.iter_mut().find(|(known, _)| *known == met) {
            Some((_, problem)) => problem.count = problem.count.saturating_add(count),
            None => self.0.push((met, Problem { kind, count, first: first() })),
        }
    }

    /// Counts one whose sentence is made already; each other sentence of its kind is kept, too.
    pub(crate) fn add_sentence(&mut self, kind: ProblemKind, sentence: String) {
        match self.0.iter_mut().find(|(_, known)| known.kind == kind && known.first == sentence) {
            Some((_, problem)) => problem.count = problem.count.saturating_add(1),
            None => self.0.push(((kind, None), Problem { kind, count: 1, first: sentence })),
        }
    }

    /// How many were met, each once.
    pub(crate) fn met(&self) -> usize {
        self.0.len()
    }

    /// Says of those that were met since then where the first one was.
    pub(crate) fn tell_where(&mut self, since: usize, place: &str) {
        self.0.iter_mut().skip(since).for_each(|(_, problem)| problem.first.insert_str(0, place));
    }

    /// How often a kind was met.
    pub fn count(&self, kind: ProblemKind) -> u64 {
        self.0.iter().filter(|(met, _)| met.0 == kind).fold(0, |sum, (_, problem)| sum.saturating_add(problem.count))
    }

    /// All that were met, the gravest kinds first.
    pub fn all(&self) -> impl Iterator<Item = Problem> + '_ {
        let mut all: Vec<&Problem> = self.0.iter().map(|(_, problem)| problem).collect();
        all.sort_by_key(|problem| problem.kind);
        all.into_iter().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_kind_is_told_and_all_are_counted() {
        let mut problems = Problems::default();
        problems.add(ProblemKind::BadRecord, || "byte 7: odd".into());
        problems.add(ProblemKind::BadRecord, || unreachable!("told once"));
        problems.add_many(ProblemKind::Lost, 40, || "CPU 1 lost events".into());
        assert_eq!((problems.count(ProblemKind::BadRecord), problems.count(ProblemKind::Truncated)), (2, 0));
        let told: Vec<String> = problems.all().map(|p| p.to_string()).collect();
        assert_eq!(told, ["CPU 1 lost events (40 in all)", "byte 7: odd (2 in all)"]);
    }

    #[test]
    fn unrelated_notes_do_not_hide_each_other() {
        let mut problems = Problems::default();
        for event in ["irq", "timer"] {
            problems.add(ProblemKind::Recording, || format!("{event} could not be recorded"));
        }
        for clock in ["local", "global", "local"] {
            problems.add_sentence(ProblemKind::Recording, format!("the clock is {clock}"));
        }
        problems.add(ProblemKind::Recording, || "the trace is of 2 machines".into());
        problems.add(ProblemKind::Lost, || "40 lost".into());
        let since = problems.met();
        problems.add(ProblemKind::SkippedPart, || "a section is cut".into());
        problems.tell_where(since, "data.1: ");
        let told: Vec<String> = problems.all().map(|p| p.to_string()).collect();
        assert_eq!(
            told,
            [
                "40 lost",
                "data.1: a section is cut",
                "irq could not be recorded (2 in all)",
                "the clock is local (2 in all)",
                "the clock is global",
                "the trace is of 2 machines"
            ]
        );
        assert_eq!(problems.count(ProblemKind::Recording), 6);
    }
}
