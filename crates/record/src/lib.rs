//! Counters of a trial: perf events, the tables in /proc before and after, and a series every 100 ms; and the scheduler
//! tracer ([`tracer`]). This crate reads and writes, and interprets nothing, except for the vendors' formulas for
//! top-down analysis, which come with their events and are pure functions of counts. Everything is chosen to disturb
//! the measured tasks little: events are counted per CPU and not per task (see [`perf_counters`]), and a sample reads
//! two files.
//!
//! Parsers are pure functions over `&str`; their errors name the file, the line and the item.
#![forbid(unsafe_code)]

pub mod bandwidth;
pub mod calls;
pub mod catalogue;
pub mod cpu_identity;
pub mod cpu_nodes;
pub mod interrupts;
pub mod net_mib;
pub mod parse_error;
pub mod perf_counters;
pub mod pressure;
pub mod proc_stat;
pub mod profile;
pub mod steal;
pub mod task_totals;
pub mod thermal;
pub mod topdown;
pub mod tracer;
pub mod trial_counters;

mod event_source;
#[cfg(test)]
mod fake_pmu;
mod metric_names;
mod net_sampler;
mod per_cpu;
mod series_sampler;
mod tables;

pub use catalogue::COUNTERS;
pub use metric_names::may_add;
pub use parse_error::ParseError;
pub use schedlab_sys::roots::Roots;
pub use steal::steal_share;
pub use thermal::{ThermalReading, thermal_events, thermal_evidence};
pub use trial_counters::{Counted, TrialCounters};
