//! The trial loop: order, blocks, warm-up, contamination, stopping; runners that are real or fake; and the trial
//! process itself. Sweeps, A/B comparisons and self-tests are one loop.
#![forbid(unsafe_code)]

pub mod child;
pub mod contamination;
pub mod experiment;
pub mod prepare;
mod require;
pub mod runner;
pub mod schedule;
pub mod stopping;

pub use contamination::Watch;
pub use experiment::{Event, Experiment, HostSettings, Store};
pub use runner::{ExecRunner, Runner, TRIAL_ARGUMENT};
pub use stopping::Stop;
