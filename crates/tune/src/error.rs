//! Errors of the host or of our own state. A setting that is not applied is not an error but an `Applied`.

use crate::roots::{RUN, state_dir};
use std::io;
use std::path::{Path, PathBuf};

/// Why settings could not be guarded, or the host not be restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// Another schedlab is changing this host.
    #[error(
        "another schedlab (pid {pid}) is changing settings of this host; wait for it, or terminate it (it restores them)"
    )]
    Busy {
        /// The holder of the lock, as written in the lock file.
        pid: String,
    },
    /// The state directory or the journal cannot be used; without it nothing is written to the host.
    #[error("{path} cannot be used, and no setting is changed without a journal: make it writable, or run as root")]
    State {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others could put a journal there.
    #[error(
        "{path} belongs to another user, or others may write to it, so its journals cannot be trusted: make it yours alone \
         (chown, chmod go-w){}",
        or_elsewhere(path)
    )]
    NotOurs {
        /// The state directory.
        path: PathBuf,
    },
    /// A killed run's journal cannot be read in full.
    #[error("{path}: {why}")]
    Unreadable {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it, and the fix.
        why: String,
    },
    /// A value could not be put back.
    #[error(
        "{knob}: the original value `{original}` could not be put back: {why}; `schedlab tune restore` tries again"
    )]
    NotRestored {
        /// The setting's key.
        knob: String,
        /// The value that belongs there.
        original: String,
        /// What happened.
        why: String,
    },
    /// Two settings of one arm write the same kernel file.
    #[error("`{first}` and `{second}` set the same thing ({path}); keep one of them")]
    SameKnob {
        /// A setting's key.
        first: String,
        /// Another's.
        second: String,
        /// What both would write.
        path: PathBuf,
    },
    /// A setting that this machine can never take.
    #[error("{0}")]
    Impossible(String),
}

/// The variable decides only where the journals of a user are, not those of root or of a tree of files.
fn or_elsewhere(state: &Path) -> &'static str {
    if state != Path::new(RUN) && state == state_dir() { ", or set XDG_STATE_HOME" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_directory_is_advised_only_where_the_variable_decides() {
        let advises = |path: PathBuf| TuneError::NotOurs { path }.to_string().contains("XDG_STATE_HOME");
        assert!(!advises("/a/tree/run/schedlab".into()) && !advises(RUN.into()));
        assert_eq!(advises(state_dir()), state_dir() != Path::new(RUN));
    }
}
