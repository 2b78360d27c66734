//! Faithful scheduler and IPC workloads. Each is one folder or file, one line in [`WORKLOADS`] and one page in
//! `docs/workloads/`; each has a semantic version, because results of different semantics are never compared.
//!
//! [`parse`] parses and validates a workload completely, [`Workload::check`] checks it against the machine's limits,
//! and [`Workload::run`] runs it once, in a small process that does nothing else. The workload announces the steps
//! around the timed region to the caller's [`Observer`]; the timed loops do not know about it.
#![forbid(unsafe_code)]

mod burn;
mod calibrate;
mod delay;
mod dispatch;
mod error;
mod exec;
mod herd;
mod limits;
pub mod load;
mod messaging;
mod metric_names;
mod metrics;
mod observer;
mod options;
mod pipe;
mod placement;
mod prepared;
mod recorder;
mod registry;
mod slowest;
mod stamp;
mod stream;
mod sweep;
mod task;
mod throughput;
mod timer;
mod topology;
mod transact;
mod transport;
mod wakeup;
mod workload;

pub use delay::{DelayCell, Stall};
pub use error::BenchError;
pub use limits::{Limits, tasks};
pub use metric_names::{may_report, metric_names};
pub use observer::{HerdTask, Observer, Progress, Quiet, RunOrder};
pub use registry::{find, parse};
pub use sweep::{Sweep, sweep};
pub use topology::{Topology, TopologyError};
pub use workload::{OptionDoc, Workload, WorkloadInfo};

/// All workloads.
pub static WORKLOADS: &[&WorkloadInfo] = &[
    &messaging::INFO,
    &pipe::INFO,
    &pipe::INFO_TWO_TOKENS,
    &burn::INFO,
    &transact::INFO,
    &throughput::INFO,
    &stream::INFO,
    &wakeup::INFO,
    &timer::INFO,
    &exec::INFO,
];
