//! Log-linear histograms of nanoseconds: exact below 256 ns, then 256 buckets per power of two (≤ 0.4 % wide). Zeros
//! are kept, minimum and maximum are exact, and merging loses nothing. The recording side (crate `bench`) uses the same
//! bucket rule and counts into a plain array of [`BUCKETS`] cells.

use serde::{Deserialize, Serialize};

/// Buckets per power of two.
const SUB_BUCKETS: u64 = 256;
const SUB_BITS: u32 = 8;

/// The cells cover 0 … 2^40 ns (18 minutes); longer values are counted in the last cell, and in the exact maximum.
pub const BUCKETS: usize = ((40 - SUB_BITS as usize) + 1) * SUB_BUCKETS as usize;

/// The cell of a value. `#[inline]`: the recording side calls it in the timed region.
#[inline(always)]
pub fn bucket_of(ns: u64) -> usize {
    if ns < SUB_BUCKETS {
        return ns as usize;
    }
    let shift = 63 - ns.leading_zeros() - SUB_BITS;
    let index = (u64::from(shift) + 1) * SUB_BUCKETS + ((ns >> shift) - SUB_BUCKETS);
    (index as usize).min(BUCKETS - 1)
}

/// The half-open range of values of a cell, `[low, high)`.
pub fn bucket_range(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < SUB_BUCKETS {
        return (index, index + 1);
    }
    let shift = index / SUB_BUCKETS - 1;
    let low = (SUB_BUCKETS + index % SUB_BUCKETS) << shift;
    (low, low + (1 << shift))
}

/// A distribution of nanoseconds: sparse cells in ascending order, and exact count, sum, minimum and maximum.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// `(cell, count)`, ascending by cell, counts above 0.
    pub cells: Vec<(u32, u64)>,
    /// Sum of all values, for the exact mean.
    pub sum_ns: u64,
    /// Smallest value; 0 when empty.
    pub min_ns: u64,
    /// Largest value; 0 when empty.
    pub max_ns: u64,
}

impl Histogram {
    /// From the dense cells of a recorder.
    pub fn from_dense(cells: &[u64], sum_ns: u64, min_ns: u64, max_ns: u64) -> Self {
        let cells: Vec<_> = cells.iter().enumerate().filter(|&(_, &n)| n > 0).map(|(i, &n)| (i as u32, n)).collect();
        if cells.is_empty() { Self::default() } else { Self { cells, sum_ns, min_ns, max_ns } }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.cells.iter().fold(0, |sum, &(_, n)| sum.saturating_add(n))
    }

    /// Exact mean, ns; `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }

    /// The value below which a share `q` of the values lie, ns, interpolated inside the cell and never outside the
    /// exact minimum and maximum; `None` when empty.
    pub fn quantile_ns(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = q.clamp(0.0, 1.0) * count as f64;
        let mut below = 0u64;
        for &(cell, n) in &self.cells {
            if below.saturating_add(n) as f64 >= rank {
                let (low, high) = bucket_range(cell as usize);
                // The last cell has no upper end; the exact maximum limits it.
                let high = if cell as usize == BUCKETS - 1 { self.max_ns.max(low) + 1 } else { high };
                // Below 256 a cell is one nanosecond wide and contains exactly its low value.
                let width = (high - low).saturating_sub(1) as f64;
                let inside = ((rank - below as f64) / n as f64).clamp(0.0, 1.0);
                return Some((low as f64 + width * inside).clamp(self.min_ns as f64, self.max_ns as f64));
            }
            below = below.saturating_add(n);
        }
        Some(self.max_ns as f64)
    }

    /// Adds another distribution; exact.
    pub fn merge(&mut self, other: &Self) {
        if other.cells.is_empty() {
            return;
        }
        if self.cells.is_empty() {
            *self = other.clone();
            return;
        }
        // In place, because an analysis adds hundreds of small distributions to a large one.
        let mut at = 0;
        for &(cell, n) in &other.cells {
            at += self.cells[at..].partition_point(|(before, _)| *before < cell);
            match self.cells.get_mut(at) {
                Some((same, count)) if *same == cell => *count = count.saturating_add(n),
                _ => self.cells.insert(at, (cell, n)),
            }
        }
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut cells = vec![0u64; BUCKETS];
        for &v in values {
            cells[bucket_of(v)] += 1;
        }
        let (min, max) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
        Histogram::from_dense(&cells, values.iter().sum(), min, max)
    }

    #[test]
    fn buckets_tile_the_line_and_are_narrow() {
        for index in 0..BUCKETS - 1 {
            let (low, high) = bucket_range(index);
            assert_eq!(bucket_range(index + 1).0, high);
            assert_eq!(bucket_of(low), index);
            assert_eq!(bucket_of(high - 1), index);
            assert!(low < 256 || (high - low) as f64 / low as f64 <= 0.004);
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn zero_is_kept_and_the_extremes_are_exact() {
        let h = of(&[0, 0, 5, 1_000_003]);
        assert_eq!((h.count(), h.min_ns, h.max_ns), (4, 0, 1_000_003));
        assert_eq!(h.quantile_ns(0.25), Some(0.0));
        assert_eq!(h.quantile_ns(1.0), Some(1_000_003.0));
        assert_eq!(Histogram::default().quantile_ns(0.5), None);
    }

    #[test]
    fn quantiles_err_by_less_than_half_a_percent() {
        let values: Vec<u64> = (0..100_000).map(|i| 1_000 + i * 37).collect();
        let h = of(&values);
        for q in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let exact = values[((q * values.len() as f64) as usize).min(values.len() - 1)] as f64;
            assert!((h.quantile_ns(q).unwrap() / exact - 1.0).abs() < 0.005);
        }
    }

    #[test]
    fn a_merge_is_the_histogram_of_both() {
        let (mut a, b) = (of(&[1, 500, 70_000]), of(&[0, 500, 9_999_999]));
        a.merge(&b);
        assert_eq!(a, of(&[1, 500, 70_000, 0, 500, 9_999_999]));
    }
}
