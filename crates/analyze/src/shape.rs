//! The distribution of an arm's trials: is it steadier, and does it have more than one mode? Both have verdicts of
//! their own: "not faster, but three times steadier" is a finding.

use crate::contrasts::{UnitKind, Units, units};
use crate::estimate::effect;
use crate::facts::tier_shares;
use crate::findings::*;
use crate::metric::MetricKey;
use crate::selection::Selection;
use crate::verdict::withheld;
use crate::workload::empty_contrast;
use schedlab_plan::{MIN_UNITS, TrialOutcome, counted};
use schedlab_stats::{Verdict as Word, decide, dispersion_ratio, dispersion_ratio_blocked, modes};

/// A change of the spread by less than a quarter is of no interest: it takes dozens of trials to detect any.
const DISPERSION_SESOI: f64 = 0.25;

/// With fewer trials, two modes cannot be detected.
const MIN_FOR_MODES: usize = 12;

/// The arm's spread over the control's on one metric: ratio of robust log-SDs, below 1 is steadier. Within blocks if
/// there are any; over all trials for imported rows, whose order is unknown.
pub(crate) fn dispersion(
    selection: &Selection<'_>,
    key: &MetricKey,
    (control, arm): (u32, u32),
    is_aa: bool,
    order_known: bool,
    alpha: f64,
) -> Contrast {
    let mut contrast = empty_contrast(arm, control, is_aa);
    match units(selection, key, control, arm, order_known) {
        Ok(units) if units.scale == Scale::Ratio => spread(&mut contrast, &units, alpha),
        Ok(_) => {
            contrast.verdict = withheld(Withheld::NoNumbers, "a spread in log units needs values above zero");
        }
        Err(why) => contrast.verdict = withheld(Withheld::NoNumbers, why),
    }
    contrast
}

/// Fills the ratio of the spreads, its p and its verdict into a contrast.
fn spread(contrast: &mut Contrast, units: &Units, alpha: f64) {
    let level = 1.0 - alpha;
    let (estimate, fewest, shown) = if matches!(units.kind, UnitKind::Blocks | UnitKind::Boots) {
        contrast.unit_name = units.kind.name().into();
        contrast.estimator = format!("ratio of robust log-SDs within {}", contrast.unit_name);
        contrast.units = units.effects.len();
        let repeated = |values: &[Vec<f64>]| !values.is_empty() && values.iter().all(|v| v.len() >= 2);
        let both = repeated(&units.control) && repeated(&units.arm);
        let estimate = both.then(|| dispersion_ratio_blocked(&units.control, &units.arm, level)).flatten();
        (estimate, contrast.units, counted(contrast.units, &contrast.unit_name))
    } else {
        let (a, b) = (units.control.concat(), units.arm.concat());
        contrast.estimator = "ratio of robust log-SDs over all trials, in which drift counts as spread".into();
        (contrast.units, contrast.unit_name) = (a.len() + b.len(), "trials".into());
        let fewest = a.len().min(b.len());
        (dispersion_ratio(&a, &b, level), fewest, format!("{} in an arm", counted(fewest, "trials")))
    };
    contrast.verdict = withheld(Withheld::NoNumbers, "no two trials of an arm in a block, or none that differ");
    if let Some(e) = estimate {
        contrast.effect = effect(Scale::Ratio, e.mean, e.interval);
        contrast.p = e.p_value.is_finite().then_some(e.p_value);
        contrast.verdict = match decide(e.interval, DISPERSION_SESOI.ln_1p(), false) {
            Word::Better => Verdict::Better,
            Word::Worse => Verdict::Worse,
            Word::Equivalent => Verdict::Equivalent,
            Word::Inconclusive => Verdict::Inconclusive,
        };
        if contrast.effect.is_none() {
            contrast.verdict = withheld(Withheld::NoNumbers, "the spread of an arm is zero");
        }
    }
    if fewest < MIN_UNITS {
        let reason = format!("only {shown}, a verdict needs {MIN_UNITS}");
        contrast.verdict = withheld(Withheld::TooFewUnits, reason);
    }
}

/// The modes of an arm's used trials on one metric, with the placement of the trials in each.
pub(crate) fn arm_modes(selection: &Selection<'_>, key: &MetricKey, arm: u32, alpha: f64) -> Option<ModeFindings> {
    let trials: Vec<(f64, &TrialOutcome)> = selection
        .used(Some(arm))
        .filter_map(|r| r.outcome.as_ref())
        .filter_map(|o| Some((key.value(o).ok()?, o)))
        .collect();
    if trials.len() < MIN_FOR_MODES || trials.iter().any(|(v, _)| *v <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = trials.iter().map(|(v, _)| v.ln()).collect();
    let found = modes(&logs)?;
    let p = found.p_value.is_finite().then_some(found.p_value)?;
    let split = found.split.filter(|_| found.k == 2 && p <= alpha);
    let part = |keep: &dyn Fn(f64) -> bool| -> Option<Mode> {
        let values: Vec<f64> = logs.iter().copied().filter(|&v| keep(v)).collect();
        let center = (!values.is_empty()).then(|| schedlab_stats::median(&values).exp())?;
        let inside = trials.iter().filter(|(v, _)| keep(v.ln())).map(|(_, o)| *o);
        Some(Mode { center, share: values.len() as f64 / logs.len() as f64, tiers: tier_shares(inside) })
    };
    let modes: Vec<Mode> = match split {
        Some(at) => [part(&|v| v <= at), part(&|v| v > at)].into_iter().flatten().collect(),
        None => part(&|_| true).into_iter().collect(),
    };
    let sentence = match modes.as_slice() {
        [low, high] => format!(
            "two modes: {:.0} % of trials near {} and {:.0} % near {} {}",
            low.share * 100.0,
            crate::number::significant(low.center, 3),
            high.share * 100.0,
            crate::number::significant(high.center, 3),
            key.unit
        ),
        _ => "one mode".to_owned(),
    };
    let (metric, split) = (key.name.clone(), split.map(f64::exp));
    Some(ModeFindings { arm, metric, k: modes.len(), p, split, modes, sentence })
}
