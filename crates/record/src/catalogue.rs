//! What can be counted, as `schedlab list counters` prints it.

use crate::{Roots, tables};

/// The name of every counter of which a trial on this kernel may have a row. Rows of 0 are left out of trials, so a
/// name that appears in no trial may be a count of 0 or a typing error: this list decides which.
pub fn names(roots: &Roots) -> Vec<String> {
    let whole = COUNTERS.iter().map(|(name, ..)| *name).filter(|name| !name.contains([' ', '.']));
    whole.map(str::to_owned).chain(tables::names(roots)).collect()
}

/// `(name, source, meaning)`, in the order trials record them.
pub const COUNTERS: &[(&str, &str, &str)] = &[
    ("voluntary_switches", "rusage", "switches because a task of the workload slept"),
    ("involuntary_switches", "rusage", "switches because a task of the workload was preempted"),
    ("cpu_ns", "rusage", "user and system time of the workload"),
    ("run_ns", "schedstat", "time of the workload's tasks on a CPU"),
    ("run_delay_ns", "schedstat", "time of the workload's tasks runnable but waiting"),
    ("timeslices", "schedstat", "times a task of the workload was switched in"),
    ("migrations", "/proc/self/sched", "moves of the workload's tasks to another CPU"),
    ("migrations", "perf", "the same over the whole machine, scope `host`"),
    ("page_faults", "perf", "page faults on the whole machine"),
    ("cycles", "perf", "core cycles of all CPUs; needs a hardware PMU, as the next three"),
    ("instructions", "perf", "instructions retired on all CPUs"),
    ("cache_misses", "perf", "last-level cache misses of all CPUs"),
    ("branch_misses", "perf", "mispredicted branches of all CPUs"),
    ("calls.FUNCTION", "perf kprobe", "calls of a function of the kernel; only where a plan's [[require]] names it"),
    ("topdown.GROUP.EVENT", "perf", "counts behind the top-down shares, whole machine; only with --counters topdown"),
    (
        "dram_read_bytes",
        "perf PMU",
        "bytes read from memory by socket and die (uncore_imc, hisi_sccl*_ddrc, amd_umc); topdown",
    ),
    ("dram_write_bytes", "perf PMU", "bytes written to it"),
    ("context_switches", "/proc/stat", "switches on the whole machine"),
    ("interrupts", "/proc/stat", "interrupts served"),
    ("softirqs", "/proc/stat", "soft interrupts served"),
    ("forks", "/proc/stat", "processes and threads created"),
    ("user_ns … steal_ns", "/proc/stat", "CPU time by kind, for host, each cpuN and each nodeN; in steps of 10 ms"),
    ("interrupt.NAME", "/proc/interrupts", "each interrupt, summed over CPUs"),
    ("softirq.NAME", "/proc/softirqs", "each soft interrupt, summed over CPUs"),
    ("psi.cpu.some_ns", "/proc/pressure/cpu", "time in which some task waited for a CPU"),
    ("psi.memory.*, psi.io.*", "/proc/pressure", "time in which some or all tasks waited for memory or I/O"),
    ("TcpExt.NAME", "/proc/net/netstat", "extended TCP counters of the workload's network namespace, also per second"),
    ("Tcp.NAME", "/proc/net/snmp", "TCP counters of the workload's network namespace, also per second"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_whole_counters_and_of_this_kernels_tables() {
        let names = names(&Roots::default());
        let has = |name: &str| names.iter().any(|one| one == name);
        assert!(has("voluntary_switches") && has("page_faults") && has("softirq.TIMER") && has("steal_ns"));
        assert!(!has("TcpExt.NAME") && !has("user_ns … steal_ns"), "patterns are no names");
    }
}
