//! Our own recordings: what the tracer writes and everything reads. FORMAT.md says every byte of it.
//!
//! A recording is a row of framed parts (`chunk`): what it says of itself, the formats of its events, snapshots of
//! threads, and blocks of events (`block`), each of one CPU and each complete in itself. Encoder and decoder are pure
//! functions of bytes; the tracer (crate `record`) brings the pages of the kernel, a [`RecordingReader`] yields the
//! crate's events in the order of time.

mod about;
mod ahead;
mod block;
mod chunk;
mod columns;
mod op;
mod reader;
#[cfg(test)]
mod tests;
mod threads;
mod varint;
mod woken;
mod writer;

pub use about::About;
pub use block::{Block, BlockWriter};
pub(crate) use chunk::MAGIC;
pub use reader::{RecordingReader, Snapshot};
pub use threads::{Moment, ThreadState};
pub use writer::{CpuTotals, FormatText, LastBlocks, RecordingWriter, Totals};
