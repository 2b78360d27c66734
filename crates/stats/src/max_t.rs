//! Several numbers of the same few units on two sides, judged together by all ways to divide these units into two
//! sides.

use crate::Random;

/// If there are at most this many ways to choose a side, all are used (nine and nine units have 48 620), otherwise
/// [`DRAWN`] random ones.
const ALL_WAYS: u64 = 50_000;
const DRAWN: usize = 20_000;

/// Statistics that differ by less than this are equal: sums in another order differ in their last digits.
const EQUAL: f64 = 1e-9;

/// Step-down adjusted p-values of Westfall and Young (1993, algorithm 4.1), in the order given.
///
/// `rows`: a value for each unit, units of the first side first, `None` where a unit has none; `first`: the number of
/// units of that side. If the sides are alike, every way to choose `first` of the units is equally likely, so rejecting
/// those ≤ α keeps the chance of *any* false rejection ≤ α, whatever the distributions are and however the numbers
/// depend on each other. The statistic is the difference of the two means over the standard deviation of all units; a
/// unit without a value counts as the mean of the others. A row whose values are all equal has p 1. No p is below one
/// over the number of ways, or two over it if the sides are equally large. `None` if a side has no unit. If there are
/// too many ways, the random ones come from a fixed seed.
pub fn step_down_max_t(rows: &[Vec<Option<f64>>], first: usize) -> Option<Vec<f64>> {
    let units = rows.first().map_or(0, Vec::len);
    if rows.is_empty() || first == 0 || first >= units {
        return rows.is_empty().then(Vec::new);
    }
    let standardized: Vec<Vec<f64>> = rows.iter().map(|row| standardized(row)).collect();
    let seen = |row: &Vec<f64>| row[..first].iter().sum::<f64>().abs();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&i, &j| seen(&standardized[i]).total_cmp(&seen(&standardized[j])));
    // A column for each unit, rows with the smallest difference first.
    let columns: Vec<Vec<f64>> =
        (0..units).map(|unit| order.iter().map(|&row| standardized[row][unit]).collect()).collect();
    let seen: Vec<f64> = order.iter().map(|&row| seen(&standardized[row]) - EQUAL).collect();
    let (mut at_least, mut ways) = (vec![0u64; rows.len()], 0u64);
    let mut sums = vec![0.0; rows.len()];
    each_way(units, first, |side| {
        ways += 1;
        sums.fill(0.0);
        for &unit in side {
            sums.iter_mut().zip(&columns[unit]).for_each(|(sum, x)| *sum += x);
        }
        let mut largest = 0.0f64;
        for ((sum, seen), at_least) in sums.iter().zip(&seen).zip(&mut at_least) {
            largest = largest.max(sum.abs());
            *at_least += u64::from(largest >= *seen);
        }
    });
    let (mut p_values, mut running) = (vec![1.0; rows.len()], 0.0f64);
    for (&row, &at_least) in order.iter().zip(&at_least).rev() {
        running = running.max(at_least as f64 / ways as f64);
        p_values[row] = running;
    }
    Some(p_values)
}

/// Scales to mean 0 and sum of squares 1; zeros if all values are equal.
fn standardized(row: &[Option<f64>]) -> Vec<f64> {
    let values: Vec<f64> = row.iter().flatten().copied().collect();
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let largest = values.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    let norm = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>().sqrt();
    let scale = if norm > EQUAL * largest { 1.0 / norm } else { 0.0 };
    row.iter().map(|x| x.map_or(0.0, |x| (x - mean) * scale)).collect()
}

