//! Distributions of trial values: a row for each arm, with every trial as a dot, the middle half as a bar and the
//! median as a line. Trials that are not used are hollow. If there are very many, dots that would cover each other are
//! drawn once, and their spacing is such that the highest heap fits.

use super::axis::{self, Scale};
use super::crowd::{CROWDED, thin};
use super::mark::Mark;
use super::measure::text_width;
use super::svg::{Anchor, Svg};
use super::theme::arm_class;
use super::{BESIDE, Draw, MANY, Plot};
use schedlab_plan::InOrder;
use schedlab_stats::quantile;

/// A trial.
#[derive(Debug, Clone)]
pub(crate) struct Dot {
    pub(crate) value: f64,
    pub(crate) used: bool,
}

/// An arm.
#[derive(Debug, Clone)]
pub(crate) struct StripRow {
    pub(crate) arm: u32,
    pub(crate) name: String,
    /// Text right of the row: the median.
    pub(crate) aside: String,
    pub(crate) dots: Vec<Dot>,
}

/// The chart.
#[derive(Debug, Clone)]
pub(crate) struct Strip {
    pub(crate) unit: String,
    pub(crate) rows: Vec<StripRow>,
    /// Which trials of the page these are.
    pub(crate) plot: Plot,
}

const ROW: f64 = 46.0;

/// Largest distance of a dot from the middle of its row, px.
const HALF: f64 = 16.0;

impl Draw for Strip {
    fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width);
        let label = self.rows.iter().map(|r| text_width(&r.name, 12.0)).fold(50.0, f64::max);
        let aside = self.rows.iter().map(|r| text_width(&r.aside, 11.0)).fold(30.0, f64::max) + 10.0;
        // Names that would be cut beside their row are placed above it, unless that makes the picture much higher.
        let above = label > BESIDE * width && self.rows.len() <= MANY;
        let label = if above { label } else { label.min(BESIDE * width) };
        let (left, right) = if above { (8.0, width - 8.0) } else { (label + 24.0, width - aside) };
        let row_height = if above { ROW + 16.0 } else { ROW };
        let height = row_height * self.rows.len() as f64;
        let values: Vec<f64> = self.rows.iter().flat_map(|r| r.dots.iter().map(|d| d.value)).collect();
        let scale = Scale::fitting(&values, 8.0, left, right);
        if let Some(scale) = &scale {
            let ticks = scale.ticks(((right - left) / 55.0).clamp(2.0, 8.0) as usize);
            axis::bottom(&mut svg, scale, &axis::with_unit(ticks, &self.unit), 0.0, height);
            svg.plot = self.plot.over_rows(row_height, scale);
        }
        svg.lines("sep", (1..self.rows.len()).map(|i| row_height * i as f64).map(|y| ((0.0, y), (width, y))));
        for (i, row) in self.rows.iter().enumerate() {
            let y = row_height * i as f64;
            let middle = y + row_height - ROW / 2.0;
            svg.open(&arm_class(row.arm), Some(row.arm));
            let words = if above { y + 15.0 } else { middle + 4.0 };
            svg.mark(row.arm, (5.0, words - 4.0), 4.0, Mark::Solid);
            let room = if above { width - aside - 18.0 } else { label };
            svg.text_within("", (14.0, words), Anchor::Start, &row.name, room);
            svg.text("small", (width, words), Anchor::End, &row.aside);
            match &scale {
                Some(scale) if !row.dots.is_empty() => draw_row(&mut svg, row, middle, scale, values.len() > CROWDED),
                _ => svg.text("small", (left + 8.0, middle + 4.0), Anchor::Start, "no trial measured"),
            }
            svg.close();
        }
        svg.height = height + 24.0;
        svg
    }
}

fn draw_row(svg: &mut Svg, row: &StripRow, y: f64, scale: &Scale, crowded: bool) {
    let radius = if crowded { 1.4 } else { 3.0 };
    let offsets = if crowded { heaped(&row.dots, scale, radius) } else { side_by_side(&row.dots, scale, radius) };
    let at = |used: bool| {
        let dots = row.dots.iter().zip(&offsets).filter(move |(d, _)| d.used == used);
        dots.map(move |(dot, offset)| (scale.at(dot.value), y + offset))
    };
    if crowded {
        svg.dots("pale", radius, thin(at(false), 2.0));
        svg.dots("d", radius, thin(at(true), 2.0));
    }
    let mut used: Vec<f64> = row.dots.iter().filter(|d| d.used && d.value.is_finite()).map(|d| d.value).collect();
    used.in_order_by(f64::total_cmp);
    if used.len() > 1 {
        let [q1, q2, q3] = [0.25, 0.5, 0.75].map(|q| scale.at(quantile(&used, q)));
        svg.rect("box", (q1, y - 13.0), ((q3 - q1).max(1.0), 26.0));
        svg.line(if crowded { "over" } else { "med" }, (q2, y - 16.0), (q2, y + 16.0));
    }
    if !crowded {
        svg.marks(row.arm, at(false), radius, Mark::Hollow);
        svg.marks(row.arm, at(true), radius, Mark::Solid);
    }
}

/// Vertical offsets that place dots at the same position side by side: 0, up, down, further up, … within the row.
fn side_by_side(dots: &[Dot], scale: &Scale, radius: f64) -> Vec<f64> {
    let mut placed: Vec<(f64, f64)> = Vec::new();
    let step = radius * 1.5;
    let levels = (HALF / step) as u32;
    for dot in dots {
        let x = scale.at(dot.value);
        let free = |y: &f64| placed.iter().all(|(px, py)| (x - px).hypot(y - py) >= 1.9 * radius);
        let y = (0..=2 * levels).map(|i| level(i) * step).find(free).unwrap_or(0.0);
        placed.push((x, y));
    }
    placed.into_iter().map(|(_, y)| y).collect()
}

/// Vertical offsets for very many dots: dots at the same position form a heap around the middle of the row. The spacing
/// is the same for the whole row, and small enough that its highest heap fits, so heaps can be compared like the bars
/// of a histogram.
fn heaped(dots: &[Dot], scale: &Scale, radius: f64) -> Vec<f64> {
    let place = |dot: &Dot| (scale.at(dot.value) / (1.5 * radius)).round() as i64;
    let mut heaps = std::collections::BTreeMap::<i64, u32>::new();
    let mut rank = |dot: &Dot| {
        let heap = heaps.entry(place(dot)).or_default();
        *heap += 1;
        *heap - 1
    };
    let ranks: Vec<u32> = dots.iter().map(&mut rank).collect();
    let highest = f64::from(heaps.values().copied().max().unwrap_or(1).div_ceil(2).max(1));
    let step = (1.5 * radius).min(HALF / highest);
    ranks.into_iter().map(|rank| level(rank) * step).collect()
}

/// 0, 1, -1, 2, -2, …
fn level(rank: u32) -> f64 {
    f64::from(rank.div_ceil(2)) * if rank.is_multiple_of(2) { -1.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_stays_in_its_row_however_high() {
        let scale = Scale::exactly(0.0, 1.0, 0.0, 400.0);
        for n in [1, 2, 7, 5_000] {
            let dots = vec![Dot { value: 0.5, used: true }; n];
            let offsets = heaped(&dots, &scale, 1.4);
            assert!(offsets.iter().all(|o| o.abs() <= 16.0), "{n}");
            let mut levels: Vec<i64> = offsets.iter().map(|o| (o * 1e6) as i64).collect();
            levels.sort_unstable();
            levels.dedup();
            assert_eq!(levels.len(), n, "two dots of {n} at one place lie on each other");
        }
    }
}
