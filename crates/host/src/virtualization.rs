//! Whether this is a guest, and how much CPU time its neighbours take.

use crate::draft::check;
use crate::machine::Machine;
use schedlab_plan::Check;
use schedlab_plan::lane::{Lane, Provenance};

/// Share of CPU time stolen since boot above which trials will probably be marked.
const STEAL_IS_MUCH: f64 = 0.005;

/// The hypervisor, if there is one.
pub(crate) fn hypervisor(machine: &Machine<'_>) -> Check {
    let draft = check("hypervisor", "hypervisor");
    let cpuinfo = machine.proc("cpuinfo");
    let flags = cpuinfo.text().and_then(|text| text.lines().find(|line| line.starts_with("flags")));
    let flag = flags.is_some_and(|line| line.split_ascii_whitespace().any(|word| word == "hypervisor"));
    let kind = machine.sys("hypervisor/type");
    let vendor = machine.sys("class/dmi/id/sys_vendor");
    let product = machine.sys("class/dmi/id/product_name");
    let clocks = machine.sys("devices/system/clocksource/clocksource0/available_clocksource");
    let has_clock = |name: &str| clocks.text().is_some_and(|t| t.split_ascii_whitespace().any(|word| word == name));
    let name = match (kind.text(), vendor.text()) {
        (Some(kind), _) => Some(kind.to_owned()),
        _ if has_clock("kvm-clock") => Some("kvm".to_owned()),
        _ if has_clock("hyperv_clocksource_tsc_page") => Some("hyper-v".to_owned()),
        (None, Some(vendor)) if flag || vendor == "QEMU" => {
            Some(format!("{vendor} {}", product.text().unwrap_or_default()).trim().to_owned())
        }
        _ if flag => Some("unknown".to_owned()),
        _ => None,
    };
    let evidence = format!(
        "/proc/cpuinfo: hypervisor flag {}; {}; {}",
        if flag { "set" } else { "not set" },
        vendor.evidence(),
        clocks.evidence()
    );
    let made_by = machine.proc("cmdline").text().and_then(Provenance::of_command_line);
    match name {
        Some(name) if made_by.is_some_and(|made_by| matches!(made_by.lane, Lane::Virtual(_))) => draft
            .info(name, "a guest of the virtual lane, from whose time no neighbour can take any")
            .evidence(evidence),
        Some(name) => draft
            .warning(name, "a neighbour can take the CPU, and waking a halted vCPU goes through the hypervisor")
            .fix("pin vCPUs on the host; here: pair the arms in time, which schedlab does")
            .evidence(evidence),
        None => draft.good("none seen", "there is no hypervisor between us and the CPUs").evidence(evidence),
    }
}

/// Share of the CPU time that was stolen since boot.
pub(crate) fn steal_rate(machine: &Machine<'_>) -> Check {
    let draft = check("steal_rate", "stolen CPU time since boot");
    let stat = machine.proc("stat");
    let line = stat.text().and_then(|text| text.lines().next()).unwrap_or_default();
    let ticks: Vec<u64> = line.split_ascii_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks[..] else {
        return draft
            .unavailable("unknown", "contamination by neighbours cannot be seen")
            .evidence(format!("/proc/stat: `{line}`"));
    };
    let wanted = user + nice + system + irq + softirq + steal;
    let share = if wanted == 0 { 0.0 } else { steal as f64 / wanted as f64 };
    let value = format!("{:.2} %", share * 100.0);
    let draft = if share > STEAL_IS_MUCH {
        draft
            .warning(value, "many trials will be marked and their blocks repeated")
            .fix("a quieter host, or vCPUs with a core of their own")
    } else {
        draft.good(value, "trials with more than 0.5 % are marked and their block is repeated")
    };
    draft.evidence(format!("/proc/stat: {line}"))
}

/// Other tasks that run now.
pub(crate) fn background_load(machine: &Machine<'_>) -> Check {
    let draft = check("background_load", "other work on the machine");
    let load = machine.proc("loadavg");
    let first = load.text().and_then(|text| text.split_ascii_whitespace().next()).unwrap_or_default();
    match first.parse::<f64>() {
        Ok(value) if value >= 0.5 => draft
            .warning(format!("load {value}"), "other tasks compete with what is measured and widen every interval")
            .fix("stop what else runs, or measure beside a load that you control (--load)")
            .evidence(load.evidence()),
        Ok(value) => {
            draft.good(format!("load {value}"), "the machine was quiet in the last minute").evidence(load.evidence())
        }
        Err(_) => draft.unavailable("unknown", "whether others compete is not known").evidence(load.evidence()),
    }
}
