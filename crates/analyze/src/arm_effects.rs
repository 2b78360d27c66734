//! What a study in rounds uses of a run: for each arm and each primary metric, the effect of every independent unit,
//! from the same estimator as the verdict, but without a verdict. A study pools these effects over its rounds and
//! judges them itself.

use crate::compare::void_reason;
use crate::contrasts::{self, Units, mean};
use crate::findings::{Role, Scale};
use crate::metric::{MetricKey, primary_names};
use crate::workload::Workload;
use schedlab_plan::manifest::OrderKnown;
use schedlab_plan::{Direction, Manifest, TrialRecord, TrialStatus};

/// An arm against the control on one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmEffects {
    /// Index in the manifest, above 0.
    pub arm: u32,
    /// The metric's name.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is better.
    pub direction: Direction,
    /// Whether `effects` are ln(arm/control) or arm − control in `unit`.
    pub scale: Scale,
    /// What a unit is, plural: `blocks`, `boots`, `switchback trials`.
    pub unit_name: &'static str,
    /// Number of the unit in its run and its effect.
    pub effects: Vec<(u64, f64)>,
    /// Mean of the control over all its trials, in `unit`: geometric on the ratio scale.
    pub control_mean: f64,
    /// The same for the arm.
    pub arm_mean: f64,
    /// Why there are no effects: an arm could not be applied, its trials failed, or the metric has no number.
    pub lacking: Option<Lacking>,
}

/// Why an arm has no effects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// Its index; if it is 0, the control, then no other arm has an effect either.
    pub arm: u32,
    /// In words.
    pub why: String,
}

impl ArmEffects {
    /// The effects with the sign that makes larger ones better.
    pub fn gains(&self) -> impl Iterator<Item = f64> + '_ {
        let sign = if self.direction == Direction::HigherIsBetter { 1.0 } else { -1.0 };
        self.effects.iter().map(move |(_, effect)| sign * effect)
    }
}

/// The effects of all arms except the control on the primary metrics of one workload, metric by metric; an error if the
/// run is void.
pub fn arm_effects(manifest: &Manifest, trials: &[TrialRecord], workload: u32) -> Result<Vec<ArmEffects>, String> {
    let part = match void_reason(manifest, trials) {
        Some(why) => return Err(why),
        None => Workload::new(manifest, trials, workload, None),
    };
    let primaries: Vec<&MetricKey> = part.keys.iter().filter(|key| key.role == Role::Primary).collect();
    if primaries.is_empty() {
        // No trial has an outcome, so only the metric's name is known, from the plan.
        let names = primary_names(manifest, workload, None);
        let unmeasured = |name: String| MetricKey {
            name,
            unit: String::new(),
            direction: Direction::HigherIsBetter,
            role: Role::Primary,
            quantile: None,
            undivided: false,
        };
        let keys: Vec<MetricKey> = names.into_iter().map(unmeasured).collect();
        return Ok(keys.iter().flat_map(|key| part.others().map(|arm| of_arm(&part, key, arm))).collect());
    }
    Ok(primaries.into_iter().flat_map(|key| part.others().map(|arm| of_arm(&part, key, arm))).collect())
}

fn of_arm(part: &Workload<'_>, key: &MetricKey, arm: u32) -> ArmEffects {
    let order_known = part.manifest.order == OrderKnown::Randomized;
    let units = contrasts::units(&part.selection, key, 0, arm, order_known);
    let mut of_arm = ArmEffects {
        arm,
        metric: key.name.clone(),
        unit: key.unit.clone(),
        direction: key.direction,
        scale: Scale::Ratio,
        unit_name: "blocks",
        effects: Vec::new(),
        control_mean: f64::NAN,
        arm_mean: f64::NAN,
        lacking: of_either(arm, |arm| not_in_force(part, arm)),
    };
    match units {
        Ok(units) => {
            of_arm.scale = units.scale;
            of_arm.unit_name = units.kind.name();
            of_arm.control_mean = level(&units, &units.control);
            of_arm.arm_mean = level(&units, &units.arm);
            of_arm.effects = units.effects;
        }
        Err(why) => {
            let of_failed = || of_either(arm, |arm| failed(part, arm).map(|_| why.clone()));
            of_arm.lacking = of_arm.lacking.or_else(of_failed).or(Some(Lacking { arm, why: why.clone() }));
        }
    }
    if of_arm.effects.is_empty() && of_arm.lacking.is_none() {
        let neither = || Lacking { arm, why: "no unit holds it and the control".into() };
        of_arm.lacking = Some(of_either(arm, |arm| failed(part, arm)).unwrap_or_else(neither));
    }
    of_arm
}

/// What the arm lacks, or otherwise what the control lacks.
fn of_either(arm: u32, lacks: impl Fn(u32) -> Option<String>) -> Option<Lacking> {
    [arm, 0].into_iter().find_map(|arm| lacks(arm).map(|why| Lacking { arm, why }))
}

/// Mean over all trials of one side, converted back from the scale of the units.
fn level(units: &Units, side: &[Vec<f64>]) -> f64 {
    let all: Vec<f64> = side.iter().flatten().copied().collect();
    let mean = mean(&all).unwrap_or(f64::NAN);
    if units.scale == Scale::Ratio { mean.exp() } else { mean }
}

fn not_in_force(part: &Workload<'_>, arm: u32) -> Option<String> {
    part.selection.not_applied.get(&arm).map(|why| format!("not applied: {why}"))
}

/// Why the first failed trial of an arm failed.
fn failed(part: &Workload<'_>, arm: u32) -> Option<String> {
    part.selection.rows.iter().filter(|row| row.record.arm == Some(arm)).find_map(|row| match &row.record.status {
        TrialStatus::Failed(why) => Some(format!("its trials failed: {why}")),
        _ => None,
    })
}
