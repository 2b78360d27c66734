//! What a trace says about itself.

use crate::kind::Kinds;

/// Where a trace is from and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceInfo {
    /// Its format, as in `perf.data`.
    pub format: &'static str,
    /// Which clock its times are of.
    pub clock: String,
    /// The machine's name; empty where the trace does not say, like all that follow.
    pub hostname: String,
    /// The kernel's release.
    pub release: String,
    /// The machine's architecture.
    pub arch: String,
    /// What recorded it.
    pub recorder: String,
    /// The command line of the recording.
    pub command: String,
    /// CPUs that were online.
    pub cpus: Option<u32>,
    /// Kinds of events that are in it and were asked for.
    pub kinds: Kinds,
    /// Switches do not say who left the CPU: it is taken to be who was put there, so a break in the chain cannot be seen.
    pub infers_prev: bool,
    /// Every event in it by name, with the number read so far, also of those that are skipped.
    pub events: Vec<(String, u64)>,
}
