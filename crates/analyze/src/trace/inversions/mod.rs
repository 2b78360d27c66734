//! Priority inversions: a thread of high priority is held up while one of lower priority runs, on its own CPU or on that
//! of a thread it depends on.

mod detector;

use super::facts::{Definition, TraceFacts};
use super::filter::ended_row;
use super::follow::follow;
use super::labels;
use super::lacking::lacking;
use super::request::AnalysisRequest;
use detector::{Detector, Held, Inversion, Link, Lower, Sum, Who};
use schedlab_plan::InOrder;
use schedlab_trace::engine::{Began, Engine};
use schedlab_trace::{Kind, Kinds, Name, Names, Reader, Tid, TraceError};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-inversions/1";

/// Most inversions that are listed one by one.
pub const MAX_LISTED: usize = 100;

/// What the numbers mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        id: "inversion-own/1",
        means: "the part of a wait (wakeup/1, preempt/1) of a real-time or deadline thread in which the CPU that \
                finally ran it was running a thread of lower priority; every ordinary preemption contributes a few \
                microseconds",
    },
    Definition {
        id: "inversion-chain/1",
        means: "while such a thread slept: the part in which the thread that woke it later, or the one that woke that one \
                before, and so on, waited for a CPU that ran a thread of lower priority than the first. A trace cannot tell \
                a lock from a message: it is one only if the sleep was for that thread. `boosted` threads had inherited a \
                priority, which proves a lock",
    },
];

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    Kinds::TASKS.with(Kind::SchedPiSetprio)
}

/// How often and how long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Times.
    pub times: u64,
    /// Added up, ns.
    pub ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
}

/// A task of high priority, or all tasks of one name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct InvertedTaskRow {
    /// The name.
    pub comm: String,
    /// The thread's id, where the row is one task.
    pub tid: Option<u32>,
    /// Tasks in the row.
    pub tasks: u64,
    /// The highest priority it had, in the kernel's number.
    pub prio: Option<i16>,
    /// Its waits, also those without an inversion.
    pub waits: u64,
    /// Their sum, ns.
    pub waited_ns: u64,
    /// While it waited itself.
    pub own: Times,
    /// Through threads it depended on, while it slept.
    pub chain: Times,
    /// Waits that are not known.
    pub censored: [u64; 3],
}

/// A name that ran instead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LowerRow {
    /// The name.
    pub comm: String,
    /// On the CPU of the delayed thread.
    pub own: Times,
    /// On the CPU of a thread it depended on.
    pub chain: Times,
}

/// A thread in an inversion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Party {
    /// Its name.
    pub comm: String,
    /// Its id.
    pub tid: u32,
    /// Its priority then, in the kernel's number.
    pub prio: Option<i16>,
}

/// Who ran instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LowerPart {
    /// Who.
    #[serde(flatten)]
    pub who: Party,
    /// For how long, ns.
    pub ns: u64,
    /// Where.
    pub cpu: u16,
}

/// A thread that the one of high priority depended on and that was kept from running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkRow {
    /// Who.
    #[serde(flatten)]
    pub who: Party,
    /// For how long, ns.
    pub ns: u64,
    /// Its priority had been raised.
    pub boosted: bool,
    /// Who ran instead.
    pub behind: Vec<LowerPart>,
}

/// One inversion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InversionRow {
    /// Who was held up.
    #[serde(flatten)]
    pub who: Party,
    /// In all, ns.
    pub ns: u64,
    /// It slept from here, ns; absent where only its own wait counts.
    pub slept_from_ns: Option<u64>,
    /// Woken or preempted, ns.
    pub start_ns: u64,
    /// Switched in, ns.
    pub end_ns: u64,
    /// Where.
    pub cpu: u16,
    /// Whether the wait came after a preemption.
    pub preempted: bool,
    /// While it waited itself, ns.
    pub own_ns: u64,
    /// Who ran meanwhile.
    pub own: Vec<LowerPart>,
    /// Threads it depended on, nearest first.
    pub links: Vec<LinkRow>,
    /// Some of what it depended on is too far back to be kept.
    pub cut: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inversions {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// What the recorded events are not sufficient for.
    pub lacking: Vec<String>,
    /// Threads of high priority, longest delay first.
    pub held: Vec<InvertedTaskRow>,
    /// Rows that are not shown.
    pub more_held: u64,
    /// Who ran instead, longest first.
    pub lower: Vec<LowerRow>,
    /// Rows that are not shown.
    pub more_lower: u64,
    /// All that were selected, also those not shown.
    pub total: InvertedTaskRow,
    /// Priorities raised by `sched_pi_setprio`.
    pub boosts: u64,
    /// The longest ones, in order.
    pub longest: Vec<InversionRow>,
}

/// Reads a trace to its end.
/// The scope selects the threads that may be held up: if it names no priority, real-time and deadline threads.
pub fn inversions(reader: &mut Reader, request: &AnalysisRequest) -> Result<Inversions, TraceError> {
    let mut detector = detector(request);
    let engine = follow(reader, &request.scope.tasks, &mut [&mut detector])?;
    Ok(findings(detector, &engine, reader, request))
}

