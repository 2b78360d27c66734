//! Divides the time of a trace into slices of equal length that fit on a line. The length of the trace is known only at
//! its end, so the slices are short at first, and neighbours are joined whenever there are too many.

/// The shortest slice, ns: trace clocks are not much finer than this.
const SHORTEST_NS: u64 = 1 << 7;

/// While the trace is read, there are up to this many times as many slices as in the result.
const FINER: usize = 8;

/// Start and length of the slices.
#[derive(Debug)]
pub(super) struct Slicing {
    /// Start of the first slice, once it is known.
    pub(super) start: Option<u64>,
    pub(super) slice_ns: u64,
    /// Most slices of the result.
    most: u64,
}

impl Slicing {
    pub(super) fn new(most: usize) -> Self {
        Self { start: None, slice_ns: SHORTEST_NS, most: most.max(1) as u64 }
    }

    /// Makes room up to `end`; returns how many slices have to be joined into one.
    #[must_use]
    pub(super) fn fit(&mut self, end: u64) -> usize {
        let (before, length) = (self.slice_ns, end.saturating_sub(self.start.unwrap_or(end)));
        while length > self.slice_ns.saturating_mul(self.most * FINER as u64) {
            self.slice_ns *= 2;
        }
        (self.slice_ns / before) as usize
    }

    /// The same for the result, which has the requested number of slices or a few less.
    #[must_use]
    pub(super) fn fit_line(&mut self, end: u64) -> usize {
        let join = (self.number(end) as u64).div_ceil(self.most).max(1);
        self.slice_ns *= join;
        join as usize
    }

    /// Number of slices up to `end`.
    pub(super) fn number(&self, end: u64) -> usize {
        end.saturating_sub(self.start.unwrap_or(0)).div_ceil(self.slice_ns) as usize
    }

    /// Divides an interval among the slices: calls `each` with the number of a slice and the time in it.
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
