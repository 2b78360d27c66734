//! The search space: knobs, each with its possible values, and their combinations.

use schedlab_stats::{Axis, Random};

/// How the distances between the values of a knob are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// By ratios.
    Log,
    /// By differences.
    Linear,
    /// Words: all are equally far from each other.
    Words,
}

/// A value for each knob, as its index in the knob's list.
pub type Point = Vec<usize>;

/// The combinations of the values of some knobs.
#[derive(Debug, Clone)]
pub struct Space {
    axes: Vec<Axis>,
}

impl Space {
    /// A space of knobs, each with its scale and its values: numbers in any order; for words only their number matters.
    pub fn new(knobs: &[(Scale, Vec<f64>)]) -> Self {
        Self { axes: knobs.iter().map(|(scale, values)| axis(*scale, values)).collect() }
    }

    pub(super) fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Number of points; `usize::MAX` if it does not fit.
    pub fn len(&self) -> usize {
        self.axes.iter().fold(1, |product: usize, axis| product.saturating_mul(axis.levels.len()))
    }

    /// Whether a knob has no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The point with this number; the last knob's value changes fastest.
    pub fn point(&self, mut number: usize) -> Point {
        let mut point = vec![0; self.axes.len()];
        for (level, axis) in point.iter_mut().zip(&self.axes).rev() {
            *level = number % axis.levels.len();
            number /= axis.levels.len();
        }
        point
    }

    /// All points, in the order of their numbers.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        (0..self.len()).map(|number| self.point(number))
    }

    /// A uniformly drawn point.
    pub(super) fn draw(&self, random: &mut Random) -> Point {
        self.axes.iter().map(|axis| random.below(axis.levels.len())).collect()
    }

    /// The points that differ from this one by a step of one ordered knob, or by another word.
    pub(super) fn neighbours(&self, point: &Point) -> Vec<Point> {
        let other = |knob: usize, level: usize| {
            let mut other = point.clone();
            other[knob] = level;
            other
        };
        let of_knob = |(knob, axis): (usize, &Axis)| -> Vec<Point> {
            let here = point[knob];
            let near = |level: &usize| *level != here && (!axis.is_ordered || level.abs_diff(here) == 1);
            (0..axis.levels.len()).filter(near).map(|level| other(knob, level)).collect()
        };
        self.axes.iter().enumerate().flat_map(of_knob).collect()
    }

    /// A random point around `point`: each ordered knob at most `step` of its range away, or one value, each word
    /// unchanged or, equally likely, any word.
    pub(super) fn near(&self, point: &Point, step: f64, random: &mut Random) -> Point {
        let near = |(axis, here): (&Axis, &usize)| {
            let levels = axis.levels.len();
            if !axis.is_ordered {
                return if random.below(2) == 0 { *here } else { random.below(levels) };
            }
            let reach = ((step * levels as f64).round() as usize).max(1);
            (here + random.below(2 * reach + 1)).saturating_sub(reach).min(levels - 1)
        };
        self.axes.iter().zip(point).map(near).collect()
    }

    /// `count` different random points that cover each knob's values as evenly as possible (McKay, Beckman & Conover
    /// 1979); all points, in random order, if there are no more.
    pub(super) fn spread(&self, count: usize, random: &mut Random) -> Vec<Point> {
        if self.len() <= count {
            let mut all: Vec<Point> = self.points().collect();
            random.shuffle(&mut all);
            return all;
        }
        let columns: Vec<Vec<usize>> = self
            .axes
            .iter()
            .map(|axis| {
                let mut strata: Vec<usize> = (0..count).collect();
                random.shuffle(&mut strata);
                let level =
                    |stratum| ((stratum as f64 + random.uniform()) / count as f64 * axis.levels.len() as f64) as usize;
                strata.into_iter().map(level).collect()
            })
            .collect();
        let mut points: Vec<Point> = Vec::new();
        for i in 0..count {
            let mut point: Point = columns.iter().map(|column| column[i]).collect();
            while points.contains(&point) {
                point = self.draw(random);
            }
            points.push(point);
        }
        points
    }
}

fn axis(scale: Scale, values: &[f64]) -> Axis {
    let on_scale = |value: &f64| if scale == Scale::Log { value.ln() } else { *value };
    let places: Vec<f64> = values.iter().map(on_scale).collect();
    let (least, most) = places.iter().fold((f64::MAX, f64::MIN), |(lo, hi), &x| (lo.min(x), hi.max(x)));
    let width = if most > least { most - least } else { 1.0 };
    Axis { levels: places.iter().map(|x| (x - least) / width).collect(), is_ordered: scale != Scale::Words }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn space() -> Space {
        let words = (Scale::Words, vec![0.0; 2]);
        Space::new(&[(Scale::Log, vec![1.0, 10.0, 100.0, 1000.0]), words, (Scale::Linear, vec![0.0, 1.0, 4.0])])
    }

    #[test]
    fn scales_put_values_where_they_belong() {
        let space = space();
        let close = |got: &[f64], want: &[f64]| got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-12);
        assert!(close(&space.axes()[0].levels, &[0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]));
        assert!(close(&space.axes()[2].levels, &[0.0, 0.25, 1.0]));
        assert!(!space.axes()[1].is_ordered);
    }

    #[test]
    fn every_point_has_its_number() {
        let space = space();
        let all: BTreeSet<Point> = space.points().collect();
        assert_eq!((space.len(), all.len()), (24, 24));
        assert_eq!(space.point(1), [0, 0, 1]);
        assert_eq!(space.point(23), [3, 1, 2]);
    }

    #[test]
    fn spread_points_are_different_and_take_every_value_evenly() {
        for seed in 0..50 {
            let points = space().spread(12, &mut Random::new(seed));
            assert_eq!(points.iter().collect::<BTreeSet<_>>().len(), 12);
            let of_first = |level| points.iter().filter(|point| point[0] == level).count();
            // A duplicate is replaced by another draw, so the counts are not exactly three each.
            assert!((0..4).all(|level| (1..=6).contains(&of_first(level))), "{points:?}");
        }
        assert_eq!(space().spread(24, &mut Random::new(1)).len(), 24);
    }

    #[test]
    fn neighbours_are_a_step_away() {
        assert_eq!(space().neighbours(&vec![0, 1, 1]), [vec![1, 1, 1], vec![0, 0, 1], vec![0, 1, 0], vec![0, 1, 2]]);
    }
}
