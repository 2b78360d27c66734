//! Marks of missing packets and events, in a trace of two CPUs: `V` is woken on CPU 1, runs on CPU 0 in a bundle that
//! may be missing, and is switched in on CPU 1 much later.

use super::{observed, open, packed};
use crate::perfetto::schema::{PACKET, bundle, packet};
use crate::perfetto::wire::{put_bytes, put_number};
use crate::problem::ProblemKind;

const V: u64 = 50;

/// An event with its time in ms.
fn event(ms: u64, pid: u64, field: u32, content: &[u8]) -> Vec<u8> {
    let mut event = Vec::new();
    put_number(1, ms * 1_000_000, &mut event);
    put_number(2, pid, &mut event);
    put_bytes(field, content, &mut event);
    event
}

pub(super) fn switch(ms: u64, prev: u64, state: u64, next: u64) -> Vec<u8> {
    let mut content = Vec::new();
    for (field, tid) in [(1, prev), (5, next)] {
        put_bytes(field, format!("t{tid}").as_bytes(), &mut content);
        put_number(field + 1, tid, &mut content);
        put_number(field + 2, 120, &mut content);
    }
    put_number(4, state, &mut content);
    event(ms, prev, 4, &content)
}

pub(super) fn waking(ms: u64, by: u64, who: u64, target_cpu: u64) -> Vec<u8> {
    let mut content = Vec::new();
    put_bytes(1, format!("t{who}").as_bytes(), &mut content);
    for (field, number) in [(2, who), (3, 120), (5, target_cpu)] {
        put_number(field, number, &mut content);
    }
    event(ms, by, 20, &content)
}

/// A bundle with these marks.
pub(super) fn bundle(cpu: u64, marks: &[(u32, u64)], events: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_number(bundle::CPU, cpu, &mut bytes);
    events.iter().for_each(|event| put_bytes(bundle::EVENT, event, &mut bytes));
    marks.iter().for_each(|(field, number)| put_number(*field, *number, &mut bytes));
    bytes
}

/// A packet with these marks and some content.
pub(super) fn packet(marks: &[(u32, u64)], field: u32, content: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    put_bytes(field, content, &mut body);
    marks.iter().for_each(|(field, number)| put_number(*field, *number, &mut body));
    let mut bytes = Vec::new();
    put_bytes(PACKET, &body, &mut bytes);
    bytes
}

/// The trace with marks on the second bundle of CPU 0 and on its packet, with or without the bundle before it.
fn trace(of_packet: &[(u32, u64)], of_bundle: &[(u32, u64)], whole: bool) -> Vec<u8> {
    let before = bundle(0, &[], &[switch(11, 0, 0, 60), switch(12, 60, 1, 0)]);
    let hidden = bundle(0, &[], &[switch(17, 0, 0, V), switch(18, V, 1, 0)]);
    let after = bundle(0, of_bundle, &[switch(22, 0, 0, 70), switch(23, 70, 1, 0)]);
    let other =
        [switch(10, 0, 0, 61), waking(15, 61, V, 0), switch(16, 61, 1, 0), switch(25, 0, 0, V), switch(26, V, 1, 0)];
    let of_sequence = |marks: &[(u32, u64)]| [&[(packet::SEQUENCE, 5)], marks].concat();
    let mut trace = Vec::new();
    for (marks, bundle, there) in [
        (&[(packet::FIRST_PACKET_ON_SEQUENCE, 1), (packet::PREVIOUS_PACKET_DROPPED, 1)][..], before, true),
        (&[], bundle(1, &[], &other), true),
        (&[], hidden, whole),
        (of_packet, after, true),
    ] {
        if there {
            trace.extend(packet(&of_sequence(marks), packet::FTRACE_EVENTS, &bundle));
        }
    }
    trace
}

