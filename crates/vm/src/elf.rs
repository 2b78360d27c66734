//! The part of a program that the kernel loads. It excludes debug information, which makes a development binary many
//! times larger and its guest slower to start. Source: elf(5).

/// Everything up to the end of the last loadable segment; the whole file if it is not a 64-bit ELF file.
pub fn loaded_part(file: &[u8]) -> &[u8] {
    end_of_segments(file).and_then(|end| file.get(..end)).unwrap_or(file)
}

const PT_LOAD: usize = 1;

fn end_of_segments(file: &[u8]) -> Option<usize> {
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let number = |at: usize, length: usize| {
        let field = file.get(at..at.checked_add(length)?)?;
        usize::try_from(field.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte))).ok()
    };
    let (table, each, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let mut end = table.checked_add(each * count)?;
    for index in 0..count {
        let header = table + index * each;
        if number(header, 4)? == PT_LOAD {
            end = end.max(number(header + 8, 8)?.checked_add(number(header + 32, 8)?)?);
        }
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_program_runs_without_the_rest() {
        let whole = std::fs::read("/proc/self/exe").unwrap();
        let part = loaded_part(&whole);
        assert!(part.len() < whole.len(), "this test has debug information");
        let directory = tempfile::tempdir().unwrap();
        let (written, file) = (directory.path().join("written"), directory.path().join("part"));
        std::fs::write(&written, part).unwrap();
        // A program cannot be executed while a child of another test still has it open for writing (ETXTBSY), so
        // install(1) copies it.
        assert!(Command::new("install").args(["-m", "755"]).args([&written, &file]).status().unwrap().success());
        let listed = Command::new(&file).args(["--list", "--format", "terse"]).output().unwrap();
        assert!(String::from_utf8_lossy(&listed.stdout).contains("a_program_runs_without_the_rest"));
    }

    #[test]
    fn what_is_no_program_stays_whole() {
        for file in [&b""[..], b"#!/bin/sh\n", b"\x7fELF\x02\x01", b"\x7fELF\x01\x01 32 bits"] {
            assert_eq!(loaded_part(file), file);
        }
    }
}
