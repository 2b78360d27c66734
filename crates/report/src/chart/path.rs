//! Path data in few bytes: tenths of a px, with each point relative to the previous one, so that thousands of points
//! cost about six bytes each. Rounding errors do not add up, because each step starts at the rounded position.

use std::fmt::Write;

/// A `d` attribute under construction.
#[derive(Debug, Default)]
pub(super) struct PathData {
    text: String,
    /// The position of the pen, and the start of the figure that it draws, tenths of a px.
    at: (i64, i64),
    start: (i64, i64),
    last: char,
}

/// Converts px to tenths; limited to a value beyond any picture.
pub(super) fn tenths(x: f64) -> i64 {
    (x.clamp(-1e5, 1e5) * 10.0).round() as i64
}

/// Tenths as a number: `1.5`, `-.3`, `12`.
fn write_number(text: &mut String, tenths: i64) {
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
    let _ = match (whole, rest) {
        (_, 0) => write!(text, "{sign}{whole}"),
        (0, _) => write!(text, "{sign}.{rest}"),
        _ => write!(text, "{sign}{whole}.{rest}"),
    };
}

impl PathData {
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Omits a command that repeats the previous one; a minus sign also serves as a separator.
    fn push(&mut self, command: char, numbers: &[i64]) {
        let repeats = command == self.last && command != 'm';
        if !repeats {
            self.text.push(command);
        }
        for (i, n) in numbers.iter().enumerate() {
            if *n >= 0 && (i > 0 || repeats) {
                self.text.push(' ');
            }
            write_number(&mut self.text, *n);
        }
        self.last = command;
    }

    pub(super) fn move_to(&mut self, (x, y): (f64, f64)) {
        let to = (tenths(x), tenths(y));
        self.push('m', &[to.0 - self.at.0, to.1 - self.at.1]);
        (self.at, self.start) = (to, to);
    }

    pub(super) fn line_to(&mut self, (x, y): (f64, f64)) {
        self.line_by((tenths(x) - self.at.0, tenths(y) - self.at.1));
    }

    /// A line by this many tenths.
    pub(super) fn line_by(&mut self, (dx, dy): (i64, i64)) {
        match (dx, dy) {
            (dx, 0) => self.push('h', &[dx]),
            (0, dy) => self.push('v', &[dy]),
            (dx, dy) => self.push('l', &[dx, dy]),
        }
        self.at = (self.at.0 + dx, self.at.1 + dy);
    }

    /// A circle whose left end is at the pen.
    pub(super) fn circle(&mut self, r: i64) {
        let half = |text: &mut Self, across: i64| {
            text.push('a', &[r, r]);
            text.text.push_str(" 0 1 0");
            if across >= 0 {
                text.text.push(' ');
            }
            write_number(&mut text.text, across);
            text.text.push_str(" 0");
        };
        half(self, 2 * r);
        half(self, -2 * r);
    }

    pub(super) fn close(&mut self) {
        self.text.push('z');
        (self.last, self.at) = ('z', self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_relative_and_separated_only_where_they_must_be() {
        let mut path = PathData::default();
        path.move_to((58.0, 244.4));
        path.line_to((58.7, 244.0));
        path.line_to((71.1, 243.3));
        path.line_to((71.1, 250.0));
        path.line_to((80.0, 250.0));
        assert_eq!(path.into_text(), "m58 244.4l.7-.4 12.4-.7v6.7h8.9");
    }

    #[test]
    fn rounding_does_not_add_up() {
        let mut path = PathData::default();
        path.move_to((0.0, 0.0));
        // Steps of a third of a px: thirty of them are ten px, not nine.
        (1..=30).for_each(|i| path.line_to((f64::from(i) / 3.0, 0.0)));
        assert_eq!(path.at, (100, 0));
    }

    #[test]
    fn a_closed_figure_leaves_the_pen_where_it_began() {
        let mut path = PathData::default();
        path.move_to((10.0, 10.0));
        path.circle(40);
        path.close();
        path.move_to((20.0, 9.0));
        assert_eq!(path.into_text(), "m10 10a4 4 0 1 0 8 0 4 4 0 1 0-8 0zm10-1");
    }
}
