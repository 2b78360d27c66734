//! Gaussian-process regression on a grid of levels (Rasmussen & Williams 2006, ch. 2 and 5), and the expected
//! improvement on the best so far (Jones, Schonlau & Welch 1998). The observations' errors may be of any size and may
//! be correlated, as those of several arms in one block are, because these share one control.

use crate::cholesky::Cholesky;
use crate::distribution::normal_cdf;
use crate::ols::dot;
use std::f64::consts::{PI, TAU};

/// One coordinate of the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Where its levels lie, 0 to 1; if the levels are words, only their number counts.
    pub levels: Vec<f64>,
    /// Whether neighbouring levels are more alike; words are all equally far from each other.
    pub is_ordered: bool,
}

/// What was observed.
#[derive(Clone, Copy)]
pub struct Observations<'a> {
    /// The points: a level of each axis.
    pub at: &'a [Vec<usize>],
    /// The values at these points.
    pub values: &'a [f64],
    /// Covariance of the errors of two observations, in units of an unknown variance.
    pub errors: &'a dyn Fn(usize, usize) -> f64,
    /// That variance as estimated from repeats, with its degrees of freedom, if there are repeats.
    pub repeats: Option<(f64, f64)>,
}

/// Parameters of the surface's smoothness. All are logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct Smoothness {
    /// Standard deviation of the surface.
    surface: f64,
    /// Standard deviation of an error.
    error: f64,
    /// For each axis, the distance over which values are alike.
    lengths: Vec<f64>,
}

/// A surface that was observed with errors.
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
    /// Fits the surface behind the observations, with the smoothness at the maximum of the posterior density, searched
    /// from `start`. `None` for fewer than two observations, or if one is not finite.
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
        // The constant from generalised least squares.
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

    /// Adds a point as if it had been observed, with its expected value and an error of `errors` units. The posterior
    /// then shows what will still be unknown after the points that are about to be measured (the kriging believer of
    /// Ginsbourger, Le Riche & Carraro 2010).
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

    /// A start for the next fit.
    pub fn smoothness(&self) -> &Smoothness {
        &self.smoothness
    }

    /// Standard deviation of an error of one unit.
    pub fn error(&self) -> f64 {
        self.smoothness.error.exp()
    }
}

/// The expected amount by which a normal value exceeds `best`: E max(X − best, 0).
pub fn expected_improvement(mean: f64, sd: f64, best: f64) -> f64 {
    let above = mean - best;
    if sd <= 0.0 {
        return above.max(0.0);
    }
    let z = above / sd;
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    (above * normal_cdf(z) + sd * density).max(0.0)
}

/// Covariances of the surface: a product over the axes, of a Matérn function of order 3/2, or for words of one constant
/// for two that differ. There are few levels, so all values of an axis are computed once.
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

/// The prior on the smoothness: normal in each logarithm, wide, and scaled to the spread of the values.
struct Prior {
    spread: f64,
}

/// Correlation length: half an axis, within a sixth and one and a half axes.
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
        // χ² of the variance from the repeats.
        let repeats =
            seen.repeats.map_or(0.0, |(variance, df)| -df * at.error - 0.5 * df * variance / (2.0 * at.error).exp());
        lengths + normal(at.surface, self.spread, 1.5) + normal(at.error, self.spread - 1.0, 2.0) + repeats
    }
}

/// The maximum of a density, by steps along one coordinate after another; the steps become smaller.
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
mod tests;
