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

/// What a trace that was converted says of the one that it was made from, in a line: the format that it is in now has no
/// place for it (a text), or no word (a Perfetto trace whose clock is not known would not open).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The kernel's release; empty where it is not known.
    pub(crate) release: String,
    pub(crate) clock: String,
}

const RELEASE_IS: &str = "converted by schedlab from a trace of kernel ";
const CLOCK_IS: &str = ", clock ";
const UNKNOWN: &str = "(unknown)";

impl Origin {
    pub(crate) fn of(info: &TraceInfo) -> Self {
        Self { release: info.release.clone(), clock: info.clock.clone() }
    }

    pub(crate) fn to_line(&self) -> String {
        let release = if self.release.is_empty() { UNKNOWN } else { &self.release };
        format!("{RELEASE_IS}{release}{CLOCK_IS}{}", self.clock)
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (release, clock) = line.strip_prefix(RELEASE_IS)?.split_once(CLOCK_IS)?;
        let release = if release == UNKNOWN { "" } else { release };
        Some(Self { release: release.to_owned(), clock: clock.to_owned() })
    }
}
