//! The machine of a run, and what was checked of it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of an environment check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// As it should be.
    Good,
    /// A fact worth knowing.
    Info,
    /// It distorts or widens results.
    Warning,
    /// Something cannot be measured here.
    Unavailable,
}

/// Checks whose value changes by itself: shown, but never counted as a change of the machine.
pub const FLUCTUATING: &[&str] = &["round_trip", "steal_rate", "background_load"];

/// One line of `doctor`, of the manifest, and of the difference between the start and the end of a run or between two
/// runs. It describes the host, which the arms of a run share in turn; what an arm sets is read back in each trial
/// instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Stable id, such as `preempt_model`, by which checks are compared.
    pub id: String,
    /// Its name in print.
    pub title: String,
    /// How it came out.
    pub state: CheckState,
    /// The compared value, such as `voluntary`.
    pub value: String,
    /// What it does to results.
    pub effect: String,
    /// Where the value was read.
    pub evidence: String,
    /// The fix; empty if nothing needs to be done. Older runs have it as `mend`.
    #[serde(alias = "mend")]
    pub fix: String,
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// `uname -n`.
    pub hostname: String,
    /// `uname -r`.
    pub kernel_release: String,
    /// `uname -v`.
    pub kernel_version: String,
    /// `uname -m`.
    pub machine: String,
    /// First `model name` of /proc/cpuinfo, or the implementer and part numbers.
    pub cpu_model: String,
    /// Online CPUs, `0-3`.
    pub online_cpus: String,
    /// /proc/cmdline.
    pub cmdline: String,
    /// SHA-free fingerprint of the kernel config (length and CRC-32), or empty when no config can be read.
    pub config_crc32: String,
    /// /proc/sys/kernel/random/boot_id.
    pub boot_id: String,
    /// cgroup lines of this process.
    pub cgroup: String,
    /// /proc/self/autogroup.
    pub autogroup: String,
    /// CPUs this process may run on, `0-3`; empty in version 1.
    #[serde(default)]
    pub allowed_cpus: String,
    /// Length and CRC-32 of this program's file; empty in version 1.
    #[serde(default)]
    pub program_crc32: String,
    /// CPUs that the scheduler takes for sharing a last-level cache, its `sd_llc_size`; absent where it does not show
    /// its domains, and up to version 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_llc_size: Option<u32>,
    /// Knobs of the host that have a value, by the names of the catalogue (docs/knobs.md); empty up to version 4.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knobs: BTreeMap<String, String>,
    /// The checks, in doctor's order.
    pub checks: Vec<Check>,
}

impl Environment {
    /// The value of a check, by its id.
    pub fn value(&self, id: &str) -> Option<&str> {
        self.checks.iter().find(|check| check.id == id).map(|check| check.value.as_str())
    }
}
