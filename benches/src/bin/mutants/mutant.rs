//! The mutations of a trace.

use schedlab_stats::Random;
use std::ops::Range;

/// Most bytes that are zeroed or swapped.
const MOST: usize = 4096;

/// A change of a file, by byte offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mutant {
    Flip {
        at: usize,
        bit: u32,
    },
    Cut {
        at: usize,
    },
    Zero(Range<usize>),
    /// The same number of bytes at both places.
    Swap {
        first: usize,
        second: usize,
        bytes: usize,
    },
}

impl Mutant {
    /// Each kind in turn, at a random place. `length` is that of the file, more than one byte.
    pub(crate) fn draw(number: usize, length: usize, random: &mut Random) -> Self {
        let at = random.below(length);
        let bytes = 1 + random.below(MOST.min(length - at).min(length / 2));
        match number % 4 {
            0 => Self::Flip { at, bit: random.below(8) as u32 },
            1 => Self::Cut { at },
            2 => Self::Zero(at..at + bytes),
            _ => Self::Swap { first: at.min(length - bytes), second: random.below(length - bytes + 1), bytes },
        }
    }

    pub(crate) fn of(&self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        match self.clone() {
            Self::Flip { at, bit } => bytes[at] ^= 1 << bit,
            Self::Cut { at } => bytes.truncate(at),
            Self::Zero(range) => bytes[range].fill(0),
            Self::Swap { first, second, bytes: length } => {
                bytes[first..first + length].copy_from_slice(&whole[second..second + length]);
                bytes[second..second + length].copy_from_slice(&whole[first..first + length]);
            }
        }
        bytes
    }

    /// Whether it changes any of these bytes.
    pub(crate) fn touches(&self, data: &Range<usize>) -> bool {
        let overlaps = |from: usize, to: usize| from < data.end && to > data.start;
        match self {
            Self::Flip { at, .. } => overlaps(*at, at + 1),
            Self::Cut { at } => overlaps(*at, usize::MAX),
            Self::Zero(range) => overlaps(range.start, range.end),
            Self::Swap { first, second, bytes } => overlaps(*first, first + bytes) || overlaps(*second, second + bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_drawn_within_the_file() {
        let (whole, mut random) = ((0..100).collect::<Vec<u8>>(), Random::new(1));
        for number in 0..400 {
            let mutant = Mutant::draw(number, whole.len(), &mut random);
            let bytes = mutant.of(&whole);
            assert_eq!(bytes.len() < whole.len(), matches!(mutant, Mutant::Cut { .. }), "{mutant:?}");
            assert!(mutant.touches(&(0..100)) && !mutant.touches(&(100..200)) || matches!(mutant, Mutant::Cut { .. }));
        }
        let swapped = Mutant::Swap { first: 0, second: 98, bytes: 2 }.of(&whole);
        assert_eq!((&swapped[..2], &swapped[98..]), (&[98, 99][..], &[0, 1][..]));
    }
}
