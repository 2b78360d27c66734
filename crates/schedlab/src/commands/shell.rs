//! Completions and man pages, made from the same definitions as the parser.

use crate::exit;
use crate::output::{say, to_stdout};
use anyhow::{Context, Result};
use std::path::Path;

/// The options of every workload are offered.
fn all_workloads() -> Vec<String> {
    schedlab_bench::WORKLOADS.iter().map(|info| info.name.to_owned()).collect()
}

/// Completions for one shell on standard output.
pub(super) fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut command = super::command(&all_workloads(), 100);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "schedlab", &mut script);
    to_stdout(|out| out.write_all(&script))?;
    Ok(exit::DONE)
}

/// schedlab.1 and a page per command.
pub(super) fn man(dir: &Path) -> Result<u8> {
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    let command = super::command(&all_workloads(), 100).name("schedlab");
    clap_mangen::generate_to(command, dir)
        .with_context(|| format!("man pages cannot be written to {}", dir.display()))?;
    say(format_args!("man pages are in {}", dir.display()));
    Ok(exit::DONE)
}
