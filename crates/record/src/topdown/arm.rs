//! Arm Neoverse: the slot-based level 1 of the Server Base System Architecture (Linux tools/perf/pmu-events/arch/arm64,
//! sbsa.json). Neoverse N2 up to r0p2 counts one front-end stall slot too many in each cycle (erratum; the corrected
//! formulas are those of neoverse-n2-v2/metrics.json). The back-end is divided by cycles: among the cycles in which it
//! stalled, those in which it waited for memory (STALL_BACKEND and STALL_BACKEND_MEM, Arm Architecture Reference
//! Manual, D12).

use super::table::*;
use crate::cpu_identity::CpuIdentity;

const MISSING: &str = "these cores divide back-end stalls into memory and the rest, not by cache level";

pub(super) const NEOVERSE: Table = Table {
    id: "arm-neoverse",
    cpus: "Arm Neoverse V1, V2, N2 from r0p3, N3, V3",
    source: "SBSA top-down, tools/perf/pmu-events/arch/arm64/sbsa.json; Arm ARM D12 for the back-end",
    missing: MISSING,
    slots: Slots::OfPmu,
    matches: |cpu| is_neoverse(cpu, &[0xd40, 0xd4f, 0xd49, 0xd8e, 0xd84, 0xd83]) && !has_extra_stall_slot(cpu),
    groups: &[
        Group {
            name: "slots",
            events: EVENTS,
            nodes: &[
                slots("frontend_bound", "stall_slot_frontend / (SLOTS * cpu_cycles)"),
                slots("bad_speculation", "(1 - op_retired / op_spec) * (1 - stall_slot / (SLOTS * cpu_cycles))"),
                slots("retiring", "op_retired / op_spec * (1 - stall_slot / (SLOTS * cpu_cycles))"),
                slots("backend_bound", "stall_slot_backend / (SLOTS * cpu_cycles)"),
            ],
        },
        BACKEND,
    ],
};

pub(super) const NEOVERSE_N2_R0P2: Table = Table {
    id: "arm-neoverse-n2-r0p2",
    cpus: "Arm Neoverse N2 up to r0p2",
    source: "tools/perf/pmu-events/arch/arm64/arm/neoverse-n2-v2/metrics.json; Arm ARM D12 for the back-end",
    missing: MISSING,
    slots: Slots::OfPmu,
    matches: |cpu| is_neoverse(cpu, &[0xd49]) && has_extra_stall_slot(cpu),
    groups: &[
        Group {
            name: "slots",
            events: EVENTS,
            nodes: &[
                slots("frontend_bound", "(stall_slot_frontend - cpu_cycles) / (SLOTS * cpu_cycles)"),
                slots(
                    "bad_speculation",
                    "(1 - op_retired / op_spec) * (1 - (stall_slot - cpu_cycles) / (SLOTS * cpu_cycles))",
                ),
                slots("retiring", "op_retired / op_spec * (1 - (stall_slot - cpu_cycles) / (SLOTS * cpu_cycles))"),
                slots("backend_bound", "stall_slot_backend / (SLOTS * cpu_cycles)"),
            ],
        },
        BACKEND,
    ],
};

const EVENTS: &[EventDef] = &[
    event("cpu_cycles", "event=0x11"),
    event("stall_slot", "event=0x3f"),
    event("stall_slot_frontend", "event=0x3e"),
    event("stall_slot_backend", "event=0x3d"),
    event("op_retired", "event=0x3a"),
    event("op_spec", "event=0x3b"),
];

const BACKEND: Group = Group {
    name: "backend",
    events: &[event("stall_backend", "event=0x24"), event("stall_backend_mem", "event=0x4005")],
    nodes: &[
        slots("backend_bound.memory_bound", "backend_bound * stall_backend_mem / stall_backend"),
        slots("backend_bound.core_bound", "max(backend_bound - backend_bound.memory_bound, 0)"),
    ],
};

fn is_neoverse(cpu: &CpuIdentity, parts: &[u32]) -> bool {
    cpu.vendor == "0x41" && parts.contains(&cpu.family)
}

fn has_extra_stall_slot(cpu: &CpuIdentity) -> bool {
    cpu.family == 0xd49 && cpu.model < 0x03
}
