//! A comparison of one metric: effect, interval and verdict.

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
