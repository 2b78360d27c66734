//! The state directory: whose it is, its lock, its journals. What a journal says is written to the kernel as it stands,
//! so nobody else may be able to put one there.

use crate::error::TuneError;
use crate::journal::{Parsed, is_journal, parse};
use crate::roots::effective_uid;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Others may write.
const OPEN_TO_OTHERS: u32 = 0o022;

fn failed(path: &Path, source: io::Error) -> TuneError {
    TuneError::State { path: path.to_owned(), source }
}

/// Makes the directory, for its owner alone.
fn make(state_dir: &Path) -> Result<(), TuneError> {
    if let Some(parent) = state_dir.parent() {
        std::fs::create_dir_all(parent).map_err(|e| failed(parent, e))?;
    }
    match DirBuilder::new().mode(0o700).create(state_dir) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(failed(state_dir, e)),
        _ => must_be_ours(state_dir),
    }
}

/// Refuses a directory that another user owns or may write to; none at all is in order.
fn must_be_ours(state_dir: &Path) -> Result<(), TuneError> {
    // Also the name, not only what it leads to: in a directory for all, such as /tmp, another can make a link.
    let name = match std::fs::symlink_metadata(state_dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|e| failed(state_dir, e))?,
    };
    let place = std::fs::metadata(state_dir).map_err(|e| failed(state_dir, e))?;
    let us = effective_uid(Path::new("/proc"));
    if [name.uid(), place.uid()].iter().all(|&uid| Some(uid) == us) && place.mode() & OPEN_TO_OTHERS == 0 {
        return Ok(());
    }
    Err(TuneError::NotOurs { path: state_dir.to_owned() })
}

/// The lock on a state directory: held while values of ours are in force. Released by the kernel when we die.
#[derive(Debug)]
pub(crate) struct StateLock {
    /// Open for the lock's sake.
    _file: File,
}

impl StateLock {
    /// Takes the lock, creating the directory; [`TuneError::Busy`] names the holder.
    pub(crate) fn take(state_dir: &Path) -> Result<Self, TuneError> {
        let path = state_dir.join("lock");
        let failed = |source| TuneError::State { path: path.clone(), source };
        make(state_dir)?;
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = std::fs::read_to_string(&path).unwrap_or_default();
                return Err(TuneError::Busy { pid: holder.trim().to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).map_err(failed)?;
        file.write_all(std::process::id().to_string().as_bytes()).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// The journals in the directory, the latest first.
pub(crate) fn journals(state_dir: &Path) -> Result<Vec<(PathBuf, Parsed)>, TuneError> {
    must_be_ours(state_dir)?;
    let listing = match std::fs::read_dir(state_dir) {
        Ok(listing) => listing,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed(state_dir, e)),
    };
    let mut found = Vec::new();
    for item in listing {
        let path = item.map_err(|e| failed(state_dir, e))?.path();
        if is_journal(&path) {
            let bytes = std::fs::read(&path).map_err(|e| failed(&path, e))?;
            found.push((path, parse(&bytes)));
        }
    }
    // The latest first, as within one journal.
    found.sort_by_key(|(_, parsed)| std::cmp::Reverse(parsed.owner.as_ref().map(|o| (o.start_ticks, o.pid))));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn the_lock_is_one_persons_and_names_them() {
        let tree = tempfile::tempdir().unwrap();
        let state = tree.path().join("a/state");
        let lock = StateLock::take(&state).unwrap();
        let error = StateLock::take(&state).unwrap_err().to_string();
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        drop(lock);
        StateLock::take(&state).unwrap();
    }

    #[test]
    fn a_directory_where_another_can_put_a_journal_is_refused() {
        let tree = tempfile::tempdir().unwrap();
        let state = tree.path().join("state");
        let refused = || {
            let refusals = [journals(&state).unwrap_err(), StateLock::take(&state).unwrap_err()];
            refusals.iter().all(|e| matches!(e, TuneError::NotOurs { .. }))
        };
        assert!(journals(&state).unwrap().is_empty(), "none is in order");
        StateLock::take(&state).unwrap();
        for mode in [0o770, 0o707] {
            std::fs::set_permissions(&state, PermissionsExt::from_mode(mode)).unwrap();
            assert!(refused(), "{mode:o}");
        }
        std::fs::set_permissions(&state, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(journals(&state).unwrap().is_empty());
        // Another's directory, and another's link to one of ours: only root can make them here.
        if chown(&state, Some(12_345), None).is_ok() {
            assert!(refused());
            std::fs::rename(&state, tree.path().join("ours")).unwrap();
            chown(tree.path().join("ours"), effective_uid(Path::new("/proc")), None).unwrap();
            symlink(tree.path().join("ours"), &state).unwrap();
            assert!(journals(&state).unwrap().is_empty(), "a link of our own");
            std::os::unix::fs::lchown(&state, Some(12_345), None).unwrap();
            assert!(refused());
        }
    }
}
