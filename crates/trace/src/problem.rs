//! What was wrong with a trace that could be read all the same: kinds, how often, and where first. Bounded, whatever
//! the file holds.

use std::collections::BTreeMap;
use std::fmt;

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

/// The problems of a trace, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(BTreeMap<ProblemKind, (u64, String)>);

impl Problems {
    /// Counts one; `first` is asked for the sentence when it is the first of its kind.
    pub fn add(&mut self, kind: ProblemKind, first: impl FnOnce() -> String) {
        self.add_many(kind, 1, first);
    }

    /// Counts several at once.
    pub fn add_many(&mut self, kind: ProblemKind, count: u64, first: impl FnOnce() -> String) {
        let (total, _) = self.0.entry(kind).or_insert_with(|| (0, first()));
        *total = total.saturating_add(count);
    }

    /// The kinds that were met, a bit for each.
    pub(crate) fn kinds(&self) -> u32 {
        self.0.keys().fold(0, |kinds, kind| kinds | 1 << *kind as u32)
    }

    /// For kinds that were met since then, says where the first one was.
    pub(crate) fn tell_where(&mut self, since: u32, place: &str) {
        for (_, (_, first)) in self.0.iter_mut().filter(|(kind, _)| since & 1 << **kind as u32 == 0) {
            first.insert_str(0, place);
        }
    }

    /// How often a kind was met.
    pub fn count(&self, kind: ProblemKind) -> u64 {
        self.0.get(&kind).map_or(0, |p| p.0)
    }

    /// All kinds that were met, the gravest first.
    pub fn all(&self) -> impl Iterator<Item = Problem> + '_ {
        self.0.iter().map(|(kind, (count, first))| Problem { kind: *kind, count: *count, first: first.clone() })
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
}
