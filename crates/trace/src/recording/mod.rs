//! Our own recordings: what the tracer writes and all commands read. FORMAT.md describes every byte of them.
//!
//! A recording is a sequence of framed parts (`chunk`): its metadata, the formats of its events, snapshots of threads,
//! and blocks of events (`block`), each of one CPU and self-contained. Encoder and decoder are pure functions of bytes;
//! the tracer (crate `record`) supplies the kernel's pages, and a [`RecordingReader`] yields events in the order of
//! time.

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
