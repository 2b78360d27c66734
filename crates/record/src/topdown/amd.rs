//! AMD's pipeline utilization metrics: Linux tools/perf/pmu-events/arch/x86/amdzen4 and amdzen5, pipeline.json, which
//! follow AMD's Processor Programming Reference. A core has six counters, of which the NMI watchdog may hold one, so
//! groups have five events at most.

use super::table::*;

const DOCUMENT: &str = "AMD pipeline utilization, tools/perf/pmu-events/arch/x86/amdzen4, amdzen5 (pipeline.json)";
const MISSING: &str = "these cores have no events that divide memory stalls by cache level";

pub(super) const ZEN4: Table = Table {
    id: "amd-zen4",
    cpus: "AMD Zen 4 (family 25, models 0x10-0x1f, 0x60-0x7f, 0xa0-0xaf)",
    source: DOCUMENT,
    missing: MISSING,
    slots: Slots::Fixed(6),
    matches: |cpu| {
        let is_zen4 = matches!(cpu.model, 0x10..=0x1f | 0x60..=0x7f | 0xa0..=0xaf);
        cpu.vendor == "AuthenticAMD" && cpu.family == 25 && is_zen4
    },
    groups: &[
        SLOTS,
        Group {
            name: "fetch",
            events: &[
                CYCLES,
                SMT_CONTENTION,
                // Cycles in which all six slots remained empty.
                event("no_ops_from_frontend_in_all_slots", "event=0x1a0,umask=0x1,cmask=6"),
            ],
            nodes: FETCH,
        },
        RESTARTS_ZEN4,
        RETIRING,
        BACKEND,
    ],
};

pub(super) const ZEN5: Table = Table {
    id: "amd-zen5",
    cpus: "AMD Zen 5 (family 26, models below 0x50)",
    source: DOCUMENT,
    missing: MISSING,
    slots: Slots::Fixed(8),
    matches: |cpu| cpu.vendor == "AuthenticAMD" && cpu.family == 26 && cpu.model < 0x50,
    groups: &[
        SLOTS,
        Group {
            name: "fetch",
            events: &[
                CYCLES,
                SMT_CONTENTION,
                event("no_ops_from_frontend_in_all_slots", "event=0x1a0,umask=0x1,cmask=8"),
            ],
            nodes: FETCH,
        },
        RESTARTS_ZEN5,
        RETIRING,
        BACKEND,
    ],
};

const CYCLES: EventDef = event("ls_not_halted_cyc", "event=0x76");
const SMT_CONTENTION: EventDef = event("de_no_dispatch_per_slot.smt_contention", "event=0x1a0,umask=0x60");

const SLOTS: Group = Group {
    name: "slots",
    events: &[
        CYCLES,
        event("de_no_dispatch_per_slot.no_ops_from_frontend", "event=0x1a0,umask=0x1"),
        event("de_no_dispatch_per_slot.backend_stalls", "event=0x1a0,umask=0x1e"),
        event("de_src_op_disp.all", "event=0xaa,umask=0x7"),
        event("ex_ret_ops", "event=0xc1"),
    ],
    nodes: &[
        slots("frontend_bound", "de_no_dispatch_per_slot.no_ops_from_frontend / (SLOTS * ls_not_halted_cyc)"),
        slots("bad_speculation", "max((de_src_op_disp.all - ex_ret_ops) / (SLOTS * ls_not_halted_cyc), 0)"),
        slots("retiring", "ex_ret_ops / (SLOTS * ls_not_halted_cyc)"),
        slots("backend_bound", "de_no_dispatch_per_slot.backend_stalls / (SLOTS * ls_not_halted_cyc)"),
    ],
};

const FETCH: &[Node] = &[
    slots("smt_contention", "de_no_dispatch_per_slot.smt_contention / (SLOTS * ls_not_halted_cyc)"),
    slots("frontend_bound.latency", "no_ops_from_frontend_in_all_slots / ls_not_halted_cyc"),
    slots("frontend_bound.bandwidth", "max(frontend_bound - frontend_bound.latency, 0)"),
];

/// Pipeline restarts are `resyncs_or_nc_redirects` on Zen 4 and `bp_redirects.resync` on Zen 5.
const MISPREDICTS: EventDef = event("ex_ret_brn_misp", "event=0xc3");
const RESTARTS_ZEN4: Group =
    Group { name: "restarts", events: &[MISPREDICTS, event("resyncs", "event=0x96")], nodes: RESTARTS };
const RESTARTS_ZEN5: Group =
    Group { name: "restarts", events: &[MISPREDICTS, event("resyncs", "event=0x9f,umask=0x1")], nodes: RESTARTS };
const RESTARTS: &[Node] = &[
    slots("bad_speculation.mispredicts", "bad_speculation * ex_ret_brn_misp / (ex_ret_brn_misp + resyncs)"),
    slots("bad_speculation.pipeline_restarts", "bad_speculation * resyncs / (ex_ret_brn_misp + resyncs)"),
];

const RETIRING: Group = Group {
    name: "microcode",
    events: &[event("ex_ret_ops", "event=0xc1"), event("ex_ret_ucode_ops", "event=0x1c2")],
    nodes: &[
        slots("retiring.fastpath", "retiring * (1 - ex_ret_ucode_ops / ex_ret_ops)"),
        slots("retiring.microcode", "retiring * ex_ret_ucode_ops / ex_ret_ops"),
    ],
};

const BACKEND: Group = Group {
    name: "backend",
    events: &[
        event("ex_no_retire.load_not_complete", "event=0xd6,umask=0xa2"),
        event("ex_no_retire.not_complete", "event=0xd6,umask=0x2"),
    ],
    nodes: &[
        slots(
            "backend_bound.memory_bound",
            "backend_bound * ex_no_retire.load_not_complete / ex_no_retire.not_complete",
        ),
        slots("backend_bound.core_bound", "max(backend_bound - backend_bound.memory_bound, 0)"),
    ],
};
