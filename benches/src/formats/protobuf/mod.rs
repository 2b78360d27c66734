//! Encodes Perfetto traces byte by byte from the events of another trace: message and field numbers are from the
//! published schema (protos/perfetto/trace), no code is from our own writer.

mod decode;

use super::reference::{Event, State, What};
pub use decode::decode;
use std::collections::BTreeMap;

/// How a trace is laid out.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// `sched_switch` and `sched_waking` in compact form, as columns.
    pub compact: bool,
    /// Packets nested in packets, compressed with deflate.
    pub compressed: bool,
    /// The packets of each CPU are a separate sequence.
    pub sequences: bool,
    /// What is missing, and what shows it.
    pub hole: Option<Hole>,
}

/// Slices of time whose packets are not in the trace.
#[derive(Debug, Clone, Copy)]
pub struct Hole {
    /// First slice that is gone.
    pub from: usize,
    /// First slice after it that is in the trace.
    pub to: usize,
    /// The CPU, or all CPUs.
    pub cpu: Option<u32>,
    /// How the next bundle or its packet marks the hole.
    pub mark: Mark,
}

/// How a hole is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// `lost_events` of the bundle.
    LostEvents,
    /// `previous_packet_dropped` of the packet.
    PacketDropped,
    /// `previous_bundle_end_timestamp` of every bundle: after the hole it is that of a missing bundle.
    PreviousEnd,
    /// `previous_packet_dropped`, and `last_read_event_timestamp` of every bundle, which shows how far the dropped part
    /// reached (v44 to 46).
    LastRead,
    /// An `error` of the bundle, as for a page that could not be parsed.
    Error,
    /// Overruns in the `FtraceStats` at the end.
    Overrun,
}

/// A trace has this many slices, each with one packet per CPU.
pub const SLICES: usize = 48;

mod field {
    pub(super) const PACKET: u32 = 1;
    pub(super) const FTRACE_EVENTS: u32 = 1;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const FTRACE_STATS: u32 = 34;
    pub(super) const PREVIOUS_PACKET_DROPPED: u32 = 42;
    pub(super) const SYSTEM_INFO: u32 = 45;
    pub(super) const COMPRESSED_PACKETS: u32 = 50;
}

/// `FTRACE_PARSE_STATUS_ABI_INVALID_DATA_LENGTH`; any value but 0 and 1 will do.
const INVALID_LENGTH: u64 = 4;

/// A trace, and its events as far as a reader can know them.
pub fn encode(events: &[Event], layout: Layout) -> (Vec<u8>, Vec<Event>) {
    let (mut packets, mut kept) = (vec![system()], Vec::new());
    let each = events.len().div_ceil(SLICES);
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    let mut unsaid = BTreeMap::new();
    for (slice, piece) in events.chunks(each).enumerate() {
        let mut cpus: BTreeMap<u32, Vec<&Event>> = BTreeMap::new();
        for event in piece.iter().filter(|e| !matches!(e.what, What::Answered | What::Other | What::Lost)) {
            cpus.entry(event.cpu).or_default().push(event);
        }
        for (cpu, bundle) in cpus {
            let end = bundle.last().map_or(0, |event| event.ts);
            let hole = layout.hole.filter(|hole| hole.cpu.is_none_or(|of| of == cpu));
            let before = last.insert(cpu, end);
            if let Some(hole) = hole.filter(|hole| (hole.from..hole.to).contains(&slice)) {
                unsaid.insert(cpu, hole.mark);
                continue;
            }
            let mark = unsaid.remove(&cpu);
            let lost_until = match mark {
                Some(Mark::PreviousEnd | Mark::LastRead) => before,
                Some(Mark::Overrun) | None => None,
                Some(_) => Some(bundle[0].ts),
            };
            kept.extend(lost_until.map(|ts| Event { ts, cpu, what: What::Lost }));
            kept.extend(bundle.iter().map(|event| (*event).clone()));
            let of_all = layout.hole.map(|hole| hole.mark);
            packets.push(packet(cpu, &bundle, layout, mark, before.map(|ts| (ts, of_all))));
        }
    }
    if layout.hole.is_some_and(|hole| hole.mark == Mark::Overrun) {
        packets.push(overrun(layout.hole.and_then(|hole| hole.cpu).unwrap_or(0)));
    }
    // A loss comes before the event that follows it; the stable sort keeps that order.
    kept.sort_by_key(|event| event.ts);
    if layout.compact {
        infer_prev(&mut kept);
    }
    (whole(packets, layout.compressed), kept)
}

/// Fills in the previous thread, which compact events lack: the thread that got the CPU last. Events are in the order
/// of their times.
pub fn infer_prev(events: &mut [Event]) {
    let mut current: BTreeMap<u32, u32> = BTreeMap::new();
    for Event { cpu, what, .. } in events {
        match what {
            What::Lost => {
                current.remove(cpu);
            }
            What::Switch { prev, next, .. } => *prev = current.insert(*cpu, *next).unwrap_or(0),
            _ => {}
        }
    }
}

fn whole(packets: Vec<Vec<u8>>, compressed: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let join = |packets: &[Vec<u8>]| {
        let mut joined = Vec::new();
        packets.iter().for_each(|packet| bytes(&mut joined, field::PACKET, packet));
        joined
    };
    if !compressed {
        return join(&packets);
    }
    for several in packets.chunks(7) {
        let mut packet = Vec::new();
        bytes(&mut packet, field::COMPRESSED_PACKETS, &deflated(&join(several)));
        bytes(&mut out, field::PACKET, &packet);
    }
    out
}

