//! Payloads compressed for the serial line: their length (u32 LE), and an LZ4 block. Each byte on the line costs the
//! guest an exit and QEMU a system call; for the 5 MB of a kernel's symbols this took longer than the boot.

use crate::frame::MAX_PAYLOAD_BYTES;

/// Shorter payloads are sent uncompressed.
const MIN_PACKED_BYTES: usize = 512;

/// `None` if the result is not shorter than the payload.
pub(crate) fn pack(payload: &[u8]) -> Option<Vec<u8>> {
    if payload.len() < MIN_PACKED_BYTES {
        return None;
    }
    let mut packed = (payload.len() as u32).to_le_bytes().to_vec();
    packed.resize(packed.len() + lz4_flex::block::get_maximum_output_size(payload.len()), 0);
    let length = lz4_flex::block::compress_into(payload, &mut packed[4..]).ok()?;
    packed.truncate(4 + length);
    (packed.len() < payload.len()).then_some(packed)
}

/// The size of the original of `packed`, according to its header.
pub(crate) fn unpacked_bytes(packed: &[u8]) -> u32 {
    packed.first_chunk().map_or(0, |length| u32::from_le_bytes(*length))
}

/// The original of `packed`.
pub(crate) fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let (length, block) = (unpacked_bytes(packed) as usize, packed.get(4..)?);
    // One byte of an LZ4 block stands for at most 255 bytes, so a guest cannot make us allocate more memory than that.
    if length > MAX_PAYLOAD_BYTES.min(block.len().saturating_mul(256)) {
        return None;
    }
    let mut payload = vec![0; length];
    (lz4_flex::block::decompress_into(block, &mut payload).ok()? == length).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_packed_and_no_length_is_believed() {
        let text = b"ffffffff81000000 T _text\n".repeat(1000);
        let whole = pack(&text).unwrap();
        assert!(whole.len() < text.len() / 10, "{} of {}", whole.len(), text.len());
        assert_eq!(unpack(&whole), Some(text.clone()));
        for length in [0, 1, text.len() as u32 - 1, text.len() as u32 + 1, u32::MAX] {
            assert_eq!(unpack(&[&length.to_le_bytes(), &whole[4..]].concat()), None, "{length}");
        }
        assert_eq!(unpack(&whole[..3]), None);
    }
}
