//! A pack: everything that another person needs to repeat a run, in one JSON file of at most 1 MB that contains its own
//! CRC-32 and names neither a host nor a path on its disk. This module is pure: bytes in, a checked [`Pack`] out.
//! Nothing in a pack is trusted: it is parsed with limits, and everything in it that names something is checked here.

mod effect;
mod portable;

pub use effect::{ExpectedEffect, ExpectedScale, Said};
pub use portable::without_prose;

use crate::kernel::{BootedKernel, KernelSource};
use crate::plan::Plan;
use crate::setting::{Policy, Setting};
use crate::workload_spec::WorkloadSpec;
use crate::{json, self_checked};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format; FORMAT.md describes it.
pub const PACK_VERSION: u32 = 1;
/// Most bytes of a pack.
pub const MAX_PACK_BYTES: usize = 1 << 20;
/// Most characters of its title, with which every page begins.
const LONGEST_TITLE: usize = 300;

/// A run that can be repeated elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pack {
    /// [`PACK_VERSION`] of the writer.
    pub pack_version: u32,
    /// Version of the program that measured.
    pub schedlab_version: String,
    /// Title of the run.
    pub title: String,
    /// The plan, complete, with every number of CPUs spelled out and without a seed.
    pub plan_toml: String,
    /// The workloads with every argument spelled out, one for each value of a sweep.
    pub workloads: Vec<WorkloadSpec>,
    /// Their versioned ids.
    pub workload_ids: Vec<String>,
    /// What it was measured on.
    pub machine: PackedMachine,
    /// Kernels of its guests; none where it ran on the host.
    pub kernels: Vec<BootedKernel>,
    /// The result for each primary metric and arm.
    pub effects: Vec<ExpectedEffect>,
}

/// The machine of a run, described as a class of machines and not as an individual one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackedMachine {
    /// `uname -m`.
    pub machine: String,
    /// Its CPUs' model.
    pub cpu_model: String,
    /// CPUs that the program might use.
    pub cpus: u32,
    /// `uname -r`, of guests the control's.
    pub kernel_release: String,
    /// `uname -v`: of Debian's kernels it ends with the package's version.
    pub kernel_version: String,
    /// Length and CRC-32 of the program that measured.
    pub program_crc32: String,
    /// Checks of `schedlab doctor` by id: those that affect results and identify nobody.
    pub conditions: BTreeMap<String, String>,
    /// Knobs that have a value, by the names of the catalogue.
    pub knobs: BTreeMap<String, String>,
}

/// Why bytes are not a pack that can be repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The file is larger than a pack may be.
    #[error("it is larger than {} kB, the limit for a pack: ask its author for another", MAX_PACK_BYTES >> 10)]
    TooLong,
    /// Written by a later schedlab.
    #[error("it is a pack of format {0}, and this schedlab reads up to {PACK_VERSION}: use a newer schedlab")]
    Newer(u32),
    /// The bytes are not those that were written.
    #[error("its content is not what `schedlab pack` wrote (CRC-32): get the file again, or ask its author")]
    Changed,
    /// It is not a pack at all.
    #[error("it is not a pack written by `schedlab pack`: {0}")]
    NoPack(String),
    /// A run without an effect to repeat.
    #[error("there is nothing to repeat: {0}")]
    Nothing(String),
    /// It names something that no other machine has.
    #[error("{0}")]
    NotPortable(String),
}

