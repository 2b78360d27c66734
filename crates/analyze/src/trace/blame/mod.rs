//! What tasks waited behind: each wait is divided, to the nanosecond, among those that had its CPU meanwhile.

mod count;

use super::affinity::{self, Affinity};
use super::facts::{Definition, TraceFacts};
use super::filter::ended_row;
use super::follow::follow;
use super::labels;
use super::lacking::{NO_SWITCH, lacking};
use super::lanes::CpuActivity;
use super::request::AnalysisRequest;
use super::scope::without_prio;
use count::{Cause, Counter, LongWait, Share, WaitingTask};
use schedlab_plan::InOrder;
use schedlab_trace::engine::{Began, Engine, Task};
use schedlab_trace::{Kind, Kinds, Names, Reader, Tid, TraceError};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-blame/1";

/// Most waits that are listed one by one, however many are requested.
pub const MAX_LISTED: usize = 100;

/// What the numbers mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        id: "blame/1",
        means: "each wait of wakeup/1 and preempt/1, split by what the CPU on whose queue the thread waited was doing: \
                another thread, a hard or a soft interrupt (if those are traced; otherwise they are part of the \
                thread that they interrupt), or idle, which is the time until it wakes and switches; the time from \
                sched_waking to \
                the queue is placing. The parts add up to the waits that `trace latency` shows. Where several wait at once each is charged in full, \
                so a cause may have more time than it ran",
    },
    Definition {
        id: "idle-elsewhere/2",
        means: "the part of a wait in which another CPU that the thread may use was idle while the thread's own was \
                not. schedlab's recordings have the affinities at their start and end: the first hold until the \
                thread's last traced change, the second after it; a child has its parent's. Where they are not known, \
                as in other traces, this is an upper bound, but 0 for kernel threads that belong to one CPU",
    },
];

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    [Kind::IrqHandlerEntry, Kind::IrqHandlerExit, Kind::SoftirqEntry, Kind::SoftirqExit]
        .into_iter()
        .chain(affinity::KINDS)
        .fold(Kinds::TASKS, Kinds::with)
}

/// A share of waits that is put down to one cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BlameShare {
    /// A thread's name, or what is not a thread in parentheses, as in `(irq 27 eth0)`.
    pub cause: String,
    /// `task`, `idle`, `irq`, `softirq`, `placing` or `unknown`.
    pub kind: &'static str,
    /// Time, ns.
    pub ns: u64,
    /// Waits with a part of it.
    pub waits: u64,
    /// The longest part of one wait, ns.
    pub longest_ns: u64,
}

/// Who lost most by a cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BlameRow {
    /// Its share of all waits.
    #[serde(flatten)]
    pub share: BlameShare,
    /// The name of those who waited longest for it.
    pub most_against: String,
    /// How long they did, ns.
    pub most_against_ns: u64,
}

/// A task, or all tasks of one name, that waited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VictimRow {
    /// The name.
    pub comm: String,
    /// The thread's id, where the row is one task.
    pub tid: Option<u32>,
    /// Tasks in the row.
    pub tasks: u64,
    /// Waits, after wakeups and after preemptions.
    pub waits: u64,
    /// Their sum, ns.
    pub waited_ns: u64,
    /// The part of it during which another CPU was idle, ns.
    pub idle_elsewhere_ns: u64,
    /// Waits of threads whose allowed CPUs are unknown, in a trace that has them for others: for these, the part with
    /// another CPU idle is an upper bound.
    pub unknown_set_waits: u64,
    /// Whether it is known to be allowed on one CPU only.
    pub one_cpu: bool,
    /// Waits that are counted but not divided: overlapping missing events, contradicted, cut off by the end.
    pub censored: [u64; 3],
    /// What they waited for, largest part first.
    pub shares: Vec<BlameShare>,
}

/// A part of a long wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LongestPart {
    /// As in [`BlameShare`].
    pub cause: String,
    /// Time, ns.
    pub ns: u64,
    /// Threads of that name; 0 if it is not a thread.
    pub threads: u32,
    /// The one with the largest part.
    pub most_tid: Option<u32>,
    /// What it had, ns.
    pub most_ns: u64,
}

