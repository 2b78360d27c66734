//! The file systems of a guest.

use schedlab_sys::namespace;
use std::fs;
use std::io;
use std::path::Path;

/// Mount point, file system type, and whether it needs device nodes.
struct Mount {
    target: &'static str,
    fstype: &'static str,
    devices: bool,
}

const fn plain(target: &'static str, fstype: &'static str) -> Mount {
    Mount { target, fstype, devices: false }
}

const fn with_devices(target: &'static str, fstype: &'static str) -> Mount {
    Mount { target, fstype, devices: true }
}

/// Nothing works without these. (A kernel without devtmpfs uses the device nodes in the initramfs.)
const ESSENTIAL: &[Mount] = &[plain("/proc", "proc"), plain("/sys", "sysfs")];

/// Workloads, settings and counters use these if the kernel has them.
const OTHERS: &[Mount] = &[
    with_devices("/dev/pts", "devpts"),
    plain("/dev/shm", "tmpfs"),
    plain("/sys/fs/cgroup", "cgroup2"),
    plain("/sys/kernel/debug", "debugfs"),
    plain("/sys/kernel/tracing", "tracefs"),
];

impl Mount {
    fn mount(&self) -> io::Result<()> {
        let target = Path::new(self.target);
        // The directory exists in sysfs, unless the kernel has no such file system.
        if !target.exists() {
            fs::create_dir(target)?;
        }
        let mount = if self.devices { namespace::mount_with_devices } else { namespace::mount };
        mount(self.fstype, target, self.fstype)
    }
}

/// Mounts the file systems that the first steps need.
pub(super) fn essential() -> Result<(), String> {
    for mount in ESSENTIAL {
        mount.mount().map_err(|e| format!("{} cannot be mounted: {e}", mount.target))?;
    }
    // Mounted over the initramfs's device nodes if the kernel has it.
    let _ = with_devices("/dev", "devtmpfs").mount();
    Ok(())
}

/// Mounts the others; returns a sentence for each that failed although the kernel has it.
pub(super) fn others() -> Vec<String> {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let knows = |fstype: &str| known.lines().any(|line| line.split_whitespace().last() == Some(fstype));
    let mounts = OTHERS.iter().filter(|mount| knows(mount.fstype));
    mounts.filter_map(|m| m.mount().err().map(|e| format!("{} cannot be mounted: {e}", m.target))).collect()
}
