//! A planted slowdown: a calibrated spin in every operation, the known effect that power experiments must find. It is
//! counted in turns of a dependent multiplication, not by the clock, because a few nanoseconds are less than a clock
//! read. The number of turns lies in a shared cell, so that a switchback controller can change it while tasks run.

use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::shared_memory::{SharedWords, WORDS_PER_TASK_LINE};
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The shared cell that holds the planted spin.
#[derive(Debug, Clone)]
pub struct PlantCell {
    shared: Arc<SharedWords>,
    turns_per_ns: f64,
}

impl PlantCell {
    /// Maps the cell and measures how fast a turn is here.
    pub(crate) fn new(spin_ns: u64) -> io::Result<Self> {
        let cell = Self { shared: Arc::new(SharedWords::new(WORDS_PER_TASK_LINE)?), turns_per_ns: turns_per_ns() };
        cell.set_ns(spin_ns as f64);
        Ok(cell)
    }

    /// Sets the spin of every operation that begins from now on, ns (fractions count).
    pub fn set_ns(&self, spin_ns: f64) {
        self.shared.words()[0].store((spin_ns.max(0.0) * self.turns_per_ns).round() as u64, Relaxed);
    }

    /// The spin in force, ns.
    pub fn ns(&self) -> f64 {
        self.shared.words()[0].load(Relaxed) as f64 / self.turns_per_ns
    }
}

/// Compiled in or not: see [`crate::stamp`].
pub(crate) trait Plant: Clone + Send + 'static {
    fn spin(&self);
}

/// Nothing planted.
#[derive(Clone, Copy)]
pub(crate) struct NoPlant;

impl Plant for NoPlant {
    #[inline(always)]
    fn spin(&self) {}
}

impl Plant for PlantCell {
    #[inline(always)]
    fn spin(&self) {
        turn(self.shared.words()[0].load(Relaxed));
    }
}

/// `turns` steps of a chain no compiler can shorten and no out-of-order core can overlap.
#[inline(always)]
fn turn(turns: u64) {
    let mut x = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..turns {
        x = black_box(x.wrapping_mul(0x5851_f42d_4c95_7f2d));
    }
    black_box(x);
}

/// The fastest of some short runs: interference only adds.
fn turns_per_ns() -> f64 {
    const TURNS: u64 = 20_000;
    let fastest = (0..9).map(|_| {
        let t0 = monotonic_ns();
        turn(TURNS);
        monotonic_ns() - t0
    });
    TURNS as f64 / fastest.min().unwrap_or(1).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spin_takes_about_its_time_and_none_takes_nothing() {
        let cell = PlantCell::new(20_000).unwrap();
        let spin = || {
            let t0 = monotonic_ns();
            cell.spin();
            monotonic_ns() - t0
        };
        let fastest = (0..50).map(|_| spin()).min().unwrap();
        // Wide: the calibration and the spin may meet different clock speeds on a shared machine.
        assert!((10_000..60_000).contains(&fastest), "{fastest} ns for a spin of 20000 ns");
        cell.set_ns(0.0);
        assert!((0..50).map(|_| spin()).min().unwrap() < 2_000);
        assert_eq!(cell.ns(), 0.0);
    }
}
