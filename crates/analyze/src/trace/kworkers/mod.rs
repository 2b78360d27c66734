//! How late work items run: from being queued to being executed, by work function. For a trace without workqueue
//! events: the waits of kworkers by pool.

mod items;
mod pooled;
mod spans;
mod symbols;

use super::facts::{Definition, TraceFacts};
use super::follow::follow;
use super::lacking::lacking;
use super::request::AnalysisRequest;
pub(super) use items::Items;
use items::{Longest, OfFunction, OfTask, Split};
pub use pooled::{ArmWork, POOLED_SCHEMA, PooledKworkers};
use schedlab_plan::InOrder;
use schedlab_plan::histogram::Histogram;
use schedlab_trace::engine::Engine;
use schedlab_trace::{Cells, Kind, Kinds, Names, Reader, TraceError};
use serde::Serialize;
use std::collections::BTreeMap;
pub use symbols::{Symbols, SymbolsError};

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-kworkers/1";

/// What the numbers mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        id: "work/1",
        means: "workqueue_queue_work to workqueue_execute_start of the same work item. The timer of delayed work is before \
                it. Items over missing events of the CPUs where they were queued and executed, of any CPU for a queue \
                without one, are in no number",
    },
    Definition {
        id: "work-split/1",
        means: "its parts: inactive until workqueue_activate_work (the limit of active items); busy while the kworker that \
                executes it in the end executed other items; waiting while that kworker waited for a CPU; and the rest: \
                until a kworker was woken, which may be behind another kworker of the pool, and its way to the item",
    },
    Definition { id: "execution/1", means: "workqueue_execute_start to workqueue_execute_end, sleeps included" },
];

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    [Kind::WorkqueueQueueWork, Kind::WorkqueueActivateWork, Kind::WorkqueueExecuteStart, Kind::WorkqueueExecuteEnd]
        .into_iter()
        .fold(Kinds::TASKS, Kinds::with)
}

/// A distribution in figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Number of values.
    pub count: u64,
    /// Exact mean, ns; absent without a value, as are the fields below.
    pub mean_ns: Option<f64>,
    /// Median, ns.
    pub p50_ns: Option<f64>,
    /// 99th percentile, ns.
    pub p99_ns: Option<f64>,
    /// Exact maximum, ns.
    pub max_ns: Option<u64>,
    /// The distribution, to be merged and compared later.
    pub histogram: Histogram,
}

/// Parts of the time until a work item is executed, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Parts {
    /// Inactive, because the limit of active items was reached.
    pub inactive_ns: u64,
    /// Its kworker executed other items.
    pub busy_ns: u64,
    /// Its kworker waited for a CPU.
    pub waiting_ns: u64,
    /// Until a kworker was woken and reached the item.
    pub other_ns: u64,
}

/// The item of a function that waited longest.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LongestItem {
    /// When it was queued, ns of the trace's clock.
    pub queued_at_ns: u64,
    /// When it was started, ns.
    pub started_at_ns: u64,
    /// Where.
    pub cpu: u16,
    /// The kworker's thread id.
    pub worker: u32,
    /// What the time went into.
    pub parts: Parts,
}

/// The items of one work function on one workqueue.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FunctionRow {
    /// The function, or its address if it has no name.
    pub function: String,
    /// The workqueue; empty where the item was not seen queued.
    pub workqueue: String,
    /// Queued to started.
    pub latency: Figures,
    /// Its parts, added up.
    pub parts: Parts,
    /// Started to ended.
    pub execution: Figures,
    /// Queued for no CPU in particular.
    pub unbound: u64,
    /// Started without having been seen queued.
    pub unseen: u64,
    /// Over missing events.
    pub censored: u64,
    /// The one that waited longest.
    pub longest: Option<LongestItem>,
}

