//! `[guest]` of a plan: trials run in guests that are booted for them, so that arms may differ by kernel, kernel
//! command line and topology, and the boot is the unit.

use super::{Plan, PlanError, Stopping, inconsistent};
use crate::lane::WantedAccelerator;
use crate::setting::Setting;
use crate::units::{format_ns_exact, parse_bytes, parse_duration_ns};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::PathBuf;

/// How time passes in the guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuestLane {
    /// Wall clock.
    #[default]
    Real,
    /// Instructions are counted: equal boots are bit-identical, so each trial of an arm has a seed of its own; all arms
    /// have the same seeds.
    Virtual,
}

/// How much one guest runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuestPer {
    /// One trial.
    #[default]
    Trial,
    /// The trials of a block, one after the other, for all arms that use the same machine: they share whatever is
    /// particular to the boot.
    Block,
}

/// The properties of a guest: the `[guest]` table of a plan, to which an arm's `kernel:`, `boot:` and `topology:` are
/// added; or the options of `schedlab vm`, which have the same names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuestPlan {
    /// Kernel of the arms that name none.
    pub kernel: Option<String>,
    /// How time passes.
    pub lane: GuestLane,
    /// Real lane: how the guests' instructions are executed.
    pub accelerator: WantedAccelerator,
    /// How much each guest runs.
    pub per: GuestPer,
    /// Virtual lane: number of boots among which the blocks are divided. Each is saved as a state from which its
    /// samples start; without this key every guest is booted.
    pub boots: Option<u32>,
    /// Virtual lane: seed of the first sample, and number of the first boot; 1 by default. It keeps two runs from
    /// sharing samples.
    pub first_seed: Option<u64>,
    /// Whether they are of arm64, whatever the host is.
    pub aarch64: bool,
    /// Our own binary for them, if they have another architecture.
    pub binary: Option<PathBuf>,
    /// Files of the host for the guests, in the form of `vm run --add`.
    pub add: Vec<String>,
    /// Modules to load at the start.
    pub module: Vec<String>,
    /// Whether they may have more CPUs than the host; then nothing in the run can be compared.
    pub oversubscribe: bool,
    /// CPUs.
    pub cpus: Option<u32>,
    /// How the CPUs are arranged, in the form of `vm boot --topology`.
    pub topology: Option<String>,
    /// Memory.
    #[serde(rename = "memory", deserialize_with = "size")]
    pub memory_bytes: Option<u64>,
    /// Words added to the kernel's command line.
    pub cmdline: String,
    /// Virtual lane: an instruction takes 2^shift ns.
    pub shift: Option<u8>,
    /// Virtual lane: longest turn of a CPU.
    #[serde(rename = "quantum", deserialize_with = "time")]
    pub quantum_ns: Option<u64>,
    /// Virtual lane: the maximum CPU time that a task uses before its workload starts; by default the lane's.
    #[serde(rename = "dither", deserialize_with = "time")]
    pub dither_ns: Option<u64>,
    /// The number of CPUs sharing a last-level cache that every arm's scheduler must see.
    pub sd_llc_size: Option<u32>,
    /// How long a guest may take to start, by the host's clock.
    #[serde(rename = "boot_timeout", deserialize_with = "time")]
    pub boot_timeout_ns: Option<u64>,
    /// How long a trial may take from then on, by the host's clock.
    #[serde(rename = "timeout", deserialize_with = "time")]
    pub timeout_ns: Option<u64>,
}

/// A time as written, `100us`, in ns.
fn time<'de, D: Deserializer<'de>>(written: D) -> Result<Option<u64>, D::Error> {
    parse_duration_ns(&String::deserialize(written)?).map(Some).map_err(D::Error::custom)
}

/// A size as written, `2g`, in bytes.
fn size<'de, D: Deserializer<'de>>(written: D) -> Result<Option<u64>, D::Error> {
    parse_bytes(&String::deserialize(written)?).map(Some).map_err(D::Error::custom)
}

impl GuestPlan {
    /// The table as canonical TOML; `written` gives a text TOML's form.
    pub(super) fn to_toml(&self, written: impl Fn(&str) -> String) -> String {
        let lane = if self.lane == GuestLane::Virtual { "virtual" } else { "real" };
        let list = |texts: &[String]| {
            let texts: Vec<String> = texts.iter().map(|text| written(text)).collect();
            (!texts.is_empty()).then(|| format!("[{}]", texts.join(", ")))
        };
        let keys = [
            ("kernel", self.kernel.as_deref().map(&written)),
            ("lane", Some(written(lane))),
            (
                "accelerator",
                (self.accelerator != WantedAccelerator::Auto).then(|| written(&self.accelerator.to_string())),
            ),
            ("per", (self.per == GuestPer::Block).then(|| written("block"))),
            ("boots", self.boots.map(|n| n.to_string())),
            ("first_seed", self.first_seed.map(|n| n.to_string())),
            ("aarch64", self.aarch64.then(|| "true".to_owned())),
            ("binary", self.binary.as_ref().map(|file| written(&file.to_string_lossy()))),
            ("add", list(&self.add)),
            ("module", list(&self.module)),
            ("oversubscribe", self.oversubscribe.then(|| "true".to_owned())),
            ("cpus", self.cpus.map(|n| n.to_string())),
            ("topology", self.topology.as_deref().map(&written)),
            ("memory", self.memory_bytes.map(|bytes| written(&bytes.to_string()))),
            ("cmdline", Some(written(&self.cmdline)).filter(|_| !self.cmdline.is_empty())),
            ("shift", self.shift.map(|n| n.to_string())),
            ("sd_llc_size", self.sd_llc_size.map(|n| n.to_string())),
            ("quantum", self.quantum_ns.map(|ns| written(&format_ns_exact(ns)))),
            ("dither", self.dither_ns.map(|ns| written(&format_ns_exact(ns)))),
            ("boot_timeout", self.boot_timeout_ns.map(|ns| written(&format_ns_exact(ns)))),
            ("timeout", self.timeout_ns.map(|ns| written(&format_ns_exact(ns)))),
        ];
        let lines = keys.into_iter().filter_map(|(key, value)| Some(format!("{key} = {}\n", value?)));
        format!("\n[guest]\n{}", lines.collect::<String>())
    }
}

