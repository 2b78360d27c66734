//! Gaussian-process regression on a grid of levels (Rasmussen & Williams 2006, ch. 2 and 5), and the expected improvement on
//! the best so far (Jones, Schonlau & Welch 1998). The observations' errors may be of any size and shared between them, as those
//! of several arms of one block are, which have one control.

use crate::cholesky::Cholesky;
use crate::distribution::normal_cdf;
use crate::ols::dot;
use std::f64::consts::{PI, TAU};

/// One coordinate of the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Where its levels lie, 0 to 1; of words only their number counts.
    pub levels: Vec<f64>,
    /// Whether nearer levels are more alike; words are all equally far from each other.
    pub is_ordered: bool,
}

/// What was seen.
#[derive(Clone, Copy)]
pub struct Observations<'a> {
    /// A level of each axis.
    pub at: &'a [Vec<usize>],
    /// The values there.
    pub values: &'a [f64],
    /// Covariance of the errors of two observations, in units of an unknown variance.
    pub errors: &'a dyn Fn(usize, usize) -> f64,
    /// That variance as estimated from repeats, with its degrees of freedom, if there are any.
    pub repeats: Option<(f64, f64)>,
}

/// What the smoothness of the surface is taken to be. All are logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct Smoothness {
    /// Standard deviation of the surface.
    surface: f64,
    /// Standard deviation of an error.
    error: f64,
    /// By axis, the distance over which values are alike.
    lengths: Vec<f64>,
}

/// A surface seen with errors.
#[derive(Clone, Debug)]
pub struct GaussianProcess {
    smoothness: Smoothness,
    kernel: Kernel,
    at: Vec<Vec<usize>>,
    factor: Cholesky,
    /// K⁻¹·(values − mean).
    weights: Vec<f64>,
    residuals: Vec<f64>,
    mean: f64,
}

impl GaussianProcess {
    /// The surface behind the observations, its smoothness at the maximum of the posterior density, looked for from `start`.
    /// `None` without two observations, or where one is not finite.
    pub fn fit(axes: &[Axis], seen: &Observations<'_>, start: Option<&Smoothness>) -> Option<Self> {
        if seen.values.len() < 2 || seen.at.len() != seen.values.len() || seen.values.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let prior = Prior::of(seen.values);
        let density = |smoothness: &Smoothness| {
            let fitted = Self::with(axes, seen, smoothness.clone());
            fitted.map_or(f64::NEG_INFINITY, |fitted| fitted.log_likelihood() + prior.log_density(smoothness, seen))
        };
        let begin = start.cloned().unwrap_or_else(|| prior.centre(axes.len()));
        Self::with(axes, seen, climb(begin, &density))
    }

    fn with(axes: &[Axis], seen: &Observations<'_>, smoothness: Smoothness) -> Option<Self> {
        let kernel = Kernel::new(axes, &smoothness);
        let error = (2.0 * smoothness.error).exp();
        let (at, n) = (seen.at, seen.values.len());
        let factor = Cholesky::new(n, |i, j| kernel.covariance(&at[i], &at[j]) + error * (seen.errors)(i, j))?;
        // The constant that generalised least squares finds.
        let of_ones = factor.solve(vec![1.0; n]);
        let mean = dot(&of_ones, seen.values) / of_ones.iter().sum::<f64>();
        let residuals: Vec<f64> = seen.values.iter().map(|value| value - mean).collect();
        let weights = factor.solve(residuals.clone());
        Some(Self { smoothness, kernel, at: at.to_vec(), factor, weights, residuals, mean })
    }

    fn log_likelihood(&self) -> f64 {
        let n = self.residuals.len() as f64;
        -0.5 * (dot(&self.residuals, &self.weights) + self.factor.log_determinant() + n * TAU.ln())
    }

    /// Mean and standard deviation of the surface at a point.
    pub fn predict(&self, at: &[usize]) -> (f64, f64) {
        let with: Vec<f64> = self.at.iter().map(|seen| self.kernel.covariance(at, seen)).collect();
        let mean = self.mean + dot(&with, &self.weights);
        let known = self.factor.solve_lower(with);
        (mean, (self.kernel.variance() - dot(&known, &known)).max(0.0).sqrt())
    }

    /// Takes a point as seen, with the value that is expected there and an error of `errors` units: what is still unknown after
    /// the points that are about to be looked at (the kriging believer of Ginsbourger, Le Riche & Carraro 2010).
    pub fn believe(&mut self, at: &[usize], errors: f64) {
        let (mean, _) = self.predict(at);
        let with = self.at.iter().map(|seen| self.kernel.covariance(at, seen)).collect();
        let error = errors * (2.0 * self.smoothness.error).exp();
        if self.factor.push(with, self.kernel.variance() + error).is_some() {
            self.at.push(at.to_vec());
            self.residuals.push(mean - self.mean);
            self.weights = self.factor.solve(self.residuals.clone());
        }
    }

    /// Where the next fit may begin.
    pub fn smoothness(&self) -> &Smoothness {
        &self.smoothness
    }

    /// Standard deviation of an error of one unit.
    pub fn error(&self) -> f64 {
        self.smoothness.error.exp()
    }
}

