//! The notations that kernel developers use: sizes (`64k`), times (`2.5ms`), rates (`1gbit`), shares (`5%`), CPU lists
//! (`0-3,8`).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A text that cannot be parsed as a size, time, share or CPU list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what}, such as {example}")]
pub struct UnitError {
    text: String,
    what: &'static str,
    example: &'static str,
}

fn unit_error(text: &str, what: &'static str, example: &'static str) -> UnitError {
    UnitError { text: text.to_owned(), what, example }
}

/// Splits `2.5ms` into its number and its unit; the number must be finite and not negative.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    (number.is_finite() && end > 0).then_some((number, text[end..].trim()))
}

/// Nanoseconds from `100ns`, `2.5us`, `50ms`, `10s`, `2min` or `1h`. A bare number is refused: it has no unit.
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    let bad = || unit_error(text, "time", "`0.1ms`, `50ms` or `10s`");
    let (number, unit) = number_and_unit(text).ok_or_else(bad)?;
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" | "usec" => 1e3,
        "ms" | "msec" => 1e6,
        "s" | "sec" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "" if number == 0.0 => 1.0,
        _ => return Err(bad()),
    };
    let ns = number * scale;
    if ns < 9.2e18 { Ok(ns.round() as u64) } else { Err(bad()) }
}

/// A plain number, or a time in nanoseconds; `None` if it is neither.
pub fn parse_number(text: &str) -> Option<f64> {
    let plain = || text.parse().ok().filter(|number: &f64| number.is_finite());
    plain().or_else(|| parse_duration_ns(text).ok().map(|ns| ns as f64))
}

/// Bytes from `100`, `100B`, `64k`, `4KiB`, `1M` or `1G`; all are multiples of 1024, as in the reference tools.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let bad = || unit_error(text, "size", "`100`, `64k` or `1M`");
    let (number, unit) = number_and_unit(text).ok_or_else(bad)?;
    let scale = match unit.to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 1u64,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return Err(bad()),
    } as f64;
    let bytes = number * scale;
    if bytes.fract() == 0.0 && bytes < 1e15 { Ok(bytes as u64) } else { Err(bad()) }
}

/// Bits per second from `500kbit`, `100mbit`, `2.5gbit`, as tc writes them: multiples of 1000. A bare number is refused:
/// tools disagree on whether it would be bits or bytes.
pub fn parse_bit_rate(text: &str) -> Result<u64, UnitError> {
    let bad = || unit_error(text, "rate", "`500kbit`, `100mbit` or `2.5gbit`");
    let (number, unit) = number_and_unit(text).ok_or_else(bad)?;
    let (_, scale) = BIT_RATES.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name)).ok_or_else(bad)?;
    let bits = number * *scale as f64;
    // Beyond 2^53 a double cannot hold every whole number.
    if bits.fract() == 0.0 && bits < 9e15 { Ok(bits as u64) } else { Err(bad()) }
}

