//! What happened in the slowest operations of a workload. Their time stamps use the clock of the trace, so each
//! operation is a window of the trace, and its time is explained from its end back to its beginning.

mod path;
mod timeline;

use super::facts::{Definition, TraceFacts};
use super::filter::TaskFilter;
use super::follow::follow;
use super::labels;
use super::lacking::lacking;
use super::lanes::CpuActivity;
use super::scope::Scope;
use path::{Step, Threads};
use schedlab_plan::{InOrder, SlowOperation};
use schedlab_trace::engine::{Began, Engine};
use schedlab_trace::{Cpu, Kind, Kinds, Name, Names, Reader, Tid, TraceError};
use serde::Serialize;
use std::collections::BTreeSet;
use timeline::{Piece, ThreadActivity, Timelines, WaitPart, Waited};

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-slow/1";

/// What the numbers mean.
pub const DEFINITIONS: &[Definition] = &[Definition {
    id: "slow/1",
    means: "a stamped operation from its first stamp to its last, walked back from its end: the thread that saw the end \
            ran, waited for a CPU (divided by what that CPU did, as blame/1), or slept. Where it slept until a thread \
            woke it, that thread is followed from the waking back instead; a sleep until an interrupt, or until \
            a thread of which nothing is known, stays one. The \
            parts add up to the operation; not known is what overlaps missing events or the ends of the trace",
}];

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    super::blame::wanted()
}

/// What a part of an operation's time went into.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SlowPart {
    /// `ran`, `waited`, `slept` or `unknown`.
    pub did: &'static str,
    /// The thread that ran or slept, or that had the CPU during a wait; in parentheses if it is not a thread.
    pub whom: String,
    /// The id of that thread, where it is one.
    pub tid: Option<u32>,
    /// The CPU that was waited for.
    pub cpu: Option<u16>,
    /// Time, ns.
    pub ns: u64,
}

/// A step of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SlowStep {
    /// Whose.
    pub comm: String,
    /// Its id.
    pub tid: u32,
    /// `ran`, `waited`, `slept` or `unknown`.
    pub did: &'static str,
    /// From the operation's begin, ns.
    pub offset_ns: u64,
    /// How long, ns.
    pub ns: u64,
    /// The CPU it ran on, or on which it ran after waiting.
    pub cpu: Option<u16>,
    /// For a wait: the CPU where it had run before, if that was another one.
    pub from_cpu: Option<u16>,
    /// For a wait: moves from queue to queue meanwhile.
    pub moves: u32,
    /// For a sleep: `S`, `D`, `I`, `T`.
    pub state: Option<&'static str>,
    /// For a wait, the waker, `(interrupt)` if it is not a thread; absent after a preemption. For a sleep, the thread
    /// that ended it, where it is not known what that did; absent where an interrupt ended it.
    pub waker: Option<String>,
    /// For a wait: what the CPU did, the longest first.
    pub behind: Vec<SlowPart>,
}

/// A thread of an operation's path, over all of the operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SlowTask {
    /// Its name.
    pub comm: String,
    /// Its id.
    pub tid: u32,
    /// On a CPU, ns.
    pub running_ns: u64,
    /// Waiting for one, ns.
    pub waiting_ns: u64,
    /// Asleep, ns.
    pub sleeping_ns: u64,
    /// The rest, ns.
    pub unknown_ns: u64,
    /// Switched in on another CPU than before.
    pub migrations: u64,
}

/// One operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SlowRow {
    /// The distribution that it is counted in.
    pub name: String,
    /// How long it took, ns.
    pub ns: u64,
    /// When it began, ns of the trace's clock.
    pub start_ns: u64,
    /// When it ended, ns.
    pub end_ns: u64,
    /// The thread that saw its end.
    pub comm: String,
    /// Its id.
    pub tid: u32,
    /// Its group or copy.
    pub group: u32,
    /// Where the time went, largest part first.
    pub parts: Vec<SlowPart>,
    /// The same in the order of time.
    pub steps: Vec<SlowStep>,
    /// Earlier steps were too many to be kept.
    pub cut: bool,
    /// The threads in it.
    pub tasks: Vec<SlowTask>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slow {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// What the recorded events are not sufficient for.
    pub lacking: Vec<String>,
    /// The operations, slowest first.
    pub operations: Vec<SlowRow>,
    /// Operations that are not shown.
    pub more_operations: u64,
    /// Operations outside the trace: another clock, or a flight recorder that kept less.
    pub outside: u64,
}

/// Reads a trace to its end and explains these operations, the slowest first; all if `top` is `None`.
pub fn slow(reader: &mut Reader, operations: &[SlowOperation], top: Option<usize>) -> Result<Slow, TraceError> {
    let mut wanted: Vec<&SlowOperation> = operations.iter().collect();
    wanted.in_order_by_key(|operation| (std::cmp::Reverse(operation.ns()), operation.start_ns));
    wanted.truncate(top.unwrap_or(usize::MAX));
    let mut timelines = Timelines::new(wanted.iter().map(|o| (o.start_ns, o.end_ns)).collect());
    let engine = follow(reader, &TaskFilter::default(), &mut [&mut timelines])?;
    let (names, span) = (reader.names(), engine.span(reader.noted_in_all()).unwrap_or((0, 0)));
    let is_outside = |o: &SlowOperation| o.end_ns <= span.0 || o.start_ns >= span.1;
    let row = |(operation, pieces): (&&SlowOperation, _)| row(operation, pieces, &engine, names);
    Ok(Slow {
        schema: SCHEMA,
        trace: TraceFacts::of(reader, &engine, &Scope::default()),
        definitions: DEFINITIONS,
        lacking: lacking(
            reader.info().kinds,
            &[
                (Kind::SchedWaking, "wakers are not known: sleeps are not followed"),
                (
                    Kind::SchedMigrateTask,
                    "a thread that was moved while it waited is taken to have waited where it ran",
                ),
                (Kind::IrqHandlerEntry, "time in hard interrupts is charged to the interrupted thread"),
                (Kind::SoftirqEntry, "time in soft interrupts is charged to the interrupted thread"),
            ],
        ),
        operations: wanted.iter().zip(&timelines.pieces).map(row).collect(),
        more_operations: operations.len().saturating_sub(wanted.len()) as u64,
        outside: wanted.iter().filter(|operation| is_outside(operation)).count() as u64,
    })
}

