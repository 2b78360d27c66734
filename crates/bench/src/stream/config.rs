//! The options of `stream/1` and what they mean.

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::options::Arguments;
use crate::registry::{OptionDoc, WorkloadInfo};
use schedlab_run::WorkloadSpec;
use schedlab_run::units::{self, CpuList};

/// A validated configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) streams: u32,
    /// Bytes of one send.
    pub(crate) bytes: usize,
    pub(crate) length: Length,
    pub(crate) length_written: bool,
    /// SO_SNDBUF, bytes; `None` lets it grow by itself.
    pub(crate) send_buffer: Option<u32>,
    pub(crate) push: Push,
    pub(crate) cpus: CpuList,
}

/// What decides when a segment that is not full leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Push {
    /// Nagle's rule, and the kernel's autocorking: TCP's default.
    Nagle,
    /// TCP_NODELAY.
    NoDelay,
    /// TCP_CORK.
    Cork,
}

const fn option(name: &'static str, form: &'static str, default: &'static str, doc: &'static str) -> OptionDoc {
    OptionDoc { name, form, default, doc }
}

/// `stream/1`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "stream",
    version: 1,
    twin: "netperf TCP_STREAM (several: super_netperf)",
    summary: "senders write many small messages into TCP connections, each to a receiver of its own",
    operation: "message",
    primary: &["received_bytes_per_s", "cpu_s_per_gb"],
    options: &[
        option("streams", "N", "1", "connections, each with a sending and a receiving process"),
        option("bytes", "SIZE", "128", "size of one send, netperf's -m"),
        option("duration", "TIME", "10s", "length of the steady state (this or loops)"),
        option("loops", "N", "-", "sends of each stream instead"),
        option("sndbuf", "SIZE|auto", "auto", "SO_SNDBUF of the senders; auto lets the kernel grow it"),
        option("nodelay", "no|yes", "no", "TCP_NODELAY: segments leave as they are written"),
        option("cork", "no|yes", "no", "TCP_CORK: only full segments leave"),
        option("cpus", "CPULIST|all", "all", "CPUs all tasks are confined to"),
    ],
    shorthand: "STREAMS",
    parse: |spec| Ok(Box::new(super::Stream::new(read(spec)?))),
};

pub(super) fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let args = Arguments::new(&INFO, spec)?;
    let streams = match args.shorthand() {
        None => 1,
        Some(_) if args.get("streams").is_some() => {
            return Err(args.conflict("the number of streams is given twice; leave out streams="));
        }
        Some(text) => args.number("STREAMS", text, 1, 10_000)?,
    };
    let (length, length_written) = args.length_or(Length::DurationNs(10_000_000_000))?;
    Ok(Config {
        streams: args.number_or("streams", streams, 1, 10_000)? as u32,
        bytes: args.bytes_or(128, 1, 1 << 20)? as usize,
        length,
        length_written,
        send_buffer: send_buffer(&args)?,
        push: push(&args)?,
        cpus: args.cpus()?,
    })
}

fn send_buffer(args: &Arguments<'_>) -> Result<Option<u32>, BenchError> {
    let Some(text) = args.get("sndbuf").filter(|text| *text != "auto") else { return Ok(None) };
    let bytes = units::parse_bytes(text).map_err(|e| args.bad("sndbuf", text, e.to_string()))?;
    // Below, the kernel takes its own minimum and the size would not be what was asked for.
    if (4096..=1 << 29).contains(&bytes) {
        return Ok(Some(bytes as u32));
    }
    Err(args.bad("sndbuf", text, "must be from 4k to 512M, or auto"))
}

fn push(args: &Arguments<'_>) -> Result<Push, BenchError> {
    let yes = |key| args.choice(key, false, &[("no", false), ("yes", true)]);
    match (yes("nodelay")?, yes("cork")?) {
        (false, false) => Ok(Push::Nagle),
        (true, false) => Ok(Push::NoDelay),
        (false, true) => Ok(Push::Cork),
        (true, true) => Err(args.conflict("cork=yes holds back what nodelay=yes would send; give one of them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn the_defaults_are_the_twins_and_the_canonical_spec_reads_back() {
        let workload = registry::parse(&"stream".parse().unwrap()).unwrap();
        let spec = workload.spec();
        assert_eq!(
            spec.to_string(),
            "stream/1:bytes=128,cork=no,cpus=all,duration=10s,nodelay=no,sndbuf=auto,streams=1"
        );
        assert_eq!(registry::parse(&spec).unwrap().spec(), spec);
        let written = "stream:5,bytes=64,loops=10,sndbuf=32k,cork=yes";
        let spec = registry::parse(&written.parse().unwrap()).unwrap().spec();
        assert_eq!(spec.to_string(), "stream/1:bytes=64,cork=yes,cpus=all,loops=10,nodelay=no,sndbuf=32768,streams=5");
        assert_eq!(registry::parse(&spec).unwrap().spec(), spec);
    }

    #[test]
    fn bad_input_is_one_clear_line() {
        for (text, needle) in [
            ("stream:0", "from 1 to"),
            ("stream:2,streams=3", "leave out streams="),
            ("stream:bytes=0", "from 1 to"),
            ("stream:sndbuf=100", "from 4k to"),
            ("stream:sndbuf=big", "is not a size"),
            ("stream:nodelay=yes,cork=yes", "give one of them"),
            ("stream:nodelay=maybe", "must be one of no, yes"),
            ("stream:loops=5,duration=1s", "not both"),
            ("stream:mesage=5", "has no option `mesage`"),
        ] {
            let spec: WorkloadSpec = text.parse().unwrap();
            let error = read(&spec).unwrap_err().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
