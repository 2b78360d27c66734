//! Files that record who owns a kernel object, each locked by its owner. The kernel drops the lock when the owner and
//! all of its children are dead, however they died. So an entry that can be locked is an orphan, and the next start can
//! release what it names. Source: flock(2).

use crate::places;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often to try to make an entry, one millisecond apart.
const ATTEMPTS: u32 = 100;

/// Where the entries of a kind are: a subdirectory of our directory below the run root.
pub fn entries(run_root: &Path, kind: &str) -> PathBuf {
    run_root.join("schedlab").join(kind)
}

/// An entry of ours. Dropping it unlocks the file but does not remove it: whoever releases what it names removes it
/// too.
#[derive(Debug)]
pub struct OwnedEntry {
    path: PathBuf,
    /// Kept open for its lock.
    _lock: File,
}

impl OwnedEntry {
    /// Makes the entry `name` of a kind; `AlreadyExists` if it exists. It has its lock and content from the moment it
    /// is visible: another start that cleans up must not mistake it for an orphan. Nobody else may read it, because any
    /// reader could hold its lock for ever.
    pub fn create(run_root: &Path, kind: &str, name: &str, content: &str) -> io::Result<Self> {
        let directory = entries(run_root, kind);
        directory.parent().map(places::own_directory).transpose()?;
        places::own_directory(&directory)?;
        for _ in 1..ATTEMPTS {
            match Self::attempt(&directory, name, content) {
                // Somebody who cleans up has just taken the draft, which was not yet locked, for one of a dead writer.
                Err(taken) if matches!(taken.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                other => return other,
            }
        }
        Self::attempt(&directory, name, content)
    }

    fn attempt(directory: &Path, name: &str, content: &str) -> io::Result<Self> {
        let path = directory.join(name);
        let draft = directory.join(format!(".{name}.{}", std::process::id()));
        let mut lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        let entered = lock.try_lock().map_err(io::Error::from).and_then(|()| {
            lock.write_all(content.as_bytes())?;
            std::fs::hard_link(&draft, &path)
        });
        match std::fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        entered.map(|()| Self { path, _lock: lock })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// An entry whose owner is dead; we hold its lock as long as this lives.
#[derive(Debug)]
pub struct Orphan {
    /// Its name.
    pub name: String,
    /// What the owner wrote into it.
    pub content: String,
    /// Its file, to be removed once what it names is gone.
    pub path: PathBuf,
    _lock: File,
}

/// The entries of a kind whose owners are dead, by name; none if the directory is another user's. Removes drafts that a
/// kill left.
pub fn orphans(run_root: &Path, kind: &str) -> io::Result<Vec<Orphan>> {
    let directory = entries(run_root, kind);
    let listing = match std::fs::read_dir(&directory) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            return Ok(Vec::new());
        }
        other => other?,
    };
    let mut found = Vec::new();
    for item in listing {
        let name = item?.file_name();
        let Some(name) = name.to_str() else { continue };
        let path = directory.join(name);
        // Already gone: its owner was just removing it.
        let Some(mut file) = places::open_ours(&path) else { continue };
        match file.try_lock() {
            // A draft whose writer was killed, or is about to lock it and will make another one. It has no final name
            // yet.
            Ok(()) if name.starts_with('.') => match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            },
            Ok(()) => {
                let mut content = String::new();
                file.read_to_string(&mut content)?;
                found.push(Orphan { name: name.to_owned(), content, path, _lock: file });
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn an_entry_is_its_owners_until_the_owner_is_gone() {
        let root = std::env::temp_dir().join(format!("schedlab-entry-{}", std::process::id()));
        let directory = entries(&root, "kind");
        // As an older schedlab left it: anybody could open and lock a file in it.
        std::fs::create_dir_all(&directory).unwrap();
        let entry = OwnedEntry::create(&root, "kind", "mine", "7").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!([mode(&root.join("schedlab")), mode(&directory), mode(entry.path())], [0o700, 0o700, 0o600]);
        assert_eq!(OwnedEntry::create(&root, "kind", "mine", "8").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(orphans(&root, "kind").unwrap().is_empty(), "its owner lives");
        std::fs::write(directory.join(".draft.1"), "").unwrap();
        let path = entry.path().to_owned();
        drop(entry);
        let mut found = orphans(&root, "kind").unwrap();
        // A child that another test has just forked shares the lock until it execs.
        for _ in 0..60_000 {
            if !found.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            found = orphans(&root, "kind").unwrap();
        }
        let told: Vec<_> = found.iter().map(|o| (o.name.as_str(), o.content.as_str(), &o.path)).collect();
        assert_eq!(told, [("mine", "7", &path)]);
        assert!(orphans(&root, "kind").unwrap().is_empty(), "one at a time cleans up");
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "the draft is gone");
        std::fs::remove_dir_all(&root).unwrap();
        assert!(orphans(&root, "kind").unwrap().is_empty());
    }

    #[test]
    fn entries_are_made_while_others_clean_up() {
        let root = std::env::temp_dir().join(format!("schedlab-entries-{}", std::process::id()));
        let made = std::sync::atomic::AtomicBool::new(false);
        // The entries live until the thread that cleans up has ended: it may look a last time before `made`.
        let entries: Vec<_> = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !made.load(std::sync::atomic::Ordering::Relaxed) {
                    assert!(orphans(&root, "kind").unwrap().is_empty(), "every owner lives");
                }
            });
            let entries = (0..300).map(|n| OwnedEntry::create(&root, "kind", &format!("{n}"), "")).collect();
            made.store(true, std::sync::atomic::Ordering::Relaxed);
            entries
        });
        assert!(entries.iter().all(Result::is_ok), "{entries:?}");
        std::fs::remove_dir_all(&root).unwrap();
    }
}
