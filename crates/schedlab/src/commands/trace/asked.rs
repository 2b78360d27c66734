//! The analyses of [`ANALYSES`]: each is a command, with the common options that it takes.

use super::filters::{Filters, refused};
use super::source::Source;
use super::{most, slices};
use crate::output::{print_line, print_page, rows_are_cut};
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use schedlab_analyze::trace::AnalysisRequest;
use schedlab_plan::json::Room;
use schedlab_report::{ANALYSES, Filtered, Form, RenderedOutput, TraceAnalysis};

/// An analysis and its parsed arguments.
#[derive(Debug)]
pub(super) struct AnalysisCommand {
    analysis: &'static TraceAnalysis,
    source: Source,
    filters: Filters,
    each: EachTask,
    cache: Cache,
    top: Option<usize>,
}

#[derive(Debug, Default, Args)]
struct EachTask {
    /// One row per task instead of one per task name
    #[arg(long, short = 'p')]
    each_task: bool,
}

#[derive(Debug, Default, Args)]
struct Cache {
    /// Number of CPUs that share a last-level cache (the kernel's sd_llc_size) [default: all CPUs of the machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8192))]
    llc_size: Option<u32>,
}

/// For an analysis without rows to choose from.
#[derive(Debug, Default, Args)]
struct Entries {
    /// With --json: print at most N entries of each list, 0 for all [default: as many as fit in 20 kB]
    #[arg(long, value_name = "N", requires = "json")]
    top: Option<usize>,
}

#[derive(Debug, Default, Args)]
struct Rows {
    /// Show at most N rows of each table, and at most N single waits or chains, up to 100; 0 for all
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

impl AnalysisCommand {
    pub(super) fn answer(&self) -> Result<()> {
        let (row, top) = (self.analysis, self.top);
        let takes = row.takes;
        self.filters.refuse(takes.filters)?;
        let (mut reader, scope) = self.source.open_for(&self.filters, (row.wanted)())?;
        let asked = AnalysisRequest {
            scope,
            each_task: self.each.each_task,
            top: takes.rows.and_then(|usual| most(top, usual)),
            slices: slices(),
            llc_size: self.cache.llc_size,
            ..AnalysisRequest::default()
        };
        let entries = if takes.rows.is_some() { rows_are_cut(top) } else { top };
        let form = if self.source.json { Form::Json(Room::of(entries)) } else { Form::Page };
        match (row.run)(&mut reader, &asked, form)? {
            RenderedOutput::Json(line) => print_line(line),
            RenderedOutput::Page(page) => print_page(&page),
        }
    }
}

fn command(row: &TraceAnalysis) -> Command {
    let takes = row.takes;
    let command = Source::augment_args(Command::new(row.name));
    let command = with::<Filters>(command, !matches!(takes.filters, Filtered::No));
    let command = refused(takes.filters).iter().fold(command, |command, id| command.mut_arg(id, |arg| arg.hide(true)));
    let command = with::<Cache>(command, takes.llc_size);
    let command = with::<EachTask>(command, takes.each_task);
    // Last, because each group of arguments replaces the help text of the command with its own.
    let command = with::<Rows>(command, takes.rows.is_some());
    with::<Entries>(command, takes.rows.is_none()).about(row.question)
}

fn with<T: Args>(command: Command, takes: bool) -> Command {
    if takes { T::augment_args(command) } else { command }
}

fn of<T: Args + Default>(matches: &mut ArgMatches, takes: bool) -> Result<T, clap::Error> {
    if takes { T::from_arg_matches_mut(matches) } else { Ok(T::default()) }
}

impl FromArgMatches for AnalysisCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        let said = matches.remove_subcommand();
        let row = said.and_then(|(name, said)| Some((ANALYSES.iter().find(|row| row.name == name)?, said)));
        let Some((analysis, mut said)) = row else {
            return Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand));
        };
        let takes = analysis.takes;
        Ok(Self {
            analysis,
            source: Source::from_arg_matches_mut(&mut said)?,
            filters: of(&mut said, !matches!(takes.filters, Filtered::No))?,
            each: of(&mut said, takes.each_task)?,
            cache: of(&mut said, takes.llc_size)?,
            top: match takes.rows {
                Some(_) => Rows::from_arg_matches_mut(&mut said)?.top,
                None => Entries::from_arg_matches_mut(&mut said)?.top,
            },
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for AnalysisCommand {
    fn augment_subcommands(trace: Command) -> Command {
        trace.subcommands(ANALYSES.iter().map(command))
    }

    fn augment_subcommands_for_update(trace: Command) -> Command {
        Self::augment_subcommands(trace)
    }

    fn has_subcommand(name: &str) -> bool {
        ANALYSES.iter().any(|row| row.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_filter_is_offered_where_it_is_refused() {
        for row in ANALYSES {
            let help = command(row).render_long_help().to_string();
            let offered = refused(row.takes.filters).iter().find(|id| help.contains(&format!("--{id} ")));
            assert!(offered.is_none(), "{}: {offered:?}\n{help}", row.name);
            let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.starts_with(row.question), "{}: {help}", row.name);
        }
    }
}
