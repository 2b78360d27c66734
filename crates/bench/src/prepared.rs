//! One prepared run: what every workload shares with its tasks before they start, and the one way from started tasks to
//! an outcome. What remains in a workload is its loop, its verification, its own metrics and the lines that it prints.

use crate::delay::DelayCell;
use crate::dispatch::{Length, LoopOrder};
use crate::error::BenchError;
use crate::herd::{Gate, Herd, Timeline};
use crate::observer::{Counted, Observer, RunOrder};
use crate::recorder::Recorder;
use crate::task::TaskCells;
use crate::workload::WorkloadInfo;
use crate::{calibrate, metrics};
use schedlab_plan::{
    Direction, Metric, NamedHistogram, SlowOperation, Stamping, StampingReport, TaskRecord, TierCount, TrialOutcome,
};
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::fd::Pair;
use std::io;

/// What stamping one operation takes, summed over the tasks that take part in it.
#[derive(Clone, Copy)]
pub(crate) struct StampParts {
    pub(crate) clock_reads: f64,
    /// Values counted in histograms.
    pub(crate) values: f64,
}

/// Everything that a run consists of, except its tasks and what only one workload has.
pub(crate) struct Prepared<'a> {
    pub(crate) order: &'a RunOrder,
    pub(crate) cells: TaskCells,
    /// `None` if nothing is stamped.
    pub(crate) recorder: Option<Recorder>,
    pub(crate) delay: Option<DelayCell>,
    setup_ns: u64,
    stamp_cost_ns: f64,
    every: u64,
}

/// The error for a workload's own shared memory.
pub(crate) fn mapping() -> impl FnOnce(io::Error) -> BenchError {
    BenchError::io("mapping the shared cells")
}

impl<'a> Prepared<'a> {
    /// Maps the cells for this many tasks and groups. `reads_migrations`: see
    /// [`OwnCell::prepare`](crate::task::OwnCell).
    pub(crate) fn new(
        order: &'a RunOrder,
        tasks: usize,
        groups: usize,
        reads_migrations: bool,
    ) -> Result<Self, BenchError> {
        let setup_ns = monotonic_ns();
        let cells = TaskCells::new(tasks, groups, reads_migrations).map_err(mapping())?;
        let delay = order.delay().map_err(mapping())?;
        Ok(Self { order, cells, recorder: None, delay, setup_ns, stamp_cost_ns: 0.0, every: 0 })
    }

    /// Maps the histograms, unless the order stamps nothing. Every operation is stamped unless [`Self::sampled`] is
    /// called.
    pub(crate) fn recorded(
        mut self,
        recorder: impl FnOnce() -> io::Result<Recorder>,
        parts: StampParts,
    ) -> Result<Self, BenchError> {
        if self.order.stamping != Stamping::Off {
            let recorder = recorder().map_err(mapping())?.beside(self.order);
            self.stamped_by(&recorder, parts);
            self.recorder = Some(recorder);
        }
        Ok(self)
    }

    /// The same for a workload that keeps its recorders itself; `parts` is what the stamps of each operation cost.
    pub(crate) fn stamped_by(&mut self, recorder: &Recorder, parts: StampParts) {
        self.stamp_cost_ns = parts.clock_reads * calibrate::clock_read_ns() + parts.values * recorder.cost_ns();
        self.every = 1;
    }

    /// Sets how many operations there are to one stamp, from the level and the cost of a stamp, ns.
    pub(crate) fn sampled(
        mut self,
        every: impl FnOnce(Stamping, f64) -> Result<u64, BenchError>,
    ) -> Result<Self, BenchError> {
        if self.recorder.is_some() {
            self.every = every(self.order.stamping, self.stamp_cost_ns)?;
        }
        Ok(self)
    }

    /// What a task's loop is compiled for; with `loops` `None`, it runs until the stop flag is set. Tasks with the same
    /// number stamp the same operations.
    pub(crate) fn loops(&self, number: usize, loops: Option<u64>) -> LoopOrder {
        LoopOrder {
            stamping: if self.recorder.is_some() { self.order.stamping } else { Stamping::Off },
            every: self.every,
            phase: self.order.seed.wrapping_add(number as u64 * 7),
            delay: self.delay.clone(),
            loops,
            stop: self.cells.stop_flag(),
        }
    }

    /// Calls the observer while there is one thread and nothing is forked.
    pub(crate) fn before_fork(&self, observer: &mut dyn Observer) -> Result<(), BenchError> {
        if let Some(cell) = &self.delay {
            observer.delay_cell(cell);
        }
        observer.before_fork().map_err(BenchError::Observer)
    }

