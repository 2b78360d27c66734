//! The cache of states: what QEMU saved of a guest that had booted and stopped, with a description of what it was made
//! from. A state is used if its description is identical and the file is complete; the oldest ones are removed if all
//! take too much space.

use crate::error::VmError;
use crate::kernel::cache::Cache;
use schedlab_sys::{durable, places};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// First line of a description; other versions are ignored.
const FORMAT: &str = "schedlab state 1";
/// Limit for all of them together. One takes about 100 MiB.
pub const MAX_BYTES: u64 = 2 << 30;
/// Prefix of the names of states that are being written. (`.part-` belonged to versions that remove other processes'
/// files.)
const PART: &str = ".writing-";

/// A complete state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedState {
    /// QEMU's file.
    pub path: PathBuf,
    /// Identifies it: with several CPUs, no two states come out equal.
    pub crc32: u32,
}

/// The directory of states.
#[derive(Debug, Clone)]
pub struct SavedStates {
    root: PathBuf,
    most_bytes: u64,
}

impl SavedStates {
    /// The states in a cache.
    pub fn of(cache: &Cache) -> Self {
        Self { root: cache.states(), most_bytes: MAX_BYTES }
    }

    fn files(&self, made_from: &str) -> (PathBuf, PathBuf) {
        let name = format!("{:08x}", crc32fast::hash(made_from.as_bytes()));
        (self.root.join(format!("{name}.state")), self.root.join(format!("{name}.txt")))
    }

