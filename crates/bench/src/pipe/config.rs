//! The options of `pipe/1` and `pipe2/1` and what they mean.

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::herd::Mode;
use crate::options::Arguments;
use crate::placement::Pin;
use crate::workload::{OptionDoc, Workload, WorkloadInfo, option};
use schedlab_plan::WorkloadSpec;
use schedlab_plan::units::CpuList;

/// How many tokens are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tokens {
    /// `pipe/1`: strict ping-pong.
    One,
    /// `pipe2/1`: both sides write before they read.
    Two,
}

impl Tokens {
    pub(crate) fn info(self) -> &'static WorkloadInfo {
        match self {
            Self::One => &INFO,
            Self::Two => &INFO_TWO_TOKENS,
        }
    }
}

/// A validated configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) tokens: Tokens,
    pub(crate) copies: u32,
    pub(crate) pin: Pin,
    pub(crate) bytes: usize,
    pub(crate) length: Length,
    pub(crate) length_written: bool,
    pub(crate) mode: Mode,
    pub(crate) cgroups_apart: bool,
    pub(crate) cpus: CpuList,
}

impl Config {
    /// Whether a token has room for the CPU number.
    pub(crate) fn is_wide(&self) -> bool {
        self.bytes >= 8
    }
}

const OPTIONS: &[OptionDoc] = &[
    option(
        "copies",
        "N|ncpu|Nncpu",
        "1",
        "independent pairs at the same time; 4ncpu: four for each CPU we may use; a list (1,2,4ncpu) is a sweep",
    ),
    Pin::OPTION,
    option("bytes", "SIZE", "8", "size of the token; from 8 bytes on it carries the CPU number"),
    option("duration", "TIME", "1s", "length of the steady state (this or loops)"),
    option("loops", "N", "-", "operations of each copy instead of a duration"),
    option("mode", "process|thread", "process", "what the partners are"),
    option(
        "cgroups",
        "none|apart",
        "none",
        "apart: the partners in two child cgroups with the cpu controller (needs rights)",
    ),
    Pin::CPUS_OPTION,
];

/// `pipe/1`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "pipe",
    version: 1,
    reference: "UnixBench context1, perf bench sched pipe (before Linux 6.15)",
    summary: "two tasks pass one token back and forth through two pipes",
    operation: "round trip",
    primary: &["round_trips_per_s"],
    metrics: &["round_trips_per_s", "index", "time_s", "fairness_jain", "spread"],
    options: OPTIONS,
    shorthand: "",
    parse: |spec| parse(Tokens::One, spec),
};

/// `pipe2/1`.
pub(crate) static INFO_TWO_TOKENS: WorkloadInfo = WorkloadInfo {
    name: "pipe2",
    version: 1,
    reference: "perf bench sched pipe (since Linux 6.15)",
    summary: "two tasks both write a token, then both read: two tokens under way",
    operation: "exchange",
    primary: &["exchanges_per_s"],
    metrics: &["exchanges_per_s", "time_s", "fairness_jain", "spread"],
    options: OPTIONS,
    shorthand: "",
    parse: |spec| parse(Tokens::Two, spec),
};

fn parse(tokens: Tokens, spec: &WorkloadSpec) -> Result<Box<dyn Workload>, BenchError> {
    Ok(Box::new(read(tokens, spec)?))
}

fn read(tokens: Tokens, spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let args = Arguments::new(tokens.info(), spec)?;
    let cpus = args.cpus()?;
    let copies = match args.get("copies") {
        Some(list) if list.contains(',') => {
            return Err(args.bad("copies", list, "takes one number here; lists work in `bench`, `ab` and plans"));
        }
        _ => args.number_or_ncpu("copies", 100_000, &cpus)?,
    };
    let (length, length_written) = args.length_or(Length::DurationNs(1_000_000_000))?;
    let config = Config {
        tokens,
        copies: copies as u32,
        pin: args.choice("pin", Pin::Free, &Pin::WORDS)?,
        // A page: with two tokens under way a larger one could fill both pipes and block both writers.
        bytes: args.bytes_or(8, 4, 4096)? as usize,
        length,
        length_written,
        mode: args.choice("mode", Mode::Process, &[("process", Mode::Process), ("thread", Mode::Thread)])?,
        cgroups_apart: args.choice("cgroups", false, &[("none", false), ("apart", true)])?,
        cpus,
    };
    if config.cgroups_apart && config.mode == Mode::Thread {
        return Err(args.conflict("cgroups=apart moves whole processes; use mode=process"));
    }
    match config.length {
        // The all-ones counter of a 4-byte token is its end marker.
        Length::Loops(loops) if !config.is_wide() && loops >= u64::from(u32::MAX) => {
            Err(args.conflict("a token below 8 bytes counts to 2^32 - 2; use fewer loops or bytes=8"))
        }
        _ => Ok(config),
    }
}

#[cfg(test)]
mod tests {
    use crate::registry;
    use schedlab_sys::affinity;

    #[test]
    fn the_default_is_context1s_token_and_every_argument_is_spelled_out() {
        let spec = registry::parse(&"pipe:pin=same".parse().unwrap()).unwrap().spec();
        assert_eq!(spec.to_string(), "pipe/1:bytes=8,cgroups=none,copies=1,cpus=all,duration=1s,mode=process,pin=same");
        assert_eq!(registry::parse(&spec).unwrap().spec(), spec);
    }

    #[test]
    fn ncpu_copies_follow_the_cpus_given() {
        let first = affinity::allowed_cpus(0).unwrap()[0];
        let workload = registry::parse(&format!("pipe2:copies=ncpu,cpus={first}").parse().unwrap()).unwrap();
        assert_eq!((workload.info().name, workload.spec().args["copies"].as_str()), ("pipe2", "1"));
        let workload = registry::parse(&format!("pipe:copies=4ncpu,cpus={first}").parse().unwrap()).unwrap();
        assert_eq!(workload.spec().args["copies"], "4");
    }

    #[test]
    fn bad_input_is_one_clear_line() {
        for (text, needle) in [
            ("pipe:pin=sme", "did you mean `same`"),
            ("pipe:copies=0", "from 1 to"),
            ("pipe:copies=xncpu", "from 1 to"),
            ("pipe:copies=1,2,4", "one number here"),
            ("pipe:bytes=2", "from 4 to 4096"),
            ("pipe:loops=0", "from 1 to"),
            ("pipe:loops=5000000000,bytes=4", "2^32"),
            ("pipe:copy=2", "did you mean `copies`"),
            ("pipe:5x50", "not `key=value`"),
            ("pipe:cgroups=apart,mode=thread", "mode=process"),
            ("pipe:cpus=8000", "CPU 8000 is not among"),
            ("pip:pin=same", "did you mean `pipe`"),
            ("pipe/2", "runs pipe/1, not pipe/2"),
        ] {
            let error = registry::parse(&text.parse().unwrap()).err().unwrap().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
