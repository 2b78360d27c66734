//! Packets in packets, packets of other machines, packets without content, and packets other than events.

use super::marks::{bundle, packet, switch};
use super::{converted, open};
use crate::perfetto::schema::{PACKET, bundle as of_bundle, packet as of_packet};
use crate::perfetto::wire::{put_bytes, put_number};
use crate::problem::ProblemKind;
use crate::rows::{Holds, ROWS, Row};
use crate::text::pieces;
use crate::{Event, Kinds, Reader, Target, convert};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

pub(super) fn zlib(packets: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(packets).unwrap();
    encoder.finish().unwrap()
}

/// One raw block, which is all that a frame needs (RFC 8878).
fn zstd(packets: &[u8]) -> Vec<u8> {
    let size = packets.len() as u32;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    frame.extend(size.to_le_bytes());
    frame.extend(&(size << 3 | 1).to_le_bytes()[..3]);
    frame.extend(packets);
    frame
}

fn events(bytes: Vec<u8>) -> Vec<Event> {
    open(bytes).expect("a trace").0
}

#[test]
fn compressed_packets_are_read_as_if_they_were_not() {
    let plain = converted(Target::Perfetto);
    let expected = events(plain.clone());
    for packed in [
        packet(&[], of_packet::COMPRESSED_PACKETS, &zlib(&plain)),
        packet(&[], of_packet::ZSTD_COMPRESSED_PACKETS, &zstd(&plain)),
    ] {
        assert_eq!(events(packed.clone()), expected);
        assert_eq!(open(packed.clone()).unwrap().1.problems().all().count(), 1, "the loss in the drawing");
        // Before and after packets that are not compressed.
        assert_eq!(events([&packed[..], &packet(&[], 900, b"")].concat()), expected);
        for at in 20..packed.len() {
            let mut spoilt = packed.clone();
            spoilt[at] ^= 0x10;
            let read = open([&spoilt[..], &plain].concat());
            let reported = read.is_ok_and(|(_, reader)| reader.problems().all().count() > 1);
            assert!(reported || packed[6] == 0x28, "byte {at}: zlib data has a sum");
        }
    }
}

#[test]
fn packets_that_unpack_to_too_much_or_to_themselves_are_refused() {
    let plain = converted(Target::Perfetto);
    let inner = packet(&[], of_packet::COMPRESSED_PACKETS, &zlib(&plain));
    for (packed, why) in [
        (zlib(&vec![0; 40 << 20]), "more than 33554432 bytes come out of zlib"),
        (zlib(&inner), "they lie in compressed packets themselves"),
        (zlib(b"no packets"), "what comes out of them is not a row of packets"),
        (b"no zlib".to_vec(), "damaged zlib data"),
    ] {
        let (_, reader) = open([plain.clone(), packet(&[], of_packet::COMPRESSED_PACKETS, &packed)].concat()).unwrap();
        let reported = reader.problems().all().find(|problem| problem.kind == ProblemKind::SkippedPart).expect(why);
        assert!(reported.first.contains(why), "{}", reported.first);
    }
    let alone = packet(&[], of_packet::COMPRESSED_PACKETS, b"no zlib");
    let why = open(alone).err().unwrap().to_string();
    assert!(why.contains("in what can be read; byte 0: compressed packets"), "{why}");
}

#[test]
fn empty_packets_are_packets() {
    let plain = converted(Target::Perfetto);
    let expected = events(plain.clone());
    assert_eq!(events([&[0x0a, 0, 0x0a, 0][..], &plain].concat()), expected);
    assert_eq!(events([&plain[..], &[0x0a, 0]].concat()), expected);
}

#[test]
fn the_host_is_read_and_other_machines_are_reported() {
    let of = |machine: &[(u32, u64)], ms| {
        let bundle = bundle(0, &[], &[switch(ms, 0, 0, 60), switch(ms + 1, 60, 1, 0)]);
        packet(&[&[(of_packet::SEQUENCE, 5)], machine].concat(), of_packet::FTRACE_EVENTS, &bundle)
    };
    let guest = [(of_packet::MACHINE_ID, 1001), (of_packet::PREVIOUS_PACKET_DROPPED, 1)];
    let host = [of(&[], 10), of(&[], 20)].concat();
    let both = [of(&guest, 5), of(&[], 10), of(&guest, 15), of(&[], 20)].concat();
    assert_eq!(events(both.clone()), events(host));
    let (_, reader) = open(both.clone()).unwrap();
    let reported: Vec<String> = reader.problems().all().map(|problem| problem.to_string()).collect();
    assert_eq!(
        reported,
        ["the trace is of 2 machines: the output is about the host; --machine 1001 reads machine 1001"]
    );
    let error = open(of(&guest, 5)).err().expect("nothing of the host").to_string();
    assert!(error.contains("(events of machine 1001 alone: --machine 1001 reads those)"), "{error}");
    let mut reader = Reader::open("t", Box::new(both), Kinds::ALL).unwrap();
    assert!(reader.choose_machine(1001));
    let mut batch = Vec::new();
    assert!(reader.next_batch(&mut batch).unwrap());
    let times: Vec<u64> = batch.iter().map(|event| event.ts / 1_000_000).filter(|ms| *ms > 0).collect();
    assert!(times.starts_with(&[5, 6]) && times.ends_with(&[15, 16]), "{times:?}");
}

