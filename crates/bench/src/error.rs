//! Errors of workloads: each is one line, with what to do next.

use schedlab_plan::nearest::hint_at;
use std::io;

/// A workload that cannot be named, does not fit the machine, or failed while it ran.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// No workload of this name.
    #[error("unknown workload `{name}`{}; `schedlab list workloads` shows all", hint_at(*.nearest))]
    UnknownWorkload {
        /// As written.
        name: String,
        /// The nearest known name.
        nearest: Option<&'static str>,
    },
    /// The name is known, but the pinned version is not the one that this build runs.
    #[error("this schedlab runs {name}/{ours}, not {name}/{wanted}: results of different versions are never compared")]
    WrongVersion {
        /// The workload.
        name: &'static str,
        /// The version asked for.
        wanted: u32,
        /// The version built in.
        ours: u32,
    },
    /// An option the workload does not have.
    #[error("{workload} has no option `{key}`{}; its options are {}", hint_at(*.nearest), .known.join(", "))]
    UnknownOption {
        /// The workload.
        workload: &'static str,
        /// As written.
        key: String,
        /// The nearest option.
        nearest: Option<&'static str>,
        /// All options.
        known: Vec<&'static str>,
    },
    /// A value that has the wrong form or is out of range.
    #[error("{workload}: {key}={value}: {reason}")]
    BadValue {
        /// The workload.
        workload: &'static str,
        /// The option.
        key: String,
        /// As written.
        value: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// Options that exclude each other or do not work together.
    #[error("{workload}: {reason}")]
    Conflict {
        /// The workload.
        workload: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The workload's tasks do not fit the machine's limits.
    #[error(
        "{workload}: {what} need {needed} and leave {spare} to others, over the limit of {limit} ({source_of_limit}); {fix}"
    )]
    OverLimit {
        /// The workload.
        workload: &'static str,
        /// The tasks that need it: `10 groups × 40 tasks`.
        what: String,
        /// How many are needed.
        needed: u64,
        /// How many are reserved for other processes.
        spare: u64,
        /// How many there may be.
        limit: u64,
        /// Which limit.
        source_of_limit: String,
        /// What to do.
        fix: &'static str,
    },
    /// The machine lacks what the order asks for (a tier, a CPU, a permission).
    #[error("{workload}: {reason}")]
    NotPossibleHere {
        /// The workload.
        workload: &'static str,
        /// What is missing and what to do.
        reason: String,
    },
    /// A system call failed in the control process.
    #[error("{doing}: {cause}{}", hint(.cause))]
    Io {
        /// What was being done.
        doing: String,
        /// The kernel's error.
        cause: io::Error,
    },
    /// A task failed or died; all others were ended.
    #[error("{role} {tid} of group {group} {what}; all tasks were killed, and the trial does not count")]
    TaskFailed {
        /// Its role.
        role: &'static str,
        /// Its thread id.
        tid: u32,
        /// Its group or copy.
        group: u32,
        /// How it failed.
        what: String,
    },
    /// The tasks took many times longer than they should have.
    #[error(
        "the workload hung: {unfinished} of {tasks} tasks had not finished {after_s} s after their release and were killed; \
         check for a stopped or starved task (nice, cpu quota, SCHED_FIFO beside it)"
    )]
    Hung {
        /// Tasks still there.
        unfinished: usize,
        /// Tasks in all.
        tasks: usize,
        /// Seconds waited.
        after_s: u64,
    },
    /// Fewer or more operations arrived than were sent.
    #[error("verification failed: {0}")]
    Verification(String),
    /// A command failed, did not end, or did not print its metric.
    #[error("{0}")]
    Command(String),
    /// The observer wants the trial stopped.
    #[error("{0}")]
    Observer(String),
}

impl BenchError {
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |cause| Self::Io { doing, cause }
    }
}

/// Advice on errors that tasks run into.
fn hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc_errno::EAGAIN) => "; a process limit is reached: raise `ulimit -u` or the cgroup's pids.max",
        Some(libc_errno::EMFILE) => "; too many open files: raise `ulimit -n` or use fewer groups",
        Some(libc_errno::ENFILE) => "; the system's file table is full: raise fs.file-max",
        Some(libc_errno::EPERM | libc_errno::EACCES) => "; it needs more rights (root or a capability)",
        _ => "",
    }
}

/// The few errno values we explain (asm-generic/errno-base.h: the same on every architecture we build for).
mod libc_errno {
    pub(super) const EPERM: i32 = 1;
    pub(super) const EAGAIN: i32 = 11;
    pub(super) const EACCES: i32 = 13;
    pub(super) const ENFILE: i32 = 23;
    pub(super) const EMFILE: i32 = 24;
}
