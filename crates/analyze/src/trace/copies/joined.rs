//! The copies of many trials: which property of the trace correlates with the score.

use super::{Copies, DEFINITIONS, TracedCopy};
use crate::trace::Definition;
use schedlab_plan::InOrder;
use serde::Serialize;

/// Version of the JSON document.
const ARMS_SCHEMA: &str = "schedlab/trace-copies-of-arms/1";

/// How one thing goes with the score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Correlation {
    /// What: the name of a field of [`TracedCopy`].
    pub of: &'static str,
    /// Copies that it is over.
    pub copies: u64,
    /// Pearson's r; absent if one of the two does not vary.
    pub r: Option<f64>,
}

/// The traced trials of an arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopiesOfArm {
    /// Its name.
    pub arm: String,
    /// Standard deviation of the copies' scores against the mean of their trial.
    pub spread: Option<f64>,
    /// What correlates with the score, strongest first.
    pub correlations: Vec<Correlation>,
    /// Its trials.
    pub trials: Vec<Copies>,
}

/// Arms beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopiesOfArms {
    /// Which document this is.
    pub schema: &'static str,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// In the order of the plan.
    pub arms: Vec<CopiesOfArm>,
}

impl CopiesOfArms {
    /// From the trials of each arm.
    pub fn new(arms: Vec<(String, Vec<Copies>)>) -> Self {
        let arms = arms.into_iter().map(|(arm, trials)| CopiesOfArm::new(arm, trials)).collect();
        Self { schema: ARMS_SCHEMA, definitions: DEFINITIONS, arms }
    }
}

impl CopiesOfArm {
    fn new(arm: String, trials: Vec<Copies>) -> Self {
        type Of = fn(&TracedCopy) -> Option<f64>;
        let all: [(&'static str, Of); 4] = [
            ("co_located_share", |row| row.co_located_share),
            ("queue_delay_ns_per_op", |row| Some(row.queue_delay_ns_per_op)),
            ("switches_per_op", |row| Some(row.switches_per_op)),
            ("migrations", |row| Some(row.migrations as f64)),
        ];
        let mut correlations: Vec<Correlation> = all
            .into_iter()
            .map(|(of, value)| {
                let points: Vec<(f64, f64)> = trials.iter().flat_map(|trial| points(&trial.copies, value)).collect();
                Correlation { of, copies: points.len() as u64, r: pearson(&points) }
            })
            .collect();
        correlations.in_order_by(|a, b| b.r.map_or(0.0, f64::abs).total_cmp(&a.r.map_or(0.0, f64::abs)));
        let scores: Vec<f64> = trials.iter().flat_map(|trial| trial.copies.iter().map(|row| row.relative)).collect();
        let variance = scores.iter().map(|score| (score - 1.0).powi(2)).sum::<f64>();
        // One degree of freedom is used up by the mean of each trial.
        let free = scores.len().saturating_sub(trials.len());
        let spread = (free > 0).then(|| (variance / free as f64).sqrt());
        Self { arm, spread, correlations, trials }
    }
}

/// For each copy the score, as a ratio to the mean of its trial, and another value, as a difference from its mean in
/// units of that mean, so that a share of 0 needs no special case.
fn points(rows: &[TracedCopy], value: fn(&TracedCopy) -> Option<f64>) -> Vec<(f64, f64)> {
    let known: Vec<(f64, f64)> = rows.iter().filter_map(|row| Some((row.relative, value(row)?))).collect();
    let mean = known.iter().map(|point| point.1).sum::<f64>() / known.len().max(1) as f64;
    let unit = if mean == 0.0 { 1.0 } else { mean.abs() };
    known.into_iter().map(|(score, value)| (score, (value - mean) / unit)).collect()
}

fn pearson(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / n, sum.1 + point.1 / n));
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|point| of(point.0 - x, point.1 - y)).sum::<f64>();
    let (xx, yy, xy) = (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y));
    // Two points always lie on a line.
    (points.len() > 2 && xx > 1e-12 && yy > 1e-12).then(|| xy / (xx * yy).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_is_one_on_a_line_and_absent_without_variance() {
        let line: Vec<(f64, f64)> = (0..5).map(|n| (f64::from(n), 3.0 - 2.0 * f64::from(n))).collect();
        assert!((pearson(&line).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(pearson(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]), None);
        assert_eq!(pearson(&line[..2]), None);
        // By hand: deviations (-1, 0, 1) and (-1, 2, -1): no covariance.
        assert!(pearson(&[(0.0, 0.0), (1.0, 3.0), (2.0, 0.0)]).unwrap().abs() < 1e-12);
    }
}
