//! Kernels: which ones there are, where they come from, what they need, and the cache that keeps them.

pub mod apt;
pub mod cache;
pub mod config;
pub mod debian;
pub mod image;
pub mod modules;
pub mod payload;
pub mod reference;
pub mod small;

use crate::error::VmError;
use image::{Architecture, Image};
use modules::Module;
use std::path::PathBuf;

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// As the user names it: `debian:6.1`, or a path.
    pub name: String,
    /// The file QEMU is given.
    pub path: PathBuf,
    /// What the file says of itself.
    pub image: Image,
    /// Its checksum: a name may stand for another build tomorrow.
    pub crc32: u32,
    /// Its configuration's text, where it is known.
    pub config: Option<String>,
    /// Modules at hand, with their files.
    pub modules: Vec<(Module, PathBuf)>,
}

impl Kernel {
    /// A kernel file of the user's; `config-RELEASE` or `.config` beside it is its configuration, and no modules.
    pub fn of_file(path: &std::path::Path) -> Result<Self, VmError> {
        let metadata = std::fs::metadata(path).map_err(VmError::file("reading the kernel", path))?;
        if !metadata.is_file() {
            // Reading a device or a pipe may never end.
            return Err(VmError::Refused(format!("{}: not a kernel image: it is not a regular file", path.display())));
        }
        let bytes = std::fs::read(path).map_err(VmError::file("reading the kernel", path))?;
        let image = Image::of_bytes(&bytes).map_err(|why| VmError::Refused(format!("{}: {why}", path.display())))?;
        let beside = |name: &str| std::fs::read_to_string(path.with_file_name(name)).ok();
        let config = beside(&format!("config-{}", image.release)).or_else(|| beside(".config"));
        let name = path.display().to_string();
        let crc32 = crc32fast::hash(&bytes);
        let kernel = Self { name, path: path.to_owned(), image, crc32, config, modules: Vec::new() };
        kernel.check()
    }

    /// Refuses a kernel whose configuration says that its guest could not tell us anything.
    pub(crate) fn check(self) -> Result<Self, VmError> {
        let missing = self.config.as_deref().map(|text| config::missing(text, self.image.architecture));
        match missing.as_deref() {
            Some([first, ..]) => Err(VmError::Refused(format!("{}: {first}", self.name))),
            _ => Ok(self),
        }
    }
}

/// The architecture of this binary's own guests.
pub fn own_architecture() -> Architecture {
    if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X86_64 }
}
