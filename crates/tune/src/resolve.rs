//! From a setting to the kernel's file: dotted sysctl names, debugfs paths, and one name for one idea across versions
//! (`sched_min_granularity_ns` of ≤ 5.12 is `sched/min_granularity_ns` to 6.5 and `sched/base_slice_ns` since 6.6).

use crate::knob::{Knob, chosen, normalise};
use crate::reason::{self, GUEST_LANE};
use crate::roots::Roots;
use schedlab_run::Setting;
use schedlab_run::nearest::nearest;
use std::io;
use std::path::{Path, PathBuf};

/// Where a setting lives here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) knob: Knob,
    /// The text to write, normalised.
    pub(crate) value: String,
    /// The name under which this kernel has it, when that is not the one asked for.
    pub(crate) found_as: Option<String>,
}

/// Places of one idea, oldest first. Sources: kernel/sched/debug.c and kernel/sysctl.c of 5.10, 6.1, 6.12.
const IDEAS: &[&[&str]] = &[
    &["sysctl:kernel.sched_min_granularity_ns", "debugfs:sched/min_granularity_ns", "debugfs:sched/base_slice_ns"],
    &["sysctl:kernel.sched_latency_ns", "debugfs:sched/latency_ns"],
    &["sysctl:kernel.sched_wakeup_granularity_ns", "debugfs:sched/wakeup_granularity_ns"],
    &["sysctl:kernel.sched_tunable_scaling", "debugfs:sched/tunable_scaling"],
    &["sysctl:kernel.sched_migration_cost_ns", "debugfs:sched/migration_cost_ns"],
    &["sysctl:kernel.sched_nr_migrate", "debugfs:sched/nr_migrate"],
    &["sysctl:kernel.numa_balancing_scan_delay_ms", "debugfs:sched/numa_balancing/scan_delay_ms"],
    &["sysctl:kernel.numa_balancing_scan_size_mb", "debugfs:sched/numa_balancing/scan_size_mb"],
];

/// Ideas that EEVDF (6.6) has no more.
const REMOVED: &[&str] = &["latency_ns", "wakeup_granularity_ns", "sched_latency_ns", "sched_wakeup_granularity_ns"];

/// The file and text of a host-wide setting; else why there is none, in words.
pub(crate) fn resolve(roots: &Roots, setting: &Setting) -> Result<Resolved, String> {
    let (knob, found_as, value) = match setting {
        Setting::Sysctl { name, value } => {
            let (path, found_as) = find(roots, &format!("sysctl:{name}"))?;
            refuse_one_way(roots, &path)?;
            (Knob::File { path }, found_as, normalise(value))
        }
        Setting::Debugfs { path, value } => {
            let (path, found_as) = find(roots, &format!("debugfs:{path}"))?;
            (Knob::File { path }, found_as, normalise(value))
        }
        Setting::Autogroup(on) => {
            let name = "sysctl:kernel.sched_autogroup_enabled";
            let why =
                |_| format!("this kernel has no autogroups (CONFIG_SCHED_AUTOGROUP, or `noautogroup`); {GUEST_LANE}");
            (Knob::File { path: find(roots, name).map_err(why)?.0 }, None, u8::from(*on).to_string())
        }
        Setting::Feature { name, on } => {
            let (path, _) = features_file(roots)?;
            let value = format!("{}{name}", if *on { "" } else { "NO_" });
            (feature_knob(path, name)?, None, value)
        }
        Setting::Sysfs { path, value } => {
            let path = crate::sysfs::file(roots, path)?;
            let text = std::fs::read_to_string(&path).map_err(|e| reason::refused(&path, &e, None))?;
            let knob = if chosen(&text).is_some() { Knob::Choice { path } } else { Knob::File { path } };
            (knob, None, normalise(value))
        }
        Setting::Thp(mode) => (crate::sysfs::thp(roots)?, None, mode.name().to_owned()),
        Setting::HaltPoll { ns } => {
            let (knob, found_as) = crate::sysfs::halt_poll(roots)?;
            (knob, Some(found_as), ns.to_string())
        }
        Setting::Cpuidle(states) => {
            let (knob, value) = crate::sysfs::cpuidle(roots, *states)?;
            (knob, None, value)
        }
        Setting::Audit(on) => {
            let value = if *on { "on" } else { "off" };
            (Knob::Audit { path: crate::knob::AUDIT_RULES.into() }, None, value.to_owned())
        }
        other => return Err(format!("`{other}` is no host-wide file; this is a defect of schedlab")),
    };
    Ok(Resolved { knob, value, found_as })
}

