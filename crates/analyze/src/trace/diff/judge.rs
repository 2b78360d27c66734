//! When a number of one side is called another than that of the other side.

use super::DiffChange;
use super::presence::By;
use crate::confounded::LEAST_OF_LEVEL;
use schedlab_stats::{holm, welch};

/// Confidence level of the interval, and of all named changes together.
const LEVEL: f64 = 0.95;

/// Fewer events than this in a trace are no basis for a rate: 0 in each trace of one side and 1 in each of the other
/// would have no spread.
pub(super) const LEAST_TIMES: f64 = 20.0;

/// Without a verdict, a change must be this many times as large to be named.
const DESCRIBED: f64 = 10.0;

/// The smallest change that is named.
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

    /// The same without a verdict: of a share not more than half, or nothing could be as large.
    fn described(self) -> Self {
        match self {
            Self::Of(least) => Self::Of(DESCRIBED * least),
            Self::Share(share) => Self::Share((DESCRIBED * share).min(0.5)),
        }
    }
}

/// What a number is in both sides.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    /// Values of each trace that has it, A and B.
    pub(super) traces: [Vec<f64>; 2],
    /// Values of the stretches of all traces; empty if they are not known, or not in each.
    pub(super) stretches: [Vec<f64>; 2],
    /// Length of a trace, s, on average.
    pub(super) seconds: f64,
    /// One side has nothing of that name.
    pub(super) of_one_side: bool,
}

/// Whether this many traces of A and of B allow a verdict; otherwise how steady each trace is replaces one.
pub fn decides(traces: [usize; 2]) -> bool {
    traces.into_iter().all(|n| n >= LEAST_OF_LEVEL)
}

/// The change of a number, and its p before any correction where it is judged.
pub(super) fn change(
    (of, unit, least): (&'static str, &'static str, Least),
    values: &Values,
    by: By,
    verdict: bool,
) -> (DiffChange, Option<f64>) {
    let [a, b] = values.traces.each_ref().map(|xs| mean(xs));
    let estimate = welch(&values.traces[0], &values.traces[1], LEVEL);
    let units = if verdict || values.stretches.iter().all(Vec::is_empty) { &values.traces } else { &values.stretches };
    let [a_range, b_range] = units.each_ref().map(|xs| if xs.len() > 1 { range(xs) } else { None });
    let change = a.zip(b).map(|(a, b)| b - a);
    let interval = estimate.map(|e| [e.interval.lo, e.interval.hi]);
    let mut found = DiffChange { of, unit, a, b, change, interval, p: None, a_range, b_range, says: "not compared" };
    let Some((a, b)) = a.zip(b) else { return (found, None) };
    // A number is not tested if its change cannot be as large as a named one: no mean can be larger than this, whichever
    // traces are on which side, so that it does not bias the test.
    let lens = values.traces.each_ref().map(Vec::len);
    let total: f64 = values.traces.iter().flatten().map(|x| x.abs()).sum();
    let bound = total / lens[0].min(lens[1]) as f64;
    if unit == "1/s" && bound * values.seconds < LEAST_TIMES {
        found.says = "small";
        return (found, None);
    }
    if verdict {
        if bound < least.of(bound, 0.0) || bound == 0.0 {
            found.says = "small";
            return (found, None);
        }
        let p = match by {
            By::Values => estimate.map(|e| e.p_value),
            By::Presence(p) => Some(p),
            By::Nothing => None,
        };
        let p = p.filter(|_| decides(lens));
        found.says = if p.is_some() { "not shown" } else { "not compared" };
        return (found, p);
    }
    found.says = match values.stretches.each_ref().map(|xs| range(xs)) {
        [Some(of_a), Some(of_b)]
            if (is_apart(of_a, of_b) || values.of_one_side && is_always(of_a, of_b))
                && (b - a).abs() >= least.described().of(a, b) =>
        {
            "apart"
        }
        [Some(_), Some(_)] => "not apart",
        _ => "no spread",
    };
    (found, None)
}

