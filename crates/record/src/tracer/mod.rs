//! The scheduler tracer: a private tracefs instance whose per-CPU pages are read as they come and written as a
//! recording; where none can be made, ring buffers of perf with the same events. It writes, it interprets nothing: pages are decoded and columns encoded by pure functions of crate `trace`.
//!
//! What a trace costs is decided by how it is read. A read that blocks wakes its reader for every event and gets pages
//! that are almost empty; here a few threads wake up on a timer, take whole pages, and go to sleep at the first page
//! that is not full. The instance is removed on every way out, after SIGKILL by the next start ([`remove_orphans`]).

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
