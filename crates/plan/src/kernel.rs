//! The kernels that guests of a run were booted with, so that others can get the same ones.

use serde::{Deserialize, Serialize};

/// A kernel, and the arms that ran on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootedKernel {
    /// Arms, as indices.
    pub arms: Vec<u32>,
    /// As the plan names it: `debian:6.1`, `build:linux-6.1+patch`, or a path.
    pub name: String,
    /// `uname -r`.
    pub release: String,
    /// CRC-32 of the image that was booted, eight hexadecimal digits: two builds of one name differ in it.
    pub crc32: String,
    /// Where it came from.
    pub source: KernelSource,
}

/// Where a kernel came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum KernelSource {
    /// Packages of Debian, that of the image first.
    Debian {
        /// At least one.
        packages: Vec<KernelPackage>,
    },
    /// Built by `vm build`.
    Build {
        /// The source's version as the kernel says it, `6.1.192`.
        version: String,
        /// The whole `.config`.
        config: String,
        /// Patches on top of the source, in order, each as it was given.
        patches: Vec<String>,
    },
    /// A file of the user's: only its checksum is known.
    File,
}

/// A package that a kernel came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelPackage {
    /// `linux-image-6.1.0-50-amd64`.
    pub name: String,
    /// `6.1.192-1`.
    pub version: String,
    /// Its SHA-256.
    pub sha256: String,
}
