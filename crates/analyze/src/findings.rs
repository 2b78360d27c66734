//! What a comparison found: the one input of every report, and the schema of `--json`.
//!
//! Everything a reader sees is decided here and in the files that fill these types; a report only lays it out. Numbers
//! are finite: what cannot be said is `None` with a reason next to it. Ratios are arm / control, as factors (1.10 is
//! 10 % more), intervals are two-sided at `level`.

mod designs;

pub use designs::*;

use schedlab_run::manifest::Factor;
use schedlab_run::{CheckState, Direction, Tier};
use serde::Serialize;

/// Version of this schema, in [`Findings::schema`].
pub const SCHEMA: u32 = 1;

/// Everything found in one run, or in a pair of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Title for reports.
    pub title: String,
    /// The exact command that made the run; for two runs that of the first.
    pub command: Vec<String>,
    /// One run, or two that were not interleaved.
    pub source: Source,
    /// The claim in sentences, the most important first.
    pub claims: Vec<Claim>,
    /// Why nothing of this run is judged; `None` when verdicts stand.
    pub void: Option<String>,
    /// Why the run ended: `planned`, `decided`, `budget`, `interrupted`, `void: …`; empty for an unfinished run.
    pub ended: String,
    /// The arms; index 0 is the control. Every `arm` index below points here.
    pub arms: Vec<ArmInfo>,
    /// The factors whose levels the arms combine; empty where they are no factorial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
    /// Per workload, in the plan's order.
    pub workloads: Vec<WorkloadFindings>,
    /// Scaling tables of options that were swept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scalings: Vec<Scaling>,
    /// Statistical ground rules of the run, for the methods paragraph.
    pub rules: Rules,
    /// Machine, its checks, and what changed.
    pub environment: EnvironmentFindings,
    /// Anything a reader must know that is not a verdict, complete sentences.
    pub problems: Vec<String>,
}

/// Where the rows came from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Source {
    /// One run directory whose trials are interleaved.
    OneRun,
    /// Rows of somebody else's measurement whose order nobody knows.
    Imported,
    /// Two run directories.
    TwoRuns {
        /// Title of the first, the control side.
        a: String,
        /// Title of the second.
        b: String,
        /// Why the two may not be compared at all (stamping, versions); nothing is computed then.
        refused: Option<String>,
    },
}

/// One sentence with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// `batch makes messaging:5x50 2.8 times faster [2.6, 3.0]: 6 blocks, 95 % interval`.
    pub sentence: String,
    /// The workload it speaks of.
    pub workload: u32,
    /// The arm it speaks of.
    pub arm: u32,
    /// The metric it rests on.
    pub metric: String,
    /// Its verdict.
    pub verdict: Verdict,
}

/// One arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmInfo {
    /// Name in the plan.
    pub name: String,
    /// Settings as a SPEC; empty for the host's default.
    pub spec: String,
    /// Whether its settings are the control's: an A/A control, whose contrast is a noise certificate.
    pub is_aa: bool,
}

/// What may be said of an arm against the control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// The arm beats the control.
    Better,
    /// The control beats the arm.
    Worse,
    /// A neutral metric is surely higher; neither good nor bad.
    Higher,
    /// A neutral metric is surely lower.
    Lower,
    /// Any difference is smaller than the smallest effect of interest.
    Equivalent,
    /// The interval holds both no effect and one that would matter.
    Inconclusive,
    /// Nothing may be said, and why.
    NoVerdict {
        /// What kind of reason it is.
        why: Withheld,
        /// A sentence part that fits after `no verdict: `.
        reason: String,
    },
}

