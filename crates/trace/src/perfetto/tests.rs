//! Traces written here and read back, compact columns written by hand, and damaged ones.

mod ends;
mod marks;
mod packets;

use super::recognise;
use super::schema::{PACKET, bundle, packet};
use super::wire::{put_bytes, put_number};
use crate::drawing::{Observed, is_in_corpus, observe, observe_events, read_all};
use crate::perf_data::written::LITTLE;
use crate::{Event, Forward, Kinds, ProblemKind, Reader, Target, TraceError, convert};

const DRAWING: &str = "
    0 10 . R > A
    1 12 . R > B
    0 14 fork A D
    0 15 new D on 1
    1 16 waking C by B irq
    1 17 wakeup C on 0
    0 20 A R+ > C
    1 22 B S > D
    0 25 migrate A 0 1
    1 30 D X > A
    0 33 C D > .
    0 34 lost 4
    0 40 . R > B
";

fn open(bytes: Vec<u8>) -> Result<(Vec<Event>, Reader), TraceError> {
    read_all(Reader::open("t", Box::new(bytes), Kinds::ALL)?)
}

fn observed(bytes: Vec<u8>) -> Observed {
    let (events, reader) = open(bytes).expect("a good trace");
    observe_events(&events, reader.names(), reader.states())
}

/// The drawing as perf.data, converted.
fn converted(target: Target) -> Vec<u8> {
    let writer = LITTLE;
    let drawing = crate::drawing::Drawing::new(DRAWING);
    let records: Vec<u8> = drawing.lines.iter().flat_map(|line| writer.line(&drawing, line)).collect();
    let mut reader = Reader::open("t", Box::new(writer.file(&records)), Kinds::ALL).unwrap();
    let mut out = Vec::new();
    let converted = convert(&mut reader, target, &[], &mut out).unwrap();
    assert_eq!((converted.written, converted.left_out), (12, 0));
    out
}

#[test]
fn what_is_converted_reads_as_drawn() {
    let drawn = observe(DRAWING);
    for target in [Target::Perfetto, Target::Text] {
        let bytes = converted(target);
        let read = observed(bytes.clone());
        assert_eq!(read.lines, drawn.lines, "{target:?}");
        assert_eq!((read.counts.gaps, read.counts.switches), (drawn.counts.gaps, drawn.counts.switches));
        let pipe = Forward::new(std::io::Cursor::new(bytes));
        let mut reader = Reader::open("pipe", Box::new(pipe), Kinds::ALL).unwrap();
        let mut batch = Vec::new();
        while reader.next_batch(&mut batch).unwrap() {}
        assert!(reader.info().kinds.has(crate::Kind::SchedMigrateTask));
    }
}

#[test]
fn what_is_converted_keeps_its_kernel_and_clock() {
    let info = |bytes: Vec<u8>| {
        let info = open(bytes).unwrap().1.info();
        (info.release, info.clock)
    };
    let writer = LITTLE;
    let drawing = crate::drawing::Drawing::new(DRAWING);
    let records: Vec<u8> = drawing.lines.iter().flat_map(|line| writer.line(&drawing, line)).collect();
    let source = info(writer.file(&records));
    assert_eq!(source, (String::new(), "perf (local_clock of each CPU)".to_owned()));
    for target in [Target::Perfetto, Target::Text] {
        assert_eq!(info(converted(target)), source, "{target:?}");
    }
    // Through both formats, one after the other.
    let mut reader = Reader::open("t", Box::new(converted(Target::Perfetto)), Kinds::ALL).unwrap();
    let mut text = Vec::new();
    convert(&mut reader, Target::Text, &[], &mut text).unwrap();
    assert_eq!(info(text), source);
}

