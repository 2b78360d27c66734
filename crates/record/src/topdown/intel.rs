//! Intel's Top-down Microarchitecture Analysis. Level 1 comes from events that the kernel names in sysfs: `topdown-*`
//! events on cores up to Skylake and, from Ice Lake on, the metrics into which the core itself divides its slots
//! (`slots` and `topdown-*`, read as one group). The levels below use the formulas of Intel's TMA metrics from Linux,
//! tools/perf/pmu-events/arch/x86 (skylakex, icelakex, sapphirerapids).
//!
//! Groups have at most four events in addition to the fixed cycle counter, because with hyper-threading a Skylake
//! thread has no more. A formula that needs more is split by a common denominator (`_memory` and `_ports` over the
//! stalls of the same kind).

mod slots;

use super::table::*;
use crate::cpu_identity::CpuIdentity;
use slots::{EVENTS_OF_ONE_LEVEL, METRICS_OF_ONE_LEVEL, METRICS_OF_TWO_LEVELS};

const DOCUMENT: &str = "Intel TMA metrics, tools/perf/pmu-events/arch/x86; tools/perf/Documentation/topdown.txt";

pub(super) const SAPPHIRE_RAPIDS: Table = Table {
    id: "intel-golden-cove",
    cpus: "Intel Alder Lake, Raptor Lake, Sapphire Rapids, Emerald Rapids (performance cores)",
    source: DOCUMENT,
    missing: "",
    slots: Slots::Fixed(6),
    matches: |cpu| is_intel(cpu, &[0x8f, 0xcf, 0x97, 0x9a, 0xb7, 0xba, 0xbf]),
    groups: &[
        METRICS_OF_TWO_LEVELS,
        Group {
            name: "loads",
            events: &[
                CYCLES,
                event("EXE_ACTIVITY.BOUND_ON_LOADS", "event=0xa6,umask=0x21,cmask=5"),
                event("MEMORY_ACTIVITY.STALLS_L1D_MISS", "event=0x47,umask=0x3,cmask=3"),
                event("MEMORY_ACTIVITY.STALLS_L2_MISS", "event=0x47,umask=0x5,cmask=5"),
            ],
            nodes: &[
                cycles(
                    "backend_bound.memory_bound.l1_bound",
                    "max((EXE_ACTIVITY.BOUND_ON_LOADS - MEMORY_ACTIVITY.STALLS_L1D_MISS) / CYCLES, 0)",
                ),
                cycles(
                    "backend_bound.memory_bound.l2_bound",
                    "(MEMORY_ACTIVITY.STALLS_L1D_MISS - MEMORY_ACTIVITY.STALLS_L2_MISS) / CYCLES",
                ),
            ],
        },
        Group {
            name: "beyond_l2",
            events: &[
                CYCLES,
                event("MEMORY_ACTIVITY.STALLS_L2_MISS", "event=0x47,umask=0x5,cmask=5"),
                event("MEMORY_ACTIVITY.STALLS_L3_MISS", "event=0x47,umask=0x9,cmask=9"),
                event("EXE_ACTIVITY.BOUND_ON_STORES", "event=0xa6,umask=0x40,cmask=2"),
            ],
            nodes: &[
                cycles(
                    "backend_bound.memory_bound.l3_bound",
                    "(MEMORY_ACTIVITY.STALLS_L2_MISS - MEMORY_ACTIVITY.STALLS_L3_MISS) / CYCLES",
                ),
                cycles("backend_bound.memory_bound.dram_bound", "MEMORY_ACTIVITY.STALLS_L3_MISS / CYCLES"),
                cycles("backend_bound.memory_bound.store_bound", "EXE_ACTIVITY.BOUND_ON_STORES / CYCLES"),
            ],
        },
    ],
};

pub(super) const ICE_LAKE: Table = Table {
    id: "intel-ice-lake",
    cpus: "Intel Ice Lake, Tiger Lake, Rocket Lake (client and Xeon)",
    source: DOCUMENT,
    missing: "",
    slots: Slots::Fixed(5),
    matches: |cpu| is_intel(cpu, &[0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7]),
    groups: &[
        METRICS_OF_ONE_LEVEL,
        Group {
            name: "fetch",
            events: &[
                alias("slots", "slots"),
                event("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", "event=0x9c,umask=0x1,cmask=5"),
                event("INT_MISC.UOP_DROPPING", "event=0x0d,umask=0x10"),
            ],
            nodes: &[
                slots(
                    "frontend_bound.fetch_latency",
                    "(5 * IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE - INT_MISC.UOP_DROPPING) / slots",
                ),
                slots("frontend_bound.fetch_bandwidth", "max(frontend_bound - frontend_bound.fetch_latency, 0)"),
            ],
        },
        CLEARS,
        MEMORY_STALLS_ICE_LAKE,
        PORTS_ICE_LAKE,
        FILL_BUFFERS_ICE_LAKE,
        LOADS,
        BEYOND_L2_ICE_LAKE,
    ],
};

