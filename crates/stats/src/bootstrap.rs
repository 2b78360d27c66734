//! Bootstrap intervals: a check beside the t interval, not a replacement. At 6–10 observations the percentile interval
//! of a mean of normal data covers 0.86–0.90 instead of 0.95 (and BCa, tried, did no better).
use crate::mean::Interval;
use crate::quantile::quantile;
use crate::random::Random;

/// Percentile bootstrap interval (Efron & Tibshirani 1993, ch. 13) of `statistic`, resampling observations with
/// replacement. `None` for fewer than two observations, no resamples, or when the statistic of some resample is NaN.
pub fn bootstrap_interval(
    xs: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    resamples: usize,
    level: f64,
    seed: u64,
) -> Option<Interval> {
    let replicates = replicates(xs, &statistic, resamples, seed)?;
    let tail = (1.0 - level) / 2.0;
    Some(Interval { lo: quantile(&replicates, tail), hi: quantile(&replicates, 1.0 - tail), level })
}

/// The statistic of each resample, rising.
fn replicates(xs: &[f64], statistic: &impl Fn(&[f64]) -> f64, resamples: usize, seed: u64) -> Option<Vec<f64>> {
    if xs.len() < 2 || resamples == 0 {
        return None;
    }
    let mut random = Random::new(seed);
    let mut resample = vec![0.0; xs.len()];
    let mut all = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        resample.fill_with(|| xs[random.below(xs.len())]);
        all.push(statistic(&resample));
    }
    all.sort_unstable_by(f64::total_cmp);
    (!all.iter().any(|r| r.is_nan())).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(xs: &[f64]) -> f64 {
        xs.iter().sum::<f64>() / xs.len() as f64
    }

    #[test]
    fn agrees_with_the_normal_interval_of_a_large_sample() {
        let mut random = Random::new(3);
        let xs: Vec<f64> = (0..400).map(|_| random.normal()).collect();
        let half = 1.96 / 20.0;
        let interval = bootstrap_interval(&xs, mean, 2000, 0.95, 1).unwrap();
        assert!((interval.half_width() / half - 1.0).abs() < 0.15, "{interval:?}");
        assert!(interval.contains(mean(&xs)));
    }

    #[test]
    fn degenerate_samples() {
        assert_eq!(bootstrap_interval(&[1.0], mean, 100, 0.95, 1), None);
        let equal = bootstrap_interval(&[2.0; 5], mean, 100, 0.95, 1).unwrap();
        assert_eq!((equal.lo, equal.hi), (2.0, 2.0));
    }
}
