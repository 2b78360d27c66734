//! Distributions of trial values: a row for each arm with every trial as a dot, the middle half as a bar and the median as
//! a line. Trials that do not count are hollow.

use super::axis::{self, Scale};
use super::svg::{Anchor, Mark, Svg, fit, text_width};
use super::theme::arm_class;
use super::{Draw, NARROW};
use schedlab_stats::quantile;

/// A trial.
#[derive(Debug, Clone)]
pub(crate) struct Dot {
    pub(crate) value: f64,
    pub(crate) used: bool,
    pub(crate) title: String,
}

/// An arm.
#[derive(Debug, Clone)]
pub(crate) struct StripRow {
    pub(crate) arm: u32,
    pub(crate) name: String,
    /// Right of the row: the median.
    pub(crate) aside: String,
    pub(crate) dots: Vec<Dot>,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Strip {
    pub(crate) unit: String,
    pub(crate) rows: Vec<StripRow>,
}

const ROW: f64 = 46.0;

impl Draw for Strip {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let above = width < NARROW;
        let label = self.rows.iter().map(|r| text_width(&r.name, 12.0)).fold(50.0, f64::max).min(width * 0.26);
        let aside = self.rows.iter().map(|r| text_width(&r.aside, 11.0)).fold(30.0, f64::max) + 10.0;
        let (left, right) = if above { (8.0, width - 8.0) } else { (label + 24.0, width - aside) };
        let row_height = if above { ROW + 16.0 } else { ROW };
        let height = row_height * self.rows.len() as f64;
        let values: Vec<f64> = self.rows.iter().flat_map(|r| r.dots.iter().map(|d| d.value)).collect();
        let scale = Scale::fitting(&values, 8.0, left, right);
        if let Some(scale) = &scale {
            let ticks = scale.ticks(((right - left) / 70.0).clamp(2.0, 8.0) as usize);
            let (labels, unit) = axis::labels(&ticks, &self.unit);
            let last = ticks.len().saturating_sub(1);
            let labelled: Vec<_> = ticks
                .into_iter()
                .zip(labels)
                .enumerate()
                .map(|(i, (t, l))| (t, if i == last { format!("{l} {unit}").trim_end().to_owned() } else { l }))
                .collect();
            axis::bottom(&mut svg, scale, &labelled, 0.0, height);
        }
        for (i, row) in self.rows.iter().enumerate() {
            let y = row_height * i as f64;
            let middle = y + row_height - ROW / 2.0;
            svg.open(&arm_class(row.arm), Some(row.arm), "");
            if i > 0 {
                svg.line("sep", (0.0, y), (width, y));
            }
            let words = if above { y + 15.0 } else { middle + 4.0 };
            svg.mark(row.arm, (5.0, words - 4.0), 4.0, Mark::Solid);
            svg.text(
                "",
                (14.0, words),
                Anchor::Start,
                &fit(&row.name, 12.0, if above { width * 0.5 } else { label + 4.0 }),
            );
            svg.text("small", (width, words), Anchor::End, &row.aside);
            match &scale {
                Some(scale) if !row.dots.is_empty() => draw_row(&mut svg, row, middle, scale),
                _ => svg.text("small", (left + 8.0, middle + 4.0), Anchor::Start, "no trial measured"),
            }
            svg.close();
        }
        svg.height = height + 24.0;
        svg
    }
}

fn draw_row(svg: &mut Svg, row: &StripRow, y: f64, scale: &Scale) {
    let mut used: Vec<f64> = row.dots.iter().filter(|d| d.used && d.value.is_finite()).map(|d| d.value).collect();
    used.sort_by(f64::total_cmp);
    if used.len() > 1 {
        let [q1, q2, q3] = [0.25, 0.5, 0.75].map(|q| scale.at(quantile(&used, q)));
        svg.rect("box", (q1, y - 13.0), ((q3 - q1).max(1.0), 26.0));
        svg.line("med", (q2, y - 16.0), (q2, y + 16.0));
    }
    let radius = if row.dots.len() > 150 { 2.0 } else { 3.1 };
    for (dot, offset) in row.dots.iter().zip(offsets(&row.dots, scale, radius)) {
        let at = (scale.at(dot.value), y + offset);
        svg.open("", None, &dot.title);
        svg.mark(row.arm, at, radius, if dot.used { Mark::Solid } else { Mark::Hollow });
        svg.close();
    }
}

/// Vertical offsets so that dots at one place stand side by side: 0, up, down, further up, … within the row.
fn offsets(dots: &[Dot], scale: &Scale, radius: f64) -> Vec<f64> {
    let mut placed: Vec<(f64, f64)> = Vec::new();
    let step = radius * 1.5;
    let levels = (16.0 / step) as i32;
    let mut offsets = Vec::with_capacity(dots.len());
    for dot in dots {
        let x = scale.at(dot.value);
        let candidates = (0..=2 * levels).map(|i| f64::from(if i % 2 == 0 { -(i / 2) } else { (i + 1) / 2 }) * step);
        let free = |y: &f64| placed.iter().rev().take(400).all(|(px, py)| (x - px).hypot(y - py) >= 1.9 * radius);
        let y = candidates.into_iter().find(free).unwrap_or(0.0);
        placed.push((x, y));
        offsets.push(y);
    }
    offsets
}