#[test]
fn what_is_converted_keeps_the_problems_of_its_source() {
    let text = |ts: u64| format!("A-10 [000] d.... {ts}.000001: sched_waking: comm=B pid=11 prio=120 target_cpu=001\n");
    let source = ["# tracer: nop\n#\n".to_owned(), text(5), text(6), text(3), text(2)].concat();
    let reported = |bytes: Vec<u8>| {
        let (_, reader) = read_all(Reader::open("t", Box::new(bytes), Kinds::ALL).unwrap()).unwrap();
        reader.problems().all().map(|problem| problem.to_string()).collect::<Vec<_>>()
    };
    let problems = reported(source.clone().into_bytes());
    assert!(problems.len() == 2 && problems[0].contains("CPU 0 went back"), "{problems:?}");
    let has_notes = |reported: Vec<String>| {
        let is_kept =
            |kept: &str| reported.iter().any(|line| line.starts_with("the source of the") && line.ends_with(kept));
        problems.iter().all(|problem| is_kept(&format!(": {problem}")))
    };
    for target in [Target::Perfetto, Target::Text] {
        let mut out = Vec::new();
        let mut reader = Reader::open("t", Box::new(source.clone().into_bytes()), Kinds::ALL).unwrap();
        convert(&mut reader, target, &[], &mut out).unwrap();
        assert!(has_notes(reported(out.clone())), "{target:?}: {:?}", reported(out.clone()));
        // Once more: the notes stay as they are.
        let mut again = Vec::new();
        let mut reader = Reader::open("t", Box::new(out), Kinds::ALL).unwrap();
        convert(&mut reader, Target::Text, &[], &mut again).unwrap();
        assert!(has_notes(reported(again)), "{target:?}");
    }
}

#[test]
fn calls_and_moves_come_back_from_either_target() {
    let lines = [
        "A-10 [000] d.... 1.000001: sched_switch: prev_comm=B prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=A next_pid=10 next_prio=120",
        "A-10 [000] ..... 1.000002: sys_enter: NR 202 (7ffd00001234, 80, 1, 0, 0, 0)",
        "A-10 [000] ..... 1.000003: sys_exit: NR 202 = -110",
        "A-10 [000] ..... 1.000004: sys_enter: NR 0 (3, 7ffd00001234, 0, 0, 0, 0)",
        "A-10 [000] ..... 1.000005: sys_exit: NR -1 = 5",
        "A-10 [000] ..... 1.000006: cgroup_attach_task: dst_root=2 dst_id=9 dst_level=1 dst_path=/a b pid=12 comm=web",
    ];
    let text = lines.join("\n") + "\n";
    let words = |bytes: Vec<u8>| {
        let mut reader = Reader::open("t", Box::new(bytes), Kinds::ALL).unwrap();
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        while reader.next_batch(&mut batch).unwrap() {
            all.extend(batch.iter().filter_map(|e| crate::text::payload_of(&e.what, reader.names(), reader.states())));
        }
        all
    };
    let drawn = words(text.clone().into_bytes());
    assert_eq!(drawn.len(), lines.len());
    assert_eq!(drawn[1].1, "NR 202 (7ffd00001234, 80)");
    assert_eq!(drawn[3].1, "NR 0 (3)", "an address has no room as a second argument");
    for target in [Target::Perfetto, Target::Text] {
        let mut reader = Reader::open("t", Box::new(text.clone().into_bytes()), Kinds::ALL).unwrap();
        let mut out = Vec::new();
        assert_eq!(convert(&mut reader, target, &[], &mut out).unwrap().left_out, 0);
        assert_eq!(words(out), drawn, "{target:?}");
    }
}

fn packed(field: u32, numbers: &[u64], out: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    for number in numbers {
        let mut one = Vec::new();
        put_number(1, *number, &mut one);
        bytes.extend(&one[1..]);
    }
    put_bytes(field, &bytes, out);
}

/// CPU 0 in columns: A is switched in at 10 and preempted at 20; at 25 the thread then on the CPU wakes C.
fn compact() -> Vec<u8> {
    compact_with(|_, _| {})
}

