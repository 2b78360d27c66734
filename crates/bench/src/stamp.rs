//! Decides which operations get a time stamp. Each level is a type, so that the timed loops are compiled once per level
//! and contain no branch on an option: at `off` no clock call is left in the machine code.

use schedlab_plan::Stamping;

/// Decides, operation by operation.
pub(crate) trait Stamp: Copy + Send + 'static {
    /// Whether any operation is ever stamped.
    const ANY: bool;
    /// Whether the operation that begins now is stamped.
    fn due(&mut self) -> bool;
}

/// Stamps nothing: there is no clock in the loop.
#[derive(Clone, Copy)]
pub(crate) struct Off;

impl Stamp for Off {
    const ANY: bool = false;
    #[inline(always)]
    fn due(&mut self) -> bool {
        false
    }
}

/// Each operation.
#[derive(Clone, Copy)]
pub(crate) struct All;

impl Stamp for All {
    const ANY: bool = true;
    #[inline(always)]
    fn due(&mut self) -> bool {
        true
    }
}

/// Every k-th operation.
#[derive(Clone, Copy)]
pub(crate) struct Sampled {
    left: u64,
    every: u64,
}

impl Sampled {
    /// The first stamp falls on operation `1 + phase % every`.
    pub(crate) fn new(every: u64, phase: u64) -> Self {
        Self { left: phase % every.max(1), every: every.max(1) }
    }
}

impl Stamp for Sampled {
    const ANY: bool = true;
    #[inline(always)]
    fn due(&mut self) -> bool {
        if self.left == 0 {
            self.left = self.every - 1;
            return true;
        }
        self.left -= 1;
        false
    }
}

/// Share of an operation's time that its stamps may cost on average at `sampled`, based on their cost in a tight loop.
/// A rare stamp finds its cache lines cold and costs up to twice as much: with 1 % here, messaging became 1.7 to 2.1 %
/// slower (`cargo xtask bench overhead`).
const COST_SHARE: f64 = 0.003;

/// How many operations there are to one stamp: `cost_ns / k ≤ 0.3 %` of `operation_ns`, with k coprime to `receivers`,
/// so that rounds over the receivers do not always stamp the same ones.
pub(crate) fn every(level: Stamping, cost_ns: f64, operation_ns: f64, receivers: u64) -> u64 {
    match level {
        Stamping::Off => 0,
        Stamping::All => 1,
        Stamping::Sampled => {
            let least = (cost_ns / (COST_SHARE * operation_ns.max(1.0))).ceil().clamp(2.0, 1e6) as u64;
            (least..).find(|&k| gcd(k, receivers.max(1)) == 1).unwrap_or(least)
        }
    }
}

/// The same where an operation may be so long that stamping each one costs less than that share: then each is stamped.
pub(crate) fn every_or_each(level: Stamping, cost_ns: f64, operation_ns: f64) -> u64 {
    match level {
        Stamping::Sampled if cost_ns <= COST_SHARE * operation_ns => 1,
        level => every(level, cost_ns, operation_ns, 1),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_keeps_the_cost_below_its_share_and_visits_every_receiver() {
        for (cost, operation, receivers) in [(80.0, 750.0, 20), (80.0, 2700.0, 50), (5.0, 1e6, 7), (200.0, 300.0, 1)] {
            let k = every(Stamping::Sampled, cost, operation, receivers);
            assert!(cost / k as f64 <= COST_SHARE * operation && k >= 2);
            assert_eq!(gcd(k, receivers), 1);
        }
        assert_eq!((every(Stamping::All, 80.0, 1.0, 20), every(Stamping::Off, 80.0, 1.0, 20)), (1, 0));
    }

    #[test]
    fn long_operations_are_stamped_each() {
        assert_eq!(every_or_each(Stamping::Sampled, 200.0, 100_000.0), 1);
        assert_eq!(every_or_each(Stamping::Sampled, 200.0, 2_000.0), 34);
        assert_eq!(every_or_each(Stamping::Off, 200.0, 100_000.0), 0);
    }

    #[test]
    fn every_kth_operation_is_due() {
        let mut stamp = Sampled::new(3, 1);
        let due: Vec<bool> = (0..7).map(|_| stamp.due()).collect();
        assert_eq!(due, [false, true, false, false, true, false, false]);
    }
}
