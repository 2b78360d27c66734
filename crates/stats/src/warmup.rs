//! How many leading observations to drop as warm-up.

/// Fewer observations than this say nothing about a warm-up.
const FEWEST: usize = 12;
/// From here on the series is averaged in batches of 5, the "5" of MSER-5, so that single spikes cannot steer the cut.
const BATCHED_FROM: usize = 60;
/// The cut must bring the squared standard error below this share of the uncut one, or noise alone would trim series.
const GAIN: f64 = 0.75;

/// Leading observations to discard, by the marginal standard error rule (MSER; White 1997, batched as in MSER-5): the
/// cut that minimises Σ(x − mean)²/m² of the m values left. Looked for in the first half and accepted only in the first
/// third: a minimum further in means a series that never settles, which no cut repairs, so nothing is cut and the
/// design has to cancel the drift.
///
/// Feed it the series pooled by position over the units of *both* arms (e.g. the median at each position) and cut both
/// arms alike: a rule that has not seen the arms cannot favour one. Zero for fewer than 12 observations or when one is
/// not finite.
pub fn warmup_cut(series: &[f64]) -> usize {
    if series.len() < FEWEST || series.iter().any(|x| !x.is_finite()) {
        return 0;
    }
    let batch = if series.len() >= BATCHED_FROM { 5 } else { 1 };
    let means: Vec<f64> = series.chunks_exact(batch).map(|c| c.iter().sum::<f64>() / batch as f64).collect();
    let errors: Vec<f64> = (0..=means.len() / 2).map(|cut| squared_standard_error(&means[cut..])).collect();
    let best = (0..errors.len()).min_by(|&i, &j| errors[i].total_cmp(&errors[j])).unwrap_or(0);
    let worthwhile = errors[best] < GAIN * errors[0] && 3 * best <= means.len();
    if worthwhile { best * batch } else { 0 }
}

fn squared_standard_error(xs: &[f64]) -> f64 {
    let n = xs.len() as f64;
    let mean = xs.iter().sum::<f64>() / n;
    xs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn noisy(n: usize, seed: u64, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|i| value(i) + 0.1 * random.normal()).collect()
    }

    #[test]
    fn cuts_a_decay_where_it_ends() {
        let cut = warmup_cut(&noisy(100, 1, |i| 3.0 * (-(i as f64) / 5.0).exp()));
        assert!((10..=25).contains(&cut), "{cut}");
        let cut = warmup_cut(&noisy(24, 2, |i| if i < 3 { -1.0 } else { 0.0 }));
        assert_eq!(cut, 3);
    }

    #[test]
    fn leaves_noise_and_drift_alone() {
        let trimmed = (0..100).filter(|&seed| warmup_cut(&noisy(100, seed, |_| 0.0)) > 0).count();
        assert!(trimmed <= 5, "{trimmed} of 100");
        assert_eq!(warmup_cut(&noisy(100, 3, |i| 0.1 * i as f64)), 0);
        assert_eq!(warmup_cut(&[9.0, 0.0, 0.0]), 0);
    }
}
