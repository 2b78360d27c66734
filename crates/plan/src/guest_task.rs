//! The task of a guest that was booted for a trial, or for the trials of a block, and its answer: files in the guest,
//! as JSON.

use crate::factorial::Toggles;
use crate::manifest::Manifest;
use crate::order::TrialOrder;
use crate::outcome::TrialOutcome;
use crate::setting::Setting;
use serde::{Deserialize, Serialize};

/// A guest's task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestTask {
    /// Make the manifest of a plan, from what the guest's machine has: its CPUs, counters and rights.
    Prepare {
        /// The plan.
        plan_toml: String,
    },
    /// Report what can be switched on its kernel.
    Toggles,
    /// Run trials, one after the other.
    Trials(Vec<GuestOrder>),
}

/// One trial in a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuestOrder {
    /// The trial.
    pub order: TrialOrder,
    /// Settings of the whole guest, to be in force during the trial and undone after it.
    pub settings: Vec<Setting>,
    /// Its outcome is known from before an interruption; it runs again for the state it leaves to the trials after it.
    #[serde(default)]
    pub again: bool,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestResult {
    /// The manifest.
    Prepared(Box<Manifest>),
    /// What can be switched.
    Toggles(Toggles),
    /// For each trial its measurements, or one sentence on why it failed; fewer than were ordered if the guest ended
    /// early.
    Measured(Vec<Result<TrialOutcome, String>>),
    /// One sentence on why there is no result.
    Failed(String),
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuestAnswer {
    /// The result of the task.
    pub result: GuestResult,
    /// /proc/sys/kernel/random/boot_id.
    pub boot_id: String,
    /// `uname -r`.
    pub kernel_release: String,
    /// /proc/cmdline.
    pub cmdline: String,
    /// CPUs, sockets, nodes and caches, as `doctor` shows them.
    pub topology: String,
    /// Words of its command line that have no effect in its kernel.
    pub words_without_effect: Vec<String>,
    /// One sentence, if its kernel sees another machine than was requested.
    pub other_machine: Option<String>,
}
