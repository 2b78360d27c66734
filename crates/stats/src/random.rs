//! A small seeded generator (xoshiro256++ of Blackman & Vigna 2021, state filled by splitmix64) for resampling and
//! simulation. Kept in-house so that a recorded seed gives the same draws in every later version.

/// Deterministic stream of pseudo-random numbers; not for secrets.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of this seed; any seed will do, zero included.
    pub fn new(seed: u64) -> Self {
        let mut s = seed;
        let mut splitmix = || {
            s = s.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (s ^ (s >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Self { state: [splitmix(), splitmix(), splitmix(), splitmix()] }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let t = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= t;
        *s3 = s3.rotate_left(45);
        result
    }

    /// An index in `0..n` (0 when `n` is 0). The multiply-shift bias is below n/2⁶⁴.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Puts them into an order drawn evenly (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// A number in the open interval (0, 1): never 0, so its logarithm is finite.
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// A standard normal draw (Box–Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_seed() {
        let draw = |seed| Random::new(seed).next_u64();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn moments_are_right() {
        let mut random = Random::new(7);
        let n = 100_000;
        let (mut sum, mut squares, mut uniform) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            let z = random.normal();
            sum += z;
            squares += z * z;
            uniform += random.uniform();
        }
        assert!((sum / n as f64).abs() < 0.015);
        assert!((squares / n as f64 - 1.0).abs() < 0.02);
        assert!((uniform / n as f64 - 0.5).abs() < 0.005);
    }
}
