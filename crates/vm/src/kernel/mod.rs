//! Kernels: which ones there are, where they come from, what they need, and the cache that keeps them.

pub(crate) mod apt;
pub mod cache;
pub mod config;
pub mod debian;
pub mod image;
pub mod mirrors;
pub mod modules;
pub mod payload;
pub mod reference;
pub mod small;

use crate::error::{READING_KERNEL, VmError};
use image::{Architecture, Image};
use modules::Module;
use schedlab_plan::KernelSource;
use std::path::{Path, PathBuf};

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// As the user names it: `debian:6.1`, or a path.
    pub name: String,
    /// The file QEMU is given.
    pub path: PathBuf,
    /// What the file's own headers contain.
    pub image: Image,
    /// Its checksum, because a name may stand for another build later.
    pub crc32: u32,
    /// Where it came from.
    pub source: KernelSource,
    /// The text of its configuration, if it is known.
    pub config: Option<String>,
    /// The System.map of a build of ours, for a kernel that does not show its symbols itself.
    pub symbols: Option<PathBuf>,
    /// Available modules, with their files.
    pub modules: Vec<(Module, PathBuf)>,
}

impl Kernel {
    /// A kernel file of the user's, without modules.
    pub fn of_file(path: &Path) -> Result<Self, VmError> {
        let metadata = std::fs::metadata(path).map_err(VmError::file(READING_KERNEL, path))?;
        if !metadata.is_file() {
            // Reading a device or a pipe might never end.
            return Err(VmError::Refused(format!("{}: not a kernel image: it is not a regular file", path.display())));
        }
        let bytes = std::fs::read(path).map_err(VmError::file(READING_KERNEL, path))?;
        let image = Image::of_bytes(&bytes).map_err(|why| VmError::Refused(format!("{}: {why}", path.display())))?;
        let config = config_of(path, &image.release);
        let name = path.display().to_string();
        let crc32 = crc32fast::hash(&bytes);
        let (path, source) = (path.to_owned(), KernelSource::File);
        Self { name, path, image, crc32, source, config, symbols: None, modules: Vec::new() }.check()
    }

    /// Refuses a kernel whose configuration shows that its guest could not communicate with us.
    pub(crate) fn check(self) -> Result<Self, VmError> {
        let missing = self.config.as_deref().map(|text| config::missing(text, self.image.architecture));
        match missing.as_deref() {
            Some([first, ..]) => Err(VmError::Refused(format!("{}: {first}", self.name))),
            _ => Ok(self),
        }
    }
}

/// The configuration of a kernel file: `config-RELEASE` or `.config` next to it, or that of the build tree in whose
/// `arch/ARCH/boot` it lies.
fn config_of(path: &Path, release: &str) -> Option<String> {
    let beside = |name: &str| std::fs::read_to_string(path.with_file_name(name)).ok();
    let of_tree = || {
        let boot = path.parent().filter(|parent| parent.ends_with("boot"))?;
        let arch = boot.parent()?.parent().filter(|arch| arch.ends_with("arch"))?;
        std::fs::read_to_string(arch.with_file_name(".config")).ok()
    };
    beside(&format!("config-{release}")).or_else(|| beside(".config")).or_else(of_tree)
}

/// The architecture of this binary's own guests.
pub fn own_architecture() -> Architecture {
    if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X86_64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_found_beside_the_kernel_and_in_its_build_tree() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("arch/x86/boot")).unwrap();
        std::fs::write(at(".config"), "tree").unwrap();
        let of = |name: &str| config_of(&at(name), "6.1.1");
        assert_eq!(of("arch/x86/boot/bzImage").as_deref(), Some("tree"));
        assert_eq!(of("vmlinux").as_deref(), Some("tree"));
        assert_eq!(of("arch/x86/vmlinux.bin"), None);
        std::fs::write(at("arch/x86/boot/config-6.1.1"), "beside").unwrap();
        assert_eq!(of("arch/x86/boot/bzImage").as_deref(), Some("beside"));
    }
}
