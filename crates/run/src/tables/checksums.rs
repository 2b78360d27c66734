//! Length and CRC-32 of every table, next to the tables in `checksums.txt`. Readers need not check anything in a
//! Parquet file, so a flipped bit would silently change a result. And the decoder never gets bytes other than those we
//! wrote, because it may panic on them.

use crate::error::RunError;
use crate::regular::{self, read_text};
use crate::writer::write_durably;
use std::fmt::Write;
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

/// Compares every file with the list. Older versions had no list: if it is missing, reports that nothing was checked,
/// or, if there `must` be one, damage.
pub(super) fn verify(dir: &Path, names: &[String], must: bool) -> Result<Option<String>, RunError> {
    let path = dir.join(FILE);
    let lines = match read_text(&path) {
        Err(RunError::Io { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
            let why = "it is missing; restore it from a copy of the run".to_owned();
            let unchecked = format!(
                "{} is missing: whether the tables are those that were sealed cannot be checked",
                path.display()
            );
            return if must { Err(RunError::Damaged { path, why }) } else { Ok(Some(unchecked)) };
        }
        other => other?,
    };
    for name in names {
        let wanted = lines.lines().find_map(|line| line.strip_suffix(name.as_str())?.strip_suffix(' '));
        let why = || format!("it does not list {name}; restore it from a copy of the run");
        let wanted = wanted.ok_or_else(|| RunError::Damaged { path: path.clone(), why: why() })?;
        let table = dir.join(name);
        if !table.exists() {
            let why = "it is missing; restore it from a copy of the run".to_owned();
            return Err(RunError::Damaged { path: table, why });
        }
        // The length is compared first: an endless file must not be read to its end.
        let length = regular::open(&table)?.metadata().map_err(RunError::io(&table))?.len();
        let fits = wanted.ends_with(&format!(" {length}")) && {
            let (crc, bytes) = of(&table)?;
            format!("{crc:08x} {bytes}") == wanted
        };
        if !fits {
            let why = "its content is not what was sealed; restore it from a copy of the run".to_owned();
            return Err(RunError::Damaged { path: table, why });
        }
    }
    Ok(None)
}

/// CRC-32 and length of a file, read in pieces.
fn of(path: &Path) -> Result<(u32, u64), RunError> {
    let mut file = regular::open(path)?;
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