/// Why a verdict is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Withheld {
    /// The run is void.
    Void,
    /// A setting of the arm or of the control did not take: more trials bring nothing.
    NotApplied,
    /// The arms differ in something besides their settings.
    Confounded,
    /// Contaminated trials go with an arm.
    MarksDiffer,
    /// In a switchback the arm of the window before still acts.
    CarryOver,
    /// Fewer units than a verdict needs.
    TooFewUnits,
    /// A sequential design has not looked yet.
    NoLook,
    /// There are no numbers that could be compared.
    NoNumbers,
}

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
    /// Background load beside it, as ordered.
    pub load: Vec<String>,
    /// Per metric, primaries first.
    pub metrics: Vec<MetricFindings>,
    /// Main effects on the primary metrics where the arms are a factorial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub main_effects: Vec<MainEffect>,
    /// Per arm what is not a metric: placement, switches, loads, stamping, failures. Same order as [`Findings::arms`].
    pub arms: Vec<ArmFacts>,
    /// Steadiness of each arm against the control, on the first primary metric; none for switchback trials.
    pub dispersion: Vec<Contrast>,
    /// Modes of the first primary metric per arm; arms with too few trials are absent.
    pub modes: Vec<ModeFindings>,
    /// Split of the change by placement; empty where operations have no tier or only one was seen.
    pub tier_splits: Vec<TierSplit>,
    /// Where the variance of the first primary metric comes from; `None` when it cannot be split.
    pub variance: Option<VarianceSplit>,
    /// The noise certificates: from the A/A arms, or without one from the control's own trials; none below six blocks
    /// then, for switchback trials and for imported rows.
    pub certificates: Vec<NoiseCertificate>,
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
    /// Number of trials the statistics below rest on (used ones).
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
    /// Every trial in time order, also those not used.
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

/// Scale of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// arm / control; no effect is 1.
    Ratio,
    /// arm − control in the metric's unit; no effect is 0. Used where a zero forbids a ratio.
    Difference,
}

/// An effect with its interval, on its scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// The scale of the three numbers.
    pub scale: Scale,
    /// Point estimate.
    pub value: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Nominal coverage, 0.95.
    pub level: f64,
}

/// A second opinion beside the verdict's estimate: never decides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// Its name: `bootstrap`, `unfiltered`, `Hodges–Lehmann`, `20 % trimmed mean`, `Wilcoxon signed rank`, ….
    pub name: String,
    /// The effect; `None` for a bare test.
    pub effect: Option<Effect>,
    /// p of "no effect", where the view has one.
    pub p: Option<f64>,
    /// Observations it rests on.
    pub n: usize,
}

/// An arm against the control on one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contrast {
    /// The arm.
    pub arm: u32,
    /// The control's index.
    pub control: u32,
    /// Whether both have the same settings.
    pub is_aa: bool,
    /// The effect; `None` when there are no numbers for it.
    pub effect: Option<Effect>,
    /// How it was estimated: `t interval on block log-ratios`, `repeated confidence interval on block log-ratios, look 3`,
    /// `t-mixture confidence sequence on …`, `t interval on switchback contrasts`, `paired t on log-ratios of pairs`,
    /// `Welch's t on trials`, or something `descriptive`.
    pub estimator: String,
    /// p of "no effect", valid for the stopping rule.
    pub p: Option<f64>,
    /// p after the correction for many questions.
    pub p_adjusted: Option<f64>,
    /// `Holm over 4 primary contrasts` or `Benjamini–Hochberg over 31 others`.
    pub adjustment: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Independent units used: blocks, switchback trials, pairs or boots.
    pub units: usize,
    /// What a unit is: `blocks`, `switchback trials`, `pairs`, `trials`, `boots`.
    pub unit_name: String,
    /// The log-ratio (or difference) of each unit, in time order; an outlier is seen here.
    pub unit_effects: Vec<UnitEffect>,
    /// More units that would bring a verdict if things stay as estimated; `None` when decided or unknowable.
    pub more_units: Option<usize>,
    /// Smallest effect found with 80 % power by this many units, as a share (0.03 is 3 %).
    pub minimum_detectable: Option<f64>,
    /// Second opinions.
    pub views: Vec<View>,
    /// Anything odd, complete sentences: carry-over, outliers.
    pub notes: Vec<String>,
}

/// The effect in one unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitEffect {
    /// Block (or trial, pair, boot) number.
    pub unit: u64,
    /// Effect on the contrast's scale (ratio or difference).
    pub value: f64,
    /// Whether it is far from the others (beyond 3.5 robust SDs): shown, never dropped.
    pub far_out: bool,
}

