//! The time of a trace in slices of equal length that fit a line, though how long it is shows at its end only: short slices
//! at first, of which neighbours become one whenever there are too many.

/// The shortest slice, ns: times in a trace are no finer than this by much.
const SHORTEST_NS: u64 = 1 << 7;

/// Slices while the trace is read, for each of the result.
const FINER: usize = 8;

/// Where slices begin and how long they are.
#[derive(Debug)]
pub(super) struct Slicing {
    /// Start of the first slice, once it is known.
    pub(super) start: Option<u64>,
    pub(super) slice_ns: u64,
    /// Slices of the result, at most.
    most: u64,
}

impl Slicing {
    pub(super) fn new(most: usize) -> Self {
        Self { start: None, slice_ns: SHORTEST_NS, most: most.max(1) as u64 }
    }

    /// Makes room up to `end`: this many slices become one.
    #[must_use]
    pub(super) fn fit(&mut self, end: u64) -> usize {
        let (before, length) = (self.slice_ns, end.saturating_sub(self.start.unwrap_or(end)));
        while length > self.slice_ns.saturating_mul(self.most * FINER as u64) {
            self.slice_ns *= 2;
        }
        (self.slice_ns / before) as usize
    }

    /// For the result: so many slices become one, and there are as many as were asked for or a few less.
    #[must_use]
    pub(super) fn fit_line(&mut self, end: u64) -> usize {
        let join = (self.number(end) as u64).div_ceil(self.most).max(1);
        self.slice_ns *= join;
        join as usize
    }

    /// Slices up to `end`.
    pub(super) fn number(&self, end: u64) -> usize {
        end.saturating_sub(self.start.unwrap_or(0)).div_ceil(self.slice_ns) as usize
    }

    /// Hands out the parts of a time by slice: its number, and how much of the time is in it.
    #[inline]
    pub(super) fn divide(&self, from: u64, end: u64, mut each: impl FnMut(usize, u64)) {
        let Some(start) = self.start else { return };
        let mut from = from.max(start);
        while from < end {
            let at = (from - start) / self.slice_ns;
            let to = end.min((at + 1).saturating_mul(self.slice_ns).saturating_add(start));
            each(at as usize, to - from);
            from = to;
        }
    }
}
