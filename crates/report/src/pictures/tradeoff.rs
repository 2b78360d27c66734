//! The first two objectives of a sweep plotted against each other.

use super::{Kind, Picture, Subject};
use crate::Input;
use crate::chart::{ArmKey, Scatter, ScatterPoint};
use crate::labels;
use schedlab_analyze::{MetricFindings, Objective, Scale, SearchFindings, SearchedPoint};
use schedlab_plan::Direction;

const CAPTION: &str = "Each point: an arm's change against the control in two questions. Signs joined by a line are the front, with \
                       their intervals: no other arm is better in both. Dots: all others.";

const SEARCHED: &str = "Each point: what the search saw it change against the default in two objectives. Signs joined by a line are \
                        the front, with their intervals: no other point is better in both. Dots: all others.";

/// `None` if the changes of one of the two are not ratios.
pub(crate) fn tradeoff(input: &Input<'_>) -> Option<Picture> {
    let findings = input.findings;
    let tradeoff = findings.tradeoff.as_ref()?;
    let [first, second] = tradeoff.objectives.get(..2)? else { return None };
    let metrics = [labels::metric_of(findings, first)?, labels::metric_of(findings, second)?];
    let point = |arm: u32| {
        let [across, up] = metrics.map(|metric| change(metric, arm));
        let ([x, y], ends) = across.zip(up).map(|(x, y)| ([x[0], y[0]], [[x[1], x[2]], [y[1], y[2]]]))?;
        let key = ArmKey { arm, name: labels::arm_name(findings, arm).to_owned() };
        Some(ScatterPoint { key, at: [x, y], ends, on_front: tradeoff.front.contains(&arm) })
    };
    let arms = 0..findings.arms.len() as u32;
    let points: Vec<ScatterPoint> = arms.filter(|arm| !findings.arms[*arm as usize].is_aa).filter_map(point).collect();
    let title = |metric: &MetricFindings, of| {
        format!("{}, {}", labels::objective(findings, of, &tradeoff.objectives), better(metric.direction))
    };
    let titles = [title(metrics[0], first), title(metrics[1], second)];
    let place = Subject::of(input, 0)?;
    (points.len() > 1).then(|| {
        let chart = Box::new(Scatter { titles, points });
        let picture =
            place.picture(Kind::Forest, "tradeoff", "Two questions against each other".into(), CAPTION, chart);
        Picture { name: "tradeoff".into(), ..picture }
    })
}

/// The points of a search in its first two objectives; `None` if it has only one.
pub(crate) fn searched(found: &SearchFindings) -> Option<Picture> {
    let [first, second] = found.objectives.get(..2)? else { return None };
    let titles = [first, second].map(|of| format!("{}, {}", of.name(), better(of.direction)));
    let point = |(index, point): (usize, &SearchedPoint)| {
        let seen = point.search.first().zip(point.search.get(1)).map(|(x, y)| [x, y])?;
        let ends = seen.map(|seen| [seen.lo, seen.hi].map(|end| end.unwrap_or(seen.value)));
        let key = ArmKey { arm: index as u32 + 1, name: point.name.clone() };
        Some(ScatterPoint { key, at: seen.map(|seen| seen.value), ends, on_front: found.front.contains(&index) })
    };
    let mut points: Vec<ScatterPoint> = found.measured.iter().enumerate().filter_map(point).collect();
    let is_better = |of: &Objective, ratio: f64| match of.direction {
        Direction::LowerIsBetter => ratio < 1.0,
        _ => ratio > 1.0,
    };
    let is_beaten = points.iter().any(|point| is_better(first, point.at[0]) && is_better(second, point.at[1]));
    let key = ArmKey { arm: 0, name: "default".into() };
    points.push(ScatterPoint { key, at: [1.0; 2], ends: [[1.0; 2]; 2], on_front: !is_beaten });
    (points.len() > 1).then(|| Picture {
        name: "front".into(),
        kind: Kind::Forest,
        title: "Two objectives against each other".into(),
        caption: SEARCHED.into(),
        description: SEARCHED.into(),
        chart: Box::new(Scatter { titles, points }),
    })
}

/// Estimate and both ends as ratios; 1 for the control.
fn change(metric: &MetricFindings, arm: u32) -> Option<[f64; 3]> {
    match metric.contrasts.iter().find(|contrast| contrast.arm == arm) {
        None => (arm == 0).then_some([1.0; 3]),
        Some(contrast) => contrast.effect.filter(|e| e.scale == Scale::Ratio).map(|e| [e.value, e.lo, e.hi]),
    }
}

fn better(direction: Direction) -> &'static str {
    if direction == Direction::LowerIsBetter { "lower is better" } else { "higher is better" }
}
