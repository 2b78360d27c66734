//! /proc/pressure/{cpu,memory,io}: pressure stall information. `total` is the time in µs during which some (or all)
//! tasks that wanted the resource waited for it. Source: Documentation/accounting/psi.rst.

use crate::parse_error::{FileLine, ParseError};

/// Total stall time of one resource, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pressure {
    /// At least one task waited.
    pub some_ns: u64,
    /// Time in which all non-idle tasks waited; `None` if the kernel has no such line (CPU before 5.13).
    pub full_ns: Option<u64>,
}

/// Parses one of the three files; `file` is named in errors.
pub fn parse(file: &'static str, text: &str) -> Result<Pressure, ParseError> {
    let mut pressure = Pressure::default();
    for (index, line) in text.lines().enumerate() {
        let place = FileLine { file, line: index + 1 };
        let total = || {
            let word = line.split_ascii_whitespace().find_map(|w| w.strip_prefix("total="));
            place.number(word, "`total=` of µs").map(|us| us * 1_000)
        };
        match line.split_ascii_whitespace().next() {
            Some("some") => pressure.some_ns = total()?,
            Some("full") => pressure.full_ns = Some(total()?),
            _ => return Err(place.error(line, "line of pressure stall information")),
        }
    }
    Ok(pressure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_nanoseconds() {
        let text =
            "some avg10=51.52 avg60=32.13 avg300=9.89 total=45752561\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let pressure = parse("/proc/pressure/cpu", text).unwrap();
        assert_eq!(pressure, Pressure { some_ns: 45_752_561_000, full_ns: Some(7_000) });
        let old = parse("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n").unwrap();
        assert_eq!(old.full_ns, None);
    }

    #[test]
    fn a_cut_line_is_an_error() {
        let error = parse("/proc/pressure/io", "some avg10=0.00 avg60=0.0\n").unwrap_err();
        assert_eq!((error.file, error.line), ("/proc/pressure/io", 1));
        assert!(parse("/proc/pressure/io", "what\n").is_err());
    }
}