#[test]
fn each_mark_of_missing_bundles_is_a_gap() {
    let whole = observed(trace(&[], &[], true));
    assert_eq!(whole.of(&["waited"]), ["t50 waited 15000-17000 Waking"]);
    let unmarked = observed(trace(&[], &[], false));
    assert_eq!(unmarked.of(&["waited"]), ["t50 waited 15000-25000 Waking"], "nothing says that a bundle is missing");
    for (of_packet, of_bundle) in [
        (&[(packet::PREVIOUS_PACKET_DROPPED, 1)][..], &[][..]),
        (&[(packet::PREVIOUS_PACKET_DROPPED, 65)], &[]),
        (&[], &[(bundle::LOST_EVENTS, 1)]),
        (&[], &[(bundle::PREVIOUS_BUNDLE_END_TIMESTAMP, 18_000_000)]),
        (&[(packet::PREVIOUS_PACKET_DROPPED, 1)], &[(bundle::LAST_READ_EVENT_TIMESTAMP, 18_000_000)]),
    ] {
        let bytes = trace(of_packet, of_bundle, false);
        let read = observed(bytes.clone());
        assert_eq!(read.waits(), ["t50 censored Waking Gap"], "{of_packet:?} {of_bundle:?}");
        assert_eq!(open(bytes).unwrap().1.problems().count(ProblemKind::Lost), 1);
    }
    // Packets were dropped, but none of this CPU.
    let end = [(bundle::PREVIOUS_BUNDLE_END_TIMESTAMP, 12_000_000)];
    let other = observed(trace(&[(packet::PREVIOUS_PACKET_DROPPED, 1)], &end, false));
    assert_eq!((other.counts.gaps, other.of(&["waited"])), (0, unmarked.of(&["waited"])));
}

#[test]
fn a_ring_is_complete_from_its_latest_beginning_on() {
    let ends = |ns| [(bundle::PREVIOUS_BUNDLE_END_TIMESTAMP, ns)];
    let ring_of = |end: u64, target: u64| {
        let other = [switch(10, 0, 0, 61), waking(15, 61, V, target), switch(16, 61, 1, 0), switch(25, 0, 0, V)];
        let bundles = [bundle(1, &ends(9_000_000), &other), bundle(0, &ends(end), &[switch(22, 0, 0, 70)])];
        bundles
            .iter()
            .flat_map(|bundle| packet(&[(packet::SEQUENCE, 5)], packet::FTRACE_EVENTS, bundle))
            .collect::<Vec<_>>()
    };
    let ring = |end: u64| ring_of(end, 0);
    for target in [0, 1] {
        // Even a thread that was never seen on CPU 0 may have run there before its ring began.
        let read = observed(ring_of(20_000_000, target));
        assert_eq!((read.counts.gaps, read.waits()), (1, vec!["t50 censored Waking Gap"]));
        assert!(read.lines.contains(&"t61 ran 10000-16000 on 1 to Interruptible".to_owned()), "{:?}", read.lines);
    }
    let (events, _) = open(ring(20_000_000)).unwrap();
    let begin = events.iter().find(|event| event.what == crate::What::GapBegin).expect("a gap");
    assert_eq!((begin.ts, begin.cpu.0), (10_000_000, 0), "from the first event of the trace on");
    let read = observed(ring(14_000_000));
    assert_eq!(read.waits(), ["t50 waited 15000-25000 Waking"], "complete since before the wait");
    assert_eq!(observed(ring(9_000_000)).counts.gaps, 0, "nothing of this trace is missing");
}

/// Before v29, Perfetto marks every first packet as if others had been dropped before it, and gives no time.
#[test]
fn where_nobody_says_whether_a_ring_wrapped_no_wait_before_the_last_cpu_began_is_measured() {
    let other = [switch(10, 0, 0, 61), waking(15, 61, V, 0), switch(16, 61, 1, 0), switch(25, 0, 0, V)];
    let later = [switch(26, V, 1, 0), waking(27, 0, V, 1), switch(28, 0, 0, V)];
    let old = |events: &[Vec<u8>]| {
        let dropped = [(packet::SEQUENCE, 5), (packet::PREVIOUS_PACKET_DROPPED, 1)];
        let first = packet(&dropped, packet::FTRACE_EVENTS, &bundle(1, &[], events));
        let second = packet(&[(packet::SEQUENCE, 5)], packet::FTRACE_EVENTS, &bundle(0, &[], &[switch(22, 0, 0, 70)]));
        [first, second].concat()
    };
    let read = observed(old(&[&other[..], &later[..]].concat()));
    assert_eq!(read.waits(), ["t50 censored Waking Gap", "t50 waited 27000-28000 Waking"]);
    assert_eq!(read.counts.gaps, 0, "nobody says that anything is missing");
    let (_, reader) = open(old(&other)).unwrap();
    let reported: Vec<String> = reader.problems().all().map(|problem| problem.to_string()).collect();
    assert!(
        reported.len() == 1 && reported[0].contains("no wait before the first event of the last CPU"),
        "{reported:?}"
    );
}