/// How much is to be expected above `best` of a normal value: E max(X − best, 0).
pub fn expected_improvement(mean: f64, sd: f64, best: f64) -> f64 {
    let above = mean - best;
    if sd <= 0.0 {
        return above.max(0.0);
    }
    let z = above / sd;
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    (above * normal_cdf(z) + sd * density).max(0.0)
}

/// Covariances of the surface: a product over the axes of a Matérn function of order 3/2, and of one number for words that
/// differ. Levels are few, so all of an axis are computed once.
#[derive(Clone, Debug)]
struct Kernel {
    variance: f64,
    axes: Vec<Table>,
}

#[derive(Clone, Debug)]
struct Table {
    levels: usize,
    cells: Vec<f64>,
}

impl Kernel {
    fn new(axes: &[Axis], smoothness: &Smoothness) -> Self {
        let table = |(axis, length): (&Axis, &f64)| {
            let alike = |a: usize, b: usize| match axis.is_ordered {
                true => matern((axis.levels[a] - axis.levels[b]).abs() / length.exp()),
                false if a == b => 1.0,
                false => matern(1.0 / length.exp()),
            };
            let levels = axis.levels.len();
            Table { levels, cells: (0..levels * levels).map(|cell| alike(cell / levels, cell % levels)).collect() }
        };
        let variance = (2.0 * smoothness.surface).exp();
        Self { variance, axes: axes.iter().zip(&smoothness.lengths).map(table).collect() }
    }

    fn variance(&self) -> f64 {
        self.variance
    }

    fn covariance(&self, a: &[usize], b: &[usize]) -> f64 {
        let levels = a.iter().zip(b);
        self.axes
            .iter()
            .zip(levels)
            .fold(self.variance, |product, (table, (&a, &b))| product * table.cells[a * table.levels + b])
    }
}

fn matern(distance: f64) -> f64 {
    let scaled = 3f64.sqrt() * distance;
    (1.0 + scaled) * (-scaled).exp()
}

/// What is thought of the smoothness before anything was seen: normal in each logarithm, wide, and by the spread of the values.
struct Prior {
    spread: f64,
}

/// A correlation over half an axis, between a sixth and one and a half axes.
const LENGTH: (f64, f64) = (-0.7, 1.1);

impl Prior {
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        Self { spread: variance.sqrt().max(1e-9).ln() }
    }

    fn centre(&self, axes: usize) -> Smoothness {
        Smoothness { surface: self.spread, error: self.spread - 1.0, lengths: vec![LENGTH.0; axes] }
    }

    fn log_density(&self, at: &Smoothness, seen: &Observations<'_>) -> f64 {
        let normal = |x: f64, mean: f64, sd: f64| -0.5 * ((x - mean) / sd).powi(2);
        let lengths: f64 = at.lengths.iter().map(|&length| normal(length, LENGTH.0, LENGTH.1)).sum();
        // χ² of the repeats' variance.
        let repeats =
            seen.repeats.map_or(0.0, |(variance, df)| -df * at.error - 0.5 * df * variance / (2.0 * at.error).exp());
        lengths + normal(at.surface, self.spread, 1.5) + normal(at.error, self.spread - 1.0, 2.0) + repeats
    }
}

/// The maximum of a density, by steps along one coordinate after the other that get smaller.
fn climb(begin: Smoothness, density: &dyn Fn(&Smoothness) -> f64) -> Smoothness {
    let (mut best, mut height) = (begin.clone(), density(&begin));
    let coordinates = 2 + begin.lengths.len();
    let mut step = 1.0;
    while step > 0.1 {
        let mut has_moved = false;
        for coordinate in 0..coordinates {
            for by in [step, -step] {
                let mut tried = best.clone();
                *tried.coordinate(coordinate) += by;
                let there = density(&tried);
                if there > height {
                    (best, height, has_moved) = (tried, there, true);
                    break;
                }
            }
        }
        if !has_moved {
            step /= 2.0;
        }
    }
    best
}

impl Smoothness {
    /// Standard deviation of the surface.
    pub fn height(&self) -> f64 {
        self.surface.exp()
    }

