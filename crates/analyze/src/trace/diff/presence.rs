//! In which traces a row is, and what follows from that: of which side it is, and how it is judged.

use super::measure::Measured;
use schedlab_plan::InOrder;
use std::collections::BTreeSet;

/// The least change of a thread's time that is named, ns a second.
pub(super) const LEAST_RAN: f64 = 1e6;

/// The one row of the table of queues.
pub(super) const ALL_CPUS: &str = "all CPUs";

/// The names of a table's rows in a trace.
pub(super) fn names<'m>(about: &str, of: &'m Measured) -> Vec<&'m str> {
    match about {
        // Something that is not a thread, such as an interrupt, also delays others.
        "threads" => of.groups.keys().chain(of.behind_ns.keys()).map(String::as_str).collect(),
        "waits" => of.groups.keys().map(String::as_str).collect(),
        "wakers" => of.pairs.keys().map(String::as_str).collect(),
        "chains" => of.paths.keys().map(String::as_str).collect(),
        _ => vec![ALL_CPUS],
    }
}

/// How a row is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum By {
    /// Each number by its values.
    Values,
    /// All its numbers by the traces that it is in, with this p, corrected for the number of such sets.
    Presence(f64),
    /// Not at all: it is in as many traces as a side has, and no thread is in the same ones.
    Nothing,
}

/// Judges threads that come and go, and what goes with them, by the traces that they are in.
///
/// A name that is in as many traces as a side has may be in those of one side by chance: if the sides are alike, all ways to
/// choose them among the traces are as likely, so this happens for a set of traces once in C(traces, side), twice where both
/// sides are as large. Any test of its values would take the zeros of the other side for certainty. Whether a name is judged
/// so does not depend on which side a trace is of; names in the same traces are one chance together.
pub(super) struct Presence {
    sides: [usize; 2],
    /// The sets of traces that threads are in, each as one half of a split.
    splits: Vec<Vec<bool>>,
    by_chance: f64,
}

impl Presence {
    /// Of the threads that ran enough to be named.
    pub(super) fn of(a: &[Measured], b: &[Measured]) -> Self {
        let all = || a.iter().chain(b);
        let threads: BTreeSet<&str> = all().flat_map(|m| names("waits", m)).collect();
        let ran = |m: &Measured, name: &str| m.groups.get(name).map_or(0.0, |group| m.per_second(group.ran_ns));
        let least = LEAST_RAN * a.len().min(b.len()) as f64;
        let enough = threads.into_iter().filter(|name| all().map(|m| ran(m, name)).sum::<f64>() >= least);
        Self::of_traces(enough.map(|name| is_in("waits", name, a, b)), [a.len(), b.len()])
    }

    /// Of the traces that each thread is in, those of A first.
    fn of_traces(threads: impl Iterator<Item = Vec<bool>>, sides: [usize; 2]) -> Self {
        let [a, b] = sides;
        let ways: f64 = (0..a).map(|n| (a + b - n) as f64 / (a - n) as f64).product();
        let by_chance = if a == b { 2.0 } else { 1.0 } / ways;
        let mut found = Self { sides, splits: Vec::new(), by_chance };
        let here = threads.filter(|is_in| found.comes_and_goes(is_in));
        found.splits = here.map(|is_in| split(&is_in, sides)).collect();
        found.splits.in_order_by(|x, y| x.cmp(y));
        found.splits.dedup();
        found
    }

    fn comes_and_goes(&self, is_in: &[bool]) -> bool {
        self.sides.contains(&is_in.iter().filter(|is_in| **is_in).count())
    }

    pub(super) fn judges(&self, is_in: &[bool]) -> By {
        if !self.comes_and_goes(is_in) {
            return By::Values;
        }
        if !self.splits.contains(&split(is_in, self.sides)) {
            return By::Nothing;
        }
        let is_one_side = is_in.iter().enumerate().all(|(trace, x)| *x == (is_in[0] == (trace < self.sides[0])));
        By::Presence(if is_one_side { (self.splits.len() as f64 * self.by_chance).min(1.0) } else { 1.0 })
    }
}

/// With sides as large, the traces without a name are as good a side as those with it.
fn split(is_in: &[bool], [a, b]: [usize; 2]) -> Vec<bool> {
    is_in.iter().map(|x| *x != (a == b && is_in[0])).collect()
}

/// The traces that a row is of: a name's are those in which it is a thread, if any is.
pub(super) fn is_in(about: &str, name: &str, a: &[Measured], b: &[Measured]) -> Vec<bool> {
    let all = || a.iter().chain(b);
    let about = if about == "threads" && is_thread(name, a, b) { "waits" } else { about };
    let of = |m: &Measured| match about {
        "threads" => m.behind_ns.contains_key(name),
        "waits" => m.groups.contains_key(name),
        "wakers" => m.pairs.contains_key(name),
        "chains" => m.paths.contains_key(name),
        _ => true,
    };
    all().map(of).collect()
}

/// Others may be an interrupt, or a thread that was not asked for.
pub(super) fn is_thread(name: &str, a: &[Measured], b: &[Measured]) -> bool {
    a.iter().chain(b).any(|m| m.groups.contains_key(name))
}

/// The side that alone has it.
pub(super) fn only(about: &str, name: &str, a: &[Measured], b: &[Measured]) -> Option<&'static str> {
    let is_in = is_in(about, name, a, b);
    let [of_a, of_b] = [&is_in[..a.len()], &is_in[a.len()..]].map(|side| side.contains(&true));
    match (of_a, of_b) {
        // Of something that is no thread here, only the waits behind it are known.
        _ if about == "threads" && !is_thread(name, a, b) => None,
        (true, false) => Some("A"),
        (false, true) => Some("B"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(text: &str) -> Vec<bool> {
        text.bytes().map(|trace| trace == b'x').collect()
    }

    #[test]
    fn a_name_in_all_traces_of_one_side_is_so_once_in_all_ways_to_choose_it() {
        let of = |all: &[&str], sides| Presence::of_traces(all.iter().map(|text| traces(text)), sides);
        let p = |all: &[&str], sides, name: &str| match of(all, sides).judges(&traces(name)) {
            By::Presence(p) => p,
            other => panic!("{other:?}"),
        };
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        // C(10, 5) is 252, C(11, 5) 462.
        close(p(&["xxxxx-----"], [5, 5], "xxxxx-----"), 2.0 / 252.0);
        close(p(&["xxxxx------"], [5, 6], "xxxxx------"), 1.0 / 462.0);
        close(p(&["-----xxxxxx"], [5, 6], "-----xxxxxx"), 1.0 / 462.0);
        close(p(&["------xxxxx"], [5, 6], "------xxxxx"), 1.0);
        // One set of traces and its mirror are one chance, another set is another; four and six of ten are none.
        let all = ["xxxxx-----", "-----xxxxx", "x-x-x-x-x-", "xxxx------", "xxxxxx----"];
        close(p(&all, [5, 5], "xxxxx-----"), 4.0 / 252.0);
        close(p(&all, [5, 5], "-x-x-x-x-x"), 1.0);
        assert_eq!(of(&all, [5, 5]).judges(&traces("xxxx------")), By::Values);
        assert_eq!(of(&all, [5, 5]).judges(&traces("xxx--xx---")), By::Nothing);
    }
}
