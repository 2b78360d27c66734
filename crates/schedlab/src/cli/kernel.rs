//! The command line of `schedlab kernel`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Kernel {
    #[command(subcommand)]
    pub(crate) action: KernelAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KernelAction {
    /// Rehearses a back-port in memory: what GNU patch would do with each hunk, where it belongs, and what it would have to be
    #[command(after_help = "Examples: schedlab kernel port 0001-fix.patch --onto linux-6.1\n          \
                            schedlab kernel port debian/patches-rt --onto linux-6.12 --json findings.jsonl\n\n\
                            Nothing is written to TREE. Not looked for yet: symbols that TREE lacks, prerequisite commits; \
                            nothing is built or booted.")]
    Port(Port),
}

#[derive(Debug, Args)]
pub(crate) struct Port {
    /// Patches or mbox files in order, or a directory of them (its `series` file, else all *.patch and *.diff by name)
    #[arg(required = true, value_name = "SERIES")]
    pub(crate) series: Vec<PathBuf>,
    /// The source tree to put them onto
    #[arg(long, value_name = "TREE")]
    pub(crate) onto: PathBuf,
    /// Also to FILE, or instead to standard output with `-`: one JSON object a line for each hunk
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) json: Option<String>,
}
