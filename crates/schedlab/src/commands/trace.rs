//! `schedlab trace ANALYSIS FILE`: its command line and its wiring. FILE may be `-` or a pipe where the format allows.

use super::report::terminal_width;
use crate::exit;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use schedlab_analyze::trace::{
    ByteSource, Forward, LatencyOptions, LatencySort, Reader, TaskFilter, TimeWindow, check, latency, perf_latency,
    states, timehist,
};
use schedlab_run::units::CpuList;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Rows that a table shows when nobody says how many.
const ROWS: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct Trace {
    #[command(subcommand)]
    analysis: Analysis,
}

#[derive(Debug, Subcommand)]
enum Analysis {
    /// How long tasks waited for a CPU, after a wakeup and after a preemption
    #[command(after_help = "Example: perf sched record -- hackbench && schedlab trace latency perf.data --top 10")]
    Latency(Latency),
    /// Every time on a CPU as a line: slept, waited, ran
    Timehist(Timehist),
    /// Where the time of each task went: running, waiting, asleep
    States(States),
    /// Can the trace be believed: lost events, breaks in the chain of switches, clocks, missing kinds of events
    Check(Check),
}

/// The trace, common to all analyses.
#[derive(Debug, Args)]
struct Source {
    /// perf.data (also compressed, also of `perf record -o -`), or `-` for standard input
    file: PathBuf,
    /// The findings as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Which tasks.
#[derive(Debug, Args)]
struct Tasks {
    /// Only tasks of this name, `*` for any characters; may be given several times
    #[arg(long, value_name = "NAME")]
    comm: Vec<String>,
    /// Only these threads
    #[arg(long, value_name = "TID,…", value_delimiter = ',')]
    tid: Vec<u32>,
}

/// When and where.
#[derive(Debug, Args)]
struct When {
    /// Only what ends in this time, seconds of the trace's clock; either end may be left out
    #[arg(long, value_name = "FROM,TO")]
    time: Option<String>,
    /// Only what ends on these CPUs
    #[arg(long, value_name = "LIST")]
    cpu: Option<CpuList>,
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
    /// `perf sched latency`: its rules and its columns
    Perf,
}

#[derive(Debug, Args)]
struct Latency {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    tasks: Tasks,
    #[command(flatten)]
    when: When,
    /// A row for each task instead of one for all tasks of a name
    #[arg(long, short = 'p')]
    each_task: bool,
    /// What the rows are ordered by
    #[arg(long, value_enum, default_value = "max")]
    sort: Sort,
    /// Most rows to show; 0 shows all
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    top: usize,
    /// The numbers and the page of another tool
    #[arg(long, value_enum, value_name = "TOOL", conflicts_with_all = ["json", "comm", "tid", "time", "cpu", "sort"])]
    compat: Option<Compat>,
}

#[derive(Debug, Args)]
struct Timehist {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    tasks: Tasks,
    #[command(flatten)]
    when: When,
}

#[derive(Debug, Args)]
struct States {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    tasks: Tasks,
    /// Most rows to show; 0 shows all
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    top: usize,
}

#[derive(Debug, Args)]
struct Check {
    #[command(flatten)]
    source: Source,
}

pub(super) fn run(args: &Trace) -> Result<u8> {
    match &args.analysis {
        Analysis::Latency(args) => run_latency(args)?,
        Analysis::Timehist(args) => run_timehist(args)?,
        Analysis::States(args) => {
            let mut reader = args.source.open(states::wanted())?;
            let found = states(&mut reader, &args.tasks.filter(), most(args.top))?;
            args.source.print(&found, |found, out| {
                let (width, colour) = terminal();
                schedlab_report::trace_states_text(found, width, colour, out)
            })?;
        }
        Analysis::Check(args) => {
            let mut reader = args.source.open(check::wanted())?;
            let found = check(&mut reader)?;
            args.source.print(&found, |found, out| {
                let (width, colour) = terminal();
                schedlab_report::trace_check_text(found, width, colour, out)
            })?;
        }
    }
    Ok(exit::DONE)
}

fn run_latency(args: &Latency) -> Result<()> {
    if args.compat == Some(Compat::Perf) {
        let mut reader = args.source.open(perf_latency::wanted())?;
        let found = perf_latency(&mut reader, args.each_task)?;
        return Ok(schedlab_report::perf_latency_text(&found, &mut BufWriter::new(std::io::stdout().lock()))?);
    }
    let options = LatencyOptions {
        tasks: args.tasks.filter(),
        window: args.when.window()?,
        each_task: args.each_task,
        sort: match args.sort {
            Sort::Max => LatencySort::Max,
            Sort::P99 => LatencySort::P99,
            Sort::Mean => LatencySort::Mean,
            Sort::Preempt => LatencySort::Preempt,
            Sort::Run => LatencySort::Run,
            Sort::Count => LatencySort::Count,
        },
        top: most(args.top),
    };
    let mut reader = args.source.open(latency::wanted())?;
    let found = latency(&mut reader, &options)?;
    args.source.print(&found, |found, out| {
        let (width, colour) = terminal();
        schedlab_report::trace_latency_text(found, width, colour, out)
    })
}

fn run_timehist(args: &Timehist) -> Result<()> {
    let mut reader = args.source.open(timehist::wanted())?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if !args.source.json {
        schedlab_report::timehist_header(&mut out)?;
    }
    let mut failed = None;
    let facts = timehist(&mut reader, &args.tasks.filter(), &args.when.window()?, &mut |row| {
        let written = if args.source.json {
            serde_json::to_writer(&mut out, row).map_err(std::io::Error::from).and_then(|()| out.write_all(b"\n"))
        } else {
            schedlab_report::timehist_line(row, &mut out)
        };
        failed = written.err();
        failed.is_none()
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    out.flush()?;
    for problem in facts.problems {
        eprintln!("{}: {problem}", args.source.file.display());
    }
    Ok(())
}

impl Source {
    fn open(&self, wanted: schedlab_trace::Kinds) -> Result<Reader> {
        let name = if self.file == Path::new("-") { "standard input".into() } else { self.file.display().to_string() };
        Ok(Reader::open(&name, bytes(&self.file)?, wanted)?)
    }

    fn print<T: serde::Serialize>(
        &self,
        found: &T,
        text: impl FnOnce(&T, &mut dyn Write) -> std::io::Result<()>,
    ) -> Result<()> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        if self.json {
            serde_json::to_writer_pretty(&mut out, found)?;
            out.write_all(b"\n")?;
        } else {
            text(found, &mut out)?;
        }
        Ok(out.flush()?)
    }
}

/// A file by position, or a pipe from its beginning to its end.
fn bytes(path: &Path) -> Result<Box<dyn ByteSource>> {
    if path == Path::new("-") {
        return Ok(Box::new(Forward::new(std::io::stdin())));
    }
    let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    let kind = file.metadata().with_context(|| format!("{} cannot be looked at", path.display()))?.file_type();
    if kind.is_dir() {
        bail!(
            "{} is a directory, as `perf record --threads` writes; record without --threads, or name a file in it",
            path.display()
        );
    }
    Ok(if kind.is_file() { Box::new(file) } else { Box::new(Forward::new(file)) })
}

impl Tasks {
    fn filter(&self) -> TaskFilter {
        TaskFilter { comms: self.comm.clone(), tids: self.tid.clone() }
    }
}

impl When {
    fn window(&self) -> Result<TimeWindow> {
        let cpu = |n: &u32| u16::try_from(*n).ok().map(schedlab_trace::Cpu);
        let cpus = self.cpu.as_ref().map(|list| list.as_slice().iter().filter_map(cpu).collect());
        let mut window = TimeWindow { cpus, ..TimeWindow::default() };
        if let Some(time) = &self.time {
            window.set_times(time).context("--time")?;
        }
        Ok(window)
    }
}

/// Rows to show, all for 0.
fn most(top: usize) -> Option<usize> {
    (top > 0).then_some(top)
}

fn terminal() -> (usize, bool) {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    (terminal_width(), colour)
}
