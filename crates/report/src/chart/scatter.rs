//! Two changes plotted against each other: a point for each arm, and the Pareto front as a line.

use super::axis::{self, Scale};
use super::mark::Mark;
use super::svg::{Anchor, Svg};
use super::theme::arm_class;
use super::{ArmKey, Draw, legend};
use schedlab_plan::InOrder;

/// An arm: its ratios on the horizontal and the vertical axis, each with the ends of its interval.
#[derive(Debug, Clone)]
pub(crate) struct ScatterPoint {
    pub(crate) key: ArmKey,
    pub(crate) at: [f64; 2],
    pub(crate) ends: [[f64; 2]; 2],
    /// Whether it is on the front: then it is drawn with its intervals and its name.
    pub(crate) on_front: bool,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Scatter {
    /// The labels of the axes.
    pub(crate) titles: [String; 2],
    pub(crate) points: Vec<ScatterPoint>,
}

/// Height of the plot, px.
const PLOT: f64 = 300.0;
/// Width left of the plot for the labels of its axis, px.
const LEFT: f64 = 62.0;

impl Draw for Scatter {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let mut front: Vec<&ScatterPoint> = self.points.iter().filter(|point| point.on_front).collect();
        front.in_order_by(|a, b| a.at[0].total_cmp(&b.at[0]));
        let named: Vec<ArmKey> = front.iter().map(|point| point.key.clone()).collect();
        let top = legend::draw(&mut svg, &named, 0.0) + 22.0;
        svg.text_within("", (0.0, top - 8.0), Anchor::Start, &self.titles[1], width);
        let (bottom, right) = (top + PLOT, width - 8.0);
        if let Some((across, up)) = self.scale(0, LEFT, right).zip(self.scale(1, bottom, top)) {
            axis::bottom(&mut svg, &across, &axis::ratio_ticks(across.lo, across.hi, right - LEFT), top, bottom);
            axis::side(&mut svg, &up, &axis::ratio_ticks(up.lo, up.hi, PLOT), LEFT, right);
            svg.line("s dashed zero", (LEFT, up.at(1.0)), (right, up.at(1.0)));
            svg.line("s dashed zero", (across.at(1.0), top), (across.at(1.0), bottom));
            let place = |point: &ScatterPoint| (across.at(point.at[0]), up.at(point.at[1]));
            svg.dots("dot", 3.0, self.points.iter().filter(|point| !point.on_front).map(place));
            svg.polyline("s dashed", &front.iter().map(|point| place(point)).collect::<Vec<_>>());
            for point in front {
                let ((x, y), [wide, high]) = (place(point), point.ends);
                svg.open(&arm_class(point.key.arm), None);
                svg.lines("ci weak", [((across.at(wide[0]), y), (across.at(wide[1]), y))]);
                svg.lines("ci weak", [((x, up.at(high[0])), (x, up.at(high[1])))]);
                svg.mark(point.key.arm, (x, y), 4.2, Mark::Solid);
                svg.close();
            }
        }
        svg.text_within("", (right, bottom + 34.0), Anchor::End, &self.titles[0], width);
        svg.height = bottom + 42.0;
        svg
    }
}

impl Scatter {
    /// Contains every estimate, the intervals of the front, and no change.
    fn scale(&self, axis: usize, from: f64, to: f64) -> Option<Scale> {
        let of_front = self.points.iter().filter(|point| point.on_front).flat_map(|point| point.ends[axis]);
        Scale::log(self.points.iter().map(|point| point.at[axis]).chain(of_front).chain([1.0]), from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_is_named_and_joined_from_left_to_right() {
        let point = |arm: u32, x: f64, y: f64, on_front| ScatterPoint {
            key: ArmKey { arm, name: format!("arm{arm}") },
            at: [x, y],
            ends: [[0.99 * x, 1.01 * x], [0.98 * y, 1.02 * y]],
            on_front,
        };
        let titles = ["rate".to_owned(), "latency".to_owned()];
        let points = vec![point(1, 1.2, 0.9, true), point(2, 0.9, 0.8, false), point(3, 1.0, 1.1, true)];
        let text = Scatter { titles, points }.draw(760.0).inline("t", "d");
        assert!(text.contains("arm1") && text.contains("arm3") && !text.contains("arm2"), "{text}");
        assert!(text.find("arm3") < text.find("arm1"), "in the order of the axis");
        assert_eq!(text.matches("ci weak").count(), 4);
    }
}
