//! Latency distributions as quantile curves: the share of operations on an axis on which each further nine has the same
//! width, and the value on a logarithmic axis. The ends are the exact minimum and maximum. The arms' signs are on the
//! curves at the median and at every second nine, so that curves can be distinguished without colour.

use super::axis::{self, Scale};
use super::crowd::simplify;
use super::mark::Mark;
use super::svg::{Anchor, Svg};
use super::theme::{arm_class, is_second_of_its_hue};
use super::{ArmKey, Draw, legend};

/// One arm's distribution.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    pub(crate) arm: u32,
    /// `(value, share at or below)`, rising.
    pub(crate) points: Vec<(f64, f64)>,
    /// Number of samples: nothing is known beyond `1 - 1/count`.
    pub(crate) count: u64,
    pub(crate) max: f64,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Quantiles {
    pub(crate) unit: String,
    pub(crate) arms: Vec<ArmKey>,
    pub(crate) curves: Vec<Curve>,
}

/// Shares marked on the axis, above the minimum.
const SHARES: [(f64, &str); 6] =
    [(0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9"), (0.9999, "99.99"), (0.99999, "99.999")];

/// A curve is drawn with the fewest points that are nowhere farther off than this, px.
const TOLERANCE: f64 = 0.7;

/// Number of nines in a share: 0 at the minimum, 1 at 90 %.
fn nines(share: f64) -> f64 {
    -(1.0 - share).max(1e-12).log10()
}

impl Draw for Quantiles {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let above = legend::draw(&mut svg, &self.arms, 0.0);
        let (left, right, top) = (58.0, width - 8.0, above + 6.0);
        let bottom = top + 220.0;
        let deepest = self.curves.iter().map(|c| (c.count.max(10) as f64).log10()).fold(1.0, f64::max).min(8.0);
        let across = Scale::exactly(0.0, deepest, left, right);
        let ticks: Vec<_> = SHARES
            .iter()
            .filter(|(q, _)| across.at(deepest) - across.at(nines(*q)) > 46.0)
            .map(|(q, l)| (nines(*q), (*l).to_owned()))
            .chain([(deepest, "max".to_owned())])
            .collect();
        axis::bottom(&mut svg, &across, &ticks, top, bottom);
        // The median is close to the minimum on this axis: `min` is printed left of its position, or not at all.
        if across.at(nines(0.5)) - left > 14.0 {
            svg.text("tick", (left + 2.0, bottom + 15.0), Anchor::End, "min");
        }
        let values = self.curves.iter().flat_map(|c| c.points.iter().map(|p| p.0).chain([c.max]));
        if let Some(scale) = Scale::log(values, bottom - 4.0, top + 4.0) {
            let ticks = scale.ticks(6);
            let labels = axis::own_labels(&ticks, &self.unit);
            let labelled: Vec<_> = ticks.into_iter().zip(labels).collect();
            axis::side(&mut svg, &scale, &labelled, left, right);
            for curve in &self.curves {
                draw_curve(&mut svg, curve, &across, &scale);
            }
        }
        svg.line("axis", (left, bottom), (right, bottom));
        svg.text("tick", (left, bottom + 30.0), Anchor::Start, "share of operations at or below, %");
        svg.height = bottom + 36.0;
        svg
    }
}

fn draw_curve(svg: &mut Svg, curve: &Curve, across: &Scale, scale: &Scale) {
    let known = (curve.count.max(1) as f64).log10();
    let body = curve.points.iter().filter(|(v, q)| *v > 0.0 && nines(*q) <= known);
    let mut at: Vec<(f64, f64)> = body.map(|(v, q)| (across.at(nines(*q)), scale.at(*v))).collect();
    if curve.max > 0.0 {
        at.push((across.at(known), scale.at(curve.max)));
    }
    svg.open(&arm_class(curve.arm), Some(curve.arm));
    let class = if is_second_of_its_hue(curve.arm) { "s dashed" } else { "s" };
    svg.polyline(class, &simplify(&at, TOLERANCE));
    let last = at.last().copied();
    let shares = SHARES.iter().step_by(2).map(|(q, _)| nines(*q)).filter(|n| *n < known - 0.2);
    svg.marks(curve.arm, shares.filter_map(|n| on(&at, across.at(n))).chain(last), 3.0, Mark::Solid);
    svg.close();
}

/// The point of a rising line at `x`.
fn on(line: &[(f64, f64)], x: f64) -> Option<(f64, f64)> {
    let after = line.iter().position(|p| p.0 >= x).filter(|i| *i > 0)?;
    let ((x1, y1), (x2, y2)) = (line[after - 1], line[after]);
    let share = if x2 > x1 { (x - x1) / (x2 - x1) } else { 1.0 };
    Some((x, y1 + share * (y2 - y1)))
}
