//! Why a file cannot be read as a trace. Each error names the file, the position, what was found there and what was
//! expected. If the reader can skip the damage, that is no error but a [`Problem`](crate::Problem).

/// A trace that cannot be read, or cannot be read further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The source of the bytes failed.
    #[error("{file}: reading {bytes} bytes at byte {offset} failed")]
    Read {
        /// The file.
        file: String,
        /// Where.
        offset: u64,
        /// How much was asked for.
        bytes: usize,
        /// The system's error.
        source: std::io::Error,
    },
    /// Its first bytes are not those of any known trace format.
    #[error(
        "{file} is not a trace that is known here: it begins with {begins}; expected a recording of schedlab (SLTRACE), perf.data (PERFILE2), trace.dat (17 08 44 tracing), ftrace text or a Perfetto trace"
    )]
    NotATrace {
        /// The file.
        file: String,
        /// Its first bytes, in hexadecimal and as text.
        begins: String,
    },
    /// Nothing in it.
    #[error("{file} is empty; expected a trace")]
    Empty {
        /// The file.
        file: String,
    },
    /// Bytes that are invalid in the format.
    #[error("{file}: byte {offset}: {found}; expected {expected}")]
    Malformed {
        /// The file.
        file: String,
        /// Position, from the start of the file.
        offset: u64,
        /// What is there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// A variant of the format that is not supported.
    #[error("{file}: byte {offset}: {what}; {fix}")]
    Unsupported {
        /// The file.
        file: String,
        /// Position, from the start of the file.
        offset: u64,
        /// What it is.
        what: String,
        /// What to do instead.
        fix: String,
    },
    /// A trace without a scheduler event.
    #[error(
        "{file} has no scheduler events ({has}); record sched:sched_switch and sched:sched_waking, as in `perf sched record`"
    )]
    NoSchedEvents {
        /// The file.
        file: String,
        /// What it has instead.
        has: String,
    },
}

/// The first bytes of a file, for an error message.
pub(crate) fn begins(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(12)];
    let hex: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let text: String = bytes.iter().map(|b| if (32..127).contains(b) { *b as char } else { '.' }).collect();
    format!("{} ({text})", hex.join(" "))
}
