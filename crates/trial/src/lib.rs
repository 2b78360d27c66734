//! The trial loop: order, blocks, warm-up, contamination, stopping; real and fake runners; and the trial process
//! itself. Sweeps, A/B comparisons and self-tests all use the same loop.
#![forbid(unsafe_code)]

pub mod child;
pub mod contamination;
mod cost;
mod describe;
pub mod experiment;
pub mod factors;
pub mod guest;
mod host;
pub mod prepare;
mod require;
pub mod rounds;
pub mod runner;
pub mod schedule;
pub mod search;
pub mod stopping;
mod tally;
mod traced;
pub mod why;
pub mod why_kernels;
mod workloads;

pub use contamination::Watch;
pub use describe::{describe, describe_guests};
pub use experiment::kept::keep_what_stopping_needs;
pub use experiment::{Event, Experiment, Known, Store, trace_file};
pub use host::{HostRunner, TRIAL_ARGUMENT};
pub use runner::{Planned, Runner};
pub use stopping::Stop;
