//! The options of `timer/1` and what they mean.

use super::dma_latency::Wish;
use crate::dispatch::Length;
use crate::error::BenchError;
use crate::herd::Mode;
use crate::options::Arguments;
use crate::workload::{WorkloadInfo, option};
use schedlab_plan::units::{self, CpuList};
use schedlab_plan::{Policy, WorkloadSpec};
use schedlab_sys::affinity;

/// A validated configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(super) threads: u32,
    pub(super) interval_ns: u64,
    pub(super) distance_ns: u64,
    /// `None`: what the threads inherit (an arm's `policy=…`, else SCHED_OTHER).
    pub(super) policy: Option<Policy>,
    /// Thread n on the n-th CPU.
    pub(super) pin_each: bool,
    pub(super) cpus: CpuList,
    pub(super) dma_latency: Wish,
    pub(super) mode: Mode,
    pub(super) length: Length,
    pub(super) length_written: bool,
}

impl Config {
    /// The interval of one thread, ns.
    pub(super) fn interval_of(&self, thread: u32) -> u64 {
        self.interval_ns + u64::from(thread) * self.distance_ns
    }

    /// The longest interval, ns: how long a thread may still sleep when the run ends.
    pub(super) fn longest_ns(&self) -> u64 {
        self.interval_of(self.threads - 1)
    }
}

/// `timer/1`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "timer",
    version: 1,
    reference: "cyclictest (rt-tests)",
    summary: "threads that sleep to absolute instants and measure how late they wake; no period is left out",
    operation: "wakeup",
    primary: &["latency_p50_ns", "latency_p99_ns"],
    metrics: &["wakeups_per_s", "missed_periods", "missed_share", "missed_at_once"],
    options: &[
        option("threads", "N|ncpu", "1", "timer threads; ncpu: one for each CPU we may use"),
        option("interval", "TIME", "1ms", "period of the first thread"),
        option("distance", "TIME", "500us", "added to the interval from each thread to the next"),
        option("policy", "inherit|other|batch|idle|fifo:PRIO|rr:PRIO", "inherit", "policy of the threads"),
        option("pin", "free|each", "free", "each: thread n on the n-th CPU of cpus, round and round"),
        option("cpus", "CPULIST|all", "all", "CPUs that pin chooses from, or that all threads are confined to"),
        option(
            "dma-latency",
            "auto|TIME|none",
            "auto",
            "bound on idle-state exits in /dev/cpu_dma_latency; auto: 0us where we may",
        ),
        option("mode", "process|thread", "thread", "what the threads are"),
        option("duration", "TIME", "1s", "length of the steady state (this or loops)"),
        option("loops", "N", "-", "wakeups of each thread instead of a duration"),
    ],
    shorthand: "",
    parse: |spec| Ok(Box::new(read(spec)?)),
};

/// A longer period would keep a stopped run waiting, and more threads would stretch the longest one.
const LONGEST_NS: u64 = 10_000_000_000;

fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let args = Arguments::new(&INFO, spec)?;
    let cpus = args.cpus()?;
    let threads = match args.get("threads") {
        Some("ncpu") if !cpus.is_empty() => cpus.as_slice().len() as u64,
        Some("ncpu") => affinity::allowed_cpus(0).map_err(BenchError::io("reading our own affinity"))?.len() as u64,
        _ => args.number_or("threads", 1, 1, 10_000)?,
    };
    let (length, length_written) = args.length_or(Length::DurationNs(1_000_000_000))?;
    let config = Config {
        threads: threads as u32,
        interval_ns: args.time_or("interval", 1_000_000, 1_000, LONGEST_NS)?,
        distance_ns: args.time_or("distance", 500_000, 0, LONGEST_NS)?,
        policy: policy(&args)?,
        pin_each: args.choice("pin", false, &[("free", false), ("each", true)])?,
        cpus,
        dma_latency: dma_latency(&args)?,
        mode: args.choice("mode", Mode::Thread, &[("process", Mode::Process), ("thread", Mode::Thread)])?,
        length,
        length_written,
    };
    if config.longest_ns() > LONGEST_NS {
        let longest = units::format_ns(config.longest_ns());
        return Err(args.conflict(format!(
            "{threads} threads would reach an interval of {longest}, over the limit of 10s; use a smaller distance"
        )));
    }
    Ok(config)
}

fn policy(args: &Arguments<'_>) -> Result<Option<Policy>, BenchError> {
    match args.get("policy") {
        None | Some("inherit") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|why: String| args.bad("policy", text, why)),
    }
}

fn dma_latency(args: &Arguments<'_>) -> Result<Wish, BenchError> {
    match args.get("dma-latency") {
        None | Some("auto") => Ok(Wish::Auto),
        Some("none") => Ok(Wish::Leave),
        // cyclictest's users write a bare 0; any other number needs a unit.
        Some(_) => {
            let ns = args.time_or("dma-latency", 0, 0, 1_000_000_000)?;
            Ok(Wish::Micros((ns / 1_000) as u32))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn the_default_is_cyclictests_and_every_argument_is_spelled_out() {
        let spec = registry::parse(&"timer".parse().unwrap()).unwrap().spec();
        assert_eq!(
            spec.to_string(),
            "timer/1:cpus=all,distance=500us,dma-latency=auto,duration=1s,interval=1ms,mode=thread,pin=free,\
             policy=inherit,threads=1"
        );
        let written = "timer:threads=3,interval=250us,distance=0ns,policy=fifo:80,dma_latency=2us,pin=each,loops=9";
        let spec = registry::parse(&written.parse().unwrap()).unwrap().spec();
        assert_eq!(registry::parse(&spec).unwrap().spec(), spec);
        assert_eq!((spec.args["policy"].as_str(), spec.args["dma-latency"].as_str()), ("fifo:80", "2us"));
    }

    #[test]
    fn each_thread_is_slower_by_the_distance() {
        let config = read(&"timer:threads=3,interval=1ms,distance=500us".parse().unwrap()).unwrap();
        assert_eq!((config.interval_of(0), config.interval_of(2)), (1_000_000, 2_000_000));
        assert_eq!(config.longest_ns(), 2_000_000);
    }

    #[test]
    fn bad_input_is_one_clear_line() {
        for (text, needle) in [
            ("timer:interval=0", "interval=0: must be from 1us to 10s"),
            ("timer:interval=0ns", "must be from 1us to 10s"),
            ("timer:interval=5", "is not a time"),
            ("timer:interval=20s", "must be from 1us to 10s"),
            ("timer:threads=0", "from 1 to"),
            ("timer:threads=10000,distance=2ms", "over the limit of 10s"),
            ("timer:policy=fifo:0", "priority of 1 to 99"),
            ("timer:policy=fiffo", "is not a policy"),
            ("timer:dma_latency=zero", "is not a time"),
            ("timer:pin=same", "must be one of free, each"),
            ("timer:loops=5,duration=1s", "not both"),
            ("timer:intervall=1ms", "did you mean `interval`"),
            ("timer:cpus=8000", "CPU 8000 is not among"),
            ("timer:3", "not `key=value`"),
        ] {
            let error = registry::parse(&text.parse().unwrap()).err().unwrap().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
