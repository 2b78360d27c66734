//! When a workload has been measured enough: a fixed number of blocks, a time budget with looks on the way, or until a
//! confidence sequence decides. All of it is derived from the rows, so an interrupted run resumes where it was.

use crate::contamination::contaminated;
use schedlab_run::manifest::Design;
use schedlab_run::{Manifest, TrialRecord, TrialStatus};

/// Extra blocks that may repeat contaminated or failed ones, as a share of those planned.
const EXTRA_SHARE: f64 = 0.2;

/// Why a workload ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Every planned block is in.
    Planned,
    /// The evidence suffices.
    Decided,
    /// No further block fits the budget.
    Budget,
    /// The user asked.
    Interrupted,
    /// The control, or every other arm, is not in force here.
    NothingToCompare,
    /// The machine changed under us, or a requirement of the plan was not met.
    Void(String),
}

impl Stop {
    /// The word the manifest keeps.
    pub fn reason(&self) -> String {
        match self {
            Self::Planned => "planned".into(),
            Self::Decided => "decided".into(),
            Self::Budget => "budget".into(),
            Self::Interrupted => "interrupted".into(),
            Self::NothingToCompare => "nothing left to compare: the control or every other arm is not applied".into(),
            Self::Void(what) => format!("void: {what}"),
        }
    }
}

/// Whether every primary contrast of the workload has its verdict.
pub fn decided(manifest: &Manifest, trials: &[TrialRecord], workload: u32) -> bool {
    schedlab_analyze::decided(manifest, trials, workload)
}

/// The progress of one workload against its design.
pub struct Pace {
    workload: u32,
    design: Design,
    /// Trials in a full block.
    block_len: usize,
    /// Which of the planned looks was the last one taken; looks that came too early for a verdict are skipped.
    last_look: u32,
    /// Time since this process began the workload, and what an interrupted run had spent on it before, ns.
    elapsed_ns: u64,
    spent_before_ns: u64,
}

impl Pace {
    /// `None` when an earlier run has finished the workload already.
    pub fn new(manifest: &Manifest, workload: u32, trials: &[TrialRecord]) -> Option<Self> {
        let block_len = if manifest.switchback_window_ns.is_some() { 1 } else { 2 * manifest.arms.len() };
        let fractions = manifest.looks.iter().filter(|l| l.workload == workload).map(|l| l.fraction);
        let last_look = planned_look(&manifest.design, fractions.fold(0.0, f64::max));
        let pace =
            Self { workload, design: manifest.design.clone(), block_len, last_look, elapsed_ns: 0, spent_before_ns: 0 };
        let spent_before_ns = pace.trials_ns(trials);
        let pace = Self { spent_before_ns, ..pace };
        // Workloads whose blocks take turns are finished together.
        let groups = manifest.groups();
        let last = groups.iter().find(|group| group.contains(&workload)).and_then(|group| group.iter().max().copied());
        let later = trials.iter().any(|t| t.workload > last.unwrap_or(workload));
        (!later).then_some(pace)
    }

    /// Planned blocks, where the design fixes them.
    pub fn planned_blocks(&self) -> Option<u32> {
        match self.design {
            Design::Fixed { blocks } => Some(blocks),
            _ => None,
        }
    }