pub(super) const SKYLAKE: Table = Table {
    id: "intel-skylake",
    cpus: "Intel Skylake, Kaby Lake, Coffee Lake, Comet Lake, Cascade Lake, Cooper Lake",
    source: DOCUMENT,
    missing: "",
    slots: Slots::Fixed(4),
    matches: |cpu| is_intel(cpu, &[0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6]),
    groups: &[
        EVENTS_OF_ONE_LEVEL,
        Group {
            name: "fetch",
            events: &[
                alias("topdown_total_slots", "topdown-total-slots"),
                event("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", "event=0x9c,umask=0x1,cmask=4"),
            ],
            nodes: &[
                slots(
                    "frontend_bound.fetch_latency",
                    "4 * IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE / topdown_total_slots",
                ),
                slots("frontend_bound.fetch_bandwidth", "max(frontend_bound - frontend_bound.fetch_latency, 0)"),
            ],
        },
        CLEARS,
        MEMORY_STALLS_SKYLAKE,
        PORTS_SKYLAKE,
        FILL_BUFFERS_SKYLAKE,
        LOADS,
        BEYOND_L2_SKYLAKE,
    ],
};

/// Cores whose stall events are in no table here, but which divide their slots themselves.
pub(super) const SLOTS_ONLY: Table = Table {
    id: "intel-slots",
    cpus: "other Intel cores that count `slots` (performance cores since Ice Lake)",
    source: "tools/perf/Documentation/topdown.txt",
    missing: "this model's stall events are in no table here, so the tree ends at its slots",
    slots: Slots::Fixed(6),
    matches: |cpu| cpu.vendor == "GenuineIntel",
    groups: &[METRICS_OF_TWO_LEVELS],
};

fn is_intel(cpu: &CpuIdentity, models: &[u32]) -> bool {
    cpu.vendor == "GenuineIntel" && cpu.family == 6 && models.contains(&cpu.model)
}

const CYCLES: EventDef = event("CYCLES", "event=0x3c");

const CLEARS: Group = Group {
    name: "clears",
    events: &[
        event("BR_MISP_RETIRED.ALL_BRANCHES", "event=0xc5"),
        event("MACHINE_CLEARS.COUNT", "event=0xc3,umask=0x1,cmask=1,edge=1"),
    ],
    nodes: &[
        slots(
            "bad_speculation.branch_mispredicts",
            "bad_speculation * BR_MISP_RETIRED.ALL_BRANCHES / (BR_MISP_RETIRED.ALL_BRANCHES + MACHINE_CLEARS.COUNT)",
        ),
        slots("bad_speculation.machine_clears", "bad_speculation - bad_speculation.branch_mispredicts"),
    ],
};

const STALLS_TOTAL: EventDef = event("CYCLE_ACTIVITY.STALLS_TOTAL", "event=0xa3,umask=0x4,cmask=4");
const STALLS_MEM_ANY: EventDef = event("CYCLE_ACTIVITY.STALLS_MEM_ANY", "event=0xa3,umask=0x14,cmask=20");
const STALLS_L1D_MISS: EventDef = event("CYCLE_ACTIVITY.STALLS_L1D_MISS", "event=0xa3,umask=0xc,cmask=12");
const STALLS_L2_MISS: EventDef = event("CYCLE_ACTIVITY.STALLS_L2_MISS", "event=0xa3,umask=0x5,cmask=5");
const STALLS_L3_MISS: EventDef = event("CYCLE_ACTIVITY.STALLS_L3_MISS", "event=0xa3,umask=0x6,cmask=6");
const STORES_SKYLAKE: EventDef = event("EXE_ACTIVITY.BOUND_ON_STORES", "event=0xa6,umask=0x40");
const STORES_ICE_LAKE: EventDef = event("EXE_ACTIVITY.BOUND_ON_STORES", "event=0xa6,umask=0x40,cmask=2");
const ONE_PORT: EventDef = event("EXE_ACTIVITY.1_PORTS_UTIL", "event=0xa6,umask=0x2");
const TWO_PORTS: EventDef = event("EXE_ACTIVITY.2_PORTS_UTIL", "event=0xa6,umask=0x4");

/// The memory-bound share of the back-end is `(STALLS_MEM_ANY + BOUND_ON_STORES) / (STALLS_TOTAL + 1_PORTS_UTIL +
/// retiring × 2_PORTS_UTIL + BOUND_ON_STORES)`: five events, here split into two ratios over the same STALLS_TOTAL.
const MEMORY_SHARE: &[Node] =
    &[slots("_memory", "(CYCLE_ACTIVITY.STALLS_MEM_ANY + EXE_ACTIVITY.BOUND_ON_STORES) / CYCLE_ACTIVITY.STALLS_TOTAL")];
