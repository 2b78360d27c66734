//! The options of `stream/1` and what they mean.

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::options::Arguments;
use crate::workload::{WorkloadInfo, option};
use schedlab_plan::WorkloadSpec;
use schedlab_plan::units::{self, CpuList};

/// A validated configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) streams: u32,
    /// Bytes of one send.
    pub(crate) bytes: usize,
    pub(crate) length: Length,
    pub(crate) length_written: bool,
    /// SO_SNDBUF, bytes; with `None` it grows by itself.
    pub(crate) send_buffer: Option<u32>,
    pub(crate) push: Push,
    pub(crate) cpus: CpuList,
    /// `None`: loopback.
    pub(crate) veth: Option<Veth>,
}

/// A veth pair between two network namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Veth {
    /// Rate of a token bucket filter on the sending side; `None`: no filter.
    pub(crate) rate_bits_per_s: Option<u64>,
    /// Bytes that may wait in the filter; `None`: enough for every stream.
    pub(crate) queue_bytes: Option<u32>,
    /// `NAME` for `NAME-tx` and `NAME-rx`; `None`: no names, the namespaces die with their last process.
    pub(crate) name: Option<String>,
}

/// What decides when a segment that is not full is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Push {
    /// Nagle's rule, and the kernel's autocorking: TCP's default.
    Nagle,
    /// TCP_NODELAY.
    NoDelay,
    /// TCP_CORK.
    Cork,
}

/// `stream/1`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "stream",
    version: 1,
    reference: "netperf TCP_STREAM (several: super_netperf)",
    summary: "senders write many small messages into TCP connections, each to a receiver of its own",
    operation: "message",
    primary: &["received_bytes_per_s", "cpu_s_per_gb"],
    metrics: &[
        "received_bytes_per_s",
        "cpu_s_per_gb",
        "cpus_utilized",
        "mean_segment_bytes",
        "data_segments_per_s",
        "retransmitted_share",
        "time_s",
        "fairness_jain",
        "spread",
    ],
    options: &[
        option("streams", "N", "1", "connections, each with a sending and a receiving process"),
        option("bytes", "SIZE", "128", "size of one send, netperf's -m"),
        option("duration", "TIME", "10s", "length of the steady state (this or loops)"),
        option("loops", "N", "-", "sends of each stream instead"),
        option("sndbuf", "SIZE|auto", "auto", "SO_SNDBUF of the senders; auto lets the kernel grow it"),
        option("nodelay", "no|yes", "no", "TCP_NODELAY: segments leave as they are written"),
        option("cork", "no|yes", "no", "TCP_CORK: only full segments leave"),
        option("link", "loopback|veth", "loopback", "veth: a pair between two network namespaces of the trial's own"),
        option("rate", "RATE|none", "none", "rate limit of the veth pair (tbf): 1gbit, 100mbit"),
        option("queue", "SIZE|auto", "auto", "bytes that may wait behind the rate limit; auto is 1M for each stream"),
        option(
            "netns",
            "NAME|none",
            "none",
            "names the namespaces NAME-tx and NAME-rx while they last, for `ip netns`",
        ),
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
            return Err(args.conflict("the number of streams is given twice; remove streams="));
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
        veth: veth(&args)?,
    })
}

fn veth(args: &Arguments<'_>) -> Result<Option<Veth>, BenchError> {
    let written = |key: &str, nothing: &str| args.get(key).filter(|text| *text != nothing);
    let (rate, queue, name) = (written("rate", "none"), written("queue", "auto"), written("netns", "none"));
    if !args.choice("link", false, &[("loopback", false), ("veth", true)])? {
        let alone = [("rate", rate), ("queue", queue), ("netns", name)].into_iter().find(|(_, text)| text.is_some());
        return match alone {
            None => Ok(None),
            Some((key, _)) => Err(args.conflict(format!("{key}= needs link=veth: loopback is the host's own"))),
        };
    }
    if queue.is_some() && rate.is_none() {
        return Err(args.conflict("queue= is the queue of a rate limit; give rate= too"));
    }
    Ok(Some(Veth {
        rate_bits_per_s: rate.map(|text| bit_rate(args, text)).transpose()?,
        queue_bytes: queue.map(|text| queue_bytes(args, text)).transpose()?,
        name: name.map(|text| namespace_name(args, text)).transpose()?,
    }))
}

