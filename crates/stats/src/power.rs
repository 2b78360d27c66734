//! How small an effect a plan can find, and how many more observations a verdict takes, for the two-sided one-sample t test on
//! (block) log-ratios with standard deviation `sd`.
use crate::distribution::{normal_cdf, t_critical};
use crate::mean::Estimate;
use statrs::function::gamma::ln_gamma;

/// More observations than anybody will make.
const MANY: usize = 10_000_000;

/// Probability that the t test at `alpha` on `n` observations rejects zero when the mean is `delta` (noncentral t, by
/// integrating the normal power over the distribution of the sample SD; error below 1e-6). Zero for n < 2.
pub fn power(sd: f64, delta: f64, n: usize, alpha: f64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    power_at(delta.abs() / sd * (n as f64).sqrt(), n as f64 - 1.0, t_critical(alpha, n as f64 - 1.0))
}

/// P(|T| > critical) for noncentrality `shift`: T = (Z + shift)/S with S² ~ χ²/df, Simpson's rule over S.
fn power_at(shift: f64, df: f64, critical: f64) -> f64 {
    const STEPS: usize = 400;
    // ln density of S at s: constant + (df − 1) ln s − df s²/2.
    let constant = std::f64::consts::LN_2 + 0.5 * df * (0.5 * df).ln() - ln_gamma(0.5 * df);
    let spread = 9.0 / (2.0 * df).sqrt();
    let (lo, hi) = ((1.0 - spread).max(1e-12), 1.0 + spread);
    let width = (hi - lo) / STEPS as f64;
    let value = |i: usize| {
        let s = lo + i as f64 * width;
        let density = (constant + (df - 1.0) * s.ln() - 0.5 * df * s * s).exp();
        let weight = if i == 0 || i == STEPS {
            1.0
        } else if i % 2 == 1 {
            4.0
        } else {
            2.0
        };
        weight * density * (normal_cdf(shift - critical * s) + normal_cdf(-shift - critical * s))
    };
    ((0..=STEPS).map(value).sum::<f64>() * width / 3.0).clamp(0.0, 1.0)
}

/// The smallest effect (in the unit of `sd`) that `n` observations find with probability `power` at two-sided `alpha`, from the
/// noncentral t; relative error below 1e-4. Infinite for n < 2, NaN for arguments outside 0 < alpha < power < 1.
pub fn minimum_detectable(sd: f64, n: usize, alpha: f64, power: f64) -> f64 {
    if n < 2 {
        return f64::INFINITY;
    }
    if !(alpha > 0.0 && alpha < power && power < 1.0) {
        return f64::NAN;
    }
    let df = n as f64 - 1.0;
    let critical = t_critical(alpha, df);
    let (mut lo, mut hi) = (0.0, critical + 1.0);
    while power_at(hi, df, critical) < power {
        hi *= 2.0;
    }
    while hi - lo > 1e-5 * hi {
        let mid = 0.5 * (lo + hi);
        if power_at(mid, df, critical) < power { lo = mid } else { hi = mid }
    }
    0.5 * (lo + hi) * sd / (n as f64).sqrt()
}

/// How many *more* observations bring a verdict, if the mean and the standard deviation stay as estimated: the t interval must
/// shrink until, at 1 − `alpha_difference`, it excludes zero or, at 1 − `alpha`, it fits inside ±`sesoi_log`, whichever comes
/// first. The two levels differ where a difference is corrected for other questions and equivalence is not. Optimistic by
/// nature, as it takes the estimate for the truth (about an even chance of being decided by then). `Some(0)` when already
/// decided; `None` when no number within 10 million helps (the mean sits on the edge) or the estimate has no spread.
pub fn observations_to_decide(estimate: &Estimate, sesoi_log: f64, alpha: f64, alpha_difference: f64) -> Option<usize> {
    let distance = estimate.mean.abs();
    let margin = distance.max(sesoi_log - distance);
    let sd = estimate.se * (estimate.n as f64).sqrt();
    if !(sd.is_finite() && margin > 0.0 && estimate.n >= 2) {
        return None;
    }
    let half = |n: usize, alpha: f64| t_critical(alpha, n as f64 - 1.0) * sd / (n as f64).sqrt();
    let decided = |n: usize| half(n, alpha_difference) < distance || half(n, alpha) < sesoi_log - distance;
    fewest(estimate.n, decided).map(|n| n - estimate.n)
}

/// The smallest n ≥ `from` for which a condition that stays true once true holds, by doubling and bisection.
fn fewest(from: usize, enough: impl Fn(usize) -> bool) -> Option<usize> {
    if enough(from) {
        return Some(from);
    }
    let (mut lo, mut hi) = (from, from * 2);
    while !enough(hi) {
        (lo, hi) = (hi, hi * 2);
        if lo > MANY {
            return None;
        }
    }
    while hi - lo > 1 {
        let mid = lo + (hi - lo) / 2;
        if enough(mid) { hi = mid } else { lo = mid }
    }
    Some(hi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mean::t_estimate;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() < tolerance, "{got} instead of {want}");
    }

    /// R: power.t.test(n = 20, delta = .5, type = "one.sample") gives 0.5645 (strict).
    #[test]
    fn as_in_r() {
        close(power(1.0, 0.5, 20, 0.05), 0.564_504, 1e-5);
        close(power(1.0, 0.0, 3, 0.05), 0.05, 1e-6);
        close(power(1.0, 0.0, 2, 0.05), 0.05, 1e-5);
    }

    #[test]
    fn minimum_detectable_inverts_power() {
        for n in [2, 6, 20, 200] {
            let delta = minimum_detectable(0.02, n, 0.05, 0.8);
            close(power(0.02, delta, n, 0.05), 0.8, 1e-4);
        }
        assert!(minimum_detectable(1.0, 1, 0.05, 0.8).is_infinite());
    }

    #[test]
    fn more_observations() {
        let xs = [0.02, -0.01, 0.03, 0.00, 0.01, -0.02, 0.04, 0.01];
        let estimate = t_estimate(&xs, 0.95).unwrap();
        let more = observations_to_decide(&estimate, 0.001, 0.05, 0.05).unwrap();
        let sd = estimate.se * 8f64.sqrt();
        let half = |n: usize, alpha: f64| t_critical(alpha, n as f64 - 1.0) * sd / (n as f64).sqrt();
        assert!(more > 0 && half(8 + more, 0.05) < estimate.mean && half(7 + more, 0.05) >= estimate.mean);
        // Of six questions a difference takes more, and equivalence does not.
        let of_six = observations_to_decide(&estimate, 0.001, 0.05, 0.05 / 6.0).unwrap();
        assert!(of_six > more && half(8 + of_six, 0.05 / 6.0) < estimate.mean, "{of_six} against {more}");
        assert!(half(7 + of_six, 0.05 / 6.0) >= estimate.mean);
        let wide = 3.0 * estimate.mean;
        let alike = |alpha| observations_to_decide(&estimate, wide, 0.05, alpha).unwrap();
        assert_eq!(alike(0.05), alike(0.05 / 6.0));
        assert_eq!(observations_to_decide(&estimate, 1.0, 0.05, 0.05), Some(0));
        assert_eq!(observations_to_decide(&t_estimate(&[1.0, -1.0], 0.95).unwrap(), 0.0, 0.05, 0.05), None);
    }
}
