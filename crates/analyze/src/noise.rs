//! The statement about the noise of a comparison. It inverts the verdict: not "is this estimate a difference" but "how
//! large must an estimate be to be one", with the same units, spread, stopping rule and correction. So it cannot
//! contradict the verdict, as a bound from other trials or in other units could.

use crate::contrasts::Units;
use crate::estimate::margin;
use crate::findings::{Contrast, Effect, Noise, Scale};
use crate::number::{FACTOR_FROM, factor_within, percent_within, significant};
use crate::rule::Rule;
use schedlab_plan::counted;

/// The statement for a contrast that has its verdict, from the same units as the verdict.
pub(crate) fn noise(contrast: &Contrast, units: &Units, rule: &Rule, unit: &str) -> Option<Noise> {
    let effect = contrast.effect?;
    let margin = margin(units, rule, contrast.p_needed?).filter(|margin| margin.is_finite() && *margin > 0.0)?;
    let smallest = if units.scale == Scale::Ratio { margin.exp() } else { margin };
    let shown = match units.scale {
        Scale::Ratio => in_ratio(margin, &effect),
        Scale::Difference => format!("{} {unit}", significant(margin, 3)),
    };
    let corrected = match contrast.is_alone {
        true => String::new(),
        false => format!(", after {}", contrast.adjustment),
    };
    let units = counted(contrast.units, &contrast.unit_name);
    let sentence = format!("with this scatter, {units} can detect a difference of {shown} or more{corrected}");
    smallest.is_finite().then_some(Noise { scale: effect.scale, smallest, sentence })
}

/// The margin (of logarithms) in the direction of the estimate, as a percentage or as a factor. It has enough digits to
/// differ from the estimate, because "20 %" must not appear next to an inconclusive "20 %".
fn in_ratio(margin: f64, effect: &Effect) -> String {
    let text = |log: f64, digits: f64| match log.abs() {
        size if size >= FACTOR_FROM.ln() => format!("a factor of {}", factor_within(size.exp(), digits)),
        size if effect.value < 1.0 => percent_within(1.0 - (-size).exp(), digits),
        size => percent_within(size.exp_m1(), digits),
    };
    let half = (effect.hi - effect.lo) / 2.0;
    let finer = [half, half / 10.0, half / 100.0].map(|digits| (text(margin, digits), text(effect.value.ln(), digits)));
    let apart = finer.iter().position(|(margin, estimate)| margin != estimate).unwrap_or(0);
    finer[apart].0.clone()
}
