//! The options of `throughput/1` and what they mean.

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::options::{Arguments, cpus_text};
use crate::placement::Pin;
use crate::transport::{Sizes, Transport};
use crate::workload::{Workload, WorkloadInfo, option};
use schedlab_plan::WorkloadSpec;
use schedlab_plan::units::CpuList;

/// The references' payloads: 4 B to 64 KiB by factors of two.
pub(super) const SWEEP: [usize; 15] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

/// The form of Google Benchmark's own output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// None of Google Benchmark's: our own table, and below it everything else.
    None,
    Console,
    Json,
}

pub(super) const FORMATS: [(&str, Format); 3] =
    [("none", Format::None), ("console", Format::Console), ("json", Format::Json)];

/// A validated configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    /// Payloads in bytes, one after the other.
    pub(super) payloads: Vec<usize>,
    /// Number of operations of each payload, or the time of all payloads together.
    pub(super) length: Length,
    pub(super) length_written: bool,
    pub(super) pairs: u32,
    pub(super) transport: Transport,
    pub(super) binder_device: Option<String>,
    pub(super) pin: Pin,
    pub(super) cpus: CpuList,
    pub(super) format: Format,
}

/// Google Benchmark's minimum time per benchmark.
const PAYLOAD_NS: u64 = 500_000_000;

/// `throughput/1`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "throughput",
    version: 1,
    reference: "libbinder_benchmark, libhwbinder_benchmark (Android, Google Benchmark)",
    summary: "a client sends a payload to a server process and gets it back, over a range of sizes",
    operation: "echo",
    primary: &["real_time_ns"],
    metrics: &["real_time_ns", "client_cpu_time_ns", "ops_per_s", "bytes_per_s", "real_time_ns_*", "bytes_per_s_*"],
    options: &[
        option("bytes", "SIZE|sweep", "sweep", "payload; sweep: 4 B to 64 KiB by factors of two, one after the other"),
        option(
            "duration",
            "TIME",
            "-",
            "time of all payloads together; 0.5 s for each when neither this nor loops is given",
        ),
        option("loops", "N", "-", "operations of each payload instead of a time"),
        option("pairs", "N|ncpu|Nncpu", "1", "pairs of client and server at the same time"),
        option("transport", Transport::FORM, "unix", "what carries the payloads"),
        Transport::DEVICE_OPTION,
        Pin::OPTION,
        Pin::CPUS_OPTION,
        option(
            "benchmark-format",
            "none|console|json",
            "none",
            "print what Google Benchmark would print, and nothing else",
        ),
    ],
    shorthand: "",
    parse: |spec| Ok(Box::new(read(spec)?) as Box<dyn Workload>),
};

fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let args = Arguments::new(&INFO, spec)?;
    let cpus = args.cpus()?;
    let payloads = match args.get("bytes") {
        None | Some("sweep") => SWEEP.to_vec(),
        // Binder maps 1 MiB for what a process has received and not yet freed.
        Some(_) => vec![args.bytes_or(0, 1, 256 << 10)? as usize],
    };
    let pairs = args.number_or_ncpu("pairs", 1_000, &cpus)?;
    let (length, length_written) = args.length_or(Length::DurationNs(PAYLOAD_NS * payloads.len() as u64))?;
    Ok(Config {
        payloads,
        length,
        length_written,
        pairs: pairs as u32,
        transport: args.choice("transport", Transport::Unix, &Transport::WORDS)?,
        binder_device: args.written("binder-device", "auto"),
        pin: args.choice("pin", Pin::Free, &Pin::WORDS)?,
        cpus,
        format: args.choice("benchmark-format", Format::None, &FORMATS)?,
    })
}

impl Config {
    /// Whether it is the sweep.
    fn is_sweep(&self) -> bool {
        self.payloads.len() > 1
    }

    /// The size of the largest payload, for request and reply.
    pub(super) fn sizes(&self) -> Sizes {
        let largest = self.payloads.iter().copied().max().unwrap_or(1);
        Sizes { request: largest, reply: largest }
    }

    /// The time for each payload, if the run ends by time.
    pub(super) fn payload_ns(&self) -> Option<u64> {
        self.length.duration_ns().map(|ns| (ns / self.payloads.len() as u64).max(1))
    }

    /// The arguments in their canonical form.
    pub(super) fn arguments(&self) -> Vec<(&'static str, String)> {
        let bytes = if self.is_sweep() { "sweep".to_owned() } else { self.payloads[0].to_string() };
        let format = FORMATS.iter().find(|(_, format)| *format == self.format).map_or("", |(word, _)| word);
        vec![
            ("bytes", bytes),
            ("pairs", self.pairs.to_string()),
            ("transport", self.transport.name().to_owned()),
            ("binder-device", self.binder_device.clone().unwrap_or_else(|| "auto".to_owned())),
            ("pin", self.pin.name().to_owned()),
            ("cpus", cpus_text(&self.cpus)),
            ("benchmark-format", format.to_owned()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::SWEEP;
    use crate::registry;

    #[test]
    fn the_default_is_the_references_range_and_time() {
        assert!(SWEEP.windows(2).all(|two| two[1] == 2 * two[0]) && (SWEEP[0], SWEEP[14]) == (4, 64 << 10));
        let spec = registry::parse(&"throughput".parse().unwrap()).unwrap().spec();
        assert_eq!(
            spec.to_string(),
            "throughput/1:benchmark-format=none,binder-device=auto,bytes=sweep,cpus=all,duration=7.5s,pairs=1,\
             pin=free,transport=unix"
        );
        assert_eq!(registry::parse(&spec).unwrap().spec(), spec);
        let one = registry::parse(&"throughput:bytes=4k".parse().unwrap()).unwrap().spec();
        assert_eq!((one.args["bytes"].as_str(), one.args["duration"].as_str()), ("4096", "500ms"));
    }

    #[test]
    fn bad_input_is_one_clear_line() {
        for (text, needle) in [
            ("throughput:bytes=0", "from 1 to 262144 bytes"),
            ("throughput:bytes=1M", "from 1 to 262144 bytes"),
            ("throughput:bytes=swep", "is not a size"),
            ("throughput:pairs=0", "from 1 to 1000"),
            ("throughput:loops=0", "from 1 to"),
            ("throughput:benchmark_format=csv", "none, console, json"),
            ("throughput:size=4", "throughput has no option `size`"),
        ] {
            let error = registry::parse(&text.parse().unwrap()).err().unwrap().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
