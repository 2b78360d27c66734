//! Splitting a change of an overall mean into a change of the mix and a change within the classes of the mix.

/// The two parts of a change of a share-weighted mean, in the unit of the means; they sum to `total`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decomposition {
    /// What the change of shares explains, classes held at the average of their two means.
    pub between_shares: f64,
    /// What the changes within the classes explain, shares held at their average.
    pub within: f64,
    /// Mean of B minus mean of A.
    pub total: f64,
}

/// Symmetric (Kitagawa 1955) decomposition of Σ share·mean from arm A to arm B over the same classes. Descriptive: when
/// the classes are chosen by the system under study, `within` is not a causal effect. A class absent from one arm
/// (share 0) may have a NaN mean there: the other arm's is taken, so all of its change counts as a change of shares.
/// Shares are used as given (they should sum to 1 per arm). `None` for unequal lengths, an empty input or a NaN that
/// matters.
pub fn decompose(shares_a: &[f64], means_a: &[f64], shares_b: &[f64], means_b: &[f64]) -> Option<Decomposition> {
    let classes = shares_a.len();
    if classes == 0 || [means_a.len(), shares_b.len(), means_b.len()].iter().any(|&n| n != classes) {
        return None;
    }
    let (mut between_shares, mut within) = (0.0, 0.0);
    for i in 0..classes {
        let (share_a, share_b) = (shares_a[i], shares_b[i]);
        let (mean_a, mean_b) = match (share_a == 0.0, share_b == 0.0) {
            (true, true) => continue,
            (true, false) => (means_b[i], means_b[i]),
            (false, true) => (means_a[i], means_a[i]),
            (false, false) => (means_a[i], means_b[i]),
        };
        between_shares += (share_b - share_a) * 0.5 * (mean_a + mean_b);
        within += 0.5 * (share_a + share_b) * (mean_b - mean_a);
    }
    let total = between_shares + within;
    total.is_finite().then_some(Decomposition { between_shares, within, total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_sum_to_the_change() {
        let d = decompose(&[0.75, 0.25], &[100.0, 40.0], &[0.5, 0.5], &[110.0, 44.0]).unwrap();
        assert!((d.total - (77.0 - 85.0)).abs() < 1e-12);
        assert_eq!(d.between_shares, -0.25 * 105.0 + 0.25 * 42.0);
        assert_eq!(d.within, 0.625 * 10.0 + 0.375 * 4.0);
    }

    #[test]
    fn a_class_of_one_arm_is_all_shares() {
        let d = decompose(&[1.0, 0.0], &[100.0, f64::NAN], &[0.5, 0.5], &[100.0, 20.0]).unwrap();
        assert_eq!((d.between_shares, d.within), (-40.0, 0.0));
        assert_eq!(decompose(&[1.0], &[1.0], &[1.0], &[]), None);
    }
}
