//! A hash for small dense numbers that we assign ourselves, so an attacker cannot choose colliding ones.

use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are such numbers.
pub(super) type QuickMap<V> = std::collections::HashMap<u64, V, BuildHasherDefault<Quick>>;

/// One multiplication by the golden ratio, folded so that the low bits, which choose the place, depend on all.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    #[inline]
    fn write_u64(&mut self, key: u64) {
        let mixed = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// Two numbers as one key.
#[inline]
pub(super) fn pair(a: u32, b: u32) -> u64 {
    u64::from(a) << 32 | u64::from(b)
}
