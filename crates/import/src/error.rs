//! Why a file is not the result it was said to be, in one line that names the file, the line and the mend.

/// An import that failed; nothing has been written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// No file at all.
    #[error("nothing to import; name a CSV file or one hackbench log per arm")]
    NoSource,
    /// A file without content.
    #[error("{0} is empty; it should hold a CSV with a header or hackbench's output")]
    Empty(String),
    /// Neither kind by its content.
    #[error(
        "{source_name} line {line}: `{text}` starts neither a CSV nor a hackbench log; say which it is with --kind"
    )]
    Unrecognised {
        /// The file.
        source_name: String,
        /// From 1.
        line: usize,
        /// The line, shortened.
        text: String,
    },
    /// More than one CSV.
    #[error(
        "{0} CSV files are {0} studies; import them one at a time, or put the arms into one file as `arm,value` rows"
    )]
    SeveralCsv(usize),
    /// One hackbench log is one arm.
    #[error("one hackbench log is one arm; name a second log to compare it with")]
    OneLog,
    /// One label in a long CSV.
    #[error("{source_name} has one arm, `{arm}`; a comparison needs rows of at least two")]
    OneArm {
        /// The file.
        source_name: String,
        /// The only arm.
        arm: String,
    },
    /// A line that is not what it should be.
    #[error("{source_name} line {line}: {why}")]
    Line {
        /// The file.
        source_name: String,
        /// From 1.
        line: usize,
        /// What is wrong and what would be right.
        why: String,
    },
    /// A hackbench log in which hackbench never finished.
    #[error("{source_name} is not a hackbench log: none of its {lines} lines is `Time: SECONDS`; line 1 is `{text}`")]
    NoTime {
        /// The file.
        source_name: String,
        /// Lines in it.
        lines: usize,
        /// Its first line, shortened.
        text: String,
    },
}

/// A line as an error shows it: printable, and short enough for one line.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let printable: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
    if text.trim().chars().count() > MOST { printable + "…" } else { printable }
}
