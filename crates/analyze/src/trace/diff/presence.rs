//! The rows of each table, which of them only one side has, and which threads ran most.

use super::measure::TraceMetrics;
use schedlab_plan::{InOrder, OneByOne};
use std::collections::{BTreeMap, BTreeSet};

/// Number of names that are judged as a set of their own, separate from the many that hardly ran.
const RAN_MOST: usize = 10;

/// The one row of the table of queues.
const ALL_CPUS: &str = "all CPUs";

/// The names of a table's rows in a trace.
pub(super) fn names<'m>(about: &str, of: &'m TraceMetrics) -> Vec<&'m str> {
    match about {
        // Other things than threads, such as interrupts, also delay threads.
        "threads" => of.groups.keys().chain(of.behind_ns.keys()).map(String::as_str).collect(),
        "waits" => of.groups.keys().map(String::as_str).collect(),
        "wakers" => of.pairs.keys().map(String::as_str).collect(),
        "chains" => of.paths.keys().map(String::as_str).collect(),
        _ => vec![ALL_CPUS],
    }
}

/// Whether the name is that of a thread. Others may be an interrupt, or a thread that the filter excludes.
pub(super) fn is_thread(name: &str, a: &[TraceMetrics], b: &[TraceMetrics]) -> bool {
    a.iter().chain(b).any(|m| m.groups.contains_key(name))
}

/// The side, if only one side has it.
pub(super) fn only(about: &str, name: &str, a: &[TraceMetrics], b: &[TraceMetrics]) -> Option<&'static str> {
    let is_in = |m: &TraceMetrics| match about {
        "threads" | "waits" => m.groups.contains_key(name),
        "wakers" => m.pairs.contains_key(name),
        "chains" => m.paths.contains_key(name),
        _ => true,
    };
    let [of_a, of_b] = [a, b].map(|side| side.iter().any(is_in));
    match (of_a, of_b) {
        // For something that is not a thread, only the waits behind it are known.
        _ if about == "threads" && !is_thread(name, a, b) => None,
        (true, false) => Some("A"),
        (false, true) => Some("B"),
        _ => None,
    }
}

/// The names of the threads that ran most in all traces together, so that the result does not depend on which side a
/// trace belongs to.
pub(super) fn ran_most<'m>(a: &'m [TraceMetrics], b: &'m [TraceMetrics]) -> BTreeSet<&'m str> {
    let mut ran: BTreeMap<&str, f64> = BTreeMap::new();
    for m in a.iter().chain(b) {
        m.groups.iter().for_each(|(name, group)| *ran.entry(name).or_default() += m.per_second(group.ran_ns));
    }
    let mut ran: Vec<(&str, f64)> = ran.into_iter().one_by_one();
    ran.in_order_by(|(x, of_x), (y, of_y)| of_y.total_cmp(of_x).then_with(|| x.cmp(y)));
    ran.into_iter().take(RAN_MOST).map(|(name, _)| name).collect()
}
