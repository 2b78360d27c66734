//! Whole files of both versions, written here and read back.

mod lacks;

use super::written::{Packed, Saved, begin, version_6, version_7};
use crate::drawing::{Drawing, is_in_corpus, observe, observe_events, read_all};
use crate::perf_data::written::{BIG, LITTLE};
use crate::{Event, Kinds, ProblemKind, Reader, TraceError};

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
    0 140 lost 4
    0 150 . R > B
";

const SAVED: Saved = Saved { cmdlines: "10 early name\n77 only here\n", overrun: 5, ..Saved::NOTHING };

const MONO: Saved = Saved { clocks: "local [mono]", ..SAVED };

fn read(file: Vec<u8>) -> Result<(Vec<Event>, Reader), TraceError> {
    read_all(Reader::open("t", Box::new(file), Kinds::ALL)?)
}

fn check(file: Vec<u8>) -> Reader {
    let drawn = observe(DRAWING);
    let (events, reader) = read(file).expect("a good file");
    let observed = observe_events(&events, reader.names(), reader.states());
    let of = |observed: &crate::drawing::Observed| {
        observed.lines.iter().map(|l| l.replace("early name", "A")).collect::<Vec<_>>()
    };
    assert_eq!(of(&observed), of(&drawn));
    reader
}

#[test]
fn version_6_reads_as_drawn_in_either_byte_order() {
    for writer in [LITTLE, BIG] {
        let reader = check(version_6(writer, &Drawing::new(DRAWING), SAVED));
        let info = reader.info();
        assert_eq!((info.format, info.clock.as_str(), info.hostname.as_str()), ("trace.dat 6", "global", "host"));
        assert_eq!((info.release.as_str(), info.arch.as_str()), ("6.18.0", "aarch64"));
        // Four are marked where they are missing; only the ring's own counter shows the fifth.
        assert_eq!(reader.problems().count(ProblemKind::Lost), 5);
        let switches = info.events.iter().find(|e| e.0 == "sched:sched_switch").map(|e| e.1);
        assert_eq!(switches, Some(7));
    }
}

#[test]
fn version_7_reads_the_same_compressed_or_not() {
    for writer in [LITTLE, BIG] {
        for packed in [Packed::No, Packed::Zlib, Packed::Zstd, Packed::ZstdShort] {
            let reader = check(version_7(writer, &Drawing::new(DRAWING), MONO, packed));
            assert_eq!((reader.info().format, reader.info().clock.as_str()), ("trace.dat 7", "mono"));
            let why: Vec<String> = reader.problems().all().map(|p| p.first).collect();
            assert!(why.iter().any(|w| w.starts_with("several buffers hold scheduler events")), "{why:?}");
            assert_eq!(reader.problems().count(ProblemKind::SkippedPart), 0, "{packed:?}: {why:?}");
        }
    }
}

#[test]
fn threads_are_named_by_what_trace_cmd_saved() {
    let (events, reader) = read(version_6(LITTLE, &Drawing::new(DRAWING), SAVED)).unwrap();
    let named = events.iter().filter_map(|e| match e.what {
        crate::What::Comm { tid, comm } => Some((tid.0, reader.names().text(comm))),
        _ => None,
    });
    assert_eq!(named.collect::<Vec<_>>(), [(10, "early name"), (77, "only here")]);
}

#[test]
fn other_versions_and_compressions_are_named() {
    let error = |file: Vec<u8>| read(file).err().expect("refused").to_string();
    assert_eq!(error(begin(LITTLE, "8")), "t: byte 10: trace.dat of version `8`; expected version 6 or 7");
    let mut lzma = begin(LITTLE, "7");
    lzma.extend(b"lzma\x001.2\0");
    assert!(error(lzma).contains("compressed with lzma; rewrite it: trace-cmd convert"));
    let mut latency = version_6(LITTLE, &Drawing::new(DRAWING), SAVED);
    let at = latency.windows(10).position(|w| w == b"flyrecord\0").unwrap();
    latency[at..at + 10].copy_from_slice(b"latency  \0");
    assert!(error(latency).contains("a latency trace, which is text inside trace.dat"));
    let mut latency = version_7(LITTLE, &Drawing::new(DRAWING), MONO, Packed::No);
    let at = latency.windows(6).position(|w| w == [3, 0, 62, 0, 0, 0]).expect("the option of the first buffer");
    latency[at] = 22;
    assert!(error(latency).contains("a latency trace, which is text inside trace.dat"));
    let pipe = crate::Forward::new(std::io::Cursor::new(begin(LITTLE, "6")));
    let pipe = Reader::open("p", Box::new(pipe), Kinds::ALL).err().unwrap().to_string();
    assert_eq!(
        pipe,
        "p: byte 0: trace.dat comes through a pipe; its parts lie all over the file: give the file itself"
    );
}

