//! Ranges on a shared logarithmic axis: from the median over a high percentile to the maximum, a row for each arm, with
//! rows of the same thing under one heading. For distributions whose tails matter.

use super::axis::{self, Scale};
use super::mark::Mark;
use super::measure::{bold_width, fit, text_width};
use super::svg::{Anchor, Svg};
use super::theme::arm_class;
use super::{BESIDE, Draw};

/// One distribution.
#[derive(Debug, Clone)]
pub(crate) struct RangeRow {
    pub(crate) arm: u32,
    pub(crate) label: String,
    /// Median, 99th percentile, maximum.
    pub(crate) at: [f64; 3],
    /// The same as text.
    pub(crate) value: String,
}

/// A heading, the text after it, and its rows.
#[derive(Debug, Clone)]
pub(crate) struct RangeGroup {
    pub(crate) name: String,
    pub(crate) aside: String,
    pub(crate) rows: Vec<RangeRow>,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Ranges {
    pub(crate) unit: String,
    pub(crate) groups: Vec<RangeGroup>,
}

const HEADING: f64 = 28.0;
const ROW: f64 = 20.0;

impl Draw for Ranges {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let rows = || self.groups.iter().flat_map(|group| &group.rows);
        let label = rows().map(|row| text_width(&row.label, 12.0)).fold(40.0, f64::max).min(BESIDE * width);
        let words = rows().map(|row| text_width(&row.value, 11.0)).fold(60.0, f64::max).min(0.3 * width);
        let (left, right) = (label + 24.0, width - words - 14.0);
        let height: f64 = self.groups.iter().map(|group| HEADING + ROW * group.rows.len() as f64).sum();
        let Some(scale) = Scale::log(rows().flat_map(|row| row.at), left, right) else { return svg };
        let ticks = scale.ticks(6);
        let labels = axis::own_labels(&ticks, &self.unit);
        let labelled: Vec<_> = ticks.into_iter().zip(labels).collect();
        axis::bottom(&mut svg, &scale, &labelled, 0.0, height + 4.0);
        let mut y = 0.0;
        for group in &self.groups {
            // The heading has its own background, so that no grid line crosses it.
            svg.rect("paper", (0.0, y), (width, HEADING - 4.0));
            let aside = fit(&group.aside, 11.0, width - bold_width(&group.name, 12.0) - 10.0);
            let parts = [("head", group.name.as_str()), ("small", aside.as_str())];
            svg.line_of_text((0.0, y + HEADING - 9.0), Anchor::Start, 8.0, &parts);
            y += HEADING;
            for row in &group.rows {
                draw_row(&mut svg, row, y + 9.0, &scale, label);
                y += ROW;
            }
        }
        let seen = "from the median (filled) by the 99th percentile (outline) to the longest (line's end)";
        svg.text_within("tick", (left, height + 36.0), Anchor::Start, seen, width - left);
        svg.height = height + 42.0;
        svg
    }
}

fn draw_row(svg: &mut Svg, row: &RangeRow, middle: f64, scale: &Scale, label: f64) {
    svg.open(&arm_class(row.arm), Some(row.arm));
    svg.mark(row.arm, (5.0, middle), 4.0, Mark::Solid);
    svg.text_within("", (14.0, middle + 4.0), Anchor::Start, &row.label, label);
    let [median, high, longest] = row.at.map(|value| scale.at(value));
    svg.line("ci", (median, middle), (longest, middle));
    svg.line("ci", (longest, middle - 4.0), (longest, middle + 4.0));
    svg.mark(row.arm, (high, middle), 4.0, Mark::Hollow);
    svg.mark(row.arm, (median, middle), 4.6, Mark::Solid);
    svg.text("num", (svg.width, middle + 4.0), Anchor::End, &row.value);
    svg.close();
}
