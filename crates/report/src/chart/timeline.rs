//! Every trial in the order it ran: value over running number, blocks as bands, the order of arms as a line of coloured
//! cells below. Warm-up and unused trials are hollow, marked ones ringed, failed ones crosses on the floor.

use super::axis::{self, Scale};
use super::svg::{Anchor, Mark, Svg};
use super::theme::arm_class;
use super::{ArmKey, Draw, NARROW, legend};

/// What became of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointState {
    /// In the verdict.
    Used,
    /// Measured, not in the verdict.
    Unused,
    /// Measured while something befell the machine.
    Marked,
    /// Not measured.
    Failed,
}

/// A trial.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    /// Running number in the run, the sort key.
    pub(crate) trial: u64,
    pub(crate) arm: u32,
    /// `None` before block 0.
    pub(crate) block: Option<u32>,
    /// `None` when it failed.
    pub(crate) value: Option<f64>,
    pub(crate) state: PointState,
    pub(crate) title: String,
}

/// The chart; points in time order.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    pub(crate) unit: String,
    pub(crate) arms: Vec<ArmKey>,
    pub(crate) points: Vec<Point>,
    /// Whether the order of the rows is the order of time.
    pub(crate) ordered: bool,
}

/// The plot's box, px.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    step: f64,
}

impl Frame {
    fn x(&self, index: usize) -> f64 {
        self.left + (index as f64 + 0.5) * self.step
    }
}

impl Draw for Timeline {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let above = legend::draw(&mut svg, &self.arms, 0.0);
        let (left, right, top) = (54.0, width - 2.0, above + 16.0);
        let height = if width < NARROW { 190.0 } else { 230.0 };
        let step = (right - left) / self.points.len().max(1) as f64;
        let frame = Frame { left, right, top, bottom: top + height, step };
        self.draw_blocks(&mut svg, &frame);
        let values: Vec<f64> = self.points.iter().filter_map(|p| p.value).collect();
        if let Some(scale) = Scale::fitting(&values, 8.0, frame.bottom - 12.0, frame.top + 6.0) {
            let ticks = scale.ticks(5);
            let (labels, unit) = axis::labels(&ticks, &self.unit);
            let last = ticks.len().saturating_sub(1);
            let labelled: Vec<_> = ticks.into_iter().zip(labels).collect();
            axis::side(&mut svg, &scale, &labelled, left, right);
            if let Some((tick, _)) = labelled.get(last) {
                svg.text("tick", (left - 6.0, scale.at(*tick) - 9.0), Anchor::End, &unit);
            }
            self.draw_traces(&mut svg, &frame, &scale);
            self.draw_points(&mut svg, &frame, Some(&scale));
        } else {
            self.draw_points(&mut svg, &frame, None);
        }
        svg.line("axis", (left, frame.bottom), (right, frame.bottom));
        self.draw_order(&mut svg, &frame);
        svg.height = frame.bottom + 36.0;
        svg
    }
}

impl Timeline {
    /// Alternating bands, numbered where there is room.
    fn draw_blocks(&self, svg: &mut Svg, frame: &Frame) {
        let mut start = 0;
        let mut band = 0;
        let mut free = f64::NEG_INFINITY;
        for (i, point) in self.points.iter().enumerate() {
            let ends = self.points.get(i + 1).is_none_or(|next| next.block != point.block);
            if !ends {
                continue;
            }
            let (x, wide) = (frame.left + start as f64 * frame.step, (i + 1 - start) as f64 * frame.step);
            if band % 2 == 0 {
                svg.rect("block", (x, frame.top), (wide, frame.bottom - frame.top + 14.0));
            }
            let label = match point.block {
                Some(block) if start == 0 && wide > 48.0 => format!("block {block}"),
                Some(block) => block.to_string(),
                None => "warm-up".to_owned(),
            };
            let half = super::svg::text_width(&label, 11.0) / 2.0;
            let middle = x + wide / 2.0;
            if self.ordered && middle - half > free && half * 2.0 < wide.max(24.0) {
                svg.text("tick", (middle, frame.top - 4.0), Anchor::Middle, &label);
                free = middle + half + 4.0;
            }
            (start, band) = (i + 1, band + 1);
        }
    }

    /// A thin line through the used trials of each arm.
    fn draw_traces(&self, svg: &mut Svg, frame: &Frame, scale: &Scale) {
        if !self.ordered {
            return;
        }
        for key in &self.arms {
            let of_arm =
                self.points.iter().enumerate().filter(|(_, p)| p.arm == key.arm && p.state != PointState::Failed);
            let at: Vec<_> = of_arm.filter_map(|(i, p)| Some((frame.x(i), scale.at(p.value?)))).collect();
            svg.open(&arm_class(key.arm), Some(key.arm), "");
            svg.polyline("trace", &at);
            svg.close();
        }
    }

    fn draw_points(&self, svg: &mut Svg, frame: &Frame, scale: Option<&Scale>) {
        let radius = (frame.step * 0.42).clamp(1.4, 4.0);
        for (i, point) in self.points.iter().enumerate() {
            let x = frame.x(i);
            svg.open(&arm_class(point.arm), Some(point.arm), &point.title);
            match (point.value.filter(|v| v.is_finite()), scale) {
                (Some(value), Some(scale)) if point.state != PointState::Failed => {
                    let mark = match point.state {
                        PointState::Used => Mark::Solid,
                        PointState::Marked => Mark::Ringed,
                        _ => Mark::Hollow,
                    };
                    svg.mark(point.arm, (x, scale.at(value)), radius, mark);
                }
                _ => {
                    let (y, r) = (frame.bottom - 6.0, radius.max(2.5));
                    svg.line("cross", (x - r, y - r), (x + r, y + r));
                    svg.line("cross", (x - r, y + r), (x + r, y - r));
                }
            }
            svg.close();
        }
    }

    /// The order of arms as cells under the plot.
    fn draw_order(&self, svg: &mut Svg, frame: &Frame) {
        for (i, point) in self.points.iter().enumerate() {
            svg.open(&arm_class(point.arm), Some(point.arm), "");
            let gap = if frame.step > 4.0 { 1.0 } else { 0.0 };
            svg.rect("bar", (frame.left + i as f64 * frame.step, frame.bottom + 4.0), (frame.step - gap, 8.0));
            svg.close();
        }
        let what = if self.ordered { "order of trials →" } else { "rows as imported, order unknown" };
        svg.text("tick", (frame.left, frame.bottom + 27.0), Anchor::Start, what);
        svg.text("tick", (frame.right, frame.bottom + 27.0), Anchor::End, &format!("{} trials", self.points.len()));
    }
}