/// What one arm did besides its metrics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmFacts {
    /// The arm.
    pub arm: u32,
    /// Trials that were measured and used.
    pub used: usize,
    /// Failed trials with their reasons, each reason once with its count.
    pub failed: Vec<Reason>,
    /// Trials whose setting did not take, likewise: this arm never gets a verdict.
    pub not_applied: Vec<Reason>,
    /// What was in force by read-back, `slice=3000000 ns`; each distinct answer once.
    pub effective: Vec<String>,
    /// Switches, migrations, run delay per operation: medians over trials.
    pub per_operation: Vec<PerOperation>,
    /// Share of operations by tier, over all used trials; empty when unknown.
    pub tiers: Vec<TierShare>,
    /// Background loads: achieved share of the CPU time asked for.
    pub loads: Vec<LoadAchieved>,
    /// Stamping cost, median over trials as a share of run time; `None` when nothing was stamped.
    pub stamping_cost_share: Option<f64>,
    /// Stamped every how many operations, as in the first trial.
    pub stamped_every: u64,
    /// Merged distributions of all used trials, for pictures (samples of several trials: never n).
    pub distributions: Vec<Distribution>,
    /// Distinct notes of the trials with counts, such as `overloaded`.
    pub notes: Vec<Reason>,
    /// Task groups of the herd and of the load beside it as first seen: `autogroup | cgroup`.
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
    /// Share between blocks.
    pub block_share: f64,
    /// Share between trials of a block and arm.
    pub trial_share: f64,
    /// Of the total, what placement explains (association); `None` when unknown or constant.
    pub tier_explained: Option<f64>,
    /// Of the total, what steal explains; `None` when there was none.
    pub steal_explained: Option<f64>,
}

/// What a noise certificate compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Equals {
    /// An arm with the control's settings, blocks of both: drift cancels as in every other contrast.
    AaArm,
    /// The control's first and second trial of each mirrored block, in a run without such an arm. One trial against one
    /// (1.4 times as noisy as the two against two of a verdict), and drift within the block does not cancel.
    ControlTwice,
}

/// What things that are equal by design say of the noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoiseCertificate {
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
    /// The noise floor: the larger end of the interval as a share (0.01 is 1 %): smaller effects are not believable here.
    pub noise_floor: Option<f64>,
    /// In words.
    pub sentence: String,
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
    /// Units a verdict needs on each side; `None` when no number helps (two machines).
    pub units_needed: Option<usize>,
    /// In words, with what to do.
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
    /// In a contaminated block that was repeated.
    pub contaminated: usize,
    /// In a block that was never completed.
    pub incomplete: usize,
}

/// The rules of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rules {
    /// Smallest effect of interest, a share.
    pub sesoi: f64,
    /// Two-sided error rate.
    pub alpha: f64,
    /// The design in words: `budgeted: 60 s per workload, 5 looks`.
    pub design: String,
    /// Stamping level in words.
    pub stamping: String,
    /// Seed of all coins.
    pub seed: u64,
    /// How the verdicts were made, for the methods paragraph.
    pub methods: Vec<String>,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnvironmentFindings {
    /// `(name, value)` in print order: host, kernel, CPU, …
    pub facts: Vec<(String, String)>,
    /// The checks at the start.
    pub checks: Vec<CheckRow>,
    /// What changed between start and end of the run, or between two runs.
    pub changes: Vec<Change>,
    /// The manifest's warnings.
    pub warnings: Vec<String>,
}

/// A check as in doctor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckRow {
    /// Stable id.
    pub id: String,
    /// Title.
    pub title: String,
    /// How it came out.
    pub state: CheckState,
    /// Value.
    pub value: String,
    /// What it does to results.
    pub effect: String,
    /// Where the value was read.
    pub evidence: String,
    /// What to do.
    pub mend: String,
}

/// A difference between two environments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What, as in a check's id.
    pub what: String,
    /// Before, or in run A.
    pub before: String,
    /// After, or in run B.
    pub after: String,
}
