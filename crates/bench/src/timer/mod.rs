//! `timer/1`, twin of cyclictest: each thread sleeps to absolute instants, one interval apart, and measures how late it
//! wakes. Unlike the twin it leaves no period out: those that began while a late thread still slept are counted as
//! missed, each with its own lateness, so that a stall weighs as long as it lasts (no coordinated omission).
//!
//! t0 of the run is before the wake byte that releases all threads, t1 the stop flag, or with `loops` the last
//! thread's last wake-up. t0 of a wake-up is the instant its period begins, t1 the clock read after the sleep.

mod config;
mod dma_latency;
mod loops;
mod outcome;
mod periods;
mod policy;

pub(crate) use config::INFO;

use crate::calibrate;
use crate::dispatch::{Length, LoopOrder};
use crate::error::BenchError;
use crate::herd::{Gate, Herd, Mode};
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::options::{canonical, cpus_text, set_duration};
use crate::placement::confine;
use crate::plant::PlantCell;
use crate::recorder::Recorder;
use crate::registry::{Workload, WorkloadInfo};
use crate::task::{Step, TaskCells, TaskError, Work};
use config::Config;
use dma_latency::{DmaLatency, Wish};
use loops::{SERIES, Timer};
use schedlab_run::units::format_ns_exact;
use schedlab_run::{Policy, Stamping, TrialOutcome, WorkloadSpec};
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::fd;
use std::path::Path;

/// Everything one run is made of, besides the herd.
struct Run<'a> {
    config: &'a Config,
    order: &'a RunOrder,
    setup_ns: u64,
    cells: TaskCells,
    recorder: Option<Recorder>,
    stamp_cost_ns: f64,
    plant: Option<PlantCell>,
}

impl<'a> Run<'a> {
    fn new(config: &'a Config, order: &'a RunOrder) -> Result<Self, BenchError> {
        let setup_ns = monotonic_ns();
        let map = || BenchError::io("mapping the shared cells");
        let threads = config.threads as usize;
        let cells = TaskCells::new(threads, threads, true).map_err(map())?;
        let stamps = order.stamping != Stamping::Off;
        let recorder = stamps.then(|| Recorder::new(SERIES, &[], threads).map_err(map())).transpose()?;
        let recorder = recorder.map(|recorder| recorder.beside(order));
        let stamp_cost_ns =
            recorder.as_ref().map_or(0.0, |r| calibrate::clock_read_ns() + SERIES.len() as f64 * r.cost_ns());
        let plant = order.plant().map_err(map())?;
        Ok(Self { config, order, setup_ns, cells, recorder, stamp_cost_ns, plant })
    }

    /// Each wake-up is stamped at `sampled` too: its clock read is what tells a missed period, and it is one in a
    /// millisecond.
    fn loops(&self) -> LoopOrder {
        let loops = match self.config.length {
            Length::Loops(loops) => Some(loops),
            Length::DurationNs(_) => None,
        };
        let every = u64::from(self.recorder.is_some());
        let plant = self.plant.clone();
        LoopOrder { stamping: self.order.stamping, every, phase: 0, plant, loops, stop: self.cells.stop_flag() }
    }

    /// The CPUs of a thread; empty is free.
    fn cpus_of(&self, thread: u32) -> Vec<u32> {
        let cpus =
            if self.config.cpus.is_empty() { self.order.topology.allowed() } else { self.config.cpus.as_slice() };
        match self.config.pin_each {
            true => cpus.iter().copied().cycle().nth(thread as usize).into_iter().collect(),
            false => self.config.cpus.as_slice().to_vec(),
        }
    }
}

/// One thread's share of the run.
#[derive(Clone)]
struct Part {
    cells: TaskCells,
    recorder: Option<Recorder>,
    thread: u32,
    task: usize,
    interval_ns: u64,
    policy: Option<Policy>,
    cpus: Vec<u32>,
    loops: LoopOrder,
}

