//! The numbers of one trace that can be compared with those of another: per second, or per wait.

use super::names::group;
use super::threads::{self, Group};
use super::{DiffOptions, DiffTrace};
use crate::trace::follow::{Analysis, follow_in_two_threads};
use crate::trace::lacking::lacking as lacks;
use crate::trace::scope::Scope;
use crate::trace::{AnalysisRequest, Blame, Chains, TraceFacts, blame, chains, queues};
use schedlab_trace::{Kind, Kinds, Reader, TraceError, for_each_batch};
use std::collections::BTreeMap;
use std::fmt;

/// Why two sides cannot be compared: a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffError(pub(super) String);

impl fmt::Display for DiffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DiffError {}

/// Events that affect the numbers: only those that every trace has are used. The text is the consequence if some traces
/// lack them.
const COUNTED: [(Kind, &str); 9] = [
    (Kind::SchedSwitch, ""),
    (Kind::SchedWaking, "waits after wakeups begin at sched_wakeup, when a queue has the thread"),
    (Kind::SchedWakeup, "a woken thread counts in queues from sched_waking on"),
    (Kind::SchedWakeupNew, "first waits of new threads are left out"),
    (Kind::SchedMigrateTask, "a thread that was moved while it waited is taken to have waited where it ran"),
    (Kind::IrqHandlerEntry, "time in hard interrupts is part of the thread that they interrupt"),
    (Kind::IrqHandlerExit, ""),
    (Kind::SoftirqEntry, "time in soft interrupts is part of the thread that they interrupt"),
    (Kind::SoftirqExit, ""),
];

/// The events in a trace, and the time that it spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceSurvey {
    kinds: Kinds,
    span: Option<(u64, u64)>,
}

impl TraceSurvey {
    /// From the first event to the last, ns of the trace's clock; `None` for a trace without events.
    pub fn span(&self) -> Option<(u64, u64)> {
        self.span
    }
}

/// Reads a trace to its end for the kinds of its events, because a text trace shows only at its end which it has.
pub fn look(reader: &mut Reader) -> Result<TraceSurvey, TraceError> {
    let mut span: Option<(u64, u64)> = None;
    for_each_batch(reader, |batch, _| {
        // Events about the state before the recording have no time.
        let first = batch.iter().find(|event| !event.is_from_before());
        if let (Some(first), Some(last)) = (first, batch.last()) {
            span = Some((span.map_or(first.ts, |(start, _)| start), last.ts));
        }
    })?;
    Ok(TraceSurvey { kinds: reader.info().kinds, span })
}

/// The kinds of events to look for.
pub fn wanted() -> Kinds {
    COUNTED.iter().fold(Kinds::TASKS, |kinds, (kind, _)| kinds.with(*kind))
}

/// The parts of the traces that are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The kinds of events to read from each.
    pub kinds: Kinds,
    /// Whether waits after wakeups can be compared: if one side has the wakings and the other the wakeups, they cannot.
    pub(super) wakeups: bool,
    /// What some traces have and others lack, one sentence each.
    pub(super) notes: Vec<String>,
}

