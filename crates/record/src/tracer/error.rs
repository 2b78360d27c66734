//! Why a trace cannot be taken, and what to do about it.

use std::io;
use std::path::PathBuf;

/// A trace that could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TracerError {
    /// No tracefs, or no permission to use it.
    #[error(
        "tracefs cannot be used here ({cause}): it needs root and a kernel with CONFIG_TRACING; in a container run on the host, or trace in a guest (schedlab vm run)"
    )]
    NoTracefs {
        /// The kernel's error.
        cause: io::Error,
    },
    /// The entry that records the instance's owner could not be made.
    #[error(
        "{path}: {cause}; instances of killed recordings are found by these entries, so no instance is created without one"
    )]
    NoEntry {
        /// Where.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// Neither an instance nor perf's rings are available.
    #[error("{tracefs}; nor can perf's ring buffers be read instead: {perf}")]
    Neither {
        /// Why there is no instance.
        tracefs: Box<Self>,
        /// Why there are no rings.
        perf: Box<Self>,
    },
    /// A tracepoint that perf cannot open.
    #[error("perf_event_open of tracepoints on CPU {cpu}: {cause}{fix}")]
    Refused {
        /// Which CPU.
        cpu: u32,
        /// The kernel's error.
        cause: io::Error,
        /// What to do, with its leading punctuation; empty if nothing is known.
        fix: &'static str,
    },
    /// perf's rings, if nobody reads them, stop when the first is full.
    #[error("unread events need a tracefs instance: leave out --source perf")]
    UnreadRings,
    /// A file of the instance that could not be read or written.
    #[error("{path}: {cause}{fix}")]
    File {
        /// Which.
        path: PathBuf,
        /// The kernel's error.
        cause: io::Error,
        /// What to do, with its leading punctuation; empty if nothing is known.
        fix: &'static str,
    },
    /// An event that this kernel does not have.
    #[error("this kernel has no event {system}:{name}; leave its group out (--events)")]
    NoEvent {
        /// Its system.
        system: &'static str,
        /// Its name.
        name: &'static str,
    },
    /// An event format that cannot be parsed.
    #[error("the kernel's event formats cannot be parsed: {0}")]
    Layout(String),
    /// The recording could not be written.
    #[error("{path} cannot be written: {cause}")]
    Output {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A thread of the recorder could not be started, or died.
    #[error("a reader thread of the trace {0}")]
    Thread(String),
}

impl TracerError {
    pub(super) fn file(path: impl Into<PathBuf>, fix: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File { path, cause, fix }
    }
}
