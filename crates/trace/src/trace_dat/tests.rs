//! Whole files of both versions, written here and read back.

use super::written::{Saved, begin, version_6, version_7};
use crate::drawing::{Drawing, is_in_corpus, tell, tell_events};
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

const SAVED: Saved = Saved { cmdlines: "10 early name\n77 only here\n", overrun: 5 };

fn read(file: Vec<u8>) -> Result<(Vec<Event>, Reader), TraceError> {
    let mut reader = Reader::open("t", Box::new(file), Kinds::ALL)?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    Ok((all, reader))
}

fn check(file: Vec<u8>) -> Reader {
    let drawn = tell(DRAWING);
    let (events, reader) = read(file).expect("a good file");
    let told = tell_events(&events, reader.names(), reader.states());
    let of = |told: &crate::drawing::Told| told.lines.iter().map(|l| l.replace("early name", "A")).collect::<Vec<_>>();
    assert_eq!(of(&told), of(&drawn));
    reader
}

#[test]
fn version_6_tells_what_was_drawn_in_either_byte_order() {
    for writer in [LITTLE, BIG] {
        let reader = check(version_6(writer, &Drawing::new(DRAWING), SAVED));
        let info = reader.info();
        assert_eq!((info.format, info.clock.as_str(), info.hostname.as_str()), ("trace.dat 6", "global", "host"));
        assert_eq!((info.release.as_str(), info.arch.as_str()), ("6.18.0", "aarch64"));
        assert_eq!(reader.problems().count(ProblemKind::Recording), 5);
        assert_eq!(reader.problems().count(ProblemKind::Lost), 4);
        let switches = info.events.iter().find(|e| e.0 == "sched:sched_switch").map(|e| e.1);
        assert_eq!(switches, Some(7));
    }
}

#[test]
fn version_7_tells_the_same_compressed_or_not() {
    for writer in [LITTLE, BIG] {
        for compressed in [false, true] {
            let reader = check(version_7(writer, &Drawing::new(DRAWING), SAVED, compressed));
            assert_eq!((reader.info().format, reader.info().clock.as_str()), ("trace.dat 7", "mono"));
            let why: Vec<String> = reader.problems().all().map(|p| p.first).collect();
            assert!(why.iter().any(|w| w.starts_with("several buffers hold scheduler events")), "{why:?}");
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
    is_in_corpus("trace_dat", "version_7", &version_7(LITTLE, &drawing, SAVED, false));
    is_in_corpus("trace_dat", "compressed", &version_7(LITTLE, &drawing, SAVED, true));
}

/// Bytes worth a try: all but most of the text of formats.
fn places(file: &[u8]) -> impl Iterator<Item = usize> {
    let text = file.windows(6).position(|w| w == b"field:").unwrap_or(file.len());
    let text_end = file.windows(4).rposition(|w| w == b": \"\"").unwrap_or(0);
    (0..=file.len()).filter(move |at| !(text..text_end).contains(at) || at % 61 == 0)
}

#[test]
fn every_cut_and_every_spoilt_byte_is_survived() {
    let drawing = Drawing::new(DRAWING);
    for file in [version_6(LITTLE, &drawing, SAVED), version_7(LITTLE, &drawing, SAVED, true)] {
        for at in places(&file) {
            let _ = read(file[..at].to_vec());
            let mut spoilt = file.clone();
            spoilt.get_mut(at).into_iter().for_each(|byte| *byte ^= if at % 2 == 0 { 0xff } else { 0x80 });
            let _ = read(spoilt);
        }
    }
}
