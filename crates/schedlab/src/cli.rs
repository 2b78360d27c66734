//! The command line: parsing without side effects. Commands turn these into plans; the libraries never see clap.

pub(crate) mod exec;
pub(crate) mod help;
pub(crate) mod kernel;
mod single;
pub(crate) mod vm;
pub(crate) mod why;

use clap::{Args, Parser, Subcommand};
use schedlab_run::units::parse_duration_ns;
pub(crate) use single::{Bench, Doctor, List, Listing, Measuring, Profile, Record};
use std::path::PathBuf;

/// Is B better than A for the Linux scheduler and IPC: how much, how sure, why?
#[derive(Debug, Parser)]
#[command(name = "schedlab", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// What this host can and cannot measure, why, and what helps
    Doctor(Doctor),
    /// Names of workloads, knobs and counters, with their forms
    List(List),
    /// One workload, once, with a native-looking summary
    Bench(Bench),
    /// An A/B comparison without a file
    #[command(override_usage = "schedlab ab [OPTIONS] -w WORKLOAD --b SPEC [-- COMMAND]\n       \
                          schedlab ab [OPTIONS] 'COMMAND A' 'COMMAND B'")]
    Ab(Ab),
    /// An experiment from a plan file: run directory and report
    Run(Run),
    /// What changes the difference of two arms: which toggles of the scheduler
    Why(why::Why),
    /// A trace of the scheduler: beside a workload, a command, or for a time
    Record(Record),
    /// Statistics across two run directories (two kernels, two machines, two days)
    Compare(Compare),
    /// Old results of other tools, made into a run directory
    Import(Import),
    /// The report of a run: terminal, HTML, Markdown, JSON, SVG
    Report(Report),
    /// Who waited for a CPU, how long, and why: scheduler traces of any tool
    Trace(crate::commands::trace::Trace),
    /// With which commit, patch, kernel or setting a metric changed
    Bisect(Bisect),
    /// A run as one file that somebody else can repeat
    Pack(PackArgs),
    /// Whether what a pack says is found again here
    Repeat(Repeat),
    /// Where CPU time goes: by function and call chain, of a workload per operation
    Profile(Profile),
    /// Knobs of this host: know them, set them, and put them back
    Tune(Tune),
    /// A command under settings of its own: slice, policy, niceness, CPUs, timer slack
    Exec(exec::Exec),
    /// Kernels in QEMU: fetch, boot, run in them what would run here
    Vm(vm::Vm),
    /// What a feature changes in kernel source, what a back-port meets
    Kernel(kernel::Kernel),
    /// What is in the answers of `--json`, member by member
    ExplainJson {
        /// As in the answer's `schema`; without one all are listed
        schema: Option<String>,
    },
    /// Shell completions on standard output
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Man pages into a directory
    Man {
        /// Where to write schedlab.1 and a page per command
        dir: PathBuf,
    },
}

