//! What the arms of a sweep gain in one question and lose in another. The questions are objectives, and the arms that
//! no other arm beats in all of them are the Pareto front. Choosing among those is up to the reader: a server needs
//! another choice than a desktop.

use crate::findings::{Effect, Findings, MetricFindings, Role, Scale, Tradeoff, TradeoffObjective};
use schedlab_plan::{Direction, InOrder};
use schedlab_stats::front;

/// With fewer arms besides the control there is no trade-off to show.
const MIN_ARMS: usize = 3;

/// `None` for one objective, a few arms, or a void run.
pub(crate) fn tradeoff(findings: &Findings) -> Option<Tradeoff> {
    let judged = |metric: &MetricFindings| metric.role == Role::Primary && metric.direction != Direction::Neutral;
    let in_order = findings.workloads.iter().flat_map(|w| w.metrics.iter().map(|metric| (w.workload, metric)));
    let metrics: Vec<(u32, &MetricFindings)> = in_order.filter(|(_, metric)| judged(metric)).collect();
    let arms = (0..findings.arms.len() as u32).filter(|arm| !findings.arms[*arm as usize].is_aa);
    let measured: Vec<(u32, Vec<f64>)> = arms.filter_map(|arm| Some((arm, gains(&metrics, arm)?))).collect();
    if metrics.len() < 2 || measured.len() <= MIN_ARMS || findings.void.is_some() {
        return None;
    }
    let points: Vec<Vec<f64>> = measured.iter().map(|(_, gains)| gains.clone()).collect();
    let mut on_front = front(&points);
    on_front.in_order_by(|a, b| points[*b][0].total_cmp(&points[*a][0]));
    Some(Tradeoff {
        objectives: metrics
            .into_iter()
            .map(|(workload, metric)| TradeoffObjective { workload, metric: metric.name.clone() })
            .collect(),
        front: on_front.into_iter().map(|at| measured[at].0).collect(),
        compared: measured.len(),
    })
}

/// How much better an arm is than the control in each objective; `None` if it lacks an estimate in one of them.
fn gains(metrics: &[(u32, &MetricFindings)], arm: u32) -> Option<Vec<f64>> {
    let gain = |(_, metric): &(u32, &MetricFindings)| match arm {
        0 => Some(0.0),
        _ => metric.contrasts.iter().find(|c| c.arm == arm).and_then(|c| c.effect).map(|e| good(metric, e)),
    };
    metrics.iter().map(gain).collect()
}

/// The change with the sign that makes larger better.
fn good(metric: &MetricFindings, effect: Effect) -> f64 {
    let change = match effect.scale {
        Scale::Ratio => effect.value.ln(),
        Scale::Difference => effect.value,
    };
    if metric.direction == Direction::HigherIsBetter { change } else { -change }
}