    /// The state that was made from this, which is marked as used; `Err` is the reason why an existing state is
    /// unusable.
    fn find(&self, made_from: &str) -> Result<Option<SavedState>, String> {
        let (path, description) = self.files(made_from);
        let Ok(text) = fs::read_to_string(&description) else { return Ok(None) };
        let Some(said) = text.strip_suffix(made_from) else { return Ok(None) };
        let found = checksum(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        if said != described(found) {
            return Err(format!("{} is damaged", path.display()));
        }
        // The one whose last use is longest ago is removed first.
        let _ = File::options().append(true).open(&description).and_then(|file| file.set_modified(SystemTime::now()));
        Ok(Some(SavedState { path, crc32: found.1 }))
    }

    /// The state made from this; if there is none, `make` writes it into the empty file that it gets. Only one process
    /// makes it at a time.
    pub fn get(
        &self,
        cache: &Cache,
        made_from: &str,
        say: &mut dyn FnMut(&str),
        make: &mut dyn FnMut(&Path) -> Result<(), VmError>,
    ) -> Result<SavedState, VmError> {
        cache.make()?;
        if let Ok(Some(state)) = self.find(made_from) {
            return Ok(state);
        }
        places::private_directory(&self.root).map_err(VmError::file("making", &self.root))?;
        let (part, lock) = self.part(made_from)?;
        let made = match self.find(made_from) {
            Ok(Some(state)) => Ok(state),
            found => {
                if let Err(why) = found {
                    say(&format!("the saved state {why}: creating it again"));
                }
                self.remove_orphans();
                make(&part).and_then(|()| self.store(&part, made_from))
            }
        };
        // If it was renamed it is a state, and its former name now belongs to another process.
        if is_at(&lock, &part) {
            let _ = fs::remove_file(&part);
        }
        made
    }

    /// The file into which this state is written, locked as long as it is open.
    fn part(&self, made_from: &str) -> Result<(PathBuf, File), VmError> {
        let path = self.root.join(format!("{PART}{:08x}", crc32fast::hash(made_from.as_bytes())));
        loop {
            let file = places::lock_file(&path).map_err(VmError::file("locking", &path))?;
            // Without a message, because the wait is for one boot at most, and often for that of a guest running at the
            // same time.
            file.lock().map_err(VmError::file("locking", &path))?;
            // While this process waited, the previous one may have made it a state, or removed it.
            if is_at(&file, &path) {
                return Ok((path, file));
            }
        }
    }

    /// Removes what killed processes had begun to write: nobody holds its lock.
    fn remove_orphans(&self) {
        for part in self.names(PART) {
            if File::open(&part).is_ok_and(|file| file.try_lock().is_ok()) {
                let _ = fs::remove_file(&part);
            }
        }
    }

    fn store(&self, part: &Path, made_from: &str) -> Result<SavedState, VmError> {
        let found = checksum(part).map_err(VmError::file("reading", part))?;
        let (path, description) = self.files(made_from);
        // In between, there is no state, and never one with another's description. The name is changed last: that
        // releases the lock, and nobody who comes then may find a state without its description.
        self.remove(made_from);
        let text = described(found) + made_from;
        places::write_whole(&description, 0o600, text.as_bytes()).map_err(VmError::file("writing", &description))?;
        fs::rename(part, &path).map_err(VmError::file("naming", &path))?;
        durable::sync_directory(&self.root).map_err(VmError::file("writing", &self.root))?;
        self.make_room(&path);
        Ok(SavedState { path, crc32: found.1 })
    }

    /// Removes the state made from this.
    pub fn remove(&self, made_from: &str) {
        let (path, description) = self.files(made_from);
        let _ = fs::remove_file(description);
        let _ = fs::remove_file(path);
    }

    /// Removes those unused for the longest time until the rest fit; except this one.
    fn make_room(&self, not: &Path) {
        let mut all = self.all();
        while all.iter().map(|(_, bytes, _)| bytes).sum::<u64>() > self.most_bytes {
            let others = (0..all.len()).filter(|&place| all[place].2 != not);
            let Some(oldest) = others.min_by_key(|&place| all[place].0) else { return };
            let (.., path) = all.swap_remove(oldest);
            let _ = fs::remove_file(path.with_extension("txt"));
            let _ = fs::remove_file(path);
        }
    }

    /// When each was last used, according to its description; its length, and its file.
    fn all(&self) -> Vec<(SystemTime, u64, PathBuf)> {
        let states = self.names("").into_iter().filter(|path| path.extension().is_some_and(|end| end == "state"));
        let described = |path: PathBuf| {
            let used = fs::metadata(path.with_extension("txt")).and_then(|file| file.modified());
            (used.unwrap_or(SystemTime::UNIX_EPOCH), fs::metadata(&path).map_or(0, |file| file.len()), path)
        };
        states.map(described).collect()
    }

    fn names(&self, begin: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        entries.filter(|e| e.file_name().to_string_lossy().starts_with(begin)).map(|e| e.path()).collect()
    }

    /// Where they are, how many, and their total size; `None` if there are none.
    pub fn summary(&self) -> Option<(&Path, usize, u64)> {
        let all = self.all();
        (!all.is_empty()).then(|| (self.root.as_path(), all.len(), all.iter().map(|(_, bytes, _)| bytes).sum()))
    }
}

/// Whether the open file is the one with this name.
fn is_at(file: &File, path: &Path) -> bool {
    let inode = |of: io::Result<fs::Metadata>| of.ok().map(|of| (of.dev(), of.ino()));
    inode(file.metadata()).is_some_and(|held| inode(fs::symlink_metadata(path)) == Some(held))
}

/// What is written before the description of a state's origin: its length and CRC-32.
fn described((bytes, crc32): (u64, u32)) -> String {
    format!("{FORMAT}\n{bytes} bytes, CRC-32 {crc32:08x}\n")
}

/// A file's length and CRC-32.
fn checksum(path: &Path) -> io::Result<(u64, u32)> {
    let (mut file, mut buffer) = (File::open(path)?, vec![0; 1 << 20]);
    let (mut bytes, mut hasher) = (0, crc32fast::Hasher::new());
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((bytes, hasher.finalize())),
            length => {
                hasher.update(&buffer[..length]);
                bytes += length as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests;
