//! The CPUs: how many, how they share cores and caches, and their clock.

use crate::Roots;
use crate::draft::check;
use crate::machine::{Machine, numbered_dirs, text_at};
use schedlab_plan::{Check, counted};
use std::collections::BTreeSet;
use std::path::Path;

/// Hardware threads.
pub(crate) fn smt(machine: &Machine<'_>) -> Check {
    let draft = check("smt", "SMT");
    let active = machine.sys("devices/system/cpu/smt/active");
    let control = machine.sys("devices/system/cpu/smt/control");
    let evidence = format!("{}; {}", active.evidence(), control.evidence());
    match active.text() {
        Some("1") => draft
            .warning("on", "two threads of a core slow each other: where tasks land changes their speed")
            .fix(format!("pin by tier, or {}", machine.by_root("echo off > /sys/devices/system/cpu/smt/control")))
            .evidence(evidence),
        Some(_) => draft.good("off", "a CPU is a core of its own, as far as this kernel sees").evidence(evidence),
        None => draft.unavailable("unknown", "whether CPUs share cores is not known").evidence(evidence),
    }
}

/// Sockets, nodes, last-level caches, CPUs.
pub(crate) fn topology(machine: &Machine<'_>) -> Check {
    check("topology", "topology")
        .info(
            arrangement(machine.roots),
            "wakeups within a cache, across caches and across nodes differ: results are per tier",
        )
        .evidence(format!("{}; cpu*/topology, cpu*/cache, node*", machine.sys("devices/system/cpu/online").evidence()))
}

/// The online CPUs and the numbers of sockets, nodes and last-level caches.
pub fn arrangement(roots: &Roots) -> String {
    let system = roots.sys.join("devices/system");
    let cpus = numbered_dirs(&system.join("cpu"), "cpu");
    let distinct = |of: &dyn Fn(&Path) -> Option<String>| {
        cpus.iter().filter_map(|(_, dir)| of(dir)).collect::<BTreeSet<_>>().len()
    };
    let packages = distinct(&|dir| text_at(&dir.join("topology/physical_package_id")));
    let caches = distinct(&last_level_cache);
    let nodes = numbered_dirs(&system.join("node"), "node").len();
    let online = text_at(&system.join("cpu/online"));
    let mut parts = vec![format!("CPUs {}", online.as_deref().unwrap_or("unknown"))];
    parts.extend((packages > 0).then(|| counted(packages, "sockets")));
    parts.extend((nodes > 0).then(|| counted(nodes, "nodes")));
    parts.extend((caches > 0).then(|| counted(caches, "last-level caches")));
    // If the only offline CPUs are those beyond nr_cpus=, the kernel's list begins with a comma.
    let offline = text_at(&system.join("cpu/offline")).unwrap_or_default();
    let offline = Some(offline.trim_start_matches(',')).filter(|list| !list.is_empty());
    parts.extend(offline.map(|list| format!("offline {list}")));
    parts.join(", ")
}

/// The CPUs that share this CPU's last-level cache.
fn last_level_cache(cpu: &Path) -> Option<String> {
    let caches = numbered_dirs(&cpu.join("cache"), "index");
    let level = |dir: &Path| text_at(&dir.join("level"))?.parse::<u32>().ok();
    let (_, last) = caches.into_iter().filter_map(|(_, dir)| Some((level(&dir)?, dir))).max()?;
    text_at(&last.join("shared_cpu_list"))
}

/// CPUs excluded from the scheduler's load balancing.
pub(crate) fn isolated(machine: &Machine<'_>) -> Check {
    let draft = check("isolated_cpus", "isolated CPUs");
    let cpus = machine.sys("devices/system/cpu/isolated");
    match cpus.text() {
        Some(list) if !list.is_empty() => draft
            .info(list, "tasks reach these CPUs only by pinning, and are never balanced there")
            .evidence(cpus.evidence()),
        _ => draft.good("none", "all CPUs take part in balancing").evidence(cpus.evidence()),
    }
}

/// What CLOCK_MONOTONIC reads.
pub(crate) fn clocksource(machine: &Machine<'_>) -> Check {
    let draft = check("clocksource", "clocksource");
    let current = machine.sys("devices/system/clocksource/clocksource0/current_clocksource");
    match current.text() {
        Some(name @ ("tsc" | "arch_sys_counter")) => {
            draft.good(name, "a clock read is a few tens of ns, without a system call").evidence(current.evidence())
        }
        Some(name @ ("kvm-clock" | "hyperv_clocksource_tsc_page")) => draft
            .info(name, "a clock read needs no system call, but follows the hypervisor's corrections")
            .evidence(current.evidence()),
        Some(name) => draft
            .warning(name, "each time stamp is a system call or a device read: stamping costs microseconds")
            .fix("boot with tsc=reliable if dmesg says the TSC was marked unstable, or use --latency off")
            .evidence(current.evidence()),
        None => draft.unavailable("unknown", "what a time stamp costs is not known").evidence(current.evidence()),
    }
}