#[test]
fn the_corpus_begins_with_these_files() {
    let drawing = Drawing::new(DRAWING);
    is_in_corpus("trace_dat", "version_6", &version_6(LITTLE, &drawing, SAVED));
    is_in_corpus("trace_dat", "big_endian", &version_6(BIG, &drawing, SAVED));
    is_in_corpus("trace_dat", "version_7", &version_7(LITTLE, &drawing, MONO, Packed::No));
    is_in_corpus("trace_dat", "compressed", &version_7(LITTLE, &drawing, MONO, Packed::Zstd));
}

/// Bytes worth trying: all except most of the format text.
fn places(file: &[u8]) -> impl Iterator<Item = usize> {
    let text = file.windows(6).position(|w| w == b"field:").unwrap_or(file.len());
    let text_end = file.windows(4).rposition(|w| w == b": \"\"").unwrap_or(0);
    (0..=file.len()).filter(move |at| !(text..text_end).contains(at) || at % 61 == 0)
}

#[test]
fn a_format_that_was_written_over_is_refused() {
    let mut file = version_6(LITTLE, &Drawing::new(DRAWING), SAVED);
    // This text defines the meaning of prev_state.
    let at = file.windows(11).position(|w| w == b"print fmt: ").expect("a format");
    file[at + 12] = 0;
    let refused = read(file).err().expect("refused").to_string();
    assert!(refused.contains("a zero byte in the format of sched_switch; expected text"), "{refused}");
}

#[test]
fn a_page_of_zeros_is_reported() {
    let whole = version_6(LITTLE, &Drawing::new(DRAWING), Saved::NOTHING);
    // Two bytes of its time remain.
    let spoilt = [&whole[..whole.len() - 510], &[0; 510]].concat();
    let [whole, spoilt] = [whole, spoilt].map(|file| {
        let problems = read(file).unwrap().1.problems().clone();
        [ProblemKind::Truncated, ProblemKind::Lost].map(|kind| problems.count(kind))
    });
    assert_eq!((whole, spoilt), ([0, 4], [1, 5]));
}

#[test]
fn every_cut_and_every_spoilt_byte_is_survived() {
    let drawing = Drawing::new(DRAWING);
    for file in [version_6(LITTLE, &drawing, SAVED), version_7(LITTLE, &drawing, MONO, Packed::Zstd)] {
        for at in places(&file) {
            let _ = read(file[..at].to_vec());
            let mut spoilt = file.clone();
            spoilt.get_mut(at).into_iter().for_each(|byte| *byte ^= if at % 2 == 0 { 0xff } else { 0x80 });
            let _ = read(spoilt);
        }
    }
}

fn problems(reader: &Reader, kind: ProblemKind) -> Vec<String> {
    reader.problems().all().filter(|p| p.kind == kind).map(|p| p.to_string()).collect()
}

#[test]
fn chunks_that_end_elsewhere_than_their_size_says_are_reported() {
    let file = version_7(LITTLE, &Drawing::new(DRAWING), MONO, Packed::Zstd);
    // The number of chunks of CPU 0 comes before its first frame; the first part with pages is the one whose option
    // names CPU 0.
    let (_, whole) = read(file.clone()).unwrap();
    assert_eq!(problems(&whole, ProblemKind::SkippedPart), Vec::<String>::new());
    let option = file.windows(6).rposition(|w| w == b"\0mono\0").expect("a buffer's clock") + 6;
    let at = u64::from_le_bytes(file[option + 12..option + 20].try_into().unwrap()) as usize;
    let mut fewer = file.clone();
    fewer[at] -= 1;
    // The second buffer's events are not the ones that are read, but its chunks are.
    let reported = problems(&read(fewer).unwrap().1, ProblemKind::SkippedPart);
    assert!(reported[0].contains("the last chunk of a CPU"), "{reported:?}");
}

#[test]
fn the_clock_is_named_where_the_version_of_trace_cmd_put_it() {
    for clocks_after in [false, true] {
        let saved = Saved { clocks: "[local] global mono", clocks_after, ..Saved::NOTHING };
        let (_, reader) = read(version_6(LITTLE, &Drawing::new(DRAWING), saved)).unwrap();
        assert_eq!(reader.info().clock, "local (of each CPU: they may differ)");
        let saved = Saved { clocks: "local [mono_raw]", clocks_after, ..Saved::NOTHING };
        let (_, reader) = read(version_6(BIG, &Drawing::new(DRAWING), saved)).unwrap();
        assert_eq!(reader.info().clock, "mono_raw");
    }
}

