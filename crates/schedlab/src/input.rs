//! Files named by the user that are read as a whole: plans and other tools' logs. They may be links, pipes or standard
//! input, and are waited for as by `cat`; one that never ends is refused.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Maximum size: a plan has some kB, a log of a night of benchmarks some MB.
const MAX_BYTES: u64 = 256 << 20;

/// All bytes of a file, or one more than `most` if it is longer.
pub(crate) fn at_most(file: &Path, most: u64) -> Result<Vec<u8>> {
    let unread = || format!("{} cannot be read", file.display());
    let mut bytes = Vec::new();
    File::open(file).and_then(|open| open.take(most + 1).read_to_end(&mut bytes)).with_context(unread)?;
    Ok(bytes)
}

/// All bytes of a file.
pub(crate) fn bytes(file: &Path) -> Result<Vec<u8>> {
    let bytes = at_most(file, MAX_BYTES)?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{} has more than {} MiB, or never ends: name a smaller file", file.display(), MAX_BYTES >> 20);
    }
    Ok(bytes)
}

/// The same as text.
pub(crate) fn text(file: &Path) -> Result<String> {
    String::from_utf8(bytes(file)?).with_context(|| format!("{} is not UTF-8", file.display()))
}

/// All bytes of a file in an untrusted tree or series. A file that is not regular counts as missing, because reading a
/// pipe would block.
pub(crate) fn regular(file: &Path) -> io::Result<Vec<u8>> {
    let open = schedlab_sys::regular::open(file).map_err(|why| match why.kind() {
        ErrorKind::Unsupported | ErrorKind::IsADirectory => {
            io::Error::new(ErrorKind::NotFound, "it is not a regular file")
        }
        _ => why,
    })?;
    let mut bytes = Vec::new();
    open.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES { Err(ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}