/// One of the longest waits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LongestWait {
    /// Who waited.
    pub comm: String,
    /// Its id.
    pub tid: u32,
    /// Its priority, the kernel's number; absent if it is not in the trace.
    pub prio: Option<i16>,
    /// `wakeup`, `new` or `preemption`.
    pub after: &'static str,
    /// Who woke it; absent after a preemption, and `(interrupt)` where the thread that ran then did nothing.
    pub waker: Option<String>,
    /// From, ns of the trace's clock.
    pub start_ns: u64,
    /// To, ns.
    pub end_ns: u64,
    /// Its length, ns.
    pub ns: u64,
    /// Where it ended.
    pub cpu: u16,
    /// Moves from queue to queue meanwhile.
    pub moves: u32,
    /// Another CPU was idle, ns.
    pub idle_elsewhere_ns: u64,
    /// The largest parts, in order.
    pub parts: Vec<LongestPart>,
    /// The parts that are not listed, ns: with them the parts add up to `ns`.
    pub others_ns: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Blame {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// What the recorded events are not sufficient for.
    pub lacking: Vec<String>,
    /// Causes, by time, largest first.
    pub causes: Vec<BlameRow>,
    /// Causes that are not shown.
    pub more_causes: u64,
    /// Who waited, longest first.
    pub victims: Vec<VictimRow>,
    /// Rows that are not shown.
    pub more_victims: u64,
    /// All that were selected, also those not shown.
    pub total: VictimRow,
    /// The trace says which CPUs each thread may use: our own recordings do.
    pub affinity_known: bool,
    /// Threads whose allowed CPUs differ between its start and its end.
    pub affinity_changed: u64,
    /// The longest waits, the longest first; at most [`MAX_LISTED`].
    pub longest: Vec<LongestWait>,
    /// Waits that are not listed.
    pub more_waits: u64,
}

/// Reads a trace to its end.
pub fn blame(reader: &mut Reader, request: &AnalysisRequest) -> Result<Blame, TraceError> {
    let mut counter = counter(reader, request);
    let engine = follow(reader, &request.scope.tasks, &mut [&mut counter])?;
    Ok(findings(counter, &engine, reader, request))
}

/// The analysis to run while a trace is read.
pub(super) fn counter<'a>(reader: &Reader, request: &'a AnalysisRequest) -> Counter<'a> {
    let listed = request.top.unwrap_or(usize::MAX).min(MAX_LISTED);
    Counter::new(&request.scope, listed, Affinity::new(reader))
}

/// The findings, after the trace was read.
pub(super) fn findings(mut counter: Counter<'_>, engine: &Engine, reader: &Reader, request: &AnalysisRequest) -> Blame {
    let most = request.top.unwrap_or(usize::MAX);
    let names = reader.names();
    let done = std::mem::take(&mut counter.victims).first(engine.tasks().len());
    let mut sums = Sums::new(names, &counter.causes.all);
    let tasks = engine.tasks().iter().zip(&done).enumerate();
    for (number, (task, done)) in
        tasks.filter(|(_, (task, done))| !done.is_empty() && request.scope.tasks.has(task, names))
    {
        sums.add(task_name(task, names), Some(task.tid), if request.each_task { number as u32 } else { 0 }, done);
    }
    for (of, done) in &counter.retired {
        sums.add(labels::ended(names, of), of.tid, if request.each_task { ended_row(of) } else { 0 }, done);
    }
    let (mut causes, mut victims, total) = sums.finish();
    let more = |len: usize| len.saturating_sub(most) as u64;
    let (more_causes, more_victims) = (more(causes.len()), more(victims.len()));
    causes.truncate(most);
    victims.truncate(most);
    let more_waits = total.waits.saturating_sub(counter.longest.iter().count() as u64);
    let mut seen = lacking(
        reader.info().kinds,
        &[
            (Kind::SchedSwitch, NO_SWITCH),
            (Kind::SchedWaking, "waits begin at sched_wakeup, when a queue has the thread"),
            (Kind::SchedMigrateTask, "a thread that was moved while it waited is taken to have waited where it ran"),
            (Kind::IrqHandlerEntry, "time in hard interrupts is part of the thread that they interrupt"),
            (Kind::SoftirqEntry, "time in soft interrupts is part of the thread that they interrupt"),
        ],
    );
    seen.extend(without_prio(counter.without_prio));
    Blame {
        schema: SCHEMA,
        trace: TraceFacts::of(reader, engine, &request.scope),
        definitions: DEFINITIONS,
        lacking: seen,
        causes,
        more_causes,
        victims,
        more_victims,
        total,
        affinity_known: counter.affinity.is_known(),
        affinity_changed: affinity::changed(reader.snapshots()),
        longest: counter.longest.iter().map(|long| long.row(names)).collect(),
        more_waits,
    }
}

/// A name to print for a task that may have none.
fn task_name(task: &Task, names: &Names) -> String {
    labels::thread(names, task.comm, task.tid)
}

impl Cause {
    fn text(self, names: &Names) -> String {
        match self {
            Self::Placing => "(placing)".into(),
            Self::Cpu(does) => labels::does(names, does),
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Placing => "placing",
            Self::Cpu(CpuActivity::Task(_)) => "task",
            Self::Cpu(CpuActivity::Idle) => "idle",
            Self::Cpu(CpuActivity::Irq(..)) => "irq",
            Self::Cpu(CpuActivity::Softirq(_)) => "softirq",
            Self::Cpu(CpuActivity::Unknown) => "unknown",
        }
    }