/// The events that both sides have; each trace comes with the name of its file.
pub fn compared(a: &[(String, TraceSurvey)], b: &[(String, TraceSurvey)]) -> Result<Compared, DiffError> {
    let all = || a.iter().chain(b);
    if let Some((file, _)) = all().find(|(_, looked)| looked.span.is_none()) {
        return Err(DiffError(format!(
            "{file} has no scheduler events: record with `schedlab record -d 5s`, and see `schedlab trace check {file}`"
        )));
    }
    if let Some((file, _)) = all().find(|(_, looked)| !looked.kinds.has(Kind::SchedSwitch)) {
        return Err(DiffError(format!(
            "{file} has no sched_switch, so it is not known who ran: record with `schedlab record` or `perf sched record`"
        )));
    }
    let in_all = |kind: Kind| all().all(|(_, looked)| looked.kinds.has(kind));
    let lacked: Vec<(Kind, &str)> = COUNTED.iter().copied().filter(|(kind, _)| !in_all(*kind)).collect();
    let kinds = wanted().iter().filter(|kind| lacked.iter().all(|(lack, _)| lack != kind));
    let kinds = kinds.fold(Kinds::default(), Kinds::with);
    let wakeups = kinds.has(Kind::SchedWaking) || kinds.has(Kind::SchedWakeup);
    let has =
        |side: &[(String, TraceSurvey)], kind: Kind| side.iter().filter(|(_, looked)| looked.kinds.has(kind)).count();
    let mut notes = Vec::new();
    for (kind, then) in lacked.into_iter().filter(|(_, then)| !then.is_empty()) {
        let of = |name: &str, side: &[(String, TraceSurvey)]| match has(side, kind) {
            0 => format!("not in {name}"),
            n if n == side.len() => format!("in {name}"),
            n => format!("in {n} of {} traces of {name}", side.len()),
        };
        if has(a, kind) + has(b, kind) > 0 {
            let (mut of_a, mut of_b, name) = (of("A", a), of("B", b), kind.name());
            if has(a, kind) == 0 {
                std::mem::swap(&mut of_a, &mut of_b);
            }
            let is_of_wakeups = matches!(kind, Kind::SchedWaking | Kind::SchedWakeup);
            let then = if is_of_wakeups && !wakeups { "waits after wakeups are not compared" } else { then };
            notes.push(format!("{name} is {of_a} and {of_b}, so it is used of no trace: {then}"));
        }
    }
    Ok(Compared { kinds, wakeups, notes })
}

/// A number and a total time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    pub(super) number: u64,
    pub(super) ns: u64,
}

/// Queues of all CPUs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lengths {
    pub(super) mean: Option<f64>,
    pub(super) crowded: f64,
    pub(super) not_conserved: f64,
    pub(super) affinity_known: bool,
}

/// The numbers of one trace.
#[derive(Debug, Clone)]
pub struct TraceMetrics {
    pub(super) file: String,
    pub(super) facts: TraceFacts,
    pub(super) trace: DiffTrace,
    pub(super) groups: BTreeMap<String, Group>,
    /// For how long threads of other names waited behind these, ns.
    pub(super) behind_ns: BTreeMap<String, u64>,
    pub(super) pairs: BTreeMap<String, Times>,
    pub(super) paths: BTreeMap<String, Times>,
    pub(super) lengths: Lengths,
    /// Whether the groups have stretches.
    pub(super) in_stretches: bool,
    /// What cannot be measured from these events.
    pub(super) lacking: Vec<String>,
}

impl TraceMetrics {
    pub(super) fn per_second(&self, number: u64) -> f64 {
        number as f64 / self.trace.seconds
    }
}

/// Measures a trace that was opened for [`Compared::kinds`]. With `in_stretches`, the result of an earlier pass, it
/// also measures each stretch; that is needed if a side is a single trace.
pub fn measure(
    file: &str,
    reader: &mut Reader,
    options: &DiffOptions,
    in_stretches: Option<TraceSurvey>,
) -> Result<TraceMetrics, TraceError> {
    let scope = Scope { tasks: options.tasks.clone(), ..Scope::default() };
    let request = AnalysisRequest { scope, slices: 1, ..AnalysisRequest::default() };
    let mut of_threads = threads::Counter::new(&options.tasks, in_stretches.and_then(|looked| looked.span));
    let (mut blamed, mut chained) = (blame::counter(reader, &request), chains::tracker(&request));
    let mut queued = queues::counter(reader, &request);
    // The two halves take about the same time.
    let here: &mut [&mut dyn Analysis] = &mut [&mut blamed, &mut of_threads];
    let there: &mut [&mut dyn Analysis] = &mut [&mut chained, &mut queued];
    let engine = follow_in_two_threads(reader, &options.tasks, here, there)?;

    let blamed = blame::findings(blamed, &engine, reader, &request);
    let chained = chains::findings(&chained, &engine, reader, &request);
    let queued = queues::findings(queued, &engine, reader, &request);
    let groups = of_threads.groups(&engine, reader, options.whole_names);
    let named = |name: &str| group(name, options.whole_names);
    let facts = TraceFacts::of(reader, &engine, &request.scope);
    let share = |ns: u64| ns as f64 / facts.length_ns.max(1) as f64;
    let all_ns = queued.all.known_ns + queued.all.unknown_ns;
    let trace = DiffTrace {
        file: file.to_owned(),
        format: facts.format.clone(),
        release: facts.release.clone(),
        seconds: facts.length_ns as f64 / 1e9,
        waits: groups.waits,
        censored: groups.censored,
        gaps: facts.gaps,
        unknown: queued.all.unknown_ns as f64 / all_ns.max(1) as f64,
    };
    let lengths = Lengths {
        mean: queued.all.mean,
        crowded: share(queued.crowded_ns),
        not_conserved: share(queued.not_conserved_ns),
        affinity_known: queued.affinity_known,
    };
    let mut lacking = blamed.lacking.clone();
    let kinds = reader.info().kinds;
    if kinds.has(Kind::SchedWaking) || kinds.has(Kind::SchedWakeup) {
        lacking.extend(lacks(kinds, &[chains::NEW_THREADS]));
    }
    Ok(TraceMetrics {
        file: file.to_owned(),
        facts,
        trace,
        groups: groups.by_name,
        behind_ns: behind(&blamed, named),
        pairs: pairs(&chained, named),
        paths: paths(&chained, named),
        lengths,
        in_stretches: in_stretches.is_some(),
        lacking,
    })
}