/// Sysctls whose old value cannot be written back: writing is an act and no state, or the kernel only lets it go one way
/// until the next boot (Documentation/admin-guide/sysctl). `kernel.unprivileged_bpf_disabled` is stuck at 1 only.
const ONE_WAY: &[&str] = &[
    "kernel/cap_last_cap",
    "kernel/kexec_load_disabled",
    "kernel/kexec_load_limit_panic",
    "kernel/kexec_load_limit_reboot",
    "kernel/modules_disabled",
    "kernel/ns_last_pid",
    "kernel/tainted",
    "kernel/unprivileged_bpf_disabled",
    "kernel/usermodehelper/bset",
    "kernel/usermodehelper/inheritable",
    "kernel/yama/ptrace_scope",
    "fs/binfmt_misc/register",
    "vm/compact_memory",
    "vm/drop_caches",
    "vm/stat_refresh",
];

fn refuse_one_way(roots: &Roots, path: &Path) -> Result<(), String> {
    let name = path.strip_prefix(roots.proc.join("sys")).unwrap_or(path);
    if ONE_WAY.iter().any(|one_way| name == Path::new(one_way)) {
        return Err(format!("{} cannot be put back once it is written, so it is not set here", path.display()));
    }
    Ok(())
}

fn features_file(roots: &Roots) -> Result<(PathBuf, Option<String>), String> {
    // ≤ 5.12 had it at the top of debugfs.
    find(roots, "debugfs:sched/features").or_else(|why| find(roots, "debugfs:sched_features").map_err(|_| why))
}

fn feature_knob(path: PathBuf, word: &str) -> Result<Knob, String> {
    let text = std::fs::read_to_string(&path).map_err(|e| reason::refused(&path, &e, None))?;
    let known: Vec<&str> = text.split_whitespace().map(|w| w.strip_prefix("NO_").unwrap_or(w)).collect();
    if known.contains(&word) {
        return Ok(Knob::Feature { path, word: word.to_owned() });
    }
    let hint = nearest(word, known.iter().copied()).map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default();
    Err(format!("this kernel has no scheduler feature `{word}`{hint}; {GUEST_LANE}"))
}

/// The file of `sysctl:NAME` or `debugfs:PATH`, under whatever name this kernel has it.
fn find(roots: &Roots, place: &str) -> Result<(PathBuf, Option<String>), String> {
    let missing = match exact(roots, place) {
        Ok(path) => return Ok((path, None)),
        Err(why) => why,
    };
    // Rights hide a place as well as absence does: only a place that is absent may be looked for elsewhere.
    for same in IDEAS.iter().find(|same| same.contains(&place)).into_iter().flat_map(|same| same.iter()) {
        match exact(roots, same) {
            Ok(path) => return Ok((path, Some((*same).to_owned()))),
            Err(Missing::Refused(why)) if same.starts_with("debugfs:") => return Err(why),
            Err(_) => {}
        }
    }
    Err(match missing {
        Missing::Refused(why) => why,
        Missing::Absent(why) => match place.rsplit(['.', '/']).next() {
            Some(name) if REMOVED.contains(&name) => {
                format!("`{place}` is not in this kernel (EEVDF, Linux 6.6, removed it); {GUEST_LANE}")
            }
            _ => why,
        },
    })
}

enum Missing {
    Absent(String),
    Refused(String),
}

fn exact(roots: &Roots, place: &str) -> Result<PathBuf, Missing> {
    match place.split_once(':') {
        Some(("sysctl", name)) => sysctl_path(&roots.proc.join("sys"), name).map_err(Missing::Absent),
        Some((_, path)) => debugfs_path(&roots.debugfs, path),
        None => Err(Missing::Absent(format!("`{place}` is no place of a knob"))),
    }
}

fn debugfs_path(root: &Path, path: &str) -> Result<PathBuf, Missing> {
    let full = root.join(path);
    match full.symlink_metadata() {
        Ok(_) => Ok(full),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            Err(Missing::Refused(reason::refused(&full, &e, None)))
        }
        Err(_) => Err(match std::fs::read_dir(root).map(|mut listing| listing.next().is_none()) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Missing::Refused(reason::refused(&full, &e, None)),
            Ok(false) => Missing::Absent(format!(
                "{} does not exist on this kernel{}; {GUEST_LANE}",
                full.display(),
                debugfs_hint(&full)
            )),
            _ => Missing::Refused(format!(
                "debugfs is not mounted: `mount -t debugfs debugfs {}`, as root",
                root.display()
            )),
        }),
    }
}

fn debugfs_hint(full: &Path) -> String {
    let (Some(parent), Some(name)) = (full.parent(), full.file_name().and_then(|n| n.to_str())) else {
        return String::new();
    };
    let names = names_in(parent);
    nearest(name, names.iter().map(String::as_str)).map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default()
}

fn names_in(directory: &Path) -> Vec<String> {
    let listing = std::fs::read_dir(directory).into_iter().flatten().flatten();
    listing.filter_map(|item| item.file_name().into_string().ok()).collect()
}

