//! More points than a picture has room for: which ones can be dropped without a visible difference. A point is dropped
//! only if another of its kind is at the same position, so the extremes stay.

use schedlab_plan::InOrder;
use std::collections::BTreeSet;

/// From this many trials on, a picture draws dots instead of signs (one dot if several would cover each other), and
/// medians instead of a line from trial to trial. It depends only on the trials, so that a caption is true at every
/// width.
pub(crate) const CROWDED: usize = 600;

/// The first point of each cell of `cell` px, in the order given.
pub(crate) fn thin(points: impl IntoIterator<Item = (f64, f64)>, cell: f64) -> Vec<(f64, f64)> {
    let mut taken: BTreeSet<(i64, i64)> = BTreeSet::new();
    let place = |x: f64| (x / cell).floor() as i64;
    points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite() && taken.insert((place(*x), place(*y)))).collect()
}

/// Medians of up to `runs` stretches of equal length: the middle of a stretch, and the median of its values.
pub(crate) fn medians(points: &[(f64, f64)], runs: usize) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = points.iter().copied().filter(|(_, y)| y.is_finite()).collect();
    let each = points.len().div_ceil(runs.max(1)).max(1);
    let of_run = |run: &[(f64, f64)]| {
        let mut values: Vec<f64> = run.iter().map(|p| p.1).collect();
        values.in_order_by(f64::total_cmp);
        ((run[0].0 + run[run.len() - 1].0) / 2.0, schedlab_stats::quantile(&values, 0.5))
    };
    points.chunks(each).map(of_run).collect()
}

/// The line through the fewest of its points such that no point is farther from it than `tolerance` px (Ramer 1972,
/// Douglas and Peucker 1973). Both ends stay; points that are not finite are dropped.
pub(crate) fn simplify(points: &[(f64, f64)], tolerance: f64) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let mut kept = vec![false; points.len()];
    if let Some(last) = points.len().checked_sub(1) {
        (kept[0], kept[last]) = (true, true);
        let mut open = vec![(0, last)];
        while let Some((from, to)) = open.pop() {
            let away = |i: &usize| distance(points[*i], points[from], points[to]);
            let farthest = (from + 1..to).max_by(|a, b| away(a).total_cmp(&away(b)));
            if let Some(i) = farthest.filter(|i| away(i) > tolerance) {
                kept[i] = true;
                open.extend([(from, i), (i, to)]);
            }
        }
    }
    points.into_iter().zip(kept).filter_map(|(p, kept)| kept.then_some(p)).collect()
}

/// Distance from a point to the segment between two others.
fn distance((x, y): (f64, f64), (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> f64 {
    let (dx, dy) = (x2 - x1, y2 - y1);
    let length = dx * dx + dy * dy;
    let share = if length > 0.0 { (((x - x1) * dx + (y - y1) * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (x - x1 - share * dx).hypot(y - y1 - share * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cloud of points and one far from it, at any place in the order.
    #[test]
    fn the_one_far_out_is_never_left_out() {
        for at in [0, 500, 4_999] {
            let mut points: Vec<(f64, f64)> =
                (0..5_000u32).map(|i| (f64::from(i % 97), f64::from(i.wrapping_mul(2_654_435_761) >> 25))).collect();
            points[at] = (50.0, 900.0);
            let thinned = thin(points.iter().copied(), 2.0);
            assert!(thinned.contains(&(50.0, 900.0)));
            assert!(thinned.len() < 3_400, "{} of 5000", thinned.len());
            // Every point that is left out is within a cell of a point that is drawn.
            for (x, y) in points {
                assert!(thinned.iter().any(|(tx, ty)| (x - tx).abs() < 2.0 && (y - ty).abs() < 2.0));
            }
        }
    }

    #[test]
    fn few_points_all_stay() {
        let points = [(0.0, 0.0), (10.0, 10.0), (20.0, f64::NAN), (20.0, 0.0)];
        assert_eq!(thin(points, 2.0).len(), 3);
    }

    #[test]
    fn a_simpler_line_is_nowhere_farther_than_the_tolerance() {
        let wave: Vec<(f64, f64)> = (0..400).map(|i| (f64::from(i), 40.0 * (f64::from(i) / 30.0).sin())).collect();
        let line = simplify(&wave, 0.4);
        assert!(line.len() < 60, "{} of 400", line.len());
        assert_eq!((line.first(), line.last()), (wave.first(), wave.last()));
        for p in &wave {
            let near = line.windows(2).map(|w| distance(*p, w[0], w[1])).fold(f64::INFINITY, f64::min);
            assert!(near <= 0.4, "{p:?} is {near} px away");
        }
        assert!(simplify(&[], 0.4).is_empty());
        assert_eq!(simplify(&[(1.0, 1.0)], 0.4), [(1.0, 1.0)]);
    }

    #[test]
    fn medians_do_not_follow_one_value() {
        let mut points: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i), 5.0)).collect();
        points[17].1 = 1e9;
        let line = medians(&points, 10);
        assert_eq!(line.len(), 10);
        assert!(line.iter().all(|(_, y)| *y == 5.0));
        assert_eq!(line[0].0, 4.5);
    }
}
