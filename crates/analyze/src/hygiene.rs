//! Reasons why no verdict is given, and what was left out: settings not applied, marks that go with an arm, warm-up,
//! contaminated blocks, and the number of trials in each state.

use crate::confounded;
use crate::facts::belongs;
use crate::findings::{Confounded, Contamination, MarkedBlock, TrialCounts, Verdict, WarmUp, Withheld};
use crate::selection::{Fate, Row, mark_text};
use crate::verdict::withheld;
use crate::workload::Workload;
use schedlab_plan::manifest::OrderKnown;
use schedlab_plan::{counted, noun};
use schedlab_stats::wilson;

/// Level of the intervals of the share of marked trials: so high that only a gross difference separates them.
const MARKS_LEVEL: f64 = 0.999;

/// The same for failed trials. Contamination comes from outside, and is chance unless it is gross. A failure is caused
/// by the trial itself, so the remaining trials are a biased sample. For two equal rates these intervals are disjoint
/// about once in two hundred cases.
const FAILURES_LEVEL: f64 = 0.95;

impl Workload<'_> {
    /// Why an arm is not judged, whatever its numbers are.
    pub(crate) fn reason_withheld(&self, arm: u32) -> Option<Verdict> {
        let not_applied = |arm: u32| {
            let reason = self.selection.not_applied.get(&arm)?;
            let name = self.manifest.arms.get(arm as usize).map_or("", |a| &a.name);
            Some(withheld(Withheld::NotApplied, format!("`{name}` is not applied: {reason}")))
        };
        let void = self.void.as_ref().map(|why| withheld(Withheld::Void, format!("the run is void: {why}")));
        let confounded = || self.confounded(arm).map(|c| c.sentence);
        void.or_else(|| not_applied(arm))
            .or_else(|| not_applied(0))
            .or_else(|| confounded().map(|why| withheld(Withheld::Confounded, why)))
            .or_else(|| uneven(&self.side(&[arm], self.arm_name(arm)), &self.side(&[0], self.arm_name(0))))
    }

    /// What else differs, or may differ, between an arm and the control.
    pub(crate) fn confounded(&self, arm: u32) -> Option<Confounded> {
        match self.manifest.order {
            OrderKnown::Unknown => Some(confounded::imported()),
            OrderKnown::Randomized => confounded::within_run(&self.selection, 0, arm),
        }
    }

    /// Arms of this run as one side of a comparison.
    pub(crate) fn side<'s>(&'s self, arms: &'s [u32], name: &'s str) -> Side<'s> {
        Side { part: self, arms, name }
    }

    /// Number of marked trials of an arm and of all its measured ones, without warm-up.
    pub(crate) fn marked_trials(&self, arm: u32) -> (usize, usize) {
        let rows = || self.selection.rows.iter().filter(|r| !r.record.warm_up && belongs(r.record, arm));
        let marked = |r: &&Row<'_>| r.record.marks.iter().any(|m| mark_text(m).is_some());
        (rows().filter(marked).count(), rows().count())
    }

    /// Number of failed trials of an arm and of all its measured ones, without warm-up; those of a switchback contain
    /// both arms and do not count.
    fn failed_trials(&self, arm: u32) -> (usize, usize) {
        let rows = || self.selection.rows.iter().filter(|r| !r.record.warm_up && r.record.arm == Some(arm));
        let failed = rows().filter(|r| r.fate == Fate::Failed).count();
        (failed, rows().filter(|r| r.fate != Fate::NotApplied).count())
    }

    /// Windows of an arm that began too late to be stored, and the number that should exist, in the used trials. A
    /// trial's last pair is left out, because its time may have run out.
    fn lost_windows(&self, arm: u32) -> (usize, usize) {
        let outcomes = self.selection.used(None).filter_map(|r| r.outcome.as_ref());
        let of_trial = |o: &schedlab_plan::TrialOutcome| {
            let last = o.windows.last().map_or(0, |w| w.pair) as usize;
            let stored = o.windows.iter().filter(|w| u32::from(w.is_b) == arm && (w.pair as usize) < last).count();
            (last.saturating_sub(stored), last)
        };
        sum(outcomes.map(of_trial))
    }

    /// The arm's name in the plan.
    pub(crate) fn arm_name(&self, arm: u32) -> &str {
        self.manifest.arms.get(arm as usize).map_or("?", |a| a.name.as_str())
    }

    pub(crate) fn warm_up(&self) -> WarmUp {
        let flagged = self.selection.rows.iter().filter(|r| r.record.warm_up).count();
        let blocks_cut = self.selection.cut_blocks.len();
        let trials_cut = self
            .selection
            .count(|f| *f == Fate::WarmUp)
            .saturating_sub(self.selection.rows.iter().filter(|r| r.record.warm_up && r.fate == Fate::WarmUp).count());
        let shown = format!("{} shown, not compared", counted(flagged, "warm-up trials"));
        let sentence = match (flagged, blocks_cut) {
            (0, 0) => String::new(),
            _ if self.selection.used_blocks().is_empty() => format!("{shown}."),
            (_, 0) => format!("{shown}; the pooled trials after the warm-up had settled."),
            (_, n) => format!(
                "{shown}; the pooled trials, blind to the arm, settled only after {n} more {}, cut for all arms.",
                noun(n, "blocks")
            ),
        };
        WarmUp { flagged, blocks_cut, trials_cut, sentence }
    }

    pub(crate) fn contamination(&self, arms: u32) -> Contamination {
        let blocks: Vec<MarkedBlock> = self
            .selection
            .marked
            .iter()
            .map(|(&block, (what, by))| MarkedBlock { block, what: what.clone(), repeated_by: *by })
            .collect();
        let kept = blocks.iter().filter(|b| b.repeated_by.is_none()).count();
        let sentence = match (blocks.len(), kept) {
            (0, _) => String::new(),
            (n, 0) => format!("{}, repeated; the verdict uses the repeats.", counted(n, "disturbed blocks")),
            (n, kept) => format!(
                "{}: {} repeated, {kept} kept in the verdict (at most 20 % are repeated).",
                counted(n, "disturbed blocks"),
                n - kept
            ),
        };
        Contamination { blocks, per_arm: (0..arms).map(|arm| self.marked_trials(arm)).collect(), sentence }
    }

    pub(crate) fn counts(&self) -> TrialCounts {
        let count = |fate: fn(&Fate) -> bool| self.selection.count(fate);
        TrialCounts {
            total: self.selection.rows.len(),
            used: count(|f| *f == Fate::Used),
            warm_up: count(|f| *f == Fate::WarmUp),
            failed: count(|f| *f == Fate::Failed),
            not_applied: count(|f| *f == Fate::NotApplied),
            contaminated: count(|f| matches!(f, Fate::Repeated(_))),
            incomplete: count(|f| *f == Fate::Incomplete),
        }
    }
}

