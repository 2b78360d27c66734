//! `wakeup/2`, twin of schbench: messengers wake workers; a worker thinks, multiplies matrices and asks again. Beyond
//! the twin an open loop: requests arrive on a schedule whether the workers are ready or not, and every latency counts
//! from the instant a request was meant to arrive, so that a stall delays all who came meanwhile (no coordinated
//! omission). No value is dropped, also not those below a microsecond.
//!
//! t0 of the run is before the wake byte that releases all tasks, t1 the stop flag, or with `loops` the last task's last
//! request. t0 and t1 of a request are in [`worker`].

mod arrivals;
mod config;
mod herding;
mod job;
mod lines;
mod messenger;
mod outcome;
mod worker;

pub(crate) use config::INFO;

use crate::dispatch::{Length, LoopOrder};
use crate::error::BenchError;
use crate::herd::Mode;
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::options::{canonical, cpus_text, set_duration};
use crate::plant::PlantCell;
use crate::recorder::Recorder;
use crate::registry::{Workload, WorkloadInfo};
use crate::task::TaskCells;
use crate::{calibrate, stamp};
use config::Config;
use job::{CpuLocks, Pages, matrix_size};
use lines::Lines;
use schedlab_run::units::format_ns_exact;
use schedlab_run::{Stamping, TrialOutcome, WorkloadSpec};
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::fd;
use schedlab_sys::futex::Scope;
use worker::{CLOSED_SERIES, OPEN_SERIES};

/// Least time of one multiply-add of 64-bit numbers, ns: no CPU does four of them in one.
const MULTIPLY_ADD_NS: f64 = 0.1;

/// Everything one run is made of, besides the herd.
struct Run<'a> {
    config: &'a Config,
    order: &'a RunOrder,
    setup_ns: u64,
    cells: TaskCells,
    lines: Lines,
    locks: Option<CpuLocks>,
    pages: Option<Pages>,
    recorder: Option<Recorder>,
    stamp_cost_ns: f64,
    every: u64,
    plant: Option<PlantCell>,
}

impl<'a> Run<'a> {
    fn new(config: &'a Config, order: &'a RunOrder) -> Result<Self, BenchError> {
        let setup_ns = monotonic_ns();
        let map = || BenchError::io("mapping the shared cells");
        let cells = TaskCells::new(config.tasks(), 0, true).map_err(map())?;
        let scope = if config.mode == Mode::Thread { Scope::PRIVATE } else { Scope::SHARED };
        let highest = order.topology.online().last().copied().unwrap_or(0);
        let locks = config.lock.then(|| CpuLocks::new(highest).map_err(map())).transpose()?;
        let pages = config.pipe_bytes.map(|bytes| Pages::new(config.all_workers() as usize, bytes).map_err(map()));
        let series = if config.rate.is_some() { OPEN_SERIES } else { CLOSED_SERIES };
        let stamps = order.stamping != Stamping::Off;
        let recorder =
            stamps.then(|| Recorder::with_untiered(series, &order.topology.tiers(), config.tasks()).map_err(map()));
        let mut run = Self {
            config,
            order,
            setup_ns,
            // A line for each task, of the same number.
            lines: Lines::new(config.tasks(), scope).map_err(map())?,
            cells,
            locks,
            pages: pages.transpose()?,
            recorder: recorder.transpose()?.map(|recorder| recorder.beside(order)),
            stamp_cost_ns: 0.0,
            every: 0,
            plant: order.plant().map_err(map())?,
        };
        run.calibrate()?;
        Ok(run)
    }

    /// What a stamped request costs, and how many requests to one.
    fn calibrate(&mut self) -> Result<(), BenchError> {
        let Some(recorder) = &self.recorder else { return Ok(()) };
        // The messenger's stamp, the worker's at begin and end; and one count less than there are reads.
        self.stamp_cost_ns = 3.0 * calibrate::clock_read_ns() + 2.0 * recorder.cost_ns();
        let calibrating = || BenchError::io("calibrating the stamping interval");
        let pair = fd::pipe_pair().map_err(calibrating())?;
        // Two system calls are less than two switches, a multiplication takes its cube: lower bounds both.
        let wake_ns = calibrate::transfer_ns(&pair, 8).map_err(calibrating())?;
        let cube = (matrix_size(self.config.footprint_bytes) as f64).powi(3);
        let work_ns = self.config.work as f64 * cube * MULTIPLY_ADD_NS;
        // An open loop has the time between two arrivals for each, and sleeps the rest of it.
        let arrival_ns = self.config.rate.map_or(0.0, |rate| 1e9 / rate as f64);
        let request_ns = (wake_ns + self.config.think_ns as f64 + work_ns).max(arrival_ns);
        self.every = stamp::every_or_each(self.order.stamping, self.stamp_cost_ns, request_ns);
        Ok(())
    }

    /// The loop order of the worker with this task number.
    fn loops(&self, task: usize) -> LoopOrder {
        let loops = match (self.config.length, self.config.rate) {
            (Length::Loops(loops), _) => Some(loops),
            // The messenger ends an open loop: a worker that stopped by itself would leave late requests uncounted.
            (Length::DurationNs(_), Some(_)) => Some(u64::MAX),
            (Length::DurationNs(_), None) => None,
        };
        let phase = self.order.seed.wrapping_add(task as u64 * 7);
        let (stamping, every, plant) = (self.order.stamping, self.every, self.plant.clone());
        LoopOrder { stamping, every, phase, plant, loops, stop: self.cells.stop_flag() }
    }

    /// How long the run should take, ns; generous where only the work is known.
    fn expected_ns(&self) -> u64 {
        match (self.config.length, self.config.rate) {
            (Length::DurationNs(ns), _) => ns,
            (Length::Loops(loops), Some(rate)) => {
                (loops.saturating_mul(self.config.all_workers()) as f64 * 1e9 / rate as f64) as u64
            }
            (Length::Loops(loops), None) => {
                let cube = (matrix_size(self.config.footprint_bytes) as u64).pow(3);
                let request_ns = self.config.think_ns + 200_000 + self.config.work.saturating_mul(cube * 4);
                request_ns.saturating_mul(loops).saturating_mul(self.config.all_workers())
            }
        }
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
        // A thread holds its two /proc files open in the one process.
        let files = if self.mode == Mode::Thread { 2 * tasks + 16 } else { 16 };
        let what = format!("{} messengers × {} workers", self.messengers, self.workers);
        limits.fit(INFO.name, &what, tasks, files)
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let places = herding::places(self, &order.topology)?;
        let run = Run::new(self, order)?;
        if let Some(cell) = &run.plant {
            observer.plant_cell(cell);
        }
        observer.before_fork().map_err(BenchError::Observer)?;
        let mut herd = herding::start(&run, &places)?;
        herd.gather()?;
        let duration_ns = match self.length {
            Length::DurationNs(ns) => Some(ns),
            Length::Loops(_) => None,
        };
        let line = herd.run(observer, duration_ns, run.expected_ns(), "worker")?;
        outcome::build(&run, &herd, &line)
    }
}
