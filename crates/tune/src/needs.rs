//! Checks before anything is changed: the privileges that settings need, for `--dry-run`, and what this machine can
//! never do.

use crate::cgroup::{self, Version};
use crate::error::TuneError;
use crate::knob::{self, Knob};
use crate::reason;
use crate::resolve::resolve;
use crate::roots::{Roots, effective_uid, has_capability};
use crate::sysctl::impossible_in_namespace;
use crate::task::{self, online_cpus};
use schedlab_plan::{Policy, Setting, counted};
use schedlab_sys::audit::{self, AuditState};
use serde::Serialize;
use std::fmt;
use std::io;
use std::path::Path;

/// What one setting needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The setting, as written.
    pub setting: String,
    /// The right or the place, in words; `None` for most per-task settings.
    pub what: Option<String>,
    /// Whether this process has it; `None` if it is known only by trying.
    pub met: Option<bool>,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(what) = &self.what else { return write!(f, "{}: needs nothing", self.setting) };
        let met = match self.met {
            Some(true) => "have it",
            Some(false) => "MISSING",
            None => "known only by trying",
        };
        write!(f, "{}: needs {what} ({met})", self.setting)
    }
}

const CAP_SYS_ADMIN: u32 = 21;
const CAP_SYS_NICE: u32 = 23;

/// The privileges that the settings need and the knobs that they write, one line each, with whether this process may
/// write them. Writes nothing.
pub fn needs(roots: &Roots, settings: &[Setting]) -> Vec<Need> {
    settings.iter().map(|setting| need(roots, setting)).collect()
}

/// The same for the caller's own network namespace, which `tune set` writes.
pub fn needs_in_own_network(roots: &Roots, settings: &[Setting]) -> Vec<Need> {
    let of = |setting: &Setting| {
        if !setting.is_net_sysctl() {
            return need(roots, setting);
        }
        let (what, met) = a_writable_knob(roots, setting);
        Need { setting: setting.to_string(), what: Some(what), met }
    };
    settings.iter().map(of).collect()
}

fn need(roots: &Roots, setting: &Setting) -> Need {
    let may_raise = has_capability(&roots.proc, CAP_SYS_NICE);
    let (what, met) = match setting {
        Setting::Nice(nice) if *nice < 0 => {
            let allowed = limit(&roots.proc, "Max nice priority").is_some_and(|l| l >= (20 - nice) as u64);
            (format!("CAP_SYS_NICE, or RLIMIT_NICE of at least {}", 20 - nice), Some(may_raise || allowed))
        }
        Setting::Policy(Policy::Fifo(priority) | Policy::Rr(priority)) => {
            let allowed = limit(&roots.proc, "Max realtime priority").is_some_and(|l| l >= u64::from(*priority));
            ("CAP_SYS_NICE, or RLIMIT_RTPRIO".into(), Some(may_raise || allowed))
        }
        Setting::Slice { ns } if *ns > 0 && !task::SLICES_NS.contains(ns) => (task::CLAMPED.into(), Some(false)),
        Setting::Slice { .. } => ("Linux 6.12; no rights".into(), None),
        setting if setting.is_per_task() || setting.is_workload_option() => {
            return Need { setting: setting.to_string(), what: None, met: Some(true) };
        }
        setting if setting.is_net_sysctl() => {
            let is_root = has_capability(&roots.proc, CAP_SYS_ADMIN);
            let looked =
                (is_root && roots.is_this_machine()).then(|| impossible_in_namespace(roots, setting)).flatten();
            match looked {
                Some(why) => (format!("a network namespace that may set it: {why}"), Some(false)),
                None => ("a network namespace: root, or user namespaces".into(), is_root.then_some(true)),
            }
        }
        Setting::Sysctl { .. }
        | Setting::Autogroup(_)
        | Setting::Debugfs { .. }
        | Setting::Feature { .. }
        | Setting::Sysfs { .. }
        | Setting::Thp(_)
        | Setting::HaltPoll { .. }
        | Setting::Cpuidle(_) => a_writable_knob(roots, setting),
        Setting::Trace(_) => ("root and tracefs".into(), Some(has_capability(&roots.proc, CAP_SYS_ADMIN))),
        Setting::Audit(on) => audit_rules(*on, audit::audit_state()),
        Setting::CpuWeight(_) | Setting::CpuQuota { .. } => a_place_for_groups(roots),
        _ => ("a guest, because it is set at boot (a plan with a [guest] table)".into(), Some(false)),
    };
    Need { setting: setting.to_string(), what: Some(what), met }
}

