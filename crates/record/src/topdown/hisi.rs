//! Kunpeng 920 (HiSilicon hip08, TSV110 cores): Linux tools/perf/pmu-events/arch/arm64/hisilicon/hip08/metrics.json,
//! whose names are kept. Events without a name in that file are called by their number. It has no sum of the stalls in
//! which dispatch waits for a resource (reorder buffer, physical tags, …); here `resource_bound` is the sum of the five
//! parts.

use super::table::*;

pub(super) const HIP08: Table = Table {
    id: "hisi-hip08",
    cpus: "HiSilicon Kunpeng 920 (hip08, part 0xd01)",
    source: "tools/perf/pmu-events/arch/arm64/hisilicon/hip08/metrics.json",
    missing: "L3 and DRAM are one node, mem_bound: what missed L2",
    slots: Slots::Fixed(4),
    matches: |cpu| cpu.vendor == "0x48" && cpu.family == 0xd01,
    groups: &[
        Group {
            name: "slots",
            events: &[
                CPU_CYCLES,
                event("fetch_bubble", "event=0x2014"),
                event("inst_spec", "event=0x1b"),
                event("inst_retired", "event=0x8"),
                event("r201d", "event=0x201d"),
                event("br_mis_pred", "event=0x10"),
                event("r2013", "event=0x2013"),
            ],
            nodes: &[
                slots("frontend_bound", "fetch_bubble / (SLOTS * cpu_cycles)"),
                slots("frontend_bound.fetch_latency_bound", "r201d / cpu_cycles"),
                slots("frontend_bound.fetch_bandwidth_bound", "frontend_bound - frontend_bound.fetch_latency_bound"),
                slots("bad_speculation", "(inst_spec - inst_retired) / (SLOTS * cpu_cycles)"),
                slots("bad_speculation.branch_mispredicts", "bad_speculation * br_mis_pred / (br_mis_pred + r2013)"),
                slots("bad_speculation.machine_clears", "bad_speculation - bad_speculation.branch_mispredicts"),
                slots("retiring", "inst_retired / (SLOTS * cpu_cycles)"),
                slots("backend_bound", "1 - (frontend_bound + bad_speculation + retiring)"),
            ],
        },
        Group {
            name: "resource",
            events: &[
                CPU_CYCLES,
                event("sync_stall", "event=0x2010"),
                event("rob_stall", "event=0x2004"),
                event("ptag_stall_0", "event=0x2006"),
                event("ptag_stall_1", "event=0x2007"),
                event("ptag_stall_2", "event=0x2008"),
                event("saveopq_stall", "event=0x201e"),
                event("pc_buffer_stall", "event=0x2005"),
            ],
            nodes: &[
                cycles(
                    "backend_bound.resource_bound",
                    "(sync_stall + rob_stall + ptag_stall_0 + ptag_stall_1 + ptag_stall_2 + saveopq_stall \
                     + pc_buffer_stall) / cpu_cycles",
                ),
                cycles("backend_bound.resource_bound.sync_stall", "sync_stall / cpu_cycles"),
                cycles("backend_bound.resource_bound.rob_stall", "rob_stall / cpu_cycles"),
                cycles(
                    "backend_bound.resource_bound.ptag_stall",
                    "(ptag_stall_0 + ptag_stall_1 + ptag_stall_2) / cpu_cycles",
                ),
                cycles("backend_bound.resource_bound.saveopq_stall", "saveopq_stall / cpu_cycles"),
                cycles("backend_bound.resource_bound.pc_buffer_stall", "pc_buffer_stall / cpu_cycles"),
            ],
        },
        Group {
            name: "execution",
            events: &[
                CPU_CYCLES,
                event("exe_stall_cycle", "event=0x7001"),
                event("mem_stall_anyload", "event=0x7004"),
                event("r7005", "event=0x7005"),
                event("mem_stall_l1miss", "event=0x7006"),
                event("mem_stall_l2miss", "event=0x7007"),
                event("r7002", "event=0x7002"),
                event("r7003", "event=0x7003"),
            ],
            nodes: &[
                cycles("backend_bound.core_bound", "(exe_stall_cycle - (mem_stall_anyload + r7005)) / cpu_cycles"),
                cycles("backend_bound.core_bound.divider", "r7002 / cpu_cycles"),
                cycles("backend_bound.core_bound.fsu_stall", "r7003 / cpu_cycles"),
                cycles(
                    "backend_bound.core_bound.exe_ports_util",
                    "backend_bound.core_bound - backend_bound.core_bound.divider - backend_bound.core_bound.fsu_stall",
                ),
                cycles("backend_bound.memory_bound", "(mem_stall_anyload + r7005) / cpu_cycles"),
                cycles("backend_bound.memory_bound.l1_bound", "(mem_stall_anyload - mem_stall_l1miss) / cpu_cycles"),
                cycles("backend_bound.memory_bound.l2_bound", "(mem_stall_l1miss - mem_stall_l2miss) / cpu_cycles"),
                cycles("backend_bound.memory_bound.mem_bound", "mem_stall_l2miss / cpu_cycles"),
                cycles("backend_bound.memory_bound.store_bound", "r7005 / cpu_cycles"),
            ],
        },
    ],
};

const CPU_CYCLES: EventDef = event("cpu_cycles", "event=0x11");