#[test]
fn symbols_are_those_of_their_packet_though_they_come_later() {
    let work = |ms: u64, symbol: u64| {
        let (mut content, mut event) = (Vec::new(), Vec::new());
        put_number(1, 0xffff_8000_0000_1000, &mut content);
        put_number(2, symbol, &mut content);
        put_number(1, ms * 1_000_000, &mut event);
        put_number(2, 7, &mut event);
        put_bytes(58, &content, &mut event);
        event
    };
    let (mut symbol, mut interned) = (Vec::new(), Vec::new());
    put_number(1, 3, &mut symbol);
    put_bytes(2, b"vmstat_update", &mut symbol);
    put_bytes(26, &symbol, &mut interned);
    let mut body = Vec::new();
    put_bytes(
        of_packet::FTRACE_EVENTS,
        &bundle(0, &[], &[work(1, 3), work(2, 4), work(3, 0xffff_ffff_8100_0100)]),
        &mut body,
    );
    put_number(of_packet::SEQUENCE, 5, &mut body);
    put_bytes(of_packet::INTERNED_DATA, &interned, &mut body);
    put_number(of_packet::SEQUENCE_FLAGS, 1, &mut body);
    let mut trace = Vec::new();
    put_bytes(PACKET, &body, &mut trace);
    // The next writing cycle begins anew.
    let next = |ms| bundle(0, &[], &[work(ms, 3)]);
    trace.extend(packet(&[(of_packet::SEQUENCE, 5)], of_packet::FTRACE_EVENTS, &next(4)));
    trace.extend(packet(
        &[(of_packet::SEQUENCE, 5), (of_packet::SEQUENCE_FLAGS, 1)],
        of_packet::FTRACE_EVENTS,
        &next(5),
    ));
    let (events, reader) = open(trace).unwrap();
    let functions = events.iter().filter_map(|event| match event.what {
        crate::What::WorkStarted { function, .. } => Some(reader.names().text(function)),
        _ => None,
    });
    let functions: Vec<&str> = functions.collect();
    assert_eq!(functions, ["vmstat_update", "", "0xffffffff81000100", "vmstat_update", ""]);
}

#[test]
fn events_have_names_whether_they_are_read_or_not() {
    let event = |field: u32, content: &[u8]| {
        let mut event = Vec::new();
        put_number(1, 10_000_000, &mut event);
        put_number(2, 1, &mut event);
        put_bytes(field, content, &mut event);
        event
    };
    let (mut generic, mut descriptor, mut described) = (Vec::new(), Vec::new(), Vec::new());
    put_bytes(1, b"my_event", &mut generic);
    put_bytes(1, b"their_event", &mut descriptor);
    put_number(1, 65_536, &mut described);
    put_bytes(2, &descriptor, &mut described);
    let all = [switch(9, 0, 0, 60), event(3, b""), event(327, &generic), event(65_536, b""), event(9999, b"")];
    let mut bundle = bundle(0, &[], &all);
    put_bytes(of_bundle::GENERIC_EVENT_DESCRIPTORS, &described, &mut bundle);
    let (_, reader) = open(packet(&[], of_packet::FTRACE_EVENTS, &bundle)).unwrap();
    let names: Vec<String> = reader.info().events.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["print", "sched_switch", "field 9999 of FtraceEvent", "their_event", "my_event"]);
    let reported: Vec<String> = reader.problems().all().map(|problem| problem.to_string()).collect();
    assert_eq!(reported, ["events of field 9999 of FtraceEvent, which is not known here, were passed over"]);
}

