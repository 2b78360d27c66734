//! Length of each CPU's queue: the number of threads that ran or waited there, by share of time, and over time.

mod count;
mod lane;

use super::affinity::{self, Affinity};
use super::facts::{Definition, TraceFacts};
use super::follow::follow;
use super::lacking::{NO_SWITCH, lacking};
use super::request::AnalysisRequest;
use super::scope::Scope;
use count::Counter;
use lane::QueueLengths;
use schedlab_trace::engine::Engine;
use schedlab_trace::{Cpu, Kind, Kinds, Reader, TraceError};
use serde::Serialize;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-queues/1";

/// What the numbers mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        id: "queue-length/1",
        means: "runnable threads of a CPU: the one that runs (not the idle thread) and those that wait for it. A woken one \
                waits on its target CPU from sched_wakeup on (from sched_waking on up to the first sched_wakeup of the \
                trace), a preempted one on its CPU; sched_migrate_task moves it. Not known before a CPU's first \
                switch, and from missing events to its next switch. A thread that was already waiting when the trace \
                began, or at a reported loss, counts from its next event on; after a break in the chain of switches \
                it stays counted",
    },
    Definition {
        id: "not-conserved/1",
        means: "time in which a CPU had two or more runnable threads, at least one of them waiting, while another was \
                known to be idle with no thread waiting. Threads that may use only one CPU do not count if the \
                recording is schedlab's, which has the affinities at its start; other affinities are ignored, so this \
                is an upper bound",
    },
];

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    affinity::KINDS.into_iter().fold(Kinds::TASKS, Kinds::with)
}

/// The queue of a CPU, or of all of them one by one.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct QueueRow {
    /// Its number; absent in the row of all CPUs.
    pub cpu: Option<u16>,
    /// Time at each length from 0 on, ns; the last of 4097 is for 4096 and more.
    pub at_ns: Vec<u64>,
    /// Their sum.
    pub known_ns: u64,
    /// The rest of the time, ns.
    pub unknown_ns: u64,
    /// Threads on average over the known time; absent where there is none.
    pub mean: Option<f64>,
    /// The longest.
    pub max: u64,
    /// When it first reached that length, ns of the trace's clock; absent if nothing is known.
    pub max_at_ns: Option<u64>,
    /// Time of threads that ran, ns.
    pub running_ns: u64,
    /// Time of threads that waited, added up, ns; with `running_ns` the lengths added up over the known time.
    pub waiting_ns: u64,
    /// The mean in each slice, absent if unknown; `None` in the row of all CPUs.
    pub slices: Vec<Option<f64>>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queues {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// What the recorded events are not sufficient for.
    pub lacking: Vec<String>,
    /// The event from which a woken thread counts.
    pub counted_from: &'static str,
    /// Where the first slice begins, ns of the trace's clock.
    pub start_ns: u64,
    /// Length of a slice, ns.
    pub slice_ns: u64,
    /// CPUs, by number.
    pub cpus: Vec<QueueRow>,
    /// All of these together.
    pub all: QueueRow,
    /// Time in which some CPU had two or more, of them one that waited and could run elsewhere, ns.
    pub crowded_ns: u64,
    /// The part of it during which another CPU was idle, ns.
    pub not_conserved_ns: u64,
    /// It is known which threads are allowed on one CPU only.
    pub affinity_known: bool,
    /// Part of the lengths from waits that were censored later, ns: the lengths may be too high by this much.
    pub censored_ns: u64,
    /// Known waits that are missing from the lengths, ns: before a CPU was known, or from a waking traced before the
    /// switch-out if no `sched_wakeup` shows it.
    pub missed_ns: u64,
    /// Part of the lengths from waits that the end of the trace cuts off, ns.
    pub unfinished_ns: u64,
}

/// Reads a trace to its end.
/// The scope selects time and CPUs; all threads count, whatever tasks, states and priorities it names.
pub fn queues(reader: &mut Reader, request: &AnalysisRequest) -> Result<Queues, TraceError> {
    let mut counter = counter(reader, request);
    let engine = follow(reader, &Scope::default().tasks, &mut [&mut counter])?;
    Ok(findings(counter, &engine, reader, request))
}

