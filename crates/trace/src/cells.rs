//! A distribution of nanoseconds while it is being counted: the buckets of `schedlab_plan`'s histogram, with memory
//! only for the powers of two that occur. Thousands of threads have four of these each, and their buckets fit no cache.
//! So values are gathered, and counted by the hundred: then the CPU waits for many cache misses at once and not for
//! each one.

use schedlab_plan::histogram::{BUCKETS, Histogram, bucket_of};
use std::collections::BTreeMap;

/// Number of values that are gathered before they are counted. Most histograms never have that many.
const GATHERED: usize = 256;

/// Buckets of a page: those of one power of two.
const PAGE: usize = 256;

/// A histogram that is being filled: exact count, sum, minimum and maximum, mergeable without loss.
#[derive(Debug, Clone, Default)]
pub struct Cells {
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    /// Buckets of the values that are not in the pages yet.
    gathered: Vec<u16>,
    pages: Option<Box<Pages>>,
}

const _: () = assert!(BUCKETS <= 1 << u16::BITS && size_of::<Cells>() == 64);

#[derive(Debug, Clone, Default)]
struct Pages {
    all: Vec<Option<Box<[u16; PAGE]>>>,
    /// Cells that reached 2^16, and how often.
    full: BTreeMap<u32, u64>,
}

impl Cells {
    /// Counts one value.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.gather(bucket_of(ns) as u16);
    }

    #[inline]
    fn gather(&mut self, bucket: u16) {
        if self.gathered.len() >= GATHERED {
            self.settle();
        }
        self.gathered.push(bucket);
    }

    /// Counts what was gathered.
    #[cold]
    fn settle(&mut self) {
        let pages = self.pages.get_or_insert_default();
        for bucket in self.gathered.drain(..) {
            let (page, cell) = (usize::from(bucket) / PAGE, usize::from(bucket) % PAGE);
            let counts = match pages.all.get_mut(page) {
                Some(Some(counts)) => counts,
                _ => meet(&mut pages.all, page),
            };
            let (sum, carry) = counts[cell].overflowing_add(1);
            counts[cell] = sum;
            if carry {
                *pages.full.entry(bucket.into()).or_default() += 1;
            }
        }
    }

    /// Adds another distribution; exact.
    pub fn merge(&mut self, other: &Self) {
        other.gathered.iter().for_each(|bucket| self.gather(*bucket));
        if let Some(more) = &other.pages {
            self.pages.get_or_insert_default().merge(more);
        }
        if other.count > 0 {
            self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        }
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
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
        let mut all = self.clone();
        all.settle();
        let cells = all.pages.map_or_else(Vec::new, |pages| pages.cells());
        Histogram { cells, sum_ns: self.sum_ns, min_ns: self.min_ns, max_ns: self.max_ns }
    }
}

impl Pages {
    fn merge(&mut self, other: &Self) {
        for (page, more) in other.pages() {
            for (cell, (sum, more)) in meet(&mut self.all, page).iter_mut().zip(more).enumerate() {
                let (counted, carry) = sum.overflowing_add(*more);
                *sum = counted;
                if carry {
                    *self.full.entry((page * PAGE + cell) as u32).or_default() += 1;
                }
            }
        }
        other.full.iter().for_each(|(cell, times)| *self.full.entry(*cell).or_default() += times);
    }

    /// The pages that exist, with their numbers.
    fn pages(&self) -> impl Iterator<Item = (usize, &[u16; PAGE])> {
        self.all.iter().enumerate().filter_map(|(number, page)| Some((number, page.as_deref()?)))
    }

    /// Number and count of each cell that is not empty.
    fn cells(&self) -> Vec<(u32, u64)> {
        let counts = self.pages().flat_map(|(page, counts)| (page * PAGE..).map(|at| at as u32).zip(counts));
        let full = |cell: &u32| self.full.get(cell).map_or(0, |times| times << u16::BITS);
        counts.map(|(cell, count)| (cell, u64::from(*count) + full(&cell))).filter(|(_, sum)| *sum > 0).collect()
    }
}

#[cold]
fn meet(all: &mut Vec<Option<Box<[u16; PAGE]>>>, page: usize) -> &mut [u16; PAGE] {
    if all.len() <= page {
        all.resize(page + 1, None);
    }
    all[page].get_or_insert_with(|| Box::new([0; PAGE]))
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
        for part in values.chunks(48) {
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
    fn a_cell_that_counted_as_far_as_it_can_goes_on() {
        let mut cells = Cells::default();
        (0..200_000).for_each(|i| cells.add(i % 2 * 1000));
        let (mut twice, whole) = (cells.clone(), cells.histogram());
        assert_eq!(whole.cells.iter().map(|cell| cell.1).collect::<Vec<_>>(), [100_000; 2]);
        twice.merge(&cells);
        assert_eq!(twice.histogram().cells.iter().map(|cell| cell.1).collect::<Vec<_>>(), [200_000; 2]);
    }

    #[test]
    fn nothing_is_an_empty_histogram_and_zero_is_a_value() {
        assert_eq!(of([].into_iter()), Histogram::default());
        let zero = of([0].into_iter());
        assert_eq!((zero.count(), zero.quantile_ns(0.5)), (1, Some(0.0)));
        assert_eq!(of([u64::MAX].into_iter()).max_ns, u64::MAX);
    }
}
