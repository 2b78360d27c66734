//! The options of `wakeup/2` and what they mean.

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::herd::Mode;
use crate::options::Arguments;
use crate::placement::Pin;
use crate::workload::{WorkloadInfo, option};
use schedlab_plan::WorkloadSpec;
use schedlab_plan::units::{self, CpuList};
use schedlab_sys::affinity;

/// A validated configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(super) messengers: u32,
    /// Workers of each messenger.
    pub(super) workers: u32,
    pub(super) think_ns: u64,
    /// Matrix multiplications per request.
    pub(super) work: u64,
    pub(super) footprint_bytes: u64,
    pub(super) lock: bool,
    /// Pipe mode: bytes that each side writes per request.
    pub(super) pipe_bytes: Option<usize>,
    /// Requests per second of the open loop, over all messengers; `None` is the closed loop.
    pub(super) rate: Option<u64>,
    /// Each messenger shares one CPU with its workers, the messengers spread over the CPUs in turn; or each messenger
    /// has a CPU of its own and the workers the others. Tiers are for pairs.
    pub(super) pin: Pin,
    pub(super) cpus: CpuList,
    pub(super) mode: Mode,
    pub(super) length: Length,
    pub(super) length_written: bool,
}

impl Config {
    pub(super) fn tasks(&self) -> usize {
        self.messengers as usize * (1 + self.workers as usize)
    }
    pub(super) fn all_workers(&self) -> u64 {
        u64::from(self.messengers) * u64::from(self.workers)
    }
}

/// `wakeup/2`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "wakeup",
    version: 2,
    reference: "schbench",
    summary: "messengers wake workers, which think and compute; closed loop, or open loop at a fixed arrival rate",
    operation: "request",
    primary: &["latency_p50_ns", "latency_p99_ns", "requests_per_s"],
    metrics: &["requests_per_s", "asked_per_s", "achieved_share", "queued_share", "unserved_share"],
    options: &[
        option("messengers", "N", "1", "message threads (-m)"),
        option(
            "workers",
            "N|ncpu",
            "ncpu",
            "workers of each messenger (-t); ncpu divides the CPUs among the messengers",
        ),
        option("think", "TIME", "100us", "sleep at the start of a request (-s)"),
        option("work", "N", "5", "matrix multiplications of a request (-n)"),
        option("footprint", "SIZE", "256k", "size of a worker's three matrices (-F)"),
        option("lock", "yes|no", "yes", "multiply under a spin lock of the CPU (no: -L)"),
        option("pipe", "off|SIZE", "off", "bytes that each side writes per request, without think and work (-p)"),
        option("rate", "closed|N", "closed", "requests per second over all messengers: an open loop (-R, and more)"),
        option("pin", "free|same|apart", "free", "a messenger and its workers on one CPU, or on CPUs of their own"),
        option("cpus", "CPULIST|all", "all", "CPUs that pin chooses from, or that all tasks are confined to"),
        option("mode", "process|thread", "thread", "what the tasks are"),
        option("duration", "TIME", "1s", "length of the steady state (this or loops)"),
        option("loops", "N", "-", "requests of each worker instead of a duration"),
    ],
    shorthand: "MxW",
    parse: |spec| Ok(Box::new(read(spec)?)),
};

pub(super) fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let args = Arguments::new(&INFO, spec)?;
    let cpus = args.cpus()?;
    let (messengers, workers) = herd(&args, &cpus)?;
    let (length, length_written) = args.length_or(Length::DurationNs(1_000_000_000))?;
    let pipe_bytes = pipe(&args)?;
    let busy = pipe_bytes.is_none();
    let config = Config {
        messengers,
        workers,
        think_ns: args.time_or("think", if busy { 100_000 } else { 0 }, 0, 1_000_000_000)?,
        work: args.number_or("work", if busy { 5 } else { 0 }, 0, 1_000_000)?,
        footprint_bytes: footprint(&args)?,
        lock: args.choice("lock", busy, &[("yes", true), ("no", false)])?,
        pipe_bytes,
        rate: rate(&args)?,
        pin: args.choice("pin", Pin::Free, &Pin::PLAIN_WORDS)?,
        cpus,
        mode: args.choice("mode", Mode::Thread, &[("process", Mode::Process), ("thread", Mode::Thread)])?,
        length,
        length_written,
    };
    if !busy && (config.think_ns > 0 || config.work > 0 || config.lock) {
        return Err(args.conflict("pipe= only passes pages; remove think, work and lock, or pipe"));
    }
    if !busy && config.rate.is_some() {
        return Err(
            args.conflict("pipe= is a closed loop, in which the messenger answers each page; remove rate, or pipe")
        );
    }
    Ok(config)
}

