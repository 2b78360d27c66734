//! Who woke whom, and how delays propagate: pairs of waker and wakee with their latency, and whole chains of wakeups,
//! from their origin (an interrupt, or a thread that ran of its own accord) to a task that woke nobody.

mod paths;
mod tracker;

use super::facts::{Definition, TraceFacts};
use super::follow::follow;
use super::labels;
use super::lacking::lacking;
use super::request::AnalysisRequest;
use paths::{Node, Pair, Waker};
use schedlab_plan::InOrder;
use schedlab_plan::histogram::Histogram;
use schedlab_trace::engine::Engine;
use schedlab_trace::{Kind, Kinds, Names, Reader, TraceError};
use serde::Serialize;
use tracker::{LongChain, Step, Tracker};

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-chains/1";

/// Most chains that are listed one by one.
pub const MAX_LISTED: usize = 100;

/// What the numbers mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        id: "chain/1",
        means: "wakeups, each by the task that the one before woke, while that task had not slept since. It begins with an \
                interrupt, an idle thread, or a thread that ran of its own accord; it ends with a task that wakes nobody \
                before it sleeps, or where a task comes in again (a round trip). After 16 wakeups another begins",
    },
    Definition {
        id: "chain-delay/1",
        means: "the waits for a CPU in a chain, added up: wakeup/1 of each of the woken, and preempt/1 of a waker between \
                its own wakeup and the waking that it does. Where a chain forks, each branch has the delay of what came before; \
                `waited` counts each wait once, in the branch that ended first",
    },
    Definition {
        id: "waker/1",
        means: "the task in whose context sched_waking was traced; in an interrupt the interrupt, because the \
                interrupted task is not the cause",
    },
];

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    [Kind::IrqHandlerEntry, Kind::IrqHandlerExit, Kind::SoftirqEntry, Kind::SoftirqExit]
        .into_iter()
        .fold(Kinds::TASKS, Kinds::with)
}

/// All wakeups of tasks of one name by wakers of one name.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PairRow {
    /// A thread's name, or an interrupt in parentheses.
    pub waker: String,
    /// The name of the woken.
    pub wakee: String,
    /// Wakeups whose wait is known.
    pub wakeups: u64,
    /// Those whose wakee ran on another CPU than its waker.
    pub other_cpu: u64,
    /// Waits added up, ns.
    pub waited_ns: u64,
    /// Median wait, ns.
    pub p50_ns: Option<f64>,
    /// 99th percentile, ns.
    pub p99_ns: Option<f64>,
    /// The longest wait, ns.
    pub max_ns: u64,
    /// The longest delay of a chain that got here, ns.
    pub chain_max_ns: u64,
    /// The waits, to be merged and compared later.
    pub histogram: Histogram,
}

/// All chains along one path of names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PathRow {
    /// From the origin to the last one woken.
    pub path: Vec<String>,
    /// Chains that ended so.
    pub chains: u64,
    /// Their waits added up, ns; one that several chains share is counted in the first of them that ended.
    pub waited_ns: u64,
    /// Their delays added up, ns; a wait that several chains share is in each.
    pub delay_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
    /// Time from the first waking to the last switch-in, summed, ns.
    pub elapsed_ns: u64,
}

/// One wakeup of a chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRow {
    /// Who woke.
    pub waker: String,
    /// Its id, where it is a thread.
    pub waker_tid: Option<u32>,
    /// When it woke, ns of the trace's clock.
    pub waking_at_ns: u64,
    /// How long it had been preempted since its own wakeup, ns; in the chain's delay.
    pub waker_preempted_ns: u64,
    /// Who was woken.
    pub comm: String,
    /// Its id.
    pub tid: u32,
    /// Its wait, ns.
    pub waited_ns: u64,
    /// When it was switched in, ns.
    pub in_at_ns: u64,
    /// Where.
    pub cpu: u16,
}

/// One of the chains with the longest delay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChainRow {
    /// Its delay, ns.
    pub delay_ns: u64,
    /// From its first waking to its last switch-in, ns.
    pub elapsed_ns: u64,
    /// When it ended, ns.
    pub end_ns: u64,
    /// Whether the steps begin with the origin; if not, that is further back than is remembered.
    pub whole: bool,
    /// Its wakeups.
    pub steps: Vec<StepRow>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chains {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// What the recorded events are not sufficient for.
    pub lacking: Vec<String>,
    /// Wakeups in the table of pairs, also those not shown.
    pub wakeups: u64,
    /// Wakeups whose wait is not known: overlapping missing events, contradicted, cut off by the end.
    pub censored: [u64; 3],
    /// Chains cut after their sixteenth wakeup.
    pub cut: u64,
    /// Pairs, by waiting time, longest first.
    pub pairs: Vec<PairRow>,
    /// Pairs that are not shown.
    pub more_pairs: u64,
    /// Paths, by waiting time, longest first.
    pub paths: Vec<PathRow>,
    /// Paths that are not shown.
    pub more_paths: u64,
    /// The chains with the longest delays, one for each origin.
    pub longest: Vec<ChainRow>,
}

/// The consequence if their event was not recorded.
pub(super) const NEW_THREADS: (Kind, &str) =
    (Kind::SchedWakeupNew, "the first wakeup of new threads, by their parent, is not seen");

