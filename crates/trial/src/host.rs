//! What the trial loop asks of the host's guard.

use anyhow::Result;
use schedlab_run::{Applied, Setting};
use std::path::PathBuf;

/// Puts host-wide settings in force and takes them back.
///
/// Where nothing else is said, there are no cgroups and nobody else writes.
pub trait HostSettings {
    /// Makes settings that trials will change by themselves (a switchback's) restorable, and tries each.
    fn cover(&mut self, settings: &[Setting]) -> Result<Vec<Applied>>;
    /// Moves from the settings in force to these; what is no longer named returns to its original value.
    fn apply(&mut self, settings: &[Setting]) -> Result<Vec<Applied>>;
    /// Files the trial process writes its pid to.
    fn cgroup_procs(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Makes cgroups of these names for one trial's tasks and answers their `cgroup.procs`; the inner error says why
    /// there can be none here.
    fn make_trial_cgroups(&mut self, _names: &[&str]) -> Result<Result<Vec<PathBuf>, String>> {
        Ok(Ok(Vec::new()))
    }
    /// Removes them: the trial has ended.
    fn remove_trial_cgroups(&mut self) -> Result<()> {
        Ok(())
    }
    /// Settings of ours that somebody else has overwritten.
    fn foreign_changes(&self) -> Vec<String> {
        Vec::new()
    }
}
