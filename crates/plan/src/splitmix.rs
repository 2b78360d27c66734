//! SplitMix64 (Steele, Lea & Flood 2014): the source of seeds, coins and orders. Recorded seeds give the same numbers
//! in every later version.

/// Difference between one state and the next.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The 64 bits of a state.
pub fn mixed(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
