//! What an idle CPU does, and so what waking it costs.

use crate::draft::check;
use crate::machine::{Machine, numbered_dirs, text_at};
use schedlab_plan::Check;

/// From this exit latency on, leaving idle dominates a wakeup, µs.
const DEEP_US: u64 = 20;

/// cpuidle driver, governor and the states of CPU 0 that are enabled.
pub(crate) fn cpuidle(machine: &Machine<'_>) -> Check {
    let draft = check("cpuidle", "idle states");
    let driver = machine.sys("devices/system/cpu/cpuidle/current_driver");
    let governor = ["current_governor", "current_governor_ro"]
        .map(|name| machine.sys(&format!("devices/system/cpu/cpuidle/{name}")))
        .into_iter()
        .find_map(|fact| fact.text().map(str::to_owned))
        .unwrap_or_else(|| "no governor".to_owned());
    let Some(name) = driver.text().filter(|&name| name != "none") else {
        return draft
            .info("no cpuidle", "an idle CPU halts; the cost of waking it depends on the hypervisor or the firmware")
            .evidence(driver.evidence());
    };
    let states = enabled_states(machine);
    let list = states.iter().map(|(state, us)| format!("{state} {us} µs")).collect::<Vec<_>>().join(", ");
    let value = format!("{name}/{governor}: {list}");
    let evidence = "/sys/devices/system/cpu/cpuidle and cpu0/cpuidle/state*/{name,latency,disable}";
    let deepest = states.iter().map(|(_, us)| *us).max().unwrap_or(0);
    if deepest >= DEEP_US {
        draft
            .warning(value, "waking an idle CPU costs up to its exit latency: tails, and rewards for keeping CPUs busy")
            .fix("hold /dev/cpu_dma_latency at 0 while measuring, or `cpupower idle-set -D 10`")
            .evidence(evidence)
    } else {
        draft.info(value, "waking an idle CPU costs at most the exit latency shown").evidence(evidence)
    }
}

fn enabled_states(machine: &Machine<'_>) -> Vec<(String, u64)> {
    let Some((_, cpu)) = machine.cpu_dirs().into_iter().next() else { return Vec::new() };
    let states = numbered_dirs(&cpu.join("cpuidle"), "state");
    let enabled = states.iter().filter(|(_, dir)| text_at(&dir.join("disable")).as_deref() != Some("1"));
    enabled
        .filter_map(|(_, dir)| Some((text_at(&dir.join("name"))?, text_at(&dir.join("latency"))?.parse().ok()?)))
        .collect()
}

/// Polling before halting, both in a guest and in a host of guests.
pub(crate) fn halt_polling(machine: &Machine<'_>) -> Check {
    let draft = check("halt_polling", "halt polling");
    let guest = machine.sys("module/haltpoll/parameters/guest_halt_poll_ns");
    let in_use = machine.sys("devices/system/cpu/cpuidle/current_driver").text() == Some("haltpoll");
    let host = machine.sys("module/kvm/parameters/halt_poll_ns");
    let effect = "polling hides the cost of waking a halted vCPU for as long as it lasts: two modes of latency";
    match (guest.text().filter(|_| in_use), host.text()) {
        (Some("0"), _) => draft
            .info("guest: 0 ns", "an idle vCPU halts at once: each wakeup across CPUs pays the hypervisor")
            .evidence(guest.evidence()),
        (Some(ns), _) => draft.warning(format!("guest: {ns} ns"), effect).evidence(guest.evidence()),
        (None, Some(ns)) => draft
            .info(format!("as a host: {ns} ns"), "concerns guests that run on this machine")
            .evidence(host.evidence()),
        (None, None) => draft.good("none", "idle CPUs do not poll for the sake of a hypervisor").evidence(format!(
            "{}; {}",
            guest.evidence(),
            host.evidence()
        )),
    }
}