fn deflated(plain: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    writer.write_all(plain).and_then(|()| writer.finish()).expect("a vector takes all")
}

fn packet(
    cpu: u32,
    events: &[&Event],
    layout: Layout,
    mark: Option<Mark>,
    before: Option<(u64, Option<Mark>)>,
) -> Vec<u8> {
    let mut bundle = Vec::new();
    number(&mut bundle, 1, u64::from(cpu));
    if layout.compact {
        bytes(&mut bundle, 4, &columns(events));
    }
    for event in events {
        if let Some(event) = single(event, layout.compact) {
            bytes(&mut bundle, 2, &event);
        }
    }
    match before {
        Some((ts, Some(Mark::PreviousEnd))) => number(&mut bundle, 10, ts),
        Some((ts, Some(Mark::LastRead))) => number(&mut bundle, 9, ts),
        _ => {}
    }
    if mark == Some(Mark::LostEvents) {
        number(&mut bundle, 3, 1);
    }
    if mark == Some(Mark::Error) {
        let mut error = Vec::new();
        number(&mut error, 1, events[0].ts);
        number(&mut error, 2, INVALID_LENGTH);
        bytes(&mut bundle, 8, &error);
    }
    let mut packet = Vec::new();
    bytes(&mut packet, field::FTRACE_EVENTS, &bundle);
    number(&mut packet, field::SEQUENCE, if layout.sequences { 2 + u64::from(cpu) } else { 2 });
    if matches!(mark, Some(Mark::PacketDropped | Mark::LastRead)) {
        number(&mut packet, field::PREVIOUS_PACKET_DROPPED, 1);
    }
    packet
}

/// `CompactSched` with the switches and wakings.
fn columns(events: &[&Event]) -> Vec<u8> {
    let mut packed: [Vec<u8>; 13] = Default::default();
    let [mut switched, mut woken] = [0; 2];
    for event in events {
        let mut push = |column: usize, value: u64| varint(&mut packed[column], value);
        match event.what {
            What::Switch { state, next, .. } => {
                push(1, event.ts - switched);
                push(2, number_of(state));
                push(3, u64::from(next));
                push(4, 120);
                push(6, 0);
                switched = event.ts;
            }
            What::Waking { tid, target_cpu } => {
                push(7, event.ts - woken);
                push(8, u64::from(tid));
                push(9, u64::from(target_cpu));
                push(10, 120);
                push(11, 0);
                push(12, 0);
                woken = event.ts;
            }
            _ => {}
        }
    }
    let mut message = Vec::new();
    bytes(&mut message, 5, b"thread");
    for (column, values) in packed.iter().enumerate().filter(|(_, values)| !values.is_empty()) {
        bytes(&mut message, column as u32, values);
    }
    message
}

/// As printed by Linux 4.14 and newer: `R+`, `S` and `X`.
fn number_of(state: State) -> u64 {
    match state {
        State::Runnable => 0x100,
        State::Asleep => 1,
        State::Dead => 0x10,
    }
}

/// A `FtraceEvent`; `None` for events in compact form.
fn single(event: &Event, compact: bool) -> Option<Vec<u8>> {
    let wake = |tid: u32, target_cpu: u32| vec![(2, tid), (3, 120), (5, target_cpu)];
    let (kind, pid, fields) = match event.what {
        What::Switch { .. } | What::Waking { .. } if compact => return None,
        What::Switch { prev, state, next } => {
            (4, prev, vec![(2, prev), (3, 120), (4, number_of(state) as u32), (6, next), (7, 120)])
        }
        What::Waking { tid, target_cpu } => (20, 0, wake(tid, target_cpu)),
        What::Wakeup { tid, target_cpu } => (17, 0, wake(tid, target_cpu)),
        What::WakeupNew { tid, target_cpu } => (114, 0, wake(tid, target_cpu)),
        What::Migrate { tid, orig_cpu, dest_cpu } => (491, 0, vec![(2, tid), (3, 120), (4, orig_cpu), (5, dest_cpu)]),
        What::Fork { child } => (239, 0, vec![(2, 1), (4, child)]),
        What::Answered | What::Other | What::Lost => return None,
    };
    let (mut message, mut whole) = (Vec::new(), Vec::new());
    fields.into_iter().for_each(|(field, value)| number(&mut message, field, u64::from(value)));
    number(&mut whole, 1, event.ts);
    number(&mut whole, 2, u64::from(pid));
    bytes(&mut whole, kind, &message);
    Some(whole)
}

/// A `SystemInfo`: the kernel's release decides what the numbers of thread states mean.
fn system() -> Vec<u8> {
    let (mut utsname, mut info, mut packet) = (Vec::new(), Vec::new(), Vec::new());
    bytes(&mut utsname, 1, b"Linux");
    bytes(&mut utsname, 3, b"6.12.0");
    bytes(&mut info, 1, &utsname);
    bytes(&mut packet, field::SYSTEM_INFO, &info);
    packet
}

/// A final `FtraceStats` that reports overwritten events on this CPU.
fn overrun(cpu: u32) -> Vec<u8> {
    let (mut of_cpu, mut stats, mut packet) = (Vec::new(), Vec::new(), Vec::new());
    number(&mut of_cpu, 1, u64::from(cpu));
    number(&mut of_cpu, 3, 77);
    number(&mut stats, 1, 2);
    bytes(&mut stats, 2, &of_cpu);
    bytes(&mut packet, field::FTRACE_STATS, &stats);
    packet
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3);
    varint(out, value);
}

fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}
