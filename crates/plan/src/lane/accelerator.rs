//! What runs the instructions of a guest of the real lane: KVM or translation, which of them the user wants, and why it
//! is not KVM.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What runs a guest's instructions in the real lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// The host's CPUs, through /dev/kvm.
    Kvm,
    /// Translation, with a host thread for each CPU.
    Tcg,
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Kvm { "kvm" } else { "tcg" })
    }
}

/// What the user wants: `--accel` of `vm`, `accelerator` of a plan's `[guest]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WantedAccelerator {
    /// KVM if it runs the guest's kernel, else translation.
    #[default]
    Auto,
    /// KVM, or an error.
    Kvm,
    /// Translation.
    Tcg,
}

impl WantedAccelerator {
    /// As they are written.
    pub const NAMES: [&str; 3] = ["auto", "kvm", "tcg"];
    pub(super) const ALL: [Self; 3] = [Self::Auto, Self::Kvm, Self::Tcg];
}

impl fmt::Display for WantedAccelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

impl FromStr for WantedAccelerator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().zip(Self::NAMES).find(|(_, name)| *name == text);
        named.map(|(wanted, _)| wanted).ok_or_else(|| format!("`{text}`: give one of {}", Self::NAMES.join(", ")))
    }
}

/// Why a guest of the real lane is translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoKvm {
    /// The user asked for translation.
    Unwanted,
    /// The guest has another architecture than the host, or one for which KVM is not used.
    Foreign,
    /// There is no /dev/kvm.
    Absent,
    /// /dev/kvm cannot be opened.
    Refused,
    /// QEMU ended, or reported that KVM failed, before the guest was up.
    Dies,
    /// The guest's kernel never printed anything.
    Hangs,
}

impl NoKvm {
    pub(super) const ALL: [Self; 6] =
        [Self::Unwanted, Self::Foreign, Self::Absent, Self::Refused, Self::Dies, Self::Hangs];

    /// As one word, as on the guest's command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unwanted => "unwanted",
            Self::Foreign => "foreign",
            Self::Absent => "absent",
            Self::Refused => "refused",
            Self::Dies => "dies",
            Self::Hangs => "hangs",
        }
    }

    /// As a sentence.
    pub fn why(self) -> &'static str {
        match self {
            Self::Unwanted => "it was not wanted (--accel tcg)",
            Self::Foreign => "it is not used for guests of this architecture here",
            Self::Absent => "the host has no /dev/kvm",
            Self::Refused => "the host's /dev/kvm cannot be opened",
            Self::Dies => "a guest of this run died under it",
            Self::Hangs => "the kernel of a guest of this run said nothing under it",
        }
    }
}
