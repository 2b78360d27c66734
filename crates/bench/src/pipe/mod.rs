//! `pipe/1` and `pipe2/1`: two tasks pass a token through two pipes, twins of UnixBench context1 and `perf bench sched
//! pipe`. Strict: the parent writes and reads, the child reads and writes; one token, one round trip per operation.
//! Two tokens (`perf bench sched pipe` since Linux 6.15): both write, then both read.
//!
//! t0 is before the wake byte that releases all copies; t1 is the end of the steady state: the stop flag, or with
//! `loops` the last task's last operation. The twins begin before fork and pipe(): a difference of less than 1 ms.

mod config;
mod herding;
mod loops;
mod outcome;

pub(crate) use config::{INFO, INFO_TWO_TOKENS};
pub(crate) use outcome::across_copies;

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
use crate::topology::Topology;
use crate::{calibrate, placement, stamp};
use config::{Config, Tokens};
use schedlab_run::{Stamping, TrialOutcome, WorkloadSpec, counted};
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::fd;
use std::path::PathBuf;

/// Series of the strict loop; the index is what [`loops`] records under.
const STRICT_SERIES: &[&str] = &[
    "latency",
    "leg_parent_write_to_child_read",
    "leg_child_read_to_child_write",
    "leg_child_write_to_parent_read",
    "leg_parent_read_to_parent_write",
];
const TWO_TOKEN_SERIES: &[&str] = &["latency"];

/// Everything one run is made of, besides the herd.
struct Run<'a> {
    config: &'a Config,
    order: &'a RunOrder,
    setup_ns: u64,
    cells: TaskCells,
    recorder: Option<Recorder>,
    stamp_cost_ns: f64,
    every: u64,
    plant: Option<PlantCell>,
}

impl<'a> Run<'a> {
    fn new(config: &'a Config, order: &'a RunOrder) -> Result<Self, BenchError> {
        let setup_ns = monotonic_ns();
        let map = || BenchError::io("mapping the shared cells");
        let copies = config.copies as usize;
        let cells = TaskCells::new(2 * copies, copies, matches!(config.length, Length::DurationNs(_))).map_err(map())?;
        let (series, clock_reads) = match config.tokens {
            // The parent's write, read and next write, the child's read and write.
            Tokens::One => (STRICT_SERIES, 5.0),
            Tokens::Two => (TWO_TOKEN_SERIES, 2.0),
        };
        let tiers = if config.is_wide() { order.topology.tiers() } else { Vec::new() };
        let stamps = order.stamping != Stamping::Off;
        let recorder = stamps.then(|| Recorder::new(series, &tiers, copies).map_err(map())).transpose()?;
        let recorder = recorder.map(|recorder| recorder.beside(order));
        let (mut stamp_cost_ns, mut every) = (0.0, 0);
        if let Some(recorder) = &recorder {
            stamp_cost_ns = clock_reads * calibrate::clock_read_ns() + series.len() as f64 * recorder.cost_ns();
            let calibrating = || BenchError::io("calibrating the stamping interval");
            let pair = fd::pipe_pair().map_err(calibrating())?;
            let message_ns = calibrate::transfer_ns(&pair, config.bytes).map_err(calibrating())?;
            every = stamp::every(order.stamping, stamp_cost_ns, 2.0 * message_ns, 1);
        }
        let plant = order.plant().map_err(map())?;
        Ok(Self { config, order, setup_ns, cells, recorder, stamp_cost_ns, every, plant })
    }

    /// The loop order of both tasks of a copy: the same phase, so that both stamp the same operations.
    fn loops(&self, copy: u32) -> LoopOrder {
        let loops = match self.config.length {
            Length::Loops(loops) => Some(loops),
            Length::DurationNs(_) => None,
        };
        let phase = self.order.seed.wrapping_add(u64::from(copy) * 7);
        let (stamping, every, plant) = (self.order.stamping, self.every, self.plant.clone());
        LoopOrder { stamping, every, phase, plant, loops, stop: self.cells.stop_flag() }
    }
}

impl Config {
    /// With `cgroups=apart` the `cgroup.procs` of the parents and of the children.
    fn sides<'o>(&self, order: &'o RunOrder) -> Result<Option<&'o [PathBuf; 2]>, BenchError> {
        if !self.cgroups_apart {
            return Ok(None);
        }
        let missing = || BenchError::NotPossibleHere {
            workload: self.tokens.info().name,
            reason: "cgroups=apart needs two cgroups, which `schedlab bench`, `ab` and `run` make (and remove) for it"
                .into(),
        };
        order.cgroups.first_chunk().map(Some).ok_or_else(missing)
    }
}

impl Workload for Config {
    fn info(&self) -> &'static WorkloadInfo {
        self.tokens.info()
    }

    fn spec(&self) -> WorkloadSpec {
        let args = [
            ("copies", self.copies.to_string()),
            ("pin", self.pin.name().to_owned()),
            ("bytes", self.bytes.to_string()),
            ("mode", self.mode.name().to_owned()),
            ("cgroups", if self.cgroups_apart { "apart" } else { "none" }.to_owned()),
            ("cpus", cpus_text(&self.cpus)),
        ];
        canonical(self.tokens.info(), &args, Some(self.length))
    }

    fn set_duration_ns(&mut self, ns: u64) -> Result<(), BenchError> {
        set_duration(self.tokens.info(), &mut self.length, self.length_written, ns)
    }

    fn check(&self, limits: &Limits) -> Result<(), BenchError> {
        let copies = u64::from(self.copies);
        let files = match self.mode {
            Mode::Process => 16,
            Mode::Thread => 6 * copies + 16,
        };
        limits.fit(self.tokens.info().name, &format!("{} × 2 tasks", counted(copies, "copies")), 2 * copies, files)
    }

    fn check_placement(&self, topology: &Topology) -> Result<(), BenchError> {
        let (name, copies) = (self.tokens.info().name, self.copies as usize);
        placement::places(name, self.pin, &self.cpus, copies, topology).map(|_| ())
    }

    fn confined_to(&self, topology: &Topology) -> Vec<u32> {
        placement::confined_to(placement::places(
            self.tokens.info().name,
            self.pin,
            &self.cpus,
            self.copies as usize,
            topology,
        ))
    }

    fn cgroups(&self) -> &'static [&'static str] {
        if self.cgroups_apart { &["parent", "child"] } else { &[] }
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let (name, copies) = (self.tokens.info().name, self.copies as usize);
        let places = placement::places(name, self.pin, &self.cpus, copies, &order.topology)?;
        let run = Run::new(self, order)?;
        if let Some(cell) = &run.plant {
            observer.plant_cell(cell);
        }
        let sides = self.sides(order)?;
        observer.before_fork().map_err(BenchError::Observer)?;
        let mut herd = herding::start(&run, &places, sides)?;
        herd.gather()?;
        let (duration_ns, expected_ns) = match self.length {
            Length::DurationNs(ns) => (Some(ns), ns),
            // 200 µs a round trip: two idle exits on a slow virtual machine.
            Length::Loops(loops) => (None, loops.saturating_mul(200_000).saturating_mul(self.copies.into())),
        };
        let line = herd.run(observer, duration_ns, expected_ns, "parent")?;
        outcome::build(&run, &herd, &line)
    }
}
