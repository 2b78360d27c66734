//! `schedlab trace ANALYSIS FILE`: its command line and its wiring. FILE may be `-` or a pipe where the format allows.

mod asked;
mod convert;
mod diff;
mod filters;
mod kworkers;
mod pairs;
mod slow;
mod traces;

use super::destination;
use super::report::terminal_width;
use crate::cli::OutputOptions;
use crate::exit::{self, usage};
use crate::output::{print_answer, say, to_stdout};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use filters::Filters;
use schedlab_analyze::trace::{
    Asked, ByteSource, Forward, LatencySort, Reader, Scope, TraceError, TraceFacts, latency, map, overview,
    perf_latency, timehist, turns,
};
use schedlab_report::Filtered;
use schedlab_run::json::USUAL_BYTES;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{IsTerminal, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// What `timehist` and `map --switches` look for.
const NO_TURN: &str = "no time on a CPU is known";

/// Default number of rows of a table.
const ROWS: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct Trace {
    #[command(subcommand)]
    analysis: Analysis,
}

#[derive(Debug, Subcommand)]
enum Analysis {
    /// Show how long tasks waited for a CPU: after a wakeup and after a preemption
    Latency(Latency),
    /// Print one line each time a task leaves a CPU: how long it slept, waited and ran
    Timehist(Timehist),
    /// Draw which task ran on each CPU over time: one line per CPU, or with --switches one line per switch
    Map(Map),
    #[command(flatten)]
    Asked(asked::AnalysisCommand),
    /// Show how late work items run, by work function: queued, activated, executed, and what delayed their kworker
    Kworkers(kworkers::Works),
    /// Show where the partners of each pair ran (pipe:copies=4): CPUs, waits and score
    Copies(pairs::Pairs),
    /// Show what happened in the slowest operations of a traced workload: each step, what it waited for, and what woke
    /// it
    Slow(slow::SlowOf),
    /// Compare two traces, or two sets of traces: largest change first
    Diff(diff::Sides),
    /// Convert a trace for other tools: Perfetto's protobuf, ftrace text, or Parquet tables
    Convert(convert::Convert),
}

/// The trace, common to all analyses.
#[derive(Debug, Args)]
struct Source {
    /// The trace, or `-` for standard input
    ///
    /// perf.data (also compressed, or as `perf record -o -` writes it), trace.dat, a Perfetto trace, ftrace text, a recording
    /// of schedlab or its directory, or `-` for standard input
    file: PathBuf,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// In a Perfetto trace of a host and its guests, analyse the guest with this machine_id instead of the host
    #[arg(long, value_name = "ID")]
    machine: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// The longest wait after a wakeup
    Max,
    /// The 99th percentile of waits after wakeups
    P99,
    /// The mean wait after a wakeup
    Mean,
    /// The longest wait after a preemption
    Preempt,
    /// Time on a CPU
    Run,
    /// Number of wakeups
    Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Compat {
    /// The rules and columns of `perf sched latency`
    Perf,
}

#[derive(Debug, Args)]
struct Latency {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filters: Filters,
    /// One row per task instead of one per task name
    #[arg(long, short = 'p')]
    each_task: bool,
    /// Order of the rows
    #[arg(long, value_enum, default_value = "max")]
    sort: Sort,
    /// Show at most N rows, 0 for all [default: 20]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Print what another tool would print
    #[arg(long, value_enum, value_name = "TOOL", conflicts_with_all = ["json", "comm", "tid", "cgroup", "time", "cpu", "state", "prio", "sort", "top"])]
    compat: Option<Compat>,
}

/// A trace and what to print of it.
#[derive(Debug, Args)]
struct Selected {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filters: Filters,
}

#[derive(Debug, Args)]
struct Timehist {
    #[command(flatten)]
    selected: Selected,
    /// Print at most N lines, 0 for all [default: all; in JSON as many as fit in 20 kB]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Draw an SVG instead: which task ran on each CPU, and whether it ran at once when woken or had waited
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    svg: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Map {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filters: Filters,
    /// Print one line per switch, with all CPUs side by side, as `perf sched map` does
    #[arg(long)]
    switches: bool,
    /// Assign letters to at most N task names, 0 for as many as there are letters [default: 20]; with --switches, print
    /// at most N lines, 0 for all [default: all; in JSON as many as fit in 20 kB]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

pub(super) fn run(args: &Trace) -> Result<u8> {
    match &args.analysis {
        Analysis::Latency(args) => run_latency(args)?,
        Analysis::Timehist(args) => run_timehist(args)?,
        Analysis::Map(args) => run_map(args)?,
        Analysis::Asked(question) => question.answer()?,
        Analysis::Copies(args) => pairs::run_copies(args)?,
        Analysis::Kworkers(args) => kworkers::run(args)?,
        Analysis::Diff(args) => diff::run(args)?,
        Analysis::Slow(args) => slow::run(args)?,
        Analysis::Convert(args) => convert::run(args)?,
    }
    Ok(exit::DONE)
}

fn run_latency(args: &Latency) -> Result<()> {
    if args.compat == Some(Compat::Perf) {
        let mut reader = args.source.open(perf_latency::wanted())?;
        let found = perf_latency(&mut reader, args.each_task)?;
        to_stdout(|out| schedlab_report::perf_latency_text(&found, out))?;
        // Beside the page, which is perf's.
        if found.runs_by_switches {
            say(format_args!(
                "run times are computed from sched_switch, because the trace has no sched_stat_runtime \
                              (perf prints 0)"
            ));
        }
        for problem in reader.problems().all() {
            say(format_args!("{}: {problem}", args.source.file.display()));
        }
        return Ok(());
    }
    let asked = |scope| Asked {
        scope,
        each_task: args.each_task,
        sort: match args.sort {
            Sort::Max => LatencySort::Max,
            Sort::P99 => LatencySort::P99,
            Sort::Mean => LatencySort::Mean,
            Sort::Preempt => LatencySort::Preempt,
            Sort::Run => LatencySort::Run,
            Sort::Count => LatencySort::Count,
        },
        top: most(args.top, ROWS),
        ..Asked::default()
    };
    args.source.answer(args.top, &args.filters, latency::wanted(), asked, latency, schedlab_report::trace_latency)
}

fn run_timehist(args: &Timehist) -> Result<()> {
    let Timehist { selected: Selected { source, filters }, top, svg } = args;
    destination::check("--svg", svg.as_deref(), &[&source.file], false)?;
    let (mut reader, scope) = source.open_for(filters, timehist::wanted())?;
    if let Some(file) = svg {
        let most = schedlab_report::MOST_TURNS;
        let (facts, turns) = turns(&mut reader, &scope, most)?;
        let Some(turns) = turns else {
            usage!(
                "more than {most} turns on CPUs, the most that a picture can show: narrow it down with --time or --cpu"
            );
        };
        if turns.rows.is_empty() {
            bail!("{}; no picture is written", facts.nothing(NO_TURN));
        }
        let svg = schedlab_report::timehist_svg(&turns, &traces::place(&source.file));
        return std::fs::write(file, svg).with_context(|| format!("{} cannot be written", file.display()));
    }
    let (columns, _) = terminal();
    let header = |out: &mut dyn Write| schedlab_report::timehist_header(columns, out);
    let line = |row: &_, out: &mut dyn Write| schedlab_report::timehist_line(row, columns, out);
    source.print_lines(*top, None, header, line, |each| timehist(&mut reader, &scope, each))
}

/// Most bytes of a map's lines: each holds every CPU, and a trace of 2 MB can name 8,192 of them in each of its 20,000 lines.
const MOST_OF_MAP: u64 = 256 << 20;

fn run_map(args: &Map) -> Result<()> {
    args.filters.refuse(Filtered::NotStates("a map shows running tasks only, so it has no states"))?;
    if !args.switches {
        let asked = |scope| Asked { scope, slices: slices(), top: most(args.top, ROWS), ..Asked::default() };
        return args.source.answer(
            args.top,
            &args.filters,
            map::wanted(),
            asked,
            overview,
            schedlab_report::trace_overview,
        );
    }
    let (mut reader, scope) = args.source.open_for(&args.filters, map::wanted())?;
    args.source.print_lines(
        args.top,
        Some(MOST_OF_MAP),
        |_| Ok(()),
        schedlab_report::map_line,
        |each| map(&mut reader, &scope, each),
    )
}

pub(super) fn open(path: &Path, wanted: schedlab_trace::Kinds) -> Result<Reader> {
    let path = trace_in(path);
    let name = if path == Path::new("-") { "standard input".into() } else { path.display().to_string() };
    let parts = parts_of(&path)?;
    Ok(if parts.is_empty() {
        Reader::open(&name, bytes(&path)?, wanted)?
    } else {
        Reader::open_parts(&name, bytes(&path.join("data"))?, parts, wanted)?
    })
}

/// The files that the threads of `perf record --threads` wrote, in order; none where it is no such directory.
fn parts_of(path: &Path) -> Result<Vec<Box<dyn ByteSource>>> {
    let numbers = part_numbers(path);
    if let Some((missing, _)) = numbers.iter().enumerate().find(|(number, there)| number != *there) {
        bail!("{} has no data.{missing}, which a thread of perf recorded: copy the whole directory", path.display());
    }
    numbers.iter().map(|number| bytes(&path.join(format!("data.{number}")))).collect()
}

/// The numbers after their names, in order.
fn part_numbers(path: &Path) -> Vec<usize> {
    let files = if path.join("data").is_file() { std::fs::read_dir(path).ok() } else { None };
    let number = |name: &OsStr| name.to_str()?.strip_prefix("data.")?.parse().ok();
    let mut numbers: Vec<usize> =
        files.into_iter().flatten().filter_map(|file| number(&file.ok()?.file_name())).collect();
    numbers.sort_unstable();
    numbers
}

/// The trace inside a directory that `record -o` or `bench --trace` wrote; any other path as it is.
fn trace_in(path: &Path) -> PathBuf {
    let inside = path.join(super::record::TRACE_FILE);
    if inside.is_file() {
        return inside;
    }
    // `perf record --kcore` writes its one file into a directory; with --threads there are more.
    let of_perf = path.join("data");
    if of_perf.is_file() && part_numbers(path).is_empty() { of_perf } else { path.to_owned() }
}

impl Source {
    fn open(&self, wanted: schedlab_trace::Kinds) -> Result<Reader> {
        let mut reader = open(&self.file, wanted)?;
        if self.machine.is_some_and(|machine| !reader.choose_machine(machine)) {
            bail!(
                "--machine: {} is not a trace of several machines (only a Perfetto trace can be)",
                self.file.display()
            );
        }
        Ok(reader)
    }

    /// The trace, and what of it is asked for.
    fn open_for(&self, filters: &Filters, wanted: schedlab_trace::Kinds) -> Result<(Reader, Scope)> {
        let scope = filters.scope(&self.file)?;
        Ok((self.open(wanted)?, scope))
    }

    /// Runs an analysis on what the filters select and prints its findings.
    fn answer<T: serde::Serialize>(
        &self,
        top: Option<usize>,
        filters: &Filters,
        wanted: schedlab_trace::Kinds,
        asked: impl FnOnce(Scope) -> Asked,
        analysis: fn(&mut Reader, &Asked) -> Result<T, TraceError>,
        page: fn(&T) -> schedlab_report::Document,
    ) -> Result<()> {
        let (mut reader, scope) = self.open_for(filters, wanted)?;
        let found = analysis(&mut reader, &asked(scope))?;
        self.print(top, &found, page)
    }

    /// Prints the rows of an analysis as they come, as lines of text or of JSON: `top` of them, of JSON what stays below the
    /// usual size by default; beyond `most` bytes it is an error. Problems come after them.
    fn print_lines<T: serde::Serialize>(
        &self,
        top: Option<usize>,
        most: Option<u64>,
        header: impl Fn(&mut dyn Write) -> std::io::Result<()>,
        line: impl Fn(&T, &mut dyn Write) -> std::io::Result<()>,
        read: impl FnOnce(&mut dyn FnMut(&T) -> bool) -> Result<TraceFacts, TraceError>,
    ) -> Result<()> {
        let room = (self.json && top.is_none()).then_some(USUAL_BYTES as u64);
        let mut left = top.filter(|top| *top > 0).unwrap_or(usize::MAX);
        // `None`: the reader of our output has seen enough.
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
                    schedlab_run::json::small(row)
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
        unmatched.chain(&facts.problems).for_each(|problem| say(format_args!("{file}: {problem}")));
        match (is_cut, room, most) {
            (true, Some(room), _) => {
                say(format_args!("{file}: output cut at {} kB: --top N prints N lines, --top 0 all", room / 1000))
            }
            (true, None, Some(most)) => {
                bail!("{file}: the output is larger than {} MiB; narrow it down with --time FROM,TO", most >> 20)
            }
            _ => {}
        }
        Ok(())
    }

    /// JSON, cut to `top` entries of the analysis' lists or to the usual size.
    fn print<T: serde::Serialize>(
        &self,
        top: Option<usize>,
        found: &T,
        page: impl FnOnce(&T) -> schedlab_report::Document,
    ) -> Result<()> {
        print(&answer(self.json, top), "", found, page)
    }
}

/// An answer whose tables the analysis has cut already, where `top` was said.
fn answer(json: bool, top: Option<usize>) -> OutputOptions {
    OutputOptions { json, top: top.map(|_| 0) }
}

/// Findings as JSON, or as text for this terminal.
pub(super) fn print<T: serde::Serialize>(
    answer: &OutputOptions,
    schema: &str,
    found: &T,
    page: impl FnOnce(&T) -> schedlab_report::Document,
) -> Result<()> {
    if answer.json {
        return print_answer(schema, found, answer.top);
    }
    let (width, colour) = terminal();
    to_stdout(|out| page(found).text(width, colour, out))
}

/// A file, read by position, or a pipe, read from beginning to end.
fn bytes(path: &Path) -> Result<Box<dyn ByteSource>> {
    if path == Path::new("-") {
        return standard_input();
    }
    let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    let kind = file.metadata().with_context(|| format!("{} cannot be looked at", path.display()))?.file_type();
    if kind.is_dir() {
        bail!("{} is a directory, {}", path.display(), of_directory(path));
    }
    Ok(if kind.is_file() { Box::new(file) } else { Box::new(Forward::new(file)) })
}

/// Also standard input is read by position where it is a file from which nothing was taken yet.
fn standard_input() -> Result<Box<dyn ByteSource>> {
    let owned = std::io::stdin().as_fd().try_clone_to_owned().context("standard input cannot be read")?;
    let mut file = File::from(owned);
    let whole = file.metadata().is_ok_and(|m| m.is_file()) && file.stream_position().is_ok_and(|at| at == 0);
    Ok(if whole { Box::new(file) } else { Box::new(Forward::new(file)) })
}

/// An error for a directory that is not a trace: what it is, and what to name instead.
fn of_directory(path: &Path) -> &'static str {
    if path.join("manifest.json").exists() {
        "that of a run: give one of its traces (traces/*.slt); only `trace slow`, `copies` and `kworkers` accept a run directory"
    } else {
        "and neither trace.slt of `schedlab record` nor data of `perf record` is in it"
    }
}

/// Columns of a map beside the CPU's number and its busy share.
fn slices() -> usize {
    terminal_width().clamp(60, 240) - 20
}

/// Rows to show: `--top`, or `usual` without it; 0 means all.
fn most(top: Option<usize>, usual: usize) -> Option<usize> {
    Some(top.unwrap_or(usual)).filter(|rows| *rows > 0)
}

fn terminal() -> (usize, bool) {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    (terminal_width(), colour)
}