#[test]
fn a_page_that_the_recorder_could_not_parse_is_a_gap_up_to_the_next_bundle() {
    let mut broken = bundle(0, &[], &[switch(11, 0, 0, 60), switch(12, 60, 1, 0), switch(20, 0, 0, 70)]);
    let mut error = Vec::new();
    put_number(1, 16_000_000, &mut error);
    put_number(2, 15, &mut error);
    put_bytes(bundle::ERROR, &error, &mut broken);
    let other =
        [switch(10, 0, 0, 61), waking(15, 61, V, 0), switch(16, 61, 1, 0), switch(25, 0, 0, V), switch(26, V, 1, 0)];
    let next = [switch(30, 80, 1, 0)];
    let bundles = [broken, bundle(1, &[], &other), bundle(0, &[], &next)];
    let trace: Vec<u8> = bundles.iter().flat_map(|bundle| packet(&[], packet::FTRACE_EVENTS, bundle)).collect();
    let read = observed(trace.clone());
    assert_eq!((read.counts.gaps, read.waits()), (1, vec!["t50 censored Waking Gap"]));
    assert!(read.lines.contains(&"t60 ran 11000-12000 on 0 to Interruptible".to_owned()), "{:?}", read.lines);
    let (_, reader) = open(trace).unwrap();
    let unread: Vec<_> = reader.problems().all().filter(|p| p.kind == ProblemKind::SkippedPart).collect();
    assert!(unread[0].first.ends_with("(FtraceParseStatus 15), at 0.016000 s"), "{unread:?}");
}

/// An `FtraceStats` of CPU 0.
pub(super) fn ftrace_stats(phase: u64, counts: &[(u32, u64)]) -> Vec<u8> {
    packet(&[], packet::FTRACE_STATS, &stats_of(phase, counts))
}

pub(super) fn stats_of(phase: u64, counts: &[(u32, u64)]) -> Vec<u8> {
    let (mut cpu, mut stats) = (Vec::new(), Vec::new());
    [&[(1, 0)], counts].concat().iter().for_each(|(field, count)| put_number(*field, *count, &mut cpu));
    put_number(1, phase, &mut stats);
    put_bytes(2, &cpu, &mut stats);
    stats
}

/// The report about lost events after a trace without gaps.
pub(super) fn lost_in(after: &[Vec<u8>]) -> (u64, String) {
    let (_, reader) = open([vec![trace(&[], &[], true)], after.to_vec()].concat().concat()).unwrap();
    let reported = reader.problems().all().find(|problem| problem.kind == ProblemKind::Lost);
    (reported.as_ref().map_or(0, |p| p.count), reported.map_or(String::new(), |p| p.first))
}

#[test]
fn counts_of_losses_without_a_time_are_reported() {
    let lost = |start, end| lost_in(&[ftrace_stats(1, start), ftrace_stats(2, end)]);
    assert_eq!(lost(&[(3, 9), (8, 1)], &[(3, 9), (8, 1)]), (0, String::new()));
    let (count, said) = lost(&[(3, 9)], &[(3, 21), (4, 2)]);
    assert_eq!(count, 14);
    assert_eq!(said, "the kernel's buffer of CPU 0 lost 12 events (overrun) at unknown times");
    assert_eq!(lost_in(&[ftrace_stats(2, &[(8, 4)])]).0, 4, "the packet of the start may be missing");
    let with = |lost: u64| observed([trace(&[], &[], true), ftrace_stats(2, &[(3, lost)])].concat());
    assert_eq!(with(0).waits(), ["t50 waited 15000-17000 Waking"]);
    assert_eq!(with(1).waits(), ["t50 censored Waking Gap"], "nobody knows whether it ran before");
    let service = |of_buffer: bool, field: u32, count: u64| {
        let (mut counts, mut stats) = (Vec::new(), Vec::new());
        put_number(field, count, &mut counts);
        if of_buffer {
            put_bytes(1, &counts, &mut stats)
        } else {
            stats = counts
        }
        packet(&[], packet::TRACE_STATS, &stats)
    };
    for (of_buffer, field, name) in [
        (true, 3, "chunks_overwritten"),
        (true, 6, "patches_failed"),
        (true, 18, "chunks_discarded"),
        (true, 19, "trace_writer_packet_loss"),
        (false, 9, "patches_discarded"),
    ] {
        let (count, reported) = lost_in(&[service(of_buffer, field, 3)]);
        assert!(count == 1 && reported.ends_with(&format!("({name} 3)")), "{reported}");
        let read = self::observed([trace(&[], &[], true), service(of_buffer, field, 3)].concat());
        let wanted = if field == 3 { "t50 waited 15000-17000 Waking" } else { "t50 censored Waking Gap" };
        assert_eq!(read.waits(), [wanted], "a ring overwrites what is in front");
        assert_eq!(lost_in(&[service(of_buffer, field, 3), service(of_buffer, field, 0)]).0, 0, "the last one counts");
    }
    // If each bundle records what was before it, packets of the scheduler may be missing only after the last one; with
    // a ring that drops its oldest packets, not even there.
    let marks = [(bundle::PREVIOUS_BUNDLE_END_TIMESTAMP, 0)];
    let whole = packet(&[], packet::FTRACE_EVENTS, &bundle(0, &marks, &[switch(10, 0, 0, 10)]));
    for (field, kind) in [(3, ProblemKind::Recording), (19, ProblemKind::MayBeLost)] {
        let (_, reader) = open([whole.clone(), service(true, field, 3)].concat()).unwrap();
        let counts = [ProblemKind::Lost, kind].map(|kind| reader.problems().count(kind));
        assert_eq!(counts, [0, 1], "field {field}");
    }
    // A loss that left a gap need not be reported twice.
    let marked = trace(&[], &[(bundle::LOST_EVENTS, 1)], false);
    let (_, reader) = open([marked, ftrace_stats(2, &[(3, 12)])].concat()).unwrap();
    assert_eq!(reader.problems().count(ProblemKind::Lost), 1);
}