/// A change with its p before any correction, and the least that is named, as given to [`change`].
pub(super) type Judged<'c> = (&'c mut DiffChange, f64, Least);

/// Gives what was judged by its values its corrected p and its word. `families`: how many share the error.
pub(super) fn correct(judged: &mut [Judged<'_>], families: f64) {
    let p_values: Vec<f64> = judged.iter().map(|(_, p, _)| *p).collect();
    judged.iter_mut().zip(holm(&p_values)).for_each(|(judged, p)| say(judged, families * p));
}

/// `p`: corrected.
pub(super) fn say((change, _, least): &mut Judged<'_>, p: f64) {
    change.p = Some(p.min(1.0));
    let large = change.a.zip(change.b).is_some_and(|(a, b)| (b - a).abs() >= least.of(a, b));
    if p <= 1.0 - LEVEL && large {
        change.says = "moved";
    }
}

/// Whether two ranges do not touch, with as much room between them as the wider one is wide.
fn is_apart([a_lo, a_hi]: [f64; 2], [b_lo, b_hi]: [f64; 2]) -> bool {
    let room = (b_lo - a_hi).max(a_lo - b_hi);
    room > 0.0 && room >= (a_hi - a_lo).max(b_hi - b_lo)
}

/// Whether a side has some in every stretch where the other has none in any.
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
        Values { traces: [a.to_vec(), b.to_vec()], ..Values::default() }
    }

    #[test]
    fn one_trace_a_side_is_apart_only_with_room_between_the_stretches() {
        let of = |a: [f64; 3], b: [f64; 3]| {
            let values = Values {
                traces: [vec![a.iter().sum::<f64>() / 3.0], vec![b.iter().sum::<f64>() / 3.0]],
                stretches: [a.to_vec(), b.to_vec()],
                seconds: 1.0,
                of_one_side: a == [0.0; 3],
            };
            let (found, p) = change(RAN, &values, By::Values, false);
            assert_eq!((p, found.interval), (None, None));
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
        let of = |seconds| change(rate, &Values { seconds, ..of_traces(&[0.0; 6], &[0.3; 6]) }, By::Values, true);
        assert_eq!((of(3.0).0.says, of(3.0).1), ("small", None), "one in each trace of B");
        assert!(of(100.0).1.is_some());
    }

    #[test]
    fn five_traces_a_side_are_judged_together() {
        let (a, b) = ([1e7, 1.1e7, 0.9e7, 1.05e7, 0.95e7], [3e7, 3.1e7, 2.9e7, 3.05e7, 2.95e7]);
        let (mut found, p) = change(RAN, &of_traces(&a, &b), By::Values, true);
        let (p, interval) = (p.unwrap(), found.interval.unwrap());
        // Welch by hand: the difference is 2e7, its standard error sqrt(2 · 6.25e11 / 5) = 5e5, and t(8) at 0.975 is 2.306.
        assert!((interval[0] - (2e7 - 2.306e0 * 5e5)).abs() < 1e3 && (interval[1] - (2e7 + 2.306 * 5e5)).abs() < 1e3);
        let mut other = found.clone();
        correct(&mut [(&mut found, p, RAN.2), (&mut other, 0.9, RAN.2)], 1.0);
        assert_eq!((found.says, found.p, other.says), ("moved", Some(2.0 * p), "not shown"));
        // As sure, but of nothing that matters.
        let (mut small, p) = change(RAN, &of_traces(&a, &a.map(|x| x + 5e5)), By::Values, true);
        correct(&mut [(&mut small, p.unwrap() * 0.0, RAN.2)], 1.0);
        assert_eq!((small.says, small.p), ("not shown", Some(0.0)));
        assert_eq!(change(RAN, &of_traces(&a[..4], &b), By::Values, true).0.says, "not compared");
        assert_eq!(change(RAN, &of_traces(&[1e5; 5], &[2e5; 5]), By::Values, true).0.says, "small");
        assert_eq!(change(RAN, &of_traces(&[], &b), By::Values, true).0.says, "not compared");
    }
}