impl Plan {
    /// What does not fit a plan with guests, or one without.
    pub(super) fn check_guest(&self) -> Result<(), PlanError> {
        let levels = self.factors.iter().flat_map(|factor| [&factor.low, &factor.high]);
        let settings: Vec<&Setting> = self.arms.iter().chain(levels).flat_map(|arm| &arm.settings).collect();
        let Some(guest) = &self.guest else {
            return match settings.iter().find(|setting| setting.is_of_guest()) {
                Some(setting) => inconsistent(format!(
                    "`{setting}` is set at boot: add a `[guest]` table, and trials run in guests booted for them"
                )),
                None => Ok(()),
            };
        };
        if self.switchback_window_ns.is_some() {
            return inconsistent("[guest]: a boot is a unit of its own, so there are blocks alone: no switchback");
        }
        let is_kernel = |setting: &Setting| matches!(setting, Setting::Kernel(_));
        if !self.factors.is_empty() && (guest.kernel.is_none() || settings.iter().any(|setting| is_kernel(setting))) {
            return inconsistent(
                "[guest]: a factorial has one kernel: give `kernel = \"debian:6.1\"` in [guest], and no factor a kernel",
            );
        }
        if let Some(traced) = settings.iter().find(|setting| setting.is_trace()) {
            return inconsistent(format!(
                "`{traced}` would record this host and not the guest: leave it out beside [guest]"
            ));
        }
        if let Some(arm) = self.arms.iter().find(|arm| guest.kernel.is_none() && !arm.settings.iter().any(is_kernel)) {
            let name = &arm.name;
            return inconsistent(format!(
                "arm `{name}` has no kernel; give `kernel = \"debian:6.1\"` in [guest], or one to each arm"
            ));
        }
        let is_of_virtual = guest.shift.is_some()
            || guest.quantum_ns.is_some()
            || guest.dither_ns.is_some()
            || guest.first_seed.is_some();
        if guest.lane == GuestLane::Real && is_of_virtual {
            return inconsistent("[guest]: shift, quantum, dither and first_seed belong to `lane = \"virtual\"`");
        }
        if let Some(seed) = guest.first_seed.filter(|seed| !(1..=MAX_FIRST_SEED).contains(seed)) {
            return inconsistent(format!("[guest]: first_seed = {seed}: give 1 to {MAX_FIRST_SEED}"));
        }
        if guest.lane == GuestLane::Virtual && guest.accelerator == WantedAccelerator::Kvm {
            return inconsistent(
                "[guest]: accelerator = \"kvm\" counts no instructions: it belongs to `lane = \"real\"`",
            );
        }
        if let Some(boots) = guest.boots {
            if guest.lane == GuestLane::Real {
                return inconsistent(
                    "[guest]: boots belongs to `lane = \"virtual\"`: the real lane's guests cannot be kept",
                );
            }
            match self.stopping {
                // Each round of a search has at most one for each of its blocks.
                _ if self.search.is_some() && boots > 0 => {}
                Stopping::Trials { blocks } if (1..=blocks).contains(&boots) => {}
                Stopping::Trials { blocks } => {
                    return inconsistent(format!(
                        "[guest]: boots = {boots}: give 1 to {blocks}, a block of `trials` at least for each"
                    ));
                }
                _ if boots == 0 => return inconsistent("[guest]: boots = 0: give 1 or more, or leave it out"),
                _ => {
                    return inconsistent("[guest]: boots divides a known number of blocks: say `trials = N` beside it");
                }
            }
        }
        if let Some(shift) = guest.shift.filter(|shift| *shift > MAX_SHIFT) {
            return inconsistent(format!("[guest]: shift = {shift} is over {MAX_SHIFT}, 1024 ns an instruction"));
        }
        if guest.timeout_ns == Some(0) || guest.boot_timeout_ns == Some(0) {
            return inconsistent("[guest]: a timeout of nothing ends every guest: leave it out, or give a time");
        }
        if guest.cpus == Some(0) || guest.sd_llc_size == Some(0) {
            return inconsistent("[guest]: a machine has at least one CPU, and so has its last-level cache");
        }
        let topologies = settings.iter().any(|setting| matches!(setting, Setting::Topology(_)));
        if let (Some(cpus), Some(llc), false) = (guest.cpus, guest.sd_llc_size, topologies)
            && llc > cpus
        {
            return inconsistent(format!("[guest]: sd_llc_size = {llc} is more than its {cpus} CPUs"));
        }
        Ok(())
    }
}

/// Larger seeds are used for arms that are equal to another.
const MAX_FIRST_SEED: u64 = 999_999;

/// The limit of `vm run --shift`, which is QEMU's.
const MAX_SHIFT: u8 = 10;

#[cfg(test)]
mod tests;
