//! The results given to a search: the gains of each point over the default, round by round, and the conclusions from
//! them.

use super::Point;
use schedlab_stats::{Axis, Estimate, t_estimate};
use std::collections::BTreeSet;

/// A round that was measured.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// Whether it is a confirmation round, on which no choice rests.
    pub(super) is_fresh: bool,
    pub(super) points: Vec<Point>,
    /// By point and objective, the gains of its units; units are in the same order for all points.
    pub(super) gains: Vec<Vec<Vec<f64>>>,
}

/// The mean gain of a point in a round, for one objective.
#[derive(Debug, Clone)]
pub(super) struct Mean {
    pub(super) at: Point,
    pub(super) round: usize,
    pub(super) value: f64,
    pub(super) units: usize,
}

/// All rounds, and the points that are impossible.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    pub(super) rounds: Vec<Measured>,
    pub(super) left_out: Vec<(Point, String)>,
    /// Values of knobs that no point can have.
    pub(super) refused: Vec<(usize, usize)>,
}

impl Ledger {
    pub(super) fn is_left_out(&self, point: &Point) -> bool {
        self.refused.iter().any(|&(knob, value)| point[knob] == value)
            || self.left_out.iter().any(|(out, _)| out == point)
    }

    /// Marks a value as refused if it was refused wherever it was tried, with at least two values of every other knob:
    /// otherwise it would be tried again and again. A value that is refused only in combination with another stays.
    pub(super) fn refuse_values(&mut self, axes: &[Axis]) {
        let measured = self.measured();
        for (knob, axis) in axes.iter().enumerate() {
            for value in 0..axis.levels.len() {
                let with_it = || self.left_out.iter().map(|(point, _)| point).filter(|point| point[knob] == value);
                let is_tried = |(other, axis): (usize, &Axis)| {
                    let values: BTreeSet<usize> = with_it().map(|point| point[other]).collect();
                    other == knob || values.len() >= axis.levels.len().min(2)
                };
                let known = self.refused.contains(&(knob, value)) || measured.iter().any(|point| point[knob] == value);
                if !known && with_it().next().is_some() && axes.iter().enumerate().all(is_tried) {
                    self.refused.push((knob, value));
                }
            }
        }
    }

    fn of_search(&self) -> impl Iterator<Item = (usize, &Measured)> {
        self.rounds.iter().enumerate().filter(|(_, round)| !round.is_fresh)
    }

    /// Points that the search has measured, each once, in the order of their first measurement.
    pub(super) fn measured(&self) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        for point in self.of_search().flat_map(|(_, round)| &round.points) {
            if !points.contains(point) {
                points.push(point.clone());
            }
        }
        points
    }

    /// All gains of a point in the search, or in the confirmation trials.
    pub(super) fn gains(&self, point: &Point, objective: usize, is_fresh: bool) -> Vec<f64> {
        let rounds = self.rounds.iter().filter(|round| round.is_fresh == is_fresh);
        let of_round = |round: &Measured| {
            let at = round.points.iter().position(|p| p == point)?;
            Some(round.gains[at][objective].clone())
        };
        rounds.filter_map(of_round).flatten().collect()
    }

    /// The plain mean of a point's gains in the search; `None` where it has none.
    pub(super) fn mean(&self, point: &Point, objective: usize) -> Option<f64> {
        let gains = self.gains(point, objective, false);
        (!gains.is_empty()).then(|| gains.iter().sum::<f64>() / gains.len() as f64)
    }

    /// A point's gain in the fresh trials, with its interval.
    pub(super) fn fresh(&self, point: &Point, objective: usize, level: f64) -> Option<Estimate> {
        t_estimate(&self.gains(point, objective, true), level)
    }

    /// The difference of two points in the confirmation trials, block by block: disturbances of a block cancel out.
    pub(super) fn fresh_difference(&self, point: &Point, from: &Point, level: f64) -> Option<Estimate> {
        let (of_point, of_other) = (self.gains(point, 0, true), self.gains(from, 0, true));
        let pairs: Vec<f64> = of_point.iter().zip(&of_other).map(|(point, other)| point - other).collect();
        t_estimate(&pairs, level).filter(|_| of_point.len() == of_other.len())
    }

    /// Means of the search by point and round.
    pub(super) fn means(&self, objective: usize) -> Vec<Mean> {
        let of_round = |(number, round): (usize, &Measured)| -> Vec<Mean> {
            let mean = |(at, gains): (&Point, &Vec<Vec<f64>>)| {
                let gains = &gains[objective];
                let value = gains.iter().sum::<f64>() / gains.len() as f64;
                Mean { at: at.clone(), round: number, value, units: gains.len() }
            };
            round.points.iter().zip(&round.gains).map(mean).collect()
        };
        self.of_search().flat_map(of_round).collect()
    }

    /// Variance of a unit's gain that its point and its block do not explain, with its degrees of freedom: the error of
    /// an arm alone, apart from the control that it shares with the others. `None` without repeats of two points.
    pub(super) fn repeats(&self, objective: usize) -> Option<(f64, f64)> {
        let (mut squares, mut df) = (0.0, 0.0);
        for (_, round) in self.of_search() {
            let rows: Vec<&[f64]> = round.gains.iter().map(|gains| gains[objective].as_slice()).collect();
            let units = rows.iter().map(|row| row.len()).min().unwrap_or(0);
            if rows.len() < 2 || units < 2 {
                continue;
            }
            squares += interaction(&rows, units);
            df += ((rows.len() - 1) * (units - 1)) as f64;
        }
        (df > 0.0).then(|| (squares / df, df))
    }
}

