//! A directory for the time of one guest, removed when dropped.

use crate::error::VmError;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that only its owner may read: a guest's files may be secrets of the user's.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one below `$TMPDIR`.
    pub fn new() -> Result<Self, VmError> {
        Self::named(&std::env::temp_dir(), "schedlab-vm")
    }

    /// Makes one in a directory of the user's, hidden there.
    pub(super) fn below(root: &Path) -> Result<Self, VmError> {
        Self::named(root, ".schedlab-vm")
    }

    fn named(root: &Path, name: &str) -> Result<Self, VmError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = root.join(format!("{name}-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                // Left by a process that was killed and had our number, or somebody's trap.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(VmError::file("making a directory in", root)(error)),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
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
}
