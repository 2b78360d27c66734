//! Unpacks what recorders compressed, in memory that the caller limits.

use ruzstd::decoding::StreamingDecoder;
use std::io::Read;

/// How a part of a trace is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// One zstd frame (RFC 8878).
    Zstd,
    /// One zlib stream (RFC 1950).
    Zlib,
}

impl Packing {
    /// The complete content of `packed`; it is an error if that is more than `at_most` bytes, or damaged.
    pub(crate) fn unpack(self, packed: &[u8], at_most: u64) -> Result<Vec<u8>, String> {
        match self {
            Self::Zstd => {
                let stream = StreamingDecoder::new(packed).map_err(|error| format!("no zstd frame: {error}"))?;
                read_all(stream, "zstd", at_most)
            }
            Self::Zlib => read_all(flate2::read::ZlibDecoder::new(packed), "zlib", at_most),
        }
    }

    /// Like [`unpack`](Self::unpack), if the file contains the unpacked size.
    pub(crate) fn unpack_exactly(self, packed: &[u8], size: u64) -> Result<Vec<u8>, String> {
        let out = self.unpack(packed, size)?;
        let found = out.len() as u64;
        if found == size { Ok(out) } else { Err(format!("{found} bytes come out instead of {size}")) }
    }
}

fn read_all(stream: impl Read, name: &str, at_most: u64) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    stream
        .take(at_most.saturating_add(1))
        .read_to_end(&mut out)
        .map_err(|error| format!("damaged {name} data: {error}"))?;
    if out.len() as u64 > at_most { Err(format!("more than {at_most} bytes come out of {name}")) } else { Ok(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `python3 -c 'import zlib; print(zlib.compress(b"a"*40).hex())'`
    const ZLIB: [u8; 12] = [0x78, 0x9c, 0x4b, 0x4c, 0x24, 0x0e, 0x00, 0x00, 0x36, 0xeb, 0x0f, 0x29];

    /// A frame with one run-length block: 40 times `a`.
    const ZSTD: [u8; 10] = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00, 0x43, 0x01, 0x00, b'a'];

    #[test]
    fn whole_parts_come_out_and_limits_hold() {
        for (packing, packed) in [(Packing::Zlib, &ZLIB[..]), (Packing::Zstd, &ZSTD[..])] {
            assert_eq!(packing.unpack(packed, 40).unwrap(), [b'a'; 40]);
            assert!(packing.unpack(packed, 39).is_err(), "{packing:?}: one byte too many");
            assert!(packing.unpack_exactly(packed, 41).is_err(), "{packing:?}: one byte too few");
            for end in 0..packed.len() {
                assert!(packing.unpack_exactly(&packed[..end], 40).is_err(), "{packing:?} cut at {end}");
            }
        }
    }
}
