//! The forest plot: a row for each contrast, with its interval on a shared logarithmic ratio axis, the band of effects
//! that do not matter behind it, and the single units as dots below the interval.

mod beyond;

use super::axis::{self, Scale};
use super::crowd::{CROWDED, thin};
use super::mark::Mark;
use super::measure::{bold_width, fit, text_width};
use super::svg::{Anchor, Svg};
use super::theme::arm_class;
use super::{Draw, NARROW};
use beyond::{draw_beyond, draw_note};
use schedlab_plan::InOrder;
use schedlab_stats::quantile;

/// One contrast.
#[derive(Debug, Clone)]
pub(crate) struct ForestRow {
    pub(crate) arm: u32,
    pub(crate) label: String,
    /// `(ratio, lower end, upper end)`; if `None`, only the texts and the note are drawn.
    pub(crate) interval: Option<(f64, f64, f64)>,
    /// Ratios of the single units, and whether each is far from the others.
    pub(crate) units: Vec<(f64, bool)>,
    /// `-64.2 %` and `[-65.9, -62.4]`.
    pub(crate) value: String,
    pub(crate) bracket: String,
    /// Why there is no interval.
    pub(crate) note: String,
    /// The verdict in words and its colour class.
    pub(crate) verdict: String,
    pub(crate) tone: &'static str,
    /// Whether the interval allows no verdict: it is dashed.
    pub(crate) weak: bool,
}

/// A line of the plot.
#[derive(Debug, Clone)]
pub(crate) enum Line {
    /// A metric's name and which direction is good.
    Heading(String, String),
    /// A contrast.
    Row(ForestRow),
}

/// The plot.
#[derive(Debug, Clone)]
pub(crate) struct Forest {
    pub(crate) lines: Vec<Line>,
    /// Smallest effect of interest, a share: the band is 1 / (1 + s) … 1 + s.
    pub(crate) sesoi: f64,
    /// Low rows without unit dots, for many metrics.
    pub(crate) dense: bool,
    /// Whether the ratios are values, such as a linearity, and not changes.
    pub(crate) plain: bool,
}

/// Height of the line below a row that reports what is beyond the axis, px.
const BEYOND: f64 = 14.0;

/// Positions of the columns of a row, px.
struct Columns {
    label: f64,
    plot: (f64, f64),
    words: f64,
    narrow: bool,
    row: f64,
}

impl Forest {
    fn rows(&self) -> impl Iterator<Item = &ForestRow> {
        self.lines.iter().filter_map(|l| if let Line::Row(row) = l { Some(row) } else { None })
    }

    fn columns(&self, width: f64) -> Columns {
        let narrow = width < NARROW;
        if narrow {
            let row = if self.dense { 34.0 } else { 58.0 };
            return Columns { label: 14.0, plot: (6.0, width - 6.0), words: width, narrow, row };
        }
        let heads = self.lines.iter().map(|l| match l {
            Line::Heading(name, aside) => bold_width(name, 12.0) + text_width(aside, 11.0) - 12.0,
            Line::Row(row) => text_width(&row.label, 12.0),
        });
        let label = heads.fold(60.0, f64::max).min(0.3 * width);
        let verdicts = self.rows().filter(|r| r.interval.is_some()).map(|r| text_width(&r.verdict, 11.0));
        let words = if self.dense { 216.0 } else { verdicts.fold(150.0, f64::max).min(0.3 * width) + 4.0 };
        let row = if self.dense { 20.0 } else { 40.0 };
        Columns { label: 14.0, plot: (label + 34.0, width - words - 22.0), words: width - words, narrow, row }
    }

