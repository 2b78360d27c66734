//! Where trials run. The loop sees only [`Runner`]: this host ([`crate::HostRunner`]), guests ([`crate::guest`]), or a fake for
//! tests.

use anyhow::Result;
use schedlab_run::{Applied, Setting, TrialOrder, TrialOutcome};
use std::time::Duration;

/// A trial that is about to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Index in the manifest.
    pub workload: u32,
    /// Index in the manifest; the control's for a trial of all arms.
    pub arm: u32,
    /// Its place in the block.
    pub position: u32,
    /// As it will be ordered.
    pub order: TrialOrder,
    /// What is to be in force on its whole machine.
    pub settings: Vec<Setting>,
    /// For the trial.
    pub timeout: Duration,
}

/// Runs trials in one place.
///
/// Where nothing else is said, every trial is run by itself, on this machine, and nobody else writes.
pub trait Runner {
    /// Whether it wants to know a block as a whole before the first trial of it.
    fn wants_blocks(&self) -> bool {
        false
    }

    /// These trials come next, in their order. Blocks are numbered from 0, the warm-up; some of the trials may not be asked for.
    fn block(&mut self, _number: u64, _trials: Vec<Planned>) {}

    /// Whether the trial at that position of the block has been run with another already.
    fn has_run(&self, _position: u32) -> bool {
        false
    }

    /// Puts the trial's settings in force, takes back those of the one before, and blocks until the trial has ended. The outer
    /// error is the place's; the inner one, a sentence on why the trial failed, is a row of the run.
    fn run(&mut self, trial: &Planned) -> Result<Result<TrialOutcome, String>>;

    /// What the settings of a trial come to, put in force and taken back without its workload, before anything is measured;
    /// empty where only a trial can tell.
    fn try_settings(&mut self, _trial: &Planned) -> Result<Vec<Applied>> {
        Ok(Vec::new())
    }

    /// Makes settings that trials will change by themselves (a switchback's) restorable, and tries each.
    fn cover(&mut self, _settings: &[Setting]) -> Result<Vec<Applied>> {
        Ok(Vec::new())
    }

    /// Leaves the place as it was found; no trial comes after it.
    fn restore(&mut self) -> Result<()> {
        Ok(())
    }

    /// Settings of ours that somebody else has overwritten.
    fn foreign_changes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The boot that the last trial ran in, where that is not this machine's.
    fn boot_id(&self) -> Option<String> {
        None
    }
}
