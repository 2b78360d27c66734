//! From a run directory to findings: arms, effects, verdicts. Pure: rows in, [`Findings`] out; no file, no clock, no
//! privilege. Reports, `compare` and, through [`decided`], the stopping rule inside the trial loop use the same code.
//!
//! Read in this order: `findings` (the results), `selection` (which rows count), `contrasts` (from rows to one number
//! per unit), `rule` (which interval the stopping rule allows), `verdict` (from an interval to a verdict), `claim`
//! (from a verdict to a sentence), `noise` (what the verdict implies about the noise).
#![forbid(unsafe_code)]

mod aa;
mod arm_effects;
mod arms;
mod bisection;
mod claim;
mod compare;
mod confounded;
mod contrasts;
mod curves;
mod environment;
mod estimate;
mod factorial;
mod facts;
pub mod findings;
mod hygiene;
mod keep;
mod look;
mod metric;
mod metric_name;
mod noise;
pub mod number;
mod pack;
mod per_operation;
mod phrase;
mod pool;
mod power;
pub mod profile;
mod recorder_cost;
mod repetition;
mod rule;
mod scaling;
mod selection;
mod shape;
mod statements;
mod tiers;
pub mod trace;
mod tradeoff;
mod two_runs;
mod variance;
mod verdict;
mod why;
mod why_kernels;
mod workload;

pub use arm_effects::{ArmEffects, Lacking, arm_effects};
pub use bisection::{BisectFindings, BisectMember, BisectOutcome, Bisected, bisect_findings, relative};
pub use claim::{beside, shared_spec, workload_label};
pub use compare::compare;
pub use environment::changes;
pub use findings::*;
pub use keep::Packer;
pub use look::{PrimaryContrast, decided, primary_contrasts};
pub use metric_name::metric_name;
pub use pack::pack;
pub use pool::pool;
pub use power::{PowerForecast, forecast};
pub use recorder_cost::{Range, RecorderCost, recorder_cost};
pub use repetition::{Answer, KEPT, RepeatedEffect, Repetition, repetition};
pub use scaling::scaling_of_trials;
pub use selection::used_trials;
pub use two_runs::compare_runs;
pub use verdict::{FailOn, exit_status};
pub use why::{AssociatedMetric, Difference, WhyCell, WhyContrast, WhyFactor, WhyFindings, WhyStage};
pub use why_kernels::{OnKernel, WhyKernelsFindings};
