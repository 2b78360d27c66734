//! A profile with a description of its origin: what `vm profile --json` writes and `--against` reads, including its
//! legs.

use super::{LEGS, LegCounts, Profile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/vm-profile/1";

/// What is read of a file of `vm profile --json`; files from before it had a name have no schema.
#[derive(Debug, Deserialize)]
pub struct ProfileFile {
    /// The reference profile, if there is one, then the requested one.
    pub profiles: Vec<Profiled>,
}

/// The profile of one kernel; counts are not divided by the operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profiled {
    /// The `bench` command, as it was given.
    pub command: String,
    /// Instructions of each of the kernel's functions.
    pub functions: BTreeMap<String, u64>,
    /// Lane, shift, seed, QEMU and machine: they are part of the result.
    pub guest: String,
    /// Their sums.
    pub instructions: Instructions,
    /// As it was named.
    pub kernel: String,
    /// With `--legs` one for each of [`LEGS`]: parts of the whole.
    #[serde(default)]
    pub legs: Option<Vec<Leg>>,
    /// What an operation is, such as a message.
    pub operation: String,
    /// How many there were, at least one.
    pub operations: u64,
    /// CRC-32 of the saved state that the guest resumed from (with several CPUs no two states are equal); `None` if it
    /// booted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// Sums of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// Instructions of the kernel, in functions or not.
    pub kernel: u64,
    /// The part of it at addresses outside of every function.
    pub no_function: u64,
    /// Instructions of all programs together.
    pub programs: u64,
}

/// One leg.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// Complete system calls.
    pub calls: u64,
    /// As of a whole profile.
    pub functions: BTreeMap<String, u64>,
    /// As of a whole profile.
    pub instructions: Instructions,
    /// Its name, one of [`LEGS`].
    pub leg: String,
}

impl From<&Profile> for Instructions {
    fn from(profile: &Profile) -> Self {
        Self { kernel: profile.kernel(), no_function: profile.unknown, programs: profile.programs }
    }
}

impl Profiled {
    /// Its counts.
    pub fn profile(&self) -> Profile {
        let Instructions { no_function: unknown, programs, .. } = self.instructions;
        Profile { programs, unknown, functions: self.functions.clone() }
    }

    /// This number of instructions, per operation.
    pub fn per_operation(&self, count: u64) -> f64 {
        count as f64 / self.operations as f64
    }
}

/// The legs of the counts, by function with the names that `name_of` returns.
pub fn legs<'s>(counted: &LegCounts, name_of: impl Fn(u64) -> Option<&'s str>) -> Vec<Leg> {
    let leg = |((counts, calls), name): ((&super::Counts, &u64), &&str)| {
        let profile = counts.by_function(&name_of);
        let instructions = Instructions::from(&profile);
        Leg { calls: *calls, functions: profile.functions, instructions, leg: (*name).to_owned() }
    };
    counted.legs.iter().zip(&counted.calls).zip(&LEGS).map(leg).collect()
}
