//! `schedlab trace kworkers`, for a trace or for the trials of each arm of a run.

use super::files::{open, part_numbers, trace_in};
use super::filters::Filters;
use super::source::Source;
use super::{most, traces};
use crate::commands::destination;
use crate::output::write_file;
use anyhow::{Context, Result};
use clap::Args;
use schedlab_analyze::trace::{AnalysisRequest, Kworkers, PooledKworkers, kworkers};
use schedlab_report::Filtered;
use std::path::{Path, PathBuf};

/// Default number of rows of a table.
const ROWS: usize = 10;

/// Which work. FILE may be a run directory with traces: then the trials of each arm are one.
#[derive(Debug, Args)]
pub(super) struct Works {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filters: Filters,
    /// A copy of /proc/kallsyms of the traced boot, for functions that the trace names by address
    #[arg(long, value_name = "FILE")]
    kallsyms: Option<PathBuf>,
    /// Show at most N rows of each table, 0 for all [default: 10]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Also draw an SVG: work latency by function, and by arm for a run directory
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub(super) fn run(args: &Works) -> Result<()> {
    args.filters.refuse(Filtered::NotStates(
        "a work item has no state; those of its kworker are in `trace latency --comm 'kworker*'`",
    ))?;
    destination::check("--svg", args.svg.as_deref(), &[&args.source.file], false)?;
    let symbols = match &args.kallsyms {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
            kworkers::Symbols::parse(&text).with_context(|| path.display().to_string())?
        }
        None => kworkers::Symbols::default(),
    };
    let top = most(args.top, ROWS);
    let dir = &args.source.file;
    if dir.is_dir() && trace_in(dir) == *dir && part_numbers(dir).is_empty() {
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
    let options = AnalysisRequest { scope, symbols: symbols.clone(), top, ..AnalysisRequest::default() };
    let mut reader = open(file, kworkers::wanted())?;
    let found = kworkers(&mut reader, &options)?;
    Ok(found)
}

/// The pooled work of every arm of a run whose trials were traced.
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
    let svg = schedlab_report::pooled_kworkers_svg(found, &traces::place(&args.source.file));
    write_file(file, |out| out.write_all(svg.as_bytes()))
}
