//! What `record` reports about the recording that it has written.

use schedlab_plan::units::show_ns;
use serde::Serialize;
use std::io::{self, Write};

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recording {
    /// Where it is.
    pub file: String,
    /// Where the events were read from: `tracefs` or `perf`.
    pub source: &'static str,
    /// Size of the file, bytes.
    pub file_bytes: u64,
    /// Events in it.
    pub events: u64,
    /// Events that were lost, as far as the kernel says.
    pub lost: u64,
    /// Whether events are missing, in the sentence of `trace check`.
    pub check: String,
    /// How long tracing was on, ns.
    pub on_ns: u64,
    /// CPU time of the threads that read, ns.
    pub reader_cpu_ns: u64,
    /// Bytes of the events before compression.
    pub bytes_before_compression: u64,
    /// Notes on the numbers.
    pub notes: Vec<String>,
}

/// In two lines, without the notes.
pub fn recording_text(found: &Recording, out: &mut dyn Write) -> io::Result<()> {
    let Recording { file, source, file_bytes, events, check, .. } = found;
    let per_event = *file_bytes as f64 / (*events).max(1) as f64;
    let (events, length) = (schedlab_plan::counted(*events, "events"), show_ns(found.on_ns));
    writeln!(out, "{file}: {events} in {length}, {file_bytes} bytes ({per_event:.1} an event), from {source}")?;
    writeln!(out, "{check}")
}
