//! Imports other tools' results as a run: CSV of paired or unpaired arms, and the logs of hackbench, perf stat, perf
//! bench, UnixBench, Google Benchmark and Android's binder latency test. A trial of an import has only what the tool
//! reported, and the run is marked `order unknown`: drift cannot be distinguished from an effect in it. Only a CSV of
//! pairs has pairs; the rows of logs share no block.
//!
//! No I/O: text in, manifest and trials out. The caller gives the command and writes the run directory. Each kind has
//! its own file or folder; what they share, a result of one arm, is in `table.rs`.
#![forbid(unsafe_code)]

mod csv;
mod error;
mod google_benchmark;
mod hackbench;
mod hwbinder;
mod imported;
mod json;
mod kind;
mod number;
mod perf_bench;
mod perf_stat;
mod table;
mod unixbench;

pub use error::ImportError;
pub use imported::Imported;
pub use kind::Kind;
use schedlab_plan::Direction;
use table::{ReadLog, read_logs};

/// One file of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The arm (logs) or the study (CSV): the file's name without its extension.
    pub name: String,
    /// The file as the user named it, also used in errors and warnings.
    pub file: String,
    /// The content.
    pub text: String,
}

/// What the file itself does not say about its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Name of the quantity of a CSV (default `value`). For a log, which names its quantities, it selects the primary
    /// metric.
    pub metric: Option<String>,
    /// Unit of a CSV's numbers; logs have their own.
    pub unit: Option<String>,
    /// Which direction is better; [`Direction::Neutral`] if not given: a neutral metric is compared but never called
    /// better or worse. Applies to a CSV's numbers, or to a log's primary metric.
    pub direction: Direction,
    /// Smallest effect of interest, a share.
    pub sesoi: f64,
}

/// Reads the sources as `kind`, or as the kind that their content shows.
pub fn import(kind: Option<Kind>, sources: &[Source], options: &Options) -> Result<Imported, ImportError> {
    if sources.is_empty() {
        return Err(ImportError::NoSource);
    }
    let Some(asked) = kind else { return read(Kind::of_all(sources)?, sources, options) };
    read(asked, sources, options).map_err(|error| {
        // If a file is of another kind, report that rather than the parse error.
        let other = sources.iter().find_map(|s| match Kind::recognised(&s.text).as_slice() {
            [found, ..] if *found != asked && !Kind::recognised(&s.text).contains(&asked) => Some((s, *found)),
            _ => None,
        });
        match other {
            Some((source, found)) => ImportError::OtherKind { source_name: source.file.clone(), asked, found },
            None => error,
        }
    })
}

fn read(kind: Kind, sources: &[Source], options: &Options) -> Result<Imported, ImportError> {
    let read_log: ReadLog = match (kind, sources) {
        (Kind::Csv, [only]) => return imported::build(csv::read(only, options)?, options),
        (Kind::Csv, _) => return Err(ImportError::SeveralCsv(sources.len())),
        (Kind::Hackbench, _) => hackbench::read,
        (Kind::PerfStat, _) => perf_stat::read,
        (Kind::PerfBench, _) => perf_bench::read,
        (Kind::UnixBench, _) => unixbench::read,
        (Kind::GoogleBenchmark, _) => google_benchmark::read,
        (Kind::Hwbinder, _) => hwbinder::read,
    };
    let table = read_logs(kind, sources, read_log)?;
    if options.unit.is_some() {
        return Err(ImportError::UnitOfTool(kind));
    }
    imported::build(table, options)
}
