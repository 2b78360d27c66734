//! Derives a verdict from an interval.
use crate::mean::Interval;

/// What an interval for the log-ratio of B to A allows one to say of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// B beats A, and the data do not confine the gain below the smallest effect of interest.
    Better,
    /// A beats B, likewise.
    Worse,
    /// Any difference is smaller than the smallest effect of interest.
    Equivalent,
    /// The interval contains both zero and an effect that would matter.
    Inconclusive,
}

/// The verdict of an interval for ln(B/A), with `sesoi_log` > 0 the smallest effect of interest on the same scale.
///
/// Rule, first match wins:
/// 1. the whole interval lies strictly inside ±`sesoi_log`: **Equivalent**, even when it excludes zero. A user who
///    names a smallest effect of interest has said that less does not matter; a difference known to be real and known
///    to be too small is then an answer. (TOST at (1 − level)/2 a side, stricter than the usual 1 − 2α interval,
///    because one interval must carry all verdicts.)
/// 2. it excludes zero: **Better** or **Worse**. It may still reach below `sesoi_log`: real, but not yet known to
///    matter. An end at exactly zero counts as containing zero.
/// 3. else **Inconclusive**.
///
/// A `sesoi_log` of zero or NaN switches rule 1 off. An interval with a NaN end is Inconclusive.
pub fn decide(interval_log: Interval, sesoi_log: f64, higher_is_better: bool) -> Verdict {
    if interval_log.lo > -sesoi_log && interval_log.hi < sesoi_log {
        return Verdict::Equivalent;
    }
    let (above, below) = (interval_log.lo > 0.0, interval_log.hi < 0.0);
    match (above, below, higher_is_better) {
        (true, false, true) | (false, true, false) => Verdict::Better,
        (true, false, false) | (false, true, true) => Verdict::Worse,
        _ => Verdict::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lo: f64, hi: f64, higher_is_better: bool, want: Verdict) {
        assert_eq!(decide(Interval { lo, hi, level: 0.95 }, 0.03, higher_is_better), want, "{lo}..{hi}");
    }

    #[test]
    fn the_rule() {
        check(0.01, 0.05, true, Verdict::Better);
        check(0.01, 0.05, false, Verdict::Worse);
        check(-0.05, -0.01, false, Verdict::Better);
        check(-0.02, 0.02, true, Verdict::Equivalent);
        check(0.01, 0.02, true, Verdict::Equivalent);
        check(-0.01, 0.05, true, Verdict::Inconclusive);
        check(-0.04, 0.04, true, Verdict::Inconclusive);
        check(0.0, 0.05, true, Verdict::Inconclusive);
        check(f64::NAN, 0.02, true, Verdict::Inconclusive);
        check(f64::NEG_INFINITY, f64::INFINITY, true, Verdict::Inconclusive);
    }

    #[test]
    fn without_a_smallest_effect_nothing_is_equivalent() {
        let narrow = Interval { lo: -1e-9, hi: 1e-9, level: 0.95 };
        assert_eq!(decide(narrow, 0.0, true), Verdict::Inconclusive);
        assert_eq!(decide(narrow, f64::NAN, true), Verdict::Inconclusive);
    }
}