fn row<'p>(
    operation: &SlowOperation,
    pieces: impl IntoIterator<Item = &'p Piece>,
    engine: &Engine,
    names: &Names,
) -> SlowRow {
    let threads = Threads::new(pieces);
    let window = (operation.start_ns, operation.end_ns);
    let (steps, cut) = threads.path(Tid(operation.tid), window);
    let of = Named { threads: &threads, engine, names };
    let rows: Vec<SlowStep> = steps.iter().map(|step| of.step(step, window.0)).collect();
    let met: BTreeSet<Tid> = steps.iter().map(|step| step.tid).collect();
    SlowRow {
        name: operation.name.clone(),
        ns: operation.ns(),
        start_ns: window.0,
        end_ns: window.1,
        comm: of.thread(Tid(operation.tid)),
        tid: operation.tid,
        group: operation.group,
        parts: parts(&rows),
        steps: rows,
        cut,
        tasks: met.into_iter().map(|tid| of.task(tid, window)).collect(),
    }
}

/// The parts of all steps, summed.
fn parts(steps: &[SlowStep]) -> Vec<SlowPart> {
    let mut all: Vec<SlowPart> = Vec::new();
    let mut add = |part: SlowPart| match all
        .iter_mut()
        .find(|p| (p.did, &p.whom, p.tid, p.cpu) == (part.did, &part.whom, part.tid, part.cpu))
    {
        Some(known) => known.ns += part.ns,
        None => all.push(part),
    };
    for step in steps {
        match step.did {
            "waited" => step.behind.iter().cloned().for_each(&mut add),
            did => add(SlowPart { did, whom: step.comm.clone(), tid: Some(step.tid), cpu: None, ns: step.ns }),
        }
    }
    all.in_order_by_key(|part| std::cmp::Reverse(part.ns));
    all
}

/// Names for threads.
struct Named<'a, 'p> {
    threads: &'a Threads<'p>,
    engine: &'a Engine,
    names: &'a Names,
}

impl Named<'_, '_> {
    fn thread(&self, tid: Tid) -> String {
        let in_window = self.threads.of(tid).last().map(|piece| piece.comm);
        let known = || self.engine.task(tid).map(|task| self.engine.tasks()[task.index()].comm);
        labels::thread(self.names, in_window.or_else(known).unwrap_or(Name::UNKNOWN), tid)
    }

    fn step(&self, step: &Step<'_>, begin: u64) -> SlowStep {
        let known = |cpu: Cpu| (cpu != Cpu::ANY).then_some(cpu.0);
        let mut row = SlowStep {
            comm: self.thread(step.tid),
            tid: step.tid.0,
            did: "unknown",
            offset_ns: step.start - begin,
            ns: step.end - step.start,
            ..SlowStep::default()
        };
        match step.piece.map(|piece| &piece.did) {
            None => {}
            Some(ThreadActivity::Ran(cpu)) => (row.did, row.cpu) = ("ran", known(*cpu)),
            Some(ThreadActivity::Slept(state)) => {
                (row.did, row.state) = ("slept", Some(state.sleep_letter()));
                row.waker = step.woken_by.map(|tid| format!("{}:{}", self.thread(tid), tid.0));
            }
            Some(ThreadActivity::Waited(wait)) => {
                (row.did, row.cpu, row.from_cpu, row.moves) =
                    ("waited", known(wait.cpu), wait.from.and_then(known), wait.moves);
                row.waker = self.waker(wait);
                row.behind = wait.behind.iter().map(|behind| self.behind(behind, row.cpu)).collect();
            }
        }
        row
    }

    fn waker(&self, wait: &Waited) -> Option<String> {
        match wait.began {
            Began::Preempted => None,
            _ if wait.context.is_interrupt() => Some("(interrupt)".into()),
            _ => Some(format!("{}:{}", self.thread(wait.waker), wait.waker.0)),
        }
    }

    fn behind(&self, (does, tid, ns): &WaitPart, cpu: Option<u16>) -> SlowPart {
        let whom = does.map_or_else(|| "(placing)".into(), |does: CpuActivity<Name>| labels::does(self.names, does));
        // While being placed, the thread is on no queue.
        SlowPart { did: "waited", whom, tid: tid.map(|tid| tid.0), cpu: cpu.filter(|_| does.is_some()), ns: *ns }
    }

    fn task(&self, tid: Tid, (from, to): (u64, u64)) -> SlowTask {
        let mut task = SlowTask { comm: self.thread(tid), tid: tid.0, ..SlowTask::default() };
        for piece in self.threads.of(tid) {
            let ns = piece.end.min(to).saturating_sub(piece.start.max(from));
            match &piece.did {
                ThreadActivity::Ran(_) => task.running_ns += ns,
                ThreadActivity::Slept(_) => task.sleeping_ns += ns,
                ThreadActivity::Waited(wait) => {
                    task.waiting_ns += ns;
                    task.migrations += u64::from(wait.from.is_some() && piece.end <= to);
                }
            }
        }
        let known = task.running_ns + task.waiting_ns + task.sleeping_ns;
        task.unknown_ns = (to - from).saturating_sub(known);
        task
    }
}
