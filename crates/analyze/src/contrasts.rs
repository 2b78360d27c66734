//! From rows to one number per independent unit: the mean log-ratio of a block, the log-ratio of a switchback trial,
//! or, for rows of unknown order, that of a pair. The trial is the smallest unit: samples inside a trial never count as
//! n.

use crate::findings::Scale;
use crate::metric::{MetricKey, NoValue};
use crate::selection::{Fate, Selection};
use schedlab_plan::{Direction, TrialRecord};
use schedlab_stats::Window;
use std::collections::BTreeMap;

/// The kind of units of a contrast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Blocks,
    /// Boots with several blocks each.
    Boots,
    SwitchbackTrials,
    Pairs,
    /// No unit contains both arms: two independent samples.
    Trials,
}

impl UnitKind {
    /// Plural, as printed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Boots => "boots",
            Self::SwitchbackTrials => "switchback trials",
            Self::Pairs => "pairs",
            Self::Trials => "trials",
        }
    }
}

/// The numbers behind a contrast.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Units {
    pub(crate) kind: UnitKind,
    pub(crate) scale: Scale,
    /// Unit number and its effect: ln(arm/control), or arm − control. Empty for [`UnitKind::Trials`].
    pub(crate) effects: Vec<(u64, f64)>,
    /// Values of the control by unit, on the scale of the effects (logarithms or plain values).
    pub(crate) control: Vec<Vec<f64>>,
    /// Values of the arm by unit.
    pub(crate) arm: Vec<Vec<f64>>,
    /// Mean of the control's plain values: turns a share into the metric's unit on the difference scale.
    pub(crate) control_mean: f64,
}

impl Units {
    /// The effects alone.
    pub(crate) fn values(&self) -> Vec<f64> {
        self.effects.iter().map(|e| e.1).collect()
    }

    /// Independent units behind the contrast.
    pub(crate) fn count(&self) -> usize {
        match self.kind {
            UnitKind::Trials => self.control.iter().chain(&self.arm).map(Vec::len).sum(),
            _ => self.effects.len(),
        }
    }

    /// Whether every value of both arms is the same number.
    pub(crate) fn all_equal(&self) -> bool {
        let mut all = self.control.iter().chain(&self.arm).flatten();
        all.next().is_some_and(|first| all.all(|v| v == first))
    }
}

/// The values of all used trials of an arm, by block; an error if a trial has no value.
pub(crate) fn values_by_block(
    selection: &Selection<'_>,
    key: &MetricKey,
    arm: u32,
) -> Result<BTreeMap<u32, Vec<f64>>, NoValue> {
    values_by(selection, key, arm, &|block| block)
}

/// The same by unit: by boot if blocks share boots.
pub(crate) fn values_by_unit(
    selection: &Selection<'_>,
    key: &MetricKey,
    arm: u32,
) -> Result<BTreeMap<u32, Vec<f64>>, NoValue> {
    values_by(selection, key, arm, &|block| selection.unit_of(block))
}

fn values_by(
    selection: &Selection<'_>,
    key: &MetricKey,
    arm: u32,
    unit: &dyn Fn(u32) -> u32,
) -> Result<BTreeMap<u32, Vec<f64>>, NoValue> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for record in selection.used(Some(arm)) {
        let outcome = record.outcome.as_ref().ok_or(NoValue::NoOutcome)?;
        blocks.entry(unit(record.block)).or_default().push(key.value(outcome)?);
    }
    Ok(blocks)
}

/// The units of `arm` against `control` on one metric.
pub(crate) fn units(
    selection: &Selection<'_>,
    key: &MetricKey,
    control: u32,
    arm: u32,
    order_known: bool,
) -> Result<Units, String> {
    if selection.used(None).next().is_some() {
        return switchback_units(selection, key);
    }
    let (a, b) = (values_by_unit(selection, key, control)?, values_by_unit(selection, key, arm)?);
    let positive = a.values().chain(b.values()).flatten().all(|&v| v > 0.0);
    let scale = if positive { Scale::Ratio } else { Scale::Difference };
    let plain: Vec<f64> = a.values().flatten().copied().collect();
    let control_mean = mean(&plain).unwrap_or(0.0);
    let on_scale = |values: &Vec<f64>| match scale {
        Scale::Ratio => values.iter().map(|v| v.ln()).collect::<Vec<f64>>(),
        Scale::Difference => values.clone(),
    };
    let mut units = Units {
        kind: if order_known { unit_kind(selection) } else { UnitKind::Pairs },
        scale,
        effects: Vec::new(),
        control: Vec::new(),
        arm: Vec::new(),
        control_mean,
    };
    let both: Vec<u32> = a.keys().filter(|unit| b.contains_key(unit)).copied().collect();
    if both.is_empty() && !order_known {
        units.kind = UnitKind::Trials;
        units.control = vec![a.values().flat_map(on_scale).collect()];
        units.arm = vec![b.values().flat_map(on_scale).collect()];
        return Ok(units);
    }
    for unit in both {
        let (x, y) = (on_scale(&a[&unit]), on_scale(&b[&unit]));
        if let (Some(mx), Some(my)) = (mean(&x), mean(&y)) {
            units.effects.push((u64::from(unit), my - mx));
            units.control.push(x);
            units.arm.push(y);
        }
    }
    Ok(units)
}

pub(crate) fn unit_kind(selection: &Selection<'_>) -> UnitKind {
    if selection.has_boots() { UnitKind::Boots } else { UnitKind::Blocks }
}

