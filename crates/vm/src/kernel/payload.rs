//! The kernel inside a bzImage: where it lies and how it is compressed. A translated guest takes seconds to unpack it,
//! the host hardly any time. Source: Documentation/arch/x86/boot.rst (`payload_offset`), scripts/extract-vmlinux.

/// A compressed kernel within a bzImage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The program and arguments that unpack it from standard input to standard output.
    pub unpacker: &'static [&'static str],
    /// The compressed bytes.
    pub bytes: &'a [u8],
}

/// First bytes and unpacker.
const FORMATS: &[(&[u8], &[&str])] = &[
    (b"\x1f\x8b", &["gzip", "-dc"]),
    (b"\xfd7zXZ\0", &["xz", "-dc"]),
    (b"\x28\xb5\x2f\xfd", &["zstd", "-dc"]),
    (b"\x02\x21\x4c\x18", &["lz4", "-dc"]),
    (b"BZh", &["bzip2", "-dc"]),
    (b"\x5d\0\0", &["xz", "--format=lzma", "-dc"]),
];

impl<'a> Payload<'a> {
    /// Finds it in a bzImage of boot protocol 2.08 or later.
    pub fn of_bzimage(image: &'a [u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
        if image.get(0x202..0x206)? != b"HdrS" {
            return None;
        }
        // Boot sectors from before this field existed mean four.
        let sectors = Some(usize::from(*image.get(0x1f1)?)).filter(|&n| n != 0).unwrap_or(4);
        let (offset, length) = (word(0x248)?, word(0x24c)?);
        let start = (sectors + 1) * 512 + offset;
        // After the stream the build wrote its unpacked length, which is not part of it.
        let bytes = image.get(start..start.checked_add(length)?.checked_sub(4)?)?;
        let (_, unpacker) = FORMATS.iter().find(|(magic, _)| bytes.starts_with(magic))?;
        Some(Self { unpacker, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 512 * 3];
        image[0x1f1] = 2;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&16u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(payload.len() as u32 + 4).to_le_bytes());
        image.extend_from_slice(&[0; 16]);
        image.extend_from_slice(payload);
        image.extend_from_slice(&[0xff; 4]);
        image
    }

    #[test]
    fn the_payload_is_found_with_its_unpacker() {
        let whole = image(b"\xfd7zXZ\0stream");
        let found = Payload::of_bzimage(&whole).unwrap();
        assert_eq!((found.unpacker[0], found.bytes), ("xz", &b"\xfd7zXZ\0stream"[..]));
        assert_eq!(Payload::of_bzimage(&image(b"\x1f\x8bs")).unwrap().unpacker[0], "gzip");
        assert_eq!(Payload::of_bzimage(&image(b"unknown")), None);
        for end in 0..whole.len() - 4 {
            assert_eq!(Payload::of_bzimage(&whole[..end]), None);
        }
    }
}
