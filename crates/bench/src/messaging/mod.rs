//! `messaging/1`, twin of hackbench: in each group S senders spray messages to R receivers, each sender to all of them
//! in turn; nobody replies. t0 and t1 of the legacy `Time:` are hackbench's own (see [`crate::herd`]): from after the
//! last ready byte, before the wake byte, to after the last task has been reaped or joined.

mod config;
mod herding;
mod loops;
mod outcome;

pub(crate) use config::INFO;

use crate::dispatch::{Length, LoopOrder};
use crate::error::BenchError;
use crate::herd::Mode;
use crate::limits::Limits;
use crate::observer::{Counted, Observer, RunOrder};
use crate::options::{canonical, cpus_text, set_duration};
use crate::plant::PlantCell;
use crate::recorder::Recorder;
use crate::registry::{Workload, WorkloadInfo};
use crate::task::TaskCells;
use crate::{calibrate, stamp};
use config::Config;
use schedlab_run::{Policy, Stamping, TrialOutcome, WorkloadSpec, counted};
use schedlab_sys::clock::monotonic_ns;

/// Everything one run is made of, besides the herd.
struct Run<'a> {
    config: &'a Config,
    order: &'a RunOrder,
    setup_ns: u64,
    cells: TaskCells,
    recorder: Option<Recorder>,
    stamp_cost_ns: f64,
    every: u64,
    /// The sender's part of a message, for counting those under way.
    sending_share: f64,
    plant: Option<PlantCell>,
}

impl<'a> Run<'a> {
    fn new(config: &'a Config, order: &'a RunOrder) -> Result<Self, BenchError> {
        let setup_ns = monotonic_ns();
        let map = || BenchError::io("mapping the shared cells");
        let cells =
            TaskCells::new(config.tasks(), config.groups as usize, config.messages().is_none()).map_err(map())?;
        let stamps = order.stamping != Stamping::Off && config.has_header();
        let tiers = order.topology.tiers();
        let recorder = stamps.then(|| Recorder::new(&["latency"], &tiers, config.groups as usize).map_err(map()));
        let recorder = recorder.transpose()?.map(|recorder| recorder.beside(order));
        let (mut stamp_cost_ns, mut every) = (0.0, 0);
        if let Some(recorder) = &recorder {
            // A stamped message costs a clock read on each side and the count.
            stamp_cost_ns = 2.0 * calibrate::clock_read_ns() + recorder.cost_ns();
            let pair = (config.transport.maker())().map_err(BenchError::io("calibrating the stamping interval"))?;
            let message_ns = calibrate::transfer_ns(&pair, config.bytes)
                .map_err(BenchError::io("calibrating the stamping interval"))?;
            every = stamp::every(order.stamping, stamp_cost_ns, message_ns, config.receivers.into());
        }
        let sending_share = match config.length {
            Length::Loops(_) => 0.5,
            Length::DurationNs(_) => {
                let weighing = || BenchError::io("weighing a send against a receive");
                let pair = (config.transport.maker())().map_err(weighing())?;
                calibrate::sending_share(&pair, config.bytes).map_err(weighing())?
            }
        };
        let plant = order.plant().map_err(map())?;
        Ok(Self { config, order, setup_ns, cells, recorder, stamp_cost_ns, every, sending_share, plant })
    }

    /// The loop order of a task that does `loops` operations (`None`: until the stop flag).
    fn loops(&self, loops: Option<u64>, task: usize) -> LoopOrder {
        LoopOrder {
            stamping: if self.recorder.is_some() { self.order.stamping } else { Stamping::Off },
            every: self.every,
            phase: self.order.seed.wrapping_add(task as u64 * 7),
            plant: self.plant.clone(),
            loops,
            stop: self.cells.stop_flag(),
        }
    }
}

impl Workload for Config {
    fn info(&self) -> &'static WorkloadInfo {
        &INFO
    }

    fn spec(&self) -> WorkloadSpec {
        let args = [
            ("groups", self.groups.to_string()),
            ("senders", self.senders.to_string()),
            ("receivers", self.receivers.to_string()),
            ("bytes", self.bytes.to_string()),
            ("transport", self.transport.name().to_owned()),
            ("mode", self.mode.name().to_owned()),
            ("fifo", if self.fifo { "yes" } else { "no" }.to_owned()),
            ("cpus", cpus_text(&self.cpus)),
        ];
        canonical(&INFO, &args, Some(self.length))
    }

    fn set_duration_ns(&mut self, ns: u64) -> Result<(), BenchError> {
        set_duration(&INFO, &mut self.length, self.length_written, ns)
    }

    fn own_policy(&self) -> Option<Policy> {
        self.fifo.then_some(Policy::Fifo(1))
    }

    fn check(&self, limits: &Limits) -> Result<(), BenchError> {
        let tasks = self.tasks() as u64;
        let per_group = u64::from(self.senders) + u64::from(self.receivers);
        let what = format!("{} × {}", counted(self.groups, "groups"), counted(per_group, "tasks"));
        // Process mode: the parent holds one group's write ends, the gate and a pair in the making.
        let files = match self.mode {
            Mode::Process => u64::from(self.receivers) + 8,
            Mode::Thread => 2 * u64::from(self.receivers) * u64::from(self.groups) + tasks + 8,
        };
        limits.fit(INFO.name, &what, tasks, files)
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let run = Run::new(self, order)?;
        if let Some(cell) = &run.plant {
            observer.plant_cell(cell);
        }
        observer.before_fork().map_err(BenchError::Observer)?;
        let _placed = herding::Placed::enter(self)?;
        let mut herd = herding::start(&run)?;
        herd.gather()?;
        let (duration_ns, expected_ns) = match self.length {
            Length::DurationNs(ns) => (Some(ns), ns),
            // 20 µs a message is ten times what a slow machine needs.
            Length::Loops(_) => (None, run.config.messages().unwrap_or(0).saturating_mul(20_000)),
        };
        let counted = Counted::Parts { roles: ["sender", "receiver"], first_share: run.sending_share };
        let line = herd.run(observer, duration_ns, expected_ns, counted)?;
        outcome::build(&run, &herd, &line)
    }
}
