//! The catalogue: which knobs this kernel has, with their present values, units and meanings.
//!
//! The lists below only describe; what is shown is discovered: every `kernel.sched_*` sysctl, every file below debugfs
//! `sched/`, every feature word. A described knob that is not here is shown with the reason.

use crate::cgroup;
use crate::knob::normalise;
use crate::reason;
use crate::resolve::resolve;
use crate::roots::Roots;
use crate::sysctl::in_own_words;
use crate::task;
use schedlab_run::Setting;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// One knob of this kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnobValue {
    /// As written in a SPEC: `sysctl:kernel.sched_rt_runtime_us`, `slice`.
    pub name: String,
    /// The kernel's file or system call.
    pub path: String,
    /// Present value; `None` with a reason.
    pub value: Option<String>,
    /// Why there is no value.
    pub reason: Option<String>,
    /// `us`, `ns`, `0|1`, empty when it has none.
    pub unit: String,
    /// What it does.
    pub meaning: String,
}

/// Name, unit, meaning of sysctls below `kernel.`.
const SYSCTLS: &[(&str, &str, &str)] = &[
    ("sched_autogroup_enabled", "0|1", "one task group per session; acts on tasks forked after the change"),
    ("sched_cfs_bandwidth_slice_us", "us", "quota handed to a CPU at a time"),
    ("sched_child_runs_first", "0|1", "a forked child runs before its parent (gone by 6.12)"),
    ("sched_deadline_period_max_us", "us", "longest period of a deadline task"),
    ("sched_deadline_period_min_us", "us", "shortest period of a deadline task"),
    ("sched_energy_aware", "0|1", "energy-aware placement on asymmetric CPUs"),
    ("sched_rr_timeslice_ms", "ms", "time slice of SCHED_RR"),
    ("sched_rt_period_us", "us", "period of the real-time throttle"),
    ("sched_rt_runtime_us", "us", "real-time CPU time per period; -1 lifts the throttle; at most the period"),
    ("sched_schedstats", "0|1", "scheduler statistics in /proc/<pid>/sched; costs time"),
    ("sched_util_clamp_max", "0-1024", "highest utilization a task may claim"),
    ("sched_util_clamp_min", "0-1024", "highest minimum a task may claim"),
    ("sched_util_clamp_min_rt_default", "0-1024", "minimum of real-time tasks"),
    ("numa_balancing", "0|1|2", "automatic NUMA balancing"),
];

/// The same below debugfs `sched/`.
const DEBUGFS: &[(&str, &str, &str)] = &[
    (
        "base_slice_ns",
        "ns",
        "slice of a fair task (6.6+; min_granularity_ns before); below a tick it acts only through wake-ups",
    ),
    ("min_granularity_ns", "ns", "least time a fair task runs (5.13 to 6.5)"),
    ("latency_ns", "ns", "period in which every task runs once (5.13 to 6.5)"),
    ("wakeup_granularity_ns", "ns", "lead a waking task needs to preempt (5.13 to 6.5)"),
    ("migration_cost_ns", "ns", "a task that ran this recently is cache-hot"),
    ("nr_migrate", "tasks", "tasks moved in one balancing pass with interrupts off"),
    ("tunable_scaling", "0|1|2", "scaling of the slice with CPUs: none, logarithmic, linear"),
    ("preempt", "", "preemption model (PREEMPT_DYNAMIC)"),
    ("features", "", "scheduler features; set one with feature:NAME or feature:NO_NAME"),
];

/// Every knob of this kernel: tasks, sysctls, debugfs, cgroup.
pub fn show(roots: &Roots) -> Vec<KnobValue> {
    let mut knobs = of_tasks();
    knobs.extend(sysctls(roots));
    knobs.extend(debugfs(roots));
    knobs.extend(of_cgroup(roots));
    knobs.extend(of_machine(roots));
    knobs
}