/// The knob as this kernel has it. Opening it for writing changes nothing, and reveals a lockdown.
fn a_writable_knob(roots: &Roots, setting: &Setting) -> (String, Option<bool>) {
    let resolved = match resolve(roots, setting) {
        Ok(resolved) => resolved,
        Err(why) => return (format!("root and a knob: {why}"), Some(false)),
    };
    let at = resolved.knob.path();
    let others = match &resolved.knob {
        Knob::Files { paths } => format!(" and {} like it", counted(paths.len().saturating_sub(1), "files")),
        _ => String::new(),
    };
    let uid = effective_uid(&roots.proc);
    match resolved.knob.open_for_write() {
        Err(e) if uid == Some(0) => {
            (format!("a knob that can be written: {}", reason::refused(at, &e, None)), Some(false))
        }
        // A copied tree has no processes to take a user id from: whoever can open its files may write them.
        opened => {
            let met = uid.map_or(opened.is_ok(), |uid| uid == 0);
            (format!("root, to write {}{others}", at.display()), Some(met))
        }
    }
}

/// Auditing is switched by an audit rule, not by a file. A process that may read its state (CAP_AUDIT_CONTROL) may also
/// change it, unless it is locked.
fn audit_rules(on: bool, state: io::Result<AuditState>) -> (String, Option<bool>) {
    let (what, met) = match state {
        Err(e) => {
            let why = reason::refused(Path::new(knob::AUDIT_RULES), &e, None);
            (format!("CAP_AUDIT_CONTROL and audit rules: {why}"), false)
        }
        Ok(state) if state.enabled == audit::LOCKED => {
            ("audit rules that can be changed: they are locked until the next boot".into(), false)
        }
        Ok(state) if state.enabled == 0 && on => (knob::AUDITING_STAYS_OFF.into(), false),
        Ok(_) => ("CAP_AUDIT_CONTROL, to change the audit rules".into(), true),
    };
    (what, Some(met))
}

/// What the workload named `workload` needs to have cgroups of its own.
pub fn groups_need(roots: &Roots, workload: &str) -> Need {
    let (what, met) = a_place_for_groups(roots);
    Need { setting: workload.to_owned(), what: Some(what), met }
}

fn a_place_for_groups(roots: &Roots) -> (String, Option<bool>) {
    let (place, met) = match cgroup::usable_place(roots) {
        Ok((hierarchy, _)) => (cgroup::describe(&hierarchy), Some(true)),
        Err(why) => (why, Some(false)),
    };
    (format!("root, or a delegated cgroup: {place}"), met)
}

/// Refuses, before a run begins, a workload that spreads its tasks over cgroups if they cannot be created, alone or
/// together with these settings of an arm.
pub fn check_groups(roots: &Roots, settings: &[Setting]) -> Result<(), TuneError> {
    let (hierarchy, _) = cgroup::usable_place(roots).map_err(TuneError::Impossible)?;
    let grouped = settings.iter().any(|s| matches!(s, Setting::CpuWeight(_) | Setting::CpuQuota { .. }));
    if grouped && hierarchy.version == Version::V2 {
        return Err(TuneError::Impossible(cgroup::V2_GROUPS_OF_BOTH.into()));
    }
    Ok(())
}

/// The soft limit of this name in /proc/self/limits; unlimited is `u64::MAX`.
fn limit(proc: &Path, name: &str) -> Option<u64> {
    let text = crate::file::read(proc.join("self/limits")).ok()?;
    let soft = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.to_owned();
    if soft == "unlimited" { Some(u64::MAX) } else { soft.parse().ok() }
}

