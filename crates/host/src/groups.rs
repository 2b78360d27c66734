//! Which tasks share our task group: autogroup, cgroups, quotas; and whether waiting is accounted.

use crate::draft::check;
use crate::machine::{Machine, text_at};
use schedlab_plan::Check;

/// One task group per session.
pub(crate) fn autogroup(machine: &Machine<'_>) -> Check {
    let draft = check("autogroup", "autogroup");
    let knob = machine.proc("sys/kernel/sched_autogroup_enabled");
    match knob.text() {
        Some("1") => draft
            .info("on", "each session is one task group: a load in another session gets half a CPU whatever its tasks")
            .evidence(knob.evidence()),
        Some(_) => draft.info("off", "all tasks outside cgroups compete as equals").evidence(knob.evidence()),
        None => draft.info("not built in", "all tasks outside cgroups compete as equals").evidence(knob.evidence()),
    }
}

/// Which cgroup version holds the cpu controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    V1,
    V2,
    Nobody,
}

/// The holder, our path in its tree, and where the tree is mounted below the sysfs root.
fn cpu_controller(machine: &Machine<'_>) -> (Holder, String, String) {
    let own = machine.proc("self/cgroup");
    let lines: Vec<Vec<&str>> = own.text().unwrap_or_default().lines().map(|l| l.splitn(3, ':').collect()).collect();
    let path = |line: &Vec<&str>| line.get(2).copied().unwrap_or("/").to_owned();
    let v1 = lines.iter().find(|l| l.get(1).is_some_and(|names| names.split(',').any(|name| name == "cpu")));
    if let Some(line) = v1 {
        return (Holder::V1, path(line), format!("fs/cgroup/{}", line[1]));
    }
    let v2 = lines.iter().find(|l| l.first() == Some(&"0") && l.get(1) == Some(&""));
    let has_cpu = |mount: &str| {
        let controllers = machine.sys(&format!("{mount}/cgroup.controllers"));
        controllers.text().is_some_and(|text| text.split_ascii_whitespace().any(|name| name == "cpu"))
    };
    match v2 {
        Some(line) if has_cpu("fs/cgroup") => (Holder::V2, path(line), "fs/cgroup".to_owned()),
        Some(line) if has_cpu("fs/cgroup/unified") => (Holder::V2, path(line), "fs/cgroup/unified".to_owned()),
        _ => (Holder::Nobody, "/".to_owned(), String::new()),
    }
}

/// cgroup v1 or v2.
pub(crate) fn cgroup(machine: &Machine<'_>) -> Check {
    let draft = check("cgroup", "cgroup of the cpu controller");
    let (holder, path, mount) = cpu_controller(machine);
    match holder {
        Holder::V1 => draft.info("v1", "cpu_weight is cpu.shares, cpu_quota is cpu.cfs_quota_us"),
        Holder::V2 => draft.info("v2", "cpu_weight is cpu.weight, cpu_quota is cpu.max"),
        Holder::Nobody => draft
            .unavailable("none", "cpu_weight and cpu_quota cannot be set here")
            .fix("mount cgroup2 with the cpu controller"),
    }
    .evidence(format!("/proc/self/cgroup: {path}; /sys/{mount}"))
}

/// A quota on our group, or on one above it, throttles whatever is measured.
pub(crate) fn cpu_quota(machine: &Machine<'_>) -> Check {
    let draft = check("cpu_quota", "CPU quota on us");
    let (holder, path, mount) = cpu_controller(machine);
    let mut group = path.trim_matches('/').to_owned();
    loop {
        let at = |file: &str| text_at(&machine.roots.sys.join(&mount).join(&group).join(file));
        let quota = match holder {
            Holder::V1 => at("cpu.cfs_quota_us").filter(|text| text != "-1").map(|us| format!("{us} µs")),
            Holder::V2 => at("cpu.max").filter(|text| !text.starts_with("max")),
            Holder::Nobody => None,
        };
        if let Some(quota) = quota {
            return draft
                .warning(quota, "the group is stopped for the rest of each period once it has used its quota")
                .fix("measure outside this group, or lift its quota (container --cpus, CPUQuota=)")
                .evidence(format!("/sys/{mount}/{group}"));
        }
        match group.rsplit_once('/') {
            Some((parent, _)) => group = parent.to_owned(),
            None if group.is_empty() => break,
            None => group.clear(),
        }
    }
    draft.good("none", "nothing throttles us").evidence(format!("/sys/{mount}, from {path} up"))
}

/// Pressure stall information.
pub(crate) fn pressure(machine: &Machine<'_>) -> Check {
    let draft = check("psi", "pressure stall information");
    let cpu = machine.proc("pressure/cpu");
    match cpu.text() {
        Some(_) => draft
            .info("on", "waiting for CPU, memory and I/O is counted, at a small cost per switch")
            .evidence("/proc/pressure/cpu: readable"),
        None => draft
            .info("off", "waiting for CPU, memory and I/O is not counted for the machine")
            .fix("boot with psi=1 where the kernel has it")
            .evidence(cpu.evidence()),
    }
}
