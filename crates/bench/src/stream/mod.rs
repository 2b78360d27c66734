//! `stream/1`; the reference is netperf's TCP_STREAM with small sends. Each sender writes messages into its TCP
//! connection as fast as the connection accepts them; each receiver counts the bytes that arrive.
//!
//! t0 is before the wake byte that releases all streams; t1 is when the stop flag is set, or with `loops` the end of
//! the last stream. netperf's clock runs from its connect to the receiver's end of stream: the row printed here uses
//! that end, and connecting is before t0.

mod config;
mod link;
mod loops;
mod outcome;
mod spawn;

pub(crate) use config::INFO;

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::options::{canonical, cpus_text, set_duration};
use crate::prepared::{Prepared, StampParts};
use crate::recorder::Recorder;
use crate::workload::{Workload, WorkloadInfo};
use crate::{calibrate, stamp};
use config::{Config, Push};
use link::VethLink;
use schedlab_plan::{TrialOutcome, WorkloadSpec, units};
use schedlab_sys::{fd, tcp};
use std::net::Ipv4Addr;

/// The workload.
#[derive(Debug)]
pub(crate) struct Stream {
    config: Config,
    /// Made before the run by [`Workload::enter_own_net`].
    link: Option<VethLink>,
}

impl Config {
    pub(crate) fn tasks(&self) -> usize {
        2 * self.streams as usize
    }

    /// The shared cells of a run, a group for each stream.
    fn prepare<'o>(&self, order: &'o RunOrder) -> Result<Prepared<'o>, BenchError> {
        let streams = self.streams as usize;
        let parts = StampParts { clock_reads: 2.0, values: 1.0 };
        Prepared::new(order, self.tasks(), streams, self.length.loops().is_none())?
            .recorded(|| Recorder::new(&["send"], &[], streams), parts)?
            .sampled(|level, cost_ns| {
                // A send that is appended to a queued segment is cheaper than one through the whole stack. A write into
                // a pipe is as cheap, so the interval errs towards fewer stamps.
                let message_ns = calibrate::message_ns(fd::pipe_pair, self.bytes)?;
                Ok(stamp::every(level, cost_ns, message_ns, 1))
            })
    }

    /// How long a run may take, ns.
    fn expected_ns(&self) -> u64 {
        let streams = u64::from(self.streams);
        let rate = self.veth.as_ref().and_then(|veth| veth.rate_bits_per_s);
        let carried_ns = |bytes: u64| rate.map_or(0, |rate| (bytes as f64 * 8e9 / rate as f64) as u64);
        // What a send buffer may hold when the senders stop; the kernel lets one grow to 4 MB.
        let drain_ns = carried_ns(streams * u64::from(self.send_buffer.unwrap_or(4 << 20)));
        match self.length {
            Length::DurationNs(ns) => ns + drain_ns,
            // 20 µs per message is ten times what a slow machine needs.
            Length::Loops(loops) => {
                let messages = loops.saturating_mul(streams);
                let sent_ns = carried_ns(messages.saturating_mul(self.bytes as u64));
                messages.saturating_mul(20_000).saturating_add(sent_ns)
            }
        }
    }
}

impl Stream {
    pub(crate) fn new(config: Config) -> Self {
        Self { config, link: None }
    }
}

impl Workload for Stream {
    fn info(&self) -> &'static WorkloadInfo {
        &INFO
    }

    fn spec(&self) -> WorkloadSpec {
        let config = &self.config;
        let veth = config.veth.as_ref();
        let yes = |push| if config.push == push { "yes" } else { "no" }.to_owned();
        let args = [
            ("streams", config.streams.to_string()),
            ("bytes", config.bytes.to_string()),
            ("sndbuf", config.send_buffer.map_or("auto".to_owned(), |bytes| bytes.to_string())),
            ("nodelay", yes(Push::NoDelay)),
            ("cork", yes(Push::Cork)),
            ("link", if config.veth.is_some() { "veth" } else { "loopback" }.to_owned()),
            ("rate", veth.and_then(|v| v.rate_bits_per_s).map_or("none".to_owned(), units::format_bit_rate)),
            ("queue", veth.and_then(|v| v.queue_bytes).map_or("auto".to_owned(), |bytes| bytes.to_string())),
            ("netns", veth.and_then(|v| v.name.clone()).unwrap_or_else(|| "none".to_owned())),
            ("cpus", cpus_text(&config.cpus)),
        ];
        canonical(&INFO, &args, Some(config.length))
    }

    fn set_duration_ns(&mut self, ns: u64) -> Result<(), BenchError> {
        set_duration(&INFO, &mut self.config.length, self.config.length_written, ns)
    }

    fn check(&self, limits: &Limits) -> Result<(), BenchError> {
        let streams = u64::from(self.config.streams);
        limits.fit(INFO.name, &format!("{streams} streams × 2 tasks"), 2 * streams, streams + 16)
    }

    fn enter_own_net(&mut self) -> Result<bool, BenchError> {
        self.link = self.config.veth.as_ref().map(|veth| VethLink::make(veth, self.config.streams)).transpose()?;
        Ok(self.link.is_some())
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        let config = &self.config;
        let run = config.prepare(order)?;
        run.before_fork(observer)?;
        let listener = match (&config.veth, &self.link) {
            (None, _) => tcp::listen(Ipv4Addr::LOCALHOST).map_err(BenchError::io("listening on 127.0.0.1"))?,
            (Some(_), Some(link)) => link.listen()?,
            (Some(_), None) => {
                let reason = "link=veth: the trial is not in a network namespace of its own".into();
                return Err(BenchError::Conflict { workload: INFO.name, reason });
            }
        };
        let (herd, sockets) = spawn::start(config, &run, &listener)?;
        let ended = run.run_for(herd, observer, config.length.duration_ns(), config.expected_ns(), "receiver")?;
        outcome::build(config, &run, ended, &sockets)
    }
}