/// An answer for programs.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct Answer {
    /// The answer as JSON on standard output: `schedlab explain-json` says what is in it
    #[arg(long)]
    pub(crate) json: bool,
    /// At most N entries of each list of the JSON, 0 for all [default: what stays below 20 kB]
    #[arg(long, value_name = "N", requires = "json")]
    pub(crate) top: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Ab {
    /// Two commands, a word each (quoted): the control's and the other side's, instead of -w and --b
    #[arg(num_args = 2, value_names = ["COMMAND A", "COMMAND B"], conflicts_with_all = ["workload", "command"])]
    pub(crate) commands: Vec<String>,
    /// The workload; several give several rows
    #[arg(short, long, required_unless_present = "commands", value_name = "WORKLOAD")]
    pub(crate) workload: Vec<String>,
    /// Compare at each value of an option and show how it scales, such as copies=1,2,4,ncpu
    #[arg(long, value_name = "OPTION=LIST")]
    pub(crate) sweep: Option<String>,
    /// Settings of the control: a `;`-list, '' for the default
    #[arg(long, value_name = "SPEC", default_value = "")]
    pub(crate) a: String,
    /// Settings of the other side: a `;`-list
    #[arg(long, value_name = "SPEC", required_unless_present = "commands")]
    pub(crate) b: Option<String>,
    /// Time for the whole comparison: set-up included (the default design, 60s)
    #[arg(long, value_name = "TIME", group = "stopping")]
    pub(crate) budget: Option<String>,
    /// A fixed number of blocks instead (a block is ABBA or BAAB)
    #[arg(long, value_name = "N", group = "stopping")]
    pub(crate) trials: Option<u32>,
    /// Go on until the evidence decides: valid whenever it stops (at most --max-blocks)
    #[arg(long, group = "stopping")]
    pub(crate) until_decided: bool,
    /// Cap for --until-decided
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
    /// Seed of all coins; a run prints its own
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) output: RunOutput,
    /// The command of -w exec, word by word
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
    /// Run nothing: print the plan, the rights its arms need, its order and its forecast (of a plan with guests: their machines)
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Exit with 3 if a primary metric is worse, 4 if one is inconclusive
    #[arg(long, value_name = "VERDICT", value_parser = ["worse"])]
    pub(crate) fail_on: Option<String>,
    /// Print everything: not only the claim, its interval and the warnings that matter most
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) answer: Answer,
    /// Record the scheduler beside every trial: of every arm, into traces/ of the run directory [default EVENTS: min]
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
    /// More runs of the control's side, one for each boot: a verdict between kernels needs five a side
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) more_a: Vec<PathBuf>,
    /// More runs of the other side
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) more_b: Vec<PathBuf>,
    /// Print everything: not only the claim, its interval and the warnings that matter most
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) answer: Answer,
    /// Markdown into a file
    #[arg(long, value_name = "FILE")]
    pub(crate) md: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A CSV (`before,after` pairs, or `arm,value` rows), or one log per arm, the control first; a log may hold any
    /// number of runs (`cat`)
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// What the files are; found from their content when left out
    #[arg(long, value_parser = schedlab_import::Kind::NAMES)]
    pub(crate) kind: Option<String>,
    /// Name of a CSV's quantity; of a log, the metric that decides
    #[arg(long)]
    pub(crate) metric: Option<String>,
    /// Unit of a CSV's numbers; a log names its own
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
    /// Print everything: not only the claim, its interval and the warnings that matter most
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) answer: Answer,
    /// Say what would be imported, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The run directory, sealed or not
    pub(crate) run: PathBuf,
    /// One self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Markdown for a mailing list
    #[arg(long, value_name = "FILE")]
    pub(crate) md: Option<PathBuf>,
    /// The pictures, one SVG file each
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,
    /// Print everything: not only the claim, its interval and the warnings that matter most
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) answer: Answer,
}