/// The kworkers of one pool, where a trace has no work items.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PoolRow {
    /// As in `kworker/3:*H`.
    pub pool: String,
    /// Kworkers.
    pub workers: u64,
    /// Time on a CPU (`run/1`), ns.
    pub run_ns: u64,
    /// Waits after wakeups.
    pub wakeup: Figures,
    /// Waits after preemptions.
    pub preempt: Figures,
    /// Waits that are not known.
    pub censored: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Kworkers {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// What the recorded events are not sufficient for.
    pub lacking: Vec<String>,
    /// Whether the trace has work items; else `pools` is all there is.
    pub by_function: bool,
    /// Functions, by total wait, longest first.
    pub functions: Vec<FunctionRow>,
    /// Pools, by total wait, longest first.
    pub pools: Vec<PoolRow>,
    /// Rows that are not shown.
    pub more_rows: u64,
    /// Items that were started.
    pub started: u64,
    /// Queued again before they were started: cancelled, or the start is not in the trace.
    pub queued_again: u64,
    /// Queued and not started before the trace ended, or cancelled.
    pub left_over: u64,
}

/// Reads a trace to its end.
/// The scope selects work by kworker, by the time and CPU at which it started, and by the kworker's priority then. A
/// work item has no state: states select only waits of kworkers, in a trace without work items.
pub fn kworkers(reader: &mut Reader, request: &AnalysisRequest) -> Result<Kworkers, TraceError> {
    let mut items = Items::new(&request.scope);
    let engine = follow(reader, &request.scope.tasks, &mut [&mut items])?;
    Ok(findings(items, &engine, reader, request))
}

/// The findings, after the trace was read.
pub(super) fn findings(mut items: Items<'_>, engine: &Engine, reader: &Reader, request: &AnalysisRequest) -> Kworkers {
    let most = request.top.unwrap_or(usize::MAX);
    let done = std::mem::take(&mut items.tasks).first(engine.tasks().len());
    let (names, kinds) = (reader.names(), reader.info().kinds);
    let by_function = kinds.has(Kind::WorkqueueExecuteStart);
    let (mut functions, mut pools) = (Vec::new(), Vec::new());
    if by_function {
        functions = items.functions.iter().map(|(key, of)| of.row(*key, names, &request.symbols)).collect();
        functions.retain(|row| row.latency.count + row.unseen + row.censored > 0);
        let all = |row: &FunctionRow| row.latency.histogram.sum_ns;
        functions.in_order_by(|a, b| (all(b), &a.function, &a.workqueue).cmp(&(all(a), &b.function, &b.workqueue)));
    } else {
        let mut sums: BTreeMap<String, (u64, OfTask)> = BTreeMap::new();
        let chosen = engine.tasks().iter().zip(&done).filter(|(task, _)| request.scope.tasks.has(task, names));
        let all = chosen.map(|(task, of)| (task.comm, of)).chain(items.retired.iter().map(|(comm, of)| (*comm, of)));
        for (comm, of) in all {
            let Some(pool) = pool(names.text(comm)) else { continue };
            let (workers, sum) = sums.entry(pool).or_default();
            *workers += 1;
            sum.add(of);
        }
        pools = sums.into_iter().map(|(pool, (workers, of))| of.row(pool, workers)).collect();
        pools.retain(|row| row.wakeup.count + row.preempt.count + row.censored > 0);
        let all = |row: &PoolRow| row.wakeup.histogram.sum_ns + row.preempt.histogram.sum_ns;
        pools.in_order_by_key(|row| std::cmp::Reverse(all(row)));
    }
    let more_rows = (functions.len() + pools.len()).saturating_sub(most) as u64;
    functions.truncate(most);
    pools.truncate(most);
    Kworkers {
        schema: SCHEMA,
        trace: TraceFacts::of(reader, engine, &request.scope),
        definitions: DEFINITIONS,
        lacking: if by_function { lacking_of_items(kinds) } else { lacking(kinds, &[NO_ITEMS]) },
        by_function,
        functions,
        pools,
        more_rows,
        started: items.started,
        queued_again: items.queued_again,
        left_over: items.left_over(),
    }
}

