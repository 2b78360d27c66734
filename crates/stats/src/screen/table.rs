//! A table of rows by blocks: means, and their error from the residuals that neither row nor block explains.

use crate::mean::Estimate;

/// Values that are not a table for the requested rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The number of rows differs.
    #[error("{found} rows were measured, {wanted} asked for")]
    Rows {
        /// As measured.
        found: usize,
        /// As requested.
        wanted: usize,
    },
    /// Rows have different lengths, or only one block, which has no spread.
    #[error("each row needs the same blocks, two at least")]
    Blocks,
    /// An invalid value.
    #[error("a value is not finite")]
    NotFinite,
}

/// A complete table of at least two rows and two blocks.
pub(super) struct Table {
    means: Vec<f64>,
    blocks: usize,
    variance: f64,
    df: f64,
}

impl Table {
    /// Takes the values by row and block, and subtracts the mean of each block.
    pub(super) fn new(values: &[Vec<f64>], wanted: usize) -> Result<Self, TableError> {
        let (rows, blocks) = (values.len(), values.first().map_or(0, Vec::len));
        if rows != wanted || rows < 2 {
            return Err(TableError::Rows { found: rows, wanted });
        }
        if blocks < 2 || values.iter().any(|row| row.len() != blocks) {
            return Err(TableError::Blocks);
        }
        if values.iter().flatten().any(|value| !value.is_finite()) {
            return Err(TableError::NotFinite);
        }
        let means: Vec<f64> = values.iter().map(|row| row.iter().sum::<f64>() / blocks as f64).collect();
        let grand = means.iter().sum::<f64>() / rows as f64;
        let shared = |block: usize| values.iter().map(|row| row[block]).sum::<f64>() / rows as f64 - grand;
        let shared: Vec<f64> = (0..blocks).map(shared).collect();
        let squares = values.iter().zip(&means).flat_map(|(row, mean)| {
            row.iter().zip(&shared).map(move |(value, shared)| (value - mean - shared).powi(2))
        });
        let df = ((rows - 1) * (blocks - 1)) as f64;
        Ok(Self { variance: squares.sum::<f64>() / df, means, blocks, df })
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Standard deviation of one value.
    pub(super) fn sd(&self) -> f64 {
        self.variance.sqrt()
    }

    pub(super) fn mean(&self, row: usize) -> f64 {
        self.means[row]
    }

    /// A row minus the mean of others.
    pub(super) fn against(&self, row: usize, others: &[usize], level: f64) -> Estimate {
        let count = others.len() as f64;
        let mean = self.means[row] - others.iter().map(|&other| self.means[other]).sum::<f64>() / count;
        self.estimate(mean, 1.0 + 1.0 / count, level)
    }

    /// Mean of the rows in which the product of the word's signs is positive, minus the mean of the others; switched is
    /// positive.
    pub(super) fn contrast(&self, rows: &[Vec<bool>], word: &[usize], level: f64) -> Estimate {
        let positive = |row: &Vec<bool>| word.iter().filter(|&&factor| !row[factor]).count() % 2 == 0;
        let signed: f64 =
            rows.iter().zip(&self.means).map(|(row, mean)| if positive(row) { *mean } else { -mean }).sum();
        let count = rows.len() as f64;
        self.estimate(signed * 2.0 / count, 4.0 / count, level)
    }

    /// An estimate whose variance is this many times that of a row's mean.
    fn estimate(&self, mean: f64, times: f64, level: f64) -> Estimate {
        let se = (times * self.variance / self.blocks as f64).sqrt();
        Estimate::from_t(mean, se, self.means.len() * self.blocks, self.df, level)
    }
}

/// Products of one to `order` of the members, singles first.
pub(super) fn words(members: &[usize], order: usize) -> Vec<Vec<usize>> {
    let of_mask =
        |mask: usize| members.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).map(|(_, &m)| m).collect();
    let masks = 1usize..1 << members.len();
    let mut words: Vec<Vec<usize>> = masks.filter(|mask| mask.count_ones() as usize <= order).map(of_mask).collect();
    words.sort_by_key(Vec::len);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_of_a_two_by_two_are_those_of_the_book() {
        // Montgomery, Design and Analysis of Experiments, example of chapter 6: a chemical process, A 8.33, B -5.00, AB
        // 1.67, error mean square 31.33 / 8 = 3.92 without blocks; here the replicates are blocks.
        let values = [[28.0, 25.0, 27.0], [36.0, 32.0, 32.0], [18.0, 19.0, 23.0], [31.0, 30.0, 29.0]].map(Vec::from);
        let table = Table::new(&values, 4).unwrap();
        let rows = [[false, false], [true, false], [false, true], [true, true]].map(Vec::from);
        let effect = |word: &[usize]| table.contrast(&rows, word, 0.95);
        for (word, expected) in [(&[0][..], 8.333), (&[1], -5.0), (&[0, 1], 1.667)] {
            assert!((effect(word).mean - expected).abs() < 1e-3, "{word:?}: {}", effect(word).mean);
        }
        // 31.33 minus 6.5 of the blocks, on 6 degrees of freedom.
        assert!((table.sd().powi(2) - 24.833 / 6.0).abs() < 1e-3, "{}", table.sd().powi(2));
        assert!((effect(&[0]).se - (table.sd().powi(2) / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(table.against(1, &[0], 0.95).mean, 33.333_333_333_333_336 - 26.666_666_666_666_668);
    }

    #[test]
    fn what_a_block_shares_is_no_error() {
        let rows: Vec<Vec<f64>> =
            (0..3).map(|row| (0..4).map(|block| f64::from(row) + 10.0 * f64::from(block)).collect()).collect();
        assert!(Table::new(&rows, 3).unwrap().sd() < 1e-12);
        assert_eq!(Table::new(&rows, 4).err(), Some(TableError::Rows { found: 3, wanted: 4 }));
        assert_eq!(Table::new(&[vec![1.0], vec![1.0]], 2).err(), Some(TableError::Blocks));
        assert_eq!(Table::new(&[vec![1.0, f64::NAN], vec![1.0, 2.0]], 2).err(), Some(TableError::NotFinite));
    }

    #[test]
    fn words_are_counted() {
        assert_eq!(words(&[2, 5, 7], 3).len(), 7);
        assert_eq!(words(&[2, 5, 7], 2), [vec![2], vec![5], vec![7], vec![2, 5], vec![2, 7], vec![5, 7]]);
    }
}