const BIT_RATES: [(&str, u64); 5] =
    [("tbit", 1_000_000_000_000), ("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)];

/// A rate in the largest unit in which it is a whole number, so that it reads back as the same number: `1gbit`,
/// `2500mbit`.
pub fn format_bit_rate(bits_per_s: u64) -> String {
    let whole = |(_, scale): &&(&str, u64)| bits_per_s >= *scale && bits_per_s.is_multiple_of(*scale);
    let (name, scale) = BIT_RATES.iter().find(whole).unwrap_or(&("bit", 1));
    format!("{}{name}", bits_per_s / scale)
}

/// A share from `5%`, `0.5%` or `0.05`.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let bad = || unit_error(text, "share", "`5%` or `0.05`");
    let (number, unit) = number_and_unit(text).ok_or_else(bad)?;
    match unit {
        "%" => Ok(number / 100.0),
        "" if number <= 1.0 => Ok(number),
        _ => Err(bad()),
    }
}

/// A duration in the largest unit that keeps three significant digits readable: `2.5ms`, `100us`, `10s`.
pub fn format_ns(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns}ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let text = format!("{value:.3}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The same for output only, with `µs` as everywhere in print; options do not accept `100µs`.
pub fn show_ns(ns: u64) -> String {
    format_ns(ns).replace("us", "µs")
}

/// A duration that reads back as the same number of nanoseconds, in the largest unit that keeps it above one: `2.5ms`,
/// `1.2345ms`. Settings are stored and sent in this form; [`format_ns`] is for people.
pub fn format_ns_exact(ns: u64) -> String {
    let (unit, name) = match ns {
        0..1_000 => return format!("{ns}ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        // Beyond 2^51 ns (26 days) the reader, which rounds first a fraction of seconds and then the ns, can be off by
        // one.
        _ if ns >= 1 << 51 => return format!("{ns}ns"),
        _ => (1_000_000_000, "s"),
    };
    let digits = (unit as f64).log10() as usize;
    let fraction = format!("{:0digits$}", ns % unit);
    let text = format!("{}.{fraction}", ns / unit);
    format!("{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Year, month, day, hour, minute and second in UTC of seconds since 1970: proleptic Gregorian, from the day count alone.
pub fn utc(unix_s: u64) -> [u64; 6] {
    let seconds = unix_s % 86_400;
    // Days since 0000-03-01, so that a leap day is the last day of its year; 400 years are 146 097 days.
    let shifted = unix_s / 86_400 + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    [year, month, day, seconds / 3600, seconds / 60 % 60, seconds % 60]
}

/// A set of CPU numbers, in ascending order; written like the kernel writes it (`0-3,8`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList(Vec<u32>);

impl CpuList {
    /// The list of these CPUs, sorted and without repeats.
    pub fn new(mut cpus: Vec<u32>) -> Self {
        cpus.sort_unstable();
        cpus.dedup();
        Self(cpus)
    }
    /// The CPU numbers, ascending.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }
    /// Whether the list names no CPU.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for CpuList {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bad = || unit_error(text, "CPU list", "`0-3,8`");
        let mut cpus = Vec::new();
        for part in text.trim().split(',').filter(|p| !p.is_empty()) {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let low: u32 = low.trim().parse().map_err(|_| bad())?;
            let high: u32 = high.trim().parse().map_err(|_| bad())?;
            // 65536 is far above any kernel's CONFIG_NR_CPUS; it limits what a typo can allocate.
            if high < low || high >= 65536 {
                return Err(bad());
            }
            cpus.extend(low..=high);
        }
        if cpus.is_empty() { Err(bad()) } else { Ok(Self::new(cpus)) }
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut separator = "";
        while let Some(&low) = rest.first() {
            let run = rest.iter().enumerate().take_while(|&(i, &cpu)| cpu == low + i as u32).count();
            let high = rest[run - 1];
            if high == low {
                write!(f, "{separator}{low}")?
            } else {
                write!(f, "{separator}{low}-{high}")?
            }
            separator = ",";
            rest = &rest[run..];
        }
        Ok(())
    }
}

impl TryFrom<String> for CpuList {
    type Error = UnitError;
    fn try_from(text: String) -> Result<Self, UnitError> {
        if text.is_empty() { Ok(Self::default()) } else { text.parse() }
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> Self {
        list.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_the_calendars() {
        assert_eq!(utc(0), [1970, 1, 1, 0, 0, 0]);
        assert_eq!(utc(951_782_400), [2000, 2, 29, 0, 0, 0]);
        assert_eq!(utc(1_795_259_075), [2026, 11, 21, 11, 4, 35]);
    }

    #[test]
    fn times_sizes_and_shares_take_the_forms_of_the_field() {
        assert_eq!(parse_duration_ns("2.5ms"), Ok(2_500_000));
        assert_eq!(parse_duration_ns("100us"), Ok(100_000));
        assert_eq!(parse_duration_ns("0"), Ok(0));
        assert!(parse_duration_ns("5").is_err(), "a time without a unit is refused");
        assert!(parse_duration_ns("0banana").is_err() && parse_duration_ns("0xff").is_err());
        assert!(parse_duration_ns("-5ms").is_err());
        assert_eq!(parse_bytes("64k"), Ok(65536));
        assert_eq!(parse_bytes("100"), Ok(100));
        assert!(parse_bytes("0.3").is_err());
        assert_eq!(parse_share("5%"), Ok(0.05));
        assert!(parse_share("5").is_err());
    }

    #[test]
    fn bit_rates_are_tcs_and_print_as_they_are_read() {
        assert_eq!(parse_bit_rate("2.5Gbit"), Ok(2_500_000_000));
        assert!(
            parse_bit_rate("1000").is_err() && parse_bit_rate("1gbps").is_err() && parse_bit_rate("0.1bit").is_err()
        );
        for rate in [0, 1, 1_500, 10_000_000, 2_500_000_000, 1_000_000_000_000] {
            assert_eq!(parse_bit_rate(&format_bit_rate(rate)), Ok(rate));
        }
        assert_eq!(format_bit_rate(2_500_000_000), "2500mbit");
    }

    #[test]
    fn a_duration_prints_as_it_is_read() {
        for ns in [0, 999, 100_000, 2_500_000, 1_400_000, 10_000_000_000] {
            assert_eq!(parse_duration_ns(&format_ns(ns)), Ok(ns));
            assert_eq!(format_ns_exact(ns), format_ns(ns), "round values print alike");
        }
        for ns in [1, 1_001, 2_800_001, 1_234_500, 93_925_673_974, 3_600_000_000_001] {
            assert_eq!(parse_duration_ns(&format_ns_exact(ns)), Ok(ns));
        }
    }

    #[test]
    fn cpu_lists_round_trip_in_the_kernel_form() {
        let list: CpuList = "8,0-3,2".parse().unwrap();
        assert_eq!(list.to_string(), "0-3,8");
        assert!("3-1".parse::<CpuList>().is_err());
        assert!("0-4000000000".parse::<CpuList>().is_err());
    }
}
