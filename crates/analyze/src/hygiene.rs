//! What keeps a verdict from being given and what was left out: settings not in force, marks that go with an arm,
//! warm-up, contaminated blocks, and the count of it all.

use crate::confounded;
use crate::facts::belongs;
use crate::findings::{Contamination, MarkedBlock, TrialCounts, Verdict, WarmUp, Withheld};
use crate::selection::{Fate, Row, mark_text};
use crate::verdict::withheld;
use crate::workload::Workload;
use schedlab_run::{counted, noun};
use schedlab_stats::wilson;

/// Intervals of the share of marked trials, so sure that only a gross difference keeps them apart.
const MARKS_LEVEL: f64 = 0.999;

impl Workload<'_> {
    /// Why an arm is not judged whatever its numbers are.
    pub(crate) fn barred(&self, arm: u32) -> Option<Verdict> {
        let not_applied = |arm: u32| {
            let reason = self.selection.not_applied.get(&arm)?;
            let name = self.manifest.arms.get(arm as usize).map_or("", |a| &a.name);
            Some(withheld(Withheld::NotApplied, format!("`{name}` is not applied: {reason}")))
        };
        let void = self.void.as_ref().map(|why| withheld(Withheld::Void, format!("the run is void: {why}")));
        let confounded = || confounded::within_run(&self.selection, 0, arm).map(|c| c.sentence);
        void.or_else(|| not_applied(arm))
            .or_else(|| not_applied(0))
            .or_else(|| confounded().map(|why| withheld(Withheld::Confounded, why)))
            .or_else(|| self.marks_differ(arm).map(|why| withheld(Withheld::MarksDiffer, why)))
    }

    /// Marked and all measured trials of an arm, warm-up aside.
    pub(crate) fn marked_trials(&self, arm: u32) -> (usize, usize) {
        let rows = || self.selection.rows.iter().filter(|r| !r.record.warm_up && belongs(r.record, arm));
        let marked = |r: &&Row<'_>| r.record.marks.iter().any(|m| mark_text(m).is_some());
        (rows().filter(marked).count(), rows().count())
    }

    /// Steal that goes with an arm is an effect of that arm, and repeating its blocks would select on it.
    fn marks_differ(&self, arm: u32) -> Option<String> {
        let name = |arm: u32| self.manifest.arms.get(arm as usize).map_or("?", |a| a.name.as_str());
        self.marks_go_with((&[arm], name(arm)), (&[0], name(0)))
    }

    /// The same of two named groups of arms.
    pub(crate) fn marks_go_with(&self, other: (&[u32], &str), control: (&[u32], &str)) -> Option<String> {
        let marked = |arms: &[u32]| {
            let each = arms.iter().map(|&arm| self.marked_trials(arm));
            each.fold((0, 0), |sum, of_arm| (sum.0 + of_arm.0, sum.1 + of_arm.1))
        };
        let interval = |(k, n): (usize, usize)| wilson(k as u64, n as u64, MARKS_LEVEL);
        let (of_other, of_control) = (marked(other.0), marked(control.0));
        let (a, b) = (interval(of_control)?, interval(of_other)?);
        let apart = a.hi < b.lo || b.hi < a.lo;
        apart.then(|| {
            format!(
                "marks differ between arms: {} of {} of `{}`, {} of {} of `{}`",
                of_other.0,
                counted(of_other.1, "trials"),
                other.1,
                of_control.0,
                of_control.1,
                control.1
            )
        })
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
            (n, 0) => format!("{}, repeated; the verdict stands on the repeats.", counted(n, "contaminated blocks")),
            (n, kept) => format!(
                "{}; not repeated (at most 20 % are) and kept in the verdict: {kept}.",
                counted(n, "contaminated blocks")
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
