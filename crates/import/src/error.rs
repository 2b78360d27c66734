//! Why a file is not of the expected kind, in one line that names the file, the line and the fix.

use crate::{Kind, Source};

/// A failed import; nothing has been written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// No file was given.
    #[error("nothing to import; give a CSV file, or one log per arm")]
    NoSource,
    /// A file without content.
    #[error("{0} is empty; it should hold a CSV with a header, or another tool's output")]
    Empty(String),
    /// The content is of no known kind.
    #[error(
        "{source_name} line {line}: `{text}` starts no result of a known format ({}); give the format with --kind",
        Kind::NAMES.join(", ")
    )]
    Unrecognised {
        /// The file.
        source_name: String,
        /// From 1.
        line: usize,
        /// The line, shortened.
        text: String,
    },
    /// One file has the output of two tools.
    #[error(
        "{source_name} is {} and {} at once; choose which to read: --kind {} or --kind {}",
        one.article(), other.article(), one.name(), other.name()
    )]
    Ambiguous {
        /// The file.
        source_name: String,
        /// One kind of its content.
        one: Kind,
        /// Another.
        other: Kind,
    },
    /// The files are of different kinds, so there is nothing to compare.
    #[error(
        "{first} is {} and {second} is {}; import files of one kind, one per arm",
        first_kind.article(), second_kind.article()
    )]
    Mixed {
        /// A file.
        first: String,
        /// What it is.
        first_kind: Kind,
        /// Another file.
        second: String,
        /// What that is.
        second_kind: Kind,
    },
    /// The content is of another kind than the one given.
    #[error("{source_name} is not {}: by its content it is {} (--kind {})", asked.article(), found.article(), found.name())]
    OtherKind {
        /// The file.
        source_name: String,
        /// What it was said to be.
        asked: Kind,
        /// What it is.
        found: Kind,
    },
    /// More than one CSV file.
    #[error(
        "{0} CSV files are {0} studies; import them one at a time, or put the arms into one file as `arm,value` rows"
    )]
    SeveralCsv(usize),
    /// Only one log, which is one arm.
    #[error("{} is one arm; give a second one to compare it with", .0.article())]
    OneLog(Kind),
    /// Only one label in a CSV of `arm,value` rows.
    #[error("{source_name} has one arm, `{arm}`; a comparison needs rows of at least two")]
    OneArm {
        /// The file.
        source_name: String,
        /// The only arm.
        arm: String,
    },
    /// A line that could not be parsed.
    #[error("{source_name} line {line}: {why}")]
    Line {
        /// The file.
        source_name: String,
        /// From 1.
        line: usize,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// A log without a single result.
    #[error("{source_name} is not {}: none of its {lines} lines is {wanted}; line 1 is `{text}`", kind.article())]
    NoResult {
        /// The file.
        source_name: String,
        /// The kind that was expected.
        kind: Kind,
        /// The line that a result has.
        wanted: &'static str,
        /// Lines in it.
        lines: usize,
        /// Its first line, shortened.
        text: String,
    },
    /// A result file without anything to compare.
    #[error("{source_name}: {why}")]
    Nothing {
        /// The file.
        source_name: String,
        /// What is missing and the fix.
        why: String,
    },
    /// `--metric` names no metric of the tool.
    #[error("there is no metric `{metric}` in these files; they have: {has}")]
    NoMetric {
        /// What was asked for.
        metric: String,
        /// The metrics that exist.
        has: String,
    },
    /// `--unit` for a tool that prints its units.
    #[error("--unit is for the numbers of a CSV; {} names its own units", .0.article())]
    UnitOfTool(Kind),
}

impl ImportError {
    pub(crate) fn line(source: &Source, line: usize, why: impl Into<String>) -> Self {
        Self::Line { source_name: source.file.clone(), line, why: why.into() }
    }

    pub(crate) fn no_result(source: &Source, kind: Kind, wanted: &'static str) -> Self {
        let text = shown(source.text.lines().next().unwrap_or_default());
        Self::NoResult { source_name: source.file.clone(), kind, wanted, lines: source.text.lines().count(), text }
    }

    pub(crate) fn nothing(source: &Source, why: impl Into<String>) -> Self {
        Self::Nothing { source_name: source.file.clone(), why: why.into() }
    }
}

/// A line as shown in an error: printable, and shortened.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let printable: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
    if text.trim().chars().count() > MOST { printable + "…" } else { printable }
}