    /// The axis contains every interval and the middle four fifths of its units, but extends by at most a factor of 30
    /// to either side, so that very wide intervals do not stretch it.
    fn scale(&self, plot: (f64, f64)) -> Scale {
        let band = [1.0 / (1.0 + self.sesoi), 1.0 + self.sesoi, 1.0];
        let ends = self.rows().filter_map(|r| Some((r, r.interval?))).flat_map(|(row, (v, lo, hi))| {
            let cap = |end: f64| end.clamp(v / 8.0, v * 8.0);
            let mut units: Vec<f64> = row.units.iter().map(|u| u.0).filter(|u| u.is_finite()).collect();
            units.in_order_by(f64::total_cmp);
            let unit = |share| if self.dense || units.is_empty() { v } else { quantile(&units, share) };
            [cap(lo), v, cap(hi), cap(unit(0.1)), cap(unit(0.9))]
        });
        let ends: Vec<f64> = ends.chain(band).filter(|v| v.is_finite()).map(|v| v.clamp(1.0 / 30.0, 30.0)).collect();
        // The band is always included, so there is always a value.
        Scale::log(ends.into_iter(), plot.0, plot.1).unwrap_or(Scale::exactly(0.9, 1.1, plot.0, plot.1))
    }
}

impl Forest {
    /// Whether an interval's end or some units are beyond the axis, where an arrow marks them.
    pub(crate) fn reaches_beyond(&self) -> bool {
        let scale = self.scale((0.0, 1.0));
        let ends = |r: &ForestRow| r.interval.is_some_and(|(_, lo, hi)| lo < scale.lo || hi > scale.hi);
        self.rows().any(|r| ends(r) || self.has_units_beyond(r, &scale))
    }

    fn has_units_beyond(&self, row: &ForestRow, scale: &Scale) -> bool {
        !self.dense && row.units.iter().any(|u| u.0.is_finite() && !scale.holds(u.0))
    }

    /// Height of a row; units beyond the axis are reported in a line of their own.
    fn height(&self, row: &ForestRow, columns: &Columns, scale: &Scale) -> f64 {
        columns.row + if self.has_units_beyond(row, scale) { BEYOND } else { 0.0 }
    }
}

impl Draw for Forest {
    fn draw(&self, width: f64) -> Svg {
        let columns = self.columns(width);
        let scale = self.scale(columns.plot);
        let mut svg = Svg::new(width);
        let heading = 28.0;
        let height_of = |line: &Line| match line {
            Line::Row(row) => self.height(row, &columns, &scale),
            Line::Heading(..) => heading,
        };
        let height: f64 = self.lines.iter().map(height_of).sum();
        let (band_lo, band_hi) = (scale.at(1.0 / (1.0 + self.sesoi)), scale.at(1.0 + self.sesoi));
        svg.rect("band", (band_lo, 0.0), (band_hi - band_lo, height + 4.0));
        let mut ticks = axis::ratio_ticks(scale.lo, scale.hi, columns.plot.1 - columns.plot.0);
        if self.plain {
            ticks.iter_mut().for_each(|(ratio, label)| *label = axis::short(*ratio));
        }
        axis::bottom(&mut svg, &scale, &ticks, 0.0, height + 4.0);
        svg.line("zero", (scale.at(1.0), 0.0), (scale.at(1.0), height + 4.0));
        let mut y = 0.0;
        for line in &self.lines {
            if columns.narrow {
                // On a narrow page the texts are in the plot; lines and the band must not cross them.
                let words = if matches!(line, Line::Row(_)) {
                    columns.row - if self.dense { 18.0 } else { 30.0 }
                } else {
                    heading
                };
                // One px more above, because round line ends extend that far.
                svg.rect("paper", (0.0, y - 1.0), (width, words + 1.0));
            }
            match line {
                Line::Heading(name, aside) => {
                    draw_heading(&mut svg, name, aside, y + heading - if self.dense { 6.0 } else { 9.0 }, width);
                    y += heading;
                }
                Line::Row(row) => {
                    self.draw_row(&mut svg, row, y, &columns, &scale);
                    y += self.height(row, &columns, &scale);
                }
            }
        }
        svg.height = height + 26.0;
        svg
    }
}

fn draw_heading(svg: &mut Svg, name: &str, aside: &str, y: f64, width: f64) {
    let name = fit(name, 12.0, width * 0.7);
    let aside = fit(aside, 11.0, width - bold_width(&name, 12.0) - 10.0);
    svg.line_of_text((0.0, y), Anchor::Start, 8.0, &[("head", &name), ("small", &aside)]);
}

