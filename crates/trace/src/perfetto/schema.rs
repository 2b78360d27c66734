//! Field numbers from the published schema: protos/perfetto/trace of Perfetto.

use crate::kind::Kind;
use crate::rows::ROWS;

/// `TracePacket` inside `Trace`.
pub(super) const PACKET: u32 = 1;

/// Fields of `TracePacket`.
pub(super) mod packet {
    pub(in super::super) const FTRACE_EVENTS: u32 = 1;
    pub(in super::super) const PROCESS_TREE: u32 = 2;
    pub(in super::super) const TIMESTAMP: u32 = 8;
    pub(in super::super) const SEQUENCE: u32 = 10;
    pub(in super::super) const TRACK_EVENT: u32 = 11;
    pub(in super::super) const INTERNED_DATA: u32 = 12;
    pub(in super::super) const SEQUENCE_FLAGS: u32 = 13;
    pub(in super::super) const FTRACE_STATS: u32 = 34;
    pub(in super::super) const TRACE_STATS: u32 = 35;
    pub(in super::super) const INCREMENTAL_STATE_CLEARED: u32 = 41;
    pub(in super::super) const PREVIOUS_PACKET_DROPPED: u32 = 42;
    pub(in super::super) const SYSTEM_INFO: u32 = 45;
    pub(in super::super) const COMPRESSED_PACKETS: u32 = 50;
    pub(in super::super) const TRACK_DESCRIPTOR: u32 = 60;
    pub(in super::super) const SERVICE_EVENT: u32 = 69;
    pub(in super::super) const FIRST_PACKET_ON_SEQUENCE: u32 = 87;
    pub(in super::super) const MACHINE_ID: u32 = 98;
    pub(in super::super) const ZSTD_COMPRESSED_PACKETS: u32 = 133;
    /// A bit of `SEQUENCE_FLAGS`: earlier interned data is no longer referred to.
    pub(in super::super) const STATE_CLEARED: u64 = 1;
}

/// Fields of `FtraceEventBundle`.
pub(super) mod bundle {
    pub(in super::super) const CPU: u32 = 1;
    pub(in super::super) const EVENT: u32 = 2;
    pub(in super::super) const LOST_EVENTS: u32 = 3;
    pub(in super::super) const COMPACT_SCHED: u32 = 4;
    pub(in super::super) const FTRACE_CLOCK: u32 = 5;
    pub(in super::super) const FTRACE_TIMESTAMP: u32 = 6;
    pub(in super::super) const BOOT_TIMESTAMP: u32 = 7;
    pub(in super::super) const ERROR: u32 = 8;
    pub(in super::super) const LAST_READ_EVENT_TIMESTAMP: u32 = 9;
    pub(in super::super) const PREVIOUS_BUNDLE_END_TIMESTAMP: u32 = 10;
    pub(in super::super) const GENERIC_EVENT_DESCRIPTORS: u32 = 11;
    pub(in super::super) const BROKEN_ABI_TRACE_PAGE: u32 = 512;
}

/// Fields of `FtraceEvent`.
pub(super) mod event {
    pub(in super::super) const TIMESTAMP: u32 = 1;
    pub(in super::super) const PID: u32 = 2;
    pub(in super::super) const COMMON_FLAGS: u32 = 5;
}

/// Fields of `CompactSched`; times are differences from the previous one.
pub(super) mod compact {
    pub(in super::super) const SWITCH_TIMESTAMP: usize = 1;
    pub(in super::super) const SWITCH_PREV_STATE: usize = 2;
    pub(in super::super) const SWITCH_NEXT_PID: usize = 3;
    pub(in super::super) const SWITCH_NEXT_PRIO: usize = 4;
    pub(in super::super) const INTERN_TABLE: u32 = 5;
    pub(in super::super) const SWITCH_NEXT_COMM: usize = 6;
    pub(in super::super) const WAKING_TIMESTAMP: usize = 7;
    pub(in super::super) const WAKING_PID: usize = 8;
    pub(in super::super) const WAKING_TARGET_CPU: usize = 9;
    pub(in super::super) const WAKING_PRIO: usize = 10;
    pub(in super::super) const WAKING_COMM: usize = 11;
    pub(in super::super) const WAKING_COMMON_FLAGS: usize = 12;
    pub(in super::super) const FIELDS: usize = 13;
    /// The columns of one event, which all have the same length.
    pub(in super::super) const SWITCH: [usize; 5] =
        [SWITCH_TIMESTAMP, SWITCH_PREV_STATE, SWITCH_NEXT_PID, SWITCH_NEXT_PRIO, SWITCH_NEXT_COMM];
    pub(in super::super) const WAKING: [usize; 5] =
        [WAKING_TIMESTAMP, WAKING_PID, WAKING_TARGET_CPU, WAKING_PRIO, WAKING_COMM];
}

/// `GenericFtraceEvent`: an event for which the recorder had no field, with its name.
pub(super) const GENERIC: u32 = 327;

/// The event of a field.
pub(super) fn kind(field: u32) -> Option<Kind> {
    ROWS.iter().find(|row| row.perfetto == field && field > 0).map(|row| row.kind)
}

/// The field of an event; `None` if the schema has none.
pub(super) fn field(kind: Kind) -> Option<u32> {
    Some(kind.row().perfetto).filter(|field| *field > 0)
}

/// The clock in `ftrace_clock`, by its name in tracefs.
pub(super) fn clock(number: u64) -> &'static str {
    match number {
        0 => "boot",
        2 => "global",
        3 => "local",
        4 => "mono_raw",
        _ => "unknown",
    }
}
