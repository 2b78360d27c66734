//! The scheduler this kernel was built and booted with.

use crate::draft::check;
use crate::machine::Machine;
use schedlab_plan::Check;

/// Where kernel code may be preempted.
pub(crate) fn preempt_model(machine: &Machine<'_>) -> Check {
    let draft = check("preempt_model", "preemption model");
    let (model, evidence) = preempt(machine);
    let effect = match model.as_str() {
        "rt" => "interrupts are threads and spinlocks sleep: more switches, steadier latency",
        "full" => "a wakeup preempts kernel code at once: lower latency, more switches",
        "lazy" => "a wakeup of a normal task waits for the tick or the return to user space",
        "none" | "voluntary" => "a task in the kernel keeps its CPU until it returns or yields: longer latency tails",
        _ => "throughput and latency depend on it: compare only kernels of one model",
    };
    draft.info(model, effect).evidence(evidence)
}

/// The model and where it was read. On a dynamic kernel the debugfs file has the current model; the boot parameter and
/// the config give the one it started with.
fn preempt(machine: &Machine<'_>) -> (String, String) {
    let dynamic = machine.sys("kernel/debug/sched/preempt");
    if let Some(model) = dynamic.chosen('(', ')') {
        return (model.to_owned(), dynamic.evidence());
    }
    let version = &machine.answers.uname.version;
    let uname = format!("uname -v: {version}");
    if version.contains("PREEMPT_RT") {
        return ("rt".to_owned(), uname);
    }
    if version.contains("PREEMPT_DYNAMIC") {
        if let Some(model) = machine.boot_argument("preempt") {
            return (model, format!("/proc/cmdline: preempt=; {uname}"));
        }
        let built = configured_model(machine);
        return match built {
            Some((model, source)) => (model.to_owned(), format!("{uname}; {source}")),
            None => ("dynamic".to_owned(), format!("{uname}; the active model is in debugfs, for root")),
        };
    }
    if version.split_ascii_whitespace().any(|word| word == "PREEMPT") {
        return ("full".to_owned(), uname);
    }
    match configured_model(machine) {
        Some((model, source)) => (model.to_owned(), format!("{uname}; {source}")),
        None => ("none or voluntary".to_owned(), uname),
    }
}

fn configured_model(machine: &Machine<'_>) -> Option<(&'static str, String)> {
    let config = machine.config.as_ref()?;
    let models =
        [("PREEMPT_NONE", "none"), ("PREEMPT_VOLUNTARY", "voluntary"), ("PREEMPT_LAZY", "lazy"), ("PREEMPT", "full")];
    let (name, model) = models.into_iter().find(|(name, _)| config.has(name))?;
    Some((model, format!("{}: CONFIG_{name}=y", config.source)))
}

/// CONFIG_HZ.
pub(crate) fn tick(machine: &Machine<'_>) -> Check {
    let draft = check("hz", "tick (HZ)");
    let Some(tick_ns) = machine.answers.tick_ns.filter(|&ns| ns > 0) else {
        return draft
            .unavailable("unknown", "the finest slice that acts without a wakeup is not known")
            .evidence("clock_getres(CLOCK_MONOTONIC_COARSE) failed");
    };
    let hz = (1e9 / tick_ns as f64).round();
    let effect = format!(
        "a slice below {} ms ends only at a wakeup or the next tick, unless HRTICK is on",
        (tick_ns as f64 / 1e6 * 10.0).round() / 10.0
    );
    draft.info(format!("{hz}"), &effect).evidence(format!("clock_getres(CLOCK_MONOTONIC_COARSE): {tick_ns} ns"))
}

