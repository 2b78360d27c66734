//! What every analysis of a trace reports in addition to its findings: the origin of the trace, its problems, and the
//! definitions of the metrics.

use super::scope::Scope;
use schedlab_plan::counted;
use schedlab_trace::engine::{Counts, Engine};
use schedlab_trace::{Reader, Seconds, Tid, TraceInfo};
use serde::Serialize;

/// A trace and its faults.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TraceFacts {
    /// Its format, as in `perf.data`.
    pub format: String,
    /// Which clock its times are of.
    pub clock: String,
    /// The machine; empty if it is not in the trace, as are the fields below.
    pub hostname: String,
    /// Its kernel.
    pub release: String,
    /// Its architecture.
    pub arch: String,
    /// What recorded it.
    pub recorder: String,
    /// Time of the first event, ns of the trace's clock.
    pub start_ns: u64,
    /// From the first to the last event that was analysed, ns: of the kinds that the analysis reads.
    pub length_ns: u64,
    /// Events that were analysed, of those kinds; all that the file holds are in `events_by_name`. Names and lives of
    /// threads that a recorder notes apart from its events are analysed, and no events.
    pub events: u64,
    /// Every event of the file by name, with its number.
    pub events_by_name: Vec<(String, u64)>,
    /// Wakings traced before the switch-out of the sleep that they ended (repaired).
    pub repaired_wakings: u64,
    /// Wakings of threads that then did not sleep.
    pub cancelled_sleeps: u64,
    /// Threads switched in after a sleep whose waking is not in the trace.
    pub unseen_wakings: u64,
    /// Stretches of some CPU in which events are missing.
    pub gaps: u64,
    /// Those that were found late, because a recorder wrote what shows them after others had gone on: waits that had ended
    /// by then are counted, though they overlap one.
    pub late_gaps: u64,
    /// Filters that match nothing in the trace, a sentence each.
    pub unmatched: Vec<String>,
    /// Problems, a sentence each, most serious first.
    pub problems: Vec<String>,
    /// Where filters narrowed the trace down: the tasks, CPUs and times that it has, for who finds nothing.
    #[serde(skip)]
    pub holds: Option<String>,
}

impl TraceFacts {
    /// After an engine has processed the trace for the request `scope`.
    pub(super) fn of(reader: &Reader, engine: &Engine, scope: &Scope) -> Self {
        Self::new(
            reader,
            (&engine.counts(), engine.span(reader.noted_in_all())),
            &|tid| engine.may_have_met(tid),
            scope,
        )
    }

    /// After the trace was read for the request `scope`. `may_have`: whether the trace may contain a task with this id.
    pub(super) fn new(
        reader: &Reader,
        (counts, span): (&Counts, Option<(u64, u64)>),
        may_have: &dyn Fn(Tid) -> bool,
        scope: &Scope,
    ) -> Self {
        let TraceInfo { format, clock, hostname, release, arch, recorder, events, .. } = reader.info();
        let (start, end) = span.unwrap_or((0, 0));
        Self {
            format: format.to_owned(),
            clock,
            hostname,
            release,
            arch,
            recorder,
            start_ns: start,
            length_ns: end.saturating_sub(start),
            events: counts.events.saturating_sub(reader.noted_in_all()),
            events_by_name: events.into_iter().filter(|(name, _)| !name.is_empty()).collect(),
            repaired_wakings: counts.repaired,
            cancelled_sleeps: counts.cancelled,
            unseen_wakings: counts.unseen_wakings,
            gaps: counts.gaps,
            late_gaps: counts.late_gaps,
            unmatched: scope.unmatched(reader, may_have, (start, end.max(start))),
            problems: reader.problems().all().map(|p| p.to_string()).collect(),
            holds: (*scope != Scope::default()).then(|| holds(counts, (start, end.max(start)))),
        }
    }

    /// Why an analysis found nothing. Without filters it is `known`, which says what the analysis looks for; with
    /// filters, that nothing matches them, and what the trace contains.
    pub fn nothing(&self, known: &str) -> String {
        let Some(holds) = &self.holds else { return known.to_owned() };
        let why = if self.unmatched.is_empty() { known.to_owned() } else { self.unmatched.join("; ") };
        format!("nothing matches the filters: {why}; the trace has {holds}")
    }

    /// Every event of the file, whatever its kind.
    pub fn events_in_file(&self) -> u64 {
        match self.events_by_name.iter().map(|(_, count)| count).sum() {
            0 => self.events,
            events => events,
        }
    }
}

/// What the trace contains for filters to select: `143 tasks on CPUs 0 to 1, from 815.083866 to 816.460630 s`.
fn holds(counts: &Counts, (start, end): (u64, u64)) -> String {
    let cpus = match counts.cpus {
        0 => String::new(),
        1 => " on CPU 0".into(),
        cpus => format!(" on CPUs 0 to {}", cpus - 1),
    };
    format!("{}{cpus}, from {:.6} to {:.6} s", counted(counts.tasks, "tasks"), Seconds(start), Seconds(end))
}

/// What a metric of a trace is, in a sentence that changes only together with its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Definition {
    /// Name and version; numbers of different versions are not compared.
    pub id: &'static str,
    /// From which event to which, and what is in it.
    pub means: &'static str,
}

/// The metrics of single waits and runs.
pub fn definitions() -> &'static [Definition] {
    &[
        Definition {
            id: "wakeup/1",
            means: "sched_waking (sched_wakeup_new for a new thread; sched_wakeup where no waking is recorded) \
                    to the sched_switch that puts the thread on a CPU; a waking traced before the thread's own \
                    switch-out counts from that switch-out",
        },
        Definition { id: "placement/1", means: "sched_waking to sched_wakeup: choosing a CPU and enqueueing there" },
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
