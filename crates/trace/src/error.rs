//! Why a file cannot be read as a trace. Each error names the file, the place, what was found there and what was
//! expected. What can be read around is no error but a [`Problem`](crate::Problem).

/// A trace that cannot be read, or not any further.
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
        /// What the system said.
        source: std::io::Error,
    },
    /// Its first bytes are those of no trace that is known here.
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
    /// Bytes that cannot be what the format says.
    #[error("{file}: byte {offset}: {found}; expected {expected}")]
    Malformed {
        /// The file.
        file: String,
        /// Where, from the start of the file.
        offset: u64,
        /// What is there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// A form of the format that is not read here.
    #[error("{file}: byte {offset}: {what}; {fix}")]
    Unsupported {
        /// The file.
        file: String,
        /// Where, from the start of the file.
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

/// The first bytes of a file, as an error shows them.
pub(crate) fn begins(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(12)];
    let hex: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let text: String = bytes.iter().map(|b| if (32..127).contains(b) { *b as char } else { '.' }).collect();
    format!("{} ({text})", hex.join(" "))
}