/// Influences beside the scheduler that a context switch feels.
fn of_machine(roots: &Roots) -> Vec<KnobValue> {
    const MACHINE: &[(&str, &str)] = &[
        ("thp=never", "transparent huge pages: always, madvise, never"),
        ("halt_poll=0ns", "how long a CPU polls before it halts: a guest's own, or what kvm does for its guests"),
        ("cpuidle=all", "idle states CPUs may enter: all, or poll (state 0 only)"),
        ("audit=off", "system calls are audited; the slow path of each, also without a rule"),
    ];
    let of_machine = |&(example, meaning): &(&str, &str)| {
        let setting: Setting = example.parse().expect("a constant of this file");
        let shown = resolve(roots, &setting).and_then(|found| {
            let refused = |e| reason::refused(found.knob.path(), &e, None);
            let present = found.knob.read().map_err(refused)?;
            let words = in_own_words(&setting, &found, &present);
            Ok((found.knob.path().to_owned(), words.split_once('=').map(|(_, v)| v.to_owned()).unwrap_or_default()))
        });
        let path = shown.as_ref().map(|(path, _)| path.display().to_string()).unwrap_or_default();
        knob(setting.key(), path, shown.map(|(_, value)| value), "", meaning)
    };
    MACHINE.iter().map(of_machine).collect()
}

fn knob(name: String, path: impl fmt::Display, value: Result<String, String>, unit: &str, meaning: &str) -> KnobValue {
    let (value, reason) = match value {
        Ok(value) => (Some(value), None),
        Err(reason) => (None, Some(reason)),
    };
    KnobValue { name, path: path.to_string(), value, reason, unit: unit.into(), meaning: meaning.into() }
}

fn of_tasks() -> Vec<KnobValue> {
    const TASK: &[(&str, &str, &str)] = &[
        (
            "slice=1ms",
            "sched_setattr(2)",
            "per-task slice, 0.1 to 100 ms (6.12+); below a tick it acts only through wake-ups",
        ),
        ("policy=other", "sched_setscheduler(2)", "other, batch, idle, fifo:PRIO, rr:PRIO"),
        ("nice=0", "setpriority(2)", "-20 to 19: weight among fair tasks"),
        ("cpus=0", "sched_setaffinity(2)", "CPUs the workload may use"),
        ("timer_slack=1us", "prctl(PR_SET_TIMERSLACK)", "how late a sleep may end"),
    ];
    let of_self = TASK.iter().map(|(example, call, meaning)| {
        let setting: Setting = example.parse().expect("a constant of this file");
        // The value is shown without its key, which is the name.
        let shown = task::read_back(0, std::slice::from_ref(&setting)).remove(0);
        let value = shown.effective.split_once('=').map(|(_, v)| v.to_owned()).unwrap_or_default();
        let ignored = shown.not_applied.filter(|why| why.contains("ignores it") || value.is_empty());
        knob(setting.key(), call, ignored.map_or(Ok(value), Err), "", meaning)
    });
    of_self.collect()
}

fn sysctls(roots: &Roots) -> Vec<KnobValue> {
    let directory = roots.proc.join("sys/kernel");
    let scheduler = |name: &String| name.starts_with("sched_") || name.starts_with("numa_balancing");
    let found: Vec<String> = files_below(&directory, &directory).into_iter().filter(scheduler).collect();
    listed(&found, SYSCTLS)
        .into_iter()
        .map(|(name, unit, meaning)| {
            let path = directory.join(&name);
            knob(format!("sysctl:kernel.{name}"), path.display(), read(&path), unit, meaning)
        })
        .collect()
}

fn debugfs(roots: &Roots) -> Vec<KnobValue> {
    let directory = roots.debugfs.join("sched");
    let found: Vec<String> = files_below(&directory, &directory)
        .into_iter()
        .filter(|name| name != "debug" && !name.starts_with("domains"))
        .collect();
    if found.is_empty() {
        let why = match std::fs::read_dir(&directory) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => format!(
                "debugfs is not mounted (`mount -t debugfs debugfs {}`, as root), or the kernel lacks CONFIG_SCHED_DEBUG",
                roots.debugfs.display()
            ),
            Err(e) => reason::refused(&directory, &e, None),
            Ok(_) => format!("{} is empty", directory.display()),
        };
        return vec![knob(
            "debugfs:sched".into(),
            directory.display(),
            Err(why),
            "",
            "slices, features, preemption model",
        )];
    }
    // Which of the described ones exist depends on the version: those that do not are not listed.
    let described = |name: &str| DEBUGFS.iter().find(|(n, ..)| *n == name);
    found
        .iter()
        .map(|name| {
            let (unit, meaning) = described(name).map_or(("", ""), |(_, unit, meaning)| (unit, meaning));
            let path = directory.join(name);
            knob(format!("debugfs:sched/{name}"), path.display(), read(&path), unit, meaning)
        })
        .collect()
}

