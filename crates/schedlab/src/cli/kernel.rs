//! The command line of `schedlab kernel`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Kernel {
    #[command(subcommand)]
    pub(crate) action: KernelAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelAction {
    /// Describe the differences between two kernel sources (interfaces, functions, callers) in a report that you can
    /// edit
    Dossier(Dossier),
    /// Dry-run a backport in memory: what GNU patch would do with each hunk, where the hunk belongs, and how it must be
    /// adapted
    Port(Port),
    /// Find the commits of a feature: those that touch the same names as a commit, fix it, revert it or belong to its series
    Related(Related),
}

#[derive(Debug, Args)]
pub(crate) struct Related {
    /// Commits, or names of functions, structure members and knobs
    #[arg(required = true, value_name = "COMMIT|NAME")]
    pub(crate) what: Vec<String>,
    /// The checkout whose history is searched
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: PathBuf,
    /// Versions to search between, such as v6.1..v6.12
    #[arg(long, value_name = "A..B")]
    pub(crate) range: String,
    /// The tree or checkout to backport to; commits it already has are not shown
    #[arg(long, value_name = "TREE")]
    pub(crate) onto: Option<PathBuf>,
    /// Only commits that touch these directories and files [default: those of the given commit; for names, all]
    #[arg(long, value_name = "P,…", value_delimiter = ',')]
    pub(crate) paths: Vec<String>,
    /// Print the commits as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// With --json: print only the N oldest commits, 0 for all [default: as many as fit in 20 kB]
    #[arg(long, value_name = "N", requires = "json")]
    pub(crate) top: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Port {
    /// Patches or mbox files in order, or a directory of them (its `series` file, else all *.patch and *.diff by name);
    /// or commits and ranges A..B of the checkout that --from names
    #[arg(required = true, value_name = "SERIES")]
    pub(crate) series: Vec<PathBuf>,
    /// The source tree to apply them to
    #[arg(long, value_name = "TREE")]
    pub(crate) onto: PathBuf,
    /// The source tree that the series was written for. For the data that the series reads, the report shows where the
    /// code that writes it differs between this tree and --onto
    #[arg(long, value_name = "TREE")]
    pub(crate) from: Option<PathBuf>,
    /// Also write one JSON object per hunk to FILE (with `-`, only that, to standard output)
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) json: Option<String>,
    /// With `--json -`: print at most N lines, 0 for all [default: as many as fit in 20 kB]
    #[arg(long, value_name = "N", requires = "json", hide_short_help = true)]
    pub(crate) top: Option<usize>,
    /// Write the adapted series to DIR (new or empty): patches, a `series` file, and rejected hunks as *.rej
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Option<PathBuf>,
    /// Compile the tree (as `vm build` does), then again after each patch of the adapted series, until one fails
    #[arg(long)]
    pub(crate) build: bool,
    /// Boot the built kernel, run `bench WORKLOAD` in it, and count how often the changed functions run
    #[arg(long, value_name = "WORKLOAD", requires = "build")]
    pub(crate) boot: Option<String>,
    /// A kernel config option, such as HZ_1000=y; may be given several times
    #[arg(long, value_name = "OPTION=VALUE", requires = "build")]
    pub(crate) set: Vec<String>,
    /// A file of config options
    #[arg(long, value_name = "FILE", requires = "build")]
    pub(crate) config: Option<PathBuf>,
    /// Name the kernel build:NAME [default: the tree's directory and the series]
    #[arg(long, requires = "build")]
    pub(crate) name: Option<String>,
    /// Parallel compile jobs [default: number of CPUs]
    #[arg(long, value_name = "N", requires = "build")]
    pub(crate) jobs: Option<usize>,
    /// Rehearse only: write no series, build and boot nothing, and print what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Dossier {
    /// What to compare: two source trees (before, after); or with --tree patch files or directories of patches, commits,
    /// or a range A..B
    #[arg(required = true, value_name = "TREE_A TREE_B|PATCH|COMMIT|RANGE")]
    pub(crate) input: Vec<String>,
    /// The tree that the patches are for, or the checkout that has the commits
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: Option<PathBuf>,
    /// Only these directories and files of the trees, such as kernel/sched,include/linux/sched
    #[arg(long, value_name = "P,…", value_delimiter = ',')]
    pub(crate) paths: Vec<String>,
    /// Callers from the whole tree, with --paths too
    #[arg(long, requires = "paths")]
    pub(crate) all_callers: bool,
    /// Language of the report
    #[arg(long, value_name = "LANG", default_value = "en")]
    pub(crate) lang: Language,
    /// Which report; `term` adds the data structures with the readers and writers of their members, and the key
    /// functions line by line
    #[arg(long, value_name = "NAME", default_value = "feature")]
    pub(crate) template: Template,
    /// A run directory that measured the feature; its verdict, picture and call counts fill chapter 4
    #[arg(long, value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,
    /// A list of the functions that ran: JSON from `vm profile --json` or `profile --json`, or output of the kernel's
    /// function tracer
    #[arg(long, value_name = "FILE")]
    pub(crate) hits: Option<PathBuf>,
    /// The heading of the report
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Directory for the files; created if missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// English
    En,
    /// Chinese, simplified
    Zh,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Template {
    /// A feature: interfaces, code, calls, modules
    Feature,
    /// A concept of the subsystem (a "term"): the same, and how the code works
    Term,
}
