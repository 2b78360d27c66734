//! Tables for all printers; and as plain text, with paragraphs, within a width.

mod wrap;

pub use wrap::wrap;

use crate::chart::RatioCells;
use crate::document::{Room, Tone};

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Flush left.
    Left,
    /// Flush right, for numbers.
    Right,
}

/// Least width of a last column of words that is wrapped, and of a first column that is cut, if there is no room.
const WRAPPED: usize = 12;
const CUT: usize = 12;

/// Width of a text in columns: one for each character that is not a combining mark.
pub(crate) fn width(text: &str) -> usize {
    text.chars().filter(takes_a_column).count()
}

fn takes_a_column(letter: &char) -> bool {
    !matches!(*letter, '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}')
}

/// A cell with an optional colour.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tone: Option<Tone>,
    /// A drawing next to the text, in formats with pictures.
    pub(crate) drawn: Option<Drawn>,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Cell {
    pub(crate) fn toned(text: impl Into<String>, tone: impl Into<Tone>) -> Self {
        Self { tone: Some(tone.into()), ..Self::from(text) }
    }
}

/// A drawing in a cell.
#[derive(Debug, Clone)]
pub(crate) enum Drawn {
    /// A bar in the colour of an arm, as a share of the longest bar.
    Bar(u32, f64),
    /// An estimate with its lower and upper end on [`Table::axis`], if it can be drawn, and its verdict.
    Interval(Option<(f64, f64, f64)>, Tone, String),
}

/// Where the names of arms are in a table; they are cut before numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// In one of its columns.
    Column(usize),
    /// In its header, after the first column.
    Header,
}

/// Shortest and longest name of an arm in a table, characters: a shorter one would be useless.
const NAMES: std::ops::RangeInclusive<usize> = 8..=20;

/// Rows with one alignment per column. A row with a single cell is a heading for the rows below it.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) align: Vec<Align>,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
    pub(crate) names: Option<Names>,
    /// Columns that only a page has room for.
    pub(crate) wide: Vec<usize>,
    /// Axis of the intervals in its cells.
    pub(crate) axis: Option<std::rc::Rc<RatioCells>>,
}

impl Table {
    pub(crate) fn new(header: &[(&str, Align)]) -> Self {
        Self {
            align: header.iter().map(|(_, a)| *a).collect(),
            header: header.iter().map(|(h, _)| (*h).to_owned()).collect(),
            rows: Vec::new(),
            names: None,
            wide: Vec::new(),
            axis: None,
        }
    }

    /// The table for printing as text, with each cell `escaped`: without the columns for pages, and with names cut as
    /// far as necessary.
    pub(crate) fn printed(&self, room: Room, escaped: fn(&str) -> String) -> Self {
        let mut table = self.picked(&Vec::from_iter((0..self.align.len()).filter(|i| !self.wide.contains(i))));
        table.header.iter_mut().for_each(|h| *h = escaped(h));
        table.rows.iter_mut().flatten().for_each(|c| c.text = escaped(&c.text));
        match self.names {
            None => table,
            Some(Names::Header) => {
                cut(table.header.iter_mut().skip(1), *NAMES.end());
                table
            }
            Some(Names::Column(at)) => {
                let shorter = |limit| {
                    let mut table = table.clone();
                    cut(table.rows.iter_mut().filter_map(|row| Some(&mut row.get_mut(at)?.text)), limit);
                    table
                };
                NAMES.rev().map(shorter).find(|table| room.holds(table)).unwrap_or_else(|| shorter(*NAMES.start()))
            }
        }
    }

