//! Findings of particular designs: the main effects of a factorial, how a swept option scales, and the regions along a
//! knob.

use super::{Contrast, Effect};
use serde::Serialize;

/// What a factor does, averaged over the levels of all others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MainEffect {
    /// The factor, an index into [`Findings::factors`](super::Findings::factors).
    pub factor: u32,
    /// The metric.
    pub metric: String,
    /// Arms in which it is low.
    pub low_arms: Vec<u32>,
    /// Arms in which it is high.
    pub high_arms: Vec<u32>,
    /// Two-factor interactions that it is aliased with.
    pub aliases: Vec<String>,
    /// High against low, with the block as unit; `control` and `arm` are the first arms of the two sides.
    pub contrast: Contrast,
}

/// A swept option: the score at each of its values. Descriptive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scaling {
    /// The option, `copies`.
    pub option: String,
    /// The workload without it.
    pub spec: String,
    /// The workloads of the values, as indices; empty for single trials.
    pub workloads: Vec<u32>,
    /// The metric that is the score.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Per arm, and within it per value in the sweep's order.
    pub rows: Vec<ScalingRow>,
}

/// One value of a swept option in one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScalingRow {
    /// The value.
    pub value: String,
    /// The arm.
    pub arm: u32,
    /// Trials it rests on.
    pub n: usize,
    /// Median of the metric over the trials.
    pub score: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Spread over runs: standard deviation ÷ mean of the trials; `None` for one.
    pub spread: Option<f64>,
    /// Score ÷ (first value's score × value ÷ first value): 1 is linear. Only for rates over numbers; `level` 0 is a
    /// single trial, without an interval.
    pub linearity: Option<Effect>,
    /// Jain's fairness index over the copies, median over the trials: 1 is fair.
    pub fairness: Option<f64>,
    /// Each copy; empty for workloads without pairs.
    pub copies: Vec<CopyRow>,
}

/// One copy of a pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopyRow {
    /// Its number.
    pub copy: u32,
    /// Its operations, median over the trials.
    pub operations: f64,
    /// Share of its operations whose partners were on one CPU, mean over the trials; `None` if not observed.
    pub same_cpu_share: Option<f64>,
    /// Where its partners were last seen, the most frequent first.
    pub places: Vec<LastCpus>,
}

/// Where a pair was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastCpus {
    /// Last CPU of the parent.
    pub parent_cpu: u32,
    /// Last CPU of the child.
    pub child_cpu: u32,
    /// In how many trials.
    pub runs: usize,
}

/// Arms that differ in the value of one setting alone, and the regions of a metric along it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The setting without its value.
    pub knob: String,
    /// The settings that these arms share, as a SPEC.
    pub others: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The values, rising, times with their unit.
    pub values: Vec<String>,
    /// Their arms.
    pub arms: Vec<u32>,
    /// One or more; points are indices into `values`.
    pub regions: Vec<CurveRegion>,
    /// One fewer.
    pub boundaries: Vec<RegionBoundary>,
}

/// What arms gain in one question and lose in another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tradeoff {
    /// The primary metrics that have a better and a worse, of all workloads.
    pub objectives: Vec<TradeoffObjective>,
    /// The Pareto front by the estimates: arms that no other beats in all objectives, those with most of the first one first. The
    /// control is on it where nothing beats it.
    pub front: Vec<u32>,
    /// Arms that have an estimate for each objective, the control among them.
    pub compared: usize,
}

/// A metric of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TradeoffObjective {
    /// The workload.
    pub workload: u32,
    /// Its metric.
    pub metric: String,
}

/// A stretch of a curve with one line and one spread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurveRegion {
    /// Its first point.
    pub first: usize,
    /// Its last point.
    pub last: usize,
    /// Geometric mean of the metric.
    pub level: f64,
    /// The course of the metric in it.
    pub trend: Trend,
    /// Standard deviation of a block's logarithm around the line: 0.05 is 5 %.
    pub spread: f64,
    /// Voluntary and involuntary switches of an operation, means; `None` where they were not counted.
    pub switches_per_op: [Option<f64>; 2],
}

/// What a line does, by the interval of its slope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Trend {
    Rises,
    Falls,
    Level,
}

/// Between two regions: in the gap after a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegionBoundary {
    /// The point before the gap that fits best.
    pub after: usize,
    /// The point before the first gap that the data do not reject.
    pub earliest: usize,
    /// The point before the last one.
    pub latest: usize,
    /// The metric in the later region against the earlier one.
    pub change: Option<Effect>,
    /// The spread around the line, the same way.
    pub spread: Option<Effect>,
    /// Voluntary and involuntary switches per operation, later minus earlier region; `None` where they were not
    /// counted.
    pub switches_per_op: [Option<Effect>; 2],
}

/// The best of the arms, where many were looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestArm {
    /// The metric.
    pub metric: String,
    /// The arm that did best.
    pub arm: u32,
    /// Its contrast to the control, with an interval that allows for the selection; `None` if it is the control.
    pub effect: Option<Effect>,
    /// Arms that may be the best, including this one.
    pub candidates: Vec<u32>,
}

/// An external claim, and what this run says about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatementFindings {
    /// The sentence.
    pub says: String,
    /// The arms that it is about, as in the plan: a name or spans of values.
    pub arms: String,
    /// What is claimed of them, the plan's word: `better`, `rising`, `less-steady`, …
    pub claim: String,
    /// What they are compared with; `None` for a trend and the best.
    pub than: Option<String>,
    /// Whether it holds.
    pub answer: Standing,
    /// The arms against the others: for a trend the last value against the first, for steadiness a ratio of spreads,
    /// for the best the arm that did best against the control.
    pub effect: Option<Effect>,
    /// Why it is not decided, or which arm is best; empty where the effect says all.
    pub reason: String,
}

/// What a run says to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Its interval lies on the side that was claimed.
    Holds,
    /// An effect of interest on that side is excluded.
    DoesNotHold,
    /// Neither.
    NotDecided,
}
