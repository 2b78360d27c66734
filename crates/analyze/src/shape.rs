//! Shape of an arm's trials: is it steadier, and has it more than one mode? Both have verdicts of their own: "not
//! faster, but three times steadier" is a finding.

use crate::contrasts::units;
use crate::estimate::effect;
use crate::facts::tier_shares;
use crate::findings::*;
use crate::metric::MetricKey;
use crate::selection::Selection;
use crate::verdict::withheld;
use schedlab_run::{LEAST_UNITS, TrialOutcome, counted};
use schedlab_stats::{Verdict as Word, decide, dispersion_ratio_blocked, modes};

/// A change of the spread below a quarter is of no interest: it takes dozens of trials to see one at all.
const DISPERSION_SESOI: f64 = 0.25;

/// Fewer trials cannot show two modes.
const LEAST_FOR_MODES: usize = 12;

/// The arm's spread over the control's on one metric: ratio of robust log-SDs within blocks, below 1 is steadier.
pub(crate) fn dispersion(
    selection: &Selection<'_>,
    key: &MetricKey,
    (control, arm): (u32, u32),
    is_aa: bool,
    alpha: f64,
    barred: Option<Verdict>,
) -> Contrast {
    let mut contrast = Contrast {
        arm,
        control,
        is_aa,
        effect: None,
        estimator: "ratio of robust log-SDs within blocks".into(),
        p: None,
        p_adjusted: None,
        adjustment: String::new(),
        verdict: withheld(Withheld::NoNumbers, "no two trials of an arm in a block"),
        units: 0,
        unit_name: "blocks".into(),
        unit_effects: Vec::new(),
        more_units: None,
        minimum_detectable: None,
        views: Vec::new(),
        notes: Vec::new(),
    };
    let units = match units(selection, key, control, arm, true) {
        Ok(units) if units.scale == Scale::Ratio => units,
        Ok(_) => {
            contrast.verdict = withheld(Withheld::NoNumbers, "a spread in log units needs values above zero");
            return contrast;
        }
        Err(why) => {
            contrast.verdict = withheld(Withheld::NoNumbers, why);
            return contrast;
        }
    };
    contrast.units = units.effects.len();
    let repeated = |values: &[Vec<f64>]| !values.is_empty() && values.iter().all(|v| v.len() >= 2);
    if repeated(&units.control)
        && repeated(&units.arm)
        && let Some(e) = dispersion_ratio_blocked(&units.control, &units.arm, 1.0 - alpha)
    {
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
    if contrast.units < LEAST_UNITS {
        let reason = format!("only {}, a verdict needs {LEAST_UNITS}", counted(contrast.units, "blocks"));
        contrast.verdict = withheld(Withheld::TooFewUnits, reason);
    }
    if let Some(barred) = barred {
        contrast.verdict = barred;
    }
    contrast
}

/// The modes of an arm's used trials on one metric, with the placement of the trials in each.
pub(crate) fn arm_modes(selection: &Selection<'_>, key: &MetricKey, arm: u32, alpha: f64) -> Option<ModeFindings> {
    let trials: Vec<(f64, &TrialOutcome)> = selection
        .used(Some(arm))
        .filter_map(|r| r.outcome.as_ref())
        .filter_map(|o| Some((key.value(o).ok()?, o)))
        .collect();
    if trials.len() < LEAST_FOR_MODES || trials.iter().any(|(v, _)| *v <= 0.0) {
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
            crate::words::number(low.center),
            high.share * 100.0,
            crate::words::number(high.center),
            key.unit
        ),
        _ => "one mode".to_owned(),
    };
    let (metric, split) = (key.name.clone(), split.map(f64::exp));
    Some(ModeFindings { arm, metric, k: modes.len(), p, split, modes, sentence })
}
