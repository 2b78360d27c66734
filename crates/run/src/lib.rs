//! The run directory, on which everything in schedlab turns: hosts, guests and imported files produce run directories,
//! and every analysis reads them. This crate owns the plan, the order of a trial ([`TrialOrder`]), its answer
//! ([`TrialOutcome`]), the manifest, the table schemas, and the reader and writer. It knows no workload, no knob path
//! and no view; `FORMAT.md` describes what it writes.
#![forbid(unsafe_code)]

pub mod count;
pub mod error;
pub mod factorial;
pub mod frame;
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
pub mod reader;
pub mod record;
mod regular;
pub mod require;
mod self_checked;
pub mod setting;
pub mod shell_words;
pub mod splitmix;
pub mod statement;
mod stored;
mod tables;
pub mod tracing;
pub mod units;
pub mod workload_spec;
pub mod writer;

pub use count::{counted, noun};
pub use error::RunError;
pub use guest_task::{GuestAnswer, GuestOrder, GuestResult, GuestTask};
pub use histogram::Histogram;
pub use in_order::InOrder;
pub use kernel::{BootedKernel, KernelPackage, KernelSource};
pub use manifest::{Check, CheckState, Environment, Manifest, RunEnd};
pub use order::{CounterLevel, LoadGroup, Stamping, SwitchbackOrder, TrialOrder};
pub use outcome::*;
pub use pack::{Pack, PackError};
pub use plan::{LEAST_UNITS, Plan, PlanError};
pub use reader::{Run, RunReader};
pub use record::{Mark, TrialRecord, TrialStatus};
pub use require::Requirement;
pub use setting::{Arm, IdleStates, Policy, Setting, SettingError, Thp};
pub use tables::{Cell, Table, TableDir};
pub use tracing::{EventGroup, TraceEvents, TraceOrder, TraceSetting, TraceSource};
pub use workload_spec::{SpecError, WorkloadSpec};
pub use writer::{RunLog, RunWriter};