/// Reads a trace to its end.
/// The scope selects wakeups of or by its tasks, and chains that include them.
pub fn chains(reader: &mut Reader, request: &AnalysisRequest) -> Result<Chains, TraceError> {
    let mut tracker = tracker(request);
    let engine = follow(reader, &request.scope.tasks, &mut [&mut tracker])?;
    Ok(findings(&tracker, &engine, reader, request))
}

/// The analysis to run while a trace is read.
pub(super) fn tracker(request: &AnalysisRequest) -> Tracker<'_> {
    Tracker::new(&request.scope, request.top.unwrap_or(usize::MAX).min(MAX_LISTED))
}

/// The findings, after the trace was read.
pub(super) fn findings(tracker: &Tracker<'_>, engine: &Engine, reader: &Reader, request: &AnalysisRequest) -> Chains {
    let most = request.top.unwrap_or(usize::MAX);
    let names = reader.names();
    let mut pairs: Vec<PairRow> = tracker.paths.pairs.iter().map(|pair| pair.row(names)).collect();
    pairs.in_order_by(|a, b| (b.waited_ns, &a.waker, &a.wakee).cmp(&(a.waited_ns, &b.waker, &b.wakee)));
    let ended = tracker.paths.nodes.iter().enumerate().filter(|(_, node)| node.chains > 0);
    let path = |id: usize| tracker.paths.names(id as u32).into_iter().map(|waker| waker.text(names)).collect();
    let mut rows: Vec<PathRow> = ended.map(|(id, node)| node.row(path(id))).collect();
    rows.in_order_by(|a, b| (b.waited_ns, &a.path).cmp(&(a.waited_ns, &b.path)));
    let more = |len: usize| len.saturating_sub(most) as u64;
    let (more_pairs, more_paths) = (more(pairs.len()), more(rows.len()));
    pairs.truncate(most);
    rows.truncate(most);
    Chains {
        schema: SCHEMA,
        trace: TraceFacts::of(reader, engine, &request.scope),
        definitions: DEFINITIONS,
        lacking: lacking(
            reader.info().kinds,
            &[
                (
                    Kind::SchedWaking,
                    "the waker is who traced sched_wakeup, which for a wakeup on another CPU is that CPU's interrupt",
                ),
                NEW_THREADS,
                (Kind::IrqHandlerEntry, "hard interrupts that wake have no name"),
                (Kind::SoftirqEntry, "soft interrupts that wake have no name"),
            ],
        ),
        wakeups: tracker.wakeups,
        censored: tracker.censored,
        cut: tracker.cut,
        pairs,
        more_pairs,
        paths: rows,
        more_paths,
        longest: tracker.longest.iter().map(|long| long.row(names)).collect(),
    }
}

impl Waker {
    fn text(self, names: &Names) -> String {
        match self {
            Self::Others => "(others)".into(),
            Self::Task(comm) => match names.text(comm) {
                "" => "(no name)".into(),
                name => name.to_owned(),
            },
            Self::Idle => "(idle)".into(),
            Self::Irq(irq, name) => format!("(irq {})", labels::irq_name(irq, names.text(name))),
            Self::Softirq(vec) => format!("(softirq {})", labels::softirq(vec)),
            Self::Hard => "(hard interrupt)".into(),
            Self::Soft => "(soft interrupt)".into(),
        }
    }
}

impl Pair {
    fn row(&self, names: &Names) -> PairRow {
        let histogram = self.waits.histogram();
        PairRow {
            waker: self.waker.text(names),
            wakee: self.wakee.text(names),
            wakeups: self.waits.count(),
            other_cpu: self.other_cpu,
            waited_ns: self.waits.sum_ns(),
            p50_ns: histogram.quantile_ns(0.5),
            p99_ns: histogram.quantile_ns(0.99),
            max_ns: self.waits.max_ns(),
            chain_max_ns: self.chain_longest_ns,
            histogram,
        }
    }
}

impl Node {
    fn row(&self, path: Vec<String>) -> PathRow {
        let Self { chains, delay_ns, new_ns, longest_ns, elapsed_ns, .. } = *self;
        PathRow { path, chains, waited_ns: new_ns, delay_ns, max_ns: longest_ns, elapsed_ns }
    }
}

impl LongChain {
    fn row(&self, names: &Names) -> ChainRow {
        ChainRow {
            delay_ns: self.delay_ns,
            elapsed_ns: self.end.saturating_sub(self.begun),
            end_ns: self.end,
            whole: self.whole,
            steps: self.steps.iter().map(|step| step.row(names)).collect(),
        }
    }
}

impl Step {
    fn row(&self, names: &Names) -> StepRow {
        let is_task = matches!(self.waker, Waker::Task(_));
        StepRow {
            waker: self.waker.text(names),
            waker_tid: is_task.then_some(self.waker_tid.0),
            waking_at_ns: self.waking,
            waker_preempted_ns: self.waker_preempted_ns,
            comm: labels::thread(names, self.comm, self.tid),
            tid: self.tid.0,
            waited_ns: self.wait.ns(),
            in_at_ns: self.wait.end,
            cpu: self.wait.cpu.0,
        }
    }
}
