//! Reasons why a setting is not applied, as sentences that say what to do next.

mod value;

use crate::knob::normalise;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use value::{in_use, out_of_limits, too_large, without_unit};

/// The alternative for a knob that does not exist here or is locked, at the end of each such sentence.
pub(crate) const GUEST_LANE: &str = "only a guest with a kernel of its own could vary it (`schedlab vm run -- bench WORKLOAD --set SETTING`, docs/vm.md)";

/// For a network knob: only a look at a new network namespace shows whether an arm can set it.
pub(crate) const AN_ARM_MAY: &str = "; without it an arm of a plan may set it, in the network namespace of its trial";

/// A per-task setting with nearly the same effect, which needs no privileges and no debugfs; suggested if the file
/// cannot be written.
pub(crate) fn per_task(path: &Path) -> &'static str {
    if !path.ends_with("base_slice_ns") {
        return "";
    }
    "use the per-task slice (slice=2ms, as in `schedlab tune set slice=2ms --for -- COMMAND`), or "
}

/// A control file that could not be opened, read or written; `value` is what was to be written, if it came to that.
pub(crate) fn refused(path: &Path, error: &io::Error, value: Option<&str>) -> String {
    let at = path.display();
    let in_debugfs = path.components().any(|part| part.as_os_str() == "debug");
    match (error.raw_os_error(), error.kind()) {
        (Some(EPERM), _) if in_debugfs => {
            format!("{at} is locked down on this kernel, also for root; {}{GUEST_LANE}", per_task(path))
        }
        (Some(EPERM), _) if path.ends_with("tcp_congestion_control") => not_allowed(path, value.unwrap_or_default()),
        (Some(EPERM), _) => {
            format!("access to {at} is denied (lockdown or a container); run on the host as root")
        }
        (Some(EPROTONOSUPPORT), _) => format!("{at} is not there: this kernel runs without auditing; {GUEST_LANE}"),
        (Some(ECONNREFUSED), _) => {
            format!("{at} is hidden from this container; run on the host as root")
        }
        // In sysfs even root can only open a file that has a permission bit for it.
        (_, io::ErrorKind::PermissionDenied) if is_for_nobody(path) => {
            format!("{at} can only be read on this kernel, also by root; {GUEST_LANE}")
        }
        (_, io::ErrorKind::PermissionDenied) if path.to_string_lossy().contains("/sys/net/") => {
            format!("{at} needs root: run with sudo{AN_ARM_MAY}")
        }
        (_, io::ErrorKind::PermissionDenied) => {
            format!("{at} needs root: run with sudo; without it {}{GUEST_LANE}", per_task(path))
        }
        (_, io::ErrorKind::ReadOnlyFilesystem) => {
            format!("{at} is mounted read-only (a container?); run on the host as root")
        }
        (_, io::ErrorKind::IsADirectory) => format!("{at} is a directory of knobs, not a knob; name a file below it"),
        // On a write: what the value names does not exist.
        (_, io::ErrorKind::NotFound) if value.is_some() && path.exists() => {
            not_available(path, value.unwrap_or_default())
        }
        (_, io::ErrorKind::NotFound) => format!("{at} does not exist on this kernel; {GUEST_LANE}"),
        (_, io::ErrorKind::InvalidInput) => {
            let value = value.unwrap_or_default();
            if let Some(plain) = without_unit(path, value) {
                return format!("{at} takes a plain number: {plain} for `{value}`");
            }
            format!("the kernel refuses `{value}` for {at} (EINVAL): {}", out_of_limits(path, value))
        }
        (Some(EBUSY), _) if value.is_some() => {
            format!("the kernel refuses `{}` for {at} (EBUSY): {}", value.unwrap_or_default(), in_use(path))
        }
        (Some(ERANGE), _) if value.is_some() => {
            format!("the kernel refuses `{}` for {at} (ERANGE): {}", value.unwrap_or_default(), too_large(path))
        }
        _ => format!("{at}: {error}"),
    }
}

/// The file that lists the names which a file accepts, and these names.
fn known_names(path: &Path) -> Option<(PathBuf, String)> {
    // Such as net.ipv4.tcp_available_congestion_control for net.ipv4.tcp_congestion_control.
    let (family, what) = path.file_name()?.to_str()?.split_once('_')?;
    let list = path.with_file_name(format!("{family}_available_{what}"));
    let names = normalise(&crate::file::read(&list).ok()?);
    Some((list, names))
}

/// Why a file refuses a name, if another file lists the accepted names; `None` if the name is listed, or there is no
/// list.
pub(crate) fn not_listed(path: &Path, value: &str) -> Option<String> {
    let (_, names) = known_names(path)?;
    (!names.split(' ').any(|name| name == value)).then(|| not_available(path, value))
}

