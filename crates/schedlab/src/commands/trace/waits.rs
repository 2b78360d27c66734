//! Analyses that explain waits: behind whom, woken by whom, held up by whom.

use super::filters::Filters;
use super::{Source, most, slices, traces};
use anyhow::{Context, Result};
use clap::Args;
use schedlab_analyze::trace::{Asked, Explained, Kworkers, PooledKworkers, Reader, TraceError, kworkers};
use schedlab_report::Document;
use schedlab_trace::Kinds;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Rows of a table, and waits that are listed, when nobody says how many.
const ROWS: usize = 10;

/// Which waits.
#[derive(Debug, Args)]
pub(super) struct Waits {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filters: Filters,
    /// Most rows of each table, all for 0, and most waits or chains to list one by one, up to 100 [default: 10]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

/// Which waits, by name or one by one.
#[derive(Debug, Args)]
pub(super) struct WaitsOfTasks {
    #[command(flatten)]
    waits: Waits,
    /// A row for each task that waited instead of one for all tasks of a name
    #[arg(long, short = 'p')]
    each_task: bool,
}

/// Which work. FILE may be a run directory with traces: then the trials of each arm are one.
#[derive(Debug, Args)]
pub(super) struct Works {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filters: Filters,
    /// Names of functions that the trace gives by address: a copy of /proc/kallsyms of that boot
    #[arg(long, value_name = "FILE")]
    kallsyms: Option<PathBuf>,
    /// Most rows of each table; 0 shows all [default: 10]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Also a picture: work latency by function, of a run directory by arm
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Waits {
    /// Asks an analysis of waits and prints what it finds.
    pub(super) fn answer<T: Serialize>(
        &self,
        each_task: bool,
        wanted: Kinds,
        analysis: fn(&mut Reader, &Asked) -> Result<T, TraceError>,
        page: fn(&T) -> Document,
    ) -> Result<()> {
        let asked = |scope| Asked { scope, each_task, top: most(self.top, ROWS), slices: slices(), ..Asked::default() };
        self.source.answer(self.top, &self.filters, wanted, asked, analysis, page)
    }
}

impl WaitsOfTasks {
    pub(super) fn answer<T: Serialize>(
        &self,
        wanted: Kinds,
        analysis: fn(&mut Reader, &Asked) -> Result<T, TraceError>,
        page: fn(&T) -> Document,
    ) -> Result<()> {
        self.waits.answer(self.each_task, wanted, analysis, page)
    }
}

pub(super) fn run_kworkers(args: &Works) -> Result<()> {
    args.filters
        .refuse_states("a work item has no state; those of its kworker are in `trace latency --comm 'kworker*'`")?;
    let symbols = match &args.kallsyms {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
            kworkers::Symbols::parse(&text).with_context(|| path.display().to_string())?
        }
        None => kworkers::Symbols::default(),
    };
    let top = most(args.top, ROWS);
    let dir = &args.source.file;
    if dir.is_dir() && super::trace_in(dir) == *dir && super::part_numbers(dir).is_empty() {
        let pooled = pooled(args, &symbols)?;
        draw(args, &pooled)?;
        return args
            .source
            .print(args.top, &pooled, |found| schedlab_report::pooled_kworkers(found, top.unwrap_or(usize::MAX)));
    }
    let found = of_file(args, &args.source.file, &symbols, top)?;
    let mut alone = PooledKworkers::new();
    alone.arm(&args.source.file.display().to_string(), std::slice::from_ref(&found));
    draw(args, &alone)?;
    args.source.print(args.top, &found, schedlab_report::trace_kworkers)
}

fn of_file(args: &Works, file: &Path, symbols: &kworkers::Symbols, top: Option<usize>) -> Result<Kworkers> {
    let scope = args.filters.scope(file)?;
    let options = Asked { scope, symbols: symbols.clone(), top, ..Asked::default() };
    let mut reader = super::open(file, kworkers::wanted())?;
    let found = kworkers(&mut reader, &options)?;
    Ok(found)
}

/// The work of every arm of a run whose trials were traced.
fn pooled(args: &Works, symbols: &kworkers::Symbols) -> Result<PooledKworkers> {
    let mut pooled = PooledKworkers::new();
    for arm in traces::by_arm(&args.source.file)? {
        let found = arm.files.iter().map(|(_, file)| of_file(args, file, symbols, None));
        pooled.arm(&arm.name, &found.collect::<Result<Vec<_>>>()?);
    }
    Ok(pooled)
}

fn draw(args: &Works, found: &PooledKworkers) -> Result<()> {
    let Some(file) = &args.svg else { return Ok(()) };
    std::fs::write(file, schedlab_report::pooled_kworkers_svg(found, &traces::place(&args.source.file)))
        .with_context(|| format!("{} cannot be written", file.display()))
}

/// All of them, one below the other.
pub(super) fn pages(found: &Explained) -> Document {
    use schedlab_report::{trace_blame, trace_chains, trace_inversions, trace_kworkers, trace_overview};
    let waits = trace_blame(&found.blame).and(trace_chains(&found.chains)).and(trace_inversions(&found.inversions));
    waits.and(trace_kworkers(&found.kworkers)).and(trace_overview(&found.map))
}
