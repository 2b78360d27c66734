//! The command line: parsing without side effects. Commands turn these structs into plans; the libraries never see
//! clap.

pub(crate) mod exec;
pub(crate) mod help;
pub(crate) mod kernel;
mod single;
pub(crate) mod vm;
pub(crate) mod why;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand};
pub(crate) use single::{Bench, Doctor, List, Listing, Measuring, Profile, Record};
use std::path::PathBuf;

/// Is B better than A for the Linux scheduler and IPC, by how much, and why?
#[derive(Debug, Parser)]
#[command(name = "schedlab", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check what this host can and cannot measure, why, and how to fix it
    Doctor(Doctor),
    /// List workloads, knobs, counters and trace analyses, with their syntax
    List(List),
    /// Run one workload once and print a summary like the original tool's
    Bench(Bench),
    /// Compare two settings or two commands, without a plan file
    #[command(override_usage = "schedlab ab [OPTIONS] -w WORKLOAD --b SPEC [-- COMMAND]\n       \
                          schedlab ab [OPTIONS] 'COMMAND A' 'COMMAND B'")]
    Ab(Ab),
    /// Run an experiment from a plan file and report on it
    Run(Run),
    /// Explain a difference between two arms: which scheduler features and knobs change it
    Why(why::Why),
    /// Record a scheduler trace: of a workload, of a command, or for a given time
    Record(Record),
    /// Compare two run directories (two kernels, two machines, two days)
    Compare(Compare),
    /// Import results of other tools into a run directory
    Import(Import),
    /// Report on a run: terminal, HTML, Markdown, JSON, SVG
    Report(Report),
    /// Analyse scheduler traces: who waited for a CPU, how long, and why
    Trace(crate::commands::trace::Trace),
    /// Find the commit, patch, kernel or setting that changed a metric
    Bisect(Bisect),
    /// Pack a run into one file that somebody else can repeat
    Pack(PackArgs),
    /// Repeat the run of a pack here and check whether its effects reproduce
    Repeat(Repeat),
    /// Profile CPU time by function and call chain; for a workload, per operation
    Profile(Profile),
    /// Show, set and restore the knobs of this host
    Tune(Tune),
    /// Run a command with its own slice, policy, niceness, CPUs and timer slack
    Exec(exec::Exec),
    /// Fetch, build and boot kernels in QEMU, and run experiments in them
    Vm(vm::Vm),
    /// Compare kernel sources: what a feature changes, how a backport applies
    Kernel(kernel::Kernel),
    /// Document the output of `--json`, member by member
    ExplainJson {
        /// The `schema` member of the output; without it, all schemas are listed
        schema: Option<String>,
    },
    /// Print shell completions
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Write man pages into a directory
    Man {
        /// Directory for schedlab.1 and one page per command
        dir: PathBuf,
    },
}

/// Output for programs.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct OutputOptions {
    /// Print the result as JSON (`schedlab explain-json` documents it)
    #[arg(long)]
    pub(crate) json: bool,
    /// Print at most N entries of each JSON list, 0 for all [default: as many as fit in 20 kB]
    #[arg(long, value_name = "N", requires = "json")]
    pub(crate) top: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Ab {
    /// Two quoted commands, the control first (replaces -w and --b)
    #[arg(num_args = 2, value_names = ["COMMAND A", "COMMAND B"], conflicts_with_all = ["workload", "command"])]
    pub(crate) commands: Vec<String>,
    /// The workload; repeat the option to compare on several
    #[arg(short, long, required_unless_present = "commands", value_name = "WORKLOAD")]
    pub(crate) workload: Vec<String>,
    /// Compare at each value of an option, such as copies=1,2,4,ncpu, and show how the result scales
    #[arg(long, value_name = "OPTION=LIST")]
    pub(crate) sweep: Option<String>,
    /// Settings of the control, separated by `;`; '' for the default
    #[arg(long, value_name = "SPEC", default_value = "")]
    pub(crate) a: String,
    /// Settings of the other side, separated by `;`
    #[arg(long, value_name = "SPEC", required_unless_present = "commands")]
    pub(crate) b: Option<String>,
    /// Time for the whole comparison, set-up included [default: 60s]
    #[arg(long, value_name = "TIME", group = "stopping")]
    pub(crate) budget: Option<String>,
    /// Run exactly N blocks, not trials (a block is four trials, ABBA or BAAB), instead of a time budget
    #[arg(long, value_name = "N", group = "stopping")]
    pub(crate) trials: Option<u32>,
    /// Run until there is a verdict (at most --max-blocks; the error rate holds whenever it stops)
    #[arg(long, group = "stopping")]
    pub(crate) until_decided: bool,
    /// Upper limit on the blocks of --until-decided
    #[arg(long, value_name = "N", default_value_t = 200, requires = "until_decided")]
    pub(crate) max_blocks: u32,
    /// Smallest effect of interest: smaller ones count as equivalent
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub(crate) sesoi: String,
    /// switchback[=50ms]: alternate the settings inside each trial
    #[arg(long, value_name = "DESIGN")]
    pub(crate) design: Option<String>,
    /// Length of one trial
    #[arg(long, value_name = "TIME")]
    pub(crate) trial: Option<String>,
    /// Random seed; every run prints the one it used
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) output: RunOutput,
    /// The command of -w exec and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Where an experiment's results go, common to `ab` and `run`.
