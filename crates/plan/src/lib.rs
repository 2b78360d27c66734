//! What should be run, and the results, as data that hosts, guests, analyses and reports share: the plan and its
//! settings, the order of a trial ([`TrialOrder`]), its answer ([`TrialOutcome`]), the manifest of a run, packs, and
//! the units and sentences used in all of them. No I/O: the crate of the run directory, above this one, reads and
//! writes the files. This crate knows no workload, no knob path and no output format.
#![forbid(unsafe_code)]

pub mod count;
pub mod factorial;
pub mod guest_task;
pub mod histogram;
mod in_order;
pub mod json;
mod kernel;
pub mod lane;
pub mod manifest;
pub mod nearest;
mod number;
pub mod order;
pub mod outcome;
pub mod pack;
pub mod packed;
pub mod plain;
pub mod plan;
pub mod profile;
pub mod record;
pub mod require;
pub mod self_checked;
pub mod setting;
pub mod shell_words;
pub mod splitmix;
pub mod statement;
pub mod tracing;
pub mod units;
pub mod workload_spec;

pub use count::{counted, noun};
pub use guest_task::{GuestAnswer, GuestOrder, GuestResult, GuestTask};
pub use histogram::Histogram;
pub use in_order::{InOrder, OneByOne};
pub use kernel::{BootedKernel, KernelPackage, KernelSource};
pub use manifest::{Check, CheckState, Environment, Manifest, RunEnd};
pub use order::{CounterLevel, LoadGroup, Stamping, SwitchbackOrder, TrialOrder};
pub use outcome::*;
pub use pack::{Pack, PackError};
pub use plan::{MIN_UNITS, Plan, PlanError};
pub use record::{Mark, TrialRecord, TrialStatus};
pub use require::Requirement;
pub use setting::{Arm, IdleStates, Policy, Setting, SettingError, Thp};
pub use tracing::{EventGroup, TraceEvents, TraceOrder, TraceSetting, TraceSource};
pub use workload_spec::{SpecError, WorkloadSpec};