/// One of two groups of arms that are compared; in a comparison of two runs each group comes from its own run.
pub(crate) struct Side<'s> {
    part: &'s Workload<'s>,
    arms: &'s [u32],
    name: &'s str,
}

impl Side<'_> {
    fn sum(&self, count: fn(&Workload<'_>, u32) -> (usize, usize)) -> (usize, usize) {
        sum(self.arms.iter().map(|&arm| count(self.part, arm)))
    }
}

/// Why two sides are not compared: the marked or lost trials are mostly those of one side. Steal that goes with an arm
/// is an effect of that arm, and repeating its blocks would select on it. The same holds for failures: the trials that
/// did not fail are a selection.
pub(crate) fn uneven(other: &Side<'_>, control: &Side<'_>) -> Option<Verdict> {
    let differ = |what: &str, unit: &str, level: f64, count: fn(&Workload<'_>, u32) -> (usize, usize)| {
        let (a, b) = (control.sum(count), other.sum(count));
        apart(a, b, level).then(|| {
            let all = if unit.is_empty() { b.1.to_string() } else { counted(b.1, unit) };
            let (name, control) = (other.name, control.name);
            format!("{what} differ between arms: {} of {all} of `{name}`, {} of {} of `{control}`", b.0, a.0, a.1)
        })
    };
    let marks = || differ("marks", "trials", MARKS_LEVEL, |part, arm| part.marked_trials(arm));
    let failures = || differ("failures", "trials", FAILURES_LEVEL, |part, arm| part.failed_trials(arm));
    let windows = || differ("windows lost", "", MARKS_LEVEL, |part, arm| part.lost_windows(arm));
    let lost = || failures().or_else(windows).map(|why| withheld(Withheld::LossesDiffer, why));
    marks().map(|why| withheld(Withheld::MarksDiffer, why)).or_else(lost)
}

fn sum(counts: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Whether the intervals of two shares, `(k, n)` each, are disjoint.
fn apart(a: (usize, usize), b: (usize, usize), level: f64) -> bool {
    let interval = |(k, n): (usize, usize)| wilson(k as u64, n as u64, level);
    let (Some(a), Some(b)) = (interval(a), interval(b)) else { return false };
    a.hi < b.lo || b.hi < a.lo
}
