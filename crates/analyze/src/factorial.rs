//! Main effects of a two-level factorial: for each factor one contrast per block, the mean over the arms in which it is
//! high against the mean over those in which it is low. Every arm contributes to every factor, so a factor's effect is
//! known as well as if all trials had been spent on it alone. In a fraction, the interactions that it is confounded
//! with are named.

use crate::contrasts::{Units, mean, unit_kind, values_by_unit};
use crate::findings::*;
use crate::hygiene::uneven;
use crate::metric::MetricKey;
use crate::per_operation::{CountOfTrial, not_per_operation};
use crate::verdict::withheld;
use crate::workload::{Workload, empty_contrast, fill};
use schedlab_plan::manifest::Factorial;
use std::collections::BTreeMap;

/// The main effects on one metric, one row per factor.
pub(crate) fn main_effects(part: &Workload<'_>, key: &MetricKey) -> Vec<MainEffect> {
    let Some(factorial) = &part.manifest.factorial else { return Vec::new() };
    (0..factorial.factors.len()).map(|factor| main_effect(part, key, factorial, factor)).collect()
}

fn main_effect(part: &Workload<'_>, key: &MetricKey, factorial: &Factorial, factor: usize) -> MainEffect {
    let arms = Arms::present(part, factorial);
    let (low, high) = arms.split(factor);
    let mut contrast = empty_contrast(high.first().copied().unwrap_or(0), low.first().copied().unwrap_or(0), false);
    match contrast_units(part, key, factorial, &arms, factor) {
        Ok(units) => {
            fill(&mut contrast, &units, &part.rule, key, part.manifest);
            let counted = |arms: &[u32]| {
                let trials = arms.iter().flat_map(|&arm| part.selection.used(Some(arm)));
                CountOfTrial::of(key, trials.filter_map(|r| r.outcome.as_ref()))
            };
            let why = not_per_operation(&contrast, key, [&counted(&low), &counted(&high)], |per_trial| {
                let units = contrast_units(part, per_trial, factorial, &arms, factor).ok()?;
                let mut undivided = empty_contrast(0, 0, false);
                fill(&mut undivided, &units, &part.rule, per_trial, part.manifest);
                Some(undivided.verdict)
            });
            contrast.verdict = why.unwrap_or(contrast.verdict);
        }
        Err(reason_withheld) => contrast.verdict = reason_withheld,
    }
    let name = &factorial.factors[factor].name;
    if let Some(reason_withheld) =
        uneven(&part.side(&high, &format!("{name} high")), &part.side(&low, &format!("{name} low")))
    {
        contrast.verdict = reason_withheld;
    }
    if let Some(why) = &part.void {
        contrast.verdict = withheld(Withheld::Void, format!("the run is void: {why}"));
    }
    let aliases = arms.aliases(factorial, factor);
    MainEffect { factor: factor as u32, metric: key.name.clone(), low_arms: low, high_arms: high, aliases, contrast }
}

/// The units of a factor's main effect, if it has any.
pub(crate) fn units(part: &Workload<'_>, key: &MetricKey, factor: usize) -> Option<Units> {
    let factorial = part.manifest.factorial.as_ref()?;
    contrast_units(part, key, factorial, &Arms::present(part, factorial), factor).ok()
}

/// The arms that were measured, with their levels.
struct Arms<'f> {
    arms: Vec<(u32, &'f Vec<bool>)>,
}

impl<'f> Arms<'f> {
    fn present(part: &Workload<'_>, factorial: &'f Factorial) -> Self {
        let measured = |arm: &u32| {
            !part.selection.not_applied.contains_key(arm) && part.selection.used(Some(*arm)).next().is_some()
        };
        let arms = factorial.levels.iter().enumerate().map(|(arm, levels)| (arm as u32, levels));
        Self { arms: arms.filter(|(arm, _)| measured(arm)).collect() }
    }

    /// Arms with the factor low, and with it high.
    fn split(&self, factor: usize) -> (Vec<u32>, Vec<u32>) {
        let (high, low): (Vec<_>, Vec<_>) = self.arms.iter().partition(|(_, levels)| is_high(levels, factor));
        let numbers = |arms: Vec<&(u32, &Vec<bool>)>| arms.into_iter().map(|(arm, _)| *arm).collect();
        (numbers(low), numbers(high))
    }

