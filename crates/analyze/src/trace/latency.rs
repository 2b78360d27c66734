//! How long tasks waited for a CPU: after a wakeup and after a preemption, kept separate, with exact maxima and their
//! place in the trace.

use super::facts::{Definition, TraceFacts, definitions};
use super::filter::ended_row;
use super::labels;
use super::lacking::{NO_SWITCH, lacking};
use super::request::AnalysisRequest;
use super::scope::without_prio;
use schedlab_plan::InOrder;
use schedlab_plan::histogram::Histogram;
use schedlab_trace::engine::Task;
use schedlab_trace::{Cells, Kind, Kinds, Longest, Names, Reader, TaskTally, TraceError, WantedWaits, tally};
use serde::Serialize;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-latency/1";

/// What rows are ordered by, the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LatencySort {
    /// The longest wait after a wakeup.
    #[default]
    Max,
    /// The 99th percentile of waits after wakeups.
    P99,
    /// The mean wait after a wakeup.
    Mean,
    /// The longest wait after a preemption.
    Preempt,
    /// Time on a CPU.
    Run,
    /// The number of waits after wakeups.
    Count,
}

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    Kinds::TASKS
}

/// Waits of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Waits {
    /// Their number.
    pub count: u64,
    /// Exact mean, ns; absent without a wait, as are the fields below.
    pub mean_ns: Option<f64>,
    /// Median, ns.
    pub p50_ns: Option<f64>,
    /// 90th percentile, ns.
    pub p90_ns: Option<f64>,
    /// 99th percentile, ns.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile, ns.
    pub p999_ns: Option<f64>,
    /// Exact maximum, ns.
    pub max_ns: Option<u64>,
    /// When the longest began, ns of the trace's clock.
    pub max_start_ns: Option<u64>,
    /// When it ended, ns.
    pub max_end_ns: Option<u64>,
    /// On which CPU it ended.
    pub max_cpu: Option<u16>,
    /// Whose it was.
    pub max_tid: Option<u32>,
    /// The name of that task.
    pub max_comm: Option<String>,
    /// Censored: overlapping missing events, contradicted, cut off by the end.
    pub censored: [u64; 3],
    /// The distribution, to be merged and compared later.
    pub histogram: Histogram,
}

/// A task, or all tasks of one name.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LatencyRow {
    /// The name; the last one of tasks that were renamed.
    pub comm: String,
    /// The thread's id, where the row is one task.
    pub tid: Option<u32>,
    /// Tasks in the row.
    pub tasks: u64,
    /// Time on a CPU (`run/1`), ns.
    pub run_ns: u64,
    /// Times on a CPU whose begin or end is missing; not in `run_ns`.
    pub censored_runs: u64,
    /// Switched out asleep.
    pub voluntary: u64,
    /// Switched out runnable.
    pub involuntary: u64,
    /// Switched in on another CPU than before.
    pub migrations: u64,
    /// Wakeup latency.
    pub wakeup: Waits,
    /// Its first part, where `sched_wakeup` was traced.
    pub placement: Waits,
    /// Its second part, where `sched_wakeup` was traced.
    pub queueing: Waits,
    /// Preempt wait.
    pub preempt: Waits,
    /// Waits of `wakeup` whose waking came before the switch-out.
    pub repaired: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latency {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// What the columns mean.
    pub definitions: &'static [Definition],
    /// What the recorded events are not sufficient for.
    pub lacking: Vec<String>,
    /// The event at which waits after wakeups begin: the earliest that was recorded.
    pub wakeup_begins: &'static str,
    /// Rows in order, at most as many as asked for.
    pub rows: Vec<LatencyRow>,
    /// Rows that are not shown.
    pub more_rows: u64,
    /// All selected tasks, also those not shown.
    pub total: LatencyRow,
}

/// Reads a trace to its end.
/// Times on a CPU and switches are those of the selected tasks, whatever their state or priority; a task without a wait
/// of the requested states and priorities has no row.
pub fn latency(reader: &mut Reader, request: &AnalysisRequest) -> Result<Latency, TraceError> {
    let scope = &request.scope;
    let unsaid = Cell::new(0);
    let wanted = |left, prio| {
        unsaid.set(unsaid.get() + u64::from(scope.has_state(left) && scope.lacks_prio(prio)));
        scope.has_state(left) && scope.has_prio(prio)
    };
    let wanted: WantedWaits<'_> = if scope.is_partial() { Some(&wanted) } else { None };
    let tally = tally(reader, &scope.window, wanted, &|task| scope.tasks.ended(task))?;
    let names = reader.names();
    let has_row = |done: &TaskTally| if scope.is_partial() { done.has_waits() } else { !done.is_empty() };
    let (mut total, mut sums) = (Sum::default(), BTreeMap::<(Rc<str>, u32), Sum>::new());
    let tasks =
        tally.tasks.iter().enumerate().filter(|(_, (task, done))| has_row(done) && scope.tasks.has(task, names));
    for (number, (task, done)) in tasks {
        let comm = Rc::from(comm(task, names));
        total.add((1, Some(task.tid.0)), &comm, done);
        let key = (Rc::clone(&comm), if request.each_task { number as u32 } else { 0 });
        sums.entry(key).or_default().add((1, Some(task.tid.0)), &comm, done);
    }
    let retired = tally.retired.iter();
    let retired = retired.filter(|(ended, _, done)| has_row(done) && scope.tasks.has_ended(ended, names));
    for (ended, number, done) in retired {
        let (comm, tasks) = (Rc::from(labels::ended(names, ended)), (*number, ended.tid.map(|tid| tid.0)));
        total.add(tasks, &comm, done);
        let key = (Rc::clone(&comm), if request.each_task { ended_row(ended) } else { 0 });
        sums.entry(key).or_default().add(tasks, &comm, done);
    }
    let top = request.top.unwrap_or(usize::MAX);
    let more_rows = sums.len().saturating_sub(top) as u64;
    let rows = first_rows(sums, request.sort, top);
    let mut seen = lacking(
        reader.info().kinds,
        &[
            (Kind::SchedSwitch, NO_SWITCH),
            (Kind::SchedWaking, "waits after wakeups begin at sched_wakeup, when a queue has the thread"),
            (Kind::SchedWakeup, "placement and queueing cannot be separated"),
        ],
    );
    seen.extend(without_prio(unsaid.get()));
    Ok(Latency {
        schema: SCHEMA,
        trace: TraceFacts::new(reader, (&tally.counts, tally.span), &|tid| tally.may_have_met(tid), scope),
        definitions: definitions(),
        lacking: seen,
        wakeup_begins: [Kind::SchedWaking, Kind::SchedWakeup]
            .into_iter()
            .find(|kind| reader.info().kinds.has(*kind))
            .unwrap_or(Kind::SchedWakeupNew)
            .name(),
        rows,
        more_rows,
        total: total.row("all"),
    })
}