    /// A herd for `tasks` tasks, none of them started; its gate is made of two channels.
    pub(crate) fn herd(&self, tasks: usize, channel: fn() -> io::Result<Pair>) -> Result<Herd, BenchError> {
        let gate = Gate::new(channel).map_err(BenchError::io("opening the gate's channels"))?;
        Ok(Herd::new(self.cells.clone(), gate, tasks, self.order.dither))
    }

    /// Runs started tasks to their end, which the stop flag brings or they reach by themselves; `by_loops` is how long
    /// this many loops may take, ns.
    pub(crate) fn run(
        &self,
        herd: Herd,
        observer: &mut dyn Observer,
        length: Length,
        by_loops: impl FnOnce(u64) -> u64,
        counted: impl Into<Counted>,
    ) -> Result<Ended, BenchError> {
        let (duration_ns, expected_ns) = match length {
            Length::DurationNs(ns) => (Some(ns), ns),
            Length::Loops(loops) => (None, by_loops(loops)),
        };
        self.run_for(herd, observer, duration_ns, expected_ns, counted)
    }

    /// The same if a run takes longer than its steady state.
    pub(crate) fn run_for(
        &self,
        mut herd: Herd,
        observer: &mut dyn Observer,
        duration_ns: Option<u64>,
        expected_ns: u64,
        counted: impl Into<Counted>,
    ) -> Result<Ended, BenchError> {
        herd.gather()?;
        let line = herd.run(observer, duration_ns, expected_ns, counted)?;
        let tasks = herd.records();
        Ok(Ended {
            tiers: metrics::tier_counts((0..tasks.len()).map(|task| self.cells.tier_counts(task))),
            stamped: (0..tasks.len()).map(|task| self.cells.stamped(task)).sum(),
            histograms: self.recorder.as_ref().map(Recorder::histograms).unwrap_or_default(),
            slowest: self.recorder.as_ref().map(Recorder::slowest).unwrap_or_default(),
            tasks,
            line,
        })
    }

    /// The outcome of every workload, for `operations` verified operations: its own metrics first, then those that all
    /// have. The workload adds its lines and notes.
    pub(crate) fn outcome(
        &self,
        info: &WorkloadInfo,
        ended: Ended,
        operations: u64,
        mut metrics: Vec<Metric>,
    ) -> TrialOutcome {
        let Ended { tasks, line, tiers, stamped, histograms, slowest } = ended;
        let is_named = |own: &Metric| crate::metric_names::fits(info.metrics, &own.name) || own.name.ends_with("_ns");
        debug_assert!(metrics.iter().all(is_named), "not in the list of {}: {metrics:?}", info.name);
        metrics.extend(metrics::per_operation(&tasks, operations, &tiers, &histograms));
        TrialOutcome {
            operations,
            metrics,
            phases: metrics::phases(self.setup_ns, &line, monotonic_ns()),
            histograms,
            slowest,
            tiers,
            stamping: self.stamping(stamped, &tasks),
            tasks,
            ..info.outcome()
        }
    }

    /// The cost of stamping as a share of the CPU time of all tasks.
    fn stamping(&self, stamped: u64, tasks: &[TaskRecord]) -> StampingReport {
        let busy_ns: u64 = tasks.iter().filter_map(|t| t.run_ns.filter(|&ns| ns > 0).or(t.cpu_ns)).sum();
        StampingReport {
            level: if self.every == 0 { Stamping::Off } else { self.order.stamping },
            every: self.every,
            stamped,
            cost_ns: self.stamp_cost_ns,
            cost_share: stamped as f64 * self.stamp_cost_ns / busy_ns.max(1) as f64,
        }
    }
}

/// A run whose tasks have ended.
pub(crate) struct Ended {
    pub(crate) tasks: Vec<TaskRecord>,
    pub(crate) line: Timeline,
    pub(crate) tiers: Vec<TierCount>,
    pub(crate) histograms: Vec<NamedHistogram>,
    pub(crate) slowest: Vec<SlowOperation>,
    stamped: u64,
}

impl Ended {
    /// Operations per second of the steady state.
    pub(crate) fn rate_per_s(&self, operations: u64) -> f64 {
        metrics::rate_per_s(&self.line, operations)
    }

    /// Operations of all tasks with a role.
    pub(crate) fn total(&self, role: &str) -> u64 {
        self.tasks.iter().filter(|task| task.role == role).map(|task| task.operations).sum()
    }

    /// From the release to the end of the steady state, s.
    pub(crate) fn steady_s(&self) -> f64 {
        (self.line.steady_end_ns - self.line.t0_ns) as f64 / 1e9
    }

    /// From the release to the end of the last task, s: what the references print after a number of loops.
    pub(crate) fn time_s(&self) -> Metric {
        let seconds = (self.line.t1_ns - self.line.t0_ns) as f64 / 1e9;
        metrics::metric("time_s", seconds, "s", Direction::LowerIsBetter)
    }
}
