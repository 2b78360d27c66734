//! Which binder device a run uses, and what this kernel's binder can do.

use super::Opener;
use crate::error::BenchError;
use schedlab_sys::binder::{self, Binderfs, DEVICE, Device, Driver};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Directories that a binderfs of our own may cover, in a mount namespace of our own.
const MOUNT_POINTS: [&str; 4] = ["/dev/binderfs", "/mnt", "/srv", "/opt"];

/// How to open the device: the named one; else a device of our own from binderfs; else the kernel's. The control
/// process calls this before the fork, because its children must inherit the mount namespace.
pub(in crate::transport) fn choose(
    workload: &'static str,
    named: Option<&str>,
    proc_root: &Path,
) -> Result<Opener, BenchError> {
    let device = match named {
        Some(path) => PathBuf::from(path),
        None => of_our_own(proc_root).unwrap_or_else(|| PathBuf::from(DEVICE)),
    };
    // Opened once here, so that a machine without binder reports that before anything starts.
    if let Err(error) = Device::open(&device) {
        let (device, hint) = (device.display(), hint(&error));
        let reason = format!(
            "transport=binder: {device}: {error}{hint}; a guest has it: schedlab vm run --kernel debian:6.1 -- bench {workload} \
             --transport binder"
        );
        return Err(BenchError::NotPossibleHere { workload, reason });
    }
    Ok(Arc::new(move || Device::open(&device).map(|device| Arc::new(device) as Arc<dyn Driver>)))
}

fn hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            "; this kernel has no binder (CONFIG_ANDROID_BINDER_IPC; modprobe binder_linux)"
        }
        std::io::ErrorKind::PermissionDenied => "; it needs more rights (root)",
        _ => "",
    }
}

/// A device that no servicemanager has claimed, if the kernel has binderfs and we may mount it.
fn of_our_own(proc_root: &Path) -> Option<PathBuf> {
    if !binder::binderfs_is_known(proc_root) {
        return None;
    }
    let mount_point = MOUNT_POINTS.map(Path::new).into_iter().find(|path| path.is_dir())?;
    Binderfs::mount_own(mount_point).ok().map(|binderfs| binderfs.device().to_owned())
}

/// Whether this kernel's binder passes on real-time policies. Android's does, with a patch that is not in mainline; it
/// adds a tracepoint, whose symbol no compiler can inline away.
pub(in crate::transport) fn inherits_real_time(proc_root: &Path) -> bool {
    const SYMBOL: &[u8] = b" __tracepoint_binder_set_priority";
    let Ok(symbols) = File::open(proc_root.join("kallsyms")) else { return false };
    let lines = BufReader::new(symbols).split(b'\n');
    lines.map_while(Result::ok).any(|line| line.windows(SYMBOL.len()).any(|part| part == SYMBOL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_names_a_guest_that_has_it_in_one_line() {
        let error = choose("transact", Some("/nowhere/binder"), Path::new("/proc")).err().unwrap().to_string();
        assert!(
            error.contains("modprobe binder_linux") && error.contains("schedlab vm run --kernel debian:6.1"),
            "{error}"
        );
        assert!(!error.contains('\n'));
    }

    #[test]
    fn real_time_inheritance_is_told_by_its_tracepoint() {
        let root = std::env::temp_dir().join(format!("schedlab-kallsyms-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let write = |text: &str| std::fs::write(root.join("kallsyms"), text).unwrap();
        write("0000 t binder_transaction\t[binder_linux]\n0000 d __tracepoint_binder_return\t[binder_linux]\n");
        assert!(!inherits_real_time(&root));
        write("0000 t a\n0000 d __tracepoint_binder_set_priority\n0000 t b\n");
        assert!(inherits_real_time(&root));
        std::fs::remove_dir_all(&root).unwrap();
        assert!(!inherits_real_time(&root), "without kallsyms nothing is claimed");
    }
}