/// Calls `of` with the units of the first side, for every way to choose them or for many; the way of the data is among
/// them.
fn each_way(units: usize, first: usize, mut of: impl FnMut(&[usize])) {
    let mut side: Vec<usize> = (0..first).collect();
    let ways = (0..first as u64).try_fold(1u64, |ways, n| Some(ways.checked_mul(units as u64 - n)? / (n + 1)));
    if ways.is_none_or(|ways| ways > ALL_WAYS) {
        let (mut random, mut all) = (Random::new(1), (0..units).collect::<Vec<_>>());
        of(&side);
        for _ in 1..DRAWN {
            random.shuffle(&mut all);
            of(&all[..first]);
        }
        return;
    }
    loop {
        of(&side);
        // The next combination in lexical order: advance the last unit that can advance, and reset those after it.
        let Some(at) = (0..first).rev().find(|&at| side[at] < units - first + at) else { return };
        let from = side[at] + 1;
        side[at..].iter_mut().zip(from..).for_each(|(unit, to)| *unit = to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn every_way_is_taken_once() {
        let mut ways = std::collections::BTreeSet::new();
        each_way(10, 5, |side| assert!(ways.insert(side.to_vec())));
        assert_eq!(ways.len(), 252);
        let mut drawn = 0;
        each_way(40, 20, |side| {
            assert!(side.len() == 20 && (drawn > 0 || side.iter().copied().eq(0..20)));
            drawn += 1;
        });
        assert_eq!(drawn, DRAWN);
    }

    /// By hand: 1 2 3 against 4 5 6 is the largest difference of the 20 ways, and so is its mirror; 1 3 5 against 2 4 6
    /// differs by 1, as do more than half.
    #[test]
    fn p_is_the_share_of_ways_that_differ_as_much() {
        let p = step_down_max_t(&[row(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])], 3).unwrap();
        assert_eq!(p, [0.1]);
        let unequal = step_down_max_t(&[row(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])], 2).unwrap();
        assert_eq!(unequal, [2.0 / 15.0], "5 and 6 differ as much from the others");
        // The second number differs as much in two other ways; it is judged alone, after the first.
        let two = [row(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), row(&[1.0, 3.0, 5.0, 2.0, 4.0, 6.0])];
        let p = step_down_max_t(&two, 3).unwrap();
        let alone = step_down_max_t(&two[1..], 3).unwrap();
        assert_eq!((p[0], p[1]), (0.2, alone[0]));
        assert!(alone[0] > 0.5, "{alone:?}");
    }

    #[test]
    fn what_is_the_same_everywhere_or_missing_is_no_difference() {
        let rows = [row(&[7.1; 10]), vec![None; 10], row(&[0.1, 0.1 + 1e-17, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])];
        assert_eq!(step_down_max_t(&rows, 5).unwrap(), [1.0; 3]);
        let gap = [1.0, 2.0, 3.0, 4.0, 9.0].map(Some).into_iter().chain([None; 5]).collect::<Vec<_>>();
        assert_eq!(step_down_max_t(&[gap], 5).unwrap(), [1.0], "one side has no value");
        assert_eq!(
            (step_down_max_t(&[], 0), step_down_max_t(&rows, 0), step_down_max_t(&rows, 10)),
            (Some(vec![]), None, None)
        );
    }

    /// The rule computed directly from its definition: the difference of means over the standard deviation of all, and
    /// for each way the largest among the rows that are still to be judged.
    #[test]
    fn as_the_rule_is_written() {
        let (mut random, first, units) = (Random::new(21), 3, 8);
        let rows: Vec<Vec<f64>> = (0..6).map(|_| (0..units).map(|_| random.normal().exp()).collect()).collect();
        let statistic = |row: &Vec<f64>, side: &[usize]| {
            let mean = |of: &dyn Fn(usize) -> bool| {
                let values: Vec<f64> = (0..units).filter(|unit| of(*unit)).map(|unit| row[unit]).collect();
                values.iter().sum::<f64>() / values.len() as f64
            };
            let all = mean(&|_| true);
            let sd = (row.iter().map(|x| (x - all).powi(2)).sum::<f64>() / units as f64).sqrt();
            (mean(&|unit| side.contains(&unit)) - mean(&|unit| !side.contains(&unit))).abs() / sd
        };
        let here: Vec<usize> = (0..first).collect();
        let mut left: Vec<usize> = (0..rows.len()).collect();
        left.sort_by(|&i, &j| statistic(&rows[j], &here).total_cmp(&statistic(&rows[i], &here)));
        let (mut expected, mut running) = (vec![0.0; rows.len()], 0.0f64);
        while let Some(&row) = left.first() {
            let (seen, mut ways, mut at_least) = (statistic(&rows[row], &here), 0, 0);
            for set in (0u32..1 << units).filter(|set| set.count_ones() as usize == first) {
                let side: Vec<usize> = (0..units).filter(|unit| set >> unit & 1 == 1).collect();
                ways += 1;
                at_least += i32::from(left.iter().any(|&row| statistic(&rows[row], &side) >= seen - 1e-9));
            }
            running = running.max(f64::from(at_least) / f64::from(ways));
            expected[row] = running;
            left.remove(0);
        }
        let rows: Vec<Vec<Option<f64>>> = rows.iter().map(|values| row(values)).collect();
        assert_eq!(step_down_max_t(&rows, first).unwrap(), expected);
    }

    /// Of all ways to divide the same units into two sides, at most one in twenty may call anything different, whatever
    /// the values are: here half of the rows have two values, the others are long-tailed, and all are independent of
    /// the sides.
    #[test]
    fn a_false_rejection_is_as_rare_as_is_said_of_every_distribution() {
        let mut random = Random::new(5);
        let mut value = |row: usize| match row % 3 {
            0 => f64::from(u8::from(random.uniform() < 0.5)),
            1 => random.normal().exp().powi(3),
            _ => random.normal(),
        };
        for rows in [3, 60] {
            let drawn: Vec<Vec<f64>> = (0..rows).map(|row| (0..10).map(|_| value(row)).collect()).collect();
            let mut called = 0;
            each_way(10, 5, |side| {
                let (in_a, in_b): (Vec<usize>, Vec<usize>) = (0..10).partition(|unit| side.contains(unit));
                let of = |row: &Vec<f64>| in_a.iter().chain(&in_b).map(|&unit| Some(row[unit])).collect::<Vec<_>>();
                let p = step_down_max_t(&drawn.iter().map(of).collect::<Vec<_>>(), 5).unwrap();
                called += u32::from(p.iter().any(|p| *p <= 0.05));
            });
            assert!(called <= 12, "{rows} rows: {called} of 252");
        }
    }

    /// A real difference is found beside numbers that do not differ.
    #[test]
    fn a_difference_is_found_among_sixty_numbers() {
        let (mut random, mut found) = (Random::new(9), 0);
        for _ in 0..50 {
            let mut rows: Vec<Vec<Option<f64>>> =
                (0..60).map(|_| (0..10).map(|_| Some(random.normal())).collect()).collect();
            rows[17][5..].iter_mut().for_each(|x| *x = x.map(|x| x + 12.0));
            let p = step_down_max_t(&rows, 5).unwrap();
            found += u32::from(p[17] <= 0.05);
        }
        assert!(found >= 48, "{found} of 50");
    }
}
