//! Every trial in the order in which it ran: value over running number, blocks as bands, and the order of arms as a
//! line of coloured cells below. Warm-up and unused trials are hollow, marked ones have a ring, failed ones are crosses
//! at the bottom. Very many trials are drawn as dots (once if they would cover each other) under a line of medians.

use super::axis::{self, Scale};
use super::crowd::{CROWDED, medians, thin};
use super::mark::Mark;
use super::measure::text_width;
use super::svg::{Anchor, Svg};
use super::theme::arm_class;
use super::{ArmKey, Draw, legend};
use schedlab_plan::InOrder;

/// The state of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointState {
    /// Used for the verdict.
    Used,
    /// Measured, but not used for the verdict.
    Unused,
    /// Measured while the machine was disturbed.
    Marked,
    /// Not measured.
    Failed,
}

/// A trial.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(crate) arm: u32,
    /// `None` before block 0.
    pub(crate) block: Option<u32>,
    /// `None` if it failed.
    pub(crate) value: Option<f64>,
    pub(crate) state: PointState,
}

/// The chart; points in time order.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    pub(crate) unit: String,
    pub(crate) arms: Vec<ArmKey>,
    pub(crate) points: Vec<Point>,
    /// Whether the rows are in time order.
    pub(crate) ordered: bool,
    /// The number and kind of the points: `90 trials`.
    pub(crate) counted: String,
    /// Which trials of the page these are.
    pub(crate) plot: super::Plot,
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

/// Up to this many arms have a line from trial to trial; more lines would hide the trials.
const TRACED: usize = 3;

/// Number of points in the line of medians.
const STRETCHES: usize = 120;

impl Draw for Timeline {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let above = legend::draw(&mut svg, &self.arms, 0.0);
        let (right, top) = (width - 2.0, above + 16.0);
        let bottom = top + 230.0;
        let values: Vec<f64> = self.points.iter().filter_map(|p| p.value).collect();
        let scale = Scale::fitting(&values, 8.0, bottom - 12.0, top + 6.0);
        let ticks = scale.as_ref().map(|scale| scale.ticks(5)).unwrap_or_default();
        let (labels, unit) = axis::labels(&ticks, &self.unit);
        let widest = labels.iter().map(|label| text_width(label, 11.0)).fold(0.0, f64::max);
        let left = (widest + 8.0).clamp(54.0, width / 4.0);
        let step = (right - left) / self.points.len().max(1) as f64;
        let frame = Frame { left, right, top, bottom, step };
        self.draw_blocks(&mut svg, &frame);
        if let Some(scale) = &scale {
            let labelled: Vec<_> = ticks.iter().copied().zip(labels).collect();
            axis::side(&mut svg, scale, &labelled, left, right);
            if let Some(tick) = ticks.last() {
                svg.text("tick", (left - 6.0, scale.at(*tick) - 9.0), Anchor::End, &unit);
            }
            svg.plot = self.plot.over_order(frame.left, frame.step, scale);
        }
        self.draw_arms(&mut svg, &frame, scale.as_ref());
        svg.line("axis", (left, frame.bottom), (right, frame.bottom));
        self.draw_order(&mut svg, &frame);
        svg.height = frame.bottom + 36.0;
        svg
    }
}

impl Timeline {
    fn is_crowded(&self) -> bool {
        self.points.len() > CROWDED
    }

    /// Alternating bands if they are wide enough to be seen. Each has its number, or only round numbers if there is too
    /// little room.
    fn draw_blocks(&self, svg: &mut Svg, frame: &Frame) {
        let mut runs: Vec<(Option<u32>, f64, f64)> = Vec::new();
        for (i, point) in self.points.iter().enumerate() {
            match runs.last_mut().filter(|(block, ..)| *block == point.block) {
                Some((_, _, wide)) => *wide += frame.step,
                None => runs.push((point.block, frame.left + i as f64 * frame.step, frame.step)),
            }
        }
        let bands = runs.iter().step_by(2).filter(|(_, _, wide)| *wide > 2.5);
        svg.rects("block", bands.map(|(_, x, wide)| ((*x, frame.top), (*wide, frame.bottom - frame.top + 14.0))));
        if !self.ordered {
            return;
        }
        let mut widths: Vec<f64> = runs.iter().map(|r| r.2).collect();
        widths.in_order_by(f64::total_cmp);
        let each = round_step(40.0 / widths.get(widths.len() / 2).copied().unwrap_or(40.0));
        let (mut labels, mut free) = (Vec::new(), f64::NEG_INFINITY);
        for (block, x, wide) in runs {
            let label = match block {
                Some(0) => "block 0".to_owned(),
                Some(block) => block.to_string(),
                None => "warm-up".to_owned(),
            };
            let half = text_width(&label, 11.0) / 2.0;
            let middle = x + wide / 2.0;
            let wanted = block.map_or(2.0 * half < wide, |b| b.is_multiple_of(each));
            if wanted && middle - half > free {
                labels.push(((middle, frame.top - 4.0), label));
                free = middle + half + 4.0;
            }
        }
        svg.labels("tick", Anchor::Middle, labels.iter().map(|(at, label)| (*at, label.as_str())));
    }

