//! What the stopping rules need from the rows, updated with each row: counting a hundred thousand rows again after
//! every block would take longer than the block.

use crate::contamination::contaminated;
use schedlab_plan::{Manifest, TrialRecord, TrialStatus};
use std::collections::{BTreeMap, BTreeSet};

/// Trials in a full block.
pub(crate) fn block_len(manifest: &Manifest) -> usize {
    if manifest.switchback_window_ns.is_some() { 1 } else { 2 * manifest.arms.len() }
}

/// The state of one block.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockState {
    /// Number of trials that should have run and are missing (an interrupted block).
    pub(crate) missing: usize,
    /// Whether it contains a contaminated or a failed trial.
    pub(crate) spoilt: bool,
    /// The block it repeats.
    pub(crate) repeats: Option<u32>,
}

/// The state of one workload.
#[derive(Debug, Clone, Default)]
pub(crate) struct OfWorkload {
    /// Its rows, warm-up included.
    pub(crate) rows: u64,
    /// Total time of its rows, ns.
    pub(crate) wall_ns: u64,
    /// Arms that are not applied.
    pub(crate) dropped: BTreeSet<u32>,
    /// Whether any row, even one of a switchback, says that a setting is not in force.
    pub(crate) is_refused: bool,
    /// Each block begun, complete or not, including repeats.
    pub(crate) blocks: Vec<BlockState>,
    /// Block, position and warm-up flag of each row.
    places: BTreeSet<(u32, u32, bool)>,
}

/// The rows of a run, counted.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    workloads: BTreeMap<u32, OfWorkload>,
    none: OfWorkload,
}

impl Tally {
    /// Counts the last row of the list.
    pub(crate) fn add_last(&mut self, manifest: &Manifest, trials: &[TrialRecord]) {
        let Some(last) = trials.last() else { return };
        let of = self.workloads.entry(last.workload).or_default();
        of.rows += 1;
        of.wall_ns += last.wall_ns;
        of.places.insert((last.block, last.position, last.warm_up));
        if matches!(last.status, TrialStatus::NotApplied(_)) {
            of.is_refused = true;
            if last.arm.is_some_and(|arm| of.dropped.insert(arm)) {
                // A block is complete without the arms that are not in force; this changes earlier blocks, too.
                of.blocks.clear();
                let rows = trials.iter().filter(|t| t.workload == last.workload);
                rows.for_each(|row| of.add_to_block(block_len(manifest), row));
                return;
            }
        }
        of.add_to_block(block_len(manifest), last);
    }

    pub(crate) fn of(&self, workload: u32) -> &OfWorkload {
        self.workloads.get(&workload).unwrap_or(&self.none)
    }

    /// The last workload that has rows.
    pub(crate) fn last_workload(&self) -> u32 {
        self.workloads.keys().last().copied().unwrap_or(0)
    }

    /// Whether this row exists.
    pub(crate) fn has(&self, workload: u32, block: u32, position: u32, warm_up: bool) -> bool {
        self.of(workload).places.contains(&(block, position, warm_up))
    }
}

impl OfWorkload {
    fn add_to_block(&mut self, block_len: usize, row: &TrialRecord) {
        if row.warm_up {
            return;
        }
        let wanted = block_len.saturating_sub(2 * self.dropped.len());
        let at = row.block as usize;
        if self.blocks.len() <= at {
            self.blocks.resize(at + 1, BlockState { missing: wanted, ..BlockState::default() });
        }
        let block = &mut self.blocks[at];
        block.spoilt |= contaminated(&row.marks) || matches!(row.status, TrialStatus::Failed(_));
        block.repeats = block.repeats.or(row.repeats_block);
        // Arms that are not in force are left out after their first row.
        if !row.arm.is_some_and(|arm| self.dropped.contains(&arm)) {
            block.missing = block.missing.saturating_sub(1);
        }
    }
}