fn of_cgroup(roots: &Roots) -> Vec<KnobValue> {
    let place = cgroup::hierarchy(roots).map(|h| cgroup::describe(&h));
    [
        ("cpu_weight", "1-10000", "share of the CPU against sibling groups; 100 is the default"),
        ("cpu_quota", "", "CPU time per period"),
    ]
    .map(|(name, unit, meaning)| knob(name.into(), roots.cgroup.display(), place.clone(), unit, meaning))
    .into()
}

/// Found names with their description, then described ones that are not here.
fn listed(
    found: &[String],
    described: &[(&'static str, &'static str, &'static str)],
) -> Vec<(String, &'static str, &'static str)> {
    let description = |name: &str| described.iter().find(|(n, ..)| *n == name).map_or(("", ""), |(_, u, m)| (*u, *m));
    let here = found.iter().map(|name| {
        let (unit, meaning) = description(name);
        (name.clone(), unit, meaning)
    });
    let absent = described.iter().filter(|(name, ..)| !found.iter().any(|f| f == name));
    here.chain(absent.map(|(name, unit, meaning)| ((*name).to_owned(), *unit, *meaning))).collect()
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map(|text| normalise(&text)).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => "not in this kernel".into(),
        _ => reason::refused(path, &e, None),
    })
}

/// Names of files below `directory`, relative to `root`, sorted; two levels hold every scheduler knob.
fn files_below(root: &Path, directory: &Path) -> Vec<String> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|item| item.path()).collect();
    paths.sort_unstable();
    let nested = |path: &PathBuf| -> Vec<String> {
        let relative = path.strip_prefix(root).unwrap_or(path);
        match path.is_dir() {
            true if relative.components().count() < 4 => files_below(root, path),
            true => Vec::new(),
            false => relative.to_str().map(str::to_owned).into_iter().collect(),
        }
    };
    paths.iter().flat_map(nested).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_has_is_shown_and_what_it_lacks_has_a_reason() {
        let tree = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: tree.path().join("proc"),
            debugfs: tree.path().join("debug"),
            cgroup: tree.path().join("cgroup"),
            ..Roots::default()
        };
        for (path, text) in [
            ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("proc/sys/kernel/sched_new_knob", "1 2\n"),
            ("proc/sys/kernel/hostname", "x\n"),
            ("debug/sched/base_slice_ns", "2800000\n"),
            ("debug/sched/fair_server/cpu0/runtime", "50000000\n"),
            ("debug/sched/domains/cpu0/name", "x"),
        ] {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let shown = show(&roots);
        let of = |name: &str| shown.iter().find(|k| k.name == name);
        assert_eq!(of("sysctl:kernel.sched_rt_runtime_us").unwrap().value.as_deref(), Some("950000"));
        assert_eq!(of("sysctl:kernel.sched_new_knob").unwrap().value.as_deref(), Some("1 2"));
        assert!(of("sysctl:kernel.sched_schedstats").unwrap().reason.is_some());
        assert_eq!(of("debugfs:sched/base_slice_ns").unwrap().unit, "ns");
        assert!(of("debugfs:sched/fair_server/cpu0/runtime").is_some());
        assert!(of("sysctl:kernel.hostname").is_none() && of("debugfs:sched/domains/cpu0/name").is_none());
        assert!(of("cpu_weight").unwrap().reason.is_some());
        assert!(of("policy").unwrap().value.is_some());
    }

    #[test]
    fn the_running_kernel_is_shown_with_values_or_reasons() {
        let shown = show(&Roots::default());
        let rt = shown.iter().find(|k| k.name == "sysctl:kernel.sched_rt_period_us").unwrap();
        assert!(rt.value.as_ref().is_some_and(|value| value.parse::<u64>().is_ok()), "{rt:?}");
        assert!(shown.iter().all(|k| k.value.is_some() != k.reason.is_some()));
    }
}
