//! When a workload has been measured enough: after a fixed number of blocks, within a time budget with interim looks,
//! or when a confidence sequence decides. All of it is derived from the rows, so an interrupted run resumes where it
//! was.

use crate::tally::{BlockState, Tally, block_len};
use schedlab_plan::Manifest;
use schedlab_plan::manifest::Design;
use std::collections::BTreeSet;

/// Additional blocks that may repeat contaminated or failed ones, as a share of those planned.
const EXTRA_SHARE: f64 = 0.2;

/// How many of this many blocks are repeated at most.
pub(crate) fn most_repeats(blocks: u32) -> u32 {
    (f64::from(blocks) * EXTRA_SHARE).ceil() as u32
}

/// Why a workload ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// All planned blocks are done.
    Planned,
    /// The evidence is sufficient.
    Decided,
    /// No further block fits the budget.
    Budget,
    /// The user interrupted.
    Interrupted,
    /// The control, or every other arm, could not be applied here.
    NothingToCompare,
    /// The machine changed during the run, or a requirement of the plan was not met.
    Void(String),
}

impl Stop {
    /// The word in the manifest.
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

/// Why the last look ended a workload with a budget, if it did. An earlier process may have been stopped between that
/// look and the next workload's first trial. To look again at what was decided, or beyond the budget, would be an
/// unplanned look.
pub fn ended_by_look(manifest: &Manifest, workload: u32) -> Option<Stop> {
    let last = manifest.looks.iter().rfind(|look| look.workload == workload)?;
    if last.decided {
        return Some(Stop::Decided);
    }
    (last.fraction >= 1.0).then_some(Stop::Budget)
}

/// The progress of a workload through its design.
pub struct Pace {
    workload: u32,
    design: Design,
    /// Trials in a full block.
    block_len: usize,
    /// The last planned look that was taken; looks that came too early for a verdict are skipped.
    last_look: u32,
    /// Time spent on the workload by this process, and by an interrupted run before it, ns.
    elapsed_ns: u64,
    spent_before_ns: u64,
}

impl Pace {
    /// `None` if an earlier run has already finished the workload.
    pub fn new(manifest: &Manifest, workload: u32, tally: &Tally) -> Option<Self> {
        let block_len = block_len(manifest);
        let fractions = manifest.looks.iter().filter(|l| l.workload == workload).map(|l| l.fraction);
        let last_look = planned_look(&manifest.design, fractions.fold(0.0, f64::max));
        let design = manifest.design.clone();
        let spent_before_ns = tally.of(workload).wall_ns;
        let pace = Self { workload, design, block_len, last_look, elapsed_ns: 0, spent_before_ns };
        // Workloads whose blocks are interleaved finish together.
        let groups = manifest.groups();
        let last = groups.iter().find(|group| group.contains(&workload)).and_then(|group| group.iter().max().copied());
        let later = tally.last_workload() > last.unwrap_or(workload);
        // A file torn by a power cut may belong to a workload that was done.
        (!later || !pace.turn(tally).0).then_some(pace)
    }

    /// Planned blocks, if the design fixes their number.
    pub fn planned_blocks(&self) -> Option<u32> {
        match self.design {
            Design::Fixed { blocks } => Some(blocks),
            _ => None,
        }
    }

