//! `schedlab trace ANALYSIS FILE`: its command line, and the calls to the analyses. FILE may be `-` or a pipe if the
//! format allows.

mod asked;
mod convert;
mod diff;
mod files;
mod filters;
mod kworkers;
mod pairs;
mod slow;
mod source;
mod traces;

use super::destination;
use crate::exit::{self, usage};
use crate::output::{say, terminal_width, to_stdout, write_file};
use anyhow::{Result, bail};
use clap::{Args, Subcommand, ValueEnum};
pub(super) use files::open;
use filters::Filters;
use schedlab_analyze::trace::{AnalysisRequest, LatencySort, latency, map, overview, perf_latency, timehist, turns};
use schedlab_report::Filtered;
use source::{NO_TURN, Source};
use std::io::Write;
use std::path::PathBuf;

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
        // On standard error, because the page is in perf's format.
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
    let asked = |scope| AnalysisRequest {
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
        ..AnalysisRequest::default()
    };
    args.source.answer(args.top, &args.filters, latency::wanted(), asked, latency, schedlab_report::trace_latency)
}

fn run_timehist(args: &Timehist) -> Result<()> {
    let Timehist { selected: Selected { source, filters }, top, svg } = args;
    destination::check("--svg", svg.as_deref(), &[&source.file], false)?;
    let (mut reader, scope) = source.open_for(filters, timehist::wanted())?;
    if let Some(file) = svg {
        let most = schedlab_report::MAX_TURNS;
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
        return write_file(file, |out| out.write_all(svg.as_bytes()));
    }
    let columns = terminal_width();
    let header = |out: &mut dyn Write| schedlab_report::timehist_header(columns, out);
    let line = |row: &_, out: &mut dyn Write| schedlab_report::timehist_line(row, columns, out);
    source.print_lines("schedlab/trace-timehist-line/2", *top, None, header, line, |each| {
        timehist(&mut reader, &scope, each)
    })
}

/// Maximum size of a map's lines: each has every CPU, and a trace of 2 MB can name 8,192 CPUs in each of its 20,000
/// lines.
const MAX_OF_MAP: u64 = 256 << 20;

fn run_map(args: &Map) -> Result<()> {
    args.filters.refuse(Filtered::NotStates("a map shows running tasks only, so it has no states"))?;
    if !args.switches {
        let asked = |scope| AnalysisRequest {
            scope,
            slices: slices(),
            top: most(args.top, ROWS),
            ..AnalysisRequest::default()
        };
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
        "schedlab/trace-map-line/1",
        args.top,
        Some(MAX_OF_MAP),
        |_| Ok(()),
        schedlab_report::map_line,
        |each| map(&mut reader, &scope, each),
    )
}

/// Width of a map, without the columns for the CPU's number and its busy share.
fn slices() -> usize {
    terminal_width().clamp(60, 240) - 20
}

/// Rows to show: `--top`, or `usual` without it; 0 means all.
fn most(top: Option<usize>, usual: usize) -> Option<usize> {
    Some(top.unwrap_or(usual)).filter(|rows| *rows > 0)
}
