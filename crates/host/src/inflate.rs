//! Decompression of /proc/config.gz. Input that is damaged or too long gives `None`.

use flate2::read::GzDecoder;
use std::io::Read;

/// No kernel config is longer; it bounds what a damaged stream can make us allocate.
const MAX_BYTES: u64 = 8 << 20;

/// The decompressed bytes, checked against the member's CRC-32 and length.
pub(crate) fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let read = GzDecoder::new(bytes).take(MAX_BYTES + 1).read_to_end(&mut out).ok()?;
    (read as u64 <= MAX_BYTES).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 'CONFIG_HZ=250\nCONFIG_HZ=250\nCONFIG_HZ=250\n' | gzip -9n` (a fixed-code block with a match).
    const FIXED: [u8; 37] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x73, 0xf6, 0xf7, 0x73, 0xf3, 0x74, 0x8f, 0xf7,
        0x88, 0xb2, 0x35, 0x32, 0x35, 0xe0, 0x72, 0xc6, 0xc3, 0x03, 0x00, 0x77, 0x02, 0x8b, 0x8f, 0x2a, 0x00, 0x00,
        0x00,
    ];

    #[test]
    fn a_small_member_and_its_checks() {
        assert_eq!(gunzip(&FIXED).unwrap(), "CONFIG_HZ=250\n".repeat(3).as_bytes());
        for end in 0..FIXED.len() {
            assert_eq!(gunzip(&FIXED[..end]), None, "cut at {end}");
        }
        for bit in 80..FIXED.len() * 8 {
            let mut damaged = FIXED;
            damaged[bit / 8] ^= 1 << (bit % 8);
            // A flipped bit changes the bytes, the checksum or the length: never another text. The unused bits that
            // pad the last byte of the stream are the exception.
            let same = gunzip(&damaged).is_none_or(|text| text == "CONFIG_HZ=250\n".repeat(3).as_bytes());
            assert!(same, "bit {bit}");
        }
    }

    #[test]
    fn this_kernels_own_config_is_read() {
        let Ok(bytes) = std::fs::read("/proc/config.gz") else {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "schedlab-skip: config.gz: needs a kernel with CONFIG_IKCONFIG_PROC");
            return;
        };
        let text = String::from_utf8(gunzip(&bytes).unwrap()).unwrap();
        assert!(text.contains("\nCONFIG_HZ="), "a kernel config has a tick");
    }
}
