//! Pictures of single trials: the distribution of each arm, and every trial in order.

use super::rows::{Column, Rows};
use super::{Kind, Picture, Subject};
use crate::Input;
use crate::chart::{CROWDED, Dot, Plot, Point, PointState, Strip, StripRow, Timeline};
use crate::labels;
use crate::number::{count, maybe_quantity};
use schedlab_analyze::{ArmValues, MetricFindings, Role, Source};
use schedlab_plan::manifest::OrderKnown;
use schedlab_plan::noun;

fn primaries<'a>(place: &Subject<'a>) -> impl Iterator<Item = (usize, &'a MetricFindings)> {
    place.workload.metrics.iter().filter(|m| m.role == Role::Primary).enumerate()
}

fn plot(place: &Subject<'_>, index: usize, column: &Column) -> Plot {
    Plot { workload: place.index, column: index, scale: column.scale }
}

pub(super) fn distributions(place: &Subject<'_>, rows: &Rows) -> Vec<Picture> {
    let of_metric = |(index, metric): (usize, &MetricFindings)| {
        let column = rows.columns.get(index)?;
        let of_arm = |values: &ArmValues| StripRow {
            arm: values.arm,
            name: place.arm_name(values.arm),
            aside: maybe_quantity(values.median, &metric.unit),
            dots: values.trials.iter().map(|t| Dot { value: t.value, used: t.used }).collect(),
        };
        let strip: Vec<StripRow> = metric.values.iter().map(of_arm).collect();
        if strip.iter().all(|r| r.dots.is_empty()) {
            return None;
        }
        let caption = match strip.iter().map(|r| r.dots.len()).sum::<usize>() > CROWDED {
            false => {
                "Every trial is a dot; bar: the middle half; line and number: the median. Hollow: not in the verdict."
            }
            true => {
                "Every trial is a dot; dots that would cover each other are drawn once, so none that stands alone is \
                 missing. Bar: the middle half; line and number: the median. Pale: not in the verdict."
            }
        };
        let medians = metric.values.iter().map(|v| {
            format!("{}: median {} of {} trials", place.arm_name(v.arm), maybe_quantity(v.median, &metric.unit), v.n)
        });
        let description = medians.collect::<Vec<_>>().join("; ");
        let chart = Strip { unit: metric.unit.clone(), rows: strip, plot: plot(place, index, column) };
        let (name, title) =
            (format!("trials-{}", metric.name), format!("Trials by arm: {}", labels::metric_name(&metric.name)));
        Some(place.picture(Kind::Distribution, &name, title, caption, Box::new(chart)).described(description))
    };
    primaries(place).filter_map(of_metric).collect()
}

pub(super) fn timelines(place: &Subject<'_>, input: &Input<'_>, rows: &Rows) -> Vec<Picture> {
    let two_runs = matches!(place.findings.source, Source::TwoRuns { .. });
    let ordered = !two_runs && input.manifest.order == OrderKnown::Randomized;
    let caption = match (two_runs, ordered, rows.rows.len() > CROWDED) {
        (true, ..) => "Arm after arm: the two runs were not interleaved.".to_owned(),
        (_, false, _) => "In the order of the imported rows, which is not known to be that of time.".to_owned(),
        (_, _, false) => {
            "In the order they ran, blocks shaded in turn; below, the order of the arms. Hollow: warm-up or not \
                          used. Ringed: the machine was disturbed. Cross: failed."
                .to_owned()
        }
        (_, _, true) => format!(
            "{} trials in the order they ran, more than there is room for: dots that would cover each other are drawn once, so \
             none that stands alone is missing. Lines: running medians. Pale: warm-up or not used. Rimmed: the machine was \
             disturbed. Cross: failed.",
            count(rows.trials as u64)
        ),
    };
    let of_metric = |(index, metric): (usize, &MetricFindings)| {
        let column = rows.columns.get(index).filter(|_| !rows.rows.is_empty())?;
        let points = rows.rows.iter().zip(&column.values);
        let points =
            points.map(|(row, (value, state))| Point { arm: row.arm, block: row.block, value: *value, state: *state });
        let chart = Timeline {
            unit: metric.unit.clone(),
            arms: place.arm_keys(),
            points: points.collect(),
            ordered,
            counted: counted(rows),
            plot: plot(place, index, column),
        };
        let of_state = |state| column.values.iter().filter(|v| v.1 == state).count();
        let [used, unused, marked, failed] =
            [PointState::Used, PointState::Unused, PointState::Marked, PointState::Failed].map(of_state);
        let description = format!(
            "{}: {used} used, {unused} not in the verdict, {marked} while the machine was disturbed, {failed} without a value",
            counted(rows)
        );
        let (name, title) =
            (format!("order-{}", metric.name), format!("Every trial in order: {}", labels::metric_name(&metric.name)));
        Some(place.picture(Kind::Timeline, &name, title, &caption, Box::new(chart)).described(description))
    };
    primaries(place).filter_map(of_metric).collect()
}

/// `90 trials`, or `38 trials, each with both arms`.
fn counted(rows: &Rows) -> String {
    let trials = rows.trials;
    let both = if rows.rows.len() > trials { ", each with both arms" } else { "" };
    format!("{} {}{both}", count(trials as u64), noun(trials, "trials"))
}