/// For each name, how long threads of other names waited behind its threads.
fn behind(blamed: &Blame, named: impl Fn(&str) -> String) -> BTreeMap<String, u64> {
    let mut behind_ns = BTreeMap::new();
    for victim in &blamed.victims {
        let of_victim = named(&victim.comm);
        for share in victim.shares.iter().filter(|share| share.kind != "idle" && share.kind != "placing") {
            let cause = named(&share.cause);
            if cause != of_victim {
                *behind_ns.entry(cause).or_default() += share.ns;
            }
        }
    }
    behind_ns
}

/// Wakeups by waker and wakee.
fn pairs(chained: &Chains, named: impl Fn(&str) -> String) -> BTreeMap<String, Times> {
    let each = chained
        .pairs
        .iter()
        .map(|pair| (format!("{} → {}", named(&pair.waker), named(&pair.wakee)), (pair.wakeups, pair.waited_ns)));
    times(each)
}

/// Chains by their path.
fn paths(chained: &Chains, named: impl Fn(&str) -> String) -> BTreeMap<String, Times> {
    let name = |path: &[String]| path.iter().map(|name| named(name)).collect::<Vec<_>>().join(" → ");
    times(chained.paths.iter().map(|path| (name(&path.path), (path.chains, path.delay_ns))))
}

fn times(each: impl Iterator<Item = (String, (u64, u64))>) -> BTreeMap<String, Times> {
    let mut sums = BTreeMap::<String, Times>::new();
    for (name, (number, ns)) in each {
        let times = sums.entry(name).or_default();
        (times.number, times.ns) = (times.number + number, times.ns + ns);
    }
    sums
}

/// Refuses to count a recording twice: under two names, or on both sides.
pub(super) fn same_recording(a: &[TraceMetrics], b: &[TraceMetrics]) -> Result<(), DiffError> {
    let all: Vec<&TraceMetrics> = a.iter().chain(b).collect();
    for (at, one) in all.iter().enumerate() {
        let is_same = |other: &&&TraceMetrics| {
            let ran_ns = |of: &TraceMetrics| of.groups.values().map(|group| group.ran_ns).sum::<u64>();
            let key = |of: &TraceMetrics| {
                (of.facts.start_ns, of.facts.length_ns, of.facts.events, of.trace.waits, ran_ns(of))
            };
            key(one) == key(other) && one.facts.clock == other.facts.clock && one.groups.keys().eq(other.groups.keys())
        };
        if let Some(other) = all[..at].iter().find(is_same) {
            return Err(DiffError(format!(
                "{} and {} are the same recording: a difference needs two: give another file",
                other.file, one.file
            )));
        }
    }
    Ok(())
}