/// Refuses, before a run begins, settings that are impossible on this machine (such as a CPU that does not exist).
pub fn check(roots: &Roots, settings: &[Setting]) -> Result<(), TuneError> {
    let Some(online) = online_cpus(&roots.sys) else { return Ok(()) };
    for setting in settings {
        if let Setting::Cpus(cpus) = setting
            && let Some(beyond) = cpus.as_slice().iter().find(|c| !online.as_slice().contains(c))
        {
            return Err(TuneError::Impossible(format!(
                "{setting}: CPU {beyond} is not online here: there are {online}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(tree: &tempfile::TempDir, status: &str) -> Roots {
        let own = tree.path().join("proc/self");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("status"), status).unwrap();
        std::fs::write(own.join("limits"), "Max nice priority         25                   25\n").unwrap();
        std::fs::create_dir_all(tree.path().join("proc/sys/kernel")).unwrap();
        std::fs::write(tree.path().join("proc/sys/kernel/sched_rt_runtime_us"), "950000\n").unwrap();
        std::fs::create_dir_all(tree.path().join("sys/devices/system/cpu")).unwrap();
        std::fs::write(tree.path().join("sys/devices/system/cpu/online"), "0-3\n").unwrap();
        Roots { proc: tree.path().join("proc"), sys: tree.path().join("sys"), ..Roots::default() }
    }

    fn met(roots: &Roots, spec: &str) -> Option<bool> {
        needs(roots, &[spec.parse().unwrap()])[0].met
    }

    #[test]
    fn an_ordinary_user_is_told_what_is_missing() {
        let tree = tempfile::tempdir().unwrap();
        let roots = roots(&tree, "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n");
        assert_eq!(met(&roots, "policy=batch"), Some(true));
        assert_eq!(["slice=1us", "slice=0.1ms", "slice=0"].map(|text| met(&roots, text)), [Some(false), None, None]);
        assert_eq!(met(&roots, "policy=fifo:1"), Some(false));
        assert_eq!(met(&roots, "nice=-5"), Some(true), "RLIMIT_NICE of 25 allows -5");
        assert_eq!(met(&roots, "nice=-6"), Some(false));
        assert_eq!(met(&roots, "sysctl:kernel.sched_rt_runtime_us=1"), Some(false));
        let knob = needs(&roots, &["sysctl:kernel.sched_rt_runtime_us=1".parse().unwrap()]).remove(0).to_string();
        assert!(knob.contains("root, to write") && knob.ends_with("sched_rt_runtime_us (MISSING)"), "{knob}");
        let absent = needs(&roots, &["sysctl:kernel.sched_rt_runtme_us=1".parse().unwrap()]).remove(0).to_string();
        assert!(absent.contains("did you mean"), "{absent}");
        assert_eq!(met(&roots, "debugfs:sched/base_slice_ns=1"), Some(false));
        assert_eq!(met(&roots, "sysctl:net.ipv4.tcp_autocorking=0"), None);
        assert_eq!(met(&roots, "option:pin=same"), Some(true), "no host is changed");
        assert_eq!(met(&roots, "thp=never"), Some(false), "nor has this one huge pages");
    }

    #[test]
    fn audit_rules_are_needed_only_where_they_can_be_changed() {
        let state = |enabled| Ok(AuditState { enabled, rules: 1, task_never: false });
        assert_eq!(audit_rules(false, state(1)).1, Some(true));
        assert_eq!(audit_rules(false, state(0)).1, Some(true), "it is off");
        let (why, met) = audit_rules(true, state(0));
        assert!(met == Some(false) && why.contains("next boot"), "{why}");
        assert!(audit_rules(true, state(2)).0.contains("locked"));
        for (errno, expected) in [(1, "root"), (93, "without auditing"), (111, "container")] {
            let (why, met) = audit_rules(false, Err(io::Error::from_raw_os_error(errno)));
            assert!(met == Some(false) && why.contains(expected), "{why}");
        }
    }

    #[test]
    fn idle_states_are_files_of_one_kind() {
        let tree = tempfile::tempdir().unwrap();
        let roots = roots(&tree, "Uid:\t0\t0\t0\t0\nCapEff:\tffffffffffffffff\n");
        for state in ["cpu0/cpuidle/state0", "cpu0/cpuidle/state1", "cpu1/cpuidle/state1"] {
            let state = roots.sys.join("devices/system/cpu").join(state);
            std::fs::create_dir_all(&state).unwrap();
            std::fs::write(state.join("disable"), "0\n").unwrap();
        }
        let need = needs(&roots, &["cpuidle=poll".parse().unwrap()]).remove(0).to_string();
        assert!(need.ends_with("cpu0/cpuidle/state0/disable and 2 files like it (have it)"), "{need}");
    }

    #[test]
    fn a_cpu_beyond_the_machine_is_refused_before_the_run() {
        let tree = tempfile::tempdir().unwrap();
        let roots = roots(&tree, "Uid:\t0\t0\t0\t0\nCapEff:\tffffffffffffffff\n");
        assert!(check(&roots, &["cpus=0-3".parse().unwrap()]).is_ok());
        let why = check(&roots, &["cpus=2-4".parse().unwrap()]).unwrap_err().to_string();
        assert!(why.contains("CPU 4") && why.contains("0-3"), "{why}");
        assert_eq!(met(&roots, "sysctl:kernel.sched_rt_runtime_us=1"), Some(true));
    }

    #[test]
    fn a_network_knob_of_the_caller_is_a_file_and_no_namespace() {
        let tree = tempfile::tempdir().unwrap();
        let roots = roots(&tree, "Uid:\t0\t0\t0\t0\nCapEff:\tffffffffffffffff\n");
        std::fs::create_dir_all(roots.proc.join("sys/net/ipv4")).unwrap();
        std::fs::write(roots.proc.join("sys/net/ipv4/tcp_autocorking"), "1\n").unwrap();
        let settings = ["sysctl:net.ipv4.tcp_autocorking=0".parse().unwrap()];
        let (own, of_trial) = (needs_in_own_network(&roots, &settings), needs(&roots, &settings));
        assert!(own[0].to_string().ends_with("tcp_autocorking (have it)"), "{}", own[0]);
        assert!(of_trial[0].to_string().contains("a network namespace"), "{}", of_trial[0]);
    }
}
