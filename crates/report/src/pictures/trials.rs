//! Pictures of single trials: the distribution of each arm, and every trial in order.

use super::{Kind, Picture, Place};
use crate::Input;
use crate::chart::{Dot, Point, PointState, Strip, StripRow, Timeline};
use crate::number::{maybe_quantity, quantity};
use schedlab_analyze::{MetricFindings, Role, Source, TrialValue};
use schedlab_run::manifest::OrderKnown;
use schedlab_run::{Mark, TrialRecord, TrialStatus};
use std::collections::BTreeMap;

fn primaries<'a>(place: &Place<'a>) -> impl Iterator<Item = &'a MetricFindings> {
    place.workload.metrics.iter().filter(|m| m.role == Role::Primary)
}

pub(super) fn distributions(place: &Place<'_>) -> Vec<Picture> {
    let caption = "Every trial is a dot; bar: the middle half; line: the median. Hollow: not in the verdict.";
    let of_metric = |metric: &MetricFindings| {
        let rows = metric.values.iter().map(|values| StripRow {
            arm: values.arm,
            name: place.arm_name(values.arm),
            aside: maybe_quantity(values.median, &metric.unit),
            dots: values.trials.iter().map(|t| dot(t, &metric.unit)).collect(),
        });
        let rows: Vec<StripRow> = rows.collect();
        let title = format!("Trials by arm: {}", metric.name);
        let chart = Strip { unit: metric.unit.clone(), rows };
        place.picture(Kind::Distribution, &format!("trials-{}", metric.name), title, caption, Box::new(chart))
    };
    primaries(place).filter(|m| m.values.iter().any(|v| !v.trials.is_empty())).map(of_metric).collect()
}

fn dot(trial: &TrialValue, unit: &str) -> Dot {
    let note = trial.note.as_ref().map(|n| format!("\n{n}")).unwrap_or_default();
    Dot {
        value: trial.value,
        used: trial.used,
        title: format!(
            "{}\ntrial {}, block {}, position {}{note}",
            quantity(trial.value, unit),
            trial.trial,
            trial.block,
            trial.position
        ),
    }
}

pub(super) fn timelines(place: &Place<'_>, input: &Input<'_>) -> Vec<Picture> {
    let two_runs = matches!(place.findings.source, Source::TwoRuns { .. });
    let ordered = !two_runs && input.manifest.order == OrderKnown::Randomized;
    let caption = match (two_runs, ordered) {
        (true, _) => "Arm after arm: the two runs were not interleaved.",
        (_, false) => "In the order of the imported rows, which is not known to be that of time.",
        _ => {
            "In the order they ran, blocks shaded in turn. Hollow: warm-up or not used. Ringed: the machine was disturbed. \
             Cross: failed."
        }
    };
    // Two runs number their trials alike, so rows of the first would be taken for those of the second.
    let rows: BTreeMap<u64, &TrialRecord> = match two_runs {
        true => BTreeMap::new(),
        false => input.trials.iter().filter(|t| t.workload == place.workload.workload).map(|t| (t.trial, t)).collect(),
    };
    let of_metric = |metric: &MetricFindings| {
        let points = points(metric, &rows, two_runs, place);
        let title = format!("Every trial in order: {}", metric.name);
        let chart = Timeline { unit: metric.unit.clone(), arms: place.arm_keys(), points, ordered };
        place.picture(Kind::Timeline, &format!("order-{}", metric.name), title, caption, Box::new(chart))
    };
    let any = |m: &&MetricFindings| !rows.is_empty() || m.values.iter().any(|v| !v.trials.is_empty());
    primaries(place).filter(any).map(of_metric).collect()
}

fn points(
    metric: &MetricFindings,
    rows: &BTreeMap<u64, &TrialRecord>,
    two_runs: bool,
    place: &Place<'_>,
) -> Vec<Point> {
    let mut points = Vec::new();
    let mut measured: Vec<u64> = Vec::new();
    for values in &metric.values {
        for trial in &values.trials {
            let record = rows.get(&trial.trial);
            measured.push(trial.trial);
            let marked = record.is_some_and(|r| !r.marks.is_empty());
            let state = match (trial.used, marked) {
                (_, true) => PointState::Marked,
                (true, _) => PointState::Used,
                _ => PointState::Unused,
            };
            let marks: Vec<String> = record.iter().flat_map(|r| &r.marks).map(mark).collect();
            let said = [
                trial.note.clone().unwrap_or_default(),
                if trial.note.is_some() { String::new() } else { marks.join(", ") },
            ];
            let shown = quantity(trial.value, &metric.unit);
            points.push(Point {
                trial: trial.trial,
                arm: values.arm,
                block: record.is_none_or(|r| !r.warm_up).then_some(trial.block),
                value: Some(trial.value),
                state,
                title: title(
                    &place.arm_name(values.arm),
                    &shown,
                    (trial.trial, trial.block, trial.position),
                    &said.concat(),
                ),
            });
        }
    }
    measured.sort_unstable();
    let missing = rows.values().filter(|r| measured.binary_search(&r.trial).is_err());
    points.extend(missing.map(|r| without_value(r, place)));
    points.sort_by_key(|p| if two_runs { (u64::from(p.arm), p.trial) } else { (p.trial, u64::from(p.arm)) });
    points
}

/// A row that has no value of this metric.
fn without_value(record: &TrialRecord, place: &Place<'_>) -> Point {
    let arm = record.arm.unwrap_or(0);
    let why = match &record.status {
        TrialStatus::Failed(why) => format!("failed: {why}"),
        TrialStatus::NotApplied(why) => format!("not applied: {why}"),
        TrialStatus::Ok => "this metric was not measured".to_owned(),
    };
    Point {
        trial: record.trial,
        arm,
        block: (!record.warm_up).then_some(record.block),
        value: None,
        state: PointState::Failed,
        title: title(&place.arm_name(arm), "no value", (record.trial, record.block, record.position), &why),
    }
}

fn title(arm: &str, value: &str, (trial, block, position): (u64, u32, u32), note: &str) -> String {
    format!("{arm}: {value}\ntrial {trial}, block {block}, position {position}\n{note}").trim_end().to_owned()
}

fn mark(mark: &Mark) -> String {
    match mark {
        Mark::Steal { share } => format!("steal {}", crate::number::percent(*share)),
        Mark::Thermal { evidence } => format!("thermal: {evidence}"),
        Mark::Foreign { what } => format!("changed by somebody else: {what}"),
    }
}
