//! `messaging/1`; the reference is hackbench. In each group, S senders send messages to R receivers, each sender to all
//! of them in turn; nobody replies. t0 and t1 of the legacy `Time:` are hackbench's own (see [`crate::herd`]): t0 is
//! after the last ready byte and before the wake byte, t1 after the last task has been reaped or joined.

mod config;
mod loops;
mod outcome;
mod spawn;

pub(crate) use config::INFO;

use crate::error::BenchError;
use crate::herd::Mode;
use crate::limits::Limits;
use crate::observer::{Counted, Observer, RunOrder};
use crate::options::{canonical, cpus_text, set_duration};
use crate::prepared::{Prepared, StampParts};
use crate::recorder::Recorder;
use crate::workload::{Workload, WorkloadInfo};
use crate::{calibrate, stamp};
use config::Config;
use schedlab_plan::{Policy, TrialOutcome, WorkloadSpec, counted};

impl Config {
    /// The shared cells of a run, a group for each group.
    fn prepare<'o>(&self, order: &'o RunOrder) -> Result<Prepared<'o>, BenchError> {
        let groups = self.groups as usize;
        let run = Prepared::new(order, self.tasks(), groups, self.messages().is_none())?;
        if !self.has_header() {
            return Ok(run);
        }
        // One clock read on each side, and one value counted.
        let parts = StampParts { clock_reads: 2.0, values: 1.0 };
        run.recorded(|| Recorder::new(&["latency"], &order.topology.tiers(), groups), parts)?.sampled(
            |level, cost_ns| {
                let message_ns = calibrate::message_ns(self.transport.maker(), self.bytes)?;
                Ok(stamp::every(level, cost_ns, message_ns, self.receivers.into()))
            },
        )
    }

    /// The sender's part of a message's cost, needed to count messages in flight.
    fn sending_share(&self) -> Result<f64, BenchError> {
        if self.length.loops().is_some() {
            return Ok(0.5);
        }
        let weighing = || BenchError::io("weighing a send against a receive");
        let pair = (self.transport.maker())().map_err(weighing())?;
        calibrate::sending_share(&pair, self.bytes).map_err(weighing())
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
        // Process mode: the parent holds the write ends of one group, the gate, and the pair being made.
        let files = match self.mode {
            Mode::Process => u64::from(self.receivers) + 8,
            Mode::Thread => 2 * u64::from(self.receivers) * u64::from(self.groups) + tasks + 8,
        };
        limits.fit(INFO.name, &what, tasks, files)
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let run = self.prepare(order)?;
        let counted = Counted::Parts { roles: ["sender", "receiver"], first_share: self.sending_share()? };
        run.before_fork(observer)?;
        let _placed = spawn::Placed::enter(self)?;
        let herd = spawn::start(self, &run)?;
        // 20 µs per message is ten times what a slow machine needs.
        let by_loops = |_| self.messages().unwrap_or(0).saturating_mul(20_000);
        let ended = run.run(herd, observer, self.length, by_loops, counted)?;
        outcome::build(self, &run, ended)
    }
}
