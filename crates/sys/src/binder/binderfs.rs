//! Binder devices of our own through binderfs, so that another context manager (Android's servicemanager) cannot
//! interfere. Source: Documentation/admin-guide/binderfs.rst, include/uapi/linux/android/binderfs.h.

use super::ioctl;
use crate::namespace;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The device on a kernel without binderfs, or with binderfs mounted where Android mounts it.
pub const DEVICE: &str = "/dev/binder";

/// `struct binderfs_device`.
#[repr(C)]
struct NewDevice {
    name: [u8; 256],
    major: u32,
    minor: u32,
}
const BINDER_CTL_ADD: u32 = 0xc108_6201;
const _: () = assert!(size_of::<NewDevice>() == 0x108);

/// A device in a binderfs that is private to the calling process: mount and device disappear when the last process in
/// the mount namespace ends, however it ends.
#[derive(Debug)]
pub struct Binderfs {
    device: PathBuf,
}

impl Binderfs {
    /// Moves the caller (one thread, nothing forked) into a mount namespace of its own, mounts binderfs over
    /// `mount_point` there and adds a device. `ENODEV` when the kernel has no binderfs, `EPERM` without CAP_SYS_ADMIN.
    pub fn mount_own(mount_point: &Path) -> io::Result<Self> {
        namespace::enter_new_mount()?;
        namespace::mount_with_devices("binder", mount_point, "binder")?;
        let control: OwnedFd = fs::File::open(mount_point.join("binder-control"))?.into();
        let mut wanted = NewDevice { name: [0; 256], major: 0, minor: 0 };
        let name = b"schedlab";
        wanted.name[..name.len()].copy_from_slice(name);
        ioctl(&control, BINDER_CTL_ADD, &mut wanted)?;
        Ok(Self { device: mount_point.join("schedlab") })
    }

    /// The device's path.
    pub fn device(&self) -> &Path {
        &self.device
    }
}

/// Whether this kernel has the file system, according to `/proc/filesystems`.
pub fn is_known(proc_root: &Path) -> bool {
    let known = fs::read_to_string(proc_root.join("filesystems")).unwrap_or_default();
    known.lines().any(|line| line.split_whitespace().last() == Some("binder"))
}
