//! A directory that exists as long as one guest and is removed on drop; what a killed process left is removed by the
//! next start.

use crate::error::VmError;
use schedlab_sys::places;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that only its owner may read, because a guest's files may be the user's secrets. It is locked (flock(2))
/// while its owner lives.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Kept open for its lock.
    _lock: Option<File>,
}

/// How its name begins, in `$TMPDIR`.
const NAME: &str = "schedlab-vm";

impl Scratch {
    /// Makes one below `$TMPDIR`.
    pub fn new() -> Result<Self, VmError> {
        let root = std::env::temp_dir();
        remove_orphans(&root, NAME);
        Self::named(&root, NAME)
    }

    /// Makes a hidden one in one of the user's directories.
    pub(super) fn below(root: &Path) -> Result<Self, VmError> {
        let name = format!(".{NAME}");
        remove_orphans(root, &name);
        Self::named(root, &name)
    }

    fn named(root: &Path, name: &str) -> Result<Self, VmError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = root.join(format!("{name}-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    // Without locks (some network file systems), the only loss is that it is not removed after a kill.
                    let lock = File::open(&path).ok().filter(|directory| directory.try_lock().is_ok());
                    return Ok(Self { path, _lock: lock });
                }
                // Left by a killed process that had our pid, or a trap that somebody set.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(VmError::file("making a directory in", root)(error)),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes what this user's killed processes left: directories that can be locked and whose process is gone. (One that
/// was just made is not locked yet, but its process is alive.) Others may have put anything there, so it is opened as
/// in [`places`].
fn remove_orphans(root: &Path, name: &str) {
    for entry in root.read_dir().into_iter().flatten().flatten() {
        let found = entry.file_name();
        let owner = found.to_str().and_then(|found| owner_of(found, name));
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
            && let Some(directory) = places::open_ours(&entry.path())
            && directory.try_lock().is_ok()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The process in the name of such a directory.
fn owner_of<'a>(found: &'a str, name: &str) -> Option<&'a str> {
    let (pid, number) = found.strip_prefix(name)?.strip_prefix('-')?.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(pid) && is_number(number)).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn each_is_another_private_and_gone_at_the_end() {
        let (a, b) = (Scratch::new().unwrap(), Scratch::new().unwrap());
        assert_ne!(a.path(), b.path());
        std::fs::write(a.path().join("file"), "x").unwrap();
        assert_eq!(std::fs::metadata(a.path()).unwrap().permissions().mode() & 0o777, 0o700);
        let gone = a.path().to_owned();
        drop(a);
        assert!(!gone.exists() && b.path().exists());
    }

    #[test]
    fn only_what_a_dead_process_left_is_removed() {
        let root = tempfile::tempdir().unwrap();
        // Above the kernel's largest process id.
        let (dead, alive) = (u32::MAX, std::process::id());
        let names = [
            format!("{NAME}-{dead}-0"),
            format!("{NAME}-{dead}-1"),
            format!("{NAME}-{alive}-99"),
            format!("{NAME}-{dead}"),
            format!("{NAME}-results-{dead}-0"),
            format!("{NAME}-{dead}-0.tar"),
        ];
        for name in &names {
            std::fs::create_dir(root.path().join(name)).unwrap();
            std::fs::write(root.path().join(name).join("file"), "x").unwrap();
        }
        // Locked by a process in a container, which we cannot see.
        let held = File::open(root.path().join(&names[1])).unwrap();
        held.try_lock().unwrap();
        // A trap: opening it would wait for a writer.
        let trap = root.path().join(format!("{NAME}-{dead}-7"));
        drop(schedlab_sys::fd::named_pipe(&trap).unwrap());
        remove_orphans(root.path(), NAME);
        assert!(trap.exists());
        let left: Vec<bool> = names.iter().map(|name| root.path().join(name).exists()).collect();
        assert_eq!(left, [false, true, true, true, true, true]);
        // Beside a result as well.
        let killed = root.path().join(format!(".{NAME}-{dead}-0"));
        std::fs::create_dir(&killed).unwrap();
        let own = Scratch::below(root.path()).unwrap();
        assert!(!killed.exists());
        assert!(File::open(own.path()).unwrap().try_lock().is_err(), "ours is locked");
    }
}
