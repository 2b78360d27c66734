//! Rank methods: Hodges–Lehmann shifts with the intervals that belong to them, and the Wilcoxon, Mann–Whitney and sign
//! tests. Exact for small samples without ties, normal with continuity and tie correction otherwise.
use crate::distribution::{normal_quantile, normal_sf};
use crate::mean::Interval;
use crate::pairs::{differences, means};
use crate::quantile::median;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Largest one-sample n, and largest n of either arm, for which the exact null distribution is counted.
const EXACT: usize = 50;

/// A shift with its interval, in the unit of the observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The Hodges–Lehmann estimate.
    pub shift: f64,
    /// Observations behind it (both arms together).
    pub n: usize,
    /// The interval; infinite when `level` cannot be reached with so few observations (below 6 in one sample at 95 %).
    pub interval: Interval,
    /// p of the matching two-sided rank test against zero shift.
    pub p_value: f64,
}

/// Null probabilities of Wilcoxon's W+ (sum of a random subset of 1..=n) as counts over 2^n.
fn signed_rank_distribution(n: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; n * (n + 1) / 2 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=n {
        for w in (0..probabilities.len()).rev() {
            let with = if w >= rank { probabilities[w - rank] } else { 0.0 };
            probabilities[w] = 0.5 * (probabilities[w] + with);
        }
    }
    probabilities
}

/// Null probabilities of Mann–Whitney's U for arms of `m` and `n`: the Gaussian binomial coefficients, built factor by
/// factor.
fn rank_sum_distribution(m: usize, n: usize) -> Vec<f64> {
    let size = m * n + 1;
    let mut counts = vec![0.0; size];
    counts[0] = 1.0;
    for i in 1..=m {
        // × (1 − x^(n+i)) / (1 − x^i), then scaled to keep the sum at 1.
        for u in (n + i..size).rev() {
            counts[u] -= counts[u - n - i];
        }
        for u in i..size {
            counts[u] += counts[u - i];
        }
        let scale = i as f64 / (n + i) as f64;
        counts.iter_mut().for_each(|c| *c *= scale);
    }
    counts
}

/// Two-sided p: twice the smaller tail of a symmetric null distribution at `statistic`.
fn exact_p(null: &[f64], statistic: f64) -> f64 {
    let low = statistic.min((null.len() - 1) as f64 - statistic) as usize;
    (2.0 * null[..=low].iter().sum::<f64>()).min(1.0)
}

/// How many of the smallest pairwise values the lower end may skip: the largest k with P(statistic < k) ≤ tail.
fn skip(null: &[f64], tail: f64) -> usize {
    let mut below = 0.0;
    null.iter()
        .take_while(|&&p| {
            below += p;
            below <= tail
        })
        .count()
}

/// The same from the normal approximation, rounded to the wider side.
fn skip_normal(mean: f64, sd: f64, tail: f64) -> usize {
    (mean - 0.5 + normal_quantile(tail) * sd).floor().max(0.0) as usize
}

/// Interval between the pairwise values that excludes `skip` of them on each side. `of_rank` gives the value at a rank,
/// from 1.
fn pairwise_interval(pairs: usize, of_rank: impl Fn(usize) -> f64, skip: usize, level: f64) -> Interval {
    match skip {
        0 => Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY, level },
        skip => Interval { lo: of_rank(skip), hi: of_rank(pairs + 1 - skip), level },
    }
}

/// The median of the pairwise values.
fn middle(pairs: usize, of_rank: impl Fn(usize) -> f64) -> f64 {
    median(&[of_rank(pairs.div_ceil(2)), of_rank(pairs / 2 + 1)])
}

fn all_finite(xs: &[f64]) -> bool {
    !xs.is_empty() && xs.iter().all(|x| x.is_finite())
}

/// Centre of a symmetric distribution: the median of all pairwise means, with the interval of the signed-rank test
/// (Hollander, Wolfe & Chicken, *Nonparametric Statistical Methods*, 3.2–3.3). `None` for an empty sample or one not
/// finite.
pub fn hodges_lehmann(xs: &[f64], level: f64) -> Option<Shift> {
    let p_value = if all_finite(xs) { wilcoxon_signed_rank(xs).unwrap_or(1.0) } else { return None };
    let n = xs.len();
    let walsh = means(xs);
    let pairs = n * (n + 1) / 2;
    let tail = (1.0 - level) / 2.0;
    let size = n as f64;
    let skip = if n <= EXACT {
        skip(&signed_rank_distribution(n), tail)
    } else {
        skip_normal(size * (size + 1.0) / 4.0, (size * (size + 1.0) * (2.0 * size + 1.0) / 24.0).sqrt(), tail)
    };
    Some(Shift { shift: middle(pairs, &walsh), n, interval: pairwise_interval(pairs, walsh, skip, level), p_value })
}

/// Shift from `a` to `b`: the median of all differences b − a, with the interval of the Mann–Whitney test (ibid.
/// 4.2–4.3). `None` when an arm is empty or not finite.
pub fn hodges_lehmann_shift(a: &[f64], b: &[f64], level: f64) -> Option<Shift> {
    let p_value = mann_whitney(a, b)?;
    let difference = differences(a, b);
    let (m, n) = (a.len(), b.len());
    let tail = (1.0 - level) / 2.0;
    let skip = if m.max(n) <= EXACT {
        skip(&rank_sum_distribution(m, n), tail)
    } else {
        skip_normal((m * n) as f64 / 2.0, ((m * n * (m + n + 1)) as f64 / 12.0).sqrt(), tail)
    };
    Some(Shift {
        shift: middle(m * n, &difference),
        n: m + n,
        interval: pairwise_interval(m * n, difference, skip, level),
        p_value,
    })
}