    /// The state of each block begun, complete or not, repeats included.
    fn blocks<'t>(&self, tally: &'t Tally) -> &'t [BlockState] {
        &tally.of(self.workload).blocks
    }

    /// Number of complete blocks without a spoilt trial.
    pub fn usable_blocks(&self, tally: &Tally) -> u32 {
        self.blocks(tally).iter().filter(|b| !b.spoilt && b.missing == 0).count() as u32
    }

    /// Whether every block begun is complete (an interrupt cuts the last one, an unreadable file any), and how many are
    /// begun: among interleaved workloads the one with the fewest comes next.
    pub fn turn(&self, tally: &Tally) -> (bool, usize) {
        let blocks = self.blocks(tally);
        (first_cut(blocks).is_none(), blocks.len())
    }

    /// The block to run next, and which block it repeats. A cut block is finished first: the arms of its missing trials
    /// were determined by chance, so a late trial adds noise to its block and favours no arm. A spoilt block is
    /// repeated as long as the allowance lasts.
    pub fn next_block(&self, tally: &Tally) -> (u32, Option<u32>) {
        let blocks = self.blocks(tally);
        match first_cut(blocks) {
            Some(at) => (at as u32, blocks[at].repeats),
            None => (blocks.len() as u32, self.block_to_repeat(blocks)),
        }
    }

    fn block_to_repeat(&self, blocks: &[BlockState]) -> Option<u32> {
        let begun = blocks.len() as u32;
        let repeated: BTreeSet<u32> = blocks.iter().filter_map(|b| b.repeats).collect();
        let allowance = most_repeats(self.planned_blocks().unwrap_or(begun));
        if repeated.len() >= allowance as usize {
            return None;
        }
        (0..begun).find(|b| blocks[*b as usize].spoilt && !repeated.contains(b))
    }

    /// Sets the time that this process has spent on the workload: our own analysis and storage between trials count
    /// against a budget, too.
    pub fn set_elapsed(&mut self, ns: u64) {
        self.elapsed_ns = ns;
    }

    /// Time spent on the workload, including set-up and warm-up, ns.
    fn spent_ns(&self, tally: &Tally) -> u64 {
        tally.of(self.workload).wall_ns.max(self.spent_before_ns + self.elapsed_ns)
    }

    /// How long a block takes, from the trials so far, ns.
    fn block_ns(&self, tally: &Tally) -> u64 {
        let rows = tally.of(self.workload).rows.max(1);
        self.spent_ns(tally) / rows * self.block_len as u64
    }

    /// How long a block takes, ns, and the number of blocks in the design.
    pub fn forecast(&self, tally: &Tally) -> (u64, u32) {
        let block_ns = self.block_ns(tally).max(1);
        let blocks = match self.design {
            Design::Fixed { blocks } => blocks,
            Design::OpenEnded { max_blocks } => max_blocks,
            Design::Budgeted { budget_ns, .. } => (budget_ns.saturating_sub(self.spent_ns(tally)) / block_ns) as u32,
        };
        (block_ns, blocks)
    }

    /// Share of the design's information that is available.
    pub fn fraction(&self, tally: &Tally) -> f64 {
        match self.design {
            Design::Fixed { blocks } => f64::from(self.usable_blocks(tally)) / f64::from(blocks.max(1)),
            Design::OpenEnded { max_blocks } => f64::from(self.usable_blocks(tally)) / f64::from(max_blocks.max(1)),
            Design::Budgeted { budget_ns, .. } => (self.spent_ns(tally) as f64 / budget_ns as f64).min(1.0),
        }
    }

    /// The fraction at which a look is due now, if there is one.
    pub fn look_due(&self, tally: &Tally) -> Option<f64> {
        match self.design {
            Design::Fixed { .. } => None,
            Design::OpenEnded { .. } => open_look(self.usable_blocks(tally)).then(|| self.fraction(tally)),
            Design::Budgeted { .. } => {
                let fraction = self.fraction(tally);
                (fraction < 1.0 && planned_look(&self.design, fraction) > self.last_look).then_some(fraction)
            }
        }
    }

    /// Records that the look at a fraction was taken.
    pub fn took_look(&mut self, fraction: f64) {
        self.last_look = planned_look(&self.design, fraction);
    }

    /// Why no further block is run, if none is.
    pub fn stop_before_next_block(&self, tally: &Tally) -> Option<Stop> {
        let begun = self.blocks(tally);
        if first_cut(begun).is_some() {
            return None;
        }
        match self.design {
            Design::Fixed { blocks } => {
                let first_runs = begun.iter().filter(|b| b.repeats.is_none()).count();
                (first_runs >= blocks as usize && self.block_to_repeat(begun).is_none()).then_some(Stop::Planned)
            }
            Design::OpenEnded { max_blocks } => (begun.len() >= max_blocks as usize).then_some(Stop::Planned),
            Design::Budgeted { budget_ns, .. } => {
                (self.spent_ns(tally) + self.block_ns(tally) > budget_ns).then_some(Stop::Budget)
            }
        }
    }
}

/// The first block that lacks trials.
fn first_cut(blocks: &[BlockState]) -> Option<usize> {
    blocks.iter().position(|block| block.missing > 0)
}

/// Whether an open-ended design looks after this many blocks: after each of the first 127, then each time their number
/// has grown by a 64th to a 32nd. A look reads all rows, and the confidence sequence is valid at whichever blocks it is
/// looked at.
fn open_look(blocks: u32) -> bool {
    blocks.is_multiple_of((blocks / 64).next_power_of_two())
}

/// The number of the last planned look at or before a fraction of the budget; the looks are evenly spaced.
fn planned_look(design: &Design, fraction: f64) -> u32 {
    match design {
        Design::Budgeted { looks, .. } => (fraction * f64::from(*looks)).floor() as u32,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::open_look;

    #[test]
    fn an_open_ended_design_reads_a_row_a_bounded_number_of_times() {
        assert!((0..128).all(open_look));
        let looks: Vec<u32> = (1..=25_000).filter(|&blocks| open_look(blocks)).collect();
        let read: u64 = looks.iter().map(|&blocks| u64::from(blocks)).sum();
        assert!(read < 128 * 25_000, "{read} blocks read");
        let late = looks.windows(2).map(|two| f64::from(two[1] - two[0]) / f64::from(two[0].max(64)));
        assert!(late.fold(0.0, f64::max) <= 1.0 / 32.0, "a look is at most a 32nd late");
    }
}