/// The HRTICK feature, with which a slice can end between ticks.
pub(crate) fn hrtick(machine: &Machine<'_>) -> Check {
    let draft = check("hrtick", "HRTICK");
    let features = ["kernel/debug/sched/features", "kernel/debug/sched_features"].map(|name| machine.sys(name));
    for fact in &features {
        let Some(text) = fact.text() else { continue };
        let on = text.split_ascii_whitespace().any(|word| word == "HRTICK");
        let effect = if on { "a slice ends on time, at the price of a timer per switch" } else { OFF };
        return draft.info(if on { "on" } else { "off" }, effect).evidence(fact.evidence());
    }
    match &machine.config {
        Some(config) if !config.has("SCHED_HRTICK") => {
            draft.info("not built in", OFF).evidence(format!("{}: no CONFIG_SCHED_HRTICK", config.source))
        }
        _ => draft
            .unavailable("unknown", "whether a slice can end between ticks is not known; by default it cannot")
            .fix(machine.debugfs_fix("sched/features"))
            .evidence(features[0].evidence()),
    }
}

const OFF: &str = "a slice ends at a tick or a wakeup";

/// The slice of a normal task, ns.
pub(crate) fn default_slice(machine: &Machine<'_>) -> Check {
    let draft = check("default_slice", "default slice");
    let effect = "how long a task runs before another of its weight may take over; sweep it with slice=";
    let knobs = ["kernel/debug/sched/base_slice_ns", "kernel/debug/sched/min_granularity_ns"];
    for fact in knobs.map(|name| machine.sys(name)) {
        if let Some(ns) = fact.text() {
            return draft.info(format!("{ns} ns"), effect).evidence(fact.evidence());
        }
    }
    let old = machine.proc("sys/kernel/sched_min_granularity_ns");
    if let Some(ns) = old.text() {
        return draft.info(format!("{ns} ns"), effect).evidence(old.evidence());
    }
    // Readable under lockdown too. Shows our own slice, which is the default unless somebody set it for us.
    let own = machine.proc("self/sched");
    let slice = own.text().and_then(|text| text.lines().find(|line| line.starts_with("se.slice ")));
    match slice.and_then(|line| line.rsplit(':').next()) {
        Some(ns) => draft.info(format!("{} ns", ns.trim()), effect).evidence("/proc/self/sched: se.slice"),
        None => draft
            .unavailable("unknown", "what slice=… is compared with is not known")
            .fix(machine.debugfs_fix("sched/base_slice_ns or sched/min_granularity_ns"))
            .evidence("no debugfs sched/, no se.slice in /proc/self/sched"),
    }
}

/// A BPF scheduler.
pub(crate) fn sched_ext(machine: &Machine<'_>) -> Check {
    let draft = check("sched_ext", "sched_ext");
    let state = machine.sys("kernel/sched_ext/state");
    match state.text() {
        None => draft.good("not built in", "the kernel's own scheduler decides").evidence(state.evidence()),
        Some("disabled") => draft.good("disabled", "the kernel's own scheduler decides").evidence(state.evidence()),
        Some(text) => {
            let ops = machine.sys("kernel/sched_ext/root/ops");
            let name = ops.text().unwrap_or("unnamed");
            draft
                .warning(format!("{text}: {name}"), "a BPF scheduler decides; slice, nice and policy may mean nothing")
                .fix("stop it (systemctl stop scx) unless it is what you measure")
                .evidence(format!("{}; {}", state.evidence(), ops.evidence()))
        }
    }
}

/// Scheduler statistics and their cost.
pub(crate) fn schedstats(machine: &Machine<'_>) -> Check {
    let draft = check("schedstats", "schedstats");
    let switch = machine.proc("sys/kernel/sched_schedstats");
    let own = machine.proc("self/schedstat");
    if own.text().is_none() {
        return draft
            .unavailable("no run delay", "how long tasks waited for a CPU is not counted")
            .fix("a kernel with CONFIG_SCHED_INFO (any distribution's)")
            .evidence(own.evidence());
    }
    match switch.text() {
        Some("1") => draft
            .warning("on", "every wakeup and switch pays for statistics that schedlab does not need")
            .fix("sysctl kernel.sched_schedstats=0")
            .evidence(switch.evidence()),
        Some(text) => draft.good(if text == "0" { "off" } else { text }, RUN_DELAY).evidence(switch.evidence()),
        None => draft.good("not built in", RUN_DELAY).evidence(format!("{}; {}", switch.evidence(), own.evidence())),
    }
}

const RUN_DELAY: &str = "run delay of each task is known all the same, from /proc/<tid>/schedstat";
