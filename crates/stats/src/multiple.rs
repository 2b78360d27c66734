//! Adjusted p-values for several questions asked of the same data.

/// Ranks of `p_values` from smallest; NaN sorts last and stays NaN in the result.
fn rising_order(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    order
}

/// Holm's step-down adjusted p-values (Holm 1979), in the order given: rejecting those ≤ α keeps the chance of *any*
/// false rejection ≤ α under every dependence. A NaN stays NaN but still counts as a question asked.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut running = 0.0f64;
    for (rank, &i) in rising_order(p_values).iter().enumerate().filter(|&(_, &i)| !p_values[i].is_nan()) {
        running = running.max((p_values.len() - rank) as f64 * p_values[i]).min(1.0);
        adjusted[i] = running;
    }
    adjusted
}

/// Benjamini–Hochberg step-up adjusted p-values (1995), in the order given: rejecting those ≤ q keeps the expected
/// share of false rejections ≤ q for independent or positively dependent questions. NaN as in [`holm`].
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut running = 1.0f64;
    for (rank, &i) in rising_order(p_values).iter().enumerate().rev().filter(|&(_, &i)| !p_values[i].is_nan()) {
        running = running.min(p_values.len() as f64 / (rank + 1) as f64 * p_values[i]);
        adjusted[i] = running;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(got: Vec<f64>, want: &[f64]) {
        assert!(got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-12), "{got:?} instead of {want:?}");
    }

    /// Values of R's `p.adjust`.
    #[test]
    fn as_in_r() {
        let p = [0.01, 0.04, 0.03, 0.005];
        check(holm(&p), &[0.03, 0.06, 0.06, 0.02]);
        check(benjamini_hochberg(&p), &[0.02, 0.04, 0.04, 0.02]);
    }

    #[test]
    fn a_missing_p_still_counts() {
        let adjusted = holm(&[0.02, f64::NAN]);
        assert_eq!(adjusted[0], 0.04);
        assert!(adjusted[1].is_nan());
    }
}
