//! Why sampling did not start, with the fix.

use std::io;

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// Not for this user.
    #[error(
        "the whole machine can be sampled by root, with CAP_PERFMON, or with kernel.perf_event_paranoid of 0 or less (it is \
         {paranoid}): run as root, or profile a command of your own (schedlab profile -- COMMAND)"
    )]
    WholeMachineRefused {
        /// `kernel.perf_event_paranoid`, or why it cannot be read.
        paranoid: String,
    },
    /// Not even our own processes may be sampled.
    #[error(
        "perf events are refused ({cause}; kernel.perf_event_paranoid is {paranoid}): run as root or with CAP_PERFMON, or \
         set it to 2 (own processes) or 1 (their kernel side too); in a container its seccomp filter must allow \
         perf_event_open"
    )]
    Refused {
        /// `kernel.perf_event_paranoid`, or why it cannot be read.
        paranoid: String,
        /// The kernel's error.
        cause: io::Error,
    },
    /// More samples per second than the kernel allows.
    #[error(
        "{asked_hz} samples a second are more than this kernel allows ({most_hz}): ask for fewer (-F), or raise \
             kernel.perf_event_max_sample_rate"
    )]
    TooFast {
        /// What was asked for.
        asked_hz: u32,
        /// `kernel.perf_event_max_sample_rate`.
        most_hz: u32,
    },
    /// Any other error from the kernel.
    #[error("CPU {cpu} cannot be sampled: {cause}")]
    Open {
        /// The CPU.
        cpu: u32,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The list of CPUs.
    #[error("the online CPUs are not known: {0}")]
    Cpus(String),
    /// Something of ours.
    #[error("the samples cannot be collected: {0}")]
    Collector(String),
}