impl Pack {
    /// The file's bytes. Refuses a pack that nobody else could repeat, or that is too large.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PackError> {
        self.check()?;
        let object = json::pretty(self).map_err(|e| PackError::NoPack(e.to_string()))?;
        let bytes = self_checked::with_crc(&object);
        if bytes.len() > MAX_PACK_BYTES {
            let kernels: usize = self.kernels.iter().map(|kernel| format!("{kernel:?}").len()).sum();
            return Err(PackError::NotPortable(format!(
                "the pack would have {} kB, {} of them configurations and patches of kernels, and {} at most is allowed: pack a run \
                 with fewer kernels",
                bytes.len() >> 10,
                kernels >> 10,
                MAX_PACK_BYTES >> 10
            )));
        }
        Ok(bytes)
    }

    /// A pack from a file's bytes. The version is checked first, then the checksum, then the content.
    pub fn parse(bytes: &[u8]) -> Result<Self, PackError> {
        #[derive(Deserialize)]
        struct Version {
            pack_version: u32,
        }
        if bytes.len() > MAX_PACK_BYTES {
            return Err(PackError::TooLong);
        }
        let no_pack = |e: serde_json::Error| PackError::NoPack(e.to_string());
        let not_json = |_| PackError::NoPack("it is not JSON with a `pack_version`".into());
        let Version { pack_version } = serde_json::from_slice(bytes).map_err(not_json)?;
        if pack_version == 0 {
            return Err(PackError::NoPack("format 0 does not exist".into()));
        }
        if pack_version > PACK_VERSION {
            return Err(PackError::Newer(pack_version));
        }
        // A mail or an editor may have changed how its lines end, and ended the last one.
        let lines = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        let object = self_checked::without_crc(lines.trim_ascii_end().as_bytes()).ok_or(PackError::Changed)?;
        let pack: Self = serde_json::from_slice(&object).map_err(no_pack)?;
        pack.check()?;
        Ok(pack)
    }

    /// The plan.
    pub fn plan(&self) -> Result<Plan, PackError> {
        Plan::parse(&self.plan_toml).map_err(|e| PackError::NoPack(format!("its plan: {e}")))
    }

    /// What it would do on this machine that a stranger should not decide: run commands, change settings of the whole
    /// host, use a real-time policy, build a kernel. A policy that a workload gives its own threads is not known here.
    pub fn asks_for_trust(&self, is_built: impl Fn(&BootedKernel) -> bool) -> Result<Vec<String>, PackError> {
        let plan = self.plan()?;
        let loads = plan.workloads.iter().flat_map(|workload| &workload.load);
        let specs = self.workloads.iter().chain(loads).chain(plan.workloads.iter().map(|workload| &workload.run));
        let mut asks: Vec<String> =
            specs.filter(|spec| spec.name == "exec").map(|spec| format!("runs `{spec}`")).collect();
        // Any option of it may be a command: the measured one, the set-up, or the clean-up.
        let runs_commands = !asks.is_empty();
        let levels = plan.factors.iter().flat_map(|factor| [&factor.low, &factor.high]);
        for setting in plan.arms.iter().chain(levels).flat_map(|arm| &arm.settings) {
            match setting {
                // Settings inside a guest, and cgroups of our own, change nothing here.
                Setting::CpuWeight(_) | Setting::CpuQuota { .. } => {}
                _ if setting.is_of_guest() => {}
                Setting::WorkloadOption { key, .. } if runs_commands || key == "command" => {
                    asks.push(format!("runs `{setting}`"))
                }
                // With guests, the setting is applied inside the guest, which ends with the trial.
                _ if plan.guest.is_some() => {}
                _ if setting.is_host_wide() => asks.push(format!("writes {setting}")),
                Setting::Policy(Policy::Fifo(_) | Policy::Rr(_)) => asks.push(format!("runs under {setting}")),
                _ => {}
            }
        }
        let has_source = |kernel: &&BootedKernel| matches!(kernel.source, KernelSource::Build { .. });
        let built = self.kernels.iter().filter(has_source).filter(|kernel| is_built(kernel));
        asks.extend(built.map(|kernel| format!("builds {} with its configuration and patches", kernel.name)));
        asks.sort();
        asks.dedup();
        Ok(asks)
    }

    /// Checks everything that later code relies on, and that no path of one machine is named.
    fn check(&self) -> Result<(), PackError> {
        let no_pack = |why: String| Err(PackError::NoPack(why));
        let plan = self.plan()?;
        portable::plan(&plan)?;
        let longest = [&self.title, &plan.title].map(|title| title.chars().count()).into_iter().max();
        if let Some(characters) = longest.filter(|characters| *characters > LONGEST_TITLE) {
            return Err(PackError::NotPortable(format!(
                "the title has {characters} characters, and {LONGEST_TITLE} at most are allowed: shorten `title` in the plan"
            )));
        }
        let arms = if plan.factors.is_empty() { plan.arms.len() } else { plan.max_arms as usize };
        if self.workloads.is_empty() || self.workloads.len() != self.workload_ids.len() {
            return no_pack("its lists of workloads do not fit each other".into());
        }
        if self.machine.cpus == 0 {
            return no_pack("its machine has no CPU".into());
        }
        self.check_workloads(&plan)?;
        for (at, kernel) in self.kernels.iter().enumerate() {
            portable::kernel(kernel)?;
            if self.kernels[..at].iter().any(|other| other.name == kernel.name) {
                return no_pack(format!("two of its kernels are named {}", kernel.name));
            }
            if !portable::kernels(&plan).any(|booted| *booted == kernel.name) {
                return no_pack(format!("its plan does not boot {}", kernel.name));
            }
            if kernel.arms.iter().any(|&arm| arm as usize >= arms) {
                return no_pack(format!("kernel {} is of an arm that the plan does not have", kernel.name));
            }
        }
        if plan.guest.is_some() == self.kernels.is_empty() {
            return no_pack("its kernels do not fit its plan".into());
        }
        for (at, effect) in self.effects.iter().enumerate() {
            if let Some(why) = self.effects[..at].iter().find_map(|other| effect.contradiction(other)) {
                return no_pack(format!("its effects on {} contradict each other: {why}", effect.metric));
            }
            if effect.is_belied(plan.sesoi) {
                let ExpectedEffect { metric, lo, hi, said, .. } = effect;
                return no_pack(format!("it calls {metric} {said:?}, which contradicts the interval [{lo}, {hi}]"));
            }
        }
        match self.effects.iter().find(|effect| !effect.is_sound(self.workloads.len(), arms)) {
            Some(effect) => no_pack(format!("the effect on {} is no estimate with an interval", effect.metric)),
            None if self.effects.is_empty() => no_pack("it expects no effect".into()),
            None => Ok(()),
        }
    }

    /// The list of workloads must be the plan's, so that the effects belong to the workloads that will run.
    fn check_workloads(&self, plan: &Plan) -> Result<(), PackError> {
        let no_pack = |why: String| Err(PackError::NoPack(why));
        let mut listed = self.workloads.iter().zip(&self.workload_ids);
        for planned in &plan.workloads {
            let swept = planned.sweep.iter().flat_map(|(option, values)| values.iter().map(move |v| (option, v)));
            let values: Vec<_> = swept.map(Some).collect();
            for value in if values.is_empty() { vec![None] } else { values } {
                let Some((spec, id)) = listed.next() else {
                    return no_pack("its plan has more workloads than its list of them".into());
                };
                // Options that a workload derives from the swept option are only in the list.
                let same = match value {
                    Some((option, value)) => spec.args.get(option) == Some(value),
                    None => spec.args == planned.run.args,
                };
                if !same || (&spec.name, spec.version) != (&planned.run.name, planned.run.version) {
                    return no_pack(format!("its plan runs {}, and its list of workloads has {spec}", planned.run));
                }
                let fits = match spec.version {
                    Some(version) => *id == format!("{}/{version}", spec.name),
                    None => id.split('/').next() == Some(spec.name.as_str()),
                };
                if !fits {
                    return no_pack(format!("{spec} is not a workload {id}"));
                }
            }
        }
        if listed.next().is_some() {
            return no_pack("its plan has fewer workloads than its list of them".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