#[test]
fn clocks_that_cannot_be_compared_are_reported() {
    let reported = |clocks: &[u64]| {
        let of = |clock: &u64| bundle(0, &[(of_bundle::FTRACE_CLOCK, *clock)], &[switch(10, 0, 0, 60)]);
        let trace: Vec<u8> =
            clocks.iter().flat_map(|clock| packet(&[], of_packet::FTRACE_EVENTS, &of(clock))).collect();
        let (_, reader) = open(trace).unwrap();
        let reported = reader.problems().all().find(|problem| problem.kind == ProblemKind::Recording);
        (reader.info().clock, reported.map_or(String::new(), |problem| problem.first))
    };
    for (clock, name) in [(0, "boot"), (2, "global"), (4, "mono_raw")] {
        assert_eq!(reported(&[clock]), (name.to_owned(), String::new()));
    }
    assert!(reported(&[1]).1.contains("does not know the clock"));
    assert!(reported(&[3]).1.contains("may differ by microseconds"));
    assert!(reported(&[0, 2]).1.contains("was changed"));
}

#[test]
fn a_recorder_that_does_not_say_that_it_ended_is_reported() {
    let reported = |fields: &[u32]| {
        let mut trace = packet(&[], of_packet::FTRACE_EVENTS, &bundle(0, &[], &[switch(10, 0, 0, 60)]));
        for field in fields {
            let mut event = Vec::new();
            put_number(*field, 1, &mut event);
            trace.extend(packet(&[], of_packet::SERVICE_EVENT, &event));
        }
        open(trace).unwrap().1.problems().count(ProblemKind::Recording)
    };
    assert_eq!((reported(&[2]), reported(&[2, 5]), reported(&[]), reported(&[5])), (1, 0, 0, 0));
}

#[test]
fn fields_of_another_type_or_number_are_reported() {
    let good = bundle(0, &[], &[switch(10, 0, 0, 60)]);
    let reported = |bundle: Vec<u8>| {
        let (_, reader) = open(packet(&[], of_packet::FTRACE_EVENTS, &bundle)).unwrap();
        [ProblemKind::BadRecord, ProblemKind::UnknownEvent].map(|kind| reader.problems().count(kind))
    };
    assert_eq!(reported(good.clone()), [0, 0]);
    for (field, expected) in
        [(of_bundle::LOST_EVENTS, [1, 0]), (12, [0, 1]), (of_bundle::BROKEN_ABI_TRACE_PAGE, [0, 0])]
    {
        let mut spoilt = good.clone();
        put_bytes(field, b"x", &mut spoilt);
        assert_eq!(reported(spoilt), expected, "field {field}");
    }
    let mut other = packet(&[], of_packet::FTRACE_EVENTS, &good);
    other.extend(packet(&[(of_packet::FTRACE_EVENTS, 7)], 900, b""));
    assert_eq!(open(other).unwrap().1.problems().count(ProblemKind::BadRecord), 1);
}

#[test]
fn what_is_not_there_is_not_zero() {
    let spoilt = |field: u32| {
        let mut content = Vec::new();
        (1..=7).filter(|of| *of != field).for_each(|of| match of {
            1 | 5 => put_bytes(of, b"a", &mut content),
            of => put_number(of, u64::from(of), &mut content),
        });
        let mut event = Vec::new();
        put_number(1, 20_000_000, &mut event);
        put_bytes(4, &content, &mut event);
        let events = bundle(0, &[], &[switch(10, 0, 0, 60), event]);
        open(packet(&[], of_packet::FTRACE_EVENTS, &events)).unwrap().1.problems().count(ProblemKind::BadRecord)
    };
    assert_eq!([2, 6, 7].map(spoilt), [1, 1, 0]);
    let no_cpu = [&packet(&[], of_packet::FTRACE_EVENTS, &bundle(0, &[], &[switch(10, 0, 0, 60)])[2..])[..]].concat();
    let whole = packet(&[], of_packet::FTRACE_EVENTS, &bundle(0, &[], &[switch(10, 0, 0, 60)]));
    let (_, reader) = open([whole, no_cpu].concat()).unwrap();
    assert_eq!(reader.problems().count(ProblemKind::ImpossibleNumber), 1);
}

