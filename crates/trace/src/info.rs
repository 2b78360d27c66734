//! What a trace contains about itself.

use crate::kind::Kinds;

/// The origin of a trace, and what it contains.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceInfo {
    /// Its format, as in `perf.data`.
    pub format: &'static str,
    /// The clock of its times.
    pub clock: String,
    /// The machine's name; like all that follow, empty if the trace does not have it.
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
    /// The kinds of events that it contains and that were asked for.
    pub kinds: Kinds,
    /// Switches do not name the thread that leaves the CPU: it is inferred to be the one switched in before, so a break
    /// in the chain cannot be seen.
    pub infers_prev: bool,
    /// Every event in it by name, with the number read so far, including skipped events.
    pub events: Vec<(String, u64)>,
}

/// What a converted trace contains about its source, in one line: its current format has no field for it (a text), or
/// none that could be used (a Perfetto trace with an unknown clock would not open).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The kernel's release; empty if unknown.
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