    /// Only these columns.
    fn picked(&self, columns: &[usize]) -> Self {
        let row = |row: &Vec<Cell>| columns.iter().map(|i| row.get(*i).cloned().unwrap_or_default()).collect();
        Self {
            align: columns.iter().map(|i| self.align[*i]).collect(),
            header: columns.iter().map(|i| self.header[*i].clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
            ..Self::new(&[])
        }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Width of each column without wrapping or cutting.
    pub(crate) fn natural_widths(&self) -> Vec<usize> {
        let cells = |i: usize| self.rows.iter().filter_map(move |row| row.get(i)).map(|cell| width(&cell.text));
        self.header.iter().enumerate().map(|(i, name)| cells(i).fold(width(name), usize::max)).collect()
    }

    /// The table in parts that `holds` accepts: columns that do not fit go to another part, which repeats the first
    /// column. A part has at least two columns, even if `holds` rejects it.
    pub(crate) fn folded(&self, holds: impl Fn(&Self) -> bool) -> Vec<Self> {
        let part = |columns: std::ops::Range<usize>| self.picked(&Vec::from_iter(std::iter::once(0).chain(columns)));
        let (all, mut from, mut parts) = (self.align.len(), 1, Vec::new());
        while from < all {
            let to = (from + 1..=all).rev().find(|to| holds(&part(from..*to))).unwrap_or(from + 1);
            parts.push(part(from..to));
            from = to;
        }
        if parts.is_empty() { vec![self.clone()] } else { parts }
    }

    /// Width of each column within `limit`. A last column of words is wrapped, and a first one is cut.
    fn widths(&self, limit: usize) -> Vec<usize> {
        let mut widths = self.natural_widths();
        let last = widths.len().saturating_sub(1);
        for (i, least) in [(last, WRAPPED), (0, CUT)] {
            let excess = row_width(&widths).saturating_sub(limit);
            if self.align.get(i) == Some(&Align::Left) {
                widths[i] = widths[i].saturating_sub(excess).max(least.min(widths[i]));
            }
        }
        widths
    }

    /// Lines no wider than `limit`; columns that do not fit are placed below the others.
    pub(crate) fn lines(&self, limit: usize, colour: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for part in self.folded(|part| row_width(&part.widths(limit)) <= limit) {
            let widths = part.widths(limit);
            let wrap_first = part.is_cut_alike(widths[0]);
            if !lines.is_empty() {
                lines.push(String::new());
            }
            if part.header.iter().any(|h| !h.is_empty()) {
                let cell = |h: &String| Cell::toned(h, Tone::None);
                lines.extend(part.row_lines(
                    &part.header.iter().map(cell).collect::<Vec<_>>(),
                    &widths,
                    wrap_first,
                    colour,
                ));
            }
            for row in &part.rows {
                lines.extend(part.row_lines(row, &widths, wrap_first, colour));
            }
        }
        lines
    }

    /// Whether two different names of the first column become equal when cut to `limit`.
    fn is_cut_alike(&self, limit: usize) -> bool {
        let names = || self.rows.iter().filter(|row| row.len() > 1).map(|row| row[0].text.as_str());
        let is_like = |name: &str, other: &str| name != other && middle_cut(name, limit) == middle_cut(other, limit);
        names().any(|name| width(name) > limit && names().any(|other| is_like(name, other)))
    }

    /// A row; its last cell, and its first one if `wrap_first`, may take several lines.
    fn row_lines(&self, row: &[Cell], widths: &[usize], wrap_first: bool, colour: bool) -> Vec<String> {
        let cells = widths.iter().enumerate().map(|(i, w)| {
            let text = row.get(i).map_or("", |cell| &cell.text);
            match i + 1 == row.len() || wrap_first && i == 0 {
                true => wrap(text, *w),
                false => vec![middle_cut(text, *w)],
            }
        });
        let cells = Vec::from_iter(cells);
        let tall = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let line = |number: usize| {
            let mut line = String::new();
            for (i, (cell, w)) in cells.iter().zip(widths).enumerate() {
                let text = cell.get(number).map_or("", String::as_str);
                let space = " ".repeat(w.saturating_sub(width(text)));
                let tone = row.get(i).and_then(|cell| cell.tone);
                let text = paint(text, tone.filter(|_| colour).map(Tone::ansi));
                match self.align.get(i) {
                    Some(Align::Right) => line.push_str(&format!("{space}{text}")),
                    _ => line.push_str(&format!("{text}{space}")),
                }
                line.push_str("  ");
            }
            line.trim_end().to_owned()
        };
        (0..tall).map(line).collect()
    }
}

/// Width of a row: its cells, with two blanks between them.
fn row_width(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}

/// The beginning and the end of a text, because names may differ at either end.
pub(crate) fn middle_cut(text: &str, limit: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= limit || width(text) <= limit {
        return text.to_owned();
    }
    let (head, tail) = (limit.div_ceil(2), (limit / 2).saturating_sub(1));
    letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect()
}

/// Cuts names in the middle to at most `limit` characters, but leaves them distinct.
fn cut<'n>(names: impl Iterator<Item = &'n mut String>, limit: usize) {
    let mut all: Vec<String> = Vec::new();
    for (number, name) in names.enumerate() {
        let mut short = middle_cut(name, limit);
        if all.contains(&short) {
            short = format!("{}#{number}", middle_cut(name, limit.saturating_sub(3)));
        }
        all.push(short.clone());
        *name = short;
    }
}

/// A text in an ANSI colour, or unchanged.
pub(crate) fn paint(text: &str, code: Option<&str>) -> String {
    match code {
        Some(code) if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
