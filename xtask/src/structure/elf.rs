//! Whether a file needs other files at run time. An ELF file without PT_INTERP and DT_NEEDED does not, so it runs on a
//! board and boots as PID 1. Source: elf(5). Only 64-bit little-endian, which is what we build for.

use anyhow::{Context, Result, bail};

const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const PROGRAM_HEADER_BYTES: usize = 56;
const DYNAMIC_ENTRY_BYTES: usize = 16;

/// Why the image is not static; an error if it is not a complete 64-bit little-endian ELF file.
pub(super) fn not_static(image: &[u8]) -> Result<Vec<String>> {
    if image.get(..6) != Some(b"\x7fELF\x02\x01") {
        bail!("not a 64-bit little-endian ELF file");
    }
    let headers = usize::try_from(u64_at(image, 32)?)?;
    let header_bytes = usize::from(u16_at(image, 54)?);
    let count = usize::from(u16_at(image, 56)?);
    if header_bytes < PROGRAM_HEADER_BYTES || count == 0 {
        bail!("an ELF file without program headers cannot be loaded");
    }
    let mut problems = Vec::new();
    for at in (0..count).map(|i| headers + i * header_bytes) {
        let (offset, bytes) = (usize::try_from(u64_at(image, at + 8)?)?, usize::try_from(u64_at(image, at + 32)?)?);
        let segment = offset.checked_add(bytes).and_then(|end| image.get(offset..end));
        match u32_at(image, at)? {
            PT_INTERP => {
                let name = segment.context("PT_INTERP lies beyond the file")?;
                problems.push(format!("needs the loader {}", String::from_utf8_lossy(name).trim_end_matches('\0')));
            }
            PT_DYNAMIC => {
                let needed = libraries_needed(segment.context("PT_DYNAMIC lies beyond the file")?)?;
                if needed > 0 {
                    problems.push(format!("needs {needed} shared libraries"));
                }
            }
            _ => {}
        }
    }
    Ok(problems)
}

/// A static-pie has a dynamic section for its own relocations; only DT_NEEDED entries refer to other files.
fn libraries_needed(dynamic: &[u8]) -> Result<usize> {
    let mut needed = 0;
    for at in (0..dynamic.len()).step_by(DYNAMIC_ENTRY_BYTES) {
        match u64_at(dynamic, at)? {
            DT_NULL => break,
            DT_NEEDED => needed += 1,
            _ => {}
        }
    }
    Ok(needed)
}

fn bytes_at<const N: usize>(image: &[u8], at: usize) -> Result<[u8; N]> {
    let field = image.get(at..).and_then(|rest| rest.first_chunk());
    field.copied().with_context(|| format!("the ELF file is cut before byte {at}"))
}

fn u16_at(image: &[u8], at: usize) -> Result<u16> {
    bytes_at(image, at).map(u16::from_le_bytes)
}

fn u32_at(image: &[u8], at: usize) -> Result<u32> {
    bytes_at(image, at).map(u32::from_le_bytes)
}

fn u64_at(image: &[u8], at: usize) -> Result<u64> {
    bytes_at(image, at).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT_AT: usize = 64 + PROGRAM_HEADER_BYTES;

    /// An image with one segment of the given type and content.
    fn image(segment_type: u32, content: &[u8]) -> Vec<u8> {
        let mut image = vec![0; SEGMENT_AT];
        image[..6].copy_from_slice(b"\x7fELF\x02\x01");
        image[32..40].copy_from_slice(&64u64.to_le_bytes());
        image[54..56].copy_from_slice(&(PROGRAM_HEADER_BYTES as u16).to_le_bytes());
        image[56..58].copy_from_slice(&1u16.to_le_bytes());
        image[64..68].copy_from_slice(&segment_type.to_le_bytes());
        image[72..80].copy_from_slice(&(SEGMENT_AT as u64).to_le_bytes());
        image[96..104].copy_from_slice(&(content.len() as u64).to_le_bytes());
        image.extend_from_slice(content);
        image
    }

    fn dynamic(tags: &[u64]) -> Vec<u8> {
        tags.iter().flat_map(|tag| [tag.to_le_bytes(), 0u64.to_le_bytes()].concat()).collect()
    }

    #[test]
    fn a_static_pie_passes() {
        assert_eq!(not_static(&image(1, b"code")).unwrap(), Vec::<String>::new());
        let relocations_only = dynamic(&[7, 8, DT_NULL, DT_NEEDED]); // what follows DT_NULL is padding
        assert_eq!(not_static(&image(PT_DYNAMIC, &relocations_only)).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_loader_and_libraries_are_named() {
        let loader = image(PT_INTERP, b"/lib64/ld-linux-x86-64.so.2\0");
        assert_eq!(not_static(&loader).unwrap(), ["needs the loader /lib64/ld-linux-x86-64.so.2"]);
        let libraries = image(PT_DYNAMIC, &dynamic(&[DT_NEEDED, DT_NEEDED, 7, DT_NULL]));
        assert_eq!(not_static(&libraries).unwrap(), ["needs 2 shared libraries"]);
    }

    #[test]
    fn a_cut_file_is_an_error_at_any_length() {
        let whole = image(PT_DYNAMIC, &dynamic(&[7, DT_NULL]));
        assert!(not_static(&whole).is_ok());
        for length in 0..whole.len() {
            assert!(not_static(&whole[..length]).is_err(), "cut to {length} bytes");
        }
    }
}
