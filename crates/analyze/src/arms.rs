//! Values of one metric per arm; every trial is shown, with the reason if it is not used.

use crate::contrasts::mean;
use crate::findings::{ArmValues, TrialValue};
use crate::metric::{MetricKey, NoValue};
use crate::selection::{Fate, Row, Selection, mark_text};
use schedlab_plan::{Manifest, TrialRecord};
use schedlab_stats::{Window, mad, median};

/// A trial farther than this many robust SDs from the rest of its arm is flagged.
const FAR_OUT_SDS: f64 = 5.0;

/// The values of all arms, in the arms' order.
pub(crate) fn arm_values(manifest: &Manifest, selection: &Selection<'_>, key: &MetricKey) -> Vec<ArmValues> {
    (0..manifest.arms.len() as u32).map(|arm| values_of(selection, key, arm)).collect()
}

/// The values of one arm.
pub(crate) fn values_of(selection: &Selection<'_>, key: &MetricKey, arm: u32) -> ArmValues {
    let mut trials: Vec<TrialValue> = selection.rows.iter().filter_map(|row| trial_value(row, key, arm)).collect();
    flag_far_out(&mut trials);
    let mut used: Vec<f64> = trials.iter().filter(|t| t.used).map(|t| t.value).collect();
    if selection.used(Some(arm)).any(|record| has_too_few(record, key)) {
        used.clear();
    }
    let logs: Option<Vec<f64>> = used.iter().map(|&v| (v > 0.0).then(|| v.ln())).collect();
    ArmValues {
        arm,
        n: used.len(),
        median: (!used.is_empty()).then(|| median(&used)),
        geometric_mean: logs.and_then(|logs| mean(&logs)).map(f64::exp),
        mean: mean(&used),
        min: used.iter().copied().reduce(f64::min),
        max: used.iter().copied().reduce(f64::max),
        trials,
    }
}

/// Only the fast trials have enough operations for a quantile, so the quantile is not one of the arm unless all trials
/// have it.
fn has_too_few(record: &TrialRecord, key: &MetricKey) -> bool {
    record.outcome.as_ref().is_some_and(|outcome| matches!(key.value(outcome), Err(NoValue::TooFew { .. })))
}

fn trial_value(row: &Row<'_>, key: &MetricKey, arm: u32) -> Option<TrialValue> {
    let record = row.record;
    let value = match record.arm {
        Some(of) if of == arm => key.value(record.outcome.as_ref()?).ok()?,
        None => switchback_value(record, key, arm)?,
        Some(_) => return None,
    };
    let marks: Vec<String> = record.marks.iter().filter_map(mark_text).collect();
    let note = match &row.fate {
        Fate::WarmUp => Some("warm-up".to_owned()),
        Fate::Repeated(by) if marks.is_empty() => Some(format!("block repeated as block {by}")),
        Fate::Repeated(by) => Some(format!("{}, block repeated as block {by}", marks.join(", "))),
        Fate::Incomplete => Some("its block was never completed".to_owned()),
        Fate::NotApplied => Some("setting not applied".to_owned()),
        Fate::Failed => Some("failed".to_owned()),
        Fate::Used => (!marks.is_empty()).then(|| marks.join(", ")),
    };
    let (trial, block, position) = (record.trial, record.block, record.position);
    Some(TrialValue { trial, block, position, value, used: row.fate == Fate::Used, note })
}

/// The geometric mean of the rates of an arm's windows, in the metric's unit.
fn switchback_value(record: &TrialRecord, key: &MetricKey, arm: u32) -> Option<f64> {
    // Only a rate in operations per second can be read from windows; other scales have a contrast but no value here.
    if arm > 1 || key.unit != "1/s" || crate::contrasts::switchback_sign(key)? < 0.0 {
        return None;
    }
    let windows: Vec<Window> = crate::contrasts::windows_of(record);
    let logs: Vec<f64> =
        windows.iter().filter(|w| w.is_b == (arm == 1) && w.log_rate.is_finite()).map(|w| w.log_rate).collect();
    mean(&logs).map(f64::exp)
}

/// Flags used trials that are far from the rest of their arm. They stay in the analysis.
fn flag_far_out(trials: &mut [TrialValue]) {
    let used: Vec<f64> = trials.iter().filter(|t| t.used).map(|t| t.value).collect();
    let positive = used.iter().all(|&v| v > 0.0);
    let on_scale = |v: f64| if positive { v.ln() } else { v };
    let scaled: Vec<f64> = used.iter().map(|&v| on_scale(v)).collect();
    let (center, spread) = (median(&scaled), 1.4826 * mad(&scaled));
    if scaled.len() < 6 || spread <= 0.0 {
        return;
    }
    for trial in trials.iter_mut().filter(|t| t.used) {
        let distance = ((on_scale(trial.value) - center) / spread).abs();
        if distance > FAR_OUT_SDS {
            let text = format!("far out: {distance:.1} robust SDs");
            trial.note = Some(trial.note.take().map_or(text.clone(), |note| format!("{note}, {text}")));
        }
    }
}
