//! A CPU's queue, and how long it had each length.

use crate::trace::slices::Slicing;

/// Largest length that is counted separately; longer ones count as this one in the distribution.
const MAX_LENGTH: usize = 1 << 12;

/// A CPU with its queue.
#[derive(Debug, Default)]
pub(super) struct QueueLengths {
    /// Whether a switch was seen on this CPU.
    pub(super) seen: bool,
    /// Whether the CPU is requested.
    pub(super) request: bool,
    /// Whether its state is known: from its first switch until events are missing.
    pub(super) known: bool,
    /// Whether a gap is open: a switch in it may have happened at another time than it says.
    pub(super) gap: bool,
    pub(super) running: bool,
    pub(super) waiting: u64,
    /// Number of waiting threads that may use another CPU.
    pub(super) movable: u64,
    /// Sum over the waiting threads of `known_ns` when they joined (modulo 2⁶⁴, as is everything computed from it).
    pub(super) came_ns: u64,
    /// Incremented whenever the waiting threads are no longer known: threads that joined earlier no longer count.
    pub(super) epoch: u32,
    pub(super) since: u64,
    /// Time at each length, ns.
    pub(super) at_ns: Vec<u64>,
    pub(super) known_ns: u64,
    pub(super) running_ns: u64,
    pub(super) waiting_ns: u64,
    /// The greatest length, and when it was first reached.
    pub(super) longest: Option<(u64, u64)>,
    /// For each slice: the known time, and the lengths in it, ns.
    pub(super) slices: Vec<(u64, u64)>,
}

impl QueueLengths {
    fn length(&self) -> u64 {
        u64::from(self.running) + self.waiting
    }

    pub(super) fn is_idle(&self) -> bool {
        self.known && self.length() == 0
    }

    /// Whether a thread waits that could run elsewhere.
    pub(super) fn is_crowded(&self) -> bool {
        self.known && self.request && self.movable > 0 && self.length() > 1
    }

    /// Total time counted for the threads that wait now, ns.
    pub(super) fn counted_ns(&self) -> u64 {
        self.waiting.wrapping_mul(self.known_ns).wrapping_sub(self.came_ns)
    }

    /// Counts the time between two times at the present length.
    pub(super) fn pass(&mut self, (from, to): (u64, u64), slicing: &Slicing) {
        let (ns, length) = (to - from, self.length());
        let at = (length as usize).min(MAX_LENGTH);
        if at >= self.at_ns.len() {
            self.at_ns.resize(at + 1, 0);
        }
        self.at_ns[at] += ns;
        self.known_ns += ns;
        self.running_ns += if self.running { ns } else { 0 };
        self.waiting_ns = self.waiting_ns.saturating_add(self.waiting.saturating_mul(ns));
        if self.longest.is_none_or(|(longest, _)| length > longest) {
            self.longest = Some((length, from));
        }
        slicing.divide(from, to, |at, ns| {
            if at >= self.slices.len() {
                self.slices.resize(at + 1, (0, 0));
            }
            let (known, lengths) = &mut self.slices[at];
            (*known, *lengths) = (*known + ns, lengths.saturating_add(length.saturating_mul(ns)));
        });
    }

    pub(super) fn join(&mut self, number: usize) {
        let sum = |slices: &[(u64, u64)]| {
            slices.iter().fold((0, 0), |sum, slice| (sum.0 + slice.0, slice.1.saturating_add(sum.1)))
        };
        self.slices = self.slices.chunks(number).map(sum).collect();
    }
}
