//! What the scheduler did in each arm: counts, placement, background loads. Not judged.

use super::Distribution;
use schedlab_plan::Tier;
use serde::Serialize;

/// What one arm did besides its metrics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmFacts {
    /// The arm.
    pub arm: u32,
    /// Trials that were measured and used.
    pub used: usize,
    /// Failed trials with their reasons, each reason once with its count.
    pub failed: Vec<Reason>,
    /// Trials whose setting did not take effect, likewise: this arm never gets a verdict.
    pub not_applied: Vec<Reason>,
    /// Settings as read back, `slice=3000000 ns`; each distinct value once.
    pub effective: Vec<String>,
    /// Switches, migrations, run delay per operation: medians over trials.
    pub per_operation: Vec<PerOperation>,
    /// Share of operations by tier, over all used trials; empty when unknown.
    pub tiers: Vec<TierShare>,
    /// Background loads: share of the requested CPU time that they got.
    pub loads: Vec<LoadAchieved>,
    /// Stamping cost, median over trials as a share of run time; `None` when nothing was stamped.
    pub stamping_cost_share: Option<f64>,
    /// Stamped every how many operations, as in the first trial.
    pub stamped_every: u64,
    /// Merged distributions of all used trials, for pictures (samples of several trials: never n).
    pub distributions: Vec<Distribution>,
    /// Distinct notes of the trials with counts, such as `overloaded`.
    pub notes: Vec<Reason>,
    /// Task groups of the workload's tasks and of the load as first seen: `autogroup | cgroup`.
    pub groups: Vec<String>,
    /// Native lines of the first used trial, such as hackbench's `Time:`.
    pub native_lines: Vec<String>,
}

/// A text and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The text.
    pub text: String,
    /// Times.
    pub count: usize,
}

/// A counter per operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PerOperation {
    /// Counter name, such as `voluntary_switches`.
    pub name: String,
    /// Median over trials; `None` when not counted.
    pub median: Option<f64>,
    /// Why it is not counted.
    pub not_counted: Option<String>,
}

/// Share of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TierShare {
    /// The tier.
    pub tier: Tier,
    /// Share of operations, 0…1.
    pub share: f64,
}

/// What a load got, and of what it asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadAchieved {
    /// The load.
    pub spec: String,
    /// Median of the CPU time it used in a trial, s.
    pub cpu_s: f64,
    /// Median of achieved / asked CPU time; `None` for a command, which asks for no share.
    pub achieved_share: Option<f64>,
    /// Trials in which it died early.
    pub died: usize,
}
