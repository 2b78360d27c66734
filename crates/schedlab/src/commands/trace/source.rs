//! The trace of an analysis, and the output of its findings in the requested form.

use super::files::open;
use super::filters::Filters;
use crate::cli::OutputOptions;
use crate::output::{LINES_CUT, print_findings, rows_are_cut, say, to_stdout};
use anyhow::{Result, bail};
use clap::Args;
use schedlab_analyze::trace::{AnalysisRequest, Reader, Scope, TraceError, TraceFacts};
use schedlab_plan::json::USUAL_BYTES;
use std::io::Write;
use std::path::PathBuf;

/// The message of `timehist` and `map --switches` if they find nothing.
pub(super) const NO_TURN: &str = "no time on a CPU is known";

/// The trace, common to all analyses.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// The trace, or `-` for standard input
    ///
    /// perf.data (also compressed, or as `perf record -o -` writes it), trace.dat, a Perfetto trace, ftrace text, a recording
    /// of schedlab or its directory, or `-` for standard input
    pub(super) file: PathBuf,
    /// Print the findings as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// In a Perfetto trace of a host and its guests, analyse the guest with this machine_id instead of the host
    #[arg(long, value_name = "ID")]
    machine: Option<u32>,
}

impl Source {
    pub(super) fn open(&self, wanted: schedlab_trace::Kinds) -> Result<Reader> {
        let mut reader = open(&self.file, wanted)?;
        if self.machine.is_some_and(|machine| !reader.choose_machine(machine)) {
            bail!(
                "--machine: {} is not a trace of several machines (only a Perfetto trace can be)",
                self.file.display()
            );
        }
        Ok(reader)
    }

    /// Opens the trace, with the selection of the filters.
    pub(super) fn open_for(&self, filters: &Filters, wanted: schedlab_trace::Kinds) -> Result<(Reader, Scope)> {
        let scope = filters.scope(&self.file)?;
        Ok((self.open(wanted)?, scope))
    }

    /// Runs an analysis on what the filters select and prints its findings.
    pub(super) fn answer<T: serde::Serialize>(
        &self,
        top: Option<usize>,
        filters: &Filters,
        wanted: schedlab_trace::Kinds,
        asked: impl FnOnce(Scope) -> AnalysisRequest,
        analysis: fn(&mut Reader, &AnalysisRequest) -> Result<T, TraceError>,
        page: fn(&T) -> schedlab_report::Document,
    ) -> Result<()> {
        let (mut reader, scope) = self.open_for(filters, wanted)?;
        let found = analysis(&mut reader, &asked(scope))?;
        self.print(top, &found, page)
    }

    /// Prints the rows of an analysis as they come, as lines of text or of JSON: `top` of them; for JSON by default as
    /// many as fit into the usual size. More than `most` bytes are an error. Problems are printed after the rows.
    pub(super) fn print_lines<T: serde::Serialize>(
        &self,
        schema: &str,
        top: Option<usize>,
        most: Option<u64>,
        header: impl Fn(&mut dyn Write) -> std::io::Result<()>,
        line: impl Fn(&T, &mut dyn Write) -> std::io::Result<()>,
        read: impl FnOnce(&mut dyn FnMut(&T) -> bool) -> Result<TraceFacts, TraceError>,
    ) -> Result<()> {
        let room = (self.json && top.is_none()).then_some(USUAL_BYTES as u64);
        let mut left = top.filter(|top| *top > 0).unwrap_or(usize::MAX);
        // `None`: the reader of our output closed the pipe.
        let (mut facts, mut bytes, mut is_cut) = (None, 0, false);
        to_stdout(|out| {
            let (mut failed, mut text) = (None, Vec::new());
            let read = read(&mut |row| {
                text.clear();
                // Print the header only once there is a first row.
                if bytes == 0 && !self.json {
                    failed = header(out).err();
                }
                let written = if self.json {
                    schedlab_plan::json::line(schema, row)
                        .map_err(std::io::Error::from)
                        .and_then(|line| writeln!(text, "{line}"))
                } else {
                    line(row, &mut text)
                };
                bytes += text.len() as u64;
                is_cut = room.or(most).is_some_and(|most| bytes > most);
                left -= 1;
                let written = written.and_then(|()| if is_cut { Ok(()) } else { out.write_all(&text) });
                failed = failed.take().or(written.err());
                failed.is_none() && !is_cut && left > 0
            });
            if let Some(error) = failed {
                return Err(error);
            }
            facts = Some(read);
            Ok(())
        })?;
        let Some(facts) = facts.transpose()? else { return Ok(()) };
        let file = self.file.display();
        if bytes == 0 {
            say(format_args!("{file}: {}", facts.nothing(NO_TURN)));
        }
        let unmatched = facts.unmatched.iter().filter(|_| bytes > 0);
        let so_far = if is_cut || left == 0 { "in the part that was read, " } else { "" };
        unmatched.chain(&facts.problems).for_each(|problem| say(format_args!("{file}: {so_far}{problem}")));
        match (is_cut, room, most) {
            (true, Some(_), _) => say(format_args!("{file}: {}", LINES_CUT)),
            (true, None, Some(most)) => {
                bail!("{file}: the output is larger than {} MiB; narrow it down with --time FROM,TO", most >> 20)
            }
            _ => {}
        }
        Ok(())
    }

    /// JSON, cut to `top` entries of the analysis' lists or to the usual size.
    pub(super) fn print<T: serde::Serialize>(
        &self,
        top: Option<usize>,
        found: &T,
        page: impl FnOnce(&T) -> schedlab_report::Document,
    ) -> Result<()> {
        print_findings(&answer(self.json, top), "", found, page)
    }
}

/// Output options for findings whose tables the analysis has already cut.
pub(super) fn answer(json: bool, top: Option<usize>) -> OutputOptions {
    OutputOptions { json, top: rows_are_cut(top) }
}
