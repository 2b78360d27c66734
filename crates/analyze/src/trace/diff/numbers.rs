//! The numbers in the rows of each table.

use super::judge::{Least, MIN_TIMES};
use super::measure::{Times, TraceMetrics};
use super::threads::Stretch;
use schedlab_plan::histogram::Histogram;
use schedlab_stats::enough_tail;

/// A mean needs this many waits in a trace, and `MIN_OF_STRETCH` in a stretch.
pub(super) const MIN_WAITS: u64 = MIN_TIMES as u64;
const MIN_OF_STRETCH: u64 = 5;

/// A number of a row.
pub(super) struct Number {
    pub(super) of: &'static str,
    pub(super) unit: &'static str,
    pub(super) least: Least,
    pub(super) value: fn(&TraceMetrics, &str) -> Option<f64>,
    /// The value in a stretch of this many seconds.
    pub(super) stretch: Option<fn(&Stretch, f64) -> Option<f64>>,
}

const TIME: Least = Least::Of(1e6);
const HUNDREDTH: Least = Least::Of(0.01);
const TWENTIETH: Least = Least::Share(0.05);

pub(super) const TABLES: [(&str, &[Number]); 5] = [
    (
        "threads",
        &[
            Number {
                of: "ran",
                unit: "ns/s",
                least: TIME,
                value: |m, name| Some(m.per_second(m.groups.get(name).map_or(0, |group| group.ran_ns))),
                stretch: Some(|s, seconds| Some(s.ran_ns as f64 / seconds)),
            },
            Number {
                of: "behind",
                unit: "ns/s",
                least: TIME,
                value: |m, name| Some(m.per_second(m.behind_ns.get(name).copied().unwrap_or(0))),
                stretch: None,
            },
        ],
    ),
    (
        "waits",
        &[
            Number {
                of: "waited",
                unit: "ns/s",
                least: TIME,
                value: |m, name| {
                    let waited = m.groups.get(name).map_or(0, |group| group.wakeup.sum_ns + group.preempt_ns);
                    Some(m.per_second(waited))
                },
                stretch: Some(|s, seconds| Some(s.waited_ns as f64 / seconds)),
            },
            Number {
                of: "wakeup_mean",
                unit: "ns",
                least: TWENTIETH,
                value: |m, name| wakeups(m, name).filter(|h| h.count() >= MIN_WAITS)?.mean_ns(),
                stretch: Some(|s, _| (s.wakeups >= MIN_OF_STRETCH).then(|| s.wakeup_ns as f64 / s.wakeups as f64)),
            },
            Number {
                of: "wakeup_p99",
                unit: "ns",
                least: TWENTIETH,
                value: |m, name| wakeups(m, name).filter(|h| enough_tail(h.count(), 0.99))?.quantile_ns(0.99),
                stretch: None,
            },
            Number {
                of: "wakeups",
                unit: "1/s",
                least: TWENTIETH,
                value: |m, name| Some(m.per_second(wakeups(m, name).map_or(0, Histogram::count))),
                stretch: Some(|s, seconds| Some(s.wakeups as f64 / seconds)),
            },
        ],
    ),
    (
        "wakers",
        &[
            Number {
                of: "waited",
                unit: "ns/s",
                least: TIME,
                value: |m, name| Some(m.per_second(m.pairs.get(name).map_or(0, |times| times.ns))),
                stretch: None,
            },
            Number {
                of: "wakeups",
                unit: "1/s",
                least: TWENTIETH,
                value: |m, name| Some(m.per_second(m.pairs.get(name).map_or(0, |times| times.number))),
                stretch: None,
            },
            Number {
                of: "mean_wait",
                unit: "ns",
                least: TWENTIETH,
                value: |m, name| mean(m.pairs.get(name)),
                stretch: None,
            },
        ],
    ),
    (
        "chains",
        &[
            Number {
                of: "delay",
                unit: "ns/s",
                least: TIME,
                value: |m, name| Some(m.per_second(m.paths.get(name).map_or(0, |times| times.ns))),
                stretch: None,
            },
            Number {
                of: "chains",
                unit: "1/s",
                least: TWENTIETH,
                value: |m, name| Some(m.per_second(m.paths.get(name).map_or(0, |times| times.number))),
                stretch: None,
            },
            Number {
                of: "mean_delay",
                unit: "ns",
                least: TWENTIETH,
                value: |m, name| mean(m.paths.get(name)),
                stretch: None,
            },
        ],
    ),
    (
        "queues",
        &[
            Number { of: "length", unit: "threads", least: HUNDREDTH, value: |m, _| m.lengths.mean, stretch: None },
            Number {
                of: "crowded",
                unit: "share",
                least: HUNDREDTH,
                value: |m, _| Some(m.lengths.crowded),
                stretch: None,
            },
            Number {
                of: "not_conserved",
                unit: "share",
                least: HUNDREDTH,
                value: |m, _| Some(m.lengths.not_conserved),
                stretch: None,
            },
        ],
    ),
];

pub(super) fn wakeups<'m>(of: &'m TraceMetrics, name: &str) -> Option<&'m Histogram> {
    of.groups.get(name).map(|group| &group.wakeup)
}

fn mean(times: Option<&Times>) -> Option<f64> {
    times.filter(|times| times.number >= MIN_WAITS).map(|times| times.ns as f64 / times.number as f64)
}
