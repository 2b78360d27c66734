//! Labels for what threads and CPUs do, the same in every analysis.

use super::lanes::CpuActivity;
use schedlab_trace::{Ended, Name, Names, Tid};

/// The kernel's soft interrupts, by vector.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// Names of per-CPU kernel threads, without the CPU's number.
const OF_ONE_CPU: [&str; 9] = [
    "ksoftirqd/",
    "migration/",
    "cpuhp/",
    "rcuc/",
    "irq_work/",
    "ktimers/",
    "idle_inject/",
    "backlog_napi/",
    "stopper/",
];

/// A thread's name, or its id if it has none.
pub(super) fn thread(names: &Names, comm: Name, tid: Tid) -> String {
    match names.text(comm) {
        _ if tid == Tid::IDLE => "(idle)".into(),
        "" => format!(":{}", tid.0),
        name => name.to_owned(),
    }
}

/// The name for tasks that have ended.
pub(super) fn ended(names: &Names, ended: &Ended) -> String {
    ended.tid.map_or_else(|| names.text(ended.comm).to_owned(), |tid| thread(names, ended.comm, tid))
}

/// What a CPU does: a thread's name, or something else in parentheses.
pub(super) fn does(names: &Names, does: CpuActivity<Name>) -> String {
    match does {
        CpuActivity::Unknown => "(not known)".into(),
        CpuActivity::Idle => "(idle)".into(),
        CpuActivity::Task(comm) => match names.text(comm) {
            "" => "(no name)".into(),
            name => name.to_owned(),
        },
        CpuActivity::Irq(irq, name) => format!("(irq {})", irq_name(irq, names.text(name))),
        CpuActivity::Softirq(vec) => format!("(softirq {})", softirq(vec)),
    }
}

/// An interrupt's line and handler.
pub(super) fn irq_name(irq: u32, handler: &str) -> String {
    format!("{irq} {handler}").trim_end().to_owned()
}

/// A soft interrupt's name.
pub(super) fn softirq(vec: u32) -> String {
    SOFTIRQS.get(vec as usize).map_or_else(|| vec.to_string(), |name| (*name).to_owned())
}

/// Whether a name is that of a per-CPU kernel thread.
pub(super) fn of_one_cpu(comm: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let bound_worker = || {
        // kworker/3:1H belongs to CPU 3; kworker/u8:2 and kworker/R-… belong to none.
        let (cpu, rest) = comm.strip_prefix("kworker/")?.split_once(':')?;
        Some(number(cpu) && rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    OF_ONE_CPU.iter().any(|head| comm.strip_prefix(head).is_some_and(number)) || bound_worker().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_one_cpu_are_known_by_their_names() {
        for (comm, is) in [
            ("ksoftirqd/12", true),
            ("migration/0", true),
            ("kworker/3:1", true),
            ("kworker/3:1H-kblockd", true),
            ("kworker/u8:2", false),
            ("kworker/R-netns", false),
            ("ksoftirqd/x", false),
            ("migration/", false),
            ("bash", false),
        ] {
            assert_eq!(of_one_cpu(comm), is, "{comm}");
        }
    }

    #[test]
    fn interrupts_have_names() {
        assert_eq!((irq_name(27, "eth0"), irq_name(9, "")), ("27 eth0".into(), "9".into()));
        assert_eq!((softirq(3), softirq(11)), ("NET_RX".into(), "11".into()));
    }
}
