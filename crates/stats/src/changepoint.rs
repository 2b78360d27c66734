//! Where a series changed its distribution: E-Divisive (Matteson & James, JASA 2014), as the performance teams of MongoDB and
//! Apache Otava use it.
use crate::random::Random;

/// A change: the first observation of the new regime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index into the series of the first observation after the change.
    pub index: usize,
    /// Energy distance between the neighbouring segments, scaled by their lengths.
    pub statistic: f64,
    /// Permutation p at the split; never below 1/(permutations + 1).
    pub p_value: f64,
}

/// Change points in rising order. Segments are split at the largest energy statistic (distances to the power 1) while a
/// permutation test within the segment gives p ≤ `alpha`; no segment becomes shorter than `min_segment` (at least 2). Costs
/// O(length²) memory and O(permutations · length²) time per split: meant for histories of up to a thousand points. Observations
/// are taken as exchangeable within a segment; autocorrelation makes it see changes that are not there. Empty when a value is
/// not finite.
pub fn e_divisive(xs: &[f64], min_segment: usize, alpha: f64, permutations: usize, seed: u64) -> Vec<ChangePoint> {
    let min_segment = min_segment.max(2);
    let mut random = Random::new(seed);
    let mut found = Vec::new();
    let mut pending = vec![(0, xs.len())];
    if xs.iter().any(|x| !x.is_finite()) {
        return found;
    }
    while let Some((start, end)) = pending.pop() {
        let Some((split, statistic)) = best_split(&xs[start..end], min_segment) else { continue };
        let mut shuffled = xs[start..end].to_vec();
        let as_large = (0..permutations).filter(|_| {
            random.shuffle(&mut shuffled);
            best_split(&shuffled, min_segment).is_some_and(|(_, s)| s >= statistic)
        });
        let p_value = (as_large.count() + 1) as f64 / (permutations + 1) as f64;
        if statistic > 0.0 && p_value <= alpha {
            found.push(ChangePoint { index: start + split, statistic, p_value });
            pending.extend([(start, start + split), (start + split, end)]);
        }
    }
    found.sort_by_key(|change| change.index);
    found
}

/// The split of a segment in two with the largest q̂ = mn/(m+n) · (2·E|X−Y| − E|X−X'| − E|Y−Y'|), moving one observation at a
/// time from right to left.
fn best_split(xs: &[f64], min_segment: usize) -> Option<(usize, f64)> {
    let n = xs.len();
    if n < 2 * min_segment {
        return None;
    }
    let distances_to = |i: usize, part: &[f64]| part.iter().map(|x| (x - xs[i]).abs()).sum::<f64>();
    let (mut left, mut cross) = (0.0, 0.0);
    let mut right: f64 = (0..n).map(|i| distances_to(i, &xs[i..])).sum();
    let mut best: Option<(usize, f64)> = None;
    for split in 1..=n - min_segment {
        let (to_left, to_right) = (distances_to(split - 1, &xs[..split]), distances_to(split - 1, &xs[split..]));
        left += to_left;
        right -= to_right;
        cross += to_right - to_left;
        if split < min_segment {
            continue;
        }
        let (m, k) = (split as f64, (n - split) as f64);
        let within = 2.0 * left / (m * (m - 1.0)) + 2.0 * right / (k * (k - 1.0));
        let q = m * k / (m + k) * (2.0 * cross / (m * k) - within);
        if best.is_none_or(|(_, b)| q > b) {
            best = Some((split, q));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_two_steps() {
        let mut random = Random::new(4);
        let level = |i: usize| if (20..40).contains(&i) { 3.0 } else { 0.0 };
        let xs: Vec<f64> = (0..60).map(|i| level(i) + 0.5 * random.normal()).collect();
        let at: Vec<usize> = e_divisive(&xs, 5, 0.01, 199, 1).iter().map(|c| c.index).collect();
        assert_eq!(at, [20, 40]);
    }

    #[test]
    fn noise_has_no_steps() {
        let mut random = Random::new(8);
        let series = |random: &mut Random| (0..30).map(|_| random.normal()).collect::<Vec<f64>>();
        let flagged = (0..40).filter(|&i| !e_divisive(&series(&mut random), 4, 0.05, 99, i).is_empty()).count();
        assert!(flagged <= 6, "{flagged} of 40");
        assert!(e_divisive(&[1.0; 20], 3, 0.05, 99, 1).is_empty());
    }
}
