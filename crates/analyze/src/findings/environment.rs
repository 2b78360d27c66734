//! The machine, its checks, and what changed.

use schedlab_plan::CheckState;
use serde::Serialize;

/// The machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnvironmentFindings {
    /// `(name, value)` in print order: host, kernel, CPU, …
    pub facts: Vec<(String, String)>,
    /// The checks at the start.
    pub checks: Vec<CheckRow>,
    /// What changed between start and end of the run, or between two runs.
    pub changes: Vec<Change>,
    /// The manifest's warnings.
    pub warnings: Vec<String>,
}

/// A check as in doctor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckRow {
    /// Stable id.
    pub id: String,
    /// Title.
    pub title: String,
    /// How it came out.
    pub state: CheckState,
    /// Value.
    pub value: String,
    /// What it does to results.
    pub effect: String,
    /// Where the value was read.
    pub evidence: String,
    /// What to do.
    pub fix: String,
}

/// A difference between two environments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What, as in a check's id.
    pub what: String,
    /// Before, or in run A.
    pub before: String,
    /// After, or in run B.
    pub after: String,
}
