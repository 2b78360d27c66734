//! One workload: its metrics, the values of each arm, and how its trials were chosen.

use super::{
    AaComparison, ArmFacts, BestArm, Contrast, Curve, MainEffect, ModeFindings, StatementFindings, TierSplit,
    VarianceSplit,
};
use schedlab_plan::Direction;
use serde::Serialize;

/// Everything about one workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadFindings {
    /// Index in the manifest.
    pub workload: u32,
    /// The spec as run, `messaging:5x50,groups=2`.
    pub spec: String,
    /// Versioned id, `messaging/1`.
    pub id: String,
    /// What an operation is, `message`; empty when no trial succeeded.
    pub operation: String,
    /// Background load, as in the plan.
    pub load: Vec<String>,
    /// Per metric, primaries first.
    pub metrics: Vec<MetricFindings>,
    /// Where the first primary metric changes along a setting; empty without six values of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// The best of all arms by the first primary metric, where arms make curves; `None` below six units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<BestArm>,
    /// Published statements about the arms, tested with the first primary metric: the plan's `[[statement]]` tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<StatementFindings>,
    /// Main effects on the primary metrics where the arms are a factorial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub main_effects: Vec<MainEffect>,
    /// Per arm what is not a metric: placement, switches, loads, stamping, failures. Same order as
    /// [`Findings::arms`](super::Findings::arms).
    pub arms: Vec<ArmFacts>,
    /// Steadiness of each arm against the control, on the first primary metric; none for switchback trials.
    pub dispersion: Vec<Contrast>,
    /// Modes of the first primary metric per arm; arms with too few trials are absent.
    pub modes: Vec<ModeFindings>,
    /// Split of the change by placement; empty where operations have no tier or only one was seen.
    pub tier_splits: Vec<TierSplit>,
    /// Where the variance of the first primary metric comes from; `None` when it cannot be split.
    pub variance: Option<VarianceSplit>,
    /// The A/A comparisons: from the A/A arms, or without one from the control's own trials; none below six blocks
    /// then, for switchback trials and for imported rows.
    pub aa_comparisons: Vec<AaComparison>,
    /// Trials cut as warm-up.
    pub warm_up: WarmUp,
    /// Marked blocks and their repeats.
    pub contamination: Contamination,
    /// Confounding by boot, kernel, host, day or run; `None` when arms are interleaved within every unit.
    pub confounded: Option<Confounded>,
    /// Trials by state.
    pub counts: TrialCounts,
}

/// What a metric is to the multiplicity correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Judged by Holm with all primaries of the run.
    Primary,
    /// Judged by Benjamini–Hochberg with all the rest.
    Secondary,
}

/// One metric over all arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricFindings {
    /// Such as `time_s`, `latency_p99_ns`.
    pub name: String,
    /// Such as `s`, `ns`, `1/op`.
    pub unit: String,
    /// Which way is good.
    pub direction: Direction,
    /// Primary or not.
    pub role: Role,
    /// Values per arm, in the arms' order; an arm without any has an empty list.
    pub values: Vec<ArmValues>,
    /// One per arm other than the control, in the arms' order.
    pub contrasts: Vec<Contrast>,
    /// Why it has no numbers or no verdict although it was asked for (`too few tail samples: …`).
    pub note: Option<String>,
}

/// The values of one metric in one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmValues {
    /// The arm.
    pub arm: u32,
    /// Number of trials the statistics below rest on: the used ones, or none where some have too few operations for it.
    pub n: usize,
    /// Median; `None` when n is 0.
    pub median: Option<f64>,
    /// Geometric mean; `None` when a value is zero or negative.
    pub geometric_mean: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Every trial in time order, also those not used; of a secondary metric none where the workload has more than 20
    /// 000 trials (their values are in the table of metrics).
    pub trials: Vec<TrialValue>,
}

/// One trial's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialValue {
    /// Running number in the run.
    pub trial: u64,
    /// Block.
    pub block: u32,
    /// Position in the block.
    pub position: u32,
    /// The value.
    pub value: f64,
    /// Whether it enters the verdict.
    pub used: bool,
    /// Why not, or what is odd about it: `warm-up`, `steal 2.1 %, block repeated`, `far out: 6.2 robust SDs`.
    pub note: Option<String>,
}

/// The warm-up cut, blind to the arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WarmUp {
    /// Trials flagged as warm-up by the loop.
    pub flagged: usize,
    /// Blocks cut from the front because the pooled trials had not settled.
    pub blocks_cut: usize,
    /// Trials in those blocks.
    pub trials_cut: usize,
    /// In words.
    pub sentence: String,
}

/// Marked blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contamination {
    /// Blocks with a marked trial.
    pub blocks: Vec<MarkedBlock>,
    /// Marked trials per arm, of how many, in the arms' order.
    pub per_arm: Vec<(usize, usize)>,
    /// In words; empty when nothing was marked.
    pub sentence: String,
}

/// A block with a mark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MarkedBlock {
    /// Block number.
    pub block: u32,
    /// What was seen, `steal 2.1 %`.
    pub what: String,
    /// The block that repeats it; without one it stays in the verdict.
    pub repeated_by: Option<u32>,
}

/// Arms that differ in something besides their settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confounded {
    /// `boot`, `kernel`, `host`, `day`, `run`.
    pub level: String,
    /// Units of that level on the control's side.
    pub units_control: usize,
    /// Units on the other side.
    pub units_arm: usize,
    /// Units that a verdict needs on each side; `None` if no number is enough (two machines).
    pub units_needed: Option<usize>,
    /// In words, with the fix.
    pub sentence: String,
}

/// Trials of a workload by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TrialCounts {
    /// All rows.
    pub total: usize,
    /// In the verdict.
    pub used: usize,
    /// Flagged or cut as warm-up.
    pub warm_up: usize,
    /// Failed.
    pub failed: usize,
    /// A setting did not take.
    pub not_applied: usize,
    /// In a disturbed block that was repeated.
    pub contaminated: usize,
    /// In a block that was never completed.
    pub incomplete: usize,
}