#[test]
fn what_counts_no_time_is_refused() {
    for (clocks, counts) in [("[counter]", "events"), ("[uptime]", "ticks"), ("[x86-tsc]", "cycles")] {
        for clocks_after in [false, true] {
            let saved = Saved { clocks, clocks_after, ..SAVED };
            let why = read(version_6(LITTLE, &Drawing::new(DRAWING), saved)).err().expect("refused").to_string();
            let name = clocks.trim_matches(['[', ']']);
            assert!(why.contains(&format!("recorded by the clock `{name}`, which counts {counts}")), "{why}");
            assert!(why.ends_with("trace-cmd record -C mono, or mono in trace_clock"), "{why}");
        }
        // In version 7 each buffer has its own clock: the second one is read.
        let file = version_7(LITTLE, &Drawing::new(DRAWING), Saved { clocks, ..SAVED }, Packed::No);
        let (events, reader) = read(file).unwrap();
        assert!(events.len() > 10);
        assert!(problems(&reader, ProblemKind::SkippedPart)[0].starts_with("buffer ``: recorded by the clock"));
    }
}

/// `trace-cmd report -t` of 3.1.6, with multiplier 1048576 and shift 22 in the TSC2NSEC option, and an offset of 0 or
/// of 200000000000000 alike: 259445106953100 cycles are 64861.276738275 s.
#[test]
fn cycles_become_nanoseconds_as_trace_cmd_makes_them() {
    for offset in [0, 7, 1 << 60] {
        let saved = Saved { clocks: "[x86-tsc]", tsc2nsec: Some((1 << 20, 22, offset)), ..Saved::NOTHING };
        let (events, reader) = read(version_6(LITTLE, &Drawing::new("0 10 . R > A\n0 18 A S > .\n"), saved)).unwrap();
        assert_eq!(reader.info().clock, "x86-tsc");
        assert_eq!(events.iter().map(|e| e.ts).collect::<Vec<_>>(), [2500, 4500]);
    }
    let times = super::records::Times { offset: 0, tsc2nsec: Some((1 << 20, 22)) };
    assert_eq!(times.ns(259_445_106_953_100), 64_861_276_738_275);
}

/// `--date` writes µs, `--ts-offset` the user's value, in nanoseconds.
#[test]
fn options_that_move_times_are_applied() {
    let drawing = Drawing::new("0 10 . R > A\n0 18 A S > .\n");
    let times = |option| {
        let (events, _) = read(version_6(LITTLE, &drawing, Saved { option: Some(option), ..Saved::NOTHING })).unwrap();
        events.iter().map(|e| e.ts).collect::<Vec<_>>()
    };
    assert_eq!(times((7, "1000\0")), [11_000, 19_000]);
    assert_eq!(times((7, "0x10\0")), [10_016, 18_016]);
    let date = 0x0006_4f2a_1b3c_4d5e * 1000;
    assert_eq!(times((1, "0x64f2a1b3c4d5e\0")), [date + 10_000, date + 18_000]);
}

#[test]
fn a_loss_after_a_cut_has_the_times_of_the_events() {
    let saved = Saved { option: Some((7, "5000000000\0")), ..Saved::NOTHING };
    let file = version_6(LITTLE, &Drawing::new(DRAWING), saved);
    let lost = problems(&read(file[..file.len() - 1].to_vec()).unwrap().1, ProblemKind::Lost);
    assert_eq!(lost, ["CPU 1 lost events, noticed at 5.000030 s (5 in all)"]);
}

#[test]
fn a_cut_is_reported_and_what_is_after_it_is_a_gap() {
    let file = version_6(LITTLE, &Drawing::new(DRAWING), Saved::NOTHING);
    let (whole, reader) = read(file.clone()).unwrap();
    assert_eq!(problems(&reader, ProblemKind::SkippedPart), Vec::<String>::new());
    for bytes in [1, 511, 512, 513, 1024] {
        let (events, reader) = read(file[..file.len() - bytes].to_vec()).unwrap();
        let reported = problems(&reader, ProblemKind::SkippedPart);
        assert!(
            reported.iter().any(|t| t.contains("bytes before the pages of its CPU do; expected a whole file")),
            "{reported:?}"
        );
        assert_ne!(events, whole);
        assert!(matches!(events.last().unwrap().what, crate::What::GapEnd { .. }));
    }
}

#[test]
fn what_the_kernel_counted_and_the_file_lacks_is_reported() {
    let two = |stats| Saved { stats, ..Saved::NOTHING };
    let drawing = Drawing::new("0 10 . R > A\n0 18 A S > .\n");
    let lost = |saved| problems(&read(version_6(LITTLE, &drawing, saved)).unwrap().1, ProblemKind::Lost);
    assert_eq!(lost(two("entries: 1\nread events: 1\n")), Vec::<String>::new());
    let reported = lost(two("entries: 40\nread events: 2\n"));
    assert!(reported[0].starts_with("the kernel counted 42 events and the file holds 2:"), "{reported:?}");
    let reported = lost(two("dropped events: 7\n"));
    assert_eq!(reported, ["the ring overwrote 0 events and refused 7; where is not marked (7 in all)"]);
}
