//! Messages between the trial process and the subreaper of a command.

use schedlab_sys::rusage::Rusage;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the subreaper is to run, in this order: `warmup` times setup, command, cleanup; then setup, the measured
/// command, cleanup. All of them have the same directory and time-out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Script {
    pub(crate) command: Vec<String>,
    pub(crate) setup: Vec<String>,
    pub(crate) cleanup: Vec<String>,
    pub(crate) warmup: u32,
    pub(crate) dir: Option<PathBuf>,
    pub(crate) timeout_ns: u64,
    /// Whether standard error goes into the same pipe as standard output.
    pub(crate) merged: bool,
    /// Whether it gets its own session and thereby, with autogroup on, its own task group.
    pub(crate) new_session: bool,
    /// The user's RLIMIT_NOFILE: a program that closes every possible descriptor must not see a limit of a million.
    pub(crate) open_files: u64,
}

/// What a process and the children it has waited for have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Usage {
    pub(super) processes: u32,
    pub(super) cpu_ns: u64,
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
    /// Largest resident set of a process.
    pub(super) max_rss_bytes: u64,
    pub(super) minor_faults: u64,
}

impl Usage {
    /// Adds one reaped process.
    pub(super) fn add(&mut self, rusage: &Rusage) {
        self.processes += 1;
        self.cpu_ns += rusage.cpu_ns;
        self.voluntary_switches += rusage.voluntary_switches;
        self.involuntary_switches += rusage.involuntary_switches;
        self.max_rss_bytes = self.max_rss_bytes.max(rusage.max_rss_bytes);
        self.minor_faults += rusage.minor_faults;
    }
}

/// What the measured run came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) command: Usage,
    /// Processes of the command that outlived their parents.
    pub(super) orphans: Usage,
    /// The schedstat of the command's first thread: run_ns, run_delay_ns, timeslices.
    pub(super) schedstat: Option<[u64; 3]>,
    /// CPU time that what `setup` left running used during the command; `None`: it left nothing.
    pub(super) server_cpu_ns: Option<u64>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Whether the beginning of the output is lost.
    pub(super) cut: bool,
    /// Names of processes that were still there at the end and were killed.
    pub(super) left_behind: Vec<String>,
}

/// From the subreaper, one JSON line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Message {
    /// The measured command is forked and blocks before its exec.
    Ready { pid: u32 },
    /// It has ended (CLOCK_MONOTONIC); the subreaper continues when it reads [`GO_ON`].
    Ended { t1_ns: u64 },
    /// Everything is over and everybody gone.
    Finished(Box<Report>),
    /// A step failed; everybody is gone.
    Failed(String),
}

/// Byte to the subreaper: the command's end has been recorded.
pub(super) const GO_ON: u8 = b'c';
/// Byte to the subreaper: end the command now.
pub(super) const STOP: u8 = b's';
