//! Which of many treatments may be the best? Returns those that cannot be distinguished from the one with the largest
//! mean, over blocks that contain all treatments: Gupta's subset selection (*Technometrics* 1965), with the common
//! error of a two-way table, and Bonferroni's bound instead of the distribution of the range.
use crate::distribution::t_critical;
use crate::mean::Interval;

/// The treatment with the largest mean, and those that cannot be distinguished from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Its index.
    pub best: usize,
    /// Indices, rising, including `best`; at the requested level they include the truly best treatment.
    pub open: Vec<usize>,
    means: Vec<f64>,
    half: f64,
    level: f64,
}

impl Best {
    /// The mean of the best minus that of another, with an interval that is valid although the best was chosen by its
    /// mean.
    pub fn over(&self, other: usize) -> Option<Interval> {
        let difference = self.means[self.best] - self.means.get(other)?;
        (other != self.best).then_some(Interval {
            lo: difference - self.half,
            hi: difference + self.half,
            level: self.level,
        })
    }
}

/// `values[treatment][block]`, larger is better. `None` for fewer than two treatments or two blocks, for rows of
/// different lengths, or for a value that is not finite.
pub fn undecided_from_best(values: &[Vec<f64>], level: f64) -> Option<Best> {
    let (treatments, blocks) = (values.len(), values.first()?.len());
    let whole = values.iter().all(|row| row.len() == blocks && row.iter().all(|x| x.is_finite()));
    if treatments < 2 || blocks < 2 || !whole {
        return None;
    }
    let (k, b) = (treatments as f64, blocks as f64);
    let means: Vec<f64> = values.iter().map(|row| row.iter().sum::<f64>() / b).collect();
    let of_block: Vec<f64> = (0..blocks).map(|j| values.iter().map(|row| row[j]).sum::<f64>() / k).collect();
    let whole = means.iter().sum::<f64>() / k;
    let off = |(i, j): (usize, usize)| values[i][j] - means[i] - of_block[j] + whole;
    let squares: f64 = (0..treatments).flat_map(|i| (0..blocks).map(move |j| (i, j))).map(|at| off(at).powi(2)).sum();
    let freedom = (k - 1.0) * (b - 1.0);
    // Two-sided, for all differences to the chosen one: any could have been chosen.
    let critical = t_critical((1.0 - level) / (k - 1.0), freedom);
    let half = critical * (2.0 * squares / freedom / b).sqrt();
    let best = (0..treatments).max_by(|&a, &b| means[a].total_cmp(&means[b]))?;
    let open = (0..treatments).filter(|&i| means[best] - means[i] <= half).collect();
    Some(Best { best, open, means, half, level })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn what_all_treatments_of_a_block_share_tells_nothing() {
        let rows = |shared: [f64; 3]| {
            [[0.0, 0.1, 0.0], [1.0, 1.0, 1.1], [1.05, 1.0, 1.0]].map(|row| (0..3).map(|j| row[j] + shared[j]).collect())
        };
        let found = undecided_from_best(&rows([0.0; 3]), 0.95).unwrap();
        assert_eq!((found.best, &found.open[..]), (1, &[1, 2][..]));
        let shifted = undecided_from_best(&rows([9.0, -4.0, 2.0]), 0.95).unwrap();
        assert_eq!(shifted.open, found.open);
        let over = found.over(0).unwrap();
        assert!(over.lo > 0.5 && (over.lo..over.hi).contains(&1.0), "{over:?}");
        assert_eq!(found.over(1), None);
    }

    #[test]
    fn the_best_is_among_them_in_95_of_100() {
        let mut random = Random::new(7);
        let mut held = 0;
        for _ in 0..400 {
            let truth: Vec<f64> = (0..12).map(|i| 0.03 * f64::from(i)).collect();
            let values: Vec<Vec<f64>> =
                truth.iter().map(|mean| (0..6).map(|_| mean + 0.1 * random.normal()).collect()).collect();
            held += usize::from(undecided_from_best(&values, 0.95).unwrap().open.contains(&11));
        }
        assert!(held >= 380, "{held} of 400");
    }

    #[test]
    fn what_is_no_table_has_no_best() {
        assert_eq!(undecided_from_best(&[vec![1.0, 2.0]], 0.95), None);
        assert_eq!(undecided_from_best(&[vec![1.0, 2.0], vec![1.0]], 0.95), None);
        assert_eq!(undecided_from_best(&[vec![1.0, 2.0], vec![1.0, f64::NAN]], 0.95), None);
    }
}
