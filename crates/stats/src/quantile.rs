//! Quantiles inside one sample, and how far they can be trusted.
use crate::mean::Interval;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Quantile `q` (0 to 1) of a rising slice, linear between order statistics (type 7 of Hyndman & Fan 1996, R's default).
/// NaN for an empty slice.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let part = position - below as f64;
    // Equal neighbours (infinities included) need no interpolation, which would give NaN.
    if part == 0.0 || sorted[below] == sorted[above] {
        return sorted[below];
    }
    sorted[below] + part * (sorted[above] - sorted[below])
}

/// A rising copy, NaN last.
pub(crate) fn sorted(xs: &[f64]) -> Vec<f64> {
    let mut copy = xs.to_vec();
    copy.sort_by(f64::total_cmp);
    copy
}

/// Median of a slice in any order; NaN for an empty one.
pub fn median(xs: &[f64]) -> f64 {
    quantile(&sorted(xs), 0.5)
}

/// Median absolute deviation from the median, unscaled: multiply by 1.4826 for the SD of a normal sample. NaN when empty.
pub fn mad(xs: &[f64]) -> f64 {
    let centre = median(xs);
    let deviations: Vec<f64> = xs.iter().map(|x| (x - centre).abs()).collect();
    median(&deviations)
}

/// Distribution-free interval for quantile `q` from the order statistics of a rising slice of independent observations
/// (Conover, *Practical Nonparametric Statistics*, 3.2): each side misses with probability at most (1 − level)/2, so the
/// coverage is at least `level`. `None` when the slice is too short for that (six observations for a 95 % median).
pub fn order_statistic_interval(sorted: &[f64], q: f64, level: f64) -> Option<Interval> {
    let n = sorted.len() as u64;
    if n == 0 || !(0.0..=1.0).contains(&q) || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let count_below = Binomial::new(q, n).ok()?;
    let tail = (1.0 - level) / 2.0;
    // With the r-th smallest as lower end, the interval misses when fewer than r observations lie below the quantile.
    let r = (0..n).take_while(|&r| count_below.cdf(r) <= tail).count();
    // With the s-th smallest as upper end it misses when at least s lie below: P(count >= s) = sf(s - 1).
    let s = 1 + (0..n).take_while(|&k| count_below.sf(k) > tail).count();
    (r >= 1 && s <= sorted.len()).then(|| Interval { lo: sorted[r - 1], hi: sorted[s - 1], level })
}

/// Whether `n` observations expect at least 10 beyond quantile `q` (on its thinner side), the least for reporting it at all.
pub fn enough_tail(n: u64, q: f64) -> bool {
    // The tolerance keeps n = 10 000 at q = 0.999 in, where 1 − q rounds to just under 0.001.
    n as f64 * q.min(1.0 - q) >= 10.0 - 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_7_as_in_r() {
        let xs = [1.0, 2.0, 4.0, 8.0, 16.0];
        assert_eq!(quantile(&xs, 0.5), 4.0);
        assert!((quantile(&xs, 0.9) - 12.8).abs() < 1e-12);
        assert_eq!(quantile(&xs, 1.0), 16.0);
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), 2.5);
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), 1.0);
    }

    /// Conover's table of the sign test: at 95 %, n = 6 gives the extremes, n = 10 ranks 2 and 9, n = 20 ranks 6 and 15.
    #[test]
    fn median_interval_ranks() {
        let ranks = |n: usize| {
            let xs: Vec<f64> = (1..=n).map(|i| i as f64).collect();
            order_statistic_interval(&xs, 0.5, 0.95).map(|i| (i.lo, i.hi))
        };
        assert_eq!(ranks(5), None);
        assert_eq!(ranks(6), Some((1.0, 6.0)));
        assert_eq!(ranks(10), Some((2.0, 9.0)));
        assert_eq!(ranks(20), Some((6.0, 15.0)));
    }

    #[test]
    fn tail_needs_ten() {
        assert!(enough_tail(10_000, 0.999) && !enough_tail(9_999, 0.999));
        assert!(enough_tail(20, 0.5) && !enough_tail(19, 0.5));
    }
}