    /// A factor whose levels do not occur equally often with both levels of `factor`: its effect would be mixed in.
    fn unbalanced(&self, factors: usize, factor: usize) -> Option<usize> {
        let count = |level: bool, other: Option<usize>| {
            let has = |levels: &Vec<bool>| other.is_none_or(|other| is_high(levels, other));
            self.arms.iter().filter(|(_, levels)| is_high(levels, factor) == level && has(levels)).count()
        };
        let (low, high) = (count(false, None), count(true, None));
        (0..factors)
            .filter(|&other| other != factor)
            .find(|&other| count(true, Some(other)) * low != count(false, Some(other)) * high)
    }

    /// Two-factor interactions that look the same as the factor in these arms: `autogroup × thp`.
    fn aliases(&self, factorial: &Factorial, factor: usize) -> Vec<String> {
        let n = factorial.factors.len();
        let varies = |f: usize| {
            let first = self.arms.first().map(|(_, levels)| is_high(levels, f));
            self.arms.iter().any(|(_, levels)| Some(is_high(levels, f)) != first)
        };
        let same = |a: usize, b: usize| {
            let differs = |levels: &Vec<bool>| is_high(levels, a) ^ is_high(levels, b) ^ is_high(levels, factor);
            let first = self.arms.first().map(|(_, levels)| differs(levels));
            self.arms.iter().all(|(_, levels)| Some(differs(levels)) == first)
        };
        let others: Vec<usize> = (0..n).filter(|&f| f != factor && varies(f)).collect();
        let pairs = others.iter().enumerate().flat_map(|(i, &a)| others[i + 1..].iter().map(move |&b| (a, b)));
        let name = |f: usize| factorial.factors[f].name.as_str();
        pairs
            .filter(|&(a, b)| varies(factor) && same(a, b))
            .map(|(a, b)| format!("{} × {}", name(a), name(b)))
            .collect()
    }
}

fn is_high(levels: &[bool], factor: usize) -> bool {
    levels.get(factor).copied().unwrap_or(false)
}

/// One contrast per unit, block or boot, in which every measured arm is complete.
fn contrast_units(
    part: &Workload<'_>,
    key: &MetricKey,
    factorial: &Factorial,
    arms: &Arms<'_>,
    factor: usize,
) -> Result<Units, Verdict> {
    if let Some(why) = &factorial.factors[factor].not_applied {
        return Err(withheld(Withheld::NotApplied, format!("not applied: {why}")));
    }
    let (low, high) = arms.split(factor);
    if low.is_empty() || high.is_empty() {
        return Err(match part.selection.not_applied.values().next() {
            Some(why) => withheld(Withheld::NotApplied, format!("not applied: {why}")),
            None => withheld(Withheld::NoNumbers, "one of its levels was not measured"),
        });
    }
    if let Some(other) = arms.unbalanced(factorial.factors.len(), factor) {
        let other = &factorial.factors[other].name;
        let why = format!("arms are missing: its levels no longer meet those of {other} equally often");
        return Err(withheld(Withheld::Confounded, why));
    }
    let values = |arms: &[u32]| -> Result<Vec<BTreeMap<u32, Vec<f64>>>, Verdict> {
        let of_arm = |&arm: &u32| values_by_unit(&part.selection, key, arm);
        arms.iter().map(of_arm).collect::<Result<_, _>>().map_err(|why| withheld(Withheld::NoNumbers, why))
    };
    let (low, high) = (values(&low)?, values(&high)?);
    let positive = low.iter().chain(&high).flat_map(|arm| arm.values().flatten()).all(|&v| v > 0.0);
    let scale = if positive { Scale::Ratio } else { Scale::Difference };
    let on_scale = |values: &[f64]| -> Vec<f64> {
        values.iter().map(|&v| if scale == Scale::Ratio { v.ln() } else { v }).collect()
    };
    let plain: Vec<f64> = low.iter().flat_map(|arm| arm.values().flatten().copied()).collect();
    let mut units = Units {
        kind: unit_kind(&part.selection),
        scale,
        effects: Vec::new(),
        control: Vec::new(),
        arm: Vec::new(),
        control_mean: mean(&plain).unwrap_or(0.0),
    };
    // The mean of each arm comes first, because an arm with more trials must not have more weight.
    let side = |arms: &[BTreeMap<u32, Vec<f64>>], unit: u32| -> Option<Vec<f64>> {
        arms.iter().map(|arm| mean(&on_scale(arm.get(&unit)?))).collect()
    };
    for &unit in low[0].keys() {
        let (Some(low), Some(high)) = (side(&low, unit), side(&high, unit)) else { continue };
        if let (Some(mean_low), Some(mean_high)) = (mean(&low), mean(&high)) {
            units.effects.push((u64::from(unit), mean_high - mean_low));
            units.control.push(low);
            units.arm.push(high);
        }
    }
    Ok(units)
}
