//! Order of arms within a block: a random permutation and its mirror image, drawn from a recorded seed.
//!
//! With two arms this is ABBA or BAAB by a fair coin. The mirror cancels any linear drift within the block; the coin
//! keeps an arm from always meeting the same neighbour. A block's order depends only on (seed, workload, block), so a
//! resumed run draws what the interrupted one would have drawn.

use schedlab_plan::splitmix;

/// A small generator (SplitMix64) for coins: reproducible, not for statistics.
#[derive(Debug, Clone)]
pub struct Coins(u64);

impl Coins {
    /// A stream of its own for each (seed, label…).
    pub fn new(seed: u64, labels: &[u64]) -> Self {
        let mut coins = Self(seed);
        for &label in labels {
            coins.0 = coins.next() ^ label.wrapping_mul(splitmix::STEP);
        }
        coins
    }

    /// The next 64 random bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(splitmix::STEP);
        splitmix::mixed(self.0)
    }

    /// Uniform in `0..n`; the bias of the modulus is below 2^-50 for the few arms of a plan.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// A fair coin.
    pub fn flip(&mut self) -> bool {
        self.next() >> 63 == 1
    }
}

/// The arms of one block in running order: a permutation, then its mirror.
pub fn block_order(seed: u64, workload: u32, block: u32, arms: &[u32]) -> Vec<u32> {
    let mut coins = Coins::new(seed, &[u64::from(workload), u64::from(block)]);
    let mut order = arms.to_vec();
    for last in (1..order.len()).rev() {
        order.swap(last, coins.below(last + 1));
    }
    order.extend(order.clone().into_iter().rev());
    order
}

/// One coin per pair of switchback windows: `true` is B first.
pub fn switchback_coins(seed: u64, workload: u32, trial: u32, pairs: usize) -> Vec<bool> {
    let mut coins = Coins::new(seed, &[u64::from(workload), u64::from(trial), 0x5B]);
    (0..pairs).map(|_| coins.flip()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_a_permutation_and_its_mirror() {
        for block in 0..50 {
            let order = block_order(7, 0, block, &[0, 1, 2, 3, 4]);
            let (first, second) = order.split_at(5);
            let mut sorted = first.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
            assert!(first.iter().eq(second.iter().rev()));
        }
    }

    #[test]
    fn the_coin_is_fair_and_recorded() {
        let heads = (0..2000).filter(|&b| block_order(1, 0, b, &[0, 1])[0] == 0).count();
        assert!((900..1100).contains(&heads), "{heads} of 2000");
        assert_eq!(block_order(1, 0, 3, &[0, 1]), block_order(1, 0, 3, &[0, 1]));
        assert_ne!(
            (0..64).map(|b| block_order(1, 0, b, &[0, 1])[0]).collect::<Vec<_>>(),
            (0..64).map(|b| block_order(2, 0, b, &[0, 1])[0]).collect::<Vec<_>>()
        );
    }
}
