//! What every analysis of a trace says beside its findings: where the trace is from, what was wrong with it, and what
//! the metrics mean.

use schedlab_trace::engine::Counts;
use schedlab_trace::{Reader, TraceInfo};
use serde::Serialize;

/// A trace and its faults.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TraceFacts {
    /// Its format, as in `perf.data`.
    pub format: String,
    /// Which clock its times are of.
    pub clock: String,
    /// The machine; empty where the trace does not say, like all that follow.
    pub hostname: String,
    /// Its kernel.
    pub release: String,
    /// Its architecture.
    pub arch: String,
    /// What recorded it.
    pub recorder: String,
    /// Time of the first event, s of the trace's clock.
    pub start_s: f64,
    /// From the first to the last event, s.
    pub length_s: f64,
    /// Events that were analysed.
    pub events: u64,
    /// Every event of the file by name, with its number.
    pub events_by_name: Vec<(String, u64)>,
    /// Wakings traced before the switch-out that they ended, and put right.
    pub repaired_wakings: u64,
    /// Wakings of threads that then did not sleep.
    pub cancelled_sleeps: u64,
    /// Threads switched in after a sleep whose waking is not in the trace.
    pub unseen_wakings: u64,
    /// Stretches of some CPU in which events are missing.
    pub gaps: u64,
    /// What was wrong, a sentence each, the gravest first.
    pub problems: Vec<String>,
}

impl TraceFacts {
    /// After the trace was read.
    pub fn new(reader: &Reader, counts: &Counts, span: Option<(u64, u64)>) -> Self {
        let TraceInfo { format, clock, hostname, release, arch, recorder, events, .. } = reader.info();
        let (start, end) = span.unwrap_or((0, 0));
        Self {
            format: format.to_owned(),
            clock,
            hostname,
            release,
            arch,
            recorder,
            start_s: seconds(start),
            length_s: seconds(end.saturating_sub(start)),
            events: counts.events,
            events_by_name: events.into_iter().filter(|(name, _)| !name.is_empty()).collect(),
            repaired_wakings: counts.repaired,
            cancelled_sleeps: counts.cancelled,
            unseen_wakings: counts.unseen_wakings,
            gaps: counts.gaps,
            problems: reader.problems().all().map(|p| p.to_string()).collect(),
        }
    }
}

/// A time of a trace in seconds, as all tools show it.
pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// What a metric of a trace is, in a sentence that changes only together with its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Definition {
    /// Name and version; numbers of different versions are not compared.
    pub id: &'static str,
    /// From which event to which, and what is in it.
    pub means: &'static str,
}

/// All metrics of traces.
pub fn definitions() -> &'static [Definition] {
    &[
        Definition {
            id: "wakeup/1",
            means: "sched_waking (sched_wakeup_new for a new thread; sched_wakeup where the waking is not in the trace) \
                    to the sched_switch that puts the thread on a CPU; a waking traced before the thread's own \
                    switch-out counts from that switch-out",
        },
        Definition { id: "placement/1", means: "sched_waking to sched_wakeup: choosing a CPU and getting there" },
        Definition { id: "queueing/1", means: "sched_wakeup (or sched_wakeup_new) to switched in: the run queue" },
        Definition {
            id: "preempt/1",
            means: "switched out runnable (R: on the way to user mode or by a yield; R+: in the kernel) to switched in; \
                    never part of wakeup/1",
        },
        Definition {
            id: "run/1",
            means: "switched in to switched out, with interrupts in between; up to the end of the trace for who is on a \
                    CPU then",
        },
        Definition {
            id: "censored/1",
            means: "waits that overlap missing events on a CPU where the thread was seen, that contradict what follows, or \
                    that the end of the trace cuts off: counted, and in no distribution",
        },
    ]
}
