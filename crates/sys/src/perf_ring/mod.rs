//! Events of perf that write records to a ring buffer which the kernel shares with their reader, one ring a CPU: samples of
//! who runs ([`SampleRing`]), and every passing of a tracepoint ([`TracepointRing`]). Source: perf_event_open(2).

mod mapping;
mod sampling;
mod tracepoints;

pub use sampling::{Pace, SampleOrder, SampleRing, Sampled};
pub use tracepoints::{TracepointRing, Tracepoints};
