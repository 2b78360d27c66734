//! What makes every system call or context switch of this kernel more expensive: debugging, tracking, auditing,
//! filters, mitigations.

use crate::draft::check;
use crate::machine::{Machine, text_at};
use schedlab_plan::{Check, counted};

/// Options that change the cost of locks, switches or memory; each name is a `CONFIG_`.
const DEBUG_OPTIONS: [&str; 16] = [
    "DEBUG_PREEMPT",
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_SPINLOCK",
    "DEBUG_MUTEXES",
    "DEBUG_RWSEMS",
    "DEBUG_LOCK_ALLOC",
    "PROVE_LOCKING",
    "LOCK_STAT",
    "DEBUG_OBJECTS",
    "DEBUG_KMEMLEAK",
    "SLUB_DEBUG_ON",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "PREEMPT_TRACER",
    "IRQSOFF_TRACER",
];

/// Debug options in the kernel's config.
pub(crate) fn debug_options(machine: &Machine<'_>) -> Check {
    let draft = check("debug_options", "debug options of the kernel");
    let Some(config) = &machine.config else {
        return draft
            .unavailable("unknown", "a debug kernel can be several times slower; whether this is one is not known")
            .fix("install the kernel's config as /boot/config-$(uname -r)")
            .evidence("neither /proc/config.gz nor /boot/config-RELEASE nor /lib/modules/RELEASE/config");
    };
    let on: Vec<&str> = DEBUG_OPTIONS.into_iter().filter(|name| config.has(name)).collect();
    if on.is_empty() {
        return draft.good("none", "locks and switches cost what they do in production").evidence(&*config.source);
    }
    draft
        .warning(
            on.join(", "),
            "every lock, switch or allocation is checked: absolute numbers are not those of production",
        )
        .fix("boot a kernel without them, or compare only within this kernel")
        .evidence(format!("{}: CONFIG_{}=y", config.source, on.join("=y, CONFIG_")))
}

/// Tracks all CPUs, with or without `nohz_full`; the name before Linux 6.0 is the second.
const FORCED_TRACKING: [&str; 2] = ["CONTEXT_TRACKING_USER_FORCE", "CONTEXT_TRACKING_FORCE"];

/// Full dynticks: on those CPUs each kernel entry is tracked.
pub(crate) fn context_tracking(machine: &Machine<'_>) -> Check {
    let draft = check("context_tracking", "context tracking (nohz_full)");
    let cpus = machine.sys("devices/system/cpu/nohz_full");
    let forced = FORCED_TRACKING.into_iter().find(|name| machine.config.as_ref().is_some_and(|c| c.has(name)));
    match cpus.text() {
        Some(list) if !list.is_empty() && list != "(null)" => draft
            .warning(format!("nohz_full={list}"), "each system call on these CPUs pays for tracking; others do not")
            .fix("pin both arms to CPUs of one kind")
            .evidence(cpus.evidence()),
        text => match (forced, text) {
            (Some(option), _) => draft
                .warning("forced on", "each system call pays for tracking")
                .fix(format!("build without CONFIG_{option}"))
                .evidence(format!("kernel config: CONFIG_{option}=y")),
            // This is what the kernel prints if it has no such list.
            (None, Some("(null)")) => {
                draft.good("off", "a system call is not tracked").evidence("/sys/devices/system/cpu/nohz_full: no CPU")
            }
            (None, _) => draft.good("off", "a system call is not tracked").evidence(cpus.evidence()),
        },
    }
}

/// Auditing of system calls.
pub(crate) fn audit(machine: &Machine<'_>) -> Check {
    let draft = check("audit", "audit rules");
    let slow = "every system call takes the audited path: short IPC operations cost noticeably more";
    match &machine.answers.audit {
        Ok(state) if state.enabled == 0 => {
            draft.good("off", "system calls are not audited").evidence("netlink AUDIT_GET: enabled=0")
        }
        Ok(state) if state.task_never => draft
            .good("on, but not for new tasks", "system calls of tasks forked since are not audited")
            .evidence("netlink AUDIT_LIST_RULES: never,task"),
        Ok(state) => draft
            .warning(format!("on, {}", counted(state.rules, "rules")), slow)
            .fix("set `audit=off` in the arms, or boot with audit=0")
            .evidence(format!("netlink AUDIT_GET: enabled={}; AUDIT_LIST_RULES: {}", state.enabled, state.rules)),
        Err(why) => {
            let off = machine.boot_argument("audit").is_some_and(|value| value == "0" || value == "off");
            let built = machine.proc("self/loginuid");
            match (off, built.text()) {
                (true, _) => draft.good("off", "system calls are not audited").evidence("/proc/cmdline: audit=0"),
                (_, None) => draft.good("not built in", "system calls are not audited").evidence(built.evidence()),
                _ if daemon_runs(machine) => draft
                    .warning("auditd runs", slow)
                    .fix("systemctl stop auditd and auditctl -e 0 while measuring")
                    .evidence(format!("a process named auditd; netlink: {why}")),
                _ => draft
                    .info("no auditd", "system calls are probably not audited; only root can know")
                    .evidence(format!("no process named auditd; netlink: {why}")),
            }
        }
    }
}

