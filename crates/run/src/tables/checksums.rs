//! Length and CRC-32 of every table, beside them in `checksums.txt`. A Parquet file has no checksum of its own that
//! readers must look at, so a flipped bit would be a different result; and the decoder is never shown bytes that are not
//! the ones we wrote, because it may panic on them.

use crate::error::RunError;
use crate::writer::write_durably;
use std::fmt::Write;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Lines of `CRC32 BYTES FILE`; `crc32` is hexadecimal, as zip and gzip print it.
const FILE: &str = "checksums.txt";

/// Writes the list for these files of the directory, durable when this returns.
pub(super) fn write(dir: &Path, names: &[String]) -> Result<(), RunError> {
    let mut lines = String::new();
    for name in names {
        let (crc, bytes) = of(&dir.join(name))?;
        writeln!(lines, "{crc:08x} {bytes} {name}").expect("a string takes what is written");
    }
    write_durably(dir, FILE, lines.as_bytes()).map(drop)
}

/// Compares every file with the list. A directory without a list is accepted unchecked; a `newer` table that is neither
/// listed nor there belongs to an older version.
pub(super) fn verify(dir: &Path, names: &[String], newer: &str) -> Result<(), RunError> {
    let path = dir.join(FILE);
    let lines = match std::fs::read_to_string(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(RunError::io(&path))?,
    };
    for name in names {
        let wanted = lines.lines().find_map(|line| line.strip_suffix(name.as_str())?.strip_suffix(' '));
        if name == newer && wanted.is_none() && !dir.join(name).exists() {
            continue;
        }
        let why = || format!("it does not list {name}; restore it from a copy of the run");
        let wanted = wanted.ok_or_else(|| RunError::Damaged { path: path.clone(), why: why() })?;
        let table = dir.join(name);
        if !table.exists() {
            let why = "it is missing; restore it from a copy of the run".to_owned();
            return Err(RunError::Damaged { path: table, why });
        }
        let (crc, bytes) = of(&table)?;
        if format!("{crc:08x} {bytes}") != wanted {
            let why = "its content is not what was sealed; restore it from a copy of the run".to_owned();
            return Err(RunError::Damaged { path: table, why });
        }
    }
    Ok(())
}

/// CRC-32 and length of a file, read in pieces.
fn of(path: &Path) -> Result<(u32, u64), RunError> {
    let mut file = File::open(path).map_err(RunError::io(path))?;
    let (mut hasher, mut bytes, mut piece) = (crc32fast::Hasher::new(), 0u64, vec![0u8; 1 << 16]);
    loop {
        match file.read(&mut piece).map_err(RunError::io(path))? {
            0 => return Ok((hasher.finalize(), bytes)),
            n => {
                hasher.update(&piece[..n]);
                bytes += n as u64;
            }
        }
    }
}
