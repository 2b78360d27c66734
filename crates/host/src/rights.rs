//! What this process may do: limits, and permissions that are tried rather than guessed.

use crate::draft::check;
use crate::machine::Machine;
use schedlab_plan::Check;

/// Open files that the 40 tasks of a hackbench group need, times the ten groups that people run.
const FILES_WANTED: u64 = 4_096;

/// RLIMIT_NOFILE and RLIMIT_NPROC; the workloads raise the soft limits to the hard ones.
pub(crate) fn limits(machine: &Machine<'_>) -> Check {
    let draft = check("rlimits", "limits on files and processes");
    let limits = machine.proc("self/limits");
    let hard = |name: &str| {
        let line = limits.text()?.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().nth(1).map(str::to_owned)
    };
    let (Some(files), Some(processes)) = (hard("Max open files"), hard("Max processes")) else {
        return draft
            .unavailable("unknown", "how many tasks a workload may have is not known")
            .evidence(limits.evidence());
    };
    let value = format!("{files} files, {processes} processes");
    let evidence = format!("/proc/self/limits, hard: {value}");
    // `unlimited` is not a number and is enough.
    if files.parse().is_ok_and(|n: u64| n < FILES_WANTED) {
        draft
            .warning(value, "workloads with many tasks (messaging with many groups) will be refused")
            .fix(format!(
                "{}, or `* hard nofile` in /etc/security/limits.conf",
                machine.by_root(format_args!("ulimit -Hn {FILES_WANTED}"))
            ))
            .evidence(evidence)
    } else {
        draft.good(value, "bounds the groups × tasks of a workload; soft limits are raised to these").evidence(evidence)
    }
}

const UNLOCKED: &str = "root may read and write scheduler knobs in debugfs";

/// Kernel lockdown.
pub(crate) fn lockdown(machine: &Machine<'_>) -> Check {
    let draft = check("lockdown", "lockdown");
    let file = machine.sys("kernel/security/lockdown");
    match file.chosen('[', ']') {
        Some("none") => draft.good("none", UNLOCKED).evidence(file.evidence()),
        Some(mode) => draft
            .warning(mode, "not even root reads debugfs sched/: no base_slice_ns, no features")
            .fix("per-task slices still work (slice=2ms); else boot without Secure Boot or lockdown=")
            .evidence(file.evidence()),
        None => match &machine.config {
            Some(config) if !config.has("SECURITY_LOCKDOWN_LSM") => draft
                .info("not built in", UNLOCKED)
                .evidence(format!("{}: no CONFIG_SECURITY_LOCKDOWN_LSM", config.source)),
            config => draft
                .unavailable("unknown", "if the kernel is locked down, debugfs knobs are refused to root too")
                .fix(if config.is_some() { "mount -t securityfs none /sys/kernel/security" } else { "" })
                .evidence(file.evidence()),
        },
    }
}

/// Advice for root if the kernel refuses even root.
pub(crate) const BARRED: &str = "root is denied here: by a container (run outside of it, or give it the capability and a seccomp profile that \
                      allows the call) or by lockdown";
const COUNTING: &str = "as root: sysctl kernel.perf_event_paranoid=0, or grant CAP_PERFMON";

/// Tracing.
pub(crate) fn tracefs(machine: &Machine<'_>) -> Check {
    let draft = check("tracefs", "right to trace (tracefs)");
    let places = ["kernel/tracing/instances", "kernel/debug/tracing/instances"];
    // A recording uses its own instance; a user who may not list the instances may not make one either.
    let listed = |name: &&str| std::fs::read_dir(machine.roots.sys.join(name)).is_ok();
    if let Some(place) = places.iter().find(|name| listed(name)) {
        return draft.good("yes", "the scheduler can be recorded").evidence(format!("/sys/{place}: can be listed"));
    }
    let fact = machine.sys("kernel/tracing/trace_clock");
    let effect = "nothing is recorded: a slow operation cannot be explained by who was on the CPU";
    let missing = matches!(machine.roots.sys.join("kernel/tracing/trace_clock").try_exists(), Ok(false));
    let (value, fix) = match (missing, machine.is_root()) {
        (true, true) => (
            "not mounted",
            "a recording mounts tracefs for itself, where it may; else mount -t tracefs none /sys/kernel/tracing",
        ),
        (true, false) => ("not mounted", "run as root: a recording mounts tracefs for itself"),
        (false, true) => ("no", BARRED),
        (false, false) => ("no", "run as root"),
    };
    draft.unavailable(value, effect).fix(fix).evidence(fact.evidence())
}

