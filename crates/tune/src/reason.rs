//! Why a setting is not in force, in a sentence that says what to do next.

use std::io;
use std::path::Path;

/// Where a knob could be varied that does not exist here or is locked: every sentence of that kind ends with it.
pub(crate) const GUEST_LANE: &str =
    "only a guest with a kernel of its own could vary it (`schedlab vm run`, docs/vm.md)";

/// A control file that could not be opened, read or written; `value` is what was to be written, if it came to that.
pub(crate) fn refused(path: &Path, error: &io::Error, value: Option<&str>) -> String {
    let at = path.display();
    let in_debugfs = path.components().any(|part| part.as_os_str() == "debug");
    match (error.raw_os_error(), error.kind()) {
        (Some(EPERM), _) if in_debugfs => format!(
            "{at} is locked down on this kernel, also for root; use the per-task slice (slice=2ms); {GUEST_LANE}"
        ),
        (Some(EPERM), _) => {
            format!("{at} is barred here (lockdown or a container); run on the host as root")
        }
        (Some(EPROTONOSUPPORT), _) => format!("{at} is not there: this kernel runs without auditing; {GUEST_LANE}"),
        (Some(ECONNREFUSED), _) => {
            format!("{at} is hidden from this container; run on the host as root")
        }
        (_, io::ErrorKind::PermissionDenied) => format!("{at} needs root: run with sudo"),
        (_, io::ErrorKind::ReadOnlyFilesystem) => {
            format!("{at} is mounted read-only (a container?); run on the host as root")
        }
        (_, io::ErrorKind::IsADirectory) => format!("{at} is a directory of knobs, not a knob; name a file below it"),
        (_, io::ErrorKind::NotFound) => format!("{at} does not exist on this kernel; {GUEST_LANE}"),
        (_, io::ErrorKind::InvalidInput) => {
            let value = value.unwrap_or_default();
            format!(
                "the kernel refuses `{value}` for {at} (EINVAL): it is out of range, or bound to another knob's value"
            )
        }
        _ => format!("{at}: {error}"),
    }
}

/// EPERM, which Rust folds into `PermissionDenied` together with EACCES: the first is a lock, the second missing rights.
const EPERM: i32 = 1;
/// A netlink family that nobody in the kernel serves.
const EPROTONOSUPPORT: i32 = 93;
/// One that is served outside of our namespaces only.
const ECONNREFUSED: i32 = 111;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lockdown_and_missing_rights_are_told_apart() {
        let say = |path: &str, errno| refused(Path::new(path), &io::Error::from_raw_os_error(errno), Some("9"));
        assert!(say("/sys/kernel/debug/sched/base_slice_ns", 1).contains("slice=2ms"));
        assert!(say("/sys/kernel/debug/sched/base_slice_ns", 13).contains("sudo"));
        assert!(say("/proc/sys/kernel/x", 1).contains("on the host as root"));
        assert!(say("/proc/sys/kernel/x", 2).contains("schedlab vm run"));
        assert!(say("/proc/sys/kernel/x", 22).contains("`9`"));
        assert!(say("/proc/sys/kernel/x", 30).contains("read-only"));
    }
}
