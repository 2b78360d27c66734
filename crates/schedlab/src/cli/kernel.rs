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
    /// What changed between two states of a kernel source: interfaces, functions, callers, as a report to edit
    Dossier(Dossier),
    /// Rehearses a back-port in memory: what GNU patch would do with each hunk, where it belongs, and what it would have to look like
    Port(Port),
    /// Finds the commits of a feature: those that touch the same names as a commit, fix it, revert it or were sent with it
    Related(Related),
}

#[derive(Debug, Args)]
pub(crate) struct Related {
    /// Commits, or names of functions, members and knobs
    #[arg(required = true, value_name = "COMMIT|NAME")]
    pub(crate) what: Vec<String>,
    /// The checkout whose history is read
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: PathBuf,
    /// Between which two versions, such as v6.1..v6.12
    #[arg(long, value_name = "A..B")]
    pub(crate) range: String,
    /// A tree or checkout that they are meant for: what it has already is not shown
    #[arg(long, value_name = "TREE")]
    pub(crate) onto: Option<PathBuf>,
    /// Only commits that touch these folders and files [default: of a commit its folders, of names all]
    #[arg(long, value_name = "P,…", value_delimiter = ',')]
    pub(crate) paths: Vec<String>,
    /// Print the commits as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// At most N commits in --json, the oldest, 0 for all [default: what stays below 20 kB]
    #[arg(long, value_name = "N", requires = "json")]
    pub(crate) top: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Port {
    /// Patches or mbox files in order, or a directory of them (its `series` file, else all *.patch and *.diff by name)
    #[arg(required = true, value_name = "SERIES")]
    pub(crate) series: Vec<PathBuf>,
    /// The source tree to put them onto
    #[arg(long, value_name = "TREE")]
    pub(crate) onto: PathBuf,
    /// The source tree that the series was made for: who changes what its code reads is compared there and in --onto
    #[arg(long, value_name = "TREE")]
    pub(crate) from: Option<PathBuf>,
    /// Also to FILE, or instead to standard output with `-`: one JSON object a line for each hunk
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) json: Option<String>,
    /// Write the adapted series to DIR, which is new or empty: patches, a `series` file, and hunks left out as *.rej
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Option<PathBuf>,
    /// Compile the tree, then after each patch of the adapted series, up to the first that fails; as `vm build` does
    #[arg(long)]
    pub(crate) build: bool,
    /// Boot what was built and count how often the functions that the series changes run in `bench WORKLOAD`
    #[arg(long, value_name = "WORKLOAD", requires = "build")]
    pub(crate) boot: Option<String>,
    /// An option of the configuration, such as HZ_1000=y; may be given several times
    #[arg(long, value_name = "OPTION=VALUE", requires = "build")]
    pub(crate) set: Vec<String>,
    /// A file of such options
    #[arg(long, value_name = "FILE", requires = "build")]
    pub(crate) config: Option<PathBuf>,
    /// The kernel is build:NAME then [default: the tree's directory, and the series]
    #[arg(long, requires = "build")]
    pub(crate) name: Option<String>,
    /// Compilers at once [default: as many as CPUs]
    #[arg(long, value_name = "N", requires = "build")]
    pub(crate) jobs: Option<usize>,
    /// Rehearse only: write no series, build and boot nothing, and say what would be
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Dossier {
    /// Two source trees (before, after); or patch files, a commit or a range A..B with --tree
    #[arg(required = true, value_name = "TREE_A TREE_B|PATCH|RANGE")]
    pub(crate) input: Vec<String>,
    /// The tree that the patches are for, or the checkout that the commits are in
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: Option<PathBuf>,
    /// Only these folders and files of the trees, such as kernel/sched,include/linux/sched
    #[arg(long, value_name = "P,…", value_delimiter = ',')]
    pub(crate) paths: Vec<String>,
    /// The language of the report
    #[arg(long, value_name = "LANG", default_value = "en")]
    pub(crate) lang: Language,
    /// `term` adds data structures with who writes and reads their members, key functions line by line, verification
    #[arg(long, value_name = "NAME", default_value = "feature")]
    pub(crate) template: Template,
    /// A run directory that measured the feature: its verdict, picture and counted calls fill chapter 4
    #[arg(long, value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,
    /// Which functions were hit: JSON of `vm profile --json` or `profile --json`, or text of the kernel's function tracer
    #[arg(long, value_name = "FILE")]
    pub(crate) hits: Option<PathBuf>,
    /// The heading of the report
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// The directory that the files are written to; made if it is missing
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
    /// A term of the subsystem: the same and how the code works
    Term,
}
