//! Quantiles inside one sample, and how far they can be trusted.

/// Quantile `q` (0 to 1) of a rising slice, linear between order statistics (type 7 of Hyndman & Fan 1996, R's
/// default). NaN for an empty slice.
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
    copy.sort_unstable_by(f64::total_cmp);
    copy
}

/// Median of a slice in any order; NaN for an empty one.
pub fn median(xs: &[f64]) -> f64 {
    quantile(&sorted(xs), 0.5)
}

/// Median absolute deviation from the median, unscaled: multiply by 1.4826 for the SD of a normal sample. NaN when
/// empty.
pub fn mad(xs: &[f64]) -> f64 {
    let centre = median(xs);
    let deviations: Vec<f64> = xs.iter().map(|x| (x - centre).abs()).collect();
    median(&deviations)
}

/// Whether `n` observations expect at least 10 beyond quantile `q` (on its thinner side), the least for reporting it at
/// all.
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

    #[test]
    fn tail_needs_ten() {
        assert!(enough_tail(10_000, 0.999) && !enough_tail(9_999, 0.999));
        assert!(enough_tail(20, 0.5) && !enough_tail(19, 0.5));
    }
}
