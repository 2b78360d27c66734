//! Intervals drawn in the cells of a table, next to their numbers: a line with a tick at the estimate, over the band of
//! effects that do not matter, on one ratio axis for the whole table.

use super::axis::Scale;
use super::svg::{Anchor, Svg};
use schedlab_plan::InOrder;

/// Width and height of a cell, px.
const CELL: (f64, f64) = (140.0, 14.0);

/// Ticks on both sides of no effect, with their labels.
const ENDS: [(f64, f64, (&str, &str)); 7] = [
    (0.995, 1.005, ("-0.5 %", "+0.5 %")),
    (0.99, 1.01, ("-1 %", "+1 %")),
    (0.95, 1.05, ("-5 %", "+5 %")),
    (0.9, 1.1, ("-10 %", "+10 %")),
    (0.8, 1.25, ("-20 %", "+25 %")),
    (0.5, 2.0, ("0.5 ×", "2 ×")),
    (0.25, 4.0, ("0.25 ×", "4 ×")),
];

/// The scale of a table.
pub(crate) struct RatioCells {
    scale: Scale,
    sesoi: f64,
}

impl RatioCells {
    /// For a table with these intervals `(estimate, lower end, upper end)`, as ratios, and the band of effects below
    /// `sesoi`. The axis contains nine out of ten ends and extends by at most a factor of 4 to either side, so that
    /// most intervals can be read; an end beyond it is an arrow.
    pub(crate) fn new(intervals: &[(f64, f64, f64)], sesoi: f64) -> Self {
        let sesoi = if sesoi.is_finite() { sesoi.clamp(0.0, 10.0) } else { 0.0 };
        let mut far: Vec<f64> = intervals.iter().flat_map(|(_, lo, hi)| [lo.ln().abs(), hi.ln().abs()]).collect();
        far.retain(|x| x.is_finite());
        far.in_order_by(f64::total_cmp);
        let most = far.get(far.len() * 9 / 10).copied().unwrap_or(0.0).min(4f64.ln()).exp();
        let end = most.max((1.0 + sesoi).powf(1.5)).max(1.01);
        let scale = Scale::log([1.0 / end, end].into_iter(), 4.0, CELL.0 - 4.0);
        Self { scale: scale.unwrap_or(Scale::exactly(0.9, 1.1, 4.0, CELL.0 - 4.0)), sesoi }
    }

    fn blank(&self) -> Svg {
        let mut svg = Svg::new(CELL.0);
        svg.height = CELL.1;
        svg
    }

    /// The axis, drawn below a column.
    pub(crate) fn axis(&self) -> String {
        let mut svg = self.blank();
        let ends = ENDS.iter().rev().find(|(_, up, _)| *up <= self.scale.hi).unwrap_or(&ENDS[0]);
        let middle = if ends.2.1.ends_with('%') { "0 %" } else { "1 ×" };
        let ticks = [(ends.0, ends.2.0), (1.0, middle), (ends.1, ends.2.1)];
        let at = |value: f64, label: &str| {
            let half = super::measure::text_width(label, 11.0) / 2.0;
            self.scale.at(value).clamp(half, CELL.0 - half)
        };
        svg.labels("tick", Anchor::Middle, ticks.map(|(value, label)| ((at(value, label), 15.0), label)));
        svg.cell("chart cell")
    }

    /// The background of every row, for the style sheet: the ends of the band. No effect is in the middle.
    pub(crate) fn ground(&self) -> String {
        let [from, to] = [1.0 / (1.0 + self.sesoi), 1.0 + self.sesoi].map(|v| 100.0 * self.scale.at(v) / CELL.0);
        format!("--from:{from:.1}%;--to:{to:.1}%")
    }

    /// One row, rounded to whole pixels. It has no title for screen readers, because its numbers are next to it as
    /// text.
    pub(crate) fn row(&self, tone: &str, (value, lo, hi): (f64, f64, f64)) -> String {
        let (y, at) = (CELL.1 / 2.0, |v: f64| self.scale.at(v).round());
        let mut lines = vec![((at(lo), y), (at(hi), y))];
        if self.scale.holds(value) {
            lines.push(((at(value), y - 4.0), (at(value), y + 4.0)));
        }
        let mut arrow = |x: f64, back: f64| lines.extend([-3.0, 3.0].map(|dy| ((x, y), (x + back, y + dy))));
        if lo < self.scale.lo {
            arrow(at(lo), 4.0);
        }
        if hi > self.scale.hi {
            arrow(at(hi), -4.0);
        }
        let mut svg = self.blank();
        svg.lines("", lines);
        svg.cell(&format!("cell {tone}"))
    }
}
