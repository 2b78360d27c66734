//! Identifies a kernel file by its first bytes: bzImage and vmlinuz of x86-64, vmlinux (ELF), Image of arm64. Source:
//! Documentation/arch/x86/boot.rst, Documentation/arch/arm64/booting.rst, elf(5).

use serde::{Deserialize, Serialize};
use std::fmt;

/// An architecture that guests can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// x86-64.
    X86_64,
    /// arm64.
    Aarch64,
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        })
    }
}

/// A kernel file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Which machines it is for.
    pub architecture: Architecture,
    /// `uname -r`, such as `6.1.0-50-amd64`; empty if the file does not say.
    pub release: String,
}

/// Why a file is not a bootable kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotBootable {
    /// None of the known headers.
    #[error("not a kernel image (expected a bzImage or vmlinuz, a vmlinux, or an arm64 Image)")]
    Unknown,
    /// A boot sector of a 32-bit kernel.
    #[error("a 32-bit kernel; a guest needs a 64-bit one, because schedlab runs as its init")]
    Bits32,
    /// ELF of another machine.
    #[error("an ELF file for another architecture; kernels of x86_64 and arm64 can be booted")]
    OtherMachine,
    /// ELF, but of a kind that a kernel runs or loads.
    #[error("a program, a library or a module, not a kernel (give a bzImage or vmlinuz, a vmlinux, or an arm64 Image)")]
    Program,
    /// A vmlinux that QEMU cannot start.
    #[error("a vmlinux without the entry that QEMU needs (CONFIG_PVH); give the bzImage beside it")]
    NoPvh,
    /// A vmlinux for arm64.
    #[error("a vmlinux of arm64; give arch/arm64/boot/Image")]
    ArmElf,
    /// Its headers claim more bytes than it has.
    #[error("a truncated kernel image; copy or build it again")]
    Cut,
    /// A file that is compressed as a whole.
    #[error("compressed; unpack it first (gzip -d, zstd -d, xz -d)")]
    Compressed,
}

impl Image {
    /// Identifies a file by its complete content.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, NotBootable> {
        let compressed = [&b"\x1f\x8b"[..], b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"BZh"];
        if compressed.iter().any(|magic| bytes.starts_with(magic)) {
            return Err(NotBootable::Compressed);
        }
        if bytes.starts_with(b"\x7fELF") {
            return of_elf(bytes);
        }
        if at(bytes, 0x1fe, 2) == Some(b"\x55\xaa") && at(bytes, 0x202, 4) == Some(b"HdrS") {
            return of_boot_sector(bytes);
        }
        // "ARM\x64", or an EFI stub around a compressed Image.
        if at(bytes, 56, 4) == Some(b"ARM\x64") || at(bytes, 4, 4) == Some(b"zimg") {
            return Ok(Self { architecture: Architecture::Aarch64, release: banner(bytes) });
        }
        Err(NotBootable::Unknown)
    }
}

fn at(bytes: &[u8], from: usize, length: usize) -> Option<&[u8]> {
    bytes.get(from..from.checked_add(length)?)
}

