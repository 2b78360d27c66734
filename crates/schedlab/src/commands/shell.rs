//! Shell completions and man pages, generated from the definitions of the parser.

use crate::exit;
use crate::output::{say, to_stdout};
use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, ValueHint};
use schedlab_plan::setting::SETTING_FORMS;
use std::path::Path;

fn workloads() -> Vec<&'static str> {
    schedlab_bench::WORKLOADS.iter().map(|info| info.name).collect()
}

/// A command line with the options of every workload.
fn with_all_options() -> Command {
    super::command(&workloads().into_iter().map(str::to_owned).collect::<Vec<_>>(), 100)
}

/// Completions for one shell on standard output.
pub(super) fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut command = with_candidates(with_all_options());
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "schedlab", &mut script);
    to_stdout(|out| out.write_all(&script))?;
    Ok(exit::DONE)
}

/// Adds the values that a shell can offer for each argument, by its name in the help. Only for completion scripts: the
/// parser would refuse all other values.
fn with_candidates(command: Command) -> Command {
    command.mut_args(candidates).mut_subcommands(with_candidates)
}

fn candidates(arg: Arg) -> Arg {
    let name = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str()).to_owned();
    match name.as_str() {
        "WORKLOAD" | "WORKLOAD | COMMAND" => arg.value_parser(PossibleValuesParser::new(workloads())),
        // There is no list of topologies.
        "SPEC" if arg.get_id() != "topology" => arg.value_parser(PossibleValuesParser::new(settings())),
        "KERNEL" => arg.value_parser(PossibleValuesParser::new(["debian:6.1", "debian:6.12"])),
        "RUN" | "RUN_A" | "RUN_B" | "DIR" | "TREE" => arg.value_hint(ValueHint::DirPath),
        "FILE" | "FILES" | "PLAN" | "PATH" | "SERIES" => arg.value_hint(ValueHint::AnyPath),
        _ => arg,
    }
}

/// An example of each setting, to be edited.
fn settings() -> Vec<&'static str> {
    SETTING_FORMS.iter().map(|(_, form, _)| *form).collect()
}

/// schedlab.1 and a page per command.
pub(super) fn man(dir: &Path) -> Result<u8> {
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    let command = with_all_options().name("schedlab");
    clap_mangen::generate_to(command, dir)
        .with_context(|| format!("man pages cannot be written to {}", dir.display()))?;
    say(format_args!("man pages are in {}", dir.display()));
    Ok(exit::DONE)
}