/// The analysis to run while a trace is read.
pub(super) fn counter<'a>(reader: &Reader, request: &'a AnalysisRequest) -> Counter<'a> {
    Counter::new(&request.scope.window, request.slices, Affinity::new(reader))
}

/// The findings, after the trace was read.
pub(super) fn findings(
    mut counter: Counter<'_>,
    engine: &Engine,
    reader: &Reader,
    request: &AnalysisRequest,
) -> Queues {
    let window = &request.scope.window;
    let (start, last) = (counter.slicing.start, engine.span(0).map_or(0, |(_, last)| last));
    let end = counter.end(last);
    let start = start.unwrap_or(end);
    let number = counter.slicing.number(end);
    let is_asked = |cpu: usize| window.cpus.as_ref().is_none_or(|cpus| cpus.contains(&Cpu(cpu as u16)));
    let is_shown = |cpu: usize| start < end && is_asked(cpu);
    let lanes = counter.lanes.iter().enumerate().filter(|(cpu, lane)| lane.seen && is_shown(*cpu));
    let cpus: Vec<QueueRow> =
        lanes.map(|(cpu, lane)| lane.row(cpu as u16, end.saturating_sub(start), number)).collect();
    Queues {
        schema: SCHEMA,
        trace: TraceFacts::of(reader, engine, &request.scope),
        definitions: DEFINITIONS,
        lacking: lacking(
            reader.info().kinds,
            &[
                (Kind::SchedSwitch, NO_SWITCH),
                (Kind::SchedWakeup, "woken threads count from sched_waking on, on the CPU that they had last"),
                (Kind::SchedWakeupNew, "new threads count from their first run on"),
                (
                    Kind::SchedMigrateTask,
                    "a thread that was moved while it waited counts where it was queued until it runs",
                ),
            ],
        ),
        counted_from: if counter.wakeups { Kind::SchedWakeup.name() } else { Kind::SchedWaking.name() },
        start_ns: start,
        slice_ns: counter.slicing.slice_ns,
        all: all(&cpus),
        cpus,
        crowded_ns: counter.crowded_ns,
        not_conserved_ns: counter.not_conserved_ns,
        affinity_known: counter.affinity.is_known(),
        censored_ns: counter.censored_ns,
        missed_ns: counter.missed_ns,
        unfinished_ns: counter.unfinished_ns(),
    }
}

impl QueueLengths {
    fn row(&self, cpu: u16, all_ns: u64, slices: usize) -> QueueRow {
        let mean = |(known, lengths): (u64, u64)| (known > 0).then(|| lengths as f64 / known as f64);
        QueueRow {
            cpu: Some(cpu),
            at_ns: self.at_ns.clone(),
            known_ns: self.known_ns,
            unknown_ns: all_ns.saturating_sub(self.known_ns),
            mean: mean((self.known_ns, self.running_ns.saturating_add(self.waiting_ns))),
            max: self.longest.map_or(0, |(longest, _)| longest),
            max_at_ns: self.longest.map(|(_, at)| at),
            running_ns: self.running_ns,
            waiting_ns: self.waiting_ns,
            slices: (0..slices).map(|at| self.slices.get(at).copied().and_then(mean)).collect(),
        }
    }
}

/// Sums the CPUs into one row, in which the time of each CPU counts.
fn all(cpus: &[QueueRow]) -> QueueRow {
    let mut all = QueueRow::default();
    for row in cpus {
        if row.at_ns.len() > all.at_ns.len() {
            all.at_ns.resize(row.at_ns.len(), 0);
        }
        all.at_ns.iter_mut().zip(&row.at_ns).for_each(|(sum, ns)| *sum = sum.saturating_add(*ns));
        all.known_ns = all.known_ns.saturating_add(row.known_ns);
        all.unknown_ns = all.unknown_ns.saturating_add(row.unknown_ns);
        all.running_ns = all.running_ns.saturating_add(row.running_ns);
        all.waiting_ns = all.waiting_ns.saturating_add(row.waiting_ns);
        if all.max_at_ns.is_none() || row.max > all.max {
            (all.max, all.max_at_ns) = (row.max, row.max_at_ns);
        }
    }
    all.mean = (all.known_ns > 0).then(|| all.running_ns.saturating_add(all.waiting_ns) as f64 / all.known_ns as f64);
    all
}