#[derive(Debug, Args)]
pub(crate) struct RunOutput {
    /// Run directory [default: out/<name>]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the interrupted run in the run directory
    #[arg(long)]
    pub(crate) resume: bool,
    /// Run nothing: print the plan, the privileges that each arm needs, the order of the trials and the expected
    /// duration (for guests also their machines)
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Exit with 3 if a primary metric is worse, 4 if one is inconclusive
    #[arg(long, value_name = "VERDICT", value_parser = ["worse"])]
    pub(crate) fail_on: Option<String>,
    /// Print the whole report (not only the claim, its interval and the main warnings)
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
    /// Record a scheduler trace of every trial (into traces/ of the run directory) [default EVENTS: min]
    #[arg(long, value_name = "EVENTS", num_args = 0..=1, require_equals = true, default_missing_value = "min")]
    pub(crate) trace: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The plan, a TOML file
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) output: RunOutput,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Run directory of the control
    pub(crate) run_a: PathBuf,
    /// Run directory of the other side
    pub(crate) run_b: PathBuf,
    /// More runs of the control, one per boot: a verdict between kernels needs five on each side
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) more_a: Vec<PathBuf>,
    /// More runs of the other side
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) more_b: Vec<PathBuf>,
    /// Print the whole report (not only the claim, its interval and the main warnings)
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
    /// Write Markdown to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) md: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A CSV (`before,after` pairs, or `arm,value` rows), or one log per arm, the control first; a log may hold several
    /// runs, concatenated
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Kind of the files [default: detected from their content]
    #[arg(long, value_parser = schedlab_import::Kind::NAMES)]
    pub(crate) kind: Option<String>,
    /// For a CSV, the name of what was measured; for a log, the primary metric
    #[arg(long)]
    pub(crate) metric: Option<String>,
    /// Unit of the values of a CSV; a log has its own
    #[arg(long)]
    pub(crate) unit: Option<String>,
    /// Smaller values are better
    #[arg(long, conflicts_with = "higher_is_better")]
    pub(crate) lower_is_better: bool,
    /// Larger values are better
    #[arg(long)]
    pub(crate) higher_is_better: bool,
    /// Smallest effect of interest
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub(crate) sesoi: String,
    /// Run directory to write [default: out/<file name>]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the whole report (not only the claim, its interval and the main warnings)
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
    /// Print what would be imported, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The run directory; the run may still be in progress
    pub(crate) run: PathBuf,
    /// Write one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write Markdown for a mailing list
    #[arg(long, value_name = "FILE")]
    pub(crate) md: Option<PathBuf>,
    /// Write each picture as an SVG file
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,
    /// Print the whole report (not only the claim, its interval and the main warnings), also beside files
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Bisect {
    /// The good end: a commit with --git, otherwise a member of the list, by name or by index from 0
    pub(crate) good: String,
    /// The bad end
    pub(crate) bad: String,
    /// The plan that measures it: one workload; its first arm is run on each member of the history
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// Kernels, oldest first, such as debian:6.1,debian:6.6,build:x, or a file with one per line
    #[arg(long, value_name = "LIST|FILE", group = "history")]
    pub(crate) kernels: Option<String>,
    /// A directory of patches for --onto, in the order of its `series` file, otherwise by name; member 0 is the
    /// unpatched tree
    #[arg(long, value_name = "DIR", group = "history", requires = "onto")]
    pub(crate) series: Option<PathBuf>,
    /// The source tree of --series; it is not modified
    #[arg(long, value_name = "TREE", requires = "series")]
    pub(crate) onto: Option<PathBuf>,
    /// A checkout of the kernel, whose first-parent commits are bisected; it is not modified
    #[arg(long, value_name = "CHECKOUT", group = "history")]
    pub(crate) git: Option<PathBuf>,
    /// A file with one SPEC per line, `default` for no settings
    #[arg(long, value_name = "FILE", group = "history")]
    pub(crate) arms: Option<PathBuf>,
    /// The metric to follow [default: the plan's first primary one]
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// Do not run `why` on the two members around the change when the bisection ends
    #[arg(long)]
    pub(crate) no_why: bool,
    /// Let `why` try these toggles only, as `why --only` does
    #[arg(long, value_name = "TOGGLES", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with = "no_why")]
    pub(crate) only: Vec<String>,
    /// Time budget of `why`: it starts no stage that would exceed it
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = why::some_time, conflicts_with = "no_why")]
    pub(crate) why_budget: u64,
    /// Start no round after N trials (warm-ups excluded); report the result so far
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub(crate) max_trials: usize,
    /// Directory for the runs of the bisection [default: out/bisect-<name of PLAN>]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the interrupted bisection in that directory
    #[arg(long)]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
    /// Print the history and the first round's plan, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// The run directory
    pub(crate) run: PathBuf,
    /// File to write [default: NAME.pack.json for the run directory NAME]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
    /// Print what the pack would contain, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Repeat {
    /// The pack
    pub(crate) file: PathBuf,
    /// Run directory [default: out/repeat-<name of FILE>]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the run in the run directory; if it is complete, print its result again
    #[arg(long)]
    pub(crate) resume: bool,
    /// Run N blocks instead of the plan's number
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<u32>,
    /// Source tree to build the pack's kernels from
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: Option<PathBuf>,
    /// Replace a kernel of the pack by one of yours, such as debian:6.1=debian:6.12; the result then applies to yours
    #[arg(long, value_name = "ITS=YOURS")]
    pub(crate) kernel: Vec<String>,
    /// A mirror of Debian's archive, as for `vm fetch`
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Vec<String>,
    /// Run the commands, write the files and build the kernels that the pack names
    #[arg(long)]
    pub(crate) trust: bool,
    /// Exit with 3 if an effect is contradicted, 4 if the repetition is inconclusive
    #[arg(long, value_name = "ANSWER", value_parser = ["contradicted"])]
    pub(crate) fail_on: Option<String>,
    #[command(flatten)]
    pub(crate) answer: OutputOptions,
    /// Print what the pack holds and what would be fetched, built and run, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tune {
    #[command(subcommand)]
    pub(crate) action: TuneAction,
    /// Use the kernel's files below DIR (DIR/proc, DIR/sys), such as a copied tree, and journals in DIR/run/schedlab
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

