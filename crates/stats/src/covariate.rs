//! A mean with a covariate held at zero (analysis of covariance with one column): what remains of a difference once the
//! part that goes with another difference is taken off. For *explaining* a difference only: a covariate that the
//! treatment moves takes a part of its effect along.

use crate::mean::{Estimate, moments};

/// The intercept of the least-squares line of `ys` on `xs`, with its t interval on n − 2 degrees of freedom, in the
/// unit of `ys`. `None` for unequal lengths, fewer than three pairs, one that is not finite, or `xs` that do not vary.
pub fn mean_at_zero(ys: &[f64], xs: &[f64], level: f64) -> Option<Estimate> {
    if ys.len() != xs.len() || ys.len() < 3 {
        return None;
    }
    let n = ys.len() as f64;
    let ((mean_y, _), (mean_x, var_x)) = (moments(ys)?, moments(xs)?);
    let sxx = var_x * (n - 1.0);
    if sxx <= 0.0 {
        return None;
    }
    let slope = ys.iter().zip(xs).map(|(y, x)| (y - mean_y) * (x - mean_x)).sum::<f64>() / sxx;
    let intercept = mean_y - slope * mean_x;
    let squares: f64 = ys.iter().zip(xs).map(|(y, x)| (y - intercept - slope * x).powi(2)).sum();
    let se = (squares / (n - 2.0) * (1.0 / n + mean_x * mean_x / sxx)).sqrt();
    Some(Estimate::from_t(intercept, se, ys.len(), n - 2.0, level))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: `confint(lm(dist ~ speed, cars))[1, ]` is -31.16785 … -3.990340, the intercept -17.57909.
    #[test]
    fn stopping_distances_of_cars() {
        let speed = [
            4., 4., 7., 7., 8., 9., 10., 10., 10., 11., 11., 12., 12., 12., 12., 13., 13., 13., 13., 14., 14., 14.,
            14., 15., 15., 15., 16., 16., 17., 17., 17., 18., 18., 18., 18., 19., 19., 19., 20., 20., 20., 20., 20.,
            22., 23., 24., 24., 24., 24., 25.,
        ];
        let dist = [
            2., 10., 4., 22., 16., 10., 18., 26., 34., 17., 28., 14., 20., 24., 28., 26., 34., 34., 46., 26., 36., 60.,
            80., 20., 26., 54., 32., 40., 32., 40., 50., 42., 56., 76., 84., 36., 46., 68., 32., 48., 52., 56., 64.,
            66., 54., 70., 92., 93., 120., 85.,
        ];
        let e = mean_at_zero(&dist, &speed, 0.95).unwrap();
        for (got, want) in [(e.mean, -17.57909), (e.interval.lo, -31.16785), (e.interval.hi, -3.990340)] {
            assert!((got - want).abs() < 1e-4, "{got} instead of {want}");
        }
    }

    #[test]
    fn a_covariate_that_explains_all_leaves_the_shift() {
        let xs = [0.5, -1.0, 2.0, 0.0, -0.25];
        let ys = xs.map(|x| 0.03 + 0.4 * x);
        let e = mean_at_zero(&ys, &xs, 0.95).unwrap();
        assert!((e.mean - 0.03).abs() < 1e-12 && e.interval.half_width() < 1e-9);
        assert_eq!(mean_at_zero(&ys, &[1.0; 5], 0.95), None);
        assert_eq!(mean_at_zero(&ys[..2], &xs[..2], 0.95), None);
    }
}