/// The same, with the numbers of each column changed.
fn compact_with(change: impl Fn(u32, &mut Vec<u64>)) -> Vec<u8> {
    let mut columns = Vec::new();
    [&b"A"[..], b"B", b"C"].iter().for_each(|comm| put_bytes(5, comm, &mut columns));
    for (column, numbers) in [
        (1, vec![10_000, 10_000, 20_000]),
        (2, vec![0, 0x100, 1]),
        (3, vec![10, 11, 10]),
        (4, vec![120, 120, 120]),
        (6, vec![0, 1, 0]),
        (7, vec![25_000]),
        (8, vec![12]),
        (9, vec![1]),
        (10, vec![120]),
        (11, vec![2]),
        (12, vec![8]),
    ] {
        let mut numbers = numbers;
        change(column, &mut numbers);
        packed(column, &numbers, &mut columns);
    }
    let (mut events, mut body, mut trace) = (Vec::new(), Vec::new(), Vec::new());
    put_number(bundle::CPU, 0, &mut events);
    put_bytes(bundle::COMPACT_SCHED, &columns, &mut events);
    put_bytes(packet::FTRACE_EVENTS, &events, &mut body);
    put_bytes(PACKET, &body, &mut trace);
    trace
}

#[test]
fn compact_columns_are_events() {
    let read = observed(compact());
    let expected = [
        "A ran 10-20 on 0 to Preempted",
        "A waited 20-40 Preempted",
        "B ran 20-40 on 0 to Interruptible",
        "A ran 40-40 on 0 to the end",
    ];
    assert_eq!(read.of(&["ran", "waited"]).len(), 4);
    expected.iter().for_each(|line| assert!(read.lines.iter().any(|l| l == line), "{line}: {:?}", read.lines));
    let (events, _) = open(compact()).unwrap();
    let waking = events.iter().find_map(|event| match event.what {
        crate::What::Waking(wake) => Some(wake),
        _ => None,
    });
    let waking = waking.expect("a waking");
    assert_eq!((waking.waker.0, waking.tid.0, waking.context.is_hard()), (11, 12, true));
}

#[test]
fn columns_of_unequal_length_are_damage() {
    let damage = |bytes: Vec<u8>| {
        let mut reader = Reader::open("t", Box::new(bytes), Kinds::ALL).unwrap();
        let mut batch = Vec::new();
        // The trace is refused if none of its events can be read.
        while reader.next_batch(&mut batch).unwrap_or(false) {}
        reader.problems().count(ProblemKind::BadRecord)
    };
    assert_eq!(damage(compact()), 0);
    for spoilt in [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12] {
        let more = |column, numbers: &mut Vec<u64>| numbers.extend((column == spoilt).then_some(0));
        let fewer = |column, numbers: &mut Vec<u64>| numbers.truncate(numbers.len() - usize::from(column == spoilt));
        // A recorder that does not know the flags writes none.
        let without = u64::from(spoilt != 12);
        assert_eq!((damage(compact_with(more)), damage(compact_with(fewer))), (1, without), "column {spoilt}");
    }
}

#[test]
fn other_files_are_not_taken_for_traces() {
    assert!(recognise(&compact()));
    for other in [&b"\n"[..], b"\n\n\n\n", b"\nhello, world of text\n", b"PERFILE2", b"\x0a\x00", b""] {
        assert!(!recognise(other), "{other:?}");
    }
}

#[test]
fn what_cannot_be_followed_is_said() {
    let mut cut = converted(Target::Perfetto);
    cut.truncate(cut.len() - 7);
    assert_eq!(open(cut).unwrap().1.problems().count(ProblemKind::Truncated), 1);
    let mut more = converted(Target::Perfetto);
    more.extend([0xff; 30]);
    assert_eq!(open(more).unwrap().1.problems().count(ProblemKind::BadRecord), 1);
    let mut none = Vec::new();
    put_bytes(PACKET, &[0x40, 1], &mut none);
    assert_eq!(
        open(none).err().expect("no event").to_string(),
        "t has no scheduler events (no event of ftrace); record sched:sched_switch and sched:sched_waking, as in `perf sched record`"
    );
}

#[test]
fn every_cut_and_every_spoilt_byte_is_survived() {
    for file in [converted(Target::Perfetto), compact()] {
        for at in 0..file.len() {
            let _ = open(file[..at].to_vec());
            for mask in [0xff, 0x80, 0x01] {
                let mut spoilt = file.clone();
                spoilt[at] ^= mask;
                let _ = open(spoilt);
            }
        }
    }
}

#[test]
fn the_corpus_begins_with_these_files() {
    is_in_corpus("perfetto", "events", &converted(Target::Perfetto));
    is_in_corpus("perfetto", "compact", &compact());
}
