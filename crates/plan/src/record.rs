//! A trial as a row: its place in the design, what happened during it, and what it measured.

use crate::outcome::TrialOutcome;
use serde::{Deserialize, Serialize};

/// How a trial ended. A failed trial is a row with its reason; the run continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "reason")]
pub enum TrialStatus {
    /// Measured and verified.
    Ok,
    /// Not measured: the reason.
    Failed(String),
    /// Measured, but a setting of its arm is not in force: it never gets a verdict.
    NotApplied(String),
}

/// Something that happened to the machine during a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "mark")]
pub enum Mark {
    /// The hypervisor took CPU time: stolen share of the trial's CPU time.
    Steal {
        /// Share of the CPU time.
        #[serde(with = "crate::number")]
        share: f64,
    },
    /// Frequency fell or a thermal event was counted.
    Thermal {
        /// What was seen.
        evidence: String,
    },
    /// The block stood still before the trial, as where a run was interrupted in it: what it compares is further apart.
    Pause {
        /// For how long.
        evidence: String,
    },
    /// A knob or the set of CPUs was changed by another process: voids the run.
    Foreign {
        /// What changed, from what to what.
        what: String,
    },
}

/// One row of the trials table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Running number in the run, from 0, in time order.
    pub trial: u64,
    /// Index into the manifest's workloads.
    pub workload: u32,
    /// Index into the manifest's arms; `None` for a switchback trial, which contains two.
    pub arm: Option<u32>,
    /// Block number within the workload, from 0; repeats of a contaminated block get a new number.
    pub block: u32,
    /// Position within the block, from 0.
    pub position: u32,
    /// The block this one repeats, if it repeats one.
    pub repeats_block: Option<u32>,
    /// A trial before block 0, which is shown and never compared.
    pub warm_up: bool,
    /// How it ended.
    pub status: TrialStatus,
    /// What happened to the machine.
    pub marks: Vec<Mark>,
    /// Start on CLOCK_REALTIME, ns since 1970.
    pub started_unix_ns: u64,
    /// From sending the order to the answer, set-up included; of guests that ran side by side an equal share of their time.
    pub wall_ns: u64,
    /// Boot the trial ran under.
    pub boot_id: String,
    /// What it measured; `None` when it failed.
    pub outcome: Option<TrialOutcome>,
}
