//! How a workload reports its progress to its caller: counters are opened before the fork, settings are read back
//! before the release, the series ticks while the tasks run. All calls come from the control process, none from a timed
//! loop.

use crate::delay::{DelayCell, Stall};
use crate::error::BenchError;
use crate::task::TaskCells;
use crate::topology::Topology;
use schedlab_plan::Stamping;
use schedlab_plan::lane::Dither;
use std::io;
use std::path::PathBuf;

/// How to run a workload once.
#[derive(Debug, Clone)]
pub struct RunOrder {
    /// Stamping level.
    pub stamping: Stamping,
    /// The source of every random choice.
    pub seed: u64,
    /// A spin injected into every operation, ns: the known effect of a power experiment. `Some(0)` compiles the spin in
    /// (a switchback controller sets it through [`Observer::delay_cell`]), `None` leaves it out.
    pub delay_spin_ns: Option<u64>,
    /// A stall injected into the tasks that serve operations.
    pub delay_stall: Option<Stall>,
    /// The machine.
    pub topology: Topology,
    /// `cgroup.procs` of each cgroup that [`Workload::cgroups`](crate::Workload::cgroups) names, in its order.
    pub cgroups: Vec<PathBuf>,
    /// The tracefs directory of a trace that runs at the same time; a workload that stops traces stops this one.
    pub trace_instance: Option<PathBuf>,
    /// CPU time that each task burns before it is ready, in a guest of the virtual lane.
    pub dither: Option<Dither>,
    /// Keep the slowest operations with their times, so that a trace can show what happened in them.
    pub keep_slowest: bool,
}

impl RunOrder {
    /// An order that injects nothing, joins no cgroup and keeps nothing beyond a trial's usual results.
    pub fn plain(stamping: Stamping, seed: u64, topology: Topology) -> Self {
        Self {
            stamping,
            seed,
            delay_spin_ns: None,
            delay_stall: None,
            topology,
            cgroups: Vec::new(),
            trace_instance: None,
            dither: None,
            keep_slowest: false,
        }
    }

    /// Refuses an injected spin or stall for a workload without operations of ours to inject it into.
    pub(crate) fn injects_nothing(&self, workload: &'static str) -> Result<(), BenchError> {
        if self.delay_spin_ns.is_none() && self.delay_stall.is_none() {
            return Ok(());
        }
        let reason = format!("neither a spin nor a stall can be injected into {workload}: leave out plant=");
        Err(BenchError::Conflict { workload, reason })
    }

    /// The shared cell for what this order injects; `None` if it injects nothing.
    pub(crate) fn delay(&self) -> io::Result<Option<DelayCell>> {
        match (self.delay_spin_ns, self.delay_stall) {
            (None, None) => Ok(None),
            (spin_ns, stall) => DelayCell::new(spin_ns.unwrap_or(0), stall).map(Some),
        }
    }
}

/// One task of the workload, alive and blocked before the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HerdTask {
    /// Thread id.
    pub tid: u32,
    /// `sender`, `receiver`, `parent`, `child`, `burner`.
    pub role: &'static str,
    /// Group or copy number.
    pub group: u32,
}

/// The caller's side of a trial. An `Err` ends the trial: the tasks are ended and the text is the trial's error.
pub trait Observer {
    /// There is one thread and nothing is forked yet: inherited perf events are opened here.
    fn before_fork(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// All tasks exist and block until the release: settings are applied and read back here.
    fn herd_ready(&mut self, _tasks: &[HerdTask]) -> Result<(), String> {
        Ok(())
    }
    /// Everything is ready and nothing runs yet: what counts over the measured part starts here. Once released,
    /// short-lived tasks may keep this thread off its CPU for their whole life.
    fn releasing(&mut self) {}
    /// The tasks were released at `t0_ns` (CLOCK_MONOTONIC).
    fn released(&mut self, _t0_ns: u64) {}
    /// Called right after [`Self::released`] and then at each instant that it returned (CLOCK_MONOTONIC ns; `u64::MAX`:
    /// never again).
    fn tick(&mut self, _now_ns: u64, _progress: &Progress<'_>) -> u64 {
        u64::MAX
    }
    /// Called after each tick: a problem outside the workload that must end the trial.
    fn trouble(&mut self) -> Option<String> {
        None
    }
    /// The steady state ended at `t1_ns`: the stop flag is about to be set, or all tasks are done.
    fn stopped(&mut self, _t1_ns: u64) {}
    /// The shared cell of the injected spin, handed over before the fork when a spin is injected.
    fn delay_cell(&mut self, _cell: &DelayCell) {}
}

/// The observer of a trial that is not observed.
#[derive(Debug, Default)]
pub struct Quiet;

impl Observer for Quiet {}

/// Whose counters count the operations.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Counted {
    /// The role that completes an operation.
    Role(&'static str),
    /// Two roles that each do a part of an operation, such as sending and receiving a message. Messages queue between
    /// them: if only one end were counted, a queue that fills or drains would look like a changing rate. Any weighting
    /// of the two ends gives the same rate in the long run; weights proportional to their costs give it soonest.
    Parts {
        /// The role that begins an operation, and the one that completes it.
        roles: [&'static str; 2],
        /// The weight of the first role's part, 0 to 1.
        first_share: f64,
    },
}

impl From<&'static str> for Counted {
    fn from(role: &'static str) -> Self {
        Self::Role(role)
    }
}

/// Operations done so far, summed over the tasks that complete them.
#[derive(Debug)]
pub struct Progress<'a> {
    cells: &'a TaskCells,
    roles: &'a [&'static str],
    counted: Counted,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(cells: &'a TaskCells, roles: &'a [&'static str], counted: Counted) -> Self {
        Self { cells, roles, counted }
    }
    /// Operations completed since release; one relaxed load for each counting task. Counting is a store into the task's
    /// own cache line; it was measured to cost nothing and is done in every run.
    pub fn operations(&self) -> u64 {
        match self.counted {
            Counted::Role(role) => self.total(role),
            Counted::Parts { roles: [first, second], first_share } => {
                let parts = self.total(first) as f64 * first_share + self.total(second) as f64 * (1.0 - first_share);
                parts.round() as u64
            }
        }
    }
    fn total(&self, wanted: &str) -> u64 {
        let counted = self.roles.iter().enumerate().filter(|(_, role)| **role == wanted);
        counted.map(|(task, _)| self.cells.operations(task)).sum()
    }
}