    fn coordinate(&mut self, index: usize) -> &mut f64 {
        match index {
            0 => &mut self.surface,
            1 => &mut self.error,
            axis => &mut self.lengths[axis - 2],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn line(levels: usize) -> Axis {
        Axis { levels: (0..levels).map(|l| l as f64 / (levels - 1) as f64).collect(), is_ordered: true }
    }

    fn own_errors(i: usize, j: usize) -> f64 {
        if i == j { 1.0 } else { 0.0 }
    }

    fn fit(axes: &[Axis], at: &[Vec<usize>], values: &[f64], repeats: Option<(f64, f64)>) -> GaussianProcess {
        GaussianProcess::fit(axes, &Observations { at, values, errors: &own_errors, repeats }, None).unwrap()
    }

    /// The posterior for two points with independent errors has a closed form.
    #[test]
    fn two_points_by_hand() {
        let axes = [line(3)];
        let smoothness = Smoothness { surface: 0.0, error: 0.5f64.ln(), lengths: vec![0.0] };
        let at = [vec![0], vec![2]];
        let seen = Observations { at: &at, values: &[1.0, 3.0], errors: &own_errors, repeats: None };
        let process = GaussianProcess::with(&axes, &seen, smoothness).unwrap();
        let (near, far) = (matern(0.5), matern(1.0));
        let (mean, sd) = process.predict(&[1]);
        assert!((mean - 2.0).abs() < 1e-12, "half way between, by symmetry: {mean}");
        assert!((sd * sd - (1.0 - 2.0 * near * near / (1.25 + far))).abs() < 1e-12, "{sd}");
        let (left, _) = process.predict(&[0]);
        // The mean is 2, the residuals -1 and 1: the weights are -1 / (1.25 - far) and its negative.
        assert!((left - (2.0 - (1.0 - far) / (1.25 - far))).abs() < 1e-12, "{left}");
    }

    #[test]
    fn the_noise_and_the_surface_are_told_apart_and_intervals_hold() {
        let axes = [line(12), Axis { levels: vec![0.0; 3], is_ordered: false }];
        let truth = |at: &[usize]| 0.2 * (at[0] as f64 / 3.0).sin() + 0.05 * at[1] as f64;
        let (mut held, mut all, mut errors) = (0, 0, 0.0);
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let at: Vec<Vec<usize>> = (0..30).map(|_| vec![random.below(12), random.below(3)]).collect();
            let values: Vec<f64> = at.iter().map(|at| truth(at) + 0.04 * random.normal()).collect();
            let process = fit(&axes, &at, &values, Some((0.0016, 20.0)));
            errors += process.error() / 60.0;
            for point in (0..36).map(|i| [i % 12, i / 12]) {
                let (mean, sd) = process.predict(&point);
                held += u32::from((mean - truth(&point)).abs() < 2.0 * sd);
                all += 1;
            }
        }
        assert!((errors - 0.04).abs() < 0.005, "{errors}");
        let share = f64::from(held) / f64::from(all);
        assert!((0.9..=0.995).contains(&share), "{share}");
    }

    /// What all share moves the mean of all, not one against the other.
    #[test]
    fn an_error_that_is_shared_is_no_difference() {
        let axes = [line(4)];
        let at: Vec<Vec<usize>> = (0..8).map(|i| vec![i % 4]).collect();
        // The second four were seen beside a control that was 10 % too slow.
        let values: Vec<f64> = (0..8).map(|i| if i < 4 { 0.0 } else { 0.1 } + 0.001 * f64::from(i % 3)).collect();
        let shared = |i: usize, j: usize| f64::from(u8::from(i / 4 == j / 4)) + own_errors(i, j);
        let seen = Observations { at: &at, values: &values, errors: &shared, repeats: Some((0.05f64.powi(2), 20.0)) };
        let process = GaussianProcess::fit(&axes, &seen, None).unwrap();
        let means: Vec<f64> = (0..4).map(|level| process.predict(&[level]).0).collect();
        let spread = means.iter().fold(f64::MIN, |a, &b| a.max(b)) - means.iter().fold(f64::MAX, |a, &b| a.min(b));
        assert!(spread < 0.01, "{means:?}");
    }

    #[test]
    fn a_point_that_is_believed_is_no_longer_unknown_and_changes_no_mean() {
        let axes = [line(8)];
        let at = [vec![0], vec![1], vec![2]];
        let mut process = fit(&axes, &at, &[0.0, 0.1, 0.3], None);
        let before = process.predict(&[5]);
        let mean_beside = process.predict(&[6]).0;
        process.believe(&[5], 0.01);
        let after = process.predict(&[5]);
        assert!((after.0 - before.0).abs() < 1e-9 && after.1 < 0.2 * before.1, "{before:?} {after:?}");
        assert!((process.predict(&[6]).0 - mean_beside).abs() < 1e-9);
    }

    #[test]
    fn expected_improvement_of_known_values() {
        assert_eq!(expected_improvement(3.0, 0.0, 1.0), 2.0);
        assert_eq!(expected_improvement(1.0, 0.0, 3.0), 0.0);
        // E max(Z, 0) is 1/√(2π).
        assert!((expected_improvement(0.0, 1.0, 0.0) - 0.398_942_28).abs() < 1e-8);
        let mut random = Random::new(3);
        let drawn: f64 = (0..200_000).map(|_| (0.5 + 2.0 * random.normal() - 1.0).max(0.0)).sum::<f64>() / 200_000.0;
        assert!((expected_improvement(0.5, 2.0, 1.0) - drawn).abs() < 0.01);
    }

    #[test]
    fn what_cannot_be_fitted_is_none() {
        let seen = |values| Observations { at: &[], values, errors: &own_errors, repeats: None };
        assert!(GaussianProcess::fit(&[line(2)], &seen(&[]), None).is_none());
        let at = [vec![0], vec![1]];
        let nan = Observations { at: &at, values: &[f64::NAN, 1.0], errors: &own_errors, repeats: None };
        assert!(GaussianProcess::fit(&[line(2)], &nan, None).is_none());
    }
}
