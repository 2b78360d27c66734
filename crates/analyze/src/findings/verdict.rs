//! A comparison of one metric: effect, interval and verdict.

use schedlab_plan::noun;
use serde::Serialize;

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

impl Verdict {
    /// Whether the arm and the control differ, for better or worse.
    pub fn is_difference(&self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Higher | Self::Lower)
    }

    /// Whether the question has no answer.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Inconclusive | Self::NoVerdict { .. })
    }
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
    /// Failed trials, or switchback windows that began too late, go with an arm.
    LossesDiffer,
    /// In a switchback the arm of the window before still acts.
    CarryOver,
    /// Fewer units than a verdict needs.
    TooFewUnits,
    /// A sequential design has not looked yet.
    NoLook,
    /// A count that does not follow the operations, or too small a one: divided by them it is no rate.
    NotPerOperation,
    /// A count of the whole machine, among the exploratory metrics: what else ran is in it.
    OfMachine,
    /// There are no numbers that could be compared.
    NoNumbers,
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
    /// How it was estimated: `t interval on block log-ratios`, `repeated confidence interval on block log-ratios, look
    /// 3`, `t-mixture confidence sequence on …`, `t interval on switchback contrasts`, `paired t on log-ratios of
    /// pairs`, `Welch's t on trials`, or something `descriptive`.
    pub estimator: String,
    /// Its interval is that of a confidence sequence, valid whenever the run is stopped; in words in `estimator`.
    #[serde(skip)]
    pub is_sequence: bool,
    /// p of "no effect", valid for the stopping rule.
    pub p: Option<f64>,
    /// p after the correction for many questions.
    pub p_adjusted: Option<f64>,
    /// The p below which this is a difference: the error rate after the correction, given the other questions.
    pub p_needed: Option<f64>,
    /// `Holm over 4 primary contrasts` or `Benjamini–Hochberg over 31 others`.
    pub adjustment: String,
    /// It is the only primary question of its family, so that nothing was corrected; in words in `adjustment`.
    #[serde(skip)]
    pub is_alone: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// Independent units used: blocks, switchback trials, pairs or boots.
    pub units: usize,
    /// What a unit is: `blocks`, `switchback trials`, `pairs`, `trials`, `boots`.
    pub unit_name: String,
    /// Both arms are in each trial, as in switchback trials.
    #[serde(skip)]
    pub shares_trials: bool,
    /// The log-ratio (or difference) of each unit, in time order; an outlier is seen here.
    pub unit_effects: Vec<UnitEffect>,
    /// More units that would decide an effect as large as the one estimated; `None` when decided or unknowable.
    pub more_units: Option<MoreUnits>,
    /// The noise, for primary metrics; `None` without a verdict.
    pub noise: Option<Noise>,
    /// Second opinions.
    pub views: Vec<View>,
    /// Anything odd, complete sentences: carry-over, outliers.
    pub notes: Vec<String>,
}

/// A forecast: more units that decide an effect of the size estimated four times in five. The ends are those of the 80
/// % interval of the units' variance; nothing is said from fewer units than a verdict needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MoreUnits {
    /// With the smallest variance compatible with the data; `None`: more than `limit`, out of reach.
    pub least: Option<usize>,
    /// With the largest variance compatible with the data; `None`: more than `limit`.
    pub most: Option<usize>,
    /// Ten times the present number of units; no number beyond it is given.
    pub limit: usize,
}

impl MoreUnits {
    /// `4 to 22 more blocks`, or `None` if no number is within reach.
    pub fn range(&self, unit_name: &str) -> Option<String> {
        Some(match (self.least?, self.most) {
            (least, Some(most)) if least == most => format!("about {least} more {}", noun(least, unit_name)),
            (least, Some(most)) => format!("{least} to {most} more {unit_name}"),
            (least, None) => format!("{least} to over {} more {unit_name}", self.limit),
        })
    }

    /// The forecast as part of a sentence.
    pub fn in_words(&self, unit_name: &str) -> String {
        match self.range(unit_name) {
            Some(range) => format!("{range} would decide an effect of this size"),
            None => format!(
                "an effect of this size is not within reach of this budget: it takes over {} more {unit_name}",
                self.limit
            ),
        }
    }
}

/// The noise of a comparison in the verdict's own terms: estimates beyond `smallest` are a difference and others are
/// none, by the same units, spread, stopping rule and correction as the verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Noise {
    /// The scale of `smallest`.
    pub scale: Scale,
    /// The smallest estimate that would have been distinguished from no effect: a factor above 1 (or its reciprocal),
    /// or a difference either way in the metric's unit.
    pub smallest: f64,
    /// In words.
    pub sentence: String,
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
