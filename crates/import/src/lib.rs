//! Other tools' results as a run: CSV of paired or unpaired arms, and hackbench logs. The trials of an import carry one
//! metric and nothing else, and the run is marked `order unknown`: drift cannot be told from an effect in it.
//!
//! Pure: text in, manifest and trials out. The caller names the command and writes the run directory. Each kind has a
//! file of its own; what they share, one number of one arm, is in `imported.rs`.
#![forbid(unsafe_code)]

mod csv;
mod error;
mod hackbench;
mod imported;

pub use error::ImportError;
pub use imported::Imported;
pub(crate) use imported::{Row, Table};
use schedlab_run::Direction;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `before,after` pairs, or `arm,value` rows; with a header.
    Csv,
    /// What hackbench prints, any number of runs to a log, one log per arm; the first is the control.
    Hackbench,
}

/// One file of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Names the arm (hackbench) or the study (CSV); the file's name without its extension.
    pub name: String,
    /// The content.
    pub text: String,
}

/// What a file does not say about its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Name of the measured quantity. A hackbench log names its own.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way is good; a neutral metric is compared and never judged better or worse.
    pub direction: Direction,
    /// Smallest effect of interest, a share.
    pub sesoi: f64,
}

/// Reads the sources as `kind`, or as what their content shows them to be.
pub fn import(kind: Option<Kind>, sources: &[Source], options: &Options) -> Result<Imported, ImportError> {
    let first = sources.first().ok_or(ImportError::NoSource)?;
    match kind.map_or_else(|| detect(first), Ok)? {
        Kind::Csv => match sources {
            [only] => imported::build(csv::read(only, options)?, options),
            _ => Err(ImportError::SeveralCsv(sources.len())),
        },
        Kind::Hackbench => imported::build(hackbench::read(sources)?, options),
    }
}

/// By content: hackbench's `Time:` line is unmistakable; a CSV has a separator in its first line.
fn detect(source: &Source) -> Result<Kind, ImportError> {
    if source.text.lines().any(hackbench::is_time_line) {
        return Ok(Kind::Hackbench);
    }
    let (line, text) =
        csv::content_lines(&source.text).next().ok_or_else(|| ImportError::Empty(source.name.clone()))?;
    match csv::separator(text) {
        Some(_) => Ok(Kind::Csv),
        None => Err(ImportError::Unrecognised { source_name: source.name.clone(), line, text: error::shown(text) }),
    }
}
