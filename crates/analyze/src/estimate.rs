//! From unit effects to an effect with its interval, and the second opinions shown with it: bootstrap, Hodges–Lehmann,
//! a trimmed mean, rank tests, the estimate without far-out units. None of these affects the verdict.

use crate::contrasts::{UnitKind, Units, mean};
use crate::findings::{Effect, Scale, UnitEffect, View};
use crate::rule::{Named, Rule};
use schedlab_plan::{InOrder, noun};
use schedlab_stats::{Interval, bootstrap_interval, hodges_lehmann, mad, median, welch};

/// Beyond this many robust SDs from the median a unit is called far out (Iglewicz & Hoaglin 1993).
const FAR_OUT_SDS: f64 = 3.5;

/// Resamples of the bootstrap check: enough to fix an end of the interval to within a few per cent of the width.
const RESAMPLES: usize = 2000;

/// Fixed, so that two reports of one run are byte-identical.
const BOOTSTRAP_SEED: u64 = 0x5eed;

/// The verdict's estimate.
pub(crate) fn estimate(units: &Units, rule: &Rule, alpha: f64) -> Option<Named> {
    if units.kind == UnitKind::Trials {
        let estimate = welch(units.control.first()?, units.arm.first()?, 1.0 - alpha)?;
        return Some(Named { estimate, name: "Welch's t on trials".into() });
    }
    let of = match (units.kind, units.scale) {
        (UnitKind::SwitchbackTrials, _) => "switchback contrasts",
        (UnitKind::Pairs, Scale::Ratio) => "log-ratios of pairs",
        (UnitKind::Boots, Scale::Ratio) => "log-ratios of boots",
        (_, Scale::Ratio) => "block log-ratios",
        (UnitKind::Pairs, Scale::Difference) => "differences of pairs",
        (UnitKind::Boots, Scale::Difference) => "differences of boots",
        (_, Scale::Difference) => "block differences",
    };
    rule.estimate(&units.values(), alpha, of)
}

/// How far from no effect the verdict's estimate must be for a p of `p` or less, on the scale of the units.
pub(crate) fn margin(units: &Units, rule: &Rule, p: f64) -> Option<f64> {
    if units.kind == UnitKind::Trials {
        return Some(welch(units.control.first()?, units.arm.first()?, 1.0 - p)?.interval.half_width());
    }
    rule.margin(&units.values(), p)
}

/// An effect on its printed scale; `None` when it is not finite.
pub(crate) fn effect(scale: Scale, value: f64, interval: Interval) -> Option<Effect> {
    let shown = |x: f64| if scale == Scale::Ratio { x.exp() } else { x };
    let effect =
        Effect { scale, value: shown(value), lo: shown(interval.lo), hi: shown(interval.hi), level: interval.level };
    [effect.value, effect.lo, effect.hi].iter().all(|x| x.is_finite()).then_some(effect)
}

/// Which units lie far from the rest.
fn far_out(values: &[f64]) -> Vec<bool> {
    let (center, spread) = (median(values), 1.4826 * mad(values));
    values.iter().map(|v| spread > 0.0 && ((v - center) / spread).abs() > FAR_OUT_SDS).collect()
}

/// The units as shown, with far-out ones flagged.
pub(crate) fn unit_effects(units: &Units) -> Vec<UnitEffect> {
    let far = far_out(&units.values());
    let shown = |x: f64| if units.scale == Scale::Ratio { x.exp() } else { x };
    let rows = units.effects.iter().zip(far);
    rows.map(|(&(unit, value), far_out)| UnitEffect { unit, value: shown(value), far_out })
        .filter(|u| u.value.is_finite())
        .collect()
}

/// The second opinions on a primary contrast.
pub(crate) fn views(units: &Units, rule: &Rule, alpha: f64) -> Vec<View> {
    if units.kind == UnitKind::Trials {
        return unpaired_views(units, alpha);
    }
    let (values, level) = (units.values(), 1.0 - alpha);
    let n = values.len();
    let resampled = |name: &str, statistic: fn(&[f64]) -> f64| {
        let interval = bootstrap_interval(&values, statistic, RESAMPLES, level, BOOTSTRAP_SEED)?;
        let effect = effect(units.scale, statistic(&values), interval);
        Some(View { name: name.into(), effect, p: None, n })
    };
    let mut views: Vec<View> = Vec::new();
    views.extend(resampled("percentile bootstrap of the mean", |xs| mean(xs).unwrap_or(f64::NAN)));
    views.extend(hodges_lehmann(&values, level).map(|s| View {
        name: "Hodges–Lehmann".into(),
        effect: effect(units.scale, s.shift, s.interval),
        p: finite(s.p_value),
        n,
    }));
    views.extend(resampled("20 % trimmed mean, bootstrap interval", trimmed_mean));
    views.extend(rank_view("Wilcoxon signed rank", schedlab_stats::wilcoxon_signed_rank(&values), n));
    views.extend(rank_view("sign test", schedlab_stats::sign_test(&values), n));
    views.extend(without_far_out(units, rule, alpha));
    if units.kind == UnitKind::Pairs {
        let (a, b): (Vec<f64>, Vec<f64>) =
            (units.control.iter().flatten().copied().collect(), units.arm.iter().flatten().copied().collect());
        views.extend(welch(&a, &b, level).map(|e| View {
            name: "Welch's t, as if the pairs were not pairs".into(),
            effect: effect(units.scale, e.mean, e.interval),
            p: finite(e.p_value),
            n: e.n,
        }));
    }
    views
}

fn unpaired_views(units: &Units, alpha: f64) -> Vec<View> {
    let (Some(a), Some(b)) = (units.control.first(), units.arm.first()) else { return Vec::new() };
    let shift = schedlab_stats::hodges_lehmann_shift(a, b, 1.0 - alpha).map(|s| View {
        name: "Hodges–Lehmann shift".into(),
        effect: effect(units.scale, s.shift, s.interval),
        p: finite(s.p_value),
        n: a.len() + b.len(),
    });
    shift.into_iter().chain(rank_view("Mann–Whitney", schedlab_stats::mann_whitney(a, b), a.len() + b.len())).collect()
}

fn rank_view(name: &str, p: Option<f64>, n: usize) -> Option<View> {
    Some(View { name: name.into(), effect: None, p: Some(finite(p?)?), n })
}

/// The estimate without the far-out units, shown next to the verdict, which keeps them.
fn without_far_out(units: &Units, rule: &Rule, alpha: f64) -> Option<View> {
    let values = units.values();
    let kept: Vec<f64> = values.iter().zip(far_out(&values)).filter(|(_, far)| !far).map(|(v, _)| *v).collect();
    let dropped = values.len() - kept.len();
    if dropped == 0 {
        return None;
    }
    let named = rule.estimate(&kept, alpha, "")?;
    Some(View {
        name: format!("without the {dropped} far-out {} (for comparison only)", noun(dropped, units.kind.name())),
        effect: effect(units.scale, named.estimate.mean, named.estimate.interval),
        p: finite(named.estimate.p_value),
        n: kept.len(),
    })
}

/// Mean of the middle 60 %.
fn trimmed_mean(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.in_order_by(f64::total_cmp);
    let cut = sorted.len() / 5;
    mean(&sorted[cut..sorted.len() - cut]).unwrap_or(f64::NAN)
}

/// A number that JSON can carry.
pub(crate) fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}
