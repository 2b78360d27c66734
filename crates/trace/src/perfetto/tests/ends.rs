//! Marks that no bundle follows, and counters of several writers.

use super::marks::{bundle, lost_in, packet, stats_of, switch, waking};
use super::packets::zlib;
use super::{Kinds, Reader, observed, open};
use crate::perfetto::schema::{bundle as of_bundle, packet as of_packet};
use crate::problem::ProblemKind;

/// A packet of the only writer.
fn of_writer(marks: &[(u32, u64)], field: u32, content: &[u8]) -> Vec<u8> {
    packet(&[&[(of_packet::SEQUENCE, 5)], marks].concat(), field, content)
}

#[test]
fn a_drop_after_the_last_bundle_of_a_cpu_is_a_gap_up_to_the_end() {
    let first = bundle(0, &[], &[switch(10, 0, 0, 60), waking(12, 60, 50, 1), switch(14, 60, 1, 0)]);
    let other = bundle(1, &[], &[switch(11, 0, 0, 61), switch(30, 61, 1, 50), switch(31, 50, 1, 0)]);
    let trace = |dropped: u64| {
        let marks = [(of_packet::FIRST_PACKET_ON_SEQUENCE, 1)];
        let last = [(of_packet::PREVIOUS_PACKET_DROPPED, dropped)];
        [
            of_writer(&marks, of_packet::FTRACE_EVENTS, &first),
            of_writer(&[], of_packet::FTRACE_EVENTS, &other),
            of_writer(&last, of_packet::FTRACE_STATS, &stats_of(2, &[])),
        ]
        .concat()
    };
    assert_eq!(observed(trace(0)).waits(), ["t50 waited 12000-30000 Waking"]);
    let lost = |dropped| open(trace(dropped)).unwrap().1.problems().count(ProblemKind::Lost);
    assert_eq!([lost(0), lost(1)], [0, 1], "of CPU 0, whose last event is not the last of the trace");
    assert_eq!(observed(trace(1)).counts.gaps, 1);
}

#[test]
fn a_mark_of_lost_events_in_an_empty_bundle_has_the_time_of_the_trace() {
    let whole = bundle(0, &[], &[switch(10, 0, 0, 60), switch(14, 60, 1, 0)]);
    let empty = bundle(0, &[(of_bundle::LOST_EVENTS, 1)], &[]);
    let trace = [whole, empty].map(|bundle| of_writer(&[], of_packet::FTRACE_EVENTS, &bundle)).concat();
    let (_, reader) = open(trace).unwrap();
    let first = reader.problems().all().next().unwrap().first;
    assert_eq!(first, "CPU 0 lost events, noticed at 0.014000 s");
}

#[test]
fn writers_count_losses_each_from_their_own_start() {
    let of = |sequence: u64, phase: u64, lost: u64| {
        packet(&[(of_packet::SEQUENCE, sequence)], of_packet::FTRACE_STATS, &stats_of(phase, &[(3, lost)]))
    };
    // The second source starts when two more events are lost; at the end both see five.
    assert_eq!(lost_in(&[of(5, 1, 3), of(6, 1, 5), of(5, 2, 5), of(6, 2, 5)]).0, 2);
    assert_eq!(lost_in(&[of(5, 1, 3), of(5, 2, 3)]).0, 0);
}

/// The service of the host compresses all packets; the one around them has no machine.
#[test]
fn another_machine_is_found_in_compressed_packets() {
    let of = |machine: &[(u32, u64)], ms: u64| {
        let bundle = bundle(0, &[], &[switch(ms, 0, 0, 60), switch(ms + 1, 60, 1, 0)]);
        of_writer(machine, of_packet::FTRACE_EVENTS, &bundle)
    };
    let guest = [(of_packet::MACHINE_ID, 1001)];
    let inner = zlib(&[of(&guest, 5), of(&[], 10)].concat());
    let trace = packet(&[], of_packet::COMPRESSED_PACKETS, &inner);
    let mut reader = Reader::open("t", Box::new(trace), Kinds::ALL).unwrap();
    assert!(reader.choose_machine(1001));
    let mut batch = Vec::new();
    assert!(reader.next_batch(&mut batch).unwrap());
    let times: Vec<u64> = batch.iter().map(|event| event.ts / 1_000_000).filter(|ms| *ms > 0).collect();
    assert_eq!(times, [5, 6]);
}