/// Σ (x − mean of its row − mean of its column + mean of all)² over the first `columns`.
fn interaction(rows: &[&[f64]], columns: usize) -> f64 {
    let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| values.sum::<f64>() / count as f64;
    let of_row: Vec<f64> = rows.iter().map(|row| mean(&mut row[..columns].iter().copied(), columns)).collect();
    let of_column: Vec<f64> = (0..columns).map(|c| mean(&mut rows.iter().map(|row| row[c]), rows.len())).collect();
    let of_all = mean(&mut of_row.iter().copied(), rows.len());
    let cell = |r: usize, c: usize| rows[r][c] - of_row[r] - of_column[c] + of_all;
    (0..rows.len()).flat_map(|r| (0..columns).map(move |c| cell(r, c).powi(2))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(is_fresh: bool, gains: &[&[f64]]) -> Measured {
        let points = (0..gains.len()).map(|i| vec![i]).collect();
        Measured { is_fresh, points, gains: gains.iter().map(|units| vec![units.to_vec()]).collect() }
    }

    #[test]
    fn fresh_trials_and_those_of_the_search_stay_apart() {
        let rounds = vec![round(false, &[&[0.1, 0.3]]), round(false, &[&[0.5]]), round(true, &[&[0.1, 0.0]])];
        let ledger = Ledger { rounds, ..Ledger::default() };
        assert_eq!(ledger.gains(&vec![0], 0, false), [0.1, 0.3, 0.5]);
        assert_eq!(ledger.mean(&vec![0], 0), Some(0.3));
        assert_eq!(ledger.fresh(&vec![0], 0, 0.95).unwrap().mean, 0.05);
        assert_eq!(ledger.means(0).len(), 2);
        assert_eq!(ledger.mean(&vec![7], 0), None);
    }

    /// What is common to a whole block, such as a slow control, is not an error of an arm.
    #[test]
    fn repeats_tell_an_arms_own_error() {
        let block = [0.0, 5.0];
        let own = [[0.1, -0.1], [-0.1, 0.1]];
        let gains: Vec<Vec<f64>> = (0..2).map(|p| (0..2).map(|b| p as f64 + block[b] + own[p][b]).collect()).collect();
        let rows: Vec<&[f64]> = gains.iter().map(Vec::as_slice).collect();
        let ledger = Ledger { rounds: vec![round(false, &rows)], ..Ledger::default() };
        let (variance, df) = ledger.repeats(0).unwrap();
        assert!((variance - 0.04).abs() < 1e-12 && df == 1.0, "{variance} {df}");
        let lone = Ledger { rounds: vec![round(false, &[&[0.1, 0.2]])], ..Ledger::default() };
        assert_eq!(lone.repeats(0), None);
    }
}