/// The kernel does not know the name of the algorithm or queue; a module may provide it.
fn not_available(path: &Path, value: &str) -> String {
    let known = known_names(path).map(|(list, names)| format!(" {} lists {names};", list.display()));
    format!(
        "`{value}` is not available for {} (ENOENT):{} load its module, or build a kernel with it",
        path.display(),
        known.unwrap_or_default()
    )
}

/// Outside the first network namespace only algorithms that every user may use can be the default
/// (net/ipv4/tcp_cong.c).
fn not_allowed(path: &Path, value: &str) -> String {
    const LIST: &str = "tcp_allowed_congestion_control";
    let allowed = crate::file::read(path.with_file_name(LIST)).map(|names| normalise(&names)).unwrap_or_default();
    format!(
        "in a network namespace of its own only what {LIST} lists may be set ({allowed}): first `schedlab tune set \
         'sysctl:net.ipv4.{LIST}={allowed} {value}'`, as root"
    )
}

pub(crate) fn is_for_nobody(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.mode() & 0o222 == 0)
}

/// EPERM, which Rust maps to `PermissionDenied` like EACCES: EPERM means a lockdown, EACCES missing privileges.
const EPERM: i32 = 1;
/// The value takes what something that runs already has.
const EBUSY: i32 = 16;
/// A number that does not fit into the kernel's variable.
const ERANGE: i32 = 34;
/// A netlink family that this kernel does not have.
const EPROTONOSUPPORT: i32 = 93;
/// A netlink family that only serves processes outside of our namespaces.
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
        assert!(say("/proc/sys/net/ipv4/tcp_congestion_control", 1).contains("tcp_allowed_congestion_control="));
        assert!(say("/proc/sys/kernel/x", 2).contains("schedlab vm run"));
        assert!(say("/proc/sys/kernel/x", 22).contains("`9`"));
        assert!(say("/proc/sys/kernel/x", 30).contains("read-only"));
    }

    #[test]
    fn a_refused_value_is_told_the_range_and_the_knob_that_limits_it() {
        let say = |path: &str| refused(Path::new(path), &io::Error::from_raw_os_error(22), Some("9"));
        let runtime = say("/proc/none/kernel/sched_rt_runtime_us");
        assert!(
            runtime.ends_with("(EINVAL): rt_runtime takes -1 to rt_period us; rt_period: at most that"),
            "{runtime}"
        );
        // Below the period, which is 1000000 or more on the machines that run this test.
        let share = say("/proc/sys/kernel/sched_rt_runtime_us");
        assert!(share.contains("CONFIG_RT_GROUP_SCHED") && share.contains("root group"), "{share}");
        let wakeup = say("/sys/kernel/debug/sched/wakeup_granularity_ns");
        assert!(wakeup.ends_with("(EINVAL): wakeup_granularity takes 0 to 1000000000 ns"), "{wakeup}");
        assert!(say("/proc/sys/kernel/x").ends_with("limited by another knob"));
    }

    #[test]
    fn a_refused_number_is_told_its_upper_bound_and_a_word_that_it_is_none() {
        let say = |name: &str, value| {
            refused(&Path::new("/proc/sys/net/core").join(name), &io::Error::from_raw_os_error(22), Some(value))
        };
        assert!(say("somaxconn", "-7").ends_with("somaxconn takes 0 to 2147483647 connections"));
        assert!(say("somaxconn", "abc").ends_with("connections, not `abc`"));
        let backlog = say("netdev_max_backlog", "99999999999999");
        assert!(backlog.contains("takes 0 packets or more; ") && backlog.contains("at most 2147483647"), "{backlog}");
        assert!(!say("netdev_max_backlog", "-7").contains("32 bits"));
    }

    #[test]
    fn a_name_that_the_kernel_does_not_know_is_told_with_those_that_it_does() {
        let tree = tempfile::tempdir().unwrap();
        let file = tree.path().join("tcp_congestion_control");
        let say = || refused(&file, &io::Error::from_raw_os_error(2), Some("vegas"));
        assert!(say().contains("does not exist on this kernel"), "{}", say());
        std::fs::write(&file, "cubic\n").unwrap();
        assert!(say().starts_with("`vegas` is not available for ") && !say().contains("does not exist"), "{}", say());
        std::fs::write(tree.path().join("tcp_available_congestion_control"), "reno bbr\tcubic\n").unwrap();
        assert!(say().contains("tcp_available_congestion_control lists reno bbr cubic;"), "{}", say());
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