/// Number of messengers and of workers for each: `1x4`, or the options; by default one worker for each CPU we may use.
fn herd(args: &Arguments<'_>, cpus: &CpuList) -> Result<(u32, u32), BenchError> {
    if let Some(text) = args.shorthand() {
        if args.get("messengers").or(args.get("workers")).is_some() {
            let reason = format!("`{text}` already says how many messengers and workers; leave out the options");
            return Err(args.conflict(reason));
        }
        let (messengers, workers) = text.split_once('x').ok_or_else(|| {
            args.bad("MxW", text, "write MESSENGERSxWORKERS, workers of each messenger, for example 1x4")
        })?;
        let number = |text| args.number("MxW", text, 1, 10_000);
        return Ok((number(messengers)? as u32, number(workers)? as u32));
    }
    let messengers = args.number_or("messengers", 1, 1, 10_000)?;
    let workers = match args.get("workers") {
        None | Some("ncpu") => {
            let ours = affinity::allowed_cpus(0).map_err(BenchError::io("reading our own affinity"))?.len();
            (if cpus.is_empty() { ours } else { cpus.as_slice().len() } as u64).div_ceil(messengers)
        }
        Some(text) => args.number("workers", text, 1, 10_000)?,
    };
    Ok((messengers as u32, workers as u32))
}

fn footprint(args: &Arguments<'_>) -> Result<u64, BenchError> {
    let Some(text) = args.get("footprint") else { return Ok(256 << 10) };
    size(args, "footprint", text, 1 << 10, 256 << 20)
}

fn pipe(args: &Arguments<'_>) -> Result<Option<usize>, BenchError> {
    match args.get("pipe") {
        None | Some("off") => Ok(None),
        // Whole words: pages are written with atomic stores, the only kind that two processes may share.
        Some(text) => Ok(Some(size(args, "pipe", text, 1, 1 << 20)?.next_multiple_of(8) as usize)),
    }
}

fn size(args: &Arguments<'_>, key: &str, text: &str, low: u64, high: u64) -> Result<u64, BenchError> {
    let bytes = units::parse_bytes(text).map_err(|e| args.bad(key, text, e.to_string()))?;
    let outside = || args.bad(key, text, format!("must be from {low} to {high} bytes"));
    if (low..=high).contains(&bytes) { Ok(bytes) } else { Err(outside()) }
}

fn rate(args: &Arguments<'_>) -> Result<Option<u64>, BenchError> {
    match args.get("rate") {
        None | Some("closed") => Ok(None),
        Some("0") => {
            let reason = "no request would ever arrive; write requests per second, or rate=closed for the closed loop";
            Err(args.bad("rate", "0", reason))
        }
        Some(text) => Ok(Some(args.number("rate", text, 1, 1_000_000)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn config(text: &str) -> Result<Config, String> {
        read(&text.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_default_is_schbenchs_and_every_argument_is_spelled_out() {
        let spec = registry::parse(&"wakeup:1x4,rate=1000".parse().unwrap()).unwrap().spec();
        assert_eq!(
            spec.to_string(),
            "wakeup/2:cpus=all,duration=1s,footprint=262144,lock=yes,messengers=1,mode=thread,pin=free,pipe=off,\
             rate=1000,think=100us,work=5,workers=4"
        );
        for text in ["wakeup:1x4,rate=1000", "wakeup:2x3,pipe=100,loops=7,mode=process,pin=same", "wakeup"] {
            let spec = registry::parse(&text.parse().unwrap()).unwrap().spec();
            assert_eq!(registry::parse(&spec).unwrap().spec(), spec);
        }
    }

    #[test]
    fn workers_are_shared_out_among_the_messengers_and_pipe_mode_neither_thinks_nor_works() {
        let cpus = affinity::allowed_cpus(0).unwrap().len() as u32;
        assert_eq!(config("wakeup").unwrap().workers, cpus);
        assert_eq!(config("wakeup:messengers=3").unwrap().workers, cpus.div_ceil(3));
        let pipe = config("wakeup:2x5,pipe=100").unwrap();
        assert_eq!((pipe.pipe_bytes, pipe.think_ns, pipe.work, pipe.lock), (Some(104), 0, 0, false));
        assert_eq!((pipe.tasks(), pipe.all_workers()), (12, 10));
    }

    #[test]
    fn bad_input_is_one_clear_line() {
        for (text, needle) in [
            ("wakeup:rate=0", "no request would ever arrive"),
            ("wakeup:rate=2000000", "from 1 to 1000000"),
            ("wakeup:rate=fast", "from 1 to 1000000"),
            ("wakeup:1x0", "from 1 to"),
            ("wakeup:4", "for example 1x4"),
            ("wakeup:1x4,workers=2", "leave out the options"),
            ("wakeup:workers=0", "from 1 to"),
            ("wakeup:think=2s", "from 0ns to 1s"),
            ("wakeup:footprint=1", "from 1024 to"),
            ("wakeup:pipe=0", "from 1 to"),
            ("wakeup:pipe=4k,work=3", "remove think, work and lock"),
            ("wakeup:pipe=4k,rate=100", "closed loop"),
            ("wakeup:wrok=3", "did you mean `work`"),
            ("wakeup:pin=smae", "did you mean `same`"),
            ("wakeup:loops=5,duration=1s", "not both"),
        ] {
            let error = config(text).unwrap_err();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
