//! Intervals of ratios drawn with characters, on a logarithmic axis shared by all rows of a table: `├──●──┤`.

use crate::number::{is_factor, significant};

/// A narrower drawing shows nothing; a wider one shows no more.
const LEAST: usize = 11;
const MOST: usize = 41;

/// The axis of a column.
pub(crate) struct Axis {
    /// Logarithms of its ends.
    lo: f64,
    hi: f64,
    /// Number of characters.
    width: usize,
}

impl Axis {
    /// Contains no effect, the effects too small to matter, and each `(value, lower, upper)` from half to twice its
    /// value at most. `None` if there is nothing to draw, or no room.
    pub(crate) fn new(intervals: impl Iterator<Item = (f64, f64, f64)>, sesoi: f64, room: usize) -> Option<Self> {
        let band = (1.0 + sesoi.clamp(0.0, 1.0)).ln();
        let mut ends = (-band, band);
        let mut any = false;
        for (value, lo, hi) in intervals {
            let (lo, hi) = (lo.max(value / 2.0).ln(), hi.min(value * 2.0).ln());
            if lo.is_finite() && hi.is_finite() {
                (ends, any) = ((ends.0.min(lo), ends.1.max(hi)), true);
            }
        }
        let margin = 0.04 * (ends.1 - ends.0);
        (any && room >= LEAST && margin > 0.0).then(|| Self {
            lo: ends.0 - margin,
            hi: ends.1 + margin,
            width: room.min(MOST),
        })
    }

    fn at(&self, ratio: f64) -> usize {
        let share = ((ratio.ln() - self.lo) / (self.hi - self.lo)).clamp(0.0, 1.0);
        (share * (self.width - 1) as f64).round() as usize
    }

    /// Only the line of no effect.
    pub(crate) fn empty(&self) -> String {
        self.letters().into_iter().collect()
    }

    fn letters(&self) -> Vec<char> {
        let mut letters = vec![' '; self.width];
        letters[self.at(1.0)] = '│';
        letters
    }

    /// An interval; an end beyond the axis is an arrow.
    pub(crate) fn row(&self, (value, lo, hi): (f64, f64, f64)) -> String {
        let mut letters = self.letters();
        let (from, to, zero) = (self.at(lo), self.at(hi), self.at(1.0));
        for (at, letter) in letters.iter_mut().enumerate().take(to + 1).skip(from) {
            *letter = if at == zero { '┼' } else { '─' };
        }
        letters[from] = if lo.ln() < self.lo { '◂' } else { '├' };
        letters[to] = if hi.ln() > self.hi { '▸' } else { '┤' };
        letters[self.at(value)] = '●';
        letters.into_iter().collect()
    }

    /// The ends of the axis, and 0 above the line of no effect if there is room.
    pub(crate) fn header(&self) -> String {
        let end = |ratio: f64| match is_factor(ratio) {
            true => format!("{} ×", significant(ratio, 2)),
            false => format!("{}{} %", if ratio > 1.0 { "+" } else { "" }, significant(100.0 * (ratio - 1.0), 2)),
        };
        let (left, right) = (end(self.lo.exp()), end(self.hi.exp()));
        let mut letters = vec![' '; self.width];
        let mut put = |text: &str, from: usize| {
            let to = from + text.chars().count();
            let is_free = to <= letters.len()
                && letters[from.saturating_sub(1)..(to + 1).min(letters.len())].iter().all(|c| *c == ' ');
            if is_free {
                text.chars().zip(&mut letters[from..]).for_each(|(c, letter)| *letter = c);
            }
        };
        put(&left, 0);
        put(&right, self.width.saturating_sub(right.chars().count()));
        put("0", self.at(1.0));
        letters.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_stands_where_its_numbers_are() {
        let axis = Axis::new([(0.6, 0.5, 0.7), (1.2, 1.1, 9.0)].into_iter(), 0.01, 31).unwrap();
        let at = |text: &str, letter: char| text.chars().position(|c| c == letter);
        let (slower, faster) = (axis.row((0.6, 0.5, 0.7)), axis.row((1.2, 1.1, 9.0)));
        let zero = at(&axis.empty(), '│').unwrap();
        assert_eq!((at(&slower, '│'), at(&faster, '│')), (Some(zero), Some(zero)));
        assert!(at(&slower, '├') < at(&slower, '●') && at(&slower, '●') < at(&slower, '┤'), "{slower}");
        assert!(at(&slower, '┤').unwrap() < zero && at(&faster, '├').unwrap() > zero, "{slower}\n{faster}");
        assert_eq!(at(&faster, '▸'), Some(30), "9 times lies beyond: {faster}");
        assert_eq!(axis.header().chars().nth(zero), Some('0'), "{}", axis.header());
        let through = axis.row((1.01, 0.95, 1.1));
        assert!(through.contains('┼') || at(&through, '●') == Some(zero), "{through}");
        for text in [slower, faster, through, axis.header()] {
            assert_eq!(text.chars().count(), 31, "{text}");
        }
    }

    #[test]
    fn without_room_or_numbers_nothing_is_drawn() {
        assert!(Axis::new([(1.0, 0.9, 1.1)].into_iter(), 0.01, 10).is_none());
        assert!(Axis::new([].into_iter(), 0.01, 40).is_none());
        assert!(Axis::new([(1.0, f64::NAN, 1.1)].into_iter(), f64::NAN, 40).is_none_or(|axis| axis.width <= MOST));
    }
}
