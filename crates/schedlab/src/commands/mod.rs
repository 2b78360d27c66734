//! One file per command: from parsed arguments to library calls, and back to the terminal.

mod ab;
mod bench;
mod bisect;
mod compare;
mod destination;
pub(crate) mod doctor;
mod exec;
mod explain_json;
mod import;
mod kernel;
mod list;
mod pack;
mod profile;
mod record;
mod repeat;
mod report;
mod reservation;
mod rounds;
mod run;
mod search;
mod shell;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod vm;
mod waiting;
mod why;
mod why_kernels;

use crate::cli::help::{self, with_help};
use crate::cli::{Cli, Command};
use crate::exit::Usage;
use crate::original_options;
use anyhow::Result;
use clap::{ArgMatches, CommandFactory, FromArgMatches};

/// The beginning of clap's messages.
const CLAPS_OWN: &str = "error: ";

/// Gives all errors the same prefix. clap reports a negative value as an unknown option.
fn in_our_form(error: &clap::Error, words: &[String]) -> Usage {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(unknown))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
        && unknown.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        let value = words.iter().find(|word| word.starts_with(unknown.as_str())).unwrap_or(unknown);
        return Usage(format!("`{value}`: no value here can be negative"));
    }
    let words = error.to_string();
    Usage(words.strip_prefix(CLAPS_OWN).unwrap_or(&words).trim_end().to_owned())
}

/// The definition of the command line, for a terminal of `columns`; of the workload options, those of the workloads
/// named in `arguments` are shown.
pub(crate) fn command(arguments: &[String], columns: usize) -> clap::Command {
    let shown = bench::named(arguments);
    let command = with_help(bench::with_workload_options(Cli::command(), &shown)).term_width(columns.min(100));
    let is_first = !arguments.is_empty() && arguments.get(1).is_none_or(|word| word == "-h");
    if is_first { help::first_screen(command) } else { command }
}

/// Parses the words of a schedlab command inside another command's line.
fn read_words(words: &[String]) -> Result<(Command, ArgMatches)> {
    let line = std::iter::once("schedlab").chain(words.iter().map(String::as_str)).map(Into::into).collect();
    let line = original_options::normalise(line, &bench::switches());
    let matches = bench::with_workload_options(Cli::command(), &[]).try_get_matches_from(line)?;
    Ok((Cli::from_arg_matches(&matches)?.command, matches))
}

/// Parses the command line and runs the command; returns the exit code.
pub(crate) fn run() -> Result<u8> {
    let arguments = original_options::normalise(std::env::args_os().collect(), &bench::switches());
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let matches = match command(&words, crate::output::terminal_width()).try_get_matches_from(arguments) {
        Err(error) if error.to_string().starts_with(CLAPS_OWN) => return Err(in_our_form(&error, &words).into()),
        // Help and version are clap errors that are printed on standard output.
        matches => matches?,
    };
    let cli = Cli::from_arg_matches(&matches)?;
    match cli.command {
        Command::Doctor(args) => doctor::run(&args),
        Command::List(args) => list::run(&args),
        Command::Bench(args) => {
            let written = bench::workload_options(&matches, "bench");
            bench::run(&args, &written)
        }
        Command::Ab(args) => {
            let written = bench::workload_options(&matches, "ab");
            ab::run(&args, &written)
        }
        Command::Run(args) => run::run(&args),
        Command::Why(args) => why::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Bisect(args) => bisect::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Repeat(args) => repeat::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Exec(args) => exec::run(&args),
        Command::Vm(args) => vm::run(&args.action),
        Command::Kernel(args) => kernel::run(&args.action),
        Command::ExplainJson { schema } => explain_json::run(schema.as_deref()),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { dir } => shell::man(&dir),
    }
}
