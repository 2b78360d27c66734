//! `throughput/1`; the references are libbinder_benchmark and libhwbinder_benchmark. A client sends a payload to a
//! server process, which sends it back, for payloads of 4 B to 64 KiB. It measures how long an echo takes in real time
//! and in CPU time of the client, and how many bytes are moved per second, and prints them as Google Benchmark does.
//!
//! t0 and t1 of each payload are in [`loops`]; the phases of the run also include parts that are not measured: the
//! search for the number of operations, and one echo between two payloads.

mod config;
mod google_benchmark;
mod loops;
mod measured;
mod outcome;
mod shared;
mod spawn;

pub(crate) use config::INFO;

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::options::{canonical, set_duration};
use crate::prepared::{Prepared, StampParts, mapping};
use crate::recorder::Recorder;
use crate::transport::Transport;
use crate::workload::{Workload, WorkloadInfo};
use crate::{calibrate, placement, stamp};
use config::{Config, Format, SWEEP};
use schedlab_plan::{TrialOutcome, WorkloadSpec};
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

/// A prepared run, and the memory through which clients and servers agree on batches.
struct Run<'a> {
    config: &'a Config,
    shared: Prepared<'a>,
    pace: Pace,
}

impl<'a> Run<'a> {
    fn new(config: &'a Config, order: &'a RunOrder) -> Result<Self, BenchError> {
        let (pairs, smallest) = (config.pairs as usize, config.payloads[0]);
        let series = if config.payloads.len() == SWEEP.len() { SWEEP_SERIES } else { ONE_SERIES };
        let parts = StampParts { clock_reads: 2.0, values: 1.0 };
        let shared = Prepared::new(order, config.transport.managers() + 2 * pairs, 1, true)?
            // The whole payload is the user's, without room for a CPU number, so tiers are unknown.
            .recorded(|| Recorder::new(series, &[], 1), parts)?
            .sampled(|level, cost_ns| {
                let one_way_ns = calibrate::message_ns(fd::pipe_pair, smallest)?;
                Ok(stamp::every(level, cost_ns, 2.0 * one_way_ns, 1))
            })?;
        let pace = Pace::new(pairs, config.payloads.len(), smallest).map_err(mapping())?;
        Ok(Self { config, shared, pace })
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

    fn prints_as_its_reference(&self) -> bool {
        self.format != Format::None
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let places = placement::places(INFO.name, self.pin, &self.cpus, self.pairs as usize, &order.topology)?;
        let run = Run::new(self, order)?;
        run.shared.before_fork(observer)?;
        let herd = spawn::start(&run, &places)?;
        let expected_ns = match self.length {
            // The clients' search takes about a fifth more.
            Length::DurationNs(ns) => ns.saturating_mul(2),
            // 1 ms per echo: 64 KiB on a slow virtual machine.
            Length::Loops(loops) => loops.saturating_mul(1_000_000 * self.payloads.len() as u64),
        };
        // The clients end the run, because they find out how many operations fit into a payload's time.
        let ended = run.shared.run_for(herd, observer, None, expected_ns, "client")?;
        outcome::build(&run, ended)
    }
}
