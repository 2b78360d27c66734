//! Page sizes and what the kernel does to memory behind a task's back.

use crate::draft::check;
use crate::machine::Machine;
use schedlab_plan::Check;

/// The base page.
pub(crate) fn page_size(machine: &Machine<'_>) -> Check {
    let bytes = machine.answers.page_size_bytes;
    check("page_size", "page size")
        .info(format!("{bytes} bytes"), "pipes hold 16 pages: a larger page is a deeper pipe and fewer switches")
        .evidence("sysconf(_SC_PAGESIZE)")
}

/// Transparent huge pages.
pub(crate) fn transparent_hugepages(machine: &Machine<'_>) -> Check {
    let draft = check("transparent_hugepages", "transparent huge pages");
    let enabled = machine.sys("kernel/mm/transparent_hugepage/enabled");
    match enabled.chosen('[', ']') {
        Some("always") => draft
            .info("always", "tasks with large stacks or heaps fault 2 MiB at a time; khugepaged may run meanwhile")
            .evidence(enabled.evidence()),
        Some(mode) => draft.good(mode, "workloads here do not ask for huge pages").evidence(enabled.evidence()),
        None => draft.good("not built in", "all pages are base pages").evidence(enabled.evidence()),
    }
}

/// Automatic NUMA balancing.
pub(crate) fn numa_balancing(machine: &Machine<'_>) -> Check {
    let draft = check("numa_balancing", "NUMA balancing");
    let knob = machine.proc("sys/kernel/numa_balancing");
    match knob.text() {
        Some("0") => draft.good("off", "tasks and pages are not moved for locality").evidence(knob.evidence()),
        Some(mode) => draft
            .warning(format!("on ({mode})"), "page faults and task moves for locality come and go during a trial")
            .fix("sysctl kernel.numa_balancing=0 in both arms, unless it is what you measure")
            .evidence(knob.evidence()),
        None => draft.good("not built in", "tasks and pages are not moved for locality").evidence(knob.evidence()),
    }
}
