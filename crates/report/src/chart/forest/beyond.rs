//! What a row's plot cannot show: units beyond its axis, and effects that are not ratios.

use super::super::axis::{self, Scale};
use super::super::measure::{fit, text_width};
use super::super::svg::{Anchor, Svg};
use super::{Columns, ForestRow};
use crate::number::{is_factor, significant};
use schedlab_plan::InOrder;

/// Draws the reason why the plot is empty in its place, on its own background; `before` begins the sentence.
pub(super) fn draw_note(svg: &mut Svg, class: &str, (x, y): (f64, f64), (before, note): (&str, &str), room: f64) {
    let text = [before, note].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    let width = text_width(&fit(&text, 11.0, room), 11.0);
    svg.rect("paper", (x - 4.0, y - 12.0), (width + 8.0, 17.0));
    svg.text_within(class, (x, y), Anchor::Start, &text, room);
}

/// The units beyond the axis: an arrow at each end, and below it how many there are and where they are.
pub(super) fn draw_beyond(svg: &mut Svg, row: &ForestRow, y: f64, scale: &Scale, columns: &Columns) {
    let beyond = |is_beyond: &dyn Fn(f64) -> bool| -> Vec<f64> {
        let mut found: Vec<f64> = row.units.iter().map(|u| u.0).filter(|u| u.is_finite() && is_beyond(*u)).collect();
        found.in_order_by(f64::total_cmp);
        found
    };
    let said = |found: &[f64]| match found {
        [] => String::new(),
        [only] => ratio(*only),
        [first, .., last] => {
            let (first, last) = (ratio(*first), ratio(*last));
            // If both ends have the same unit, it is printed once.
            let same = first.split(' ').nth(1) == last.split(' ').nth(1);
            let first = if same { first.split(' ').next().unwrap_or_default() } else { first.as_str() };
            format!("{} beyond, {first}…{last}", found.len())
        }
    };
    let room = (columns.plot.1 - columns.plot.0) / 2.0 - 6.0;
    let (low, high) = (beyond(&|u| u < scale.lo), beyond(&|u| u > scale.hi));
    let (from, to) = columns.plot;
    if !low.is_empty() {
        svg.polygon("f", &[(from - 4.0, y), (from + 2.0, y - 3.5), (from + 2.0, y + 3.5)]);
        svg.text_within("small", (from, y + 14.0), Anchor::Start, &said(&low), room);
    }
    if !high.is_empty() {
        svg.polygon("f", &[(to + 4.0, y), (to - 2.0, y - 3.5), (to - 2.0, y + 3.5)]);
        svg.text_within("small", (to, y + 14.0), Anchor::End, &said(&high), room);
    }
}

/// A ratio in the form of the axis: a percentage near one, otherwise a factor.
fn ratio(x: f64) -> String {
    let percent = (x - 1.0) * 100.0;
    match x {
        x if is_factor(x) => format!("{} ×", axis::bare(&significant(x, 2))),
        _ if percent.abs() < 10.0 => format!("{percent:+.1} %"),
        _ => format!("{percent:+.0} %"),
    }
}
