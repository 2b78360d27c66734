//! A t-mixture confidence sequence: an interval for a mean that holds at every sample size at once, so one may stop for
//! any reason at any time. The price is width, about 1.6 times the fixed-n interval where it is tuned.
//!
//! Under a N(0, g) mixture on the effect size mean/SD and the right-Haar measure on the unknown SD, the Bayes factor
//! against "the mean is m" is a function of the t statistic alone and a martingale in n when m is true (Lai 1976; Gönen
//! et al. 2005 for the closed form; Pérez-Ortiz et al. 2024 and Wang & Ramdas 2023, "Anytime-valid t-tests and
//! confidence sequences for Gaussian means with unknown variance", for validity under optional stopping). By Ville's
//! inequality it exceeds 1/α ever with probability at most α; the interval is the set of m for which it does not.
use crate::mean::{Estimate, Interval, moments};

/// The sequence for one error probability and one tuning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TMixture {
    alpha: f64,
    effect_variance: f64,
}

impl TMixture {
    /// Prior variance of the effect size for intervals that are narrow around n = 20–50 at α = 0.05: within 1.5 % of
    /// the best possible width over that range (`tuned_for` gives 0.52 at n = 20, 0.18 at 50). Finite from n = 6, of
    /// use from n = 8 on.
    pub const DEFAULT_TUNING: f64 = 0.4;

    /// `alpha` is the chance of ever missing; `effect_variance` (g > 0) is the prior variance of mean/SD, larger for a
    /// sequence narrow early, smaller for one narrow late. Must be chosen before the data. Values out of range make
    /// every interval `None`.
    pub fn new(alpha: f64, effect_variance: f64) -> Self {
        Self { alpha, effect_variance }
    }

    /// The tuning that makes the interval at `n` observations as narrow as it can be (golden section on ln g).
    pub fn tuned_for(alpha: f64, n: usize) -> Self {
        let width = |log_g: f64| Self::new(alpha, log_g.exp()).multiplier(n.max(3)).unwrap_or(f64::INFINITY);
        let ratio = 0.5 * (5.0f64.sqrt() - 1.0);
        let (mut lo, mut hi) = (-14.0f64, 14.0f64);
        while hi - lo > 1e-6 {
            let (left, right) = (hi - ratio * (hi - lo), lo + ratio * (hi - lo));
            // Infinite widths lie at the small-g end, so a tie of infinities moves right.
            if width(left) < width(right) { hi = right } else { lo = left }
        }
        Self::new(alpha, (0.5 * (lo + hi)).exp())
    }

    /// Half-width of the interval in standard errors at `n` observations; `None` while n is too small for a finite one.
    pub fn multiplier(&self, n: usize) -> Option<f64> {
        let df = n.checked_sub(1).filter(|&df| df > 0)? as f64;
        let shrink = 1.0 + n as f64 * self.effect_variance;
        // Bayes factor < 1/α  ⇔  1 + u < q(1 + u/shrink), with u = t²/df.
        let q = (shrink / (self.alpha * self.alpha)).powf(1.0 / n as f64);
        let usable = self.alpha > 0.0 && self.alpha < 1.0 && self.effect_variance > 0.0 && q < shrink;
        usable.then(|| (df * (q - 1.0) / (1.0 - q / shrink)).sqrt())
    }

    /// Bayes factor against a true value of zero given the t statistic at `n`.
    fn bayes_factor(&self, t: f64, n: usize) -> f64 {
        let (n, df) = (n as f64, n as f64 - 1.0);
        let shrink = 1.0 + n * self.effect_variance;
        if t.is_infinite() {
            return shrink.powf(0.5 * (n - 1.0));
        }
        let u = t * t / df;
        ((1.0 + u) / (1.0 + u / shrink)).powf(0.5 * n) / shrink.sqrt()
    }

    /// The interval after all of `xs`, in the order they came or any other. `p_value` is the always-valid min(1,
    /// 1/Bayes factor) at this n. `None` while the interval is unbounded (below 6 observations at the default tuning
    /// and α = 0.05), or when an observation is not finite. Equal observations give length zero, as in
    /// [`crate::t_estimate`].
    pub fn interval(&self, xs: &[f64]) -> Option<Estimate> {
        let (mean, variance) = moments(xs)?;
        let n = xs.len();
        let se = (variance / n as f64).sqrt();
        let half = self.multiplier(n)? * se;
        let t = if mean == 0.0 { 0.0 } else { mean / se };
        Some(Estimate {
            mean,
            se,
            n,
            interval: Interval { lo: mean - half, hi: mean + half, level: 1.0 - self.alpha },
            p_value: (1.0 / self.bayes_factor(t, n)).min(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interval's end is where the Bayes factor against it is 1/α, by definition.
    #[test]
    fn ends_are_where_the_bayes_factor_is_one_over_alpha() {
        let sequence = TMixture::new(0.05, TMixture::DEFAULT_TUNING);
        for n in [6, 20, 200] {
            let t = sequence.multiplier(n).unwrap();
            assert!((sequence.bayes_factor(t, n) - 20.0).abs() < 1e-6);
        }
    }

    /// Gönen et al.'s form by numerical mixture: ∫ noncentral-t / central-t over δ ~ N(0, g), here checked through its
    /// large-n limit, the normal mixture sqrt(1/(1+ng)) exp(z²/2 · ng/(1+ng)).
    #[test]
    fn tends_to_the_normal_mixture() {
        let (n, g, z) = (1_000_000usize, 1e-6, 2.0f64);
        let normal = (0.5f64).sqrt() * (0.5 * z * z * 0.5).exp();
        assert!((TMixture::new(0.05, g).bayes_factor(z, n) / normal - 1.0).abs() < 1e-4);
    }

    #[test]
    fn default_tuning_is_near_the_best_for_20_to_50() {
        let default = TMixture::new(0.05, TMixture::DEFAULT_TUNING);
        assert!(default.multiplier(5).is_none() && default.multiplier(6).is_some());
        for n in [20, 30, 40, 50] {
            let best = TMixture::tuned_for(0.05, n);
            let loss = default.multiplier(n).unwrap() / best.multiplier(n).unwrap();
            assert!((1.0..1.02).contains(&loss), "n {n}: {loss}, best {best:?}");
        }
    }

    #[test]
    fn degenerate_samples() {
        let sequence = TMixture::new(0.05, TMixture::DEFAULT_TUNING);
        let equal = sequence.interval(&[0.2; 8]).unwrap();
        assert!(equal.interval.half_width() == 0.0 && equal.p_value < 0.05);
        assert_eq!(sequence.interval(&[0.0; 8]).unwrap().p_value, 1.0);
        assert_eq!(sequence.interval(&[1.0, 2.0]), None);
        assert_eq!(TMixture::new(0.0, 1.0).interval(&[1.0; 9]), None);
    }
}