/// The file of a dotted sysctl name. A dot may also belong to a name (`net.ipv4.conf.eth0.100.rp_filter`), so each
/// directory is asked for the shortest, then for longer parts.
pub(crate) fn sysctl_path(root: &Path, name: &str) -> Result<PathBuf, String> {
    let parts: Vec<&str> = name.split('.').collect();
    if parts.iter().any(|p| p.is_empty() || *p == "..") {
        return Err(format!("`{name}` is not a sysctl name; write it like `kernel.sched_rt_runtime_us`"));
    }
    descend(root, &parts).ok_or_else(|| unknown_sysctl(root, name, &parts))
}

fn descend(directory: &Path, parts: &[&str]) -> Option<PathBuf> {
    (1..=parts.len()).find_map(|taken| {
        let path = directory.join(parts[..taken].join("."));
        match &parts[taken..] {
            [] => path.symlink_metadata().is_ok().then_some(path),
            rest if path.is_dir() => descend(&path, rest),
            _ => None,
        }
    })
}

fn unknown_sysctl(root: &Path, name: &str, parts: &[&str]) -> String {
    let mut directory = root.to_owned();
    let mut depth = 0;
    while depth + 1 < parts.len() && directory.join(parts[depth]).is_dir() {
        directory.push(parts[depth]);
        depth += 1;
    }
    let names = names_in(&directory);
    let hint = nearest(parts[depth], names.iter().map(String::as_str)).map(|near| {
        let mut corrected = parts.to_vec();
        corrected[depth] = near;
        format!(" (did you mean `{}`?)", corrected.join("."))
    });
    format!("this kernel has no sysctl `{name}`{}; {GUEST_LANE}", hint.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> (tempfile::TempDir, Roots) {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots { proc: root.path().join("proc"), debugfs: root.path().join("debug"), ..Roots::default() };
        for (path, text) in [
            ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
            ("proc/sys/net/ipv4/conf/eth0.100/rp_filter", "0"),
            ("debug/sched/base_slice_ns", "2800000"),
            ("debug/sched/features", "WA_IDLE NO_HRTICK"),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        (root, roots)
    }

    fn look_up(spec: &str) -> Result<Resolved, String> {
        let (root, roots) = tree();
        let result = resolve(&roots, &spec.parse().unwrap());
        drop(root);
        result
    }

    #[test]
    fn dots_inside_a_name_are_found() {
        let found = look_up("sysctl:net.ipv4.conf.eth0.100.rp_filter=1").unwrap();
        assert!(found.knob.path().ends_with("conf/eth0.100/rp_filter"));
    }

    #[test]
    fn what_cannot_be_put_back_is_not_set() {
        let (root, roots) = tree();
        for name in ["drop_caches", "swappiness"] {
            let path = root.path().join("proc/sys/vm").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "0").unwrap();
        }
        let why = resolve(&roots, &"sysctl:vm.drop_caches=3".parse().unwrap()).unwrap_err();
        assert!(why.contains("cannot be put back"), "{why}");
        assert!(resolve(&roots, &"sysctl:vm.swappiness=3".parse().unwrap()).is_ok());
    }

    #[test]
    fn a_mistyped_name_gets_a_suggestion_and_the_way_to_a_guest() {
        let why = look_up("sysctl:kernel.sched_rt_runtme_us=1").unwrap_err();
        assert!(why.contains("did you mean `kernel.sched_rt_runtime_us`"), "{why}");
        assert!(why.contains("schedlab vm run"), "{why}");
        let why = look_up("sysctl:kernle.sched_rt_runtime_us=1").unwrap_err();
        assert!(why.contains("did you mean `kernel.sched_rt_runtime_us`"), "{why}");
        assert!(look_up("debugfs:sched/base_slice=1").unwrap_err().contains("`base_slice_ns`"));
        assert!(look_up("feature:WA_IDEL").unwrap_err().contains("`WA_IDLE`"));
    }

    #[test]
    fn an_old_name_finds_the_present_place_and_says_so() {
        for old in ["sysctl:kernel.sched_min_granularity_ns=3000000", "debugfs:sched/min_granularity_ns=3000000"] {
            let found = look_up(old).unwrap();
            assert!(found.knob.path().ends_with("sched/base_slice_ns"));
            assert_eq!(found.found_as.as_deref(), Some("debugfs:sched/base_slice_ns"));
        }
        let why = look_up("debugfs:sched/wakeup_granularity_ns=1").unwrap_err();
        assert!(why.contains("EEVDF"), "{why}");
    }

    #[test]
    fn an_unmounted_debugfs_names_the_mount() {
        let (root, roots) = tree();
        let roots = Roots { debugfs: root.path().join("nowhere"), ..roots };
        let why = resolve(&roots, &"debugfs:sched/base_slice_ns=1".parse().unwrap()).unwrap_err();
        assert!(why.contains("mount -t debugfs"), "{why}");
    }
}