/// Software events of perf on a whole CPU.
pub(crate) fn perf_software(machine: &Machine<'_>) -> Check {
    let draft = check("perf", "right to count (perf events)");
    let paranoid = machine.proc("sys/kernel/perf_event_paranoid");
    match &machine.answers.perf_cpu {
        Ok(()) => draft
            .good("yes", "migrations and page faults are counted per CPU, which costs nothing at a switch")
            .evidence(format!("perf_event_open: granted; {}", paranoid.evidence())),
        Err(why) => draft
            .unavailable("no", "switches, run delay and migrations come from rusage and /proc only")
            .fix(if machine.is_root() { BARRED } else { COUNTING })
            .evidence(format!("perf_event_open: {why}; {}", paranoid.evidence())),
    }
}

/// Hardware counters.
pub(crate) fn pmu(machine: &Machine<'_>) -> Check {
    let draft = check("pmu", "hardware counters (PMU)");
    let device = ["cpu", "cpu_core", "armv8_pmuv3_0"]
        .map(|name| format!("bus/event_source/devices/{name}"))
        .into_iter()
        .find(|name| machine.roots.sys.join(name).is_dir());
    match (&machine.answers.pmu, device) {
        (Ok(()), device) => {
            let evidence = device.map(|name| format!("; /sys/{name}")).unwrap_or_default();
            draft
                .good("yes", "cycles, instructions, cache and branch misses are counted")
                .evidence(format!("perf_event_open(cycles): granted{evidence}"))
        }
        (Err(why), Some(name)) => draft
            .unavailable("not permitted", "no cycles, instructions or cache misses")
            .fix(if machine.is_root() { BARRED } else { COUNTING })
            .evidence(format!("/sys/{name} is there; perf_event_open(cycles): {why}")),
        (Err(why), None) => draft
            .unavailable(
                "none",
                "no cycles, instructions or cache misses; sampled profiles cannot see code with interrupts off",
            )
            .fix("give the VM a virtual PMU (QEMU: -cpu host,pmu=on), or measure on bare metal")
            .evidence(format!("perf_event_open(cycles): {why}; no /sys/bus/event_source/devices/cpu")),
    }
}

/// BPF programs.
pub(crate) fn bpf(machine: &Machine<'_>) -> Check {
    let draft = check("bpf", "right to use BPF");
    let knob = machine.proc("sys/kernel/unprivileged_bpf_disabled");
    match &machine.answers.bpf {
        Ok(()) => draft.good("yes", "BPF maps and programs can be loaded").evidence("bpf(BPF_MAP_CREATE): granted"),
        Err(why) => draft
            .unavailable("no", "nothing of schedlab's core needs it; sched_ext schedulers and BPF tools do")
            .fix(if machine.is_root() { BARRED } else { "run as root, or grant CAP_BPF" })
            .evidence(format!("bpf(BPF_MAP_CREATE): {why}; {}", knob.evidence())),
    }
}

/// Real-time policies.
pub(crate) fn real_time(machine: &Machine<'_>) -> Check {
    let draft = check("real_time", "right to use SCHED_FIFO");
    let runtime = machine.proc("sys/kernel/sched_rt_runtime_us");
    match &machine.answers.fifo {
        Ok(()) => draft
            .good("yes", "policy=fifo:… and policy=rr:… can be measured")
            .evidence(format!("sched_setscheduler(SCHED_FIFO, 1): granted; {}", runtime.evidence())),
        Err(why) => draft
            .unavailable("no", "policy=fifo:… and policy=rr:… will be `not applied`")
            .fix(match machine.is_root() {
                true => "in a cgroup v1 group give cpu.rt_runtime_us; in a container CAP_SYS_NICE",
                false => "run as root, `ulimit -r 99`, or in a cgroup v1 group give cpu.rt_runtime_us",
            })
            .evidence(format!("sched_setscheduler(SCHED_FIFO, 1): {why}; {}", runtime.evidence())),
    }
}
