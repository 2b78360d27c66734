//! When a number of one side is called another than that of the other side.

use super::DiffChange;
use crate::confounded::LEAST_OF_LEVEL;
use schedlab_stats::{holm, welch};
use std::collections::{BTreeMap, BTreeSet};

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
    if unit == "1/s" && a.max(b) * values.seconds < LEAST_TIMES {
        found.says = "small";
        return (found, None);
    }
    if verdict {
        // A number is not tested if its change cannot be as large as a named one. This looks at the sum of the sides,
        // not at their difference, so it does not bias the test.
        let possible = (a.abs() + b.abs()) >= least.of(a, b) && a.abs() + b.abs() > 0.0;
        let enough = decides(values.traces.each_ref().map(Vec::len));
        found.says = if possible { "not shown" } else { "small" };
        let p = estimate.filter(|_| possible && enough).map(|e| e.p_value);
        if possible && !enough {
            found.says = "not compared";
        }
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

/// p of names that are in as many traces as a side has, corrected for their number: 1 unless these are the traces of one
/// side.
///
/// Whether a name belongs here does not depend on which side a trace is of. If the sides are alike, all ways to choose them
/// among the traces are as likely, so a set of traces is that of one side by chance once in C(traces, side), twice where
/// both are as large. Names in the same traces, such as a program and its threads, are one chance together.
pub(super) fn by_presence<'n>(presence: &[(&'n str, Vec<bool>)], [a, b]: [usize; 2]) -> BTreeMap<&'n str, f64> {
    let members = |is_in: &[bool]| is_in.iter().filter(|is_in| **is_in).count();
    let here: Vec<_> = presence.iter().filter(|(_, is_in)| [a, b].contains(&members(is_in))).collect();
    // With sides as large, the traces without it are as good a side.
    let split = |is_in: &[bool]| -> Vec<bool> { is_in.iter().map(|x| *x != (a == b && is_in[0])).collect() };
    let splits: BTreeSet<Vec<bool>> = here.iter().map(|(_, is_in)| split(is_in)).collect();
    let ways: f64 = (0..a).map(|n| (a + b - n) as f64 / (a - n) as f64).product();
    let by_chance = if a == b { 2.0 } else { 1.0 } / ways;
    let p = |is_in: &[bool]| {
        let is_one_side = is_in.iter().enumerate().all(|(trace, x)| *x == (is_in[0] == (trace < a)));
        if is_one_side { (splits.len() as f64 * by_chance).min(1.0) } else { 1.0 }
    };
    here.iter().map(|(name, is_in)| (*name, p(is_in))).collect()
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
    use schedlab_stats::Random;

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
            let (found, p) = change(RAN, &values, false);
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
        let of = |seconds| change(rate, &Values { seconds, ..of_traces(&[0.0; 6], &[0.3; 6]) }, true);
        assert_eq!((of(3.0).0.says, of(3.0).1), ("small", None), "one in each trace of B");
        assert!(of(100.0).1.is_some());
    }

    #[test]
    fn five_traces_a_side_are_judged_together() {
        let (a, b) = ([1e7, 1.1e7, 0.9e7, 1.05e7, 0.95e7], [3e7, 3.1e7, 2.9e7, 3.05e7, 2.95e7]);
        let (mut found, p) = change(RAN, &of_traces(&a, &b), true);
        let (p, interval) = (p.unwrap(), found.interval.unwrap());
        // Welch by hand: the difference is 2e7, its standard error sqrt(2 · 6.25e11 / 5) = 5e5, and t(8) at 0.975 is 2.306.
        assert!((interval[0] - (2e7 - 2.306e0 * 5e5)).abs() < 1e3 && (interval[1] - (2e7 + 2.306 * 5e5)).abs() < 1e3);
        let mut other = found.clone();
        correct(&mut [(&mut found, p, RAN.2), (&mut other, 0.9, RAN.2)], 1.0);
        assert_eq!((found.says, found.p, other.says), ("moved", Some(2.0 * p), "not shown"));
        // As sure, but of nothing that matters.
        let (mut small, p) = change(RAN, &of_traces(&a, &a.map(|x| x + 5e5)), true);
        correct(&mut [(&mut small, p.unwrap() * 0.0, RAN.2)], 1.0);
        assert_eq!((small.says, small.p), ("not shown", Some(0.0)));
        assert_eq!(change(RAN, &of_traces(&a[..4], &b), true).0.says, "not compared");
        assert_eq!(change(RAN, &of_traces(&[1e5; 5], &[2e5; 5]), true).0.says, "small");
        assert_eq!(change(RAN, &of_traces(&[], &b), true).0.says, "not compared");
    }

    #[test]
    fn a_name_in_all_traces_of_one_side_is_so_once_in_all_ways_to_choose_it() {
        let of = |traces: &str| traces.bytes().map(|trace| trace == b'x').collect::<Vec<bool>>();
        let p = |all: &[(&'static str, &str)], sides| {
            let all: Vec<(&str, Vec<bool>)> = all.iter().map(|(name, traces)| (*name, of(traces))).collect();
            by_presence(&all, sides).into_iter().collect::<Vec<(&str, f64)>>()
        };
        let close = |found: Vec<(&str, f64)>, expected: &[(&str, f64)]| {
            let is = found.iter().zip(expected).all(|(x, y)| x.0 == y.0 && (x.1 - y.1).abs() < 1e-12);
            assert!(is && found.len() == expected.len(), "{found:?} {expected:?}");
        };
        // C(10, 5) is 252, C(11, 5) 462.
        close(p(&[("a", "xxxxx-----")], [5, 5]), &[("a", 2.0 / 252.0)]);
        close(p(&[("a", "xxxxx------")], [5, 6]), &[("a", 1.0 / 462.0)]);
        close(p(&[("b", "-----xxxxxx")], [5, 6]), &[("b", 1.0 / 462.0)]);
        close(p(&[("b", "------xxxxx")], [5, 6]), &[("b", 1.0)]);
        // One set of traces and its mirror are one chance, another set is another; four and six of ten are none.
        let all =
            [("a", "xxxxx-----"), ("b", "-----xxxxx"), ("c", "x-x-x-x-x-"), ("d", "xxxx------"), ("e", "xxxxxx----")];
        close(p(&all, [5, 5]), &[("a", 4.0 / 252.0), ("b", 4.0 / 252.0), ("c", 1.0)]);
    }

    /// Names that come and go, each in a trace or not at random: of all of them together 5 % may be called.
    #[test]
    fn names_that_come_and_go_are_seldom_those_of_one_side() {
        let mut random = Random::new(7);
        let mut called = 0;
        for _ in 0..2000 {
            let mut one = |name| (name, (0..12).map(|_| random.below(2) == 0).collect::<Vec<bool>>());
            let all: Vec<(&str, Vec<bool>)> = ["a", "b", "c", "d", "e", "f", "g", "h"].map(&mut one).into();
            called += usize::from(by_presence(&all, [6, 6]).values().any(|p| *p <= 0.05));
        }
        assert!(called <= 100, "{called} of 2000");
    }
}
