//! The cache of fetched kernels: a directory for each, named by version and checksum. An entry is written under a
//! temporary name and renamed when it is complete; before a file is used, its length and CRC-32 are checked.

mod entry;

pub(crate) use entry::Writer;
pub use entry::{Entry, Package, Stored};

use super::Kernel;
use crate::error::VmError;
use entry::DESCRIPTION;
use schedlab_plan::InOrder;
use schedlab_sys::{durable, places};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Prefix of the names of directories under construction.
const PART: &str = ".part-";

/// The directory of kernels.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// A cache below `root`, which is made with the first entry.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// `$SCHEDLAB_CACHE`, else `schedlab` below `$XDG_CACHE_HOME` or `~/.cache`; without a home, the user's own
    /// directory in `$TMPDIR`.
    pub fn of_this_user() -> Self {
        let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = from("SCHEDLAB_CACHE")
            .or_else(|| Some(from("XDG_CACHE_HOME")?.join("schedlab")))
            .or_else(|| Some(from("HOME")?.join(".cache/schedlab")))
            .unwrap_or_else(|| std::env::temp_dir().join(format!("schedlab-cache-{}", places::effective_uid())));
        Self::new(root)
    }

    /// apt's private state.
    pub(crate) fn apt_root(&self) -> PathBuf {
        self.root.join("apt")
    }

    /// Where the results of guests for this host's KVM are stored.
    pub(crate) fn kvm(&self) -> PathBuf {
        self.root.join("kvm")
    }

    /// Objects of kernels that are built here.
    pub(crate) fn builds(&self) -> PathBuf {
        self.root.join("builds")
    }

    /// States of guests that have booted.
    pub(crate) fn states(&self) -> PathBuf {
        self.root.join("states")
    }

    fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    /// The lock of a process that fetches; removes unfinished directories that no process holds.
    pub(crate) fn lock(&self, say: &mut dyn FnMut(&str)) -> Result<File, VmError> {
        let kernels = self.kernels();
        self.make()?;
        fs::create_dir_all(&kernels).map_err(VmError::file("making", &kernels))?;
        let path = self.root.join("lock");
        let lock = places::lock_file(&path).map_err(VmError::file("locking", &path))?;
        wait_for(&lock, &path, say)?;
        for name in self.names() {
            if name.starts_with(PART) {
                let path = kernels.join(name);
                fs::remove_dir_all(&path).map_err(VmError::file("removing", &path))?;
            }
        }
        Ok(lock)
    }

    /// Makes the directory if it is missing; another user's directory is refused before anything is written to it.
    pub(crate) fn make(&self) -> Result<(), VmError> {
        places::private_directory(&self.root).map_err(VmError::file("making", &self.root))?;
        self.must_be_ours()
    }

    /// Refuses a cache that another user owns or may write to, because we boot what is in it and write to it; this also
    /// applies to root if it was started with the user's home. A missing cache is fine.
    fn must_be_ours(&self) -> Result<(), VmError> {
        match places::is_ours(&self.root) {
            Ok(false) => Err(VmError::Refused(format!(
                "the cache {} belongs to another user, or others may write to it: choose one of yours with SCHEDLAB_CACHE (sudo -H \
                 takes root's)",
                self.root.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Makes a directory for a new entry; call it with the lock held.
    pub(crate) fn begin(&self) -> Result<PathBuf, VmError> {
        let path = self.kernels().join(format!("{PART}{}", std::process::id()));
        fs::create_dir_all(&path).map_err(VmError::file("making", &path))?;
        Ok(path)
    }

    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.kernels()) else { return Vec::new() };
        let mut names: Vec<String> = entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Entries with their directories, the newest first. A directory without a readable description is not an entry.
    pub fn entries(&self) -> Result<Vec<(Entry, PathBuf)>, VmError> {
        self.must_be_ours()?;
        let mut entries: Vec<(Entry, PathBuf)> = self
            .names()
            .iter()
            .filter(|name| !name.starts_with(PART))
            .filter_map(|name| {
                let directory = self.kernels().join(name);
                Some((Entry::of(&directory)?, directory))
            })
            .collect();
        entries.in_order_by_key(|(entry, _)| std::cmp::Reverse(entry.fetched_unix_s));
        Ok(entries)
    }

    /// The newest entry with that name, with every file checked.
    pub fn find(&self, name: &str, architecture: &str) -> Result<Option<Kernel>, VmError> {
        self.must_be_ours()?;
        let kernels = self.kernels();
        match fs::read_dir(&kernels) {
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                return Err(VmError::file("reading the cache (SCHEDLAB_CACHE chooses another)", kernels)(why));
            }
            _ => {}
        }
        let mut entries = self.entries()?.into_iter();
        let found = entries.find(|(entry, _)| entry.name == name && entry.architecture == architecture);
        found.map(|(entry, directory)| entry.open(&directory)).transpose()
    }

    /// Makes the directory `part`, whose files have been written, the entry that `description` describes.
    pub(crate) fn finish(&self, part: &Path, description: &Entry) -> Result<PathBuf, VmError> {
        let text = schedlab_plan::json::pretty(description).map_err(|e| VmError::Refused(e.to_string()))?;
        let file = part.join(DESCRIPTION);
        durable::create(&file, text.as_bytes()).map_err(VmError::file("writing", &file))?;
        let package = description.packages.first();
        let checksum: String = package.map(|p| p.checksum.chars().take(12).collect()).unwrap_or_default();
        let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && !"-.+".contains(c), "_");
        let (kernel, version) = (plain(&description.name.replace(':', "-")), plain(description.version()));
        let name = format!("{kernel}_{version}_{}_{checksum}", description.architecture);
        let target = self.kernels().join(name);
        if target.exists() {
            // Fetched again: with other modules, or because it was damaged. A reader sees either the old or the new
            // one.
            let old = part;
            durable::exchange(part, &target)
                .or_else(|_| {
                    // If the file system cannot exchange names, there is a moment with neither.
                    let aside = self.kernels().join(format!("{PART}old-{}", std::process::id()));
                    fs::rename(&target, &aside)?;
                    fs::rename(part, &target)?;
                    fs::rename(&aside, part)
                })
                .map_err(VmError::file("replacing", &target))?;
            fs::remove_dir_all(old).map_err(VmError::file("removing", old))?;
        } else {
            fs::rename(part, &target).map_err(VmError::file("naming", &target))?;
        }
        durable::sync_directory(&self.kernels()).map_err(VmError::file("writing", self.kernels()))?;
        Ok(target)
    }
}

/// Takes a lock for this process; reports it if another one holds it.
pub(crate) fn wait_for(lock: &File, path: &Path, say: &mut dyn FnMut(&str)) -> Result<(), VmError> {
    if lock.try_lock().is_ok() {
        return Ok(());
    }
    say(&format!("waiting for another schedlab that works there: {}", path.display()));
    lock.lock().map_err(VmError::file("locking", path))
}

#[cfg(test)]
mod tests;
