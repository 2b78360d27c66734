//! When a number of one side counts as different from that of the other side.

use super::DiffChange;
use crate::confounded::MIN_OF_LEVEL;
use schedlab_stats::{step_down_max_t, welch};

/// Confidence level of the interval, and of all named changes together.
const LEVEL: f64 = 0.95;

/// Fewer events than this in a trace are no basis for a rate: 0 in each trace of one side and 1 in each of the other
/// would have no spread.
pub(super) const MIN_TIMES: f64 = 20.0;

/// Without a verdict, a change must be this many times as large to be named.
const DESCRIBED: f64 = 10.0;

/// The smallest change that is named as such.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Least {
    /// In the unit of the number.
    Of(f64),
    /// A share of the larger side.
    Share(f64),
}

impl Least {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Of(least) => least,
            Self::Share(share) => share * a.abs().max(b.abs()),
        }
    }

    /// The limit without a verdict; a share is limited to one half, because larger changes are impossible.
    fn described(self) -> Self {
        match self {
            Self::Of(least) => Self::Of(DESCRIBED * least),
            Self::Share(share) => Self::Share((DESCRIBED * share).min(0.5)),
        }
    }
}

/// The values of a number on both sides.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    /// The value of each trace of A and of B; `None` for a trace that has no value.
    pub(super) traces: [Vec<Option<f64>>; 2],
    /// Values of the stretches of all traces; empty if some are not known.
    pub(super) stretches: [Vec<f64>; 2],
    /// Mean length of a trace, s.
    pub(super) seconds: f64,
    /// Whether one side has no row of that name.
    pub(super) of_one_side: bool,
}

/// Whether this many traces of A and of B allow a verdict; otherwise the spread within each trace is used instead.
pub fn decides(traces: [usize; 2]) -> bool {
    traces.into_iter().all(|n| n >= MIN_OF_LEVEL)
}

impl Values {
    /// Number of traces that have a value on each side at least, however the traces are assigned to the sides.
    fn least_traces(&self) -> usize {
        let lacking = self.traces.iter().flatten().filter(|x| x.is_none()).count();
        self.traces[0].len().min(self.traces[1].len()).saturating_sub(lacking)
    }

    /// Upper limit of a side's mean, however the traces are assigned to the sides.
    fn bound(&self) -> f64 {
        self.traces.iter().flatten().flatten().map(|x| x.abs()).sum::<f64>() / self.least_traces().max(1) as f64
    }
}

/// What is known of a number, and whether it is judged. That must not depend on which side a trace belongs to:
/// otherwise leaving numbers out would bias the test.
pub(super) fn change(
    (of, unit, least): (&'static str, &'static str, Least),
    values: &Values,
    verdict: bool,
) -> (DiffChange, bool) {
    let known = values.traces.each_ref().map(|xs| xs.iter().flatten().copied().collect::<Vec<f64>>());
    let [a, b] = known.each_ref().map(|xs| mean(xs));
    let interval = welch(&known[0], &known[1], LEVEL).map(|e| [e.interval.lo, e.interval.hi]);
    let units = if verdict || values.stretches.iter().all(Vec::is_empty) { &known } else { &values.stretches };
    let [a_range, b_range] = units.each_ref().map(|xs| if xs.len() > 1 { range(xs) } else { None });
    let change = a.zip(b).map(|(a, b)| b - a);
    let mut found = DiffChange { of, unit, a, b, change, interval, p: None, a_range, b_range, says: "not compared" };
    let bound = values.bound();
    let is_small = unit == "1/s" && bound * values.seconds < MIN_TIMES;
    if verdict {
        let is_judged = values.least_traces() >= MIN_OF_LEVEL;
        let is_small = is_small || bound < least.of(bound, 0.0) || bound == 0.0;
        found.says = match (is_judged, is_small) {
            (false, _) => "not compared",
            (true, true) => "small",
            (true, false) => "not shown",
        };
        return (found, is_judged && !is_small);
    }
    let Some((a, b)) = a.zip(b) else { return (found, false) };
    found.says = match values.stretches.each_ref().map(|xs| range(xs)) {
        _ if is_small => "small",
        [Some(of_a), Some(of_b)]
            if (is_apart(of_a, of_b) || values.of_one_side && is_always(of_a, of_b))
                && (b - a).abs() >= least.described().of(a, b) =>
        {
            "apart"
        }
        [Some(_), Some(_)] => "not apart",
        _ => "no spread",
    };
    (found, false)
}

