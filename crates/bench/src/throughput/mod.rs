//! `throughput/1`, twin of libbinder_benchmark and libhwbinder_benchmark: a client sends a payload to a server process,
//! which sends it back, over payloads of 4 B to 64 KiB. How long an echo takes in real time and in CPU time of the
//! client, and how many bytes a second move; printed as Google Benchmark prints it.
//!
//! t0 and t1 of each payload are in [`loops`]; the phases of the run also hold what is not measured: the search for the
//! number of operations, and one echo between two payloads.

mod config;
mod google_benchmark;
mod herding;
mod loops;
mod measured;
mod outcome;
mod shared;

pub(crate) use config::INFO;

use crate::dispatch::{Length, LoopOrder};
use crate::error::BenchError;
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::options::{canonical, set_duration};
use crate::plant::PlantCell;
use crate::recorder::Recorder;
use crate::registry::{Workload, WorkloadInfo};
use crate::task::TaskCells;
use crate::transport::Transport;
use crate::{calibrate, placement, stamp};
use config::{Config, Format, SWEEP};
use schedlab_run::{Stamping, TrialOutcome, WorkloadSpec};
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::fd;
use shared::Pace;

/// Histograms of a sweep, by payload.
const SWEEP_SERIES: &[&str] = &[
    "latency_4",
    "latency_8",
    "latency_16",
    "latency_32",
    "latency_64",
    "latency_128",
    "latency_256",
    "latency_512",
    "latency_1024",
    "latency_2048",
    "latency_4096",
    "latency_8192",
    "latency_16384",
    "latency_32768",
    "latency_65536",
];
const _: () = assert!(SWEEP_SERIES.len() == SWEEP.len());
const ONE_SERIES: &[&str] = &["latency"];

/// Everything one run is made of, besides the herd.
struct Run<'a> {
    config: &'a Config,
    order: &'a RunOrder,
    setup_ns: u64,
    cells: TaskCells,
    pace: Pace,
    recorder: Option<Recorder>,
    stamp_cost_ns: f64,
    every: u64,
    plant: Option<PlantCell>,
}

impl<'a> Run<'a> {
    fn new(config: &'a Config, order: &'a RunOrder) -> Result<Self, BenchError> {
        let setup_ns = monotonic_ns();
        let map = || BenchError::io("mapping the shared cells");
        let pairs = config.pairs as usize;
        let cells = TaskCells::new(config.transport.managers() + 2 * pairs, 1, true).map_err(map())?;
        let pace = Pace::new(pairs, config.payloads.len(), config.payloads[0]).map_err(map())?;
        let series = if config.payloads.len() == SWEEP.len() { SWEEP_SERIES } else { ONE_SERIES };
        // The payload is the user's: no room for a CPU number, so tiers are unknown.
        let stamps = order.stamping != Stamping::Off;
        let recorder = stamps.then(|| Recorder::new(series, &[], 1).map_err(map())).transpose()?;
        let recorder = recorder.map(|recorder| recorder.beside(order));
        let (mut stamp_cost_ns, mut every) = (0.0, 0);
        if let Some(recorder) = &recorder {
            stamp_cost_ns = 2.0 * calibrate::clock_read_ns() + recorder.cost_ns();
            let calibrating = || BenchError::io("calibrating the stamping interval");
            let pair = fd::pipe_pair().map_err(calibrating())?;
            let smallest = config.payloads[0];
            let one_way_ns = calibrate::transfer_ns(&pair, smallest).map_err(calibrating())?;
            every = stamp::every(order.stamping, stamp_cost_ns, 2.0 * one_way_ns, 1);
        }
        let plant = order.plant().map_err(map())?;
        Ok(Self { config, order, setup_ns, cells, pace, recorder, stamp_cost_ns, every, plant })
    }

    /// What a pair's loops are compiled for; how many operations a batch has is the client's.
    fn loops(&self, pair: usize) -> LoopOrder {
        let phase = self.order.seed.wrapping_add(pair as u64 * 7);
        let (stamping, every, plant) = (self.order.stamping, self.every, self.plant.clone());
        LoopOrder { stamping, every, phase, plant, loops: None, stop: self.cells.stop_flag() }
    }
}

impl Workload for Config {
    fn info(&self) -> &'static WorkloadInfo {
        &INFO
    }

    fn spec(&self) -> WorkloadSpec {
        canonical(&INFO, &self.arguments(), Some(self.length))
    }

    fn set_duration_ns(&mut self, ns: u64) -> Result<(), BenchError> {
        set_duration(&INFO, &mut self.length, self.length_written, ns)
    }

    fn check(&self, limits: &Limits) -> Result<(), BenchError> {
        let pairs = u64::from(self.pairs);
        let tasks = 2 * pairs + self.transport.managers() as u64;
        limits.fit(INFO.name, &format!("{pairs} pairs × 2 tasks"), tasks, Transport::FILES_PER_LINK + 16)
    }

    fn prints_as_its_twin(&self) -> bool {
        self.format != Format::None
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let places = placement::places(INFO.name, self.pin, &self.cpus, self.pairs as usize, &order.topology)?;
        let run = Run::new(self, order)?;
        if let Some(cell) = &run.plant {
            observer.plant_cell(cell);
        }
        observer.before_fork().map_err(BenchError::Observer)?;
        let mut herd = herding::start(&run, &places)?;
        herd.gather()?;
        let expected_ns = match self.length {
            // The clients' own search takes about a fifth more.
            Length::DurationNs(ns) => ns.saturating_mul(2),
            // 1 ms an echo: 64 KiB on a slow virtual machine.
            Length::Loops(loops) => loops.saturating_mul(1_000_000 * self.payloads.len() as u64),
        };
        // The clients end it: how many operations fit into a payload's time is theirs to find.
        let line = herd.run(observer, None, expected_ns, "client")?;
        outcome::build(&run, &herd, &line)
    }
}
