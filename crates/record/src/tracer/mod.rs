//! The scheduler tracer: a private tracefs instance whose per-CPU pages are read continuously and written as a
//! recording; if none can be made, perf's ring buffers with the same events. This module writes and does not interpret:
//! pure functions in crate `trace` decode the pages and encode the columns.
//!
//! The cost of a trace depends on how it is read. A blocking read wakes its reader for every event and gets pages that
//! are almost empty. Here, a few threads wake up on a timer, take whole pages, and go to sleep at the first page that
//! is not full. The instance is removed on every way out; after SIGKILL, the next start removes it
//! ([`remove_orphans`]).

mod cpu_reader;
mod drain;
mod error;
mod events;
mod instance;
mod recording;
mod rings;
mod sink;
mod snapshot;
mod source;
#[cfg(test)]
mod tests;

pub use error::TracerError;
pub use events::kinds;
pub use instance::{Instance, orphans, remove_orphans};
pub use recording::{Recorded, Tracer, TracerOrder};
