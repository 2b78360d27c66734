//! Why a setting is not applied, in a sentence that says what to do next.

use crate::catalogue::row_of_file;
use schedlab_plan::units::parse_duration_ns;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Where a knob could be varied that does not exist here or is locked: every sentence of that kind ends with it.
pub(crate) const GUEST_LANE: &str =
    "only a guest with a kernel of its own could vary it (`schedlab vm run`, docs/vm.md)";

/// A control file that could not be opened, read or written; `value` is what was to be written, if it came to that.
pub(crate) fn refused(path: &Path, error: &io::Error, value: Option<&str>) -> String {
    let at = path.display();
    let in_debugfs = path.components().any(|part| part.as_os_str() == "debug");
    match (error.raw_os_error(), error.kind()) {
        (Some(EPERM), _) if in_debugfs => {
            let instead = if path.ends_with("base_slice_ns") { "use the per-task slice (slice=2ms); " } else { "" };
            format!("{at} is locked down on this kernel, also for root; {instead}{GUEST_LANE}")
        }
        (Some(EPERM), _) => {
            format!("access to {at} is denied (lockdown or a container); run on the host as root")
        }
        (Some(EPROTONOSUPPORT), _) => format!("{at} is not there: this kernel runs without auditing; {GUEST_LANE}"),
        (Some(ECONNREFUSED), _) => {
            format!("{at} is hidden from this container; run on the host as root")
        }
        // Of sysfs root opens only what has a bit for it.
        (_, io::ErrorKind::PermissionDenied) if is_for_nobody(path) => {
            format!("{at} can only be read on this kernel, also by root; {GUEST_LANE}")
        }
        (_, io::ErrorKind::PermissionDenied) => format!("{at} needs root: run with sudo"),
        (_, io::ErrorKind::ReadOnlyFilesystem) => {
            format!("{at} is mounted read-only (a container?); run on the host as root")
        }
        (_, io::ErrorKind::IsADirectory) => format!("{at} is a directory of knobs, not a knob; name a file below it"),
        (_, io::ErrorKind::NotFound) => format!("{at} does not exist on this kernel; {GUEST_LANE}"),
        (_, io::ErrorKind::InvalidInput) => {
            let value = value.unwrap_or_default();
            if let Some(plain) = without_unit(path, value) {
                return format!("{at} takes a plain number: {plain} for `{value}`");
            }
            let limits = row_of_file(path).and_then(|row| row.limits());
            let limits = limits.unwrap_or_else(|| "it is out of range, or limited by another knob".into());
            format!("the kernel refuses `{value}` for {at} (EINVAL): {limits}")
        }
        _ => format!("{at}: {error}"),
    }
}

fn is_for_nobody(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.mode() & 0o222 == 0)
}

/// A time as the plain number that a knob whose name ends with its unit takes.
fn without_unit(path: &Path, value: &str) -> Option<u64> {
    let (_, unit) = path.file_name()?.to_str()?.rsplit_once('_')?;
    let ns_each = match unit {
        "ns" => 1,
        "us" => 1000,
        "ms" => 1_000_000,
        _ => return None,
    };
    let has_unit = value.trim().ends_with(|c: char| c.is_ascii_alphabetic());
    let ns = parse_duration_ns(value.trim()).ok().filter(|ns| has_unit && ns % ns_each == 0)?;
    Some(ns / ns_each)
}

/// EPERM, which Rust folds into `PermissionDenied` together with EACCES: the first is a lock, the second missing rights.
const EPERM: i32 = 1;
/// A netlink family that this kernel does not have.
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
        let features = say("/sys/kernel/debug/sched/features", 1);
        assert!(features.contains("locked down") && !features.contains("slice=") && features.contains("vm run"));
        assert!(say("/sys/kernel/debug/sched/base_slice_ns", 13).contains("sudo"));
        assert!(say("/proc/version", 13).contains("can only be read on this kernel, also by root"));
        assert!(say("/proc/sys/kernel/x", 1).contains("on the host as root"));
        assert!(say("/proc/sys/kernel/x", 2).contains("schedlab vm run"));
        assert!(say("/proc/sys/kernel/x", 22).contains("`9`"));
        assert!(say("/proc/sys/kernel/x", 30).contains("read-only"));
    }

    #[test]
    fn a_refused_value_is_told_the_range_and_the_knob_that_limits_it() {
        let say = |path: &str| refused(Path::new(path), &io::Error::from_raw_os_error(22), Some("9"));
        let runtime = say("/proc/sys/kernel/sched_rt_runtime_us");
        assert!(
            runtime.ends_with("(EINVAL): rt_runtime takes -1 to rt_period us; rt_period: at most that"),
            "{runtime}"
        );
        let wakeup = say("/sys/kernel/debug/sched/wakeup_granularity_ns");
        assert!(wakeup.ends_with("(EINVAL): wakeup_granularity takes 0 to 1000000000 ns"), "{wakeup}");
        assert!(say("/proc/sys/kernel/x").ends_with("limited by another knob"));
    }

    #[test]
    fn a_time_with_its_unit_for_a_knob_of_plain_numbers_is_told_as_the_number() {
        let say = |path: &str, value| refused(Path::new(path), &io::Error::from_raw_os_error(22), Some(value));
        let knob = "/sys/kernel/debug/sched/base_slice_ns";
        assert!(say(knob, "10ms").ends_with("takes a plain number: 10000000 for `10ms`"), "{}", say(knob, "10ms"));
        assert!(say("/proc/sys/kernel/sched_rt_period_us", "1s").contains("1000000 for `1s`"));
        for (knob, value) in [
            (knob, "1"),
            (knob, "many"),
            ("/proc/sys/kernel/sched_rt_period_us", "5ns"),
            ("/proc/sys/kernel/x", "10ms"),
        ] {
            assert!(say(knob, value).contains("EINVAL"), "{knob} {value}");
        }
    }
}
