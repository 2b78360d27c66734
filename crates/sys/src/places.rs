//! Our files and directories among those of other users: files that root acts on later, and files written next to other
//! people's. A link, pipe or device that another user may have put in their place is refused; we never wait for it.
//! Such files are opened only here. Source: open(2), flock(2), path_resolution(7).

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Group and others may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Group and others may do anything.
const OTHERS: u32 = 0o077;

/// A link is refused; opening a pipe does not wait.
const AS_IT_STANDS: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

/// Effective user id of the caller.
pub fn effective_uid() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether the file that a name refers to is ours, and nobody else may write to it. The same is required of the name:
/// in a directory that is open to all, such as /tmp, another user can make a link. `NotFound` if there is no such file.
pub fn is_ours(path: &Path) -> io::Result<bool> {
    let us = effective_uid();
    let (name, place) = (std::fs::symlink_metadata(path)?, std::fs::metadata(path)?);
    Ok(name.uid() == us && place.uid() == us && place.mode() & WRITABLE_BY_OTHERS == 0)
}

/// Makes a directory that only its owner may enter. If it exists and is ours, it is closed to others, because whoever
/// may read a lock file in it can take the lock. `PermissionDenied` if it is another user's, or others may write to it.
pub fn own_directory(path: &Path) -> io::Result<()> {
    private_directory(path)?;
    if !is_ours(path)? {
        return Err(of_others(path));
    }
    if std::fs::metadata(path)?.mode() & OTHERS != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Makes a directory for its owner alone, and its missing parents with the usual mode. An existing directory is not
/// changed.
pub fn private_directory(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(there) if there.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// Opens a lock file without truncating it, and makes it if it is missing. Only its owner may open it, because flock(2)
/// requires no more than an open file. `PermissionDenied` if it is another user's, `InvalidInput` if it is not a
/// regular file.
pub fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(AS_IT_STANDS);
    let file = options.open(path).map_err(|why| if is_link(&why) { no_file(path) } else { why })?;
    let there = file.metadata()?;
    if !there.is_file() {
        return Err(no_file(path));
    }
    if there.uid() != effective_uid() {
        return Err(of_others(path));
    }
    if there.mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Opens a regular file of ours, or a directory of ours, for reading; `None` for everything else.
pub fn open_ours(path: &Path) -> Option<File> {
    let file = OpenOptions::new().read(true).custom_flags(AS_IT_STANDS).open(path).ok()?;
    let there = file.metadata().ok()?;
    (there.uid() == effective_uid() && (there.is_file() || there.is_dir())).then_some(file)
}

/// Opens a regular file for appending, and makes it if it is missing; a link, pipe or device is refused.
pub fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let opened = options.create(true).append(true).custom_flags(AS_IT_STANDS).open(path);
    let file = opened.map_err(|why| if is_link(&why) { no_file(path) } else { why })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file(path)) }
}

/// Makes or truncates, under the name that the user gave, a file that only its owner may read: recordings contain
/// kernel addresses and names of other people's programs. Source: perf-record(1), whose files are 0600 as well.
pub fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let there = file.metadata()?;
    // An existing file keeps its mode when it is opened. A terminal or a pipe is not a file of ours.
    if is_our_file(&there) && there.mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// A file under construction, with an unpredictable name next to its final place. If dropped unfinished, it is removed.
/// [`remove_drafts`] recognises the drafts of killed processes by their locks, which the kernel has released.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    /// What is written to.
    pub file: File,
    is_finished: bool,
}

const DRAFT: (&str, &str) = (".schedlab-", ".part");

impl Draft {
    /// A draft in the directory of `place`, with this mode (less the umask).
    pub fn beside(place: &Path, mode: u32) -> io::Result<Self> {
        loop {
            // Each hasher has a new random seed.
            let number = RandomState::new().hash_one(place);
            let path = place.with_file_name(format!("{}{number:016x}{}", DRAFT.0, DRAFT.1));
            // O_EXCL follows no link.
            match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
                // If a cleaning process took the draft for an orphan before it was locked, make another one. Without
                // locks (some network file systems), the only loss is that drafts are not cleaned up after a kill.
                Ok(file) => match file.try_lock() {
                    Err(TryLockError::WouldBlock) => {}
                    Ok(()) if file.metadata()?.nlink() == 0 => {}
                    _ => return Ok(Self { path, file, is_finished: false }),
                },
                Err(taken) if taken.kind() == ErrorKind::AlreadyExists => {}
                Err(why) => return Err(why),
            }
        }
    }

    /// Gives it its final name; replaces what had that name before, even a link.
    pub fn finish(mut self, place: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, place)?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Writes a complete file, with this mode (less the umask), in a directory where others may have put something under
/// its name, which is replaced.
pub fn write_whole(place: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    let mut draft = Draft::beside(place, mode)?;
    draft.file.write_all(content)?;
    draft.finish(place)
}

/// Removes our drafts that killed processes left in a directory.
pub fn remove_drafts(directory: &Path) {
    for entry in directory.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_draft = name.to_str().is_some_and(|name| name.starts_with(DRAFT.0) && name.ends_with(DRAFT.1));
        if is_draft
            && let Some(file) = open_ours(&entry.path())
            && file.metadata().is_ok_and(|there| there.is_file())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn is_our_file(there: &Metadata) -> bool {
    there.is_file() && there.uid() == effective_uid()
}

fn is_link(why: &io::Error) -> bool {
    why.raw_os_error() == Some(libc::ELOOP)
}

fn of_others(path: &Path) -> io::Error {
    let why = format!("{} belongs to another user, or others may write to it", path.display());
    io::Error::new(ErrorKind::PermissionDenied, why)
}

fn no_file(path: &Path) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("{} is a link or no regular file: remove it", path.display()))
}

#[cfg(test)]
mod tests;
