//! Completions and man pages, made from the same definitions as the parser.

use crate::cli::Cli;
use crate::exit;
use crate::output::{say, to_stdout};
use anyhow::{Context, Result};
use clap::CommandFactory;
use std::path::Path;

/// Completions for one shell on standard output.
pub(super) fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut command = super::bench::with_workload_options(Cli::command());
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "schedlab", &mut script);
    to_stdout(|out| out.write_all(&script))?;
    Ok(exit::DONE)
}

/// schedlab.1 and a page per command.
pub(super) fn man(dir: &Path) -> Result<u8> {
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    let command = super::bench::with_workload_options(Cli::command()).name("schedlab");
    clap_mangen::generate_to(command, dir)
        .with_context(|| format!("man pages cannot be written to {}", dir.display()))?;
    say(format_args!("man pages are in {}", dir.display()));
    Ok(exit::DONE)
}