const NO_ITEMS: (Kind, &str) = (
    Kind::WorkqueueExecuteStart,
    "which work kworkers did is not known; record workqueue:workqueue_queue_work, _activate_work, _execute_start and \
     _execute_end",
);

fn lacking_of_items(kinds: Kinds) -> Vec<String> {
    lacking(
        kinds,
        &[
            (Kind::WorkqueueQueueWork, "how long work waited is not known"),
            (Kind::WorkqueueActivateWork, "the time behind the limit of active items is part of the rest"),
            (Kind::WorkqueueExecuteEnd, "how long work took is not known, and a busy kworker is not seen"),
            (Kind::SchedSwitch, "how long kworkers waited for a CPU is not known"),
            (Kind::SchedWaking, "a kworker's wait begins when a queue has it"),
        ],
    )
}

/// The pool of a kworker, from its name: `kworker/3:1H` is in `kworker/3:*H`, `kworker/u8:2` in `kworker/u8:*`.
fn pool(comm: &str) -> Option<String> {
    let rest = comm.strip_prefix("kworker/")?;
    let Some((pool, worker)) = rest.split_once(':') else { return Some(comm.to_owned()) };
    let kind = worker.trim_start_matches(|c: char| c.is_ascii_digit());
    // After a dash or a plus comes its present work.
    let kind = kind.split(['-', '+']).next().unwrap_or_default();
    Some(format!("kworker/{pool}:*{kind}"))
}

impl OfTask {
    fn add(&mut self, other: &Self) {
        self.wakeup.merge(&other.wakeup);
        self.preempt.merge(&other.preempt);
        self.run_ns += other.run_ns;
        self.censored += other.censored;
    }

    fn row(&self, pool: String, workers: u64) -> PoolRow {
        let (wakeup, preempt) = (figures(&self.wakeup), figures(&self.preempt));
        PoolRow { pool, workers, run_ns: self.run_ns, wakeup, preempt, censored: self.censored }
    }
}

impl OfFunction {
    fn row(
        &self,
        (function, workqueue): (schedlab_trace::Name, schedlab_trace::Name),
        names: &Names,
        symbols: &Symbols,
    ) -> FunctionRow {
        let function = match names.text(function) {
            "" => "(no name)".to_owned(),
            text => symbols.name(text),
        };
        FunctionRow {
            function,
            workqueue: names.text(workqueue).to_owned(),
            latency: figures(&self.latency),
            parts: self.split.parts(),
            execution: figures(&self.execution),
            unbound: self.unbound,
            unseen: self.unseen,
            censored: self.censored,
            longest: self.longest.map(|longest| longest.row()),
        }
    }
}

impl Split {
    fn parts(&self) -> Parts {
        let Self { inactive_ns, busy_ns, waiting_ns, other_ns } = *self;
        Parts { inactive_ns, busy_ns, waiting_ns, other_ns }
    }
}

impl Longest {
    fn row(&self) -> LongestItem {
        LongestItem {
            queued_at_ns: self.queued,
            started_at_ns: self.started,
            cpu: self.cpu.0,
            worker: self.worker.0,
            parts: self.split.parts(),
        }
    }
}

fn figures(cells: &Cells) -> Figures {
    figures_of(cells.histogram())
}

fn figures_of(histogram: Histogram) -> Figures {
    Figures {
        count: histogram.count(),
        mean_ns: histogram.mean_ns(),
        p50_ns: histogram.quantile_ns(0.5),
        p99_ns: histogram.quantile_ns(0.99),
        max_ns: (histogram.count() > 0).then_some(histogram.max_ns),
        histogram,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kworker_is_of_a_pool() {
        let pools = ["kworker/3:1H", "kworker/u8:2", "kworker/0:12-events", "kworker/R-netns", "ksoftirqd/0"].map(pool);
        let is = |text: &str| Some(text.to_owned());
        let expected = [is("kworker/3:*H"), is("kworker/u8:*"), is("kworker/0:*"), is("kworker/R-netns"), None];
        assert_eq!(pools, expected);
    }
}
