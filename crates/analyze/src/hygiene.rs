//! What keeps a verdict from being given and what was left out: settings not in force, marks that go with an arm,
//! warm-up, contaminated blocks, and the count of it all.

use crate::confounded;
use crate::facts::belongs;
use crate::findings::{Contamination, MarkedBlock, TrialCounts, WarmUp};
use crate::selection::{Fate, Row, mark_text};
use crate::words::counted;
use crate::workload::Workload;
use schedlab_stats::wilson;

/// Intervals of the share of marked trials, so sure that only a gross difference keeps them apart.
const MARKS_LEVEL: f64 = 0.999;

impl Workload<'_> {
    /// Why an arm is not judged whatever its numbers are.
    pub(crate) fn barred(&self, arm: u32) -> Option<String> {
        let not_applied = |arm: u32| {
            let reason = self.selection.not_applied.get(&arm)?;
            let name = self.manifest.arms.get(arm as usize).map_or("", |a| &a.name);
            Some(format!("`{name}` is not applied: {reason}"))
        };
        let void = self.void.as_ref().map(|why| format!("the run is void: {why}"));
        void.or_else(|| not_applied(arm))
            .or_else(|| not_applied(0))
            .or_else(|| confounded::within_run(&self.selection, 0, arm).map(|c| c.sentence))
            .or_else(|| self.marks_differ(arm))
    }

    /// Marked and all measured trials of an arm, warm-up aside.
    pub(crate) fn marked_trials(&self, arm: u32) -> (usize, usize) {
        let rows = || self.selection.rows.iter().filter(|r| !r.record.warm_up && belongs(r.record, arm));
        let marked = |r: &&Row<'_>| r.record.marks.iter().any(|m| mark_text(m).is_some());
        (rows().filter(marked).count(), rows().count())
    }

    /// Steal that goes with an arm is an effect of that arm, and repeating its blocks would select on it.
    fn marks_differ(&self, arm: u32) -> Option<String> {
        let (control, other) = (self.marked_trials(0), self.marked_trials(arm));
        let interval = |(k, n): (usize, usize)| wilson(k as u64, n as u64, MARKS_LEVEL);
        let (a, b) = (interval(control)?, interval(other)?);
        let apart = a.hi < b.lo || b.hi < a.lo;
        apart.then(|| {
            let name = |i: u32| self.manifest.arms.get(i as usize).map_or("?", |a| a.name.as_str());
            format!(
                "marks differ between arms: {} of {} trials of `{}`, {} of {} of `{}`",
                other.0,
                other.1,
                name(arm),
                control.0,
                control.1,
                name(0)
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
        let cut = format!("{}, cut for all arms", counted(blocks_cut, "more blocks"));
        let sentence = match (flagged, blocks_cut) {
            (0, 0) => String::new(),
            (_, 0) => format!("{shown}; the pooled trials after them had settled."),
            _ => format!("{shown}; the pooled trials, blind to the arm, settled only after {cut}."),
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
            (1, 0) => "1 contaminated block was repeated; the repeat enters the verdict.".to_owned(),
            (n, 0) => format!("{n} contaminated blocks were repeated; the repeats enter the verdict."),
            (1, _) => "1 block was contaminated and stays in the verdict: it was not repeated (at most 20 % are).".to_owned(),
            (n, kept) if n == kept => {
                format!("{n} blocks were contaminated and stay in the verdict: they were not repeated (at most 20 % are).")
            }
            (n, 1) => format!(
                "{n} blocks were contaminated; 1 of them stays in the verdict because it was not repeated (at most 20 % are)."
            ),
            (n, kept) => format!(
                "{n} blocks were contaminated; {kept} of them stay in the verdict because they were not repeated (at most \
                 20 % are)."
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
