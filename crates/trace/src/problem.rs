//! Problems of a trace that could be read all the same: their kinds, how often they occurred, and where first. Bounded,
//! whatever the file contains.

use std::fmt;
use std::panic::Location;

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file ends inside a record or a section.
    Truncated,
    /// Events that the recorder reports as lost.
    Lost,
    /// The thread switched out is not the one switched in before, though no loss was reported.
    ChainBreak,
    /// The clock of a CPU went backwards.
    ClockBack,
    /// A record that contradicts its header; skipped.
    BadRecord,
    /// An event with a known name but a different layout; skipped.
    OtherLayout,
    /// A record that belongs to no event of the file; skipped.
    UnknownEvent,
    /// Records of an unknown type; skipped.
    UnknownRecord,
    /// A CPU or thread number that no machine has; skipped.
    ImpossibleNumber,
    /// Events that came later than the recorder's marks allow, or of which more would have to be held back than is
    /// allowed: some get a later time than they had.
    Unsorted,
    /// A part of the file that could not be read; the rest was.
    SkippedPart,
    /// `prev_state` is a bare number, and the file does not contain the kernel's letters for it.
    GuessedStates,
    /// Only some tasks were recorded: switches and wakings are missing on every CPU, by choice.
    SomeTasks,
    /// Only some CPUs were recorded, or are in the file: everything is missing on the others.
    SomeCpus,
    /// The recorder lost something at an unknown time; it is not known either whether scheduler events were among it.
    MayBeLost,
    /// A fact about the recording that changes what can be concluded from it.
    Recording,
}

/// One kind of problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What.
    pub kind: ProblemKind,
    /// How often: number of records, or of events if `kind` is [`ProblemKind::Lost`].
    pub count: u64,
    /// The first one, in a sentence.
    pub first: String,
}

/// How the notes of a conversion begin: some events may be missing, or anything else.
const MAY_LACK: &str = "the source of the conversion may lack events: ";
const OF_SOURCE: &str = "the source of the conversion: ";

fn is_note(sentence: &str) -> bool {
    [MAY_LACK, OF_SOURCE].iter().any(|begin| sentence.starts_with(begin))
}

impl Problem {
    /// In a line; that of a trace which was converted already is kept as it is.
    fn to_note(&self) -> String {
        use ProblemKind::{GuessedStates, OtherLayout, Recording};
        let begin = match self.kind {
            _ if is_note(&self.first) => "",
            GuessedStates | OtherLayout | Recording => OF_SOURCE,
            _ => MAY_LACK,
        };
        format!("{begin}{self}").replace(char::is_control, " ")
    }
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

/// What counts as one problem: a kind and, for kinds with unrelated sentences, the line of code that reports it. There
/// are few, whatever the file contains, and they can be compared without making the sentence.
type Met = (ProblemKind, Option<&'static Location<'static>>);

impl ProblemKind {
    fn is_of_unrelated_sentences(self) -> bool {
        matches!(self, ProblemKind::SkippedPart | ProblemKind::Recording)
    }
}

impl Problems {
    /// Counts one; `first` is called for the sentence if it is the first of its kind. For [`ProblemKind::Recording`]
    /// and [`ProblemKind::SkippedPart`], each caller's first sentence is kept.
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

    /// Counts one with a finished sentence; each different sentence of its kind is kept.
    pub(crate) fn add_sentence(&mut self, kind: ProblemKind, sentence: String) {
        match self.0.iter_mut().find(|(_, known)| known.kind == kind && known.first == sentence) {
            Some((_, problem)) => problem.count = problem.count.saturating_add(1),
            None => self.0.push(((kind, None), Problem { kind, count: 1, first: sentence })),
        }
    }

    /// Number of different problems so far.
    pub(crate) fn met(&self) -> usize {
        self.0.len()
    }

    /// Adds the position of the first occurrence to problems reported since then.
    pub(crate) fn report_where(&mut self, since: usize, place: &str) {
        self.0.iter_mut().skip(since).for_each(|(_, problem)| problem.first.insert_str(0, place));
    }

    /// How often a kind was met.
    pub fn count(&self, kind: ProblemKind) -> u64 {
        self.0.iter().filter(|(met, _)| met.0 == kind).fold(0, |sum, (_, problem)| sum.saturating_add(problem.count))
    }

    /// What a converted trace must keep about its source, in lines. Breaks in the chain are found in it again, and
    /// losses are among its events, unless some are at unknown times.
    pub(crate) fn notes(&self, has_untimed_losses: bool) -> Vec<String> {
        let is_kept = |kind: ProblemKind| match kind {
            ProblemKind::ChainBreak => false,
            ProblemKind::Lost => has_untimed_losses,
            _ => true,
        };
        let kept = self.all().filter(|problem| is_kept(problem.kind));
        kept.map(|problem| problem.to_note()).collect()
    }

    /// Takes a line that may be a note of a conversion. Anybody can write such a line: few are kept, and they steer no
    /// terminal.
    pub(crate) fn take_note(&mut self, line: &str) {
        const MAX_NOTES: usize = 16;
        const MAX_CHARS: usize = 400;
        let kinds = [(MAY_LACK, ProblemKind::MayBeLost), (OF_SOURCE, ProblemKind::Recording)];
        let Some((_, kind)) = kinds.iter().find(|(begin, _)| line.starts_with(begin)) else { return };
        let notes = self.0.iter().filter(|(_, problem)| is_note(&problem.first)).count();
        if notes < MAX_NOTES {
            let line = line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_CHARS).collect();
            self.add_sentence(*kind, line);
        }
    }

    /// All problems so far, the most serious kinds first.
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
    fn notes_of_anybody_are_few_and_harmless() {
        let mut problems = Problems::default();
        for number in 0..1000 {
            problems.take_note(&format!("{MAY_LACK}\u{1b}[2J{number}{}", "x".repeat(1000)));
        }
        problems.take_note("anything else");
        let all: Vec<Problem> = problems.all().collect();
        assert_eq!(all.len(), 16);
        assert!(all.iter().all(|one| one.first.chars().count() == 400 && !one.first.contains(char::is_control)));
        assert_eq!(problems.notes(false), all.iter().map(|one| one.first.clone()).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_of_a_kind_is_reported_and_all_are_counted() {
        let mut problems = Problems::default();
        problems.add(ProblemKind::BadRecord, || "byte 7: odd".into());
        problems.add(ProblemKind::BadRecord, || unreachable!("told once"));
        problems.add_many(ProblemKind::Lost, 40, || "CPU 1 lost events".into());
        assert_eq!((problems.count(ProblemKind::BadRecord), problems.count(ProblemKind::Truncated)), (2, 0));
        let reported: Vec<String> = problems.all().map(|p| p.to_string()).collect();
        assert_eq!(reported, ["CPU 1 lost events (40 in all)", "byte 7: odd (2 in all)"]);
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
        problems.report_where(since, "data.1: ");
        let reported: Vec<String> = problems.all().map(|p| p.to_string()).collect();
        assert_eq!(
            reported,
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
