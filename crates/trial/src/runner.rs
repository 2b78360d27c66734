//! Where trials run. The loop knows only [`Runner`]: this host ([`crate::HostRunner`]), guests ([`crate::guest`]), or a
//! fake for tests.

use anyhow::Result;
use schedlab_plan::{Applied, Setting, TrialOrder, TrialOutcome};
use std::time::Duration;

/// A trial that is about to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Index in the manifest.
    pub workload: u32,
    /// Index in the manifest; the control's for a trial that contains all arms.
    pub arm: u32,
    /// Its place in the block.
    pub position: u32,
    /// The order as it will be sent.
    pub order: TrialOrder,
    /// Settings to be in force on its whole machine.
    pub settings: Vec<Setting>,
    /// Time limit of the trial.
    pub timeout: Duration,
    /// Whether an interrupted run has it already.
    pub is_recorded: bool,
}

/// Runs trials in one place.
///
/// Defaults: every trial runs by itself, on this machine, and nobody else changes settings.
pub trait Runner {
    /// These trials come next, in this order. Blocks are numbered from 0, the warm-up; some of the trials may never be
    /// requested, such as those that are recorded.
    fn block(&mut self, _number: u64, _trials: Vec<Planned>) {}

    /// Whether the trial at that position of the block has already been run together with another.
    fn has_run(&self, _position: u32) -> bool {
        false
    }

    /// Applies the trial's settings, undoes those of the trial before, and waits until the trial has ended. The outer
    /// error is that of the place; the inner one, a sentence on why the trial failed, becomes a row of the run.
    fn run(&mut self, trial: &Planned) -> Result<Result<TrialOutcome, String>>;

    /// Applies the settings of a trial without its workload and undoes them, before anything is measured; returns what
    /// came of each. Empty if only a trial can show it.
    fn try_settings(&mut self, _trial: &Planned) -> Result<Vec<Applied>> {
        Ok(Vec::new())
    }

    /// Journals settings that trials will change by themselves (those of a switchback), so that they can be restored,
    /// and tries each.
    fn cover(&mut self, _settings: &[Setting]) -> Result<Vec<Applied>> {
        Ok(Vec::new())
    }

    /// Restores the place; no trial follows.
    fn restore(&mut self) -> Result<()> {
        Ok(())
    }

    /// Settings of ours that another process has overwritten.
    fn foreign_changes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The last trial's equal share of the time that several trials side by side took, ns; `None` if it ran alone.
    fn share_ns(&self) -> Option<u64> {
        None
    }

    /// The boot that the last trial ran in, if it was not this machine's.
    fn boot_id(&self) -> Option<String> {
        None
    }
}
