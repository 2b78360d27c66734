//! Small line charts in rows with a shared vertical axis: how a value changes from step to step, with a line for each
//! level of something else.

use super::axis::{self, Scale};
use super::mark::Mark;
use super::measure::{fit, text_width};
use super::svg::{Anchor, Svg};
use super::theme::{arm_class, is_second_of_its_hue};
use super::{ArmKey, Draw};

/// One chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Panel {
    pub(crate) title: String,
    /// The labels below the steps.
    pub(crate) steps: Vec<String>,
    /// The levels, each with its value at every step; the key determines colour and shape.
    pub(crate) lines: Vec<(ArmKey, Vec<Option<f64>>)>,
    /// Intervals of the first line at each step; empty if they are not known.
    pub(crate) intervals: Vec<Option<[f64; 2]>>,
    /// Where lines are cut into parts.
    pub(crate) cuts: Vec<Cut>,
}

/// A place on the horizontal axis, in steps from the first, and its interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// The key of the line that is cut.
    pub(crate) arm: u32,
    pub(crate) at: f64,
    pub(crate) ends: [f64; 2],
}

/// Charts of the same value.
#[derive(Debug, Clone)]
pub(crate) struct PanelRow {
    pub(crate) unit: String,
    pub(crate) panels: Vec<Panel>,
    /// The control's value, dashed.
    pub(crate) reference: Option<f64>,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Panels {
    pub(crate) rows: Vec<PanelRow>,
}

/// Height of the plot, px.
const PLOT: f64 = 150.0;
/// Space between two charts of a row, and left of each for its axis.
const ASIDE: f64 = 62.0;
/// Height of one line of the legend.
const LEGEND: f64 = 18.0;

impl Draw for Panels {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        for row in &self.rows {
            // On a narrow page the charts are below each other.
            let abreast = if width < 560.0 { 1 } else { row.panels.len().max(1) };
            let column = width / abreast as f64;
            for panels in row.panels.chunks(abreast) {
                let top = svg.height;
                let bottoms = panels.iter().enumerate().map(|(at, panel)| {
                    let left = at as f64 * column;
                    row.draw(&mut svg, panel, (left, left + column - 10.0), top)
                });
                svg.height = bottoms.fold(top, f64::max) + 14.0;
            }
        }
        svg
    }
}

impl PanelRow {
    /// Draws a chart from `top` on; returns its lower end.
    fn draw(&self, svg: &mut Svg, panel: &Panel, (edge, right): (f64, f64), top: f64) -> f64 {
        let left = edge + ASIDE;
        svg.text_within("head", (left, top + 12.0), Anchor::Start, &panel.title, right - left);
        let top = legend(svg, panel, (left, right), top + 30.0);
        let bottom = top + PLOT;
        let last = panel.steps.len().saturating_sub(1).max(1) as f64;
        let across = Scale::exactly(0.0, last, left + 16.0, right - 16.0);
        let ticks: Vec<_> = panel.steps.iter().enumerate().map(|(at, step)| (at as f64, step.clone())).collect();
        axis::bottom(svg, &across, &ticks, top, bottom);
        let values =
            self.panels.iter().flat_map(|panel| panel.lines.iter().flat_map(|line| &line.1)).flatten().copied();
        let ends = self.panels.iter().flat_map(|panel| panel.intervals.iter().flatten().flatten().copied());
        if let Some(scale) = Scale::linear(values.chain(ends).chain(self.reference), bottom - 4.0, top + 4.0) {
            let ticks = scale.ticks(4);
            let (labels, unit) = axis::labels(&ticks, &self.unit);
            let labels = labels.iter().map(|label| fit(label, 11.0, ASIDE - 8.0));
            svg.text("tick", (left - 6.0, top - 4.0), Anchor::End, &fit(&unit, 11.0, ASIDE - 8.0));
            axis::side(svg, &scale, &ticks.iter().copied().zip(labels).collect::<Vec<_>>(), left, right);
            if let Some(reference) = self.reference {
                svg.line("s dashed zero", (left, scale.at(reference)), (right, scale.at(reference)));
                svg.text("tick", (right - 2.0, scale.at(reference) - 3.0), Anchor::End, "control");
            }
            let bars =
                panel.intervals.iter().enumerate().filter_map(|(at, ends)| Some((across.at(at as f64), (*ends)?)));
            let arm = panel.lines.first().map_or(0, |(key, _)| key.arm);
            svg.open(&arm_class(arm), None);
            svg.lines("ci", bars.map(|(x, [lo, hi])| ((x, scale.at(lo)), (x, scale.at(hi)))));
            svg.close();
            cuts(svg, &panel.cuts, &across, (top, bottom));
            for (key, values) in &panel.lines {
                let points = values.iter().enumerate().filter_map(|(at, value)| Some((at as f64, (*value)?)));
                let points: Vec<_> = points.map(|(at, value)| (across.at(at), scale.at(value))).collect();
                svg.open(&arm_class(key.arm), None);
                svg.polyline(if is_second_of_its_hue(key.arm) { "s dashed" } else { "s" }, &points);
                svg.marks(key.arm, points.iter().copied(), 3.4, Mark::Solid);
                svg.close();
            }
        }
        svg.line("axis", (left, bottom), (right, bottom));
        bottom + 18.0
    }
}

