//! Interleaved pairs of two measurements, their order by a coin, and the interval of their ratio.

use anyhow::Result;
use schedlab_stats::Estimate;

/// The ratio of two interleaved measurements.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    /// Geometric mean of b / a.
    pub ratio: f64,
    /// Lower end of the 95 % interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Pairs.
    pub pairs: usize,
}

impl Ratio {
    /// From an estimate of log-ratios.
    pub fn from_logs(logs: &[f64]) -> Option<Self> {
        let Estimate { mean, interval, n, .. } = schedlab_stats::t_estimate(logs, 0.95)?;
        Some(Self { ratio: mean.exp(), lo: interval.lo.exp(), hi: interval.hi.exp(), pairs: n })
    }

    /// Whether the whole interval lies between two bounds.
    pub fn within(&self, lo: f64, hi: f64) -> bool {
        self.lo >= lo && self.hi <= hi
    }
}

/// Runs `pairs` pairs, first one of each as warm-up, and answers the log-ratios ln(b / a).
pub fn interleave(
    pairs: usize,
    seed: u64,
    a: impl FnMut() -> Result<f64>,
    b: impl FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    let found = interleave_by(pairs, seed, a, b)?;
    Ok(found.into_iter().map(|(left, right)| (right / left).ln()).collect())
}

/// The same for measurements of several figures: the pairs `(a, b)` themselves.
pub fn interleave_by<T>(
    pairs: usize,
    seed: u64,
    mut a: impl FnMut() -> Result<T>,
    mut b: impl FnMut() -> Result<T>,
) -> Result<Vec<(T, T)>> {
    a()?;
    b()?;
    let mut coin = seed | 1;
    let mut found = Vec::with_capacity(pairs);
    for _ in 0..pairs {
        // xorshift64: a coin for the order within a pair, nothing more.
        coin ^= coin << 13;
        coin ^= coin >> 7;
        coin ^= coin << 17;
        found.push(if coin & 1 == 0 {
            let left = a()?;
            (left, b()?)
        } else {
            let right = b()?;
            (a()?, right)
        });
    }
    Ok(found)
}
