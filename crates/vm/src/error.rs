//! Errors around guests: each names the step and the fix.

use crate::cpio::CpioError;
use crate::frame::FrameError;
use crate::host::kvm::Failure;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

/// How to go without KVM.
pub(crate) const WITHOUT_KVM: &str =
    "--accel tcg of `vm`, `accelerator = \"tcg\"` of a plan's [guest], boots the guest translated";

/// Why there is no guest, or no result from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VmError {
    /// A file or directory of the host.
    #[error("{what} {path}: {cause}", path = path.display())]
    File {
        /// The operation: `reading`, `writing`.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why it failed.
        cause: std::io::Error,
    },
    /// A program that is needed is not installed.
    #[error("{program} is not installed; {fix}")]
    NoProgram {
        /// Its name.
        program: String,
        /// How to get it.
        fix: String,
    },
    /// A program failed.
    #[error("{step}: `{command}` failed: {said}")]
    Program {
        /// The step it was run for.
        step: &'static str,
        /// The command line.
        command: String,
        /// The last lines of its output.
        said: String,
    },
    /// A kernel could not be configured or compiled.
    #[error("{step}: `make … {target}` failed: {said}")]
    Make {
        /// The step it was run for.
        step: &'static str,
        /// What was to be made.
        target: String,
        /// The first lines that are errors.
        said: String,
        /// All its errors and warnings.
        log: String,
    },
    /// A build or a guest ended because of too little disk space or memory.
    #[error("{step}: this machine has too little room or memory: {said}")]
    Resources {
        /// The step it was run for.
        step: &'static str,
        /// The first lines that are errors.
        said: String,
    },
    /// The words contradict themselves, on any machine.
    #[error("{0}")]
    Words(String),
    /// What the user asked for is not possible.
    #[error("{0}")]
    Refused(String),
    /// The initramfs.
    #[error("the initramfs: {0}")]
    Initramfs(CpioError),
    /// QEMU ended by itself.
    #[error("QEMU ended {when} ({status}): {said}")]
    QemuDied {
        /// When that happened.
        when: &'static str,
        /// Its exit status.
        status: String,
        /// The last lines of its output, or of the console's.
        said: String,
    },
    /// The guest does not run under KVM.
    #[error("under KVM {evidence}; {WITHOUT_KVM}", evidence = .0.evidence)]
    Kvm(Failure),
    /// Saving a guest's state, or restoring it.
    #[error("the state of the guest's machine: {0}")]
    SavedState(String),
    /// The guest's kernel panicked.
    #[error("the guest's kernel panicked {when}: {reason}{hint}; its last lines:\n{tail}")]
    Panic {
        /// When that happened.
        when: &'static str,
        /// `Kernel panic - not syncing: …`.
        reason: String,
        /// What to do about it, with a leading `; ` or empty.
        hint: &'static str,
        /// The console's last lines.
        tail: String,
    },
    /// Nothing came in time.
    #[error("the guest did not {goal} within {limit:?} and was ended; {said}")]
    TimeOut {
        /// What it should have done.
        goal: &'static str,
        /// The limit.
        limit: Duration,
        /// The fix, and the console's last lines.
        said: String,
    },
    /// The guest could not do its job.
    #[error("in the guest: {0}")]
    Guest(String),
    /// The port carried something else.
    #[error("{0}; does something else in the guest write to its second serial port?")]
    Port(FrameError),
    /// The user pressed Ctrl-C.
    #[error("interrupted: the guest was ended")]
    Interrupted,
    /// The same while a kernel was being built.
    #[error("interrupted; what is compiled is kept: the same command goes on from there")]
    BuildInterrupted,
}

// Without a source, because the sentence includes it, and printing the whole chain would repeat it.
impl From<CpioError> for VmError {
    fn from(cause: CpioError) -> Self {
        Self::Initramfs(cause)
    }
}

impl From<FrameError> for VmError {
    fn from(cause: FrameError) -> Self {
        Self::Port(cause)
    }
}

impl VmError {
    /// Whether the cause is a shortage on this machine, which says nothing about a kernel. A machine without the kernel
    /// does not count.
    pub fn is_of_machine(&self) -> bool {
        match self {
            Self::File { what, cause, .. } => *what != READING_KERNEL || cause.kind() != ErrorKind::NotFound,
            Self::Program { said, .. } | Self::QemuDied { said, .. } => ends_for_want(said),
            other => matches!(other, Self::NoProgram { .. } | Self::Resources { .. }),
        }
    }

    /// For `map_err` after an operation on a file.
    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File { what, path, cause }
    }
}

/// The operation on a kernel's file.
pub(crate) const READING_KERNEL: &str = "reading the kernel";

/// Whether a line of a program's output ends in libc's message for ENOSPC, EDQUOT or ENOMEM.
pub(crate) fn ends_for_want(said: &str) -> bool {
    let words = [": No space left on device", ": Disk quota exceeded", ": Cannot allocate memory"];
    said.lines().any(|line| words.iter().any(|words| line.trim_end().ends_with(words)))
}
