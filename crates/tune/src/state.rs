//! The state directory: whose it is, its lock, its journals. What a journal says is written to the kernel verbatim, so
//! nobody else may be able to put one there.

use crate::error::TuneError;
use crate::journal::{Parsed, is_journal, parse};
use crate::owner::Owner;
use schedlab_plan::InOrder;
use schedlab_sys::places;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

fn failed(path: &Path, source: io::Error) -> TuneError {
    TuneError::State { path: path.to_owned(), source }
}

/// Refuses a directory that another user owns or may write to; none at all is in order.
fn must_be_ours(state_dir: &Path) -> Result<(), TuneError> {
    match places::is_ours(state_dir) {
        Ok(true) => Ok(()),
        Ok(false) => Err(TuneError::NotOurs { path: state_dir.to_owned() }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(failed(state_dir, e)),
    }
}

/// The lock on a state directory: held while values of ours are set. Released by the kernel when we die.
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
        must_be_ours(state_dir)?;
        places::own_directory(state_dir).map_err(|e| TuneError::State { path: state_dir.to_owned(), source: e })?;
        let mut file = places::lock_file(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let read =
                    file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_slice(text.as_bytes()).ok());
                let holder = read.and_then(|value| Owner::of_json(&value));
                let living = holder.filter(|holder| holder.is_alive(Path::new("/proc")));
                let pid =
                    living.map_or_else(|| "not known: `fuser` shows who has its lock".into(), |o| o.pid.to_string());
                return Err(TuneError::Busy { pid });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).map_err(failed)?;
        let holder = Owner::this(Path::new("/proc")).map_err(failed)?;
        file.write_all(&serde_json::to_vec(&holder).map_err(|e| failed(e.into()))?).map_err(failed)?;
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
    found.in_order_by_key(|(_, parsed)| std::cmp::Reverse(parsed.owner.as_ref().map(|o| (o.start_ticks, o.pid))));
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
        // Another process with the number of one that is gone.
        let gone = Owner { start_ticks: 1, ..Owner::this(Path::new("/proc")).unwrap() };
        std::fs::write(state.join("lock"), serde_json::to_vec(&gone).unwrap()).unwrap();
        let error = StateLock::take(&state).unwrap_err().to_string();
        assert!(error.contains("not known") && !error.contains(&std::process::id().to_string()), "{error}");
        drop(lock);
        // As an older schedlab left it: anybody could have held the lock.
        std::fs::set_permissions(&state, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::set_permissions(state.join("lock"), PermissionsExt::from_mode(0o644)).unwrap();
        let _lock = StateLock::take(&state).unwrap();
        let modes = [&state, &state.join("lock")].map(|path| path.metadata().unwrap().permissions().mode() & 0o777);
        assert_eq!(modes, [0o700, 0o600]);
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
            chown(tree.path().join("ours"), Some(places::effective_uid()), None).unwrap();
            symlink(tree.path().join("ours"), &state).unwrap();
            assert!(journals(&state).unwrap().is_empty(), "a link of our own");
            std::os::unix::fs::lchown(&state, Some(12_345), None).unwrap();
            assert!(refused());
        }
    }
}