/// A number to judge.
pub(super) struct Judged<'c> {
    pub(super) change: &'c mut DiffChange,
    pub(super) values: Values,
    /// As given to [`change`].
    pub(super) least: Least,
}

impl Judged<'_> {
    /// The values of all traces, A's first, on a logarithmic scale, because a load that comes and goes varies by
    /// factors. Values below the smallest change that matters count as almost 0.
    fn logarithms(&self) -> Vec<Option<f64>> {
        const MIN_NS: f64 = 1000.0;
        let nothing = match (self.least, self.change.unit) {
            (Least::Of(least), _) => least,
            (Least::Share(_), "1/s") => MIN_TIMES / self.values.seconds,
            (Least::Share(_), _) => MIN_NS,
        };
        self.values.traces.iter().flatten().map(|x| x.map(|x| (x / nothing).ln_1p())).collect()
    }
}

/// Fills in the p and the verdict of the numbers. `shares`: the number of sets among which the error is divided.
pub(super) fn judge(judged: &mut [Judged<'_>], of_a: usize, shares: f64) {
    let rows: Vec<Vec<Option<f64>>> = judged.iter().map(Judged::logarithms).collect();
    let p_values = step_down_max_t(&rows, of_a).unwrap_or_default();
    let level = |side: &[Option<f64>]| mean(&side.iter().flatten().copied().collect::<Vec<f64>>());
    for ((Judged { change, least, .. }, p), row) in judged.iter_mut().zip(p_values).zip(&rows) {
        let p = (shares * p).min(1.0);
        change.p = Some(p);
        let (Some((a, b)), true) = (change.a.zip(change.b), p <= 1.0 - LEVEL) else { continue };
        // One outlier can give the means, which the sentence reports, the opposite order of what was tested.
        let is_same_way = (level(&row[..of_a]) < level(&row[of_a..])) == (a < b);
        change.says = match (b - a).abs() >= least.of(a, b) {
            true if is_same_way => "moved",
            true => "not shown",
            false => "small",
        };
    }
}

/// Whether two ranges are disjoint, with a gap that is at least as wide as the wider range.
fn is_apart([a_lo, a_hi]: [f64; 2], [b_lo, b_hi]: [f64; 2]) -> bool {
    let room = (b_lo - a_hi).max(a_lo - b_hi);
    room > 0.0 && room >= (a_hi - a_lo).max(b_hi - b_lo)
}

/// Whether one side has some in every stretch and the other has none in any.
fn is_always([a_lo, a_hi]: [f64; 2], [b_lo, b_hi]: [f64; 2]) -> bool {
    (a_hi == 0.0 && b_lo > 0.0) || (b_hi == 0.0 && a_lo > 0.0)
}

fn mean(xs: &[f64]) -> Option<f64> {
    (!xs.is_empty()).then(|| xs.iter().sum::<f64>() / xs.len() as f64)
}

fn range(xs: &[f64]) -> Option<[f64; 2]> {
    let least = xs.iter().copied().reduce(f64::min)?;
    Some([least, xs.iter().copied().fold(least, f64::max)])
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAN: (&str, &str, Least) = ("ran", "ns/s", Least::Of(1e6));

    fn of_traces(a: &[f64], b: &[f64]) -> Values {
        Values { traces: [a, b].map(|side| side.iter().copied().map(Some).collect()), ..Values::default() }
    }

    #[test]
    fn one_trace_a_side_is_apart_only_with_room_between_the_stretches() {
        let of = |a: [f64; 3], b: [f64; 3]| {
            let values = Values {
                traces: [a, b].map(|side| vec![Some(side.iter().sum::<f64>() / 3.0)]),
                stretches: [a.to_vec(), b.to_vec()],
                seconds: 1.0,
                of_one_side: a == [0.0; 3],
            };
            let (found, is_judged) = change(RAN, &values, false);
            assert_eq!((is_judged, found.interval), (false, None));
            found.says
        };
        assert_eq!(of([1e7, 2e7, 3e7], [6e7, 7e7, 8e7]), "apart");
        assert_eq!(of([1e7, 2e7, 3e7], [4e7, 5e7, 6e7]), "not apart", "the room is less than the sides are wide");
        assert_eq!(of([6e7, 7e7, 8e7], [1e7, 2e7, 3e7]), "apart", "B may be less");
        assert_eq!(of([0.0, 0.0, 0.0], [1e6, 9e7, 3e7]), "apart", "there all along, and not there at all");
        assert_eq!(of([0.0, 0.0, 0.0], [0.0, 9e7, 3e7]), "not apart", "there at times");
        assert_eq!(of([1e6, 1e6, 1e6], [2e6, 2e6, 2e6]), "not apart", "too small to be named of one trace a side");
    }

    #[test]
    fn a_rate_of_a_few_is_not_judged() {
        let rate = ("wakeups", "1/s", Least::Share(0.05));
        let of = |seconds| change(rate, &Values { seconds, ..of_traces(&[0.0; 6], &[0.3; 6]) }, true);
        assert_eq!((of(3.0).0.says, of(3.0).1), ("small", false), "one in each trace of B");
        assert!(of(100.0).1);
    }

    #[test]
    fn five_traces_a_side_are_judged_together() {
        let (a, b) = ([1e7, 1.1e7, 0.9e7, 1.05e7, 0.95e7], [3e7, 3.1e7, 2.9e7, 3.05e7, 2.95e7]);
        let (mut found, is_judged) = change(RAN, &of_traces(&a, &b), true);
        let interval = found.interval.unwrap();
        // Welch by hand: the difference is 2e7, its standard error sqrt(2 · 6.25e11 / 5) = 5e5, and t(8) at 0.975 is 2.306.
        assert!((interval[0] - (2e7 - 2.306e0 * 5e5)).abs() < 1e3 && (interval[1] - (2e7 + 2.306 * 5e5)).abs() < 1e3);
        let mut other = found.clone();
        let mixed = of_traces(&[1e7, 3e7, 1e7, 3e7, 1e7], &[3e7, 1e7, 3e7, 1e7, 3e7]);
        fn judged(change: &mut DiffChange, values: Values) -> Judged<'_> {
            Judged { change, values, least: RAN.2 }
        }
        judge(&mut [judged(&mut found, of_traces(&a, &b)), judged(&mut other, mixed)], 5, 2.0);
        // One of C(10, 5) = 252 ways and its mirror, in one of two sets; the other number is equally far apart in
        // another way.
        assert!((found.says, other.says) == ("moved", "not shown") && is_judged, "{found:?} {other:?}");
        assert_eq!(found.p, Some(2.0 * 4.0 / 252.0));
        // Equally certain, but too small to matter.
        let (mut small, _) = change(RAN, &of_traces(&[1e7; 5], &[1.05e7; 5]), true);
        judge(&mut [judged(&mut small, of_traces(&[1e7; 5], &[1.05e7; 5]))], 5, 1.0);
        assert_eq!((small.says, small.p), ("small", Some(2.0 / 252.0)));
        // One trace reverses the mean of A: the test shows a rise, but the means would show a fall.
        let turned = || of_traces(&[2e6, 2.1e6, 1.9e6, 2e6, 2.2e6, 1.25e8], &[2e7; 6]);
        let (mut found, _) = change(RAN, &turned(), true);
        judge(&mut [judged(&mut found, turned())], 6, 1.0);
        assert!(found.change.unwrap() < -1e6 && found.p.unwrap() < 0.05 && found.says == "not shown", "{found:?}");
        let says = |a: &[f64], b: &[f64]| change(RAN, &of_traces(a, b), true).0.says;
        assert_eq!(says(&a[..4], &b), "not compared");
        assert_eq!(says(&[1e5; 5], &[2e5; 5]), "small");
        assert_eq!(says(&[], &b), "not compared");
        // With six traces per side, one may lack a value, on either side.
        let lacking = |of: &[usize]| {
            let mut values = of_traces(&[1e7; 6], &[3e7; 6]);
            of.iter().for_each(|at| values.traces[at % 2][at / 2] = None);
            change(RAN, &values, true).1
        };
        assert!(lacking(&[0]) && lacking(&[1]) && !lacking(&[0, 1]) && !lacking(&[0, 2]));
    }
}