fn daemon_runs(machine: &Machine<'_>) -> bool {
    let processes = crate::machine::numbered_dirs(&machine.roots.proc, "");
    processes.iter().any(|(_, dir)| text_at(&dir.join("comm")).is_some_and(|comm| comm == "auditd"))
}

/// A seccomp filter on ourselves, such as containers install on every process.
pub(crate) fn seccomp(machine: &Machine<'_>) -> Check {
    let draft = check("seccomp", "seccomp filter");
    let status = machine.proc("self/status");
    let field = |name: &str| {
        let line = status.text()?.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().to_owned())
    };
    match field("Seccomp").as_deref() {
        Some("0") => draft.good("none", "no filter runs at our system calls").evidence("/proc/self/status: Seccomp: 0"),
        None if status.text().is_none() => draft
            .unavailable("unknown", "whether a filter runs at every system call is not known")
            .evidence(status.evidence()),
        // The kernel writes the field if it has CONFIG_SECCOMP.
        None => draft
            .good("not built in", "no filter runs at our system calls")
            .evidence("/proc/self/status: no field `Seccomp`"),
        Some(mode) => {
            let filters = field("Seccomp_filters").unwrap_or_else(|| "some".to_owned());
            let value = filters.parse::<u32>().map_or_else(|_| format!("{filters} filters"), |n| counted(n, "filters"));
            draft
                .warning(value, "a filter runs at every system call, in both arms")
                .fix("run outside the container, or with its seccomp profile unconfined")
                .evidence(format!("/proc/self/status: Seccomp: {mode}, Seccomp_filters: {filters}"))
        }
    }
}

/// Mitigations for CPU vulnerabilities: several of them act at each switch or kernel entry.
pub(crate) fn mitigations(machine: &Machine<'_>) -> Check {
    let draft = check("mitigations", "CPU mitigations");
    let dir = machine.roots.sys.join("devices/system/cpu/vulnerabilities");
    let Ok(entries) = std::fs::read_dir(&dir) else {
        return draft
            .unavailable("unknown", "what a switch pays for mitigations is not known")
            .evidence("/sys/devices/system/cpu/vulnerabilities: not there");
    };
    let mut states: Vec<(String, String)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, text_at(&entry.path())?)))
        .filter(|(_, state)| state != "Not affected")
        .collect();
    states.sort_unstable();
    let evidence = states.iter().map(|(name, state)| format!("{name}: {state}")).collect::<Vec<_>>().join("; ");
    let value = states.iter().map(|(name, state)| format!("{name} {}", headline(state))).collect::<Vec<_>>().join(", ");
    let evidence = format!("/sys/devices/system/cpu/vulnerabilities: {evidence}");
    let value = if value.is_empty() { "not affected".to_owned() } else { value };
    draft
        .info(value, "mitigations act at kernel entries and switches: compare machines with equal ones")
        .evidence(evidence)
}

/// The part that determines the cost: `retpolines`, `vulnerable`.
fn headline(state: &str) -> String {
    let text = state.strip_prefix("Mitigation: ").map(|m| format!("({m})")).unwrap_or_else(|| state.to_lowercase());
    match text.split_once([';', ':']) {
        Some((first, _)) if first.starts_with('(') => format!("{first})"),
        Some((first, _)) => first.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_is_the_first_clause() {
        assert_eq!(headline("Mitigation: Retpolines; STIBP: disabled"), "(Retpolines)");
        assert_eq!(headline("Mitigation: PTI"), "(PTI)");
        assert_eq!(headline("Vulnerable: Safe RET, no microcode"), "vulnerable");
        assert_eq!(headline("Vulnerable"), "vulnerable");
    }
}