/// The second used trial of an arm against its first, in each block that has both: they are equal by design. Unlike a
/// mirrored contrast this includes the drift between the two.
pub(crate) fn control_twice(selection: &Selection<'_>, key: &MetricKey, control: u32) -> Result<Units, String> {
    let blocks = values_by_block(selection, key, control)?;
    let twice: Vec<(u32, f64, f64)> = blocks
        .iter()
        .filter_map(|(&block, values)| match values[..] {
            [first, second] => Some((block, first, second)),
            _ => None,
        })
        .collect();
    let scale = if twice.iter().all(|t| t.1 > 0.0 && t.2 > 0.0) { Scale::Ratio } else { Scale::Difference };
    let on_scale = |value: f64| if scale == Scale::Ratio { value.ln() } else { value };
    let plain: Vec<f64> = twice.iter().flat_map(|t| [t.1, t.2]).collect();
    let (mut firsts, mut seconds): (BTreeMap<u32, Vec<f64>>, BTreeMap<u32, Vec<f64>>) = Default::default();
    for (block, first, second) in twice {
        let unit = selection.unit_of(block);
        firsts.entry(unit).or_default().push(on_scale(first));
        seconds.entry(unit).or_default().push(on_scale(second));
    }
    let effect = |(&unit, values): (&u32, &Vec<f64>)| Some((u64::from(unit), mean(values)? - mean(&firsts[&unit])?));
    let effects = seconds.iter().filter_map(effect).collect();
    let (control, arm) = (firsts.into_values().collect(), seconds.into_values().collect());
    let control_mean = mean(&plain).unwrap_or(0.0);
    Ok(Units { kind: unit_kind(selection), scale, effects, control, arm, control_mean })
}

/// A trial's windows in the form that crate `stats` expects: the logarithm of operations per second of counted time.
pub(crate) fn windows_of(record: &TrialRecord) -> Vec<Window> {
    let windows = record.outcome.as_ref().map_or(&[][..], |o| o.windows.as_slice());
    let window = |(i, w): (usize, &schedlab_plan::Window)| {
        let seconds = w.end_ns.saturating_sub(w.counted_from_ns) as f64 / 1e9;
        // A window without operations has a rate of 0, and counts; a window without a length has an unknown rate.
        let log_rate = if seconds > 0.0 { (w.operations as f64 / seconds).ln() } else { f64::NAN };
        let previous = follows_at_once(windows, i).then(|| windows[i - 1].is_b);
        Window { is_b: w.is_b, previous, log_rate }
    };
    windows.iter().enumerate().map(window).collect()
}

/// Whether no window is missing before this one. A window that began too late is not stored, and another arm may have
/// been active between the two stored windows around it. A pair has one window of each arm, so the two windows of a
/// pair are neighbours, and so are the second of a pair and the first of the next. If a pair has only one window, it is
/// not known which of the two it is.
fn follows_at_once(windows: &[schedlab_plan::Window], i: usize) -> bool {
    let pair = |i: usize| windows.get(i).map(|w| w.pair);
    let (Some(before), Some(now)) = (i.checked_sub(1).and_then(pair), pair(i)) else { return false };
    let both_whole = i.checked_sub(2).and_then(pair) == Some(before) && pair(i + 1) == Some(now);
    before == now || (before + 1 == now && both_whole)
}

/// One contrast per trial, only for rates: a time has the opposite sign, and latencies are not known per window.
fn switchback_units(selection: &Selection<'_>, key: &MetricKey) -> Result<Units, String> {
    let sign = switchback_sign(key).ok_or("known per trial only, and a switchback trial holds both arms")?;
    let mut units = Units {
        kind: UnitKind::SwitchbackTrials,
        scale: Scale::Ratio,
        effects: Vec::new(),
        control: Vec::new(),
        arm: Vec::new(),
        control_mean: 0.0,
    };
    for record in selection.used(None) {
        let windows = windows_of(record);
        let Some(contrast) = schedlab_stats::unit_contrast(&windows) else { continue };
        let logs = |is_b: bool| -> Vec<f64> {
            let of_arm = windows.iter().filter(|w| w.is_b == is_b && w.log_rate.is_finite());
            of_arm.map(|w| sign * w.log_rate).collect()
        };
        units.effects.push((record.trial, sign * contrast));
        units.control.push(logs(false));
        units.arm.push(logs(true));
    }
    Ok(units)
}

/// +1 for operations per time, −1 for time per fixed work; `None` for a metric that windows do not measure.
pub(crate) fn switchback_sign(key: &MetricKey) -> Option<f64> {
    match (key.direction, key.unit.as_str()) {
        (Direction::HigherIsBetter, unit) if unit.ends_with("/s") => Some(1.0),
        (Direction::LowerIsBetter, "s") => Some(-1.0),
        _ => None,
    }
}

/// Mean log of a metric per block over all arms, whatever the arm of a trial; values of 0 have no logarithm and are
/// left out.
pub(crate) fn pooled_by_block(selection: &Selection<'_>, key: &MetricKey) -> BTreeMap<u32, f64> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for row in selection.rows.iter().filter(|r| r.fate == Fate::Used) {
        if let Some(Ok(value)) = row.record.outcome.as_ref().map(|o| key.value(o))
            && value > 0.0
        {
            blocks.entry(row.record.block).or_default().push(value.ln());
        }
    }
    // A block that lacks an arm would shift the pooled mean by that arm's effect.
    let whole = blocks.values().map(Vec::len).max().unwrap_or(0);
    blocks.into_iter().filter(|(_, v)| v.len() == whole).filter_map(|(b, v)| Some((b, mean(&v)?))).collect()
}

/// Arithmetic mean; `None` for nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