/// From Linux 6.14 and some later versions: without the thread that is renamed.
fn rename(ms: u64, by: u64) -> Vec<u8> {
    let mut content = Vec::new();
    put_bytes(2, b"t10", &mut content);
    put_bytes(3, b"worker", &mut content);
    put_number(4, 0, &mut content);
    event(ms, by, 236, &content)
}

#[test]
fn a_rename_that_does_not_say_of_whom_renames_nobody_and_spoils_nothing() {
    let bundles = |between: Vec<u8>| {
        let events = [switch(10, 0, 0, 10), between, switch(20, 10, 1, 0)];
        packet(&[], packet::FTRACE_EVENTS, &bundle(0, &[], &events))
    };
    let reported_of = |between: Vec<u8>| {
        let bytes = bundles(between);
        let (events, reader) = open(bytes.clone()).unwrap();
        (events.len(), reader.problems().count(ProblemKind::BadRecord), observed(bytes).lines.join("\n"))
    };
    let (events, bad, lines) = reported_of(rename(15, 10));
    assert_eq!((events, bad), (3, 0), "{lines}");
    assert!(!lines.contains("worker") && !lines.contains("gap"), "{lines}");
    // If an event other than the scheduler's is invalid, it is counted, and does not make any switch doubtful.
    let (events, bad, lines) = reported_of(event(15, 10, 36, &[0xff]));
    assert_eq!((events, bad), (2, 1), "{lines}");
    assert!(!lines.contains("gap"), "{lines}");
}

#[test]
fn compact_switches_after_a_gap_say_nothing_of_who_left() {
    let columns = |times: &[u64], next: &[u64]| {
        let mut columns = Vec::new();
        put_bytes(5, b"A", &mut columns);
        packed(1, times, &mut columns);
        packed(2, &vec![1; times.len()], &mut columns);
        packed(3, next, &mut columns);
        packed(4, &vec![120; times.len()], &mut columns);
        packed(6, &vec![0; times.len()], &mut columns);
        columns
    };
    let of = |end: u64, columns: &[u8]| {
        let mut bytes = bundle(0, &[(bundle::PREVIOUS_BUNDLE_END_TIMESTAMP, end)], &[]);
        put_bytes(bundle::COMPACT_SCHED, columns, &mut bytes);
        packet(&[], packet::FTRACE_EVENTS, &bytes)
    };
    let trace =
        |end| [of(0, &columns(&[10_000, 10_000], &[10, 11])), of(end, &columns(&[50_000, 10_000], &[12, 0]))].concat();
    let left = |end| {
        let (events, _) = open(trace(end)).unwrap();
        let left = events.iter().filter_map(|event| match event.what {
            crate::What::Switch { prev, prev_state, .. } => Some((prev.0, prev_state == crate::StateId::UNKNOWN)),
            _ => None,
        });
        left.collect::<Vec<_>>()
    };
    assert_eq!(left(20_000), [(0, true), (10, false), (11, false), (12, false)]);
    assert_eq!(left(40_000), [(0, true), (10, false), (0, true), (12, false)]);
    assert_eq!(observed(trace(40_000)).counts.gaps, 1);
}