    fn draw_arms(&self, svg: &mut Svg, frame: &Frame, scale: Option<&Scale>) {
        for key in &self.arms {
            let of_arm: Vec<(usize, &Point)> =
                self.points.iter().enumerate().filter(|(_, p)| p.arm == key.arm).collect();
            if of_arm.is_empty() {
                continue;
            }
            svg.open(&arm_class(key.arm), Some(key.arm));
            if let Some(scale) = scale {
                self.draw_arm(svg, key.arm, &of_arm, frame, scale);
            }
            draw_crosses(svg, &of_arm, frame, scale.is_none());
            svg.close();
        }
        if let Some(scale) = scale.filter(|_| self.is_crowded() && self.ordered) {
            self.draw_medians(svg, frame, scale);
        }
    }

    /// With very many trials: a line for each arm over all dots, with a border that separates it from dots of the same
    /// colour.
    fn draw_medians(&self, svg: &mut Svg, frame: &Frame, scale: &Scale) {
        for key in &self.arms {
            let used = self.points.iter().enumerate().filter(|(_, p)| p.arm == key.arm && p.state == PointState::Used);
            let at: Vec<(f64, f64)> = used.filter_map(|(i, p)| Some((frame.x(i), scale.at(p.value?)))).collect();
            let line = medians(&at, STRETCHES);
            svg.open(&arm_class(key.arm), Some(key.arm));
            svg.polyline("halo", &line);
            svg.polyline("median", &line);
            svg.close();
        }
    }

    /// The line through an arm's trials, and their signs by state.
    fn draw_arm(&self, svg: &mut Svg, arm: u32, of_arm: &[(usize, &Point)], frame: &Frame, scale: &Scale) {
        let measured = of_arm.iter().filter(|(_, p)| p.state != PointState::Failed);
        let at: Vec<(f64, f64, PointState)> =
            measured.filter_map(|(i, p)| Some((frame.x(*i), scale.at(p.value?), p.state))).collect();
        let of_state = |state| at.iter().filter(move |p| p.2 == state).map(|p| (p.0, p.1));
        if self.is_crowded() {
            // Marked dots get a border, which is drawn first so that it is visible around the dot.
            svg.dots("rim", 2.6, thin(of_state(PointState::Marked), 2.0));
            svg.dots("pale", 1.4, thin(of_state(PointState::Unused), 2.0));
            svg.dots("d", 1.4, thin(of_state(PointState::Marked), 2.0));
            svg.dots("d", 1.4, thin(of_state(PointState::Used), 2.0));
            return;
        }
        if self.ordered && self.arms.len() <= TRACED {
            svg.polyline("trace", &at.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>());
        }
        let radius = (frame.step * 0.84).round().clamp(5.0, 8.0) / 2.0;
        svg.marks(arm, of_state(PointState::Used), radius, Mark::Solid);
        svg.marks(arm, of_state(PointState::Unused), radius, Mark::Hollow);
        svg.marks(arm, of_state(PointState::Marked), radius, Mark::Ringed);
    }

    /// The order of arms as cells under the plot, if a cell is wide enough to be seen.
    fn draw_order(&self, svg: &mut Svg, frame: &Frame) {
        let wide = if frame.step > 4.0 { 0.9 } else { 1.0 };
        for key in self.arms.iter().filter(|_| frame.step > 1.0) {
            let of_arm = self.points.iter().enumerate().filter(|(_, p)| p.arm == key.arm).map(|(i, _)| i as f64);
            svg.open_steps(&arm_class(key.arm), key.arm, (frame.left, frame.bottom + 8.0), frame.step);
            svg.lines("order", of_arm.map(|i| ((i, 0.0), (i + wide, 0.0))));
            svg.close();
        }
        let what = if self.ordered { "order of trials →" } else { "rows as imported, order unknown" };
        svg.text("tick", (frame.left, frame.bottom + 27.0), Anchor::Start, what);
        svg.text("tick", (frame.right, frame.bottom + 27.0), Anchor::End, &self.counted);
    }
}

/// The first of 1, 2, 5, 10, 20, … that is not below `least`.
fn round_step(least: f64) -> u32 {
    let mut steps = (0..9).flat_map(|power| [1, 2, 5].map(|s| s * 10u32.pow(power)));
    steps.find(|s| f64::from(*s) >= least).unwrap_or(u32::MAX)
}

/// Trials without a value: crosses at the bottom.
fn draw_crosses(svg: &mut Svg, of_arm: &[(usize, &Point)], frame: &Frame, all: bool) {
    let (y, r) = (frame.bottom - 6.0, (frame.step * 0.42).clamp(2.5, 4.0));
    let missing = of_arm.iter().filter(|(_, p)| all || p.state == PointState::Failed || !is_number(p.value));
    let at = thin(missing.map(|(i, _)| (frame.x(*i), y)), 1.0);
    svg.lines(
        "cross",
        at.into_iter().flat_map(|(x, y)| [((x - r, y - r), (x + r, y + r)), ((x - r, y + r), (x + r, y - r))]),
    );
}

fn is_number(value: Option<f64>) -> bool {
    value.is_some_and(f64::is_finite)
}
