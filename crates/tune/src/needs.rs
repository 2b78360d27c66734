//! Before anything is touched: what rights settings need, for `--dry-run`, and what this machine can never do.

use crate::error::TuneError;
use crate::roots::{Roots, effective_uid, has_capability};
use crate::task::online_cpus;
use schedlab_run::{Policy, Setting};
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// What one setting needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The setting, as written.
    pub setting: String,
    /// The right or the place, in words; `nothing` for most per-task settings.
    pub what: String,
    /// Whether this process has it; `None` when only trying tells.
    pub met: Option<bool>,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let met = match self.met {
            Some(true) => "have it",
            Some(false) => "MISSING",
            None => "only trying tells",
        };
        write!(f, "{}: needs {} ({met})", self.setting, self.what)
    }
}

const CAP_SYS_ADMIN: u32 = 21;
const CAP_SYS_NICE: u32 = 23;

/// What rights the settings need, one line each, with whether this process has them. Nothing is tried or written.
pub fn needs(roots: &Roots, settings: &[Setting]) -> Vec<Need> {
    settings.iter().map(|setting| need(roots, setting)).collect()
}

fn need(roots: &Roots, setting: &Setting) -> Need {
    let root = effective_uid(&roots.proc) == Some(0);
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
        Setting::Slice { .. } => ("Linux 6.12; no rights".into(), None),
        setting if setting.is_per_task() => ("nothing".into(), Some(true)),
        setting if setting.is_net_sysctl() => {
            let met = has_capability(&roots.proc, CAP_SYS_ADMIN).then_some(true);
            ("a network namespace: root, or user namespaces".into(), met)
        }
        Setting::Sysctl { .. }
        | Setting::Autogroup(_)
        | Setting::Sysfs { .. }
        | Setting::Thp(_)
        | Setting::HaltPoll { .. }
        | Setting::Cpuidle(_) => ("root".into(), Some(root)),
        Setting::Audit(_) => {
            ("CAP_AUDIT_CONTROL, and an audit state that is not locked".into(), root.then_some(true).or(Some(false)))
        }
        setting if setting.is_workload_option() => ("nothing".into(), Some(true)),
        Setting::Debugfs { .. } | Setting::Feature { .. } => {
            let met = if root { None } else { Some(false) };
            ("root, a mounted debugfs, and a kernel that is not locked down".into(), met)
        }
        Setting::CpuWeight(_) | Setting::CpuQuota { .. } => {
            let place = crate::cgroup::hierarchy(roots).map(|h| crate::cgroup::describe(&h));
            let met = match (&place, root) {
                (Err(_), _) => Some(false),
                (Ok(_), true) => Some(true),
                (Ok(_), false) => None,
            };
            let place = place.unwrap_or_else(|why| why);
            (format!("root, or a delegated cgroup: {place}"), met)
        }
        _ => ("the guest lane: `schedlab vm run`".into(), Some(false)),
    };
    Need { setting: setting.to_string(), what, met }
}

/// The soft limit of that name in /proc/self/limits; unlimited is `u64::MAX`.
fn limit(proc: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(proc.join("self/limits")).ok()?;
    let soft = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.to_owned();
    if soft == "unlimited" { Some(u64::MAX) } else { soft.parse().ok() }
}

/// Refuses what cannot be meant for this machine (a CPU that is not there), before a run begins.
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
        assert_eq!(met(&roots, "policy=fifo:1"), Some(false));
        assert_eq!(met(&roots, "nice=-5"), Some(true), "RLIMIT_NICE of 25 allows -5");
        assert_eq!(met(&roots, "nice=-6"), Some(false));
        assert_eq!(met(&roots, "sysctl:kernel.sched_rt_runtime_us=1"), Some(false));
        assert_eq!(met(&roots, "debugfs:sched/base_slice_ns=1"), Some(false));
        assert_eq!(met(&roots, "sysctl:net.ipv4.tcp_autocorking=0"), None);
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
}