/// The analysis to run while a trace is read.
pub(super) fn detector(request: &AnalysisRequest) -> Detector<'_> {
    Detector::new(&request.scope, request.top.unwrap_or(usize::MAX).min(MAX_LISTED))
}

/// The findings, after the trace was read.
pub(super) fn findings(
    mut detector: Detector<'_>,
    engine: &Engine,
    reader: &Reader,
    request: &AnalysisRequest,
) -> Inversions {
    let most = request.top.unwrap_or(usize::MAX);
    let names = reader.names();
    let done = std::mem::take(&mut detector.held).first(engine.tasks().len());
    let mut rows: BTreeMap<(String, u32), (Option<Tid>, Held)> = BTreeMap::new();
    let mut add = |comm: String, tid: Option<Tid>, number: u32, held: &Held| {
        let (first, sum) = rows.entry((comm, if request.each_task { number } else { 0 })).or_default();
        *first = tid.filter(|_| sum.tasks == 0);
        sum.add(&Held { tasks: held.tasks.max(1), ..held.clone() });
    };
    let tasks = engine.tasks().iter().zip(&done).enumerate();
    for (number, (task, held)) in
        tasks.filter(|(_, (task, held))| !held.is_empty() && request.scope.tasks.has(task, names))
    {
        add(labels::thread(names, task.comm, task.tid), Some(task.tid), number as u32, held);
    }
    detector.retired.iter().for_each(|(of, held)| add(labels::ended(names, of), of.tid, ended_row(of), held));
    let mut total = Held::default();
    rows.values().for_each(|(_, held)| total.add(held));
    let mut held: Vec<InvertedTaskRow> =
        rows.iter().map(|((comm, _), (tid, held))| held.row(comm.clone(), *tid)).collect();
    held.in_order_by_key(|row| std::cmp::Reverse(row.own.ns + row.chain.ns));
    let mut lower: Vec<LowerRow> = total.by.iter().map(|(comm, sums)| lower_row(*comm, sums, names)).collect();
    lower.in_order_by(|a, b| (b.own.ns + b.chain.ns, &a.comm).cmp(&(a.own.ns + a.chain.ns, &b.comm)));
    let more = |len: usize| len.saturating_sub(most) as u64;
    let (more_held, more_lower) = (more(held.len()), more(lower.len()));
    held.truncate(most);
    lower.truncate(most);
    Inversions {
        schema: SCHEMA,
        trace: TraceFacts::of(reader, engine, &request.scope),
        definitions: DEFINITIONS,
        lacking: lacking(
            reader.info().kinds,
            &[
                (Kind::SchedWaking, "the waker is who traced sched_wakeup, so what a thread depended on may be wrong"),
                (Kind::SchedPiSetprio, "whether a thread had inherited a priority is not known"),
            ],
        ),
        held,
        more_held,
        lower,
        more_lower,
        total: total.row("all".into(), None),
        boosts: detector.boosts,
        longest: detector.longest.iter().map(|episode| episode.row(names)).collect(),
    }
}

fn lower_row(comm: Name, (own, chain): &(Sum, Sum), names: &Names) -> LowerRow {
    let comm = match names.text(comm) {
        "" => "(no name)".to_owned(),
        name => name.to_owned(),
    };
    LowerRow { comm, own: own.times(), chain: chain.times() }
}

impl Sum {
    fn times(&self) -> Times {
        Times { times: self.times, ns: self.ns, longest_ns: self.longest_ns }
    }
}

impl Held {
    fn row(&self, comm: String, tid: Option<Tid>) -> InvertedTaskRow {
        InvertedTaskRow {
            comm,
            tid: tid.map(|tid| tid.0),
            tasks: self.tasks,
            prio: self.prio.and_then(|prio| prio.get()),
            waits: self.waits,
            waited_ns: self.waited_ns,
            own: self.own.times(),
            chain: self.chain.times(),
            censored: self.censored,
        }
    }
}

impl Who {
    fn row(&self, names: &Names) -> Party {
        Party { comm: labels::thread(names, self.comm, self.tid), tid: self.tid.0, prio: self.prio.get() }
    }
}

impl Lower {
    fn row(&self, names: &Names) -> LowerPart {
        LowerPart { who: self.who.row(names), ns: self.ns, cpu: self.cpu.0 }
    }
}

impl Link {
    fn row(&self, names: &Names) -> LinkRow {
        let behind = self.behind.iter().map(|lower| lower.row(names)).collect();
        LinkRow { who: self.who.row(names), ns: self.ns, boosted: self.boosted, behind }
    }
}

impl Inversion {
    fn row(&self, names: &Names) -> InversionRow {
        InversionRow {
            who: self.who.row(names),
            ns: self.ns(),
            slept_from_ns: self.slept_from,
            start_ns: self.wait.start,
            end_ns: self.wait.end,
            cpu: self.wait.cpu.0,
            preempted: self.wait.began == Began::Preempted,
            own_ns: self.own_ns,
            own: self.own.iter().map(|lower| lower.row(names)).collect(),
            links: self.links.iter().map(|link| link.row(names)).collect(),
            cut: self.cut,
        }
    }
}
