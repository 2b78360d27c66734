//! Level 1, and level 2 on cores that divide their slots that far: from events that the kernel names in sysfs.

use super::super::table::*;

/// Shares of the sum of the four metrics, not of the slots, because all are read with eight bits of precision.
macro_rules! share {
    ($metric:literal) => {
        concat!($metric, " / (topdown_fe_bound + topdown_bad_spec + topdown_retiring + topdown_be_bound)")
    };
}

pub(super) const METRICS_OF_ONE_LEVEL: Group = Group {
    name: "slots",
    // `slots` is the leader: without it the core refuses its metrics.
    events: &[
        alias("slots", "slots"),
        alias("topdown_retiring", "topdown-retiring"),
        alias("topdown_bad_spec", "topdown-bad-spec"),
        alias("topdown_fe_bound", "topdown-fe-bound"),
        alias("topdown_be_bound", "topdown-be-bound"),
    ],
    nodes: &[
        slots("frontend_bound", share!("topdown_fe_bound")),
        slots("bad_speculation", share!("topdown_bad_spec")),
        slots("retiring", share!("topdown_retiring")),
        slots("backend_bound", share!("topdown_be_bound")),
    ],
};

pub(super) const METRICS_OF_TWO_LEVELS: Group = Group {
    name: "slots",
    events: &[
        alias("slots", "slots"),
        alias("topdown_retiring", "topdown-retiring"),
        alias("topdown_bad_spec", "topdown-bad-spec"),
        alias("topdown_fe_bound", "topdown-fe-bound"),
        alias("topdown_be_bound", "topdown-be-bound"),
        alias("topdown_heavy_ops", "topdown-heavy-ops"),
        alias("topdown_br_mispredict", "topdown-br-mispredict"),
        alias("topdown_fetch_lat", "topdown-fetch-lat"),
        alias("topdown_mem_bound", "topdown-mem-bound"),
    ],
    nodes: &[
        slots("frontend_bound", share!("topdown_fe_bound")),
        slots("frontend_bound.fetch_latency", share!("topdown_fetch_lat")),
        slots("frontend_bound.fetch_bandwidth", "max(frontend_bound - frontend_bound.fetch_latency, 0)"),
        slots("bad_speculation", share!("topdown_bad_spec")),
        slots("bad_speculation.branch_mispredicts", share!("topdown_br_mispredict")),
        slots("bad_speculation.machine_clears", "max(bad_speculation - bad_speculation.branch_mispredicts, 0)"),
        slots("retiring", share!("topdown_retiring")),
        slots("retiring.heavy_operations", share!("topdown_heavy_ops")),
        slots("retiring.light_operations", "max(retiring - retiring.heavy_operations, 0)"),
        slots("backend_bound", share!("topdown_be_bound")),
        slots("backend_bound.memory_bound", share!("topdown_mem_bound")),
        slots("backend_bound.core_bound", "max(backend_bound - backend_bound.memory_bound, 0)"),
    ],
};

/// perf stat --topdown's formulas for the abstract events, commit 239bd47f8355.
pub(super) const EVENTS_OF_ONE_LEVEL: Group = Group {
    name: "slots",
    events: &[
        alias("topdown_total_slots", "topdown-total-slots"),
        alias("topdown_slots_issued", "topdown-slots-issued"),
        alias("topdown_slots_retired", "topdown-slots-retired"),
        alias("topdown_fetch_bubbles", "topdown-fetch-bubbles"),
        alias("topdown_recovery_bubbles", "topdown-recovery-bubbles"),
    ],
    nodes: &[
        slots("frontend_bound", "topdown_fetch_bubbles / topdown_total_slots"),
        slots(
            "bad_speculation",
            "max((topdown_slots_issued - topdown_slots_retired + topdown_recovery_bubbles) / topdown_total_slots, 0)",
        ),
        slots("retiring", "topdown_slots_retired / topdown_total_slots"),
        slots("backend_bound", "max(1 - frontend_bound - bad_speculation - retiring, 0)"),
    ],
};