#[derive(Debug, Args)]
pub(crate) struct Bisect {
    /// The good end: a commit with --git, else a member of the list by its name or by its index from 0
    pub(crate) good: String,
    /// The bad end
    pub(crate) bad: String,
    /// What is measured: a plan with one workload, of whose arms the first is run with each member
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// Kernels, the oldest first: debian:6.1,debian:6.6,build:x, or a file with one a line
    #[arg(long, value_name = "LIST|FILE", group = "history")]
    pub(crate) kernels: Option<String>,
    /// A folder of patches (its series, or by name) on top of --onto: member 0 is the tree without them
    #[arg(long, value_name = "DIR", group = "history", requires = "onto")]
    pub(crate) series: Option<PathBuf>,
    /// The source tree of --series; it stays as it is
    #[arg(long, value_name = "TREE", requires = "series")]
    pub(crate) onto: Option<PathBuf>,
    /// A checkout of the kernel: its commits along first parents; it stays as it is
    #[arg(long, value_name = "CHECKOUT", group = "history")]
    pub(crate) git: Option<PathBuf>,
    /// A file of settings, a SPEC a line, `default` for none
    #[arg(long, value_name = "FILE", group = "history")]
    pub(crate) arms: Option<PathBuf>,
    /// The metric to follow [default: the plan's first primary one]
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// Do not ask, at the end, which toggles change the difference of the two members around the change
    #[arg(long)]
    pub(crate) no_why: bool,
    /// Ask it of these toggles alone, as `why --only` does
    #[arg(long, value_name = "TOGGLES", value_delimiter = ',', conflicts_with = "no_why")]
    pub(crate) only: Vec<String>,
    /// Of that, begin no stage that would go on beyond this time
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration_ns, conflicts_with = "no_why")]
    pub(crate) why_budget: u64,
    /// Begin no round after so many trials, warm-ups aside; what is known by then is the answer
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub(crate) max_trials: usize,
    /// Directory of the study [default: out/bisect-<name of PLAN>]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with the study in the directory
    #[arg(long)]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) answer: Answer,
    /// Print the history and the first round's plan, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// The run directory
    pub(crate) run: PathBuf,
    /// The file [default: NAME.pack.json of the run directory NAME]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) answer: Answer,
    /// Print what would be in it, and write nothing
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
    /// Go on with the run in the run directory; of one that is at its end the answer again
    #[arg(long)]
    pub(crate) resume: bool,
    /// So many blocks instead of what the plan says
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<u32>,
    /// The source tree that its kernels are built from
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: Option<PathBuf>,
    /// Another kernel than the pack's, such as debian:6.1=debian:6.12: the answer is then about that one
    #[arg(long, value_name = "ITS=YOURS")]
    pub(crate) kernel: Vec<String>,
    /// A mirror of Debian's archive, as `vm fetch` takes it
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Vec<String>,
    /// Run the commands, write the files and build the kernels that the pack names
    #[arg(long)]
    pub(crate) trust: bool,
    /// Exit with 3 if an effect is contradicted, 4 if it cannot be told here
    #[arg(long, value_name = "ANSWER", value_parser = ["contradicted"])]
    pub(crate) fail_on: Option<String>,
    #[command(flatten)]
    pub(crate) answer: Answer,
    /// Print what the pack holds and what would be fetched, built and run, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tune {
    #[command(subcommand)]
    pub(crate) action: TuneAction,
    /// The kernel's files below DIR (DIR/proc, DIR/sys), as of a copied tree, and journals in DIR/run/schedlab
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

impl TuneAction {
    /// Whether it neither sets nor puts back.
    pub(crate) fn only_looks(&self) -> bool {
        matches!(self, Self::Show { .. } | Self::Catalog { .. })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum TuneAction {
    /// Knobs this kernel has: the value in effect beside the default
    Show {
        /// Only these, by any of their names
        names: Vec<String>,
        #[command(flatten)]
        answer: Answer,
    },
    /// All knobs on all kernels: what each does, its range, its coupling, and whether it can be set here
    Catalog {
        /// Only these, by any of their names
        names: Vec<String>,
        #[command(flatten)]
        answer: Answer,
    },
    /// Set knobs of this host until `tune restore`, or for the length of a command
    Set {
        /// NAME=VALUE, NAME as in the catalogue or a setting as in a SPEC; all of them or none
        #[arg(required = true, value_name = "NAME=VALUE")]
        values: Vec<String>,
        /// For the length of the command after `--` only; settings of tasks (slice, policy, nice, cpus) act on it
        #[arg(long = "for", requires = "command")]
        during: bool,
        /// Say what would be written, and write nothing
        #[arg(long)]
        dry_run: bool,
        /// With --for: the command, word by word
        #[arg(last = true, value_name = "COMMAND", requires = "during")]
        command: Vec<String>,
    },
    /// Settings as files to keep: sysctl.d, a unit of systemd, a profile of tuned, a script that starts a command with them
    Export {
        /// NAME=VALUE, as of `tune set`
        #[arg(required = true, value_name = "NAME=VALUE")]
        values: Vec<String>,
        /// The directory for the files; nothing is installed
        #[arg(short, long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Undo what `tune set` set and what a killed run left behind
    Restore {
        /// Say what would be restored, and restore nothing
        #[arg(long)]
        dry_run: bool,
    },
}
