//! The command lines of commands that look at the host or run one workload: `doctor`, `list`, `bench`, `record`,
//! `profile`.

use super::OutputOptions;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use schedlab_plan::{CounterLevel, LoadGroup, Stamping, TraceSource};
use serde::de::DeserializeOwned;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print what has changed since the start of this run: kernel, checks and every knob
    #[arg(long, value_name = "RUN", conflicts_with = "noise")]
    pub(crate) against: Option<PathBuf>,
    /// Also measure the A/A noise floor of this machine (about 20 s)
    #[arg(long)]
    pub(crate) noise: bool,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// Benchmarks and background loads
    Workloads,
    /// Settings of an arm
    Knobs,
    /// Counters of a workload
    Counters,
    /// Definitions of the numbers of `schedlab trace`
    Analyses,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// What to list [default: everything]
    pub(crate) what: Option<Listing>,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
}

/// How trials are run, common to `bench` and `ab`.
#[derive(Debug, Default, Args)]
pub(crate) struct Measuring {
    /// Latency timestamps: off (no clock read in the loop), sampled (at most 1 % overhead), all (every operation)
    #[arg(long, value_name = "LEVEL", default_value = "sampled", value_parser = words::<Stamping>(["off", "sampled", "all"]))]
    pub(crate) latency: Stamping,
    /// Counters: basic (before and after), full (adds perf events and a sample every 100 ms), or topdown (full, with
    /// the PMU used for top-down analysis, and memory bandwidth by socket and die)
    #[arg(long, value_name = "LEVEL", default_value = "full", value_parser = words::<CounterLevel>(["basic", "full", "topdown"]))]
    pub(crate) counters: CounterLevel,
    /// Background load beside the workload, such as burn:2x50%; may be given several times
    #[arg(long, value_name = "WORKLOAD")]
    pub(crate) load: Vec<String>,
    /// Whether the load shares the workload's session, autogroup and cgroup
    #[arg(long, value_name = "GROUP", default_value = "same", value_parser = words::<LoadGroup>(["same", "separate"]))]
    pub(crate) load_group: LoadGroup,
}

/// Accepts one of these words, parsed as in a plan.
fn words<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    words: impl Into<PossibleValuesParser>,
) -> impl TypedValueParser<Value = T> {
    words.into().try_map(|word| serde_json::from_value(word.into()))
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// The workload and its options, such as pipe:copies=4
    ///
    /// id[:args], such as messaging:5x50,groups=10 or pipe:copies=4,pin=apart
    pub(crate) workload: String,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) tracing: Tracing,
    /// Run once for each value of an option, such as copies=1,2,4,ncpu, and show how the result scales
    #[arg(long, value_name = "OPTION=LIST")]
    pub(crate) sweep: Option<String>,
    /// Settings to run under, separated by `;`, such as 'slice=0.1ms;policy=batch'
    #[arg(long, value_name = "SPEC", default_value = "")]
    pub(crate) set: String,
    /// Count calls of these kernel functions with kprobes, such as try_to_wake_up,schedule
    #[arg(long, value_name = "FUNCTIONS", value_delimiter = ',')]
    pub(crate) calls: Vec<String>,
    /// Write the whole outcome as JSON to FILE, or to standard output with `-`
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<String>,
    /// With --json -: print at most N entries of each list, 0 for all [default: as many as fit in 20 kB]
    #[arg(long, value_name = "N", requires = "json")]
    pub(crate) top: Option<usize>,
    /// Print what would be run, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// For the exec workload, the command and its arguments: bench exec --metric 'tps = ([0-9.]+)' --direction higher
    /// -- pgbench -T 5
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// What is traced during a trial.
#[derive(Debug, Args)]
pub(crate) struct Tracing {
    /// Record a scheduler trace into DIR: trace.slt, and outcome.json with the trial's timestamps
    #[arg(long, value_name = "DIR")]
    pub(crate) trace: Option<PathBuf>,
    /// What --trace records: min (switch, waking) or full, and with `+` irq, softirq, workqueue, pi, idle,
    /// syscalls, cgroup
    #[arg(long, value_name = "EVENTS", default_value = "full", requires = "trace")]
    pub(crate) events: String,
    /// Keep only the last TIME of the trace; with transact --stop-on-miss, up to the missed deadline
    #[arg(long, value_name = "TIME", requires = "trace")]
    pub(crate) keep: Option<String>,
    /// Where to read events from: a tracefs instance, perf ring buffers, or whichever works here
    #[arg(long, value_name = "auto|tracefs|perf", default_value = "auto", requires = "trace")]
    pub(crate) source: TraceSource,
}

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// Directory for the recording [default: out/record]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// How long to record when no command is given
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// What is recorded: min (switch, waking) or full, and with `+` irq, softirq, workqueue, pi, idle,
    /// syscalls, cgroup
    #[arg(long, value_name = "EVENTS", default_value = "full")]
    pub(crate) events: String,
    /// Keep only the last TIME (a flight recorder)
    #[arg(long, value_name = "TIME")]
    pub(crate) keep: Option<String>,
    /// Where to read events from: a tracefs instance, perf ring buffers, or whichever works here
    #[arg(long, value_name = "auto|tracefs|perf", default_value = "auto", conflicts_with = "self_test")]
    pub(crate) source: TraceSource,
    /// Size of the kernel's per-CPU buffer [default: 8M]
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<String>,
    /// Measure the overhead of recording on this machine: a same-CPU ping-pong without tracing, with events enabled but
    /// not read, and recorded
    #[arg(long)]
    pub(crate) self_test: bool,
    /// Blocks of the self-test
    #[arg(long, value_name = "N", default_value_t = 15, requires = "self_test")]
    pub(crate) trials: u32,
    /// Length of one trial of the self-test
    #[arg(long, value_name = "TIME", default_value = "500ms", requires = "self_test")]
    pub(crate) trial: String,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
    /// Print what would be recorded, and record nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A workload or a command with its arguments (pipe:pin=same)
    #[arg(last = true, value_name = "WORKLOAD | COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Profile {
    /// How long to sample the whole machine [default: 5s]; a command or workload is sampled until it ends
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Samples per second of CPU time
    #[arg(short = 'F', long, value_name = "HZ", default_value_t = schedlab_record::profile::DEFAULT_HZ)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) frequency: u32,
    /// Sample the whole machine while the command runs, not only the command and its children
    #[arg(short, long)]
    pub(crate) all_cpus: bool,
    /// Order of the functions
    #[arg(long, value_name = "ORDER", default_value = "self", value_parser = ["self", "total"])]
    pub(crate) sort: String,
    /// Show at most N functions, 0 for all [default: 20; in JSON as many as fit in 20 kB]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Show at most N call chains, 0 for all
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) chains: usize,
    /// Also show the instructions of this function with their shares
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) annotate: Option<String>,
    /// Write folded stacks (for flame graphs) to FILE, or to standard output with `-`
    #[arg(long, value_name = "FILE|-")]
    pub(crate) folded: Option<String>,
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print what would be sampled, and sample nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A command with its arguments, or `bench WORKLOAD …`; without one the whole machine is sampled
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