fn number(bytes: &[u8], from: usize, length: usize) -> Option<u64> {
    let field = at(bytes, from, length)?;
    Some(field.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}

/// From boot protocol 2.12 on, `xloadflags` shows whether the kernel has a 64-bit entry; `kernel_version` points to a
/// text.
fn of_boot_sector(bytes: &[u8]) -> Result<Image, NotBootable> {
    let protocol = number(bytes, 0x206, 2).unwrap_or(0);
    let flags = number(bytes, 0x236, 2).unwrap_or(0);
    if protocol < 0x020c || flags & 1 == 0 {
        return Err(NotBootable::Bits32);
    }
    if payload_end(bytes).is_none_or(|end| end > bytes.len() as u64) {
        return Err(NotBootable::Cut);
    }
    let text = number(bytes, 0x20e, 2).filter(|&offset| offset != 0).and_then(|o| bytes.get(o as usize + 0x200..));
    let release = text.map(|text| first_word(&text[..text.len().min(256)])).unwrap_or_default();
    Ok(Image { architecture: Architecture::X86_64, release })
}

/// Where the compressed kernel ends; it lies after the boot sectors (four if no number is given).
fn payload_end(bytes: &[u8]) -> Option<u64> {
    let sectors = number(bytes, 0x1f1, 1).map(|sectors| if sectors == 0 { 4 } else { sectors })?;
    Some((sectors + 1) * 512 + number(bytes, 0x248, 4)? + number(bytes, 0x24c, 4)?)
}

const EM_X86_64: u64 = 62;
const EM_AARCH64: u64 = 183;
const ET_EXEC: u64 = 2;
const ET_DYN: u64 = 3;
const PT_INTERP: u64 = 3;
const PT_NOTE: u64 = 4;
/// XEN_ELFNOTE_PHYS32_ENTRY: where QEMU starts a vmlinux.
const PVH_NOTE: u64 = 18;

fn of_elf(bytes: &[u8]) -> Result<Image, NotBootable> {
    let (class, order) = (number(bytes, 4, 1), number(bytes, 5, 1));
    match (class, order, number(bytes, 18, 2)) {
        (Some(2), Some(1), Some(EM_X86_64)) => {}
        (Some(2), Some(1), Some(EM_AARCH64)) if is_program(bytes, &[ET_EXEC, ET_DYN]) => {
            return Err(NotBootable::Program);
        }
        (Some(2), Some(1), Some(EM_AARCH64)) => return Err(NotBootable::ArmElf),
        _ => return Err(NotBootable::OtherMachine),
    }
    match has_pvh_note(bytes) {
        Some(true) => Ok(Image { architecture: Architecture::X86_64, release: banner(bytes) }),
        _ if is_program(bytes, &[ET_EXEC]) => Err(NotBootable::Program),
        None => Err(NotBootable::Cut),
        Some(false) => Err(NotBootable::NoPvh),
    }
}

/// Whether it names a loader, or has a type that kernels do not have (arm64's are ET_DYN if they are relocatable).
fn is_program(bytes: &[u8], types_of_kernels: &[u64]) -> bool {
    let is_loader = |&header: &usize| number(bytes, header, 4) == Some(PT_INTERP);
    number(bytes, 16, 2).is_some_and(|kind| !types_of_kernels.contains(&kind))
        || program_headers(bytes).is_some_and(|headers| headers.iter().any(is_loader))
}

/// Where the program headers are; `None` if the file ends before one of them.
fn program_headers(bytes: &[u8]) -> Option<Vec<usize>> {
    let (table, each, count) = (number(bytes, 32, 8)?, number(bytes, 54, 2)?, number(bytes, 56, 2)?);
    let header = |index| usize::try_from(table.checked_add(index * each)?).ok().filter(|&at| at < bytes.len());
    (0..count).map(header).collect()
}

/// `None` if the file ends before something that its headers refer to.
fn has_pvh_note(bytes: &[u8]) -> Option<bool> {
    for header in program_headers(bytes)? {
        let (from, length) = (number(bytes, header + 8, 8)?, number(bytes, header + 32, 8)?);
        if from.checked_add(length)? > bytes.len() as u64 {
            return None;
        }
        let is_note = number(bytes, header, 4)? == PT_NOTE;
        if is_note && is_for_pvh(at(bytes, from as usize, length as usize)?) {
            return Some(true);
        }
    }
    Some(false)
}

/// Whether one of these notes is the PVH note.
fn is_for_pvh(mut notes: &[u8]) -> bool {
    while let (Some(named), Some(sized)) = (number(notes, 0, 4), number(notes, 4, 4)) {
        if number(notes, 8, 4) == Some(PVH_NOTE) && at(notes, 12, 4) == Some(b"Xen\0") {
            return true;
        }
        let whole = 12 + (named as usize).next_multiple_of(4) + (sized as usize).next_multiple_of(4);
        notes = notes.get(whole..).unwrap_or_default();
    }
    false
}

/// The release from `Linux version 6.1.0 (…`, which every uncompressed kernel contains.
fn banner(bytes: &[u8]) -> String {
    const START: &[u8] = b"Linux version ";
    // Searched by its first letter, because such a file has tens of megabytes.
    let from_letters = bytes.split_inclusive(|&byte| byte == START[0]).scan(0, |end, part| {
        *end += part.len();
        bytes.get(*end..)
    });
    // The first match may be a format string.
    let mut releases = from_letters
        .filter_map(|rest| rest.strip_prefix(&START[1..]))
        .map(|rest| first_word(&rest[..rest.len().min(256)]));
    releases.find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default()
}

fn first_word(text: &[u8]) -> String {
    let end = text.iter().position(|&byte| byte <= b' ').unwrap_or(text.len());
    String::from_utf8_lossy(&text[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(bytes: &mut Vec<u8>, at: usize, value: &[u8]) {
        bytes.resize(bytes.len().max(at + value.len()), 0);
        bytes[at..at + value.len()].copy_from_slice(value);
    }

    fn boot_sector(flags: u8) -> Vec<u8> {
        let mut bytes = vec![0; 0x1000];
        put(&mut bytes, 0x1fe, b"\x55\xaa");
        put(&mut bytes, 0x202, b"HdrS\x0f\x02");
        put(&mut bytes, 0x20e, &[0x00, 0x03]);
        put(&mut bytes, 0x236, &[flags]);
        put(&mut bytes, 0x500, b"6.1.0-50-amd64 (debian@x) #1 SMP\0");
        bytes
    }

    fn elf(machine: u8, note: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        put(&mut bytes, 16, &[2, 0, machine, 0]);
        put(&mut bytes, 32, &64u64.to_le_bytes());
        put(&mut bytes, 54, &[56, 0, 1, 0]);
        put(&mut bytes, 64, &4u32.to_le_bytes());
        put(&mut bytes, 72, &128u64.to_le_bytes());
        put(&mut bytes, 96, &(note.len() as u64).to_le_bytes());
        put(&mut bytes, 128, note);
        put(&mut bytes, 256, b"Linux version %s\0Linux version 6.12.0-rc1+ (me@here)");
        bytes
    }

    #[test]
    fn every_kind_is_told_and_names_its_release() {
        let x86 = |release: &str| Ok(Image { architecture: Architecture::X86_64, release: release.into() });
        assert_eq!(Image::of_bytes(&boot_sector(1)), x86("6.1.0-50-amd64"));
        let mut note = vec![4, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0];
        note.extend_from_slice(b"GNU\0\x07\0\0\0");
        note.extend_from_slice(&[4, 0, 0, 0, 8, 0, 0, 0, 18, 0, 0, 0]);
        note.extend_from_slice(b"Xen\0\0\0\0\x01\0\0\0\0");
        assert_eq!(Image::of_bytes(&elf(62, &note)), x86("6.12.0-rc1+"));
        let mut arm = vec![0; 4096];
        put(&mut arm, 56, b"ARM\x64");
        assert_eq!(Image::of_bytes(&arm).unwrap().architecture, Architecture::Aarch64);
    }

    #[test]
    fn what_cannot_be_booted_says_why() {
        let why = |bytes: &[u8]| Image::of_bytes(bytes).unwrap_err();
        assert_eq!(why(b""), NotBootable::Unknown);
        assert_eq!(why(b"#!/bin/sh\n"), NotBootable::Unknown);
        assert_eq!(why(&boot_sector(0)), NotBootable::Bits32);
        assert_eq!(why(&elf(62, &[])), NotBootable::NoPvh);
        assert_eq!(why(&elf(183, &[])), NotBootable::ArmElf);
        let (mut sector, mut ends_late) = (boot_sector(1), elf(62, &[]));
        put(&mut sector, 0x24c, &0x1000u32.to_le_bytes());
        put(&mut ends_late, 96, &0x1000u64.to_le_bytes());
        assert_eq!((why(&sector), why(&ends_late)), (NotBootable::Cut, NotBootable::Cut));
        assert_eq!(why(&elf(8, &[])), NotBootable::OtherMachine);
        // A header table at an offset that no file can have.
        put(&mut ends_late, 32, &(u64::MAX - 4).to_le_bytes());
        assert_eq!(why(&ends_late), NotBootable::Cut);
        assert_eq!(why(b"\x1f\x8b\x08"), NotBootable::Compressed);
    }

    #[test]
    fn a_program_is_no_kernel() {
        let why = |bytes: &[u8]| Image::of_bytes(bytes).unwrap_err();
        assert_eq!(why(&std::fs::read("/bin/ls").unwrap()), NotBootable::Program);
        for machine in [62, 183] {
            let (mut names_a_loader, mut module) = (elf(machine, &[]), elf(machine, &[]));
            put(&mut names_a_loader, 64, &3u32.to_le_bytes());
            put(&mut module, 16, &[1, 0]);
            assert_eq!((why(&names_a_loader), why(&module)), (NotBootable::Program, NotBootable::Program));
        }
        let (mut relocatable, mut library) = (elf(183, &[]), elf(62, &[]));
        put(&mut relocatable, 16, &[3, 0]);
        put(&mut library, 16, &[3, 0]);
        assert_eq!((why(&relocatable), why(&library)), (NotBootable::ArmElf, NotBootable::Program));
    }

    #[test]
    fn a_file_cut_anywhere_is_an_answer_not_a_panic() {
        let (sector, elf) = (boot_sector(1), elf(62, &[4, 0, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0]));
        for whole in [sector, elf] {
            for end in 0..whole.len() {
                let _ = Image::of_bytes(&whole[..end]);
            }
        }
    }
}