impl TuneAction {
    /// Whether it only reads, without setting or restoring anything.
    pub(crate) fn only_looks(&self) -> bool {
        matches!(self, Self::Show { .. } | Self::Catalog { .. })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum TuneAction {
    /// Show the knobs of this kernel: current value and default
    Show {
        /// Show only these knobs, by any of their names
        names: Vec<String>,
        #[command(flatten)]
        answer: OutputOptions,
    },
    /// List all knobs of all kernels: what each does, its range, what it depends on, and whether it can be set here
    Catalog {
        /// Show only these knobs, by any of their names
        names: Vec<String>,
        #[command(flatten)]
        answer: OutputOptions,
    },
    /// Set knobs of this host until `tune restore`, or while a command runs
    Set {
        /// NAME is a knob of `tune catalog` or a setting of a SPEC; if one value cannot be set, none is
        #[arg(required = true, value_name = "NAME=VALUE")]
        values: Vec<String>,
        /// Set them only while the command after `--` runs; per-task settings (slice, policy, nice, cpus) apply to it
        #[arg(long = "for", requires = "command")]
        during: bool,
        /// Print what would be written, and write nothing
        #[arg(long)]
        dry_run: bool,
        /// With --for: the command and its arguments
        #[arg(last = true, value_name = "COMMAND", requires = "during")]
        command: Vec<String>,
    },
    /// Write configuration files that make the settings permanent: sysctl.d, a systemd unit, a tuned profile, a script
    /// that starts a command with them
    Export {
        /// As for `tune set`; at least one
        #[arg(value_name = "NAME=VALUE")]
        values: Vec<String>,
        /// Directory for the files; nothing is installed
        #[arg(short, long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Restore what `tune set` or a killed run changed
    Restore {
        /// Print what would be restored, and restore nothing
        #[arg(long)]
        dry_run: bool,
    },
}
