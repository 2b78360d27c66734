//! A distribution of nanoseconds while it is being counted: the buckets of `schedlab_run`'s histogram, with room only for
//! the powers of two that occur. Thousands of threads have four of these each, most of them with few values: those are
//! kept as they are.

use schedlab_run::histogram::{Histogram, bucket_of};
use std::collections::BTreeMap;

/// Values that are kept as they are.
const FEW: usize = 48;

/// Buckets of a page: those of one power of two.
const PAGE: usize = 256;

/// A histogram that is being filled: exact count, sum, minimum and maximum, mergeable without loss.
#[derive(Debug, Clone, Default)]
pub struct Cells {
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    kept: Kept,
}

#[derive(Debug, Clone)]
enum Kept {
    Few(Vec<u64>),
    Pages {
        pages: Vec<Option<Box<[u32; PAGE]>>>,
        /// Cells that counted to 2^32, and how often.
        full: BTreeMap<u32, u64>,
    },
}

impl Default for Kept {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Cells {
    /// Counts one value.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        if let Kept::Pages { pages, full } = &mut self.kept {
            let cell = bucket_of(ns);
            if let Some(Some(page)) = pages.get_mut(cell / PAGE) {
                let (count, carry) = page[cell % PAGE].overflowing_add(1);
                page[cell % PAGE] = count;
                if !carry {
                    return;
                }
                *full.entry(cell as u32).or_default() += 1;
                return;
            }
        }
        self.add_rarely(ns);
    }

    #[cold]
    fn add_rarely(&mut self, ns: u64) {
        match &mut self.kept {
            Kept::Few(values) if values.len() < FEW => values.push(ns),
            _ => {
                self.become_pages();
                self.count_cell(bucket_of(ns), 1);
            }
        }
    }

    fn become_pages(&mut self) {
        if let Kept::Few(values) = &mut self.kept {
            let values = std::mem::take(values);
            self.kept = Kept::Pages { pages: Vec::new(), full: BTreeMap::new() };
            values.into_iter().for_each(|ns| self.count_cell(bucket_of(ns), 1));
        }
    }

    fn count_cell(&mut self, cell: usize, times: u32) {
        if let Kept::Pages { pages, full } = &mut self.kept {
            if pages.len() <= cell / PAGE {
                pages.resize(cell / PAGE + 1, None);
            }
            let count = &mut pages[cell / PAGE].get_or_insert_with(|| Box::new([0; PAGE]))[cell % PAGE];
            let (sum, carry) = count.overflowing_add(times);
            *count = sum;
            if carry {
                *full.entry(cell as u32).or_default() += 1;
            }
        }
    }

    /// Adds another distribution; exact.
    pub fn merge(&mut self, other: &Self) {
        let before = (self.count, self.sum_ns, self.min_ns, self.max_ns);
        match &other.kept {
            Kept::Few(values) => values.iter().for_each(|ns| self.add(*ns)),
            Kept::Pages { pages, full } => {
                self.become_pages();
                for (page, counts) in pages.iter().enumerate().filter_map(|(n, p)| p.as_ref().map(|p| (n, p))) {
                    let counted = counts.iter().enumerate().filter(|(_, n)| **n > 0);
                    counted.for_each(|(cell, n)| self.count_cell(page * PAGE + cell, *n));
                }
                if let Kept::Pages { full: sum, .. } = &mut self.kept {
                    full.iter().for_each(|(cell, times)| *sum.entry(*cell).or_default() += times);
                }
            }
        }
        let (count, sum_ns, min_ns, max_ns) = before;
        self.min_ns = if count == 0 {
            other.min_ns
        } else if other.count == 0 {
            min_ns
        } else {
            min_ns.min(other.min_ns)
        };
        self.max_ns = max_ns.max(other.max_ns);
        (self.count, self.sum_ns) = (count + other.count, sum_ns.saturating_add(other.sum_ns));
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all values, ns.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The largest value; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The finished distribution.
    pub fn histogram(&self) -> Histogram {
        let mut cells: Vec<(u32, u64)> = Vec::new();
        match &self.kept {
            Kept::Few(values) => {
                cells.extend(values.iter().map(|ns| (bucket_of(*ns) as u32, 1)));
                cells.sort_unstable();
                cells.dedup_by(|next, sum| {
                    sum.1 += u64::from(next.0 == sum.0);
                    next.0 == sum.0
                });
            }
            Kept::Pages { pages, full } => {
                for (page, counts) in pages.iter().enumerate().filter_map(|(n, p)| p.as_ref().map(|p| (n, p))) {
                    let sums = counts.iter().enumerate().map(|(at, n)| {
                        let cell = (page * PAGE + at) as u32;
                        (cell, u64::from(*n) + full.get(&cell).map_or(0, |times| times << 32))
                    });
                    cells.extend(sums.filter(|(_, sum)| *sum > 0));
                }
            }
        }
        Histogram { cells, sum_ns: self.sum_ns, min_ns: self.min_ns, max_ns: self.max_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl Iterator<Item = u64>) -> Histogram {
        let mut cells = Cells::default();
        values.for_each(|ns| cells.add(ns));
        cells.histogram()
    }

    #[test]
    fn few_and_many_values_make_the_same_histogram() {
        let values: Vec<u64> = (0..1000u64).map(|i| i * i * 977).collect();
        let whole = of(values.iter().copied());
        let mut merged = Histogram::default();
        for part in values.chunks(FEW) {
            merged.merge(&of(part.iter().copied()));
        }
        assert_eq!(merged, whole);
        assert_eq!((whole.count(), whole.min_ns, whole.max_ns), (1000, 0, 999 * 999 * 977));
    }

    #[test]
    fn a_merge_is_the_distribution_of_both() {
        let values: Vec<u64> = (0..400u64).map(|i| i * i * 31).collect();
        for cut in [0, 10, 200, 390, 400] {
            let (mut a, mut b) = (Cells::default(), Cells::default());
            values[..cut].iter().for_each(|ns| a.add(*ns));
            values[cut..].iter().for_each(|ns| b.add(*ns));
            a.merge(&b);
            assert_eq!(a.histogram(), of(values.iter().copied()), "{cut}");
            assert_eq!(a.count(), 400);
        }
    }

    #[test]
    fn nothing_is_an_empty_histogram_and_zero_is_a_value() {
        assert_eq!(of([].into_iter()), Histogram::default());
        let zero = of([0].into_iter());
        assert_eq!((zero.count(), zero.quantile_ns(0.5)), (1, Some(0.0)));
        assert_eq!(of([u64::MAX].into_iter()).max_ns, u64::MAX);
    }
}
