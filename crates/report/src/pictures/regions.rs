//! Curves cut into regions: each metric along a setting, with a line for each value of the other settings, and the
//! cuts.

use super::grid::BESIDE;
use super::{Kind, Picture, Subject};
use crate::chart::{ArmKey, Cut, Panel, PanelRow, Panels};
use crate::labels;
use schedlab_analyze::{Curve, MetricFindings};
use schedlab_plan::InOrder;
use schedlab_plan::units::parse_number;

const CAPTION: &str = "Medians of the used trials at each value. The values are drawn at equal distances; what is one line is \
                       judged at their real ones. A vertical line marks where a curve is cut into regions, in the \
                       colour of the curve; the bar at its foot is the interval of that place. Dashed: the control.";

/// A picture for each setting that has curves.
pub(super) fn pictures(place: &Subject<'_>) -> Vec<Picture> {
    let mut knobs: Vec<&str> = place.workload.curves.iter().map(|curve| curve.knob.as_str()).collect();
    knobs.dedup();
    knobs.into_iter().filter_map(|knob| along(place, knob)).collect()
}

fn along(place: &Subject<'_>, knob: &str) -> Option<Picture> {
    let mut curves: Vec<&Curve> = place.workload.curves.iter().filter(|curve| curve.knob == knob).collect();
    // Sorted by the number in the other setting, not by its text.
    let other = |curve: &Curve| curve.others.rsplit_once('=').and_then(|(_, value)| parse_number(value)).unwrap_or(0.0);
    curves.in_order_by(|a, b| other(a).total_cmp(&other(b)));
    let first = curves.first()?;
    let (name, _) = names(place, first);
    let steps = steps(&curves);
    let metrics = &place.workload.metrics;
    let shown = [first.metric.as_str()].into_iter().chain(BESIDE);
    let rows = shown.filter_map(|wanted| metrics.iter().find(|metric| metric.name == wanted)).map(|metric| PanelRow {
        unit: metric.unit.clone(),
        panels: vec![panel(place, metric, &curves, &steps, &name)],
        reference: metric.values.first().and_then(|control| control.median),
    });
    let rows: Vec<PanelRow> = rows.collect();
    let title = format!("Regions along {name}");
    Some(place.picture(Kind::Forest, &format!("regions-{name}"), title, CAPTION, Box::new(Panels { rows })))
}

fn panel(place: &Subject<'_>, metric: &MetricFindings, curves: &[&Curve], steps: &[String], name: &str) -> Panel {
    let at = |curve: &Curve, point: usize| steps.iter().position(|step| Some(step) == curve.values.get(point));
    let median = |curve: &Curve, step: &String| {
        let point = curve.values.iter().position(|value| value == step)?;
        let arm = curve.arms.get(point)?;
        metric.values.iter().find(|values| values.arm == *arm)?.median
    };
    let line = |(level, curve): (usize, &&Curve)| {
        let key = ArmKey { arm: level as u32, name: names(place, curve).1 };
        (key, steps.iter().map(|step| median(curve, step)).collect())
    };
    let cuts = curves.iter().enumerate().filter(|(_, curve)| curve.metric == metric.name).flat_map(|(level, curve)| {
        let step = move |point: usize| at(curve, point).map(|step| step as f64);
        curve.boundaries.iter().filter_map(move |boundary| {
            let (before, behind) = (step(boundary.after)?, step(boundary.after + 1)?);
            let ends = [step(boundary.earliest)?, step(boundary.latest + 1)?];
            Some(Cut { arm: level as u32, at: 0.5 * (before + behind), ends })
        })
    });
    Panel {
        title: format!("{} along {name}", labels::metric_name(&metric.name)),
        steps: steps.to_vec(),
        lines: curves.iter().enumerate().map(line).collect(),
        cuts: cuts.collect(),
        ..Panel::default()
    }
}

/// The values of all curves, rising.
fn steps(curves: &[&Curve]) -> Vec<String> {
    let values = curves.iter().flat_map(|curve| &curve.values);
    let mut numbers: Vec<(f64, &String)> = values.filter_map(|value| Some((parse_number(value)?, value))).collect();
    numbers.in_order_by(|a, b| a.0.total_cmp(&b.0));
    numbers.dedup_by(|a, b| a.0 == b.0);
    numbers.into_iter().map(|(_, value)| value.clone()).collect()
}

/// The name of the setting, and the other settings that a curve's arms share. Both are taken from the arms' names
/// (`m=1ms w=3ms`) if these contain them, otherwise from the settings.
fn names(place: &Subject<'_>, curve: &Curve) -> (String, String) {
    let words = |arm: &u32| place.arm_name(*arm).split(' ').map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = curve.arms.iter().map(words).collect();
    let shared = |word: &&String| all.iter().all(|of_arm| of_arm.contains(word));
    let first = all.first().map(Vec::as_slice).unwrap_or_default();
    let own = first.iter().find(|word| !shared(word)).and_then(|word| word.split_once('='));
    let others: Vec<&str> = first.iter().filter(shared).map(String::as_str).collect();
    match own {
        Some((name, _)) => (name.to_owned(), others.join(" ")),
        None => (curve.knob.clone(), curve.others.clone()),
    }
}