/// Average ranks from 1 of each value, and Σ(t³ − t) over the groups of ties.
fn ranks(xs: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..xs.len()).collect();
    order.sort_by(|&i, &j| xs[i].total_cmp(&xs[j]));
    let (mut ranks, mut ties, mut start) = (vec![0.0; xs.len()], 0.0, 0);
    for group in order.chunk_by(|&i, &j| xs[i] == xs[j]) {
        let size = group.len() as f64;
        group.iter().for_each(|&i| ranks[i] = start as f64 + (size + 1.0) / 2.0);
        ties += size.powi(3) - size;
        start += group.len();
    }
    (ranks, ties)
}

/// Two-sided normal p of a rank statistic with continuity correction.
fn normal_p(statistic: f64, mean: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    (2.0 * normal_sf(((statistic - mean).abs() - 0.5).max(0.0) / variance.sqrt())).min(1.0)
}

/// Wilcoxon's signed-rank test that `xs` is symmetric about zero: two-sided p. Zeros are dropped; exact up to 50 values
/// without ties. `None` when nothing but zeros is left, or a value is not finite.
pub fn wilcoxon_signed_rank(xs: &[f64]) -> Option<f64> {
    let xs: Vec<f64> = xs.iter().copied().filter(|&x| x != 0.0).collect();
    if !all_finite(&xs) {
        return None;
    }
    let magnitudes: Vec<f64> = xs.iter().map(|x| x.abs()).collect();
    let (ranks, ties) = ranks(&magnitudes);
    let w: f64 = ranks.iter().zip(&xs).filter(|&(_, &x)| x > 0.0).map(|(r, _)| r).sum();
    let n = xs.len() as f64;
    if ties == 0.0 && xs.len() <= EXACT {
        return Some(exact_p(&signed_rank_distribution(xs.len()), w));
    }
    Some(normal_p(w, n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0))
}

/// Mann–Whitney's U test that neither arm tends to be larger: two-sided p. Exact up to 50 values an arm without ties.
/// `None` when an arm is empty or not finite.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    if !(all_finite(a) && all_finite(b)) {
        return None;
    }
    let pooled = [a, b].concat();
    let (ranks, ties) = ranks(&pooled);
    let (m, n) = (a.len() as f64, b.len() as f64);
    let u = ranks[..a.len()].iter().sum::<f64>() - m * (m + 1.0) / 2.0;
    if ties == 0.0 && a.len().max(b.len()) <= EXACT {
        return Some(exact_p(&rank_sum_distribution(a.len(), b.len()), u));
    }
    let total = m + n;
    Some(normal_p(u, m * n / 2.0, m * n / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)).max(1.0))))
}

/// Exact sign test that the median is zero: two-sided binomial p; zeros are dropped. `None` when nothing is left or a
/// value is not finite.
pub fn sign_test(xs: &[f64]) -> Option<f64> {
    let positive = xs.iter().filter(|&&x| x > 0.0).count() as u64;
    let negative = xs.iter().filter(|&&x| x < 0.0).count() as u64;
    if !all_finite(xs) || positive + negative == 0 {
        return None;
    }
    let fair = Binomial::new(0.5, positive + negative).ok()?;
    Some((2.0 * fair.cdf(positive.min(negative))).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() < tolerance, "{got} instead of {want}");
    }

    /// Hollander & Wolfe's depression data, as in R's wilcox.test help: V = 40, one-sided p = 0.01953 (two-sided
    /// 0.03906).
    #[test]
    #[expect(clippy::approx_constant, reason = "3.14 is a score")]
    fn depression_scores() {
        let x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let y = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let d: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
        close(wilcoxon_signed_rank(&d).unwrap(), 0.039_062_5, 1e-9);
        let shift = hodges_lehmann(&d, 0.95).unwrap();
        // R: estimate 0.46, interval 0.010 to 0.786.
        close(shift.shift, 0.46, 1e-9);
        close(shift.interval.lo, 0.010, 1e-9);
        close(shift.interval.hi, 0.786, 1e-9);
    }

    /// Hollander & Wolfe's placenta permeability, R's help: W = 35, two-sided p = 0.2544.
    #[test]
    fn permeability() {
        let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let y = [1.15, 0.88, 0.90, 0.74, 1.21];
        close(mann_whitney(&x, &y).unwrap(), 0.254_412, 1e-6);
        let shift = hodges_lehmann_shift(&x, &y, 0.95).unwrap();
        close(shift.shift, -0.305, 1e-9);
        close(shift.interval.lo, -0.76, 1e-9);
        close(shift.interval.hi, 0.15, 1e-9);
    }

    /// The smallest attainable p: 2/C(8,4) and 2/C(10,5).
    #[test]
    fn smallest_p() {
        close(mann_whitney(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]).unwrap(), 2.0 / 70.0, 1e-12);
        close(sign_test(&[1.0; 6]).unwrap(), 2.0 / 64.0, 1e-12);
        assert_eq!(wilcoxon_signed_rank(&[0.0, 0.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[1.0]), Some(1.0));
        assert!(hodges_lehmann(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap().interval.lo.is_infinite());
    }

    #[test]
    fn exact_distributions_sum_to_one() {
        for null in [signed_rank_distribution(50), rank_sum_distribution(50, 50), rank_sum_distribution(3, 8)] {
            close(null.iter().sum(), 1.0, 1e-9);
        }
    }
}
