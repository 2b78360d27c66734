//! What can go wrong with a run directory.

use std::io;
use std::path::{Path, PathBuf};

/// A run directory that cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The kernel refused.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// There is no manifest.
    #[error("{} {}", .dir.display(), not_a_run(.dir, *.is_there))]
    NotARun {
        /// The directory.
        dir: PathBuf,
        /// Whether anything by that name exists.
        is_there: bool,
    },
    /// The directory is in use.
    #[error("{} {}", .dir.display(), if *.is_run { "already contains a run: give another --out (--resume continues an interrupted one)" } else { "is not empty: give another --out" })]
    Occupied {
        /// The directory.
        dir: PathBuf,
        /// Whether it contains a run.
        is_run: bool,
    },
    /// The directory to be written already exists and is not ours.
    #[error("{} already exists and is not empty: give another directory", .path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// Another process is writing this run.
    #[error("{} is being written by another schedlab: wait for it, or give another --out", .dir.display())]
    Busy {
        /// The directory.
        dir: PathBuf,
    },
    /// Nothing is left to do.
    #[error("{} is complete: there is nothing to resume", .dir.display())]
    Complete {
        /// The directory.
        dir: PathBuf,
    },
    /// Written by a later schedlab.
    #[error("{} was written in format {written}; this schedlab reads up to {read}: use a newer schedlab", .path.display())]
    Newer {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        written: u32,
        /// Ours.
        read: u32,
    },
    /// A device, a pipe or a directory in the place of a run's file.
    #[error("{} is not a regular file: a run directory holds files only; restore it from a copy of the run", .path.display())]
    NotAFile {
        /// What is there.
        path: PathBuf,
    },
    /// A link, or something else, in the place of a directory that is written to.
    #[error("{} is not a directory of the run's own: replace it with what it points to, then try again", .path.display())]
    NotADirectory {
        /// What is there.
        path: PathBuf,
    },
    /// The directory cannot be locked, so two writers could not be kept apart.
    #[error("{} is on a file system without locks ({cause}): give an --out on another file system, such as a local disk", .dir.display())]
    NoLocks {
        /// The directory.
        dir: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// A file whose content does not match its name.
    #[error("{} is damaged: {why}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl RunError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::Io { path, cause }
    }
}

fn not_a_run(dir: &Path, is_there: bool) -> &'static str {
    match is_there {
        true if dir.join("rounds").is_dir() => "is a study: each of its rounds/NNN is a run directory",
        true => "is not a run directory: it has no manifest.json",
        false => "is not there",
    }
}
