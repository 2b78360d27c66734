//! The file systems of a guest.

use schedlab_sys::namespace;
use std::fs;
use std::io;
use std::path::Path;

/// Where, of what type, and whether it has device nodes.
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

/// Nothing works without these. (A kernel without devtmpfs has the nodes of the initramfs.)
const ESSENTIAL: &[Mount] = &[plain("/proc", "proc"), plain("/sys", "sysfs")];

/// Workloads, settings and counters use these where the kernel has them.
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
        // Below sysfs the directory is there, or the kernel has no such file system.
        if !target.exists() {
            fs::create_dir(target)?;
        }
        let mount = if self.devices { namespace::mount_with_devices } else { namespace::mount };
        mount(self.fstype, target, self.fstype)
    }
}

/// Mounts what the first steps need.
pub(super) fn essential() -> Result<(), String> {
    for mount in ESSENTIAL {
        mount.mount().map_err(|e| format!("{} cannot be mounted: {e}", mount.target))?;
    }
    // Over the nodes of the initramfs, where the kernel has it.
    let _ = with_devices("/dev", "devtmpfs").mount();
    Ok(())
}

/// Mounts the rest; a sentence for each that failed although the kernel has it.
pub(super) fn others() -> Vec<String> {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let knows = |fstype: &str| known.lines().any(|line| line.split_whitespace().last() == Some(fstype));
    let mounts = OTHERS.iter().filter(|mount| knows(mount.fstype));
    mounts.filter_map(|m| m.mount().err().map(|e| format!("{} cannot be mounted: {e}", m.target))).collect()
}