impl Forest {
    fn draw_row(&self, svg: &mut Svg, row: &ForestRow, y: f64, columns: &Columns, scale: &Scale) {
        svg.open(&arm_class(row.arm), Some(row.arm));
        let middle = match (columns.narrow, self.dense) {
            (true, true) => y + 24.0,
            (true, false) => y + 40.0,
            (false, true) => y + 10.0,
            (false, false) => y + 15.0,
        };
        let words = if columns.narrow { y + 12.0 } else { middle + 4.0 };
        svg.mark(row.arm, (5.0, words - 4.0), 4.0, Mark::Solid);
        let room = if columns.narrow { svg.width * 0.34 } else { columns.plot.0 - columns.label - 8.0 };
        svg.text_within("", (columns.label, words), Anchor::Start, &row.label, room);
        if row.interval.is_none() && row.value.is_empty() && !columns.narrow {
            // There is nothing to draw, so the reason may use the room of the plot and of the texts.
            let x = columns.plot.0;
            draw_note(svg, row.tone, (x, words), (&row.verdict, &row.note), svg.width - x);
            svg.close();
            return;
        }
        draw_words(svg, row, words, columns, self.dense);
        match row.interval {
            Some(interval) => draw_interval(svg, row, interval, middle, scale),
            None if row.note.is_empty() => {}
            None => {
                let (from, to) = columns.plot;
                draw_note(svg, "small", (from, middle + 4.0), ("", &row.note), to - from);
            }
        }
        if !self.dense {
            let units = |far| row.units.iter().filter(move |u| u.1 == far && scale.holds(u.0));
            let at = |u: &(f64, bool)| (scale.at(u.0), middle + 11.0);
            svg.dots("dot", 2.2, thin(units(false).map(at), if row.units.len() > CROWDED { 1.0 } else { 0.1 }));
            units(true).for_each(|u| svg.circle("far", at(u), 2.2));
            draw_beyond(svg, row, middle + 11.0, scale, columns);
        }
        svg.close();
    }
}

fn draw_words(svg: &mut Svg, row: &ForestRow, y: f64, columns: &Columns, dense: bool) {
    let bracket = if dense { "small" } else { "soft" };
    let numbers = [("num", row.value.as_str()), (bracket, row.bracket.as_str())];
    if columns.narrow {
        svg.line_of_text((svg.width, y), Anchor::End, 6.0, &numbers);
        if !dense {
            svg.text_within(row.tone, (svg.width, y + 14.0), Anchor::End, &row.verdict, svg.width - 20.0);
        }
        return;
    }
    let x = columns.words;
    if dense {
        svg.line_of_text((x, y), Anchor::Start, 6.0, &numbers);
        svg.text(row.tone, (svg.width, y), Anchor::End, row.verdict.split([',', ':']).next().unwrap_or_default());
        return;
    }
    svg.line_of_text((x, y - 1.0), Anchor::Start, 6.0, &numbers);
    svg.text_within(row.tone, (x, y + 14.0), Anchor::Start, &row.verdict, svg.width - x);
}

fn draw_interval(svg: &mut Svg, row: &ForestRow, (value, lo, hi): (f64, f64, f64), y: f64, scale: &Scale) {
    let class = if row.weak { "ci weak" } else { "ci" };
    svg.line(class, (scale.at(lo), y), (scale.at(hi), y));
    // An end beyond the axis is an arrow.
    if lo < scale.lo {
        let x = scale.at(lo);
        svg.polygon("f", &[(x - 4.0, y), (x + 4.0, y - 5.0), (x + 4.0, y + 5.0)]);
    }
    if hi > scale.hi {
        let x = scale.at(hi);
        svg.polygon("f", &[(x + 4.0, y), (x - 4.0, y - 5.0), (x - 4.0, y + 5.0)]);
    }
    if scale.holds(value) {
        svg.mark(row.arm, (scale.at(value), y), 4.6, if row.weak { Mark::Hollow } else { Mark::Solid });
    }
}

#[cfg(test)]
mod tests;
