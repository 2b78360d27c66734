//! How fast the CPUs run, and what decides it.

use crate::draft::check;
use crate::foreign;
use crate::machine::{Machine, numbered_dirs, text_at};
use schedlab_plan::Check;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// cpufreq driver and governor.
pub(crate) fn governor(machine: &Machine<'_>) -> Check {
    let draft = check("governor", "frequency governor");
    let governors = foreign::governors(machine.roots);
    let policies = numbered_dirs(&machine.roots.sys.join("devices/system/cpu/cpufreq"), "policy");
    let driver = policies.iter().find_map(|(_, dir)| text_at(&dir.join("scaling_driver"))).unwrap_or_default();
    let evidence = format!("/sys/devices/system/cpu/cpufreq/policy*/scaling_governor: {governors}; driver {driver}");
    match governors.as_str() {
        "" => draft
            .info("no cpufreq", "firmware or hypervisor decides the frequency, unseen from here")
            .evidence("/sys/devices/system/cpu/cpufreq: no policies"),
        "performance" => {
            draft.good(format!("{driver}: performance"), "the frequency does not follow the load").evidence(evidence)
        }
        other => draft
            .warning(
                format!("{driver}: {other}"),
                "the frequency follows the load: an arm that sleeps more also runs slower",
            )
            .fix("cpupower frequency-set -g performance")
            .evidence(evidence),
    }
}

/// Turbo or boost.
pub(crate) fn turbo(machine: &Machine<'_>) -> Check {
    let draft = check("turbo", "turbo");
    let intel = machine.sys("devices/system/cpu/intel_pstate/no_turbo");
    let generic = machine.sys("devices/system/cpu/cpufreq/boost");
    let (on, fact, off) = match (intel.text(), generic.text()) {
        (Some(no_turbo), _) => (no_turbo == "0", &intel, "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"),
        (None, Some(boost)) => (boost == "1", &generic, "echo 0 > /sys/devices/system/cpu/cpufreq/boost"),
        (None, None) => {
            return draft
                .unavailable("not visible", "whether the frequency depends on heat and on idle cores is not known")
                .evidence(format!("{}; {}", intel.evidence(), generic.evidence()));
        }
    };
    if on {
        draft
            .warning("on", "the frequency depends on heat and on how many cores idle: drift between trials")
            .fix(machine.by_root(off))
            .evidence(fact.evidence())
    } else {
        draft.good("off", "the frequency does not depend on heat or on other cores").evidence(fact.evidence())
    }
}

/// Whether the CPUs differ in capacity; if they do not, the kernel builds no performance domains for energy-aware
/// scheduling (`sched_is_eas_possible`). Machines with one kind of CPU may show no capacity at all.
fn capacities_differ(machine: &Machine<'_>) -> bool {
    let capacity = |(_, directory): (u32, PathBuf)| text_at(&directory.join("cpu_capacity"));
    machine.cpu_dirs().into_iter().filter_map(capacity).collect::<BTreeSet<String>>().len() > 1
}

/// Energy-aware scheduling.
pub(crate) fn energy_aware(machine: &Machine<'_>) -> Check {
    let draft = check("energy_aware", "energy-aware scheduling (EAS)");
    let knob = machine.proc("sys/kernel/sched_energy_aware");
    match knob.text() {
        Some("1") if !capacities_differ(machine) => draft
            .good("permitted, not active", "placement does not weigh energy: no CPU here has another capacity")
            .evidence(knob.evidence()),
        Some("1") => draft
            .info("on", "wakeups look for the CPU that saves energy: placement follows capacity, not only idleness")
            .evidence(knob.evidence()),
        Some("0") => draft.good("off", "placement does not weigh energy").evidence(knob.evidence()),
        Some(text) => draft.info(text, "placement may weigh energy").evidence(knob.evidence()),
        None => draft.good("not built in", "placement does not weigh energy").evidence(knob.evidence()),
    }
}
