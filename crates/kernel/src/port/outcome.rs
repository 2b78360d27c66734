//! The outcome of a patch as a whole.

use super::rehearse::Confidence;
use super::series::{Finding, Obstacle, Port};
use crate::gnu::Verdict;
use crate::series::Patch;

/// The outcome of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The tree already has all of it.
    Present,
    /// Everything that the tree lacks applies as GNU patch applies it.
    Clean,
    /// All of it applies, some hunks as sure or likely proposals.
    Adapted,
    /// Some of it applies or is present; the rest is left out.
    Part,
    /// None of it applies.
    LeftOut,
}

/// Why a hunk is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The tree has no such file.
    NoFile,
    /// The tree already has the file that the patch creates, or one with the new name of a renamed file.
    Exists,
    /// Its proposal defines something that the file already has.
    Twice,
    /// It is half of a move whose other half is left out.
    Half,
    /// The lines that it changes use something that the tree lacks.
    Gone,
    /// The file has no lines similar to those that the hunk changes.
    NoPlace,
    /// Its proposal is a guess.
    Guess,
    /// Another hunk that is taken changes the same lines.
    Crossed,
    /// It has a place, but no hunk could be made for it.
    NoProposal,
    /// It was not rehearsed: a binary file, a hostile path, or a hunk whose lines do not match the counts in its
    /// header.
    NotRehearsed,
}

impl Port {
    /// The outcome of each of `patches`, which must be the ones that were rehearsed, and how many of its hunks and
    /// files are left out for each reason, in the order of [`Reason`].
    pub fn outcomes(&self, patches: &[Patch]) -> Vec<(Outcome, Vec<(Reason, usize)>)> {
        let of = |number: usize| self.findings.iter().filter(move |found| found.patch == number);
        let each = patches.iter().enumerate().map(|(number, patch)| {
            let mut reasons: Vec<Reason> = of(number).filter_map(reason).collect();
            reasons.extend(std::iter::repeat_n(Reason::NotRehearsed, patch.refused.len()));
            let files = self.files.iter().filter(|whole| whole.patch == number && !whole.is_taken && !whole.is_present);
            reasons.extend(files.map(|whole| whole.obstacle.map_or(Reason::NoPlace, Reason::of)));
            let is_taken = !self.adapted[number].is_empty();
            let outcome = match (reasons.is_empty(), is_taken) {
                (true, false) => Outcome::Present,
                (true, true) if of(number).any(is_adapted) => Outcome::Adapted,
                (true, true) => Outcome::Clean,
                (false, false) if !of(number).any(|found| found.is_present) => Outcome::LeftOut,
                (false, _) => Outcome::Part,
            };
            (outcome, counts(&reasons))
        });
        each.collect()
    }
}

impl Reason {
    fn of(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::NoFile => Self::NoFile,
            Obstacle::Exists => Self::Exists,
        }
    }
}

impl Finding {
    /// The hunk, or a sure or likely proposal for it, could be taken if no other hunk changed the same lines.
    fn is_placed(&self) -> bool {
        let proposal = self.rehearsed.as_ref().and_then(|seen| seen.proposal.as_ref());
        proposal.map_or(self.verdict != Verdict::Fails, |proposal| proposal.confidence < Confidence::Guess)
    }

    /// Another hunk that is taken changes the same lines, so this one is left out.
    pub fn is_crossed(&self) -> bool {
        reason(self) == Some(Reason::Crossed)
    }
}

/// The hunk is taken, but not where patch puts it.
fn is_adapted(found: &Finding) -> bool {
    let is_flagged = found.rehearsed.as_ref().is_some_and(|seen| seen.flagged.is_some());
    found.is_taken && (found.verdict == Verdict::Fails || is_flagged)
}

fn reason(found: &Finding) -> Option<Reason> {
    if found.is_taken || found.is_present {
        return None;
    }
    let proposal = found.rehearsed.as_ref().and_then(|seen| seen.proposal.as_ref());
    let has_place = found.rehearsed.as_ref().is_some_and(|seen| seen.place.is_some());
    let is_placed = found.is_placed();
    Some(match (found.obstacle, proposal.map(|proposal| proposal.confidence)) {
        (Some(obstacle), _) => Reason::of(obstacle),
        _ if !found.twice.is_empty() => Reason::Twice,
        _ if found.half.is_some() && is_placed => Reason::Half,
        _ if !found.gone.is_empty() => Reason::Gone,
        (None, Some(Confidence::Guess)) => Reason::Guess,
        _ if is_placed => Reason::Crossed,
        (None, _) if !has_place => Reason::NoPlace,
        (None, _) => Reason::NoProposal,
    })
}

fn counts(reasons: &[Reason]) -> Vec<(Reason, usize)> {
    use Reason::{Crossed, Exists, Gone, Guess, Half, NoFile, NoPlace, NoProposal, NotRehearsed, Twice};
    let all = [NoFile, Exists, Twice, Half, Gone, NoPlace, Guess, Crossed, NoProposal, NotRehearsed];
    let count = |wanted: Reason| (wanted, reasons.iter().filter(|reason| **reason == wanted).count());
    all.map(count).into_iter().filter(|(_, count)| *count > 0).collect()
}
