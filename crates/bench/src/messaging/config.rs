//! The options of `messaging/1` and what they mean.

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::herd::Mode;
use crate::options::Arguments;
use crate::workload::{Workload, WorkloadInfo, option};
use schedlab_plan::WorkloadSpec;
use schedlab_plan::units::CpuList;
use schedlab_sys::fd::{self, Pair};
use std::io;

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Pipe,
    Unix,
    Tcp,
}

impl Transport {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Unix => "unix",
            Self::Tcp => "tcp",
        }
    }
    pub(crate) fn maker(self) -> fn() -> io::Result<Pair> {
        match self {
            Self::Pipe => fd::pipe_pair,
            Self::Unix => fd::unix_pair,
            Self::Tcp => fd::tcp_pair,
        }
    }
}

/// A validated configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) groups: u32,
    pub(crate) senders: u32,
    pub(crate) receivers: u32,
    pub(crate) bytes: usize,
    pub(crate) length: Length,
    pub(crate) length_written: bool,
    pub(crate) transport: Transport,
    pub(crate) mode: Mode,
    pub(crate) fifo: bool,
    pub(crate) cpus: CpuList,
}

/// Bytes of the header, which contains the sender's CPU and the send time.
pub(super) const HEADER_BYTES: usize = 16;

impl Config {
    pub(crate) fn tasks(&self) -> usize {
        self.groups as usize * (self.senders + self.receivers) as usize
    }
    /// Total number of messages, in loops mode.
    pub(crate) fn messages(&self) -> Option<u64> {
        let pairs = u64::from(self.groups) * u64::from(self.senders) * u64::from(self.receivers);
        self.length.loops().map(|loops| pairs.saturating_mul(loops))
    }
    /// Whether messages are long enough for the header.
    pub(crate) fn has_header(&self) -> bool {
        self.bytes >= HEADER_BYTES
    }
}

/// `messaging/1`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "messaging",
    version: 1,
    reference: "hackbench (rt-tests), perf bench sched messaging",
    summary: "groups of senders spray messages to all receivers of their group",
    operation: "message",
    primary: &["msgs_per_s"],
    metrics: &["msgs_per_s", "time_s"],
    options: &[
        option("groups", "N", "10", "independent groups"),
        option("senders", "N", "20", "senders in a group (1 with several receivers is 1:N)"),
        option("receivers", "N", "20", "receivers in a group; each sender writes to all of them in turn"),
        option("bytes", "SIZE", "100", "size of a message; from 16 bytes on it carries CPU and send time"),
        option("loops", "N", "100", "messages from each sender to each receiver (this or duration)"),
        option("duration", "TIME", "-", "length of the steady state instead of loops"),
        option("transport", "pipe|unix|tcp", "unix", "what carries the messages"),
        option("mode", "process|thread", "process", "what the tasks are"),
        option("fifo", "no|yes", "no", "SCHED_FIFO priority 1 for all tasks, as hackbench -F"),
        option("cpus", "CPULIST|all", "all", "CPUs all tasks are confined to"),
    ],
    shorthand: "SxR",
    parse,
};

fn parse(spec: &WorkloadSpec) -> Result<Box<dyn Workload>, BenchError> {
    Ok(Box::new(read(spec)?))
}

pub(super) fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let args = Arguments::new(&INFO, spec)?;
    let (senders, receivers) = match args.shorthand() {
        None => (20, 20),
        Some(text) => shorthand(&args, text)?,
    };
    let (length, length_written) = args.length_or(Length::Loops(100))?;
    let config = Config {
        groups: args.number_or("groups", 10, 1, 100_000)? as u32,
        senders: args.number_or("senders", senders, 1, 10_000)? as u32,
        receivers: args.number_or("receivers", receivers, 1, 10_000)? as u32,
        bytes: args.bytes_or(100, 1, 1 << 20)? as usize,
        length,
        length_written,
        transport: args.choice(
            "transport",
            Transport::Unix,
            &[("pipe", Transport::Pipe), ("unix", Transport::Unix), ("tcp", Transport::Tcp)],
        )?,
        mode: args.choice("mode", Mode::Process, &[("process", Mode::Process), ("thread", Mode::Thread)])?,
        fifo: args.choice("fifo", false, &[("no", false), ("yes", true)])?,
        cpus: args.cpus()?,
    };
    Ok(config)
}

/// `5x50`: 5 senders and 50 receivers in each group.
fn shorthand(args: &Arguments<'_>, text: &str) -> Result<(u64, u64), BenchError> {
    for key in ["senders", "receivers"] {
        if args.get(key).is_some() {
            return Err(
                args.conflict(format!("`{text}` already gives the number of senders and receivers; leave out {key}="))
            );
        }
    }
    let bad = || args.bad("SxR", text, "write SENDERSxRECEIVERS of one group, for example 5x50");
    let (senders, receivers) = text.split_once('x').ok_or_else(bad)?;
    Ok((args.number("SxR", senders, 1, 10_000)?, args.number("SxR", receivers, 1, 10_000)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn config(text: &str) -> Result<Config, String> {
        let spec: WorkloadSpec = text.parse().unwrap();
        read(&spec).map_err(|error| error.to_string())
    }

    #[test]
    fn the_shorthand_is_senders_by_receivers_and_the_rest_is_hackbenchs_default() {
        let config = config("messaging:5x50").unwrap();
        assert_eq!((config.senders, config.receivers, config.groups, config.bytes), (5, 50, 10, 100));
        assert_eq!(
            (config.transport, config.mode, config.length),
            (Transport::Unix, Mode::Process, Length::Loops(100))
        );
        assert_eq!((config.tasks(), config.messages()), (550, Some(250_000)));
    }

    #[test]
    fn the_canonical_spec_spells_everything_and_reads_back() {
        let workload =
            registry::parse(&"messaging:5x50,groups=2,duration=200ms,transport=pipe".parse().unwrap()).unwrap();
        let spec = workload.spec();
        assert_eq!(
            spec.to_string(),
            "messaging/1:bytes=100,cpus=all,duration=200ms,fifo=no,groups=2,mode=process,receivers=50,senders=5,\
             transport=pipe"
        );
        assert_eq!(registry::parse(&spec).unwrap().spec(), spec);
    }

    #[test]
    fn bad_input_is_one_clear_line() {
        for (text, needle) in [
            ("messaging:loops=0", "from 1 to"),
            ("messaging:loops=5,duration=1s", "not both"),
            ("messaging:grups=3", "did you mean `groups`"),
            ("messaging:transport=pip", "did you mean `pipe`"),
            ("messaging:5y50", "5x50"),
            ("messaging:0x5", "from 1 to"),
            ("messaging:5x50,senders=3", "leave out senders"),
            ("messaging:bytes=0", "from 1 to"),
            ("messaging:bytes=2M", "from 1 to"),
            ("messaging:duration=5", "is not a time"),
            ("messaging:cpus=9999", "CPU 9999 is not among"),
        ] {
            let error = config(text).unwrap_err();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn a_trial_length_applies_unless_the_loops_are_written() {
        let parse = |text: &str| registry::parse(&text.parse().unwrap()).unwrap();
        let mut workload = parse("messaging:1x1");
        workload.set_duration_ns(300_000_000).unwrap();
        assert_eq!(workload.spec().args["duration"], "300ms");
        assert!(parse("messaging:loops=5").set_duration_ns(1).unwrap_err().to_string().contains("loops=5"));
    }
}