/// A vertical line at each cut, with the interval at its foot; intervals of several lines do not cover each other.
fn cuts(svg: &mut Svg, cuts: &[Cut], across: &Scale, (top, bottom): (f64, f64)) {
    for (number, cut) in cuts.iter().enumerate() {
        let foot = bottom - 4.0 - 5.0 * number as f64;
        svg.open(&arm_class(cut.arm), None);
        svg.line("ci weak", (across.at(cut.at), top), (across.at(cut.at), foot));
        svg.line("ci", (across.at(cut.ends[0]), foot), (across.at(cut.ends[1]), foot));
        svg.close();
    }
}

/// Draws signs and names of the levels; returns their lower end.
fn legend(svg: &mut Svg, panel: &Panel, (left, right): (f64, f64), top: f64) -> f64 {
    let (mut x, mut y) = (left + 6.0, top);
    // A line without a name is the only one.
    for (key, _) in panel.lines.iter().filter(|(key, _)| !key.name.is_empty()) {
        let name = fit(&key.name, 12.0, right - left - 26.0);
        let wide = text_width(&name, 12.0) + 26.0;
        if x + wide > right && x > left + 6.0 {
            (x, y) = (left + 6.0, y + LEGEND);
        }
        svg.open(&arm_class(key.arm), None);
        svg.mark(key.arm, (x, y - 4.0), 4.2, Mark::Solid);
        svg.text("", (x + 10.0, y), Anchor::Start, &name);
        svg.close();
        x += wide;
    }
    y + 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_stand_beside_each_other_where_there_is_room() {
        let lines = vec![(ArmKey { arm: 0, name: "w=1".into() }, vec![Some(1.0), None, Some(3.0)])];
        let steps = ["1", "2", "3"].map(str::to_owned).to_vec();
        let cuts = vec![Cut { arm: 0, at: 0.5, ends: [0.0, 1.0] }];
        let panel = Panel { title: "along m".into(), steps, lines, cuts, ..Panel::default() };
        let row = PanelRow { unit: "1/s".into(), panels: vec![panel.clone(), panel], reference: Some(2.0) };
        let chart = Panels { rows: vec![row.clone(), row] };
        let (wide, narrow) = (chart.draw(760.0), chart.draw(360.0));
        assert!(wide.height > 2.0 * PLOT && narrow.height > 1.9 * wide.height, "{} {}", wide.height, narrow.height);
        assert_eq!(wide.inline("t", "d").matches("along m").count(), 4);
        assert_eq!(wide.inline("t", "d").matches("ci weak").count(), 4, "a cut for each chart");
    }
}
