//! How small an effect a plan can detect, and how many observations a verdict needs, for the two-sided one-sample t
//! test on (block) log-ratios with standard deviation `sd`.
use crate::distribution::{normal_cdf, t_critical};
use crate::mean::Interval;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::gamma::ln_gamma;

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

/// The smallest effect (in the unit of `sd`) that `n` observations detect with probability `power` at two-sided
/// `alpha`, from the noncentral t; relative error below 1e-4. Infinite for n < 2, NaN for arguments outside 0 < alpha <
/// power < 1.
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

/// The question that more observations should decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecisionTarget {
    /// The assumed true mean, in the unit of the observations.
    pub delta: f64,
    /// The smallest effect of interest, in the same unit; 0 when equivalence is not asked for.
    pub sesoi: f64,
    /// Two-sided error rate of the interval, by which equivalence is judged.
    pub alpha: f64,
    /// The p that a difference must reach; below `alpha` if it is corrected for other questions.
    pub alpha_difference: f64,
    /// The probability of deciding it.
    pub power: f64,
}

/// Total number of observations that decide the question with its power if their standard deviation is `sd`: the t
/// interval excludes zero at 1 − `alpha_difference`, or lies inside ±`sesoi` at 1 − `alpha`. At least `from`; `None`
/// beyond `most`, or if `sd` is not a positive number.
pub fn observations_to_decide(sd: f64, question: &DecisionTarget, from: usize, most: usize) -> Option<usize> {
    let DecisionTarget { delta, sesoi, alpha, alpha_difference, power: wanted } = *question;
    let delta = delta.abs();
    if !(sd > 0.0 && sd.is_finite() && delta.is_finite()) {
        return None;
    }
    let fits = |n: usize| {
        if sesoi <= delta {
            return 0.0;
        }
        // Inside on both sides. The chance of missing both at once is counted twice, which is on the safe side.
        let (df, scale) = (n as f64 - 1.0, (n as f64).sqrt() / sd);
        let critical = t_critical(alpha, df);
        let inside = |margin: f64| power_at(margin * scale, df, critical);
        inside(sesoi - delta) + inside(sesoi + delta) - 1.0
    };
    let decided = |n: usize| power(sd, delta, n, alpha_difference) >= wanted || fits(n) >= wanted;
    fewest(from.max(2), most, decided)
}

/// The interval of a standard deviation from that of `n` normal observations, by χ².
pub fn sd_interval(sd: f64, n: usize, level: f64) -> Option<Interval> {
    let df = n.checked_sub(1).filter(|&df| df > 0)? as f64;
    let chi_squared = ChiSquared::new(df).ok()?;
    let at = |p: f64| sd * (df / chi_squared.inverse_cdf(p)).sqrt();
    let tail = 0.5 * (1.0 - level);
    Some(Interval { lo: at(1.0 - tail), hi: at(tail), level })
}

/// A range of numbers of observations; an end is `None` if it is beyond the limit that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observations {
    /// If the spread is at the lower end of its interval.
    pub least: Option<usize>,
    /// If it is at the upper end.
    pub most: Option<usize>,
}

/// Total number of observations that decide a question, given the SD of `n` of them: a range from the interval of that
/// SD at `level`. At that level the range contains the number for the true SD (for normal observations; see
/// `tests/coverage.rs`). It assumes the mean in the question. Numbers above `limit` are not searched.
pub fn range_to_decide(sd: f64, n: usize, question: &DecisionTarget, level: f64, limit: usize) -> Option<Observations> {
    let sds = sd_interval(sd, n, level)?;
    let with = |sd: f64| observations_to_decide(sd, question, n, limit);
    (sd > 0.0 && sd.is_finite()).then(|| Observations { least: with(sds.lo), most: with(sds.hi) })
}

/// The smallest n from `from` to `most` for which a condition that stays true once true holds, by bisection.
fn fewest(from: usize, most: usize, enough: impl Fn(usize) -> bool) -> Option<usize> {
    if enough(from) {
        return Some(from);
    }
    if most <= from || !enough(most) {
        return None;
    }
    let (mut lo, mut hi) = (from, most);
    while hi - lo > 1 {
        let mid = lo + (hi - lo) / 2;
        if enough(mid) { hi = mid } else { lo = mid }
    }
    Some(hi)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    const ASKED: DecisionTarget =
        DecisionTarget { delta: 0.01, sesoi: 0.001, alpha: 0.05, alpha_difference: 0.05, power: 0.8 };

    #[test]
    fn the_number_that_decides_is_the_first_with_the_power() {
        let n = observations_to_decide(0.02, &ASKED, 6, 10_000).unwrap();
        assert!(power(0.02, 0.01, n, 0.05) >= 0.8 && power(0.02, 0.01, n - 1, 0.05) < 0.8, "{n}");
        // With six questions a difference needs more observations; equivalence does not.
        let of_six = DecisionTarget { alpha_difference: 0.05 / 6.0, ..ASKED };
        assert!(observations_to_decide(0.02, &of_six, 6, 10_000).unwrap() > n);
        let alike = |alpha_difference| {
            let question = DecisionTarget { delta: 0.001, sesoi: 0.03, alpha_difference, ..ASKED };
            observations_to_decide(0.02, &question, 6, 10_000).unwrap()
        };
        assert_eq!(alike(0.05), alike(0.05 / 6.0));
        assert_eq!(observations_to_decide(0.02, &ASKED, 100, 10_000), Some(100), "enough already");
        assert_eq!(observations_to_decide(0.02, &ASKED, 6, n - 1), None, "not within that limit");
        assert_eq!(observations_to_decide(0.0, &ASKED, 6, 100), None);
    }

    /// χ² quantiles of 5 degrees of freedom, from tables: 1.610 (10 %), 9.236 (90 %).
    #[test]
    fn the_interval_of_an_sd() {
        let got = sd_interval(1.0, 6, 0.8).unwrap();
        close(got.lo, (5.0f64 / 9.236_4).sqrt(), 1e-4);
        close(got.hi, (5.0f64 / 1.610_3).sqrt(), 1e-4);
        assert_eq!(sd_interval(1.0, 1, 0.8), None);
    }
}
