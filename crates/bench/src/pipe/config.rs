//! The options of `pipe/1` and `pipe2/1` and what they mean.

use crate::dispatch::Length;
use crate::error::BenchError;
use crate::herd::Mode;
use crate::options::Arguments;
use crate::placement::Pin;
use crate::workload::{OptionDoc, Workload, WorkloadInfo, option};
use schedlab_plan::WorkloadSpec;
use schedlab_plan::units::CpuList;
use std::fmt;

/// How many tokens are in flight.
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
    pub(crate) cgroups: Groups,
    pub(crate) cpus: CpuList,
}

/// The partners' cgroups, this many levels below the trial's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Groups {
    None,
    /// One for each partner.
    Apart(u32),
    /// One for both.
    Shared(u32),
}

/// Most levels of nested groups; systemd's services and containers are three to six levels down.
const DEEPEST: u32 = 16;

impl Groups {
    fn parse(text: &str) -> Option<Self> {
        let (word, depth) = text.split_once(':').unwrap_or((text, "1"));
        let depth = depth.parse().ok().filter(|depth| (1..=DEEPEST).contains(depth))?;
        match (word, text.contains(':')) {
            ("none", false) => Some(Self::None),
            ("apart", _) => Some(Self::Apart(depth)),
            ("shared", _) => Some(Self::Shared(depth)),
            _ => None,
        }
    }

    /// The groups of the parents and of the children, or of both; each level is named by its number.
    pub(crate) fn names(self) -> Vec<String> {
        let nested =
            |name: &str, depth: u32| (2..=depth).fold(name.to_owned(), |path, level| format!("{path}/{level}"));
        match self {
            Self::None => Vec::new(),
            Self::Apart(depth) => ["parent", "child"].map(|side| nested(side, depth)).to_vec(),
            Self::Shared(depth) => vec![nested("both", depth)],
        }
    }
}

impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Apart(1) => f.write_str("apart"),
            Self::Apart(depth) => write!(f, "apart:{depth}"),
            Self::Shared(1) => f.write_str("shared"),
            Self::Shared(depth) => write!(f, "shared:{depth}"),
        }
    }
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
        "none|apart[:DEPTH]|shared[:DEPTH]",
        "none",
        "cgroups with the cpu controller (needs rights): apart: one for each partner; shared: one for both; DEPTH levels down",
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
        // At most a page: with two tokens in flight, a larger one could fill both pipes and block both writers.
        bytes: args.bytes_or(8, 4, 4096)? as usize,
        length,
        length_written,
        mode: args.choice("mode", Mode::Process, &[("process", Mode::Process), ("thread", Mode::Thread)])?,
        cgroups: match args.get("cgroups") {
            None => Groups::None,
            Some(text) => Groups::parse(text).ok_or_else(|| {
                args.bad("cgroups", text, "is none, apart or shared, the last two with a depth of 1 to 16 (apart:3)")
            })?,
        },
        cpus,
    };
    if config.cgroups != Groups::None && config.mode == Mode::Thread {
        return Err(args.conflict("cgroups= moves whole processes; use mode=process"));
    }
    match config.length {
        // In a 4-byte token, the counter with all bits set is the end marker.
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
    fn groups_are_nested_as_deep_as_asked() {
        for (text, written, names) in [
            ("none", "none", vec![]),
            ("apart", "apart", vec!["parent", "child"]),
            ("apart:1", "apart", vec!["parent", "child"]),
            ("apart:3", "apart:3", vec!["parent/2/3", "child/2/3"]),
            ("shared", "shared", vec!["both"]),
            ("shared:2", "shared:2", vec!["both/2"]),
        ] {
            let workload = registry::parse(&format!("pipe:cgroups={text}").parse().unwrap()).unwrap();
            assert_eq!(
                (workload.spec().args["cgroups"].as_str(), workload.cgroups()),
                (written, names.iter().map(ToString::to_string).collect())
            );
            assert_eq!(registry::parse(&workload.spec()).unwrap().spec(), workload.spec());
        }
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
            ("pipe:cgroups=none:2", "apart:3"),
            ("pipe:cgroups=shared:0", "depth of 1 to 16"),
            ("pipe:cgroups=apart:17", "depth of 1 to 16"),
            ("pipe:cpus=8000", "CPU 8000 is not among"),
            ("pip:pin=same", "did you mean `pipe`"),
            ("pipe/2", "runs pipe/1, not pipe/2"),
        ] {
            let error = registry::parse(&text.parse().unwrap()).err().unwrap().to_string();
            assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
