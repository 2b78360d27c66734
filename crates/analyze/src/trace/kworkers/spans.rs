//! Consecutive intervals of one thread, and how much of a given interval they cover.

use std::collections::VecDeque;

/// The latest intervals of a series; they are in order and do not overlap.
#[derive(Debug, Clone, Default)]
pub(super) struct Spans {
    kept: VecDeque<Span>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: u64,
    end: u64,
    /// Total length of the intervals before it, including dropped ones, ns.
    before_ns: u64,
}

impl Span {
    fn up_to(&self, ts: u64) -> u64 {
        self.before_ns + ts.clamp(self.start, self.end) - self.start
    }
}

impl Spans {
    /// Adds the next interval, and keeps no more than `most`.
    pub(super) fn push(&mut self, start: u64, end: u64, most: usize) {
        let (last_end, before_ns) = self.kept.back().map_or((0, 0), |last| (last.end, last.up_to(last.end)));
        let start = start.max(last_end);
        if self.kept.len() >= most {
            self.kept.pop_front();
        }
        self.kept.push_back(Span { start, end: end.max(start), before_ns });
    }

    /// Drops the intervals that began at `ts` or later.
    pub(super) fn cut(&mut self, ts: u64) {
        while self.kept.back().is_some_and(|last| last.start >= ts) {
            self.kept.pop_back();
        }
    }

    /// How much of the time between `from` and `to` the kept intervals cover.
    pub(super) fn within(&self, from: u64, to: u64) -> u64 {
        self.up_to(to).saturating_sub(self.up_to(from))
    }

    fn up_to(&self, ts: u64) -> u64 {
        let at = self.kept.partition_point(|span| span.start < ts);
        let oldest = || self.kept.front().map_or(0, |first| first.before_ns);
        at.checked_sub(1).and_then(|at| self.kept.get(at)).map_or_else(oldest, |span| span.up_to(ts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_stretch_is_measured_however_many_lie_in_it() {
        let mut spans = Spans::default();
        (0..100).for_each(|n| spans.push(10 * n, 10 * n + 4, 1000));
        let cases = [(0, 1000, 400), (2, 12, 4), (4, 10, 0), (993, 2000, 1), (50, 50, 0)];
        for (from, to, ns) in cases {
            assert_eq!(spans.within(from, to), ns, "{from} {to}");
        }
        spans.cut(500);
        assert_eq!((spans.within(0, 1000), spans.within(490, 2000)), (200, 4));
    }

    #[test]
    fn what_is_no_longer_kept_fills_nothing() {
        let mut spans = Spans::default();
        (0..100).for_each(|n| spans.push(10 * n, 10 * n + 4, 8));
        assert_eq!((spans.within(0, 1000), spans.within(980, 1000), Spans::default().within(0, 9)), (32, 8, 0));
    }
}
