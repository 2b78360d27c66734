//! A temporary directory for a benchmark.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Removed on drop, unless it is to be kept.
pub struct Scratch {
    dir: PathBuf,
    keep: bool,
}

impl Scratch {
    /// `keep` names a directory that is kept; otherwise a directory for temporary files is created and removed.
    pub fn new(name: &str, keep: Option<&Path>) -> Result<Self> {
        let own = || std::env::temp_dir().join(format!("schedlab-bench-{name}-{}", std::process::id()));
        let dir = keep.map_or_else(own, Path::to_owned);
        std::fs::create_dir_all(&dir).with_context(|| format!("{} cannot be made", dir.display()))?;
        Ok(Self { dir, keep: keep.is_some() })
    }

    /// A file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
