//! Opens the files of a run directory. Whoever gave us the directory chose what its names refer to: we would wait for a
//! pipe, and a device never ends.

use crate::error::RunError;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// `O_NONBLOCK`: opening a pipe without a writer returns at once. It has the same value on every architecture we build
/// for.
const DO_NOT_WAIT: i32 = 0o4000;

/// Largest file that is read as a whole: a manifest, a list, the file of one trial. The largest of ours have a few MB.
const MAX_BYTES: u64 = 256 << 20;

/// Opens a regular file for reading.
pub(crate) fn open(path: &Path) -> Result<File, RunError> {
    let file = File::options().read(true).custom_flags(DO_NOT_WAIT).open(path).map_err(RunError::io(path))?;
    let kind = file.metadata().map_err(RunError::io(path))?;
    if kind.is_file() { Ok(file) } else { Err(RunError::NotAFile { path: path.to_owned() }) }
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
