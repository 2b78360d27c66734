//! `transact/1`, twin of Android's libhwbinder_latency and schd-dbg: pairs of a client and a server process; in each
//! iteration the client makes one transaction from a SCHED_FIFO 99 thread and one from its own SCHED_OTHER thread.
//! How long each took, whether it met the deadline, whether it was served on the caller's CPU (SYNC), and whether the
//! server ran with the caller's policy, priority and nice value.
//!
//! t0 and t1 of a transaction are in [`timed`]. The run's t0 is before the wake byte that releases all pairs, its t1
//! the end of the last client's last iteration, or the stop flag.

mod calling_thread;
mod client;
mod compat;
mod config;
mod herding;
mod inheritance;
mod measured;
mod message;
mod outcome;
mod report;
mod server;
mod summary;
mod timed;
mod trace_stop;

pub(crate) use config::INFO;

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::options::{canonical, set_duration};
use crate::plant::PlantCell;
use crate::recorder::Recorder;
use crate::registry::{Workload, WorkloadInfo};
use crate::task::TaskCells;
use crate::transport::Transport;
use crate::{Topology, calibrate, placement};
use config::{Compat, Config};
use report::{Class, Reports};
use schedlab_run::{Policy, Stamping, TrialOutcome, WorkloadSpec};
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::{rights, sched_attr};
use std::path::Path;
use trace_stop::TraceStop;

/// Everything one run is made of, besides the herd.
struct Run<'a> {
    config: &'a Config,
    order: &'a RunOrder,
    setup_ns: u64,
    cells: TaskCells,
    reports: Reports,
    /// One for each pair; none when nothing is timed.
    recorders: Vec<Recorder>,
    stamp_cost_ns: f64,
    plant: Option<PlantCell>,
    fifo_refused: Option<String>,
    trace: Option<TraceStop>,
}

impl<'a> Run<'a> {
    fn new(config: &'a Config, order: &'a RunOrder) -> Result<Self, BenchError> {
        let setup_ns = monotonic_ns();
        let map = || BenchError::io("mapping the shared cells");
        let pairs = config.pairs as usize;
        // The last third: a kept FIFO thread of each client.
        let cells = TaskCells::new(config.transport.managers() + 3 * pairs, 1, true).map_err(map())?;
        let kept = config.loops().filter(|_| config.keeps_all()).unwrap_or(0);
        let reports = Reports::new(pairs, kept).map_err(map())?;
        // A deadline is missed or met by every transaction, so at every level but `off` each is timed, as in the twins.
        let timed_pairs = if order.stamping == Stamping::Off { 0 } else { pairs };
        let tiers = order.topology.tiers();
        let recorder = |_| Recorder::new(Class::NAMES, &tiers, 1).map(|recorder| recorder.beside(order)).map_err(map());
        let recorders = (0..timed_pairs).map(recorder).collect::<Result<Vec<_>, _>>()?;
        let count_ns = recorders.first().map(Recorder::cost_ns);
        let stamp_cost_ns = count_ns.map_or(0.0, |count_ns| 2.0 * calibrate::clock_read_ns() + count_ns);
        let plant = order.plant().map_err(map())?;
        // A trace of ours beside the trial is stopped too, unless another one is named.
        let beside = order.trace_instance.as_deref().filter(|_| config.stop_on_miss).and_then(Path::to_str);
        let trace = config.trace_instance.as_deref().or(beside).map(TraceStop::open).transpose()?;
        let fifo_refused = fifo_refused();
        Ok(Self { config, order, setup_ns, cells, reports, recorders, stamp_cost_ns, plant, fifo_refused, trace })
    }
}

impl Run<'_> {
    /// The cell of a pair's kept FIFO thread.
    fn kept_cell(&self, pair: usize) -> usize {
        self.config.transport.managers() + 2 * self.config.pairs as usize + pair
    }
}

/// Why a thread of ours may not run under SCHED_FIFO 99; `None` when it may.
fn fifo_refused() -> Option<String> {
    let tried = rights::try_policy(sched_attr::SCHED_FIFO, calling_thread::FIFO_PRIORITY.into());
    tried.err().map(|error| format!("SCHED_FIFO 99 was refused ({error}); it needs CAP_SYS_NICE or `ulimit -r 99`"))
}

impl Workload for Config {
    fn info(&self) -> &'static WorkloadInfo {
        &INFO
    }

    fn spec(&self) -> WorkloadSpec {
        canonical(&INFO, &self.arguments(), Some(self.length))
    }

    fn set_duration_ns(&mut self, ns: u64) -> Result<(), BenchError> {
        if self.keeps_all() {
            let reason = "raw-data and verbose keep every transaction: give loops, not a trial length".into();
            return Err(BenchError::Conflict { workload: INFO.name, reason });
        }
        set_duration(&INFO, &mut self.length, self.length_written, ns)
    }

    fn check(&self, limits: &Limits) -> Result<(), BenchError> {
        let pairs = u64::from(self.pairs);
        // A client may have one thread besides its own at a time.
        let tasks = 3 * pairs + self.transport.managers() as u64;
        limits.fit(INFO.name, &format!("{pairs} pairs × 3 tasks"), tasks, Transport::FILES_PER_LINK + 16)
    }

    fn own_policy(&self) -> Option<Policy> {
        Some(Policy::Fifo(calling_thread::FIFO_PRIORITY))
    }

    fn confined_to(&self, topology: &Topology) -> Vec<u32> {
        placement::confined_to(placement::places(INFO.name, self.pin, &self.cpus, self.pairs as usize, topology))
    }

    fn prints_as_its_twin(&self) -> bool {
        self.compat != Compat::None
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let places = placement::places(INFO.name, self.pin, &self.cpus, self.pairs as usize, &order.topology)?;
        if self.compat != Compat::None && order.stamping == Stamping::Off {
            let reason = "compat= prints latencies as its twin does, and with --latency off none is measured: leave out one of them";
            return Err(BenchError::Conflict { workload: INFO.name, reason: reason.into() });
        }
        let run = Run::new(self, order)?;
        if let Some(cell) = &run.plant {
            observer.plant_cell(cell);
        }
        observer.before_fork().map_err(BenchError::Observer)?;
        let mut herd = herding::start(&run, &places)?;
        herd.gather()?;
        let (duration_ns, expected_ns) = match self.length {
            Length::DurationNs(ns) => (Some(ns), ns),
            // 2 ms an iteration: a slow virtual machine's thread creation and two idle exits.
            Length::Loops(loops) => (None, loops.saturating_mul(2_000_000).saturating_mul(self.pairs.into())),
        };
        let line = herd.run(observer, duration_ns, expected_ns, "client")?;
        outcome::build(&run, &herd, &line)
    }
}
