//! What a guest that was booted for a trial, or for those of a block, is told, and what it answers: files in the guest, as JSON.

use crate::factorial::Toggles;
use crate::manifest::{Environment, Manifest};
use crate::order::TrialOrder;
use crate::outcome::TrialOutcome;
use crate::setting::Setting;
use serde::{Deserialize, Serialize};

/// A guest's task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestTask {
    /// Make the manifest of a plan, as the guest's machine allows it: its CPUs, counters and rights.
    Prepare {
        /// The plan.
        plan_toml: String,
    },
    /// Tell what its kernel lets one switch.
    Toggles,
    /// Run trials, one after the other.
    Trials(Vec<GuestOrder>),
}

/// One trial in a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuestOrder {
    /// The trial.
    pub order: TrialOrder,
    /// Settings of the whole guest, to be in force before it, and not after it.
    pub settings: Vec<Setting>,
    /// Its outcome is known from before an interruption: it runs for what it leaves to those after it.
    #[serde(default)]
    pub again: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestResult {
    /// The manifest.
    Prepared(Box<Manifest>),
    /// What can be switched.
    Toggles(Toggles),
    /// Of each trial what it measured, or one sentence on why it failed; fewer than were ordered where the guest did not come to
    /// its end.
    Measured(Vec<Result<TrialOutcome, String>>),
    /// One sentence on why there is neither.
    Failed(String),
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuestAnswer {
    /// What came of the task.
    pub result: GuestResult,
    /// The guest as a machine: which boot it was, and what its kernel says of itself.
    pub environment: Environment,
    /// Words of its command line that have no effect in its kernel.
    pub words_without_effect: Vec<String>,
    /// One sentence where its kernel sees another machine than was asked for.
    pub other_machine: Option<String>,
}
