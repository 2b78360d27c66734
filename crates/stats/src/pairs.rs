//! Order statistics of all pairs of a sample, or of two, without storing the pairs: for 25,000 blocks they would take
//! 2.5 GB. A value's rank among the pairs is counted along the sorted samples in one pass, and the value is found by
//! bisection over the numbers there are (Johnson & Mizoguchi 1978 count in the same way).

use crate::quantile::sorted;

/// Up to this many pairs it is faster to make and sort them.
const FEW: usize = 5_000;

/// Returns a function from a rank (from 1) to the mean of `xs[i]` and `xs[j]`, i ≤ j, with that rank among all of them.
pub(crate) fn means(xs: &[f64]) -> impl Fn(usize) -> f64 {
    let rising = sorted(xs);
    let pairs = || (0..xs.len()).flat_map(|i| (i..xs.len()).map(move |j| 0.5 * (xs[i] + xs[j])));
    let few = (xs.len() * (xs.len() + 1) / 2 <= FEW).then(|| sorted(&pairs().collect::<Vec<f64>>()));
    move |rank| few.as_ref().map_or_else(|| mean_of_rank(&rising, rank), |few| few[rank - 1])
}

/// Returns a function from a rank (from 1) to the difference b − a with that rank among all of them.
pub(crate) fn differences(a: &[f64], b: &[f64]) -> impl Fn(usize) -> f64 {
    let (rising_a, rising_b) = (sorted(a), sorted(b));
    let pairs = || a.iter().flat_map(|x| b.iter().map(move |y| y - x));
    let few = (a.len() * b.len() <= FEW).then(|| sorted(&pairs().collect::<Vec<f64>>()));
    move |rank| few.as_ref().map_or_else(|| difference_of_rank(&rising_a, &rising_b, rank), |few| few[rank - 1])
}

/// Maps a number to an integer; the order stays the same.
fn key(x: f64) -> i64 {
    let bits = x.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

fn number(key: i64) -> f64 {
    f64::from_bits((key ^ (((key >> 63) as u64) >> 1) as i64) as u64)
}

/// The smallest number that at least `rank` pairs (from 1) do not exceed.
fn smallest(rank: usize, at_most: impl Fn(i64) -> usize) -> f64 {
    let (mut low, mut high) = (key(f64::NEG_INFINITY), key(f64::INFINITY));
    while low < high {
        let middle = low + ((high as i128 - low as i128) / 2) as i64;
        if at_most(middle) >= rank { high = middle } else { low = middle + 1 }
    }
    number(low)
}

/// The mean of `x[i]` and `x[j]`, i ≤ j, that has this rank (from 1) among all of them. `rising` is sorted.
fn mean_of_rank(rising: &[f64], rank: usize) -> f64 {
    smallest(rank, |limit| {
        let (mut count, mut below) = (0, rising.len());
        for (i, x) in rising.iter().enumerate() {
            // A larger value has fewer partners.
            while below > i && key(0.5 * (x + rising[below - 1])) > limit {
                below -= 1;
            }
            if below <= i {
                break;
            }
            count += below - i;
        }
        count
    })
}

/// The difference b − a that has this rank (from 1) among all of them. Both are sorted.
fn difference_of_rank(a: &[f64], b: &[f64], rank: usize) -> f64 {
    smallest(rank, |limit| {
        let (mut count, mut below) = (0, 0);
        for x in a {
            while below < b.len() && key(b[below] - x) <= limit {
                below += 1;
            }
            count += below;
        }
        count
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn every_rank_is_that_of_the_pairs_themselves() {
        let mut random = Random::new(3);
        for n in [1, 2, 3, 7, 24] {
            for coarse in [false, true] {
                // Rounded values: they have ties, and zeros of both signs.
                let mut draw = |shift: f64| {
                    let x = random.normal() + shift;
                    if coarse { (x * 2.0).round() / 2.0 } else { x }
                };
                let a = sorted(&(0..n).map(|_| draw(0.0)).collect::<Vec<f64>>());
                let b = sorted(&(0..n + 2).map(|_| draw(0.5)).collect::<Vec<f64>>());
                let means: Vec<f64> =
                    (0..n).flat_map(|i| (i..n).map(|j| 0.5 * (a[i] + a[j])).collect::<Vec<_>>()).collect();
                for (at, mean) in sorted(&means).into_iter().enumerate() {
                    assert_eq!(mean_of_rank(&a, at + 1), mean, "mean {at} of {n}");
                }
                let differences: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| y - x)).collect();
                for (at, difference) in sorted(&differences).into_iter().enumerate() {
                    assert_eq!(difference_of_rank(&a, &b, at + 1), difference, "difference {at} of {n}");
                }
            }
        }
    }

    #[test]
    fn a_long_sample_takes_no_room() {
        let rising: Vec<f64> = (0..200_000).map(f64::from).collect();
        let pairs = rising.len() * (rising.len() + 1) / 2;
        assert_eq!(mean_of_rank(&rising, pairs), 199_999.0);
        assert!((mean_of_rank(&rising, pairs / 2) - 99_999.5).abs() < 1.0);
    }
}
