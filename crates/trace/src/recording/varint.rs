//! Numbers in as few bytes as they need: seven bits per byte, the lowest first, with the top bit set if more follow
//! (LEB128). A signed number is folded first, so that small ones of either sign stay small.

/// Appends a number.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front; `None` if the bytes end inside it, or it has more than 64 bits.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

/// 0, −1, 1, −2 … become 0, 1, 2, 3 …
#[inline]
pub(super) fn fold(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The other way.
#[inline]
pub(super) fn unfold(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        let edges = (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, u64::MAX >> bit]);
        for value in edges {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            let mut rest = bytes.as_slice();
            assert_eq!((take(&mut rest), rest), (Some(value), &[][..]));
            assert_eq!(fold(unfold(value)), value);
            for end in 0..bytes.len() {
                assert_eq!(take(&mut &bytes[..end]), None, "{value} cut to {end} bytes");
            }
        }
        assert_eq!([0, -1, 1, -2, i64::MIN].map(fold), [0, 1, 2, 3, u64::MAX]);
    }

    #[test]
    fn what_has_more_than_64_bits_is_no_number() {
        assert_eq!(take(&mut &[0xff; 20][..]), None);
        assert_eq!(take(&mut &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02][..]), None);
    }
}
