//! Traces to findings: what the tasks of a machine waited for. Each analysis reads a trace once, in bounded memory, and
//! answers findings **and** what was wrong with the trace; a wait that a loss may have falsified is counted apart.

pub mod check;
mod facts;
mod filter;
pub mod latency;
pub mod perf_latency;
pub mod states;
pub mod timehist;

pub use check::{Check, check};
pub use facts::{Definition, TraceFacts, definitions};
pub use filter::TaskFilter;
pub use latency::{Latency, LatencyOptions, LatencySort, latency};
pub use perf_latency::{PerfLatency, perf_latency};
pub use schedlab_trace::{ByteSource, Forward, Reader, TimeWindow, TraceError};
pub use states::{States, states};
pub use timehist::{TimehistRow, timehist};