fn bit_rate(args: &Arguments<'_>, text: &str) -> Result<u64, BenchError> {
    let rate = units::parse_bit_rate(text).map_err(|e| args.bad("rate", text, e.to_string()))?;
    // At a lower rate, the socket buffers take longer to drain than a trial lasts.
    if (1_000_000..=1_000_000_000_000).contains(&rate) {
        return Ok(rate);
    }
    Err(args.bad("rate", text, "must be from 1mbit to 1tbit, or none"))
}

fn queue_bytes(args: &Arguments<'_>, text: &str) -> Result<u32, BenchError> {
    let bytes = units::parse_bytes(text).map_err(|e| args.bad("queue", text, e.to_string()))?;
    // A queue shorter than one packet drops everything.
    if (64 << 10..=1 << 30).contains(&bytes) {
        return Ok(bytes as u32);
    }
    Err(args.bad("queue", text, "must be from 64k to 1G, or auto"))
}

fn namespace_name(args: &Arguments<'_>, text: &str) -> Result<String, BenchError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if text.len() <= 60 && text.chars().all(plain) && !text.is_empty() {
        return Ok(text.to_owned());
    }
    Err(args.bad("netns", text, "must be 1 to 60 letters, digits, `-` and `_`"))
}

fn send_buffer(args: &Arguments<'_>) -> Result<Option<u32>, BenchError> {
    let Some(text) = args.get("sndbuf").filter(|text| *text != "auto") else { return Ok(None) };
    let bytes = units::parse_bytes(text).map_err(|e| args.bad("sndbuf", text, e.to_string()))?;
    // Below that, the kernel uses its own minimum, and the size would not be the one asked for.
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
    fn the_defaults_are_the_references_and_the_canonical_spec_reads_back() {
        let workload = registry::parse(&"stream".parse().unwrap()).unwrap();
        let spec = workload.spec();
        assert_eq!(
            spec.to_string(),
            "stream/1:bytes=128,cork=no,cpus=all,duration=10s,link=loopback,netns=none,nodelay=no,queue=auto,rate=none,\
             sndbuf=auto,streams=1"
        );
        assert_eq!(registry::parse(&spec).unwrap().spec(), spec);
        let written = "stream:5,bytes=64,loops=10,sndbuf=32k,cork=yes,link=veth,rate=2.5gbit,queue=2M,netns=lab";
        let spec = registry::parse(&written.parse().unwrap()).unwrap().spec();
        assert_eq!(
            spec.to_string(),
            "stream/1:bytes=64,cork=yes,cpus=all,link=veth,loops=10,netns=lab,nodelay=no,queue=2097152,rate=2500mbit,\
             sndbuf=32768,streams=5"
        );
        assert_eq!(registry::parse(&spec).unwrap().spec(), spec);
    }

    #[test]
    fn bad_input_is_one_clear_line() {
        for (text, needle) in [
            ("stream:0", "from 1 to"),
            ("stream:2,streams=3", "remove streams="),
            ("stream:bytes=0", "from 1 to"),
            ("stream:sndbuf=100", "from 4k to"),
            ("stream:sndbuf=big", "is not a size"),
            ("stream:nodelay=yes,cork=yes", "give one of them"),
            ("stream:nodelay=maybe", "must be one of no, yes"),
            ("stream:loops=5,duration=1s", "not both"),
            ("stream:link=veth,rate=0", "is not a rate"),
            ("stream:link=veth,rate=1kbit", "must be from 1mbit"),
            ("stream:link=veth,rate=5", "is not a rate"),
            ("stream:rate=1gbit", "rate= needs link=veth"),
            ("stream:netns=lab", "netns= needs link=veth"),
            ("stream:link=veth,queue=1M", "give rate= too"),
            ("stream:link=veth,rate=1gbit,queue=0", "must be from 64k"),
            ("stream:link=veth,netns=../lab", "letters, digits"),
            ("stream:link=vet", "did you mean `veth`"),
            ("stream:mesage=5", "has no option `mesage`"),
        ] {
            let spec: WorkloadSpec = text.parse().unwrap();
            let error = read(&spec).unwrap_err().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