    fn share(self, names: &Names, share: &Share) -> BlameShare {
        let Share { ns, waits, longest_ns } = *share;
        BlameShare { cause: self.text(names), kind: self.kind(), ns, waits, longest_ns }
    }
}

/// Victims summed by name, or one by one.
struct Sums<'a> {
    names: &'a Names,
    causes: &'a [Cause],
    rows: BTreeMap<(String, u32), (Option<Tid>, WaitingTask)>,
}

impl<'a> Sums<'a> {
    fn new(names: &'a Names, causes: &'a [Cause]) -> Self {
        Self { names, causes, rows: BTreeMap::new() }
    }

    fn add(&mut self, comm: String, tid: Option<Tid>, number: u32, done: &WaitingTask) {
        let (first, sum) = self.rows.entry((comm, number)).or_default();
        *first = tid.filter(|_| sum.tasks == 0);
        sum.add(&WaitingTask { tasks: done.tasks.max(1), ..done.clone() });
    }

    fn finish(self) -> (Vec<BlameRow>, Vec<VictimRow>, VictimRow) {
        let mut total = WaitingTask::default();
        let mut against: Vec<Option<(u64, &str)>> = vec![None; self.causes.len()];
        let mut victims = Vec::new();
        for ((comm, _), (tid, sum)) in &self.rows {
            let one_cpu = labels::of_one_cpu(comm);
            let sum = WaitingTask { idle_elsewhere_ns: if one_cpu { 0 } else { sum.idle_elsewhere_ns }, ..sum.clone() };
            for (cause, share) in &sum.shares {
                let most = &mut against[*cause as usize];
                if most.is_none_or(|(ns, _)| share.ns > ns) {
                    *most = Some((share.ns, comm));
                }
            }
            total.add(&sum);
            victims.push(self.row(comm.clone(), *tid, one_cpu, &sum));
        }
        victims.in_order_by_key(|victim| std::cmp::Reverse(victim.waited_ns));
        let row = |(cause, share): &(u32, Share)| {
            let (most_against_ns, most_against) = against[*cause as usize].unwrap_or_default();
            let share = self.causes[*cause as usize].share(self.names, share);
            BlameRow { share, most_against: most_against.to_owned(), most_against_ns }
        };
        let mut causes: Vec<BlameRow> = total.shares.iter().map(row).collect();
        causes.in_order_by(|a, b| (b.share.ns, &a.share.cause).cmp(&(a.share.ns, &b.share.cause)));
        (causes, victims, self.row("all".into(), None, false, &total))
    }

    fn row(&self, comm: String, tid: Option<Tid>, one_cpu: bool, sum: &WaitingTask) -> VictimRow {
        let share = |(cause, share): &(u32, Share)| self.causes[*cause as usize].share(self.names, share);
        let mut shares: Vec<BlameShare> = sum.shares.iter().map(share).collect();
        shares.in_order_by(|a, b| (b.ns, &a.cause).cmp(&(a.ns, &b.cause)));
        VictimRow {
            comm,
            tid: tid.map(|tid| tid.0),
            tasks: sum.tasks,
            waits: sum.waits,
            waited_ns: sum.ns,
            idle_elsewhere_ns: sum.idle_elsewhere_ns,
            unknown_set_waits: sum.unknown_set_waits,
            one_cpu,
            censored: sum.censored,
            shares,
        }
    }
}

impl LongWait {
    fn row(&self, names: &Names) -> LongestWait {
        let Self { wait, tid, comm, .. } = self;
        let waker = || match wait.context.is_interrupt() {
            true => "(interrupt)".into(),
            false => labels::thread(names, self.waker_comm, wait.waker),
        };
        let after = match wait.began {
            Began::Preempted => "preemption",
            Began::New => "new",
            Began::Waking | Began::Repaired | Began::WakeupOnly => "wakeup",
        };
        let comm = labels::thread(names, *comm, *tid);
        let idle_elsewhere_ns = if labels::of_one_cpu(&comm) { 0 } else { self.idle_elsewhere_ns };
        LongestWait {
            comm,
            tid: tid.0,
            prio: self.prio.get(),
            after,
            waker: (wait.began != Began::Preempted).then(waker),
            start_ns: wait.start,
            end_ns: wait.end,
            ns: wait.ns(),
            cpu: wait.cpu.0,
            moves: self.moves,
            idle_elsewhere_ns,
            parts: self.parts.iter().map(|part| part.row(names)).collect(),
            others_ns: wait.ns().saturating_sub(self.parts.iter().map(|part| part.ns).sum()),
        }
    }
}

impl count::Part {
    fn row(&self, names: &Names) -> LongestPart {
        let Self { cause, ns, threads, most: (most_tid, most_ns) } = *self;
        LongestPart { cause: cause.text(names), ns, threads, most_tid: most_tid.map(|tid| tid.0), most_ns }
    }
}