/// Every kind of event, with a thread on the CPU that traces them.
const EVERY_KIND: [&str; 26] = [
    "sched_switch: prev_comm=a prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=kworker/1:1 next_pid=31 next_prio=120",
    "sched_waking: comm=b pid=13 prio=120 target_cpu=001",
    "sched_wakeup: comm=b pid=13 prio=120 target_cpu=001",
    "sched_wakeup_new: comm=my task pid=12 prio=99 target_cpu=001",
    "sched_migrate_task: comm=a b pid=12 prio=120 orig_cpu=0 dest_cpu=1",
    "sched_pi_setprio: comm=a pid=12 oldprio=120 newprio=98",
    "sched_process_fork: comm=kworker/1:1 pid=31 child_comm=sh child_pid=12",
    "sched_process_exit: comm=a pid=12 prio=120",
    "sched_process_exec: filename= pid=12 old_pid=13",
    "task_newtask: pid=14 comm=new one clone_flags=1200000 oom_score_adj=0",
    "task_rename: pid=12 oldcomm=a newcomm=b c oom_score_adj=0",
    "irq_handler_entry: irq=27 name=virtio0-input.0",
    "irq_handler_exit: irq=27 ret=handled",
    "softirq_raise: vec=3 [action=NET_RX]",
    "softirq_entry: vec=3 [action=NET_RX]",
    "softirq_exit: vec=3 [action=NET_RX]",
    "workqueue_queue_work: work struct=000000007b1d40ab function=vmstat_update workqueue=mm_percpu_wq req_cpu=1 cpu=1",
    "workqueue_queue_work: work struct=000000007b1d40ac function=0xffffffff81000100 workqueue=events_unbound req_cpu=8192 cpu=-1",
    "workqueue_activate_work: work struct 000000007b1d40ab function=vmstat_update ",
    "workqueue_execute_start: work struct 000000007b1d40ab: function vmstat_update",
    "workqueue_execute_end: work struct 000000007b1d40ab: function vmstat_update",
    "cpu_idle: state=4294967295 cpu_id=1",
    "sys_enter: NR 202 (7ffd00001234, 80, 1, 0, 0, 0)",
    "sys_exit: NR 202 = -110",
    "cgroup_attach_task: dst_root=2 dst_id=4711 dst_level=1 dst_path=/serve/my web pid=12 comm=a b",
    "sched_stat_runtime: comm=a pid=12 runtime=12345 [ns] vruntime=1 [ns]",
];

/// A line for each row that has none above, in the row's own form.
fn of_rows() -> Vec<String> {
    let is_drawn = |row: &Row| EVERY_KIND.iter().any(|line| line.split(':').next() == Some(row.name));
    let value = |row: &Row, word: &str| {
        match row.fields.iter().find(|field| field.name == word).map(|f| f.holds) {
            Some(Holds::Comm | Holds::Text | Holds::Function) => "name",
            Some(_) => "7",
            None => word.split_once(':').map_or("", |(_, written)| written),
        }
        .to_owned()
    };
    let line = |row: &Row| {
        let words = pieces(row.texts[0]).flat_map(|(key, word)| [key.to_owned(), value(row, word)]);
        format!("{}: {}", row.name, words.collect::<String>())
    };
    ROWS.iter().filter(|row| !is_drawn(row)).map(line).collect()
}

#[test]
fn every_kind_of_event_comes_back_from_either_target_or_is_counted() {
    let lines: Vec<String> = EVERY_KIND.iter().map(|line| (*line).to_owned()).chain(of_rows()).collect();
    let line = |(n, event): (usize, &String)| format!("kworker/1:1-31 [001] ..... 1.{n:09}: {event}\n");
    let text: String = lines.iter().enumerate().map(line).collect();
    let words = |bytes: Vec<u8>| {
        let (events, reader) = open(bytes).unwrap();
        let word = |event: &Event| {
            (event.ts, event.cpu, crate::text::payload_of(&event.what, reader.names(), reader.states()))
        };
        (events.iter().map(word).collect::<Vec<_>>(), reader.info().kinds)
    };
    let (read, kinds) = words(text.clone().into_bytes());
    assert_eq!((read.len(), kinds), (lines.len(), Kinds::ALL), "all of them are drawn");
    let in_schema = |name: &str| ROWS.iter().any(|row| row.name == name && row.perfetto > 0);
    let (mut in_perfetto, all) = (read.clone(), read.len());
    in_perfetto.retain(|(.., event)| event.as_ref().is_some_and(|(name, _)| in_schema(name)));
    assert!(in_perfetto.len() < all);
    for (target, kept) in [(Target::Text, read), (Target::Perfetto, in_perfetto)] {
        let mut reader = Reader::open("t", Box::new(text.clone().into_bytes()), Kinds::ALL).unwrap();
        let mut out = Vec::new();
        let converted = convert(&mut reader, target, &[], &mut out).unwrap();
        assert_eq!(converted.left_out, (all - kept.len()) as u64, "{target:?}");
        assert_eq!(words(out).0, kept, "{target:?}");
    }
}
