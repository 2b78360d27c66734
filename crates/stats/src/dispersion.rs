//! Is one arm steadier? The ratio of the scales of two arms' log-values.
//!
//! The scale is the mean absolute deviation from the median: half-way to the MAD in robustness, far less noisy at n =
//! 10–40, and with a known variance. Chosen by simulation (3000 runs, n = 8–40 an arm, 95 % intervals): it covers
//! 0.955–0.975 for normal, 0.94–0.95 for t3 and 0.91–0.94 for stall-ridden data; the jackknife of ln SD 0.94, 0.89–0.92
//! and 0.85–0.90; the jackknife of ln MAD 0.61–0.79. The blocked form covers 0.93–0.955 for all three, at 1.4–1.8 times
//! the width: prefer it where blocks exist.
use crate::mean::{Estimate, moments};
use crate::quantile::median;

/// The logarithm of one arm's scale and the variance of that estimate.
struct LogScale {
    value: f64,
    variance: f64,
    n: f64,
}

/// Bonett & Seier 2003: ln(c·τ) with c = n/(n − 1) and variance (δ² + γ² − 1)/n, δ = (mean − median)/τ, γ² = s²/τ².
fn log_scale(xs: &[f64]) -> Option<LogScale> {
    let (mean, variance) = moments(xs)?;
    let n = xs.len() as f64;
    let centre = median(xs);
    let tau = xs.iter().map(|x| (x - centre).abs()).sum::<f64>() / n;
    let log_variance = (((mean - centre) / tau).powi(2) + variance / (tau * tau) - 1.0) / n;
    (tau > 0.0 && xs.len() >= 4).then(|| LogScale { value: (tau * n / (n - 1.0)).ln(), variance: log_variance, n })
}

/// ln(scale of `b` / scale of `a`) for independent log-values: negative when B is steadier. Intervals after Bonett &
/// Seier (*JSPI* 2003, mean absolute deviations in one and two samples) with a t instead of a normal multiplier. `None`
/// for fewer than four values in an arm, one that is not finite, or an arm without spread.
pub fn dispersion_ratio(a: &[f64], b: &[f64], level: f64) -> Option<Estimate> {
    let (a, b) = (log_scale(a)?, log_scale(b)?);
    let variance = a.variance + b.variance;
    let df = variance.powi(2) / (a.variance.powi(2) / (a.n - 1.0) + b.variance.powi(2) / (b.n - 1.0));
    Some(Estimate::from_t(b.value - a.value, variance.sqrt(), (a.n + b.n) as usize, df, level))
}

/// The same ratio free of block effects: `a[i]` and `b[i]` are the log-values of block i, deviations are taken from the
/// median of their own block and arm, and the spread of the estimate comes from leaving out one block at a time (t with
/// blocks − 1). Drift between blocks does not count as dispersion; with two values per block and arm it costs half the
/// information. Blocks with fewer than two values in an arm are left out; `None` below four blocks, or without spread
/// in an arm.
pub fn dispersion_ratio_blocked(a: &[Vec<f64>], b: &[Vec<f64>], level: f64) -> Option<Estimate> {
    let blocks: Vec<Block> = a.iter().zip(b).filter_map(|(a, b)| Some([deviation(a)?, deviation(b)?])).collect();
    let n = blocks.len() as f64;
    if blocks.len() < 4 {
        return None;
    }
    let mut sums: Block = [(0.0, 0.0); 2];
    for (arm, block) in blocks.iter().flat_map(|block| block.iter().enumerate()) {
        sums[arm] = (sums[arm].0 + block.0, sums[arm].1 + block.1);
    }
    let log_ratio = |[a, b]: Block| (b.0 / b.1).ln() - (a.0 / a.1).ln();
    let all = log_ratio(sums);
    let pseudo_value = |block: &Block| {
        let rest = [0, 1].map(|arm| (sums[arm].0 - block[arm].0, sums[arm].1 - block[arm].1));
        n * all - (n - 1.0) * log_ratio(rest)
    };
    let (_, variance) = moments(&blocks.iter().map(pseudo_value).collect::<Vec<f64>>())?;
    let observations = a.iter().chain(b).map(Vec::len).sum();
    all.is_finite().then(|| Estimate::from_t(all, (variance / n).sqrt(), observations, n - 1.0, level))
}

/// Per arm: the summed deviation of a block and its degrees of freedom.
type Block = [(f64, f64); 2];

/// Σ |x − median| of one block and arm, and the degrees of freedom behind it.
fn deviation(xs: &[f64]) -> Option<(f64, f64)> {
    if xs.len() < 2 || xs.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let centre = median(xs);
    Some((xs.iter().map(|x| (x - centre).abs()).sum(), xs.len() as f64 - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_an_arm_shifts_the_log_ratio() {
        let a = [0.1, -0.3, 0.2, 0.5, -0.1, 0.05, -0.6, 0.4];
        let b: Vec<f64> = a.iter().map(|x| 7.0 + 3.0 * x).collect();
        let e = dispersion_ratio(&a, &b, 0.95).unwrap();
        assert!((e.mean - 3f64.ln()).abs() < 1e-12 && e.interval.contains(3f64.ln()));
        assert_eq!(dispersion_ratio(&a, &[1.0; 8], 0.95), None);
    }

    #[test]
    fn block_effects_do_not_count() {
        let noise = [0.01, -0.02, 0.03, 0.005, -0.04, 0.02];
        let arm = |scale: f64| -> Vec<Vec<f64>> {
            noise.iter().enumerate().map(|(i, x)| vec![i as f64 + scale * x, i as f64 - scale * x]).collect()
        };
        let e = dispersion_ratio_blocked(&arm(1.0), &arm(0.5), 0.95).unwrap();
        assert!((e.mean - 0.5f64.ln()).abs() < 1e-9, "{e:?}");
    }
}
