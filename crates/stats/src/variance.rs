//! Where the variance comes from: between and within groups, and how much of it covariates explain.
use crate::ols;

/// Variance components of a one-way random-effects model, in squared units of the observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// Variance of the group effects; the unbiased estimate cut at zero.
    pub between: f64,
    /// Variance inside a group.
    pub within: f64,
}

/// Analysis-of-variance estimates for groups of unequal size (Searle, Casella & McCulloch, *Variance Components*, 3.6;
/// with equal sizes the T² of Kalibera & Jones 2013). For more levels, call it on the means of the level below. `None`
/// unless there are two groups that are not empty, more observations than groups, and all are finite.
pub fn components(groups: &[Vec<f64>]) -> Option<Components> {
    let groups: Vec<&[f64]> = groups.iter().map(Vec::as_slice).filter(|g| !g.is_empty()).collect();
    let k = groups.len() as f64;
    let total: f64 = groups.iter().map(|g| g.len() as f64).sum();
    if k < 2.0 || total <= k || groups.iter().any(|g| g.iter().any(|x| !x.is_finite())) {
        return None;
    }
    let grand = groups.iter().flat_map(|g| g.iter()).sum::<f64>() / total;
    let (mut between_squares, mut within_squares, mut sizes_squared) = (0.0, 0.0, 0.0);
    for group in groups {
        let size = group.len() as f64;
        let mean = group.iter().sum::<f64>() / size;
        between_squares += size * (mean - grand).powi(2);
        within_squares += group.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        sizes_squared += size * size;
    }
    let within = within_squares / (total - k);
    let effective_size = (total - sizes_squared / total) / (k - 1.0);
    let between = ((between_squares / (k - 1.0) - within) / effective_size).max(0.0);
    Some(Components { between, within })
}

/// Shares of the variance of an observation that covariates explain in a linear fit; 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// R² of the fit on all covariates.
    pub total: f64,
    /// R² adjusted for the number of covariates; may be negative, which means "nothing".
    pub adjusted: f64,
    /// The part of `total` each covariate carries, in the order given; sums to `total`.
    pub each: Vec<f64>,
}

/// The most covariates [`share_explained`] accepts: its cost is 2^covariates fits.
pub const MAX_COVARIATES: usize = 10;

/// R² of `y` on the covariates `x` (one slice per covariate, as long as `y`), divided among them by averaging each
/// one's gain over all orders of entry (Lindeman, Merenda & Gold 1980; the Shapley value), so that correlated
/// covariates share what they explain together. Association, not cause. `None` for ragged, non-finite or constant `y`,
/// more than [`MAX_COVARIATES`] covariates, or fewer than covariates + 2 observations. A constant or collinear
/// covariate adds nothing.
pub fn share_explained(y: &[f64], x: &[Vec<f64>]) -> Option<Explained> {
    let (n, p) = (y.len(), x.len());
    if p > MAX_COVARIATES || n < p + 2 || x.iter().any(|column| column.len() != n) {
        return None;
    }
    let intercept = vec![1.0; n];
    let total_squares = ols::fit(y, std::slice::from_ref(&intercept))?.residual_squares;
    if total_squares <= 0.0 || x.iter().flatten().any(|v| !v.is_finite()) {
        return None;
    }
    // Greedy inclusion drops what is collinear with what is already there.
    let r_squared = |subset: usize| {
        let mut columns = vec![intercept.clone()];
        let mut residual = total_squares;
        for column in (0..p).filter(|j| subset >> j & 1 == 1).map(|j| x[j].clone()) {
            columns.push(column);
            match ols::fit(y, &columns) {
                Some(fit) => residual = fit.residual_squares,
                None => drop(columns.pop()),
            }
        }
        1.0 - residual / total_squares
    };
    let gains: Vec<f64> = (0..1usize << p).map(r_squared).collect();
    let each = (0..p).map(|j| average_gain(&gains, p, j)).collect();
    let total = gains[(1 << p) - 1];
    let adjusted = 1.0 - (1.0 - total) * (n as f64 - 1.0) / (n - p - 1) as f64;
    Some(Explained { total, adjusted, each })
}

/// Shapley value of covariate `j` given the R² of every subset of `p` covariates.
fn average_gain(r_squared: &[f64], p: usize, j: usize) -> f64 {
    let factorial = |k: usize| (1..=k).map(|i| i as f64).product::<f64>();
    let without = (0..1usize << p).filter(|s| s >> j & 1 == 0);
    without
        .map(|s| {
            let size = s.count_ones() as usize;
            let weight = factorial(size) * factorial(p - 1 - size) / factorial(p);
            weight * (r_squared[s | 1 << j] - r_squared[s])
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Balanced textbook case by hand: group means 2, 5, 8 (MSB = 27), within variance 1, size 3: (27 − 1)/3.
    #[test]
    fn balanced_by_hand() {
        let c = components(&[vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0], vec![7.0, 8.0, 9.0]]).unwrap();
        assert!((c.within - 1.0).abs() < 1e-12 && (c.between - 26.0 / 3.0).abs() < 1e-12, "{c:?}");
    }

    #[test]
    fn unbalanced_is_unbiased() {
        let mut random = Random::new(11);
        let (mut between, mut within) = (0.0, 0.0);
        let runs = 2000;
        for _ in 0..runs {
            let groups: Vec<Vec<f64>> = [2, 3, 5, 8, 4, 1, 6, 2, 9, 3]
                .iter()
                .map(|&size| {
                    let effect = 2.0 * random.normal();
                    (0..size).map(|_| effect + random.normal()).collect()
                })
                .collect();
            let c = components(&groups).unwrap();
            between += c.between / runs as f64;
            within += c.within / runs as f64;
        }
        assert!((between - 4.0).abs() < 0.2 && (within - 1.0).abs() < 0.03, "{between} {within}");
        assert_eq!(components(&[vec![1.0], vec![2.0]]), None);
    }

    #[test]
    fn shares_sum_and_split_evenly_between_twins() {
        let mut random = Random::new(5);
        let a: Vec<f64> = (0..200).map(|_| random.normal()).collect();
        let b: Vec<f64> = (0..200).map(|_| random.normal()).collect();
        let y: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 2.0 * a + b + random.normal()).collect();
        let e = share_explained(&y, &[a.clone(), b, a, vec![3.0; 200]]).unwrap();
        assert!((e.each.iter().sum::<f64>() - e.total).abs() < 1e-12);
        assert!((e.each[0] - e.each[2]).abs() < 1e-9 && e.each[3].abs() < 1e-12);
        assert!((e.total - 5.0 / 6.0).abs() < 0.06, "{e:?}");
    }
}
