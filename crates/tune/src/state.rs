//! The state directory: its owner, its lock, its journals. Values in a journal are written to the kernel verbatim, so
//! no other user may be able to put one there.

use crate::error::TuneError;
use crate::journal::{Parsed, is_journal, parse};
use crate::owner::Owner;
use schedlab_plan::InOrder;
use schedlab_sys::places;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often, and after how long, a lock without a name is read again.
const UNNAMED_TRIES: usize = 40;
const UNNAMED_FOR: Duration = Duration::from_millis(5);

fn failed(path: &Path, source: io::Error) -> TuneError {
    TuneError::State { path: path.to_owned(), source }
}

/// Refuses a directory that another user owns or may write to; a missing directory is fine.
fn must_be_ours(state_dir: &Path) -> Result<(), TuneError> {
    match places::is_ours(state_dir) {
        Ok(true) => Ok(()),
        Ok(false) => Err(TuneError::NotOurs { path: state_dir.to_owned() }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(failed(state_dir, e)),
    }
}

/// The lock on a state directory: held while values of ours are set. The kernel releases it when we die.
#[derive(Debug)]
pub(crate) struct StateLock {
    /// Kept open to hold the lock.
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
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
            // Right after taking the lock, and while it restores, the holder has not written its name.
            match holder(&mut file) {
                Some(holder) => return Err(TuneError::Busy { pid: holder.pid.to_string() }),
                None if tries == UNNAMED_TRIES => {
                    return Err(TuneError::Busy { pid: "not known: `fuser` shows who has its lock".into() });
                }
                None => std::thread::sleep(UNNAMED_FOR),
            }
            tries += 1;
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
        let holder = Owner::this(Path::new("/proc")).map_err(failed)?;
        file.write_all(&serde_json::to_vec(&holder).map_err(|e| failed(e.into()))?).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// The process named in the lock file, if it is alive.
fn holder(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    let owner = Owner::of_json(&serde_json::from_slice(text.as_bytes()).ok()?)?;
    owner.is_alive(Path::new("/proc")).then_some(owner)
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
            let bytes = crate::file::bytes(&path).map_err(|e| failed(&path, e))?;
            found.push((path, parse(&bytes)));
        }
    }
    // The latest first, as within one journal: an older process may have written later than a younger one.
    let order = |parsed: &Parsed| parsed.owner.as_ref().map(|o| (o.began_ns, o.start_ticks, o.pid));
    found.in_order_by_key(|(_, parsed)| std::cmp::Reverse(order(parsed)));
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
        // The pid now belongs to another process than the dead one.
        let gone = Owner { start_ticks: 1, ..Owner::this(Path::new("/proc")).unwrap() };
        std::fs::write(state.join("lock"), serde_json::to_vec(&gone).unwrap()).unwrap();
        let error = StateLock::take(&state).unwrap_err().to_string();
        assert!(error.contains("not known") && !error.contains(&std::process::id().to_string()), "{error}");
        drop(lock);
        // As left by an older schedlab: anybody could have held the lock.
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
        // A directory of another user, and another user's link to one of ours; only root can create them here.
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
