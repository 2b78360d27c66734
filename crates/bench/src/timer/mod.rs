//! `timer/1`; the reference is cyclictest. Each thread sleeps until absolute instants, one interval apart, and measures
//! how late it wakes. Unlike the reference it leaves out no period: those that began while a late thread was still
//! asleep count as missed, each with its own lateness, so that a stall weighs as much as it lasts (no coordinated
//! omission).
//!
//! t0 of the run is before the wake byte that releases all threads; t1 is when the stop flag is set, or with `loops`
//! the last thread's last wakeup. t0 of a wakeup is the instant at which its period begins, t1 the clock read after the
//! sleep.

mod config;
mod dma_latency;
mod loops;
mod outcome;
mod periods;
mod policy;

pub(crate) use config::INFO;

use crate::dispatch::LoopOrder;
use crate::error::BenchError;
use crate::herd::{Herd, Mode};
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::options::{canonical, cpus_text, set_duration};
use crate::placement::confine;
use crate::prepared::{Prepared, StampParts};
use crate::recorder::Recorder;
use crate::task::{Step, TaskCells, TaskError, Work};
use crate::topology::Topology;
use crate::workload::{Workload, WorkloadInfo};
use config::Config;
use dma_latency::{DmaLatency, Wish};
use loops::{SERIES, Timer};
use schedlab_plan::units::format_ns_exact;
use schedlab_plan::{Policy, TrialOutcome, WorkloadSpec};
use schedlab_sys::fd;
use std::path::Path;

impl Config {
    /// The CPUs of a thread; if empty, it may run anywhere.
    fn cpus_of(&self, thread: u32, topology: &Topology) -> Vec<u32> {
        let cpus = if self.cpus.is_empty() { topology.allowed() } else { self.cpus.as_slice() };
        match self.pin_each {
            true => cpus.iter().copied().cycle().nth(thread as usize).into_iter().collect(),
            false => self.cpus.as_slice().to_vec(),
        }
    }

    /// The shared cells of a run. Each wakeup is stamped even at `sampled`: its clock read is what detects a missed
    /// period, and there is only one per millisecond.
    fn prepare<'o>(&self, order: &'o RunOrder) -> Result<Prepared<'o>, BenchError> {
        let threads = self.threads as usize;
        let parts = StampParts { clock_reads: 1.0, values: SERIES.len() as f64 };
        Prepared::new(order, threads, threads, true)?.recorded(|| Recorder::new(SERIES, &[], threads), parts)
    }

    fn start(&self, run: &Prepared<'_>) -> Result<Herd, BenchError> {
        let mut herd = run.herd(self.threads as usize, fd::pipe_pair)?;
        for thread in 0..self.threads {
            let part = Part {
                cells: run.cells.clone(),
                recorder: run.recorder.clone(),
                thread,
                task: herd.next_task(),
                interval_ns: self.interval_of(thread),
                policy: self.policy,
                cpus: self.cpus_of(thread, &run.order.topology),
                loops: run.loops(thread as usize, self.length.loops()),
            };
            herd.start(self.mode, "timer", thread, part, Part::prepare, |part, ()| part.run())?;
        }
        Ok(herd)
    }
}

/// One thread's share of the run.
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
    /// Before the gate: sets CPU and policy, and maps the histograms.
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
        // Each thread keeps two /proc files open, all in one process.
        let files = if self.mode == Mode::Thread { 2 * u64::from(self.threads) + 16 } else { 16 };
        limits.fit(INFO.name, &format!("{} timer threads", self.threads), self.threads.into(), files)
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        self.policy.map_or(Ok(()), policy::check)?;
        let run = self.prepare(order)?;
        run.before_fork(observer)?;
        let dma_latency = DmaLatency::hold(Path::new(dma_latency::DEVICE), self.dma_latency)?;
        let herd = self.start(&run)?;
        let by_loops = |loops: u64| loops.saturating_mul(self.longest_ns());
        let ended = run.run(herd, observer, self.length, by_loops, "timer")?;
        outcome::build(self, &run, ended, &dma_latency)
    }
}
