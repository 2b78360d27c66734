//! trace.dat options that shift the times of events, applied as by `trace-cmd report`: to nanoseconds, after cycles
//! have been converted.

use super::records::Times;
use crate::problem::ProblemKind;

/// The values of the options.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shifts {
    /// Added to each time, ns.
    offset: i64,
    /// Multiplier and shift for cycles.
    pub(super) tsc2nsec: Option<(u32, u32)>,
    /// Whether the file has corrections from a guest's times to the host's.
    of_guest: bool,
}

impl Shifts {
    /// `DATE`: µs between the clock and the time of day (`trace-cmd record --date`).
    pub(super) fn date(&mut self, text: &str) {
        self.offset = self.offset.saturating_add(number(text).saturating_mul(1000));
    }

    /// `OFFSET`: ns (`trace-cmd record --ts-offset`).
    pub(super) fn offset(&mut self, text: &str) {
        self.offset = self.offset.saturating_add(number(text));
    }

    /// `TIME_SHIFT`: converts times of a guest to those of its host, depending on when they were measured.
    pub(super) fn guest(&mut self) -> Option<(ProblemKind, String)> {
        let is_first = !std::mem::replace(&mut self.of_guest, true);
        let why = "the times are those of the guest's clock: the corrections to its host's, which `trace-cmd report` applies, are \
                   not (option TIME_SHIFT)";
        is_first.then(|| (ProblemKind::Recording, why.to_owned()))
    }

    pub(super) fn times(&self, tsc2nsec: Option<(u32, u32)>) -> Times {
        Times { offset: self.offset, tsc2nsec }
    }
}

/// Parsed like strtoll, by its prefix: hexadecimal, octal or decimal, up to the first character that is not a digit.
fn number(text: &str) -> i64 {
    let text = text.trim_start();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, radix) = match hex {
        Some(hex) => (hex, 16),
        None if digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    let add = |sum: i64, digit: u32| sum.saturating_mul(i64::from(radix)).saturating_add(i64::from(digit));
    let size = digits.chars().map_while(|digit| digit.to_digit(radix)).fold(0, add);
    if text.starts_with('-') { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_trace_cmd_reads_them() {
        let cases = [
            ("1000", 1000),
            ("-25\n", -25),
            ("+7", 7),
            (" 0x1f", 31),
            ("-0X10", -16),
            ("017", 15),
            ("0", 0),
            ("", 0),
            ("12 ns", 12),
            ("0xffffffffffffffff", i64::MAX),
        ];
        for (text, value) in cases {
            assert_eq!(number(text), value, "{text:?}");
        }
    }

    #[test]
    fn date_and_offset_are_added_up() {
        let mut shifts = Shifts::default();
        shifts.date("0x3e8");
        shifts.offset("-0x10");
        assert_eq!(shifts.times(None).ns(5), 1_000_000 - 16 + 5);
    }
}
