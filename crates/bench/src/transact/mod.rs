//! `transact/1`; the references are Android's libhwbinder_latency and schd-dbg. It runs pairs of a client and a server
//! process; in each iteration the client makes one transaction from a SCHED_FIFO 99 thread and one from its own
//! SCHED_OTHER thread. It measures how long each took, whether it met the deadline, whether it was served on the
//! caller's CPU (SYNC), and whether the server ran with the caller's policy, priority and nice value.
//!
//! t0 and t1 of a transaction are in [`timed`]. The run's t0 is before the wake byte that releases all pairs; its t1 is
//! the end of the last client's last iteration, or when the stop flag is set.

mod calling_thread;
mod client;
mod compat;
mod config;
mod inheritance;
mod measured;
mod message;
mod outcome;
mod report;
mod server;
mod spawn;
mod summary;
mod timed;
mod trace_stop;

pub(crate) use config::INFO;

use crate::error::BenchError;
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::options::{canonical, set_duration};
use crate::prepared::{Prepared, StampParts, mapping};
use crate::recorder::Recorder;
use crate::transport::Transport;
use crate::workload::{Workload, WorkloadInfo};
use crate::{Topology, placement};
use config::{Compat, Config};
use report::{Class, Reports};
use schedlab_plan::{Policy, Stamping, TrialOutcome, WorkloadSpec};
use schedlab_sys::{rights, sched_attr};
use std::path::Path;
use trace_stop::TraceStop;

/// A prepared run, and the memory that its pairs write to.
struct Run<'a> {
    config: &'a Config,
    shared: Prepared<'a>,
    reports: Reports,
    /// One for each pair; empty if nothing is timed.
    recorders: Vec<Recorder>,
    fifo_refused: Option<String>,
    trace: Option<TraceStop>,
}

impl<'a> Run<'a> {
    fn new(config: &'a Config, order: &'a RunOrder) -> Result<Self, BenchError> {
        let pairs = config.pairs as usize;
        // The last third is for each client's kept FIFO thread.
        let mut shared = Prepared::new(order, config.transport.managers() + 3 * pairs, 1, true)?;
        let kept = config.length.loops().filter(|_| config.keeps_all()).unwrap_or(0);
        let reports = Reports::new(pairs, kept).map_err(mapping())?;
        // Every transaction must be checked against the deadline, so at every level but `off` each is timed, as in the
        // references.
        let timed_pairs = if order.stamping == Stamping::Off { 0 } else { pairs };
        let tiers = order.topology.tiers();
        let recorder = |_| Recorder::new(Class::NAMES, &tiers, 1).map(|recorder| recorder.beside(order));
        let recorders = (0..timed_pairs).map(recorder).collect::<Result<Vec<_>, _>>().map_err(mapping())?;
        if let Some(recorder) = recorders.first() {
            shared.stamped_by(recorder, StampParts { clock_reads: 2.0, values: 1.0 });
        }
        // A trace of ours that runs during the trial is stopped too, unless another one is named.
        let beside = order.trace_instance.as_deref().filter(|_| config.stop_on_miss).and_then(Path::to_str);
        let trace = config.trace_instance.as_deref().or(beside).map(TraceStop::open).transpose()?;
        Ok(Self { config, shared, reports, recorders, fifo_refused: fifo_refused(), trace })
    }
}

impl Run<'_> {
    /// The cell of a pair's kept FIFO thread.
    fn kept_cell(&self, pair: usize) -> usize {
        self.config.transport.managers() + 2 * self.config.pairs as usize + pair
    }
}

/// Why a thread of ours may not run under SCHED_FIFO 99; `None` if it may.
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
        // Besides its own thread, a client may have one more at a time.
        let tasks = 3 * pairs + self.transport.managers() as u64;
        limits.fit(INFO.name, &format!("{pairs} pairs × 3 tasks"), tasks, Transport::FILES_PER_LINK + 16)
    }

    fn own_policy(&self) -> Option<Policy> {
        Some(Policy::Fifo(calling_thread::FIFO_PRIORITY))
    }

    fn confined_to(&self, topology: &Topology) -> Vec<u32> {
        placement::confined_to(placement::places(INFO.name, self.pin, &self.cpus, self.pairs as usize, topology))
    }

    fn prints_as_its_reference(&self) -> bool {
        self.compat != Compat::None
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let places = placement::places(INFO.name, self.pin, &self.cpus, self.pairs as usize, &order.topology)?;
        if self.compat != Compat::None && order.stamping == Stamping::Off {
            let reason = "compat= prints latencies as its reference does, and with --latency off none is measured: leave out one of them";
            return Err(BenchError::Conflict { workload: INFO.name, reason: reason.into() });
        }
        let run = Run::new(self, order)?;
        run.shared.before_fork(observer)?;
        let herd = spawn::start(&run, &places)?;
        // 2 ms per iteration: creating a thread on a slow virtual machine, and two idle exits.
        let by_loops = |loops: u64| loops.saturating_mul(2_000_000).saturating_mul(self.pairs.into());
        let ended = run.shared.run(herd, observer, self.length, by_loops, "client")?;
        outcome::build(&run, ended)
    }
}
