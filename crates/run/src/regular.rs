//! Reads the files of a run directory, whose names somebody else chose.

use crate::error::RunError;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Largest file that is read as a whole: a manifest, a list, the file of one trial. The largest of ours have a few MB.
const MAX_BYTES: u64 = 256 << 20;

/// Opens a regular file for reading.
pub(crate) fn open(path: &Path) -> Result<File, RunError> {
    schedlab_sys::regular::open(path).map_err(|why| match why.kind() {
        ErrorKind::Unsupported | ErrorKind::IsADirectory => RunError::NotAFile { path: path.to_owned() },
        _ => RunError::io(path)(why),
    })
}

/// A whole file of at most 256 MiB.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, RunError> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(RunError::io(path))?;
    if bytes.len() as u64 > MAX_BYTES {
        let why = format!(
            "it has more than {} MiB, which none of ours has; restore it from a copy of the run",
            MAX_BYTES >> 20
        );
        return Err(RunError::Damaged { path: path.to_owned(), why });
    }
    Ok(bytes)
}

/// The same as text.
pub(crate) fn read_text(path: &Path) -> Result<String, RunError> {
    let damaged = |_| RunError::Damaged {
        path: path.to_owned(),
        why: "it is not UTF-8; restore it from a copy of the run".into(),
    };
    String::from_utf8(read(path)?).map_err(damaged)
}
