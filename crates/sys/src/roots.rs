//! Where procfs and sysfs are mounted: parameters, so that tests can use a temporary tree and a guest its own mounts.

use std::path::PathBuf;

/// The roots of procfs and sysfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Normally `/proc`.
    pub proc: PathBuf,
    /// Normally `/sys`.
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into() }
    }
}
