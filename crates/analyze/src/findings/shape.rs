//! Distributions, modes, tiers, variance and the A/A comparison.

use super::{Effect, TierShare};
use schedlab_plan::Tier;
use serde::Serialize;

/// A merged distribution of an arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distribution {
    /// Histogram name, `latency`.
    pub name: String,
    /// Samples.
    pub count: u64,
    /// `(value in ns, share of samples at or below)`, rising, at most 200 points.
    pub cdf: Vec<(f64, f64)>,
    /// Exact smallest, ns.
    pub min_ns: u64,
    /// Exact largest, ns.
    pub max_ns: u64,
}

/// Modes of an arm's trial values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeFindings {
    /// The arm.
    pub arm: u32,
    /// The metric.
    pub metric: String,
    /// Number of modes found, 1 or 2.
    pub k: usize,
    /// p of "one mode".
    pub p: f64,
    /// Value that separates the two.
    pub split: Option<f64>,
    /// The modes, lowest first.
    pub modes: Vec<Mode>,
    /// `one mode`, `two modes: 30 % of trials near 1.2 s, …`.
    pub sentence: String,
}

/// One mode with where its trials ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mode {
    /// Centre, in the metric's unit.
    pub center: f64,
    /// Share of trials.
    pub share: f64,
    /// Placement signature: tier shares over the trials of this mode.
    pub tiers: Vec<TierShare>,
}

/// Change of shares + change within tiers = total, of mean latency (ns per operation), arm − control.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TierSplit {
    /// The arm.
    pub arm: u32,
    /// Histogram the means are taken from.
    pub histogram: String,
    /// Part explained by the change of placement, ns.
    pub between_shares_ns: f64,
    /// Part explained by changes within tiers, ns.
    pub within_ns: f64,
    /// Total change of the mean, ns.
    pub total_ns: f64,
    /// Per tier: share and mean in both.
    pub tiers: Vec<TierRow>,
    /// Whether both arms pin (or force) placement, so that the within part may be read as an effect.
    pub pinned: bool,
    /// How to read it, a sentence.
    pub note: String,
}

/// A tier in both arms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TierRow {
    /// The tier.
    pub tier: Tier,
    /// Share of operations in the control.
    pub control_share: f64,
    /// Share in the arm.
    pub arm_share: f64,
    /// Mean in the control, ns.
    pub control_mean_ns: Option<f64>,
    /// Mean in the arm, ns.
    pub arm_mean_ns: Option<f64>,
}

/// Shares of the variance of log-values of the first primary metric, arm means removed; they sum to 1 with `trial`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VarianceSplit {
    /// The metric.
    pub metric: String,
    /// SD of a trial's log-value (0.02 is about 2 %).
    pub trial_sd: f64,
    /// Share between boots, where blocks share boots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_share: Option<f64>,
    /// Share between blocks; of one boot, where they share boots.
    pub block_share: f64,
    /// Share between trials of a block and arm.
    pub trial_share: f64,
    /// Share of the total that placement explains (an association); `None` if unknown or constant.
    pub tier_explained: Option<f64>,
    /// Share of the total that steal explains; `None` if there was none.
    pub steal_explained: Option<f64>,
}

/// What an A/A comparison compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Equals {
    /// An arm with the control's settings, blocks of both: drift cancels as in every other contrast.
    AaArm,
    /// The control's first and second trial of each mirrored block, in a run without such an arm. One trial against one
    /// (1.4 times as noisy as the two against two of a verdict), and drift within the block does not cancel.
    ControlTwice,
}

/// How far apart things that are equal by design were measured: an estimate with its interval, which should hold no
/// effect. It is of other trials than a verdict and bounds none: what a verdict's own noise is says
/// [`Noise`](super::Noise).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AaComparison {
    /// What was compared.
    pub equals: Equals,
    /// The A/A arm, or the control.
    pub arm: u32,
    /// The metric.
    pub metric: String,
    /// Blocks it rests on.
    pub units: usize,
    /// Effect between the two.
    pub effect: Option<Effect>,
    /// Whether the interval includes no effect.
    pub includes_no_effect: bool,
    /// In words.
    pub sentence: String,
}