const PORTS_SHARE: &[Node] = &[
    slots(
        "backend_bound.memory_bound",
        "backend_bound * _memory / (1 + (EXE_ACTIVITY.1_PORTS_UTIL + retiring * EXE_ACTIVITY.2_PORTS_UTIL \
         + EXE_ACTIVITY.BOUND_ON_STORES) / CYCLE_ACTIVITY.STALLS_TOTAL)",
    ),
    slots("backend_bound.core_bound", "max(backend_bound - backend_bound.memory_bound, 0)"),
];

const MEMORY_STALLS_SKYLAKE: Group =
    Group { name: "memory", events: &[STALLS_TOTAL, STALLS_MEM_ANY, STORES_SKYLAKE], nodes: MEMORY_SHARE };
const MEMORY_STALLS_ICE_LAKE: Group =
    Group { name: "memory", events: &[STALLS_TOTAL, STALLS_MEM_ANY, STORES_ICE_LAKE], nodes: MEMORY_SHARE };
const PORTS_SKYLAKE: Group =
    Group { name: "ports", events: &[STALLS_TOTAL, ONE_PORT, TWO_PORTS, STORES_SKYLAKE], nodes: PORTS_SHARE };
const PORTS_ICE_LAKE: Group =
    Group { name: "ports", events: &[STALLS_TOTAL, ONE_PORT, TWO_PORTS, STORES_ICE_LAKE], nodes: PORTS_SHARE };

/// The share of L2 in the stalls past L1; the rest waits for a fill buffer, and counts as memory beyond L2.
const L2_SHARE: &[Node] = &[slots(
    "_l2",
    "MEM_LOAD_RETIRED.L2_HIT * (1 + MEM_LOAD_RETIRED.FB_HIT / MEM_LOAD_RETIRED.L1_MISS) \
     / (MEM_LOAD_RETIRED.L2_HIT * (1 + MEM_LOAD_RETIRED.FB_HIT / MEM_LOAD_RETIRED.L1_MISS) + L1D_PEND_MISS.FB_FULL)",
)];
const L2_HIT: EventDef = event("MEM_LOAD_RETIRED.L2_HIT", "event=0xd1,umask=0x2");
const FB_HIT: EventDef = event("MEM_LOAD_RETIRED.FB_HIT", "event=0xd1,umask=0x40");
const L1_MISS: EventDef = event("MEM_LOAD_RETIRED.L1_MISS", "event=0xd1,umask=0x8");
const FILL_BUFFERS_SKYLAKE: Group = Group {
    name: "fill_buffers",
    events: &[L2_HIT, FB_HIT, L1_MISS, event("L1D_PEND_MISS.FB_FULL", "event=0x48,umask=0x2,cmask=1")],
    nodes: L2_SHARE,
};
/// Ice Lake counts periods (FB_FULL_PERIODS), Skylake cycles.
const FILL_BUFFERS_ICE_LAKE: Group = Group {
    name: "fill_buffers",
    events: &[L2_HIT, FB_HIT, L1_MISS, event("L1D_PEND_MISS.FB_FULL", "event=0x48,umask=0x2,cmask=1,edge=1")],
    nodes: L2_SHARE,
};

const LOADS: Group = Group {
    name: "loads",
    events: &[CYCLES, STALLS_MEM_ANY, STALLS_L1D_MISS, STALLS_L2_MISS],
    nodes: &[
        cycles(
            "backend_bound.memory_bound.l1_bound",
            "max((CYCLE_ACTIVITY.STALLS_MEM_ANY - CYCLE_ACTIVITY.STALLS_L1D_MISS) / CYCLES, 0)",
        ),
        cycles("_past_l1", "(CYCLE_ACTIVITY.STALLS_L1D_MISS - CYCLE_ACTIVITY.STALLS_L2_MISS) / CYCLES"),
        cycles("backend_bound.memory_bound.l2_bound", "_l2 * _past_l1"),
    ],
};

const BEYOND_L2: &[Node] = &[
    cycles(
        "backend_bound.memory_bound.l3_bound",
        "(CYCLE_ACTIVITY.STALLS_L2_MISS - CYCLE_ACTIVITY.STALLS_L3_MISS) / CYCLES",
    ),
    cycles(
        "backend_bound.memory_bound.dram_bound",
        "CYCLE_ACTIVITY.STALLS_L3_MISS / CYCLES + _past_l1 - backend_bound.memory_bound.l2_bound",
    ),
    cycles("backend_bound.memory_bound.store_bound", "EXE_ACTIVITY.BOUND_ON_STORES / CYCLES"),
];
const BEYOND_L2_SKYLAKE: Group =
    Group { name: "beyond_l2", events: &[CYCLES, STALLS_L2_MISS, STALLS_L3_MISS, STORES_SKYLAKE], nodes: BEYOND_L2 };
const BEYOND_L2_ICE_LAKE: Group =
    Group { name: "beyond_l2", events: &[CYCLES, STALLS_L2_MISS, STALLS_L3_MISS, STORES_ICE_LAKE], nodes: BEYOND_L2 };