/// A name to print for a task that may have none.
fn comm(task: &Task, names: &Names) -> String {
    match names.text(task.comm) {
        "" => format!(":{}", task.tid.0),
        name => name.to_owned(),
    }
}

/// The first `top` rows in that order. There may be as many names as threads, and a row is large, so rows that cannot be
/// among the first do not stay.
fn first_rows(sums: BTreeMap<(Rc<str>, u32), Sum>, by: LatencySort, top: usize) -> Vec<LatencyRow> {
    let mut rows = Vec::new();
    for ((comm, _), sum) in sums {
        rows.push(sum.row(&comm));
        if rows.len() / 2 >= top.max(100) {
            sort(&mut rows, by);
            rows.truncate(top);
        }
    }
    sort(&mut rows, by);
    rows.truncate(top);
    rows
}

fn sort(rows: &mut [LatencyRow], by: LatencySort) {
    let key = |row: &LatencyRow| match by {
        LatencySort::Max => row.wakeup.max_ns.unwrap_or(0) as f64,
        LatencySort::P99 => row.wakeup.p99_ns.unwrap_or(0.0),
        LatencySort::Mean => row.wakeup.mean_ns.unwrap_or(0.0),
        LatencySort::Preempt => row.preempt.max_ns.unwrap_or(0) as f64,
        LatencySort::Run => row.run_ns as f64,
        LatencySort::Count => row.wakeup.count as f64,
    };
    // The rows are in the order of their names, which decides between equals.
    rows.in_order_by(|a, b| key(b).total_cmp(&key(a)));
}

/// A sum over tasks.
#[derive(Default)]
struct Sum {
    tasks: u64,
    /// The thread's id, where it is a single task.
    tid: Option<u32>,
    done: TaskTally,
    /// The tasks of the longest waits after a wakeup and after a preemption.
    longest: [Option<Waiter>; 2],
}

/// The id, where it is known, and the name of a task that waited.
type Waiter = (Option<u32>, Rc<str>);

impl Sum {
    /// Adds tasks; `tid` is given if it is a single task.
    fn add(&mut self, (tasks, tid): (u64, Option<u32>), comm: &Rc<str>, done: &TaskTally) {
        self.tid = tid.filter(|_| self.tasks == 0);
        self.tasks += tasks;
        let sum = &self.done;
        let longest = [
            (done.longest_wakeup, sum.longest_wakeup, done.wakeup.count()),
            (done.longest_preempt, sum.longest_preempt, done.preempt.count()),
        ];
        for (waiter, (more, before, count)) in self.longest.iter_mut().zip(longest) {
            if count > 0 && more.replaces(&before) {
                *waiter = Some((tid, comm.clone()));
            }
        }
        self.done.merge(done);
    }

    fn row(self, comm: &str) -> LatencyRow {
        let (done, [wakeup, preempt]) = (self.done, self.longest);
        LatencyRow {
            comm: comm.into(),
            tid: self.tid,
            tasks: self.tasks,
            run_ns: done.run_ns,
            censored_runs: done.censored_runs,
            voluntary: done.voluntary,
            involuntary: done.involuntary,
            migrations: done.migrations,
            repaired: done.repaired,
            wakeup: waits(&done.wakeup, done.longest_wakeup, wakeup, done.censored_wakeup),
            preempt: waits(&done.preempt, done.longest_preempt, preempt, done.censored_preempt),
            // For the parts of a wait, the place is not known.
            placement: waits(&done.placement, Longest::default(), None, [0; 3]),
            queueing: waits(&done.queueing, Longest::default(), None, [0; 3]),
        }
    }
}

fn waits(cells: &Cells, longest: Longest, waiter: Option<Waiter>, censored: [u64; 3]) -> Waits {
    let histogram = cells.histogram();
    let count = histogram.count();
    let at = |ns: u64| waiter.is_some().then_some(ns);
    Waits {
        count,
        mean_ns: histogram.mean_ns(),
        p50_ns: histogram.quantile_ns(0.5),
        p90_ns: histogram.quantile_ns(0.9),
        p99_ns: histogram.quantile_ns(0.99),
        p999_ns: histogram.quantile_ns(0.999),
        max_ns: (count > 0).then_some(histogram.max_ns),
        max_start_ns: at(longest.start),
        max_end_ns: at(longest.end),
        max_cpu: waiter.is_some().then_some(longest.cpu),
        max_tid: waiter.as_ref().and_then(|(tid, _)| *tid),
        max_comm: waiter.map(|(_, comm)| comm.to_string()),
        censored,
        histogram,
    }
}
