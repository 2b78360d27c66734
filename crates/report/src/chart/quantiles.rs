//! Latency distributions as quantile curves: the share of operations on an axis that gives each further nine the same
//! room, the value on a logarithmic one. The ends are the exact minimum and maximum.

use super::axis::{self, Scale};
use super::svg::{Anchor, Svg};
use super::theme::arm_class;
use super::{ArmKey, Draw, NARROW, legend};

/// One arm's distribution.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    pub(crate) arm: u32,
    /// `(value, share at or below)`, rising.
    pub(crate) points: Vec<(f64, f64)>,
    /// Samples: what lies beyond `1 - 1/count` cannot be known.
    pub(crate) count: u64,
    pub(crate) max: f64,
    pub(crate) title: String,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Quantiles {
    pub(crate) unit: String,
    pub(crate) arms: Vec<ArmKey>,
    pub(crate) curves: Vec<Curve>,
}

/// How many nines a share has; 0 at the minimum, 1 at 90 %.
fn nines(share: f64) -> f64 {
    -(1.0 - share).max(1e-12).log10()
}

impl Draw for Quantiles {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let above = legend::draw(&mut svg, &self.arms, 0.0);
        let (left, right, top) = (58.0, width - 8.0, above + 6.0);
        let bottom = top + if width < NARROW { 210.0 } else { 240.0 };
        let deepest = self.curves.iter().map(|c| (c.count.max(10) as f64).log10()).fold(1.0, f64::max).min(8.0);
        let across = Scale::exactly(0.0, deepest, left, right);
        let shares = [
            (0.0, "min"),
            (0.5, "50 %"),
            (0.9, "90"),
            (0.99, "99"),
            (0.999, "99.9"),
            (0.9999, "99.99"),
            (0.99999, "99.999"),
        ];
        let ticks: Vec<_> = shares
            .iter()
            .filter(|(q, _)| nines(*q) <= deepest - 0.35)
            .map(|(q, l)| (nines(*q), (*l).to_owned()))
            .chain([(deepest, "max".to_owned())])
            .collect();
        axis::bottom(&mut svg, &across, &ticks, top, bottom);
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
        svg.text("tick", (left, bottom + 30.0), Anchor::Start, "share of operations at or below");
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
    svg.open(&arm_class(curve.arm), Some(curve.arm), &curve.title);
    svg.polyline("s", &at);
    if let Some((x, y)) = at.last() {
        svg.circle("f", (*x, *y), 2.8);
    }
    svg.close();
}
