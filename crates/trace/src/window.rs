//! Which part of a trace counts.

use crate::event::Cpu;

/// A time range of a trace on some CPUs: intervals that end in it count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeWindow {
    /// From here on, ns of the trace's clock.
    pub from_ns: u64,
    /// Up to here; to the end of the trace if `None`.
    pub to_ns: Option<u64>,
    /// On these CPUs; on all if `None`.
    pub cpus: Option<Vec<Cpu>>,
}

/// An invalid time window.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeWindowError {
    /// Not two times.
    #[error("`{0}` is no time window; write FROM,TO in seconds of the trace's clock, as in 14359.5,14360 or 14359.5,")]
    NoTimes(String),
    /// FROM is later than TO.
    #[error("`{from},{to}` runs backwards: FROM is later than TO; write {to},{from}")]
    Backwards {
        /// The text as given.
        from: String,
        /// The text as given.
        to: String,
    },
}

impl TimeWindow {
    /// Sets the times from `FROM,TO` in seconds; either may be missing.
    pub fn set_times(&mut self, text: &str) -> Result<(), TimeWindowError> {
        let bad = || TimeWindowError::NoTimes(text.to_owned());
        let (from, to) = text.split_once(',').unwrap_or((text, ""));
        if !from.is_empty() {
            self.from_ns = nanoseconds(from).ok_or_else(bad)?;
        }
        if !to.is_empty() {
            self.to_ns = Some(nanoseconds(to).ok_or_else(bad)?);
        }
        if self.to_ns.is_some_and(|to| to < self.from_ns) {
            return Err(TimeWindowError::Backwards { from: from.trim().to_owned(), to: to.trim().to_owned() });
        }
        Ok(())
    }

    /// Whether an interval that ends at `end_ns` on `cpu` is in the window.
    #[inline]
    pub fn has(&self, end_ns: u64, cpu: Cpu) -> bool {
        self.has_time(end_ns) && self.cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu))
    }

    /// Whether an interval that ends at `end_ns`, on an unknown CPU, is in the window.
    #[inline]
    pub fn has_time(&self, end_ns: u64) -> bool {
        end_ns >= self.from_ns && self.to_ns.is_none_or(|to| end_ns <= to)
    }
}

/// Seconds with up to nine decimals, exactly.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let part: u64 = format!("{part:0<9}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_to_the_nanosecond() {
        let mut window = TimeWindow::default();
        window.set_times("14359.361110789,14360").unwrap();
        assert_eq!((window.from_ns, window.to_ns), (14_359_361_110_789, Some(14_360_000_000_000)));
        assert!(window.has(14_360_000_000_000, Cpu(0)) && !window.has(14_359_361_110_788, Cpu(0)));
        let mut open = TimeWindow { cpus: Some(vec![Cpu(1)]), ..TimeWindow::default() };
        open.set_times("5,").unwrap();
        assert!(open.has(u64::MAX, Cpu(1)) && !open.has(u64::MAX, Cpu(0)));
        let backwards = TimeWindow::default().set_times("5.5, 1").unwrap_err().to_string();
        assert_eq!(backwards, "`5.5,1` runs backwards: FROM is later than TO; write 1,5.5");
        for bad in ["x", "1.0000000001", "-1", "99999999999999999999", "1.5.5"] {
            let error = TimeWindow::default().set_times(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{bad}` is no time window")), "{error}");
        }
    }
}
