//! Intervals for a proportion of `k` events in `n` independent attempts.
use crate::distribution::{beta_quantile, normal_quantile};
use crate::mean::Interval;

/// Exact interval (Clopper & Pearson 1934): covers at least `level`, often more. `None` for n = 0 or k > n.
pub fn clopper_pearson(k: u64, n: u64, level: f64) -> Option<Interval> {
    if n == 0 || k > n {
        return None;
    }
    let tail = (1.0 - level) / 2.0;
    let (hits, misses) = (k as f64, (n - k) as f64);
    let lo = if k == 0 { 0.0 } else { beta_quantile(tail, hits, misses + 1.0) };
    let hi = if k == n { 1.0 } else { beta_quantile(1.0 - tail, hits + 1.0, misses) };
    Some(Interval { lo, hi, level })
}

/// Score interval (Wilson 1927): covers `level` on average, narrower than [`clopper_pearson`]. `None` for n = 0 or k >
/// n.
pub fn wilson(k: u64, n: u64, level: f64) -> Option<Interval> {
    if n == 0 || k > n {
        return None;
    }
    let z = -normal_quantile((1.0 - level) / 2.0);
    let (n, share) = (n as f64, k as f64 / n as f64);
    let centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
    Some(Interval { lo: (centre - half).max(0.0), hi: (centre + half).min(1.0), level })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(got: Option<Interval>, lo: f64, hi: f64) {
        let got = got.unwrap();
        assert!((got.lo - lo).abs() < 5e-5 && (got.hi - hi).abs() < 5e-5, "{got:?} instead of {lo}..{hi}");
    }

    /// R: binom.test(7, 20), binom::binom.wilson(7, 20), binom.test(0, 10).
    #[test]
    fn as_in_r() {
        check(clopper_pearson(7, 20, 0.95), 0.1539, 0.5922);
        check(wilson(7, 20, 0.95), 0.1812, 0.5671);
        check(clopper_pearson(0, 10, 0.95), 0.0, 0.3085);
        check(clopper_pearson(10, 10, 0.95), 0.6915, 1.0);
        assert_eq!(clopper_pearson(1, 0, 0.95), None);
    }
}
