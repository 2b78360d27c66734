//! Formats a time of a trace.

/// A time in a trace, ns of its clock, shown in seconds as in all tools: `{:.6}` rounds to the microsecond like
/// ftrace's own text. Computed in integers throughout, because a clock that counts from 1970 has more digits than a
/// float can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub u64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimals = f.precision().unwrap_or(9).min(9);
        let unit = 10_u64.pow(9 - decimals as u32);
        let per_second = 1_000_000_000 / unit;
        let units = self.0 / unit + u64::from(self.0 % unit >= unit.div_ceil(2) && unit > 1);
        let text = match decimals {
            0 => units.to_string(),
            _ => format!("{}.{:0decimals$}", units / per_second, units % per_second),
        };
        f.pad_integral(true, "", &text)
    }
}

#[cfg(test)]
mod tests {
    use super::Seconds;

    #[test]
    fn times_are_shown_to_the_last_digit_and_rounded_as_ftrace_does() {
        let at = Seconds(1_790_000_000_123_456_789);
        assert_eq!((at.to_string(), format!("{at:.6}")), ("1790000000.123456789".into(), "1790000000.123457".into()));
        assert_eq!(
            format!("{:.6}|{:.6}|{:.0}", Seconds(1_499), Seconds(1_500), Seconds(1_500_000_000)),
            "0.000001|0.000002|2"
        );
        assert_eq!(
            format!("{:>14.6}|{:.6}", Seconds(999_999_999_500), Seconds(u64::MAX)),
            "   1000.000000|18446744073.709552"
        );
    }
}
