//! `wakeup/2`; the reference is schbench. Messengers wake workers; a worker thinks, multiplies matrices and asks again.
//! Unlike the reference it also has an open loop: requests arrive on a schedule whether or not the workers are ready,
//! and every latency is measured from the instant at which a request was meant to arrive, so that a stall delays all
//! requests that arrive meanwhile (no coordinated omission). No value is dropped, not even those below a microsecond.
//!
//! t0 of the run is before the wake byte that releases all tasks; t1 is when the stop flag is set, or with `loops` the
//! last task's last request. t0 and t1 of a request are in [`worker`].

mod arrivals;
mod config;
mod job;
mod lines;
mod messenger;
mod outcome;
mod spawn;
mod worker;

pub(crate) use config::INFO;

use crate::dispatch::LoopOrder;
use crate::error::BenchError;
use crate::herd::Mode;
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::options::{canonical, cpus_text, set_duration};
use crate::prepared::{Prepared, StampParts, mapping};
use crate::recorder::Recorder;
use crate::workload::{Workload, WorkloadInfo};
use crate::{calibrate, stamp};
use config::Config;
use job::{CpuLocks, Pages, matrix_size};
use lines::Lines;
use schedlab_plan::units::format_ns_exact;
use schedlab_plan::{TrialOutcome, WorkloadSpec};
use schedlab_sys::fd;
use schedlab_sys::futex::Scope;
use worker::{CLOSED_SERIES, OPEN_SERIES};

/// Minimum time of one multiply-add of 64-bit numbers, ns; no CPU does four of them in one cycle.
const MULTIPLY_ADD_NS: f64 = 0.1;

/// A prepared run, and the memory through which messengers and workers communicate and compute.
struct Run<'a> {
    config: &'a Config,
    shared: Prepared<'a>,
    lines: Lines,
    locks: Option<CpuLocks>,
    pages: Option<Pages>,
}

impl<'a> Run<'a> {
    fn new(config: &'a Config, order: &'a RunOrder) -> Result<Self, BenchError> {
        let tasks = config.tasks();
        let series = if config.rate.is_some() { OPEN_SERIES } else { CLOSED_SERIES };
        // Clock reads: the messenger's, and the worker's at begin and end. The values counted are one fewer.
        let parts = StampParts { clock_reads: 3.0, values: 2.0 };
        let shared = Prepared::new(order, tasks, 0, true)?
            .recorded(|| Recorder::with_untiered(series, &order.topology.tiers(), tasks), parts)?
            .sampled(|level, cost_ns| Ok(stamp::every_or_each(level, cost_ns, config.least_request_ns()?)))?;
        let scope = if config.mode == Mode::Thread { Scope::PRIVATE } else { Scope::SHARED };
        let highest = order.topology.online().last().copied().unwrap_or(0);
        let pages = config.pipe_bytes.map(|bytes| Pages::new(config.all_workers() as usize, bytes));
        Ok(Self {
            config,
            shared,
            // One line per task, with the task's number.
            lines: Lines::new(tasks, scope).map_err(mapping())?,
            locks: config.lock.then(|| CpuLocks::new(highest)).transpose().map_err(mapping())?,
            pages: pages.transpose().map_err(mapping())?,
        })
    }

    /// The loop order of the worker with this task number.
    fn loops(&self, task: usize) -> LoopOrder {
        // The messenger ends an open loop: if a worker stopped by itself, late requests would not be counted.
        let open = self.config.rate.map(|_| u64::MAX);
        self.shared.loops(task, self.config.length.loops().or(open))
    }
}

impl Config {
    /// A lower bound on the time from one request of a worker to its next, ns.
    fn least_request_ns(&self) -> Result<f64, BenchError> {
        // Both are lower bounds: two system calls cost less than two context switches, and a multiplication takes at
        // least its multiply-adds.
        let wake_ns = calibrate::message_ns(fd::pipe_pair, 8)?;
        let cube = (matrix_size(self.footprint_bytes) as f64).powi(3);
        let work_ns = self.work as f64 * cube * MULTIPLY_ADD_NS;
        // In an open loop, each request has the time between two arrivals, and the worker sleeps for the rest of it.
        let arrival_ns = self.rate.map_or(0.0, |rate| 1e9 / rate as f64);
        Ok((wake_ns + self.think_ns as f64 + work_ns).max(arrival_ns))
    }

    /// How long this many loops should take, ns; generous if only the work is known.
    fn expected_ns(&self, loops: u64) -> u64 {
        let requests = loops.saturating_mul(self.all_workers());
        if let Some(rate) = self.rate {
            return (requests as f64 * 1e9 / rate as f64) as u64;
        }
        let cube = (matrix_size(self.footprint_bytes) as u64).pow(3);
        let request_ns = self.think_ns + 200_000 + self.work.saturating_mul(cube * 4);
        request_ns.saturating_mul(requests)
    }
}

impl Workload for Config {
    fn info(&self) -> &'static WorkloadInfo {
        &INFO
    }

    fn spec(&self) -> WorkloadSpec {
        let args = [
            ("messengers", self.messengers.to_string()),
            ("workers", self.workers.to_string()),
            ("think", format_ns_exact(self.think_ns)),
            ("work", self.work.to_string()),
            ("footprint", self.footprint_bytes.to_string()),
            ("lock", if self.lock { "yes" } else { "no" }.to_owned()),
            ("pipe", self.pipe_bytes.map_or("off".to_owned(), |bytes| bytes.to_string())),
            ("rate", self.rate.map_or("closed".to_owned(), |rate| rate.to_string())),
            ("pin", self.pin.name().to_owned()),
            ("cpus", cpus_text(&self.cpus)),
            ("mode", self.mode.name().to_owned()),
        ];
        canonical(&INFO, &args, Some(self.length))
    }

    fn set_duration_ns(&mut self, ns: u64) -> Result<(), BenchError> {
        set_duration(&INFO, &mut self.length, self.length_written, ns)
    }

    fn check(&self, limits: &Limits) -> Result<(), BenchError> {
        let tasks = self.tasks() as u64;
        // Each thread keeps two /proc files open, all in one process.
        let files = if self.mode == Mode::Thread { 2 * tasks + 16 } else { 16 };
        let what = format!("{} messengers × {} workers", self.messengers, self.workers);
        limits.fit(INFO.name, &what, tasks, files)
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let places = spawn::places(self, &order.topology)?;
        let run = Run::new(self, order)?;
        run.shared.before_fork(observer)?;
        let herd = spawn::start(&run, &places)?;
        let ended = run.shared.run(herd, observer, self.length, |loops| self.expected_ns(loops), "worker")?;
        outcome::build(&run, ended)
    }
}
