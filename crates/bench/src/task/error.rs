//! Where a task of the workload failed, stored as two words in its cell.

use schedlab_sys::binder::protocol::returned;
use std::io;

/// Where a task failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Ready,
    Read,
    Write,
    /// The token that came back is not the one that was sent; the detail is what came back.
    Token,
    /// The detail is an errno.
    ParentGone,
    Cgroup,
    Affinity,
    /// A transaction as a whole failed.
    Transact,
    Filter,
    SyncWakeUp,
    Memory,
    /// A thread that the task started failed to start, or died.
    Thread,
    Policy,
    BinderOpen,
    ContextManager,
    /// The binder driver returned an error; the detail is its number.
    BinderAnswer,
}

pub(super) const STEPS: [Step; 16] = [
    Step::Ready,
    Step::Read,
    Step::Write,
    Step::Token,
    Step::ParentGone,
    Step::Cgroup,
    Step::Affinity,
    Step::Transact,
    Step::Filter,
    Step::SyncWakeUp,
    Step::Memory,
    Step::Thread,
    Step::Policy,
    Step::BinderOpen,
    Step::ContextManager,
    Step::BinderAnswer,
];

/// Why a task failed, small enough for its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskError {
    pub(crate) step: Step,
    pub(crate) detail: u64,
}

impl TaskError {
    /// For `map_err`: the step and the errno (if the other end was closed, EPIPE).
    pub(crate) fn at(step: Step) -> impl FnOnce(io::Error) -> Self {
        const EPIPE: i32 = 32;
        move |error| Self { step, detail: error.raw_os_error().unwrap_or(EPIPE) as u64 }
    }

    pub(crate) fn describe(self) -> String {
        let errno = || io::Error::from_raw_os_error(self.detail as i32);
        match self.step {
            Step::Ready => format!("could not get ready: {}", errno()),
            Step::Read => format!("could not read: {}", errno()),
            Step::Write => format!("could not write: {}", errno()),
            Step::Token => format!("got a wrong token back ({:#x})", self.detail),
            Step::ParentGone => format!("lost its parent: {}", errno()),
            Step::Affinity => format!("could not be pinned: {}", errno()),
            Step::Cgroup => format!("could not join its cgroup: {}", errno()),
            Step::Transact => format!("could not transact: {}", errno()),
            Step::Filter => format!("could not set up seccomp user notification (Linux 5.0): {}", errno()),
            Step::SyncWakeUp => {
                format!("could not set SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (Linux 6.6): {}", errno())
            }
            Step::Memory => format!("could not reach its client's memory: {}", errno()),
            Step::Thread => format!("could not run its own thread: {}", errno()),
            Step::BinderOpen => format!("could not open the binder device: {}", errno()),
            Step::ContextManager => format!(
                "could not become binder's context manager ({}): name a device that no servicemanager uses (binder-device=PATH)",
                errno()
            ),
            Step::BinderAnswer => format!("got {} from the binder driver", binder_answer(self.detail)),
            Step::Policy => format!("could not set or read its scheduling policy: {}", errno()),
        }
    }
}

/// The driver's own name for what it returned.
fn binder_answer(number: u64) -> &'static str {
    match number as u32 {
        returned::DEAD_REPLY => "BR_DEAD_REPLY (its partner is gone)",
        returned::FAILED_REPLY => "BR_FAILED_REPLY (out of buffer space?)",
        returned::FROZEN_REPLY => "BR_FROZEN_REPLY (its partner is frozen)",
        0 => "no partner in time",
        _ => "BR_ERROR",
    }
}