impl Part {
    /// Before the gate: own CPU and policy, histograms mapped.
    fn prepare(&self) -> Result<(), TaskError> {
        confine(&self.cpus)?;
        if let Some(recorder) = &self.recorder {
            recorder.fault_in(self.thread as usize);
        }
        self.policy.map_or(Ok(()), policy::take).map_err(TaskError::at(Step::Policy))
    }

    fn run(&self) -> Result<Work, TaskError> {
        self.loops.run(Timer {
            interval_ns: self.interval_ns,
            recorder: self.recorder.as_ref(),
            thread: self.thread as usize,
            counter: self.cells.counter(self.task),
            line: self.cells.group(self.thread as usize),
        })
    }
}

fn start(run: &Run<'_>) -> Result<Herd, BenchError> {
    let gate = Gate::new(fd::pipe_pair).map_err(BenchError::io("opening the gate's pipes"))?;
    let mut herd = Herd::new(run.cells.clone(), gate, run.config.threads as usize, run.order.dither);
    for thread in 0..run.config.threads {
        let part = Part {
            cells: run.cells.clone(),
            recorder: run.recorder.clone(),
            thread,
            task: herd.next_task(),
            interval_ns: run.config.interval_of(thread),
            policy: run.config.policy,
            cpus: run.cpus_of(thread),
            loops: run.loops(),
        };
        match run.config.mode {
            Mode::Process => herd.fork("timer", thread, || part.prepare(), |()| part.run())?,
            Mode::Thread => {
                let mine = part.clone();
                herd.spawn("timer", thread, move || mine.prepare(), move |()| part.run())?;
            }
        }
    }
    Ok(herd)
}

impl Workload for Config {
    fn info(&self) -> &'static WorkloadInfo {
        &INFO
    }

    fn spec(&self) -> WorkloadSpec {
        let dma_latency = match self.dma_latency {
            Wish::Auto => "auto".to_owned(),
            Wish::Micros(micros) => format!("{micros}us"),
            Wish::Leave => "none".to_owned(),
        };
        let args = [
            ("threads", self.threads.to_string()),
            ("interval", format_ns_exact(self.interval_ns)),
            ("distance", format_ns_exact(self.distance_ns)),
            ("policy", self.policy.map_or("inherit".to_owned(), |policy| policy.to_string())),
            ("pin", if self.pin_each { "each" } else { "free" }.to_owned()),
            ("cpus", cpus_text(&self.cpus)),
            ("dma-latency", dma_latency),
            ("mode", self.mode.name().to_owned()),
        ];
        canonical(&INFO, &args, Some(self.length))
    }

    fn set_duration_ns(&mut self, ns: u64) -> Result<(), BenchError> {
        set_duration(&INFO, &mut self.length, self.length_written, ns)
    }

    fn own_policy(&self) -> Option<Policy> {
        self.policy
    }

    fn check(&self, limits: &Limits) -> Result<(), BenchError> {
        // A thread holds its two /proc files open in the one process.
        let files = if self.mode == Mode::Thread { 2 * u64::from(self.threads) + 16 } else { 16 };
        limits.fit(INFO.name, &format!("{} timer threads", self.threads), self.threads.into(), files)
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        self.policy.map_or(Ok(()), policy::check)?;
        let run = Run::new(self, order)?;
        if let Some(cell) = &run.plant {
            observer.plant_cell(cell);
        }
        observer.before_fork().map_err(BenchError::Observer)?;
        let dma_latency = DmaLatency::hold(Path::new(dma_latency::DEVICE), self.dma_latency)?;
        let mut herd = start(&run)?;
        herd.gather()?;
        let (duration_ns, expected_ns) = match self.length {
            Length::DurationNs(ns) => (Some(ns), ns),
            Length::Loops(loops) => (None, loops.saturating_mul(self.longest_ns())),
        };
        let line = herd.run(observer, duration_ns, expected_ns, "timer")?;
        outcome::build(&run, &herd, &line, &dma_latency)
    }
}
