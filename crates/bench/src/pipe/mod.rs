//! `pipe/1` and `pipe2/1`: two tasks pass a token through two pipes; the references are UnixBench context1 and `perf
//! bench sched pipe`. Strict: the parent writes and reads, the child reads and writes; one token, one round trip per
//! operation. Two tokens (`perf bench sched pipe` since Linux 6.15): both write, then both read.
//!
//! t0 is before the wake byte that releases all copies; t1 is the end of the steady state: when the stop flag is set,
//! or with `loops` the last task's last operation. The references start their clock before fork and pipe(), a
//! difference of less than 1 ms.

mod config;
mod loops;
mod outcome;
mod spawn;

pub(crate) use config::{INFO, INFO_TWO_TOKENS};

use crate::error::BenchError;
use crate::herd::Mode;
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::options::{canonical, cpus_text, set_duration};
use crate::prepared::{Prepared, StampParts};
use crate::recorder::Recorder;
use crate::topology::Topology;
use crate::workload::{Workload, WorkloadInfo};
use crate::{calibrate, placement, stamp};
use config::{Config, Groups, Tokens};
use schedlab_plan::{TrialOutcome, WorkloadSpec, counted};
use schedlab_sys::fd;
use std::path::PathBuf;

/// Series of the strict loop; [`loops`] records by their index.
const STRICT_SERIES: &[&str] = &[
    "latency",
    "leg_parent_write_to_child_read",
    "leg_child_read_to_child_write",
    "leg_child_write_to_parent_read",
    "leg_parent_read_to_parent_write",
];
const TWO_TOKEN_SERIES: &[&str] = &["latency"];

impl Config {
    /// The shared cells of a run, a group for each copy.
    fn prepare<'o>(&self, order: &'o RunOrder) -> Result<Prepared<'o>, BenchError> {
        let copies = self.copies as usize;
        let (series, clock_reads) = match self.tokens {
            // Clock reads: the parent's write, read and next write, the child's read and write.
            Tokens::One => (STRICT_SERIES, 5.0),
            Tokens::Two => (TWO_TOKEN_SERIES, 2.0),
        };
        let tiers = if self.is_wide() { order.topology.tiers() } else { Vec::new() };
        let parts = StampParts { clock_reads, values: series.len() as f64 };
        Prepared::new(order, 2 * copies, copies, self.length.loops().is_none())?
            .recorded(|| Recorder::new(series, &tiers, copies), parts)?
            .sampled(|level, cost_ns| {
                let message_ns = calibrate::message_ns(fd::pipe_pair, self.bytes)?;
                Ok(stamp::every(level, cost_ns, 2.0 * message_ns, 1))
            })
    }
}

impl Config {
    /// The `cgroup.procs` of the parents and of the children, if they have groups.
    fn sides<'o>(&self, order: &'o RunOrder) -> Result<Option<[&'o PathBuf; 2]>, BenchError> {
        match (self.cgroups, &order.cgroups[..]) {
            (Groups::None, _) => Ok(None),
            (Groups::Apart(_), [parents, children]) => Ok(Some([parents, children])),
            (Groups::Shared(_), [both]) => Ok(Some([both, both])),
            _ => Err(BenchError::NotPossibleHere {
                workload: self.tokens.info().name,
                reason: format!(
                    "cgroups={} needs cgroups, which `schedlab bench`, `ab` and `run` make (and remove) for it",
                    self.cgroups
                ),
            }),
        }
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
            ("cgroups", self.cgroups.to_string()),
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

    fn cgroups(&self) -> Vec<String> {
        self.cgroups.names()
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let (name, copies) = (self.tokens.info().name, self.copies as usize);
        let places = placement::places(name, self.pin, &self.cpus, copies, &order.topology)?;
        let run = self.prepare(order)?;
        let sides = self.sides(order)?;
        run.before_fork(observer)?;
        let herd = spawn::start(self, &run, &places, sides)?;
        // 200 µs per round trip: two idle exits on a slow virtual machine.
        let by_loops = |loops: u64| loops.saturating_mul(200_000).saturating_mul(self.copies.into());
        let ended = run.run(herd, observer, self.length, by_loops, "parent")?;
        outcome::build(self, &run, ended)
    }
}
