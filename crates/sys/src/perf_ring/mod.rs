//! perf events that write records to ring buffers shared with their reader, one ring per CPU: samples of what runs
//! ([`SampleRing`]), and tracepoint hits ([`TracepointRing`]). Source: perf_event_open(2).

mod mapping;
mod sampling;
mod tracepoints;

pub use sampling::{Pace, SampleOrder, SampleRing, Sampled};
pub use tracepoints::{TracepointRing, Tracepoints};