    fn rows<'t>(&self, trials: &'t [TrialRecord]) -> impl Iterator<Item = &'t TrialRecord> + use<'t> {
        let workload = self.workload;
        trials.iter().filter(move |t| t.workload == workload && !t.warm_up)
    }

    /// Blocks begun, complete or not, repeats included.
    pub fn begun(&self, trials: &[TrialRecord]) -> u32 {
        self.rows(trials).map(|t| t.block + 1).max().unwrap_or(0)
    }

    /// A block is spoilt when it holds a contaminated or a failed trial.
    fn spoilt(&self, trials: &[TrialRecord], block: u32) -> bool {
        self.rows(trials)
            .filter(|t| t.block == block)
            .any(|t| contaminated(&t.marks) || matches!(t.status, TrialStatus::Failed(_)))
    }

    /// Whether a block lacks trials that would have run (an interrupted block).
    fn partial(&self, trials: &[TrialRecord], block: u32) -> bool {
        // Arms not in force are left out after their first row; a block is complete without them.
        let dropped: std::collections::BTreeSet<u32> = trials
            .iter()
            .filter(|t| t.workload == self.workload && matches!(t.status, TrialStatus::NotApplied(_)))
            .filter_map(|t| t.arm)
            .collect();
        let have =
            self.rows(trials).filter(|t| t.block == block && !t.arm.is_some_and(|arm| dropped.contains(&arm))).count();
        have < self.block_len.saturating_sub(2 * dropped.len())
    }

    /// Complete blocks without a spoilt trial.
    pub fn usable_blocks(&self, trials: &[TrialRecord]) -> u32 {
        (0..self.begun(trials)).filter(|&b| !self.spoilt(trials, b) && !self.partial(trials, b)).count() as u32
    }

    /// The last block begun, if it lacks trials: an interrupt has cut it.
    pub fn cut_block(&self, trials: &[TrialRecord]) -> Option<u32> {
        self.begun(trials).checked_sub(1).filter(|&last| self.partial(trials, last))
    }

    /// The block to run next and which one it repeats. An interrupted block is finished first; a spoilt block is
    /// repeated while the allowance lasts.
    pub fn next_block(&self, trials: &[TrialRecord]) -> (u32, Option<u32>) {
        if let Some(cut) = self.cut_block(trials) {
            let repeats = self.rows(trials).find(|t| t.block == cut).and_then(|t| t.repeats_block);
            return (cut, repeats);
        }
        (self.begun(trials), self.block_to_repeat(trials))
    }

    fn block_to_repeat(&self, trials: &[TrialRecord]) -> Option<u32> {
        let begun = self.begun(trials);
        let repeats: Vec<u32> = self.rows(trials).filter_map(|t| t.repeats_block).collect();
        let mut distinct = repeats.clone();
        distinct.dedup();
        let allowance = (f64::from(self.planned_blocks().unwrap_or(begun)) * EXTRA_SHARE).ceil() as usize;
        if distinct.len() >= allowance {
            return None;
        }
        (0..begun).find(|&b| self.spoilt(trials, b) && !repeats.contains(&b))
    }

    /// Takes the time spent on the workload so far: our own analysis and storage between trials count against a budget,
    /// too.
    pub fn elapsed(&mut self, ns: u64) {
        self.elapsed_ns = ns;
    }

    fn trials_ns(&self, trials: &[TrialRecord]) -> u64 {
        trials.iter().filter(|t| t.workload == self.workload).map(|t| t.wall_ns).sum()
    }

    /// Time spent on the workload, set-up and warm-up included, ns.
    fn spent_ns(&self, trials: &[TrialRecord]) -> u64 {
        self.trials_ns(trials).max(self.spent_before_ns + self.elapsed_ns)
    }

    /// What a block takes, from the trials so far, ns.
    fn block_ns(&self, trials: &[TrialRecord]) -> u64 {
        let rows = trials.iter().filter(|t| t.workload == self.workload).count().max(1) as u64;
        self.spent_ns(trials) / rows * self.block_len as u64
    }

    /// How long a block takes and how many blocks the design holds, ns and blocks.
    pub fn forecast(&self, trials: &[TrialRecord]) -> (u64, u32) {
        let block_ns = self.block_ns(trials).max(1);
        let blocks = match self.design {
            Design::Fixed { blocks } => blocks,
            Design::OpenEnded { max_blocks } => max_blocks,
            Design::Budgeted { budget_ns, .. } => (budget_ns.saturating_sub(self.spent_ns(trials)) / block_ns) as u32,
        };
        (block_ns, blocks)
    }

    /// Share of the design's information in hand.
    pub fn fraction(&self, trials: &[TrialRecord]) -> f64 {
        match self.design {
            Design::Fixed { blocks } => f64::from(self.usable_blocks(trials)) / f64::from(blocks.max(1)),
            Design::OpenEnded { max_blocks } => f64::from(self.usable_blocks(trials)) / f64::from(max_blocks.max(1)),
            Design::Budgeted { budget_ns, .. } => (self.spent_ns(trials) as f64 / budget_ns as f64).min(1.0),
        }
    }

    /// The fraction at which a look is due now, if one is. An open-ended design looks after each block.
    pub fn look_due(&self, trials: &[TrialRecord]) -> Option<f64> {
        match self.design {
            Design::Fixed { .. } => None,
            Design::OpenEnded { .. } => Some(self.fraction(trials)),
            Design::Budgeted { .. } => {
                let fraction = self.fraction(trials);
                (fraction < 1.0 && planned_look(&self.design, fraction) > self.last_look).then_some(fraction)
            }
        }
    }

    /// Counts the look at a fraction as taken.
    pub fn took_look(&mut self, fraction: f64) {
        self.last_look = planned_look(&self.design, fraction);
    }

    /// Why no further block is run, if so.
    pub fn stop_before_next_block(&self, trials: &[TrialRecord]) -> Option<Stop> {
        if self.cut_block(trials).is_some() {
            return None;
        }
        let begun = self.begun(trials);
        match self.design {
            Design::Fixed { blocks } => {
                let first_runs = begun - self.repeats(trials);
                (first_runs >= blocks && self.block_to_repeat(trials).is_none()).then_some(Stop::Planned)
            }
            Design::OpenEnded { max_blocks } => (begun >= max_blocks).then_some(Stop::Planned),
            Design::Budgeted { budget_ns, .. } => {
                (self.spent_ns(trials) + self.block_ns(trials) > budget_ns).then_some(Stop::Budget)
            }
        }
    }

    fn repeats(&self, trials: &[TrialRecord]) -> u32 {
        let mut blocks: Vec<u32> = self.rows(trials).filter(|t| t.repeats_block.is_some()).map(|t| t.block).collect();
        blocks.dedup();
        blocks.len() as u32
    }
}

/// The number of the last planned look at or before a fraction of the budget; the looks are evenly spread.
fn planned_look(design: &Design, fraction: f64) -> u32 {
    match design {
        Design::Budgeted { looks, .. } => (fraction * f64::from(*looks)).floor() as u32,
        _ => 0,
    }
}
