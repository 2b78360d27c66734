//! Whole files of both versions, written here and read back.

use crate::drawing::{Drawing, Line, tell, tell_events};
use crate::perf_data::written::{KINDS, Writer, format, number};
use crate::{Event, Kinds, ProblemKind, Reader, TraceError};

const LITTLE: Writer = Writer { big_endian: false };
const BIG: Writer = Writer { big_endian: true };
const PAGE: usize = 512;

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

/// The pages of one CPU. A loss begins a new page.
fn pages(writer: Writer, drawing: &Drawing, cpu: u16) -> Vec<u8> {
    let (mut pages, mut page, mut ts) = (Vec::new(), Vec::new(), 0);
    let mut missed = None;
    let mut close = |page: &mut Vec<u8>, start: u64, missed: &mut Option<u64>| {
        if page.is_empty() {
            return;
        }
        let flags = if missed.is_some() { 1 << 31 | 1 << 30 } else { 0 };
        let mut whole = writer.u64(start).to_vec();
        whole.extend(writer.u64(page.len() as u64 | flags));
        whole.append(page);
        whole.extend(missed.take().map_or(Vec::new(), |lost| writer.u64(lost).to_vec()));
        whole.resize(PAGE, 0);
        pages.extend(whole);
    };
    let mut start = 0;
    for line in &drawing.lines {
        match line {
            Line::Lost { cpu: c, lost, .. } if c.0 == cpu => {
                close(&mut page, start, &mut missed);
                missed = Some(*lost);
            }
            Line::Event(event) if event.cpu.0 == cpu => {
                let Some((_, mut raw)) = writer.raw(drawing, event.what) else { continue };
                raw.resize(raw.len().next_multiple_of(4), 0);
                if page.len() + raw.len() + 40 > PAGE {
                    close(&mut page, start, &mut missed);
                }
                if page.is_empty() {
                    (start, ts) = (event.ts - 3, event.ts - 3);
                }
                let (delta, words) = ((event.ts - ts) as u32, raw.len() as u32 / 4);
                let head = if writer.big_endian { words << 27 | delta } else { delta << 5 | words };
                page.extend(writer.u32(head));
                page.extend(raw);
                ts = event.ts;
            }
            _ => {}
        }
    }
    close(&mut page, start, &mut missed);
    pages
}

fn begin(writer: Writer, version: &str) -> Vec<u8> {
    let mut file = b"\x17\x08\x44tracing".to_vec();
    file.extend(version.as_bytes());
    file.extend([0, u8::from(writer.big_endian), 8]);
    file.extend(writer.u32(PAGE as u32));
    file
}

fn headers(writer: Writer) -> Vec<u8> {
    let page = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:496;\tsigned:0;\n";
    let mut out = Vec::new();
    for (name, text) in [("header_page", page), ("header_event", "x")] {
        out.extend(name.as_bytes());
        out.push(0);
        out.extend(writer.u64(text.len() as u64));
        out.extend(text.as_bytes());
    }
    out
}

fn formats(writer: Writer) -> Vec<u8> {
    let mut out = writer.u32(1).to_vec();
    out.extend(b"sched\0");
    out.extend(writer.u32(KINDS.len() as u32));
    for kind in KINDS {
        let format = format(kind, number(kind));
        out.extend(writer.u64(format.len() as u64));
        out.extend(format.as_bytes());
    }
    out
}

const CMDLINES: &[u8] = b"10 early name\n77 only here\n";

fn version_6(writer: Writer, drawing: &Drawing) -> Vec<u8> {
    let mut file = begin(writer, "6");
    file.extend(headers(writer));
    file.extend(writer.u32(0));
    file.extend(formats(writer));
    file.extend(writer.u32(0));
    file.extend(writer.u32(0));
    file.extend(writer.u64(CMDLINES.len() as u64));
    file.extend(CMDLINES);
    file.extend(writer.u32(2));
    file.extend(b"options  \0");
    for (id, data) in
        [(4, "local [global] counter\0"), (5, "Linux host 6.18.0 #1 SMP aarch64\0"), (2, "CPU: 0\noverrun: 5\n\0")]
    {
        file.extend(writer.u16(id));
        file.extend(writer.u32(data.len() as u32));
        file.extend(data.as_bytes());
    }
    file.extend(writer.u16(0));
    file.extend(b"flyrecord\0");
    let mut at = (file.len() as u64 + 32).next_multiple_of(PAGE as u64);
    let cpus = [pages(writer, drawing, 0), pages(writer, drawing, 1)];
    for pages in &cpus {
        file.extend(writer.u64(at));
        file.extend(writer.u64(pages.len() as u64));
        at += pages.len() as u64;
    }
    file.resize(file.len().next_multiple_of(PAGE), 0);
    file.extend(cpus.concat());
    file
}

/// A zstd frame of raw blocks.
fn zstd(data: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00];
    for block in data.chunks(1000) {
        frame.extend(&((block.len() as u32) << 3).to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame.extend([1, 0, 0]);
    frame
}

fn section(writer: Writer, id: u16, data: &[u8], compressed: bool) -> Vec<u8> {
    let mut body = data.to_vec();
    if compressed {
        let frame = zstd(data);
        body = writer.u32(frame.len() as u32).to_vec();
        body.extend(writer.u32(data.len() as u32));
        body.extend(frame);
    }
    let mut out = writer.u16(id).to_vec();
    out.extend(writer.u16(u16::from(compressed)));
    out.extend(writer.u32(0));
    out.extend(writer.u64(body.len() as u64));
    out.extend(body);
    out
}

/// Version 7; the second of two buffers holds what the first one holds, too.
fn version_7(writer: Writer, drawing: &Drawing, compressed: bool) -> Vec<u8> {
    let mut file = begin(writer, "7");
    file.extend(if compressed { &b"zstd\x001.5\0"[..] } else { b"none\0\0" });
    let options_at = file.len();
    file.extend([0; 8]);
    let mut options = Vec::new();
    let mut add = |id: u16, data: &[u8]| {
        options.extend(writer.u16(id));
        options.extend(writer.u32(data.len() as u32));
        options.extend(data);
    };
    let saved = [&writer.u64(CMDLINES.len() as u64)[..], CMDLINES].concat();
    let parts = [(16, headers(writer)), (17, writer.u32(0).to_vec()), (18, formats(writer)), (21, saved)];
    for (id, data) in parts {
        add(id, &writer.u64(file.len() as u64));
        file.extend(section(writer, id, &data, compressed));
    }
    for name in ["", "second"] {
        let mut buffer = writer.u64(file.len() as u64).to_vec();
        buffer.extend(name.as_bytes());
        buffer.extend(b"\0mono\0");
        buffer.extend(writer.u32(PAGE as u32));
        buffer.extend(writer.u32(2));
        file.extend(section(writer, 3, &[], false));
        let flags = file.len() - 14;
        file[flags..flags + 2].copy_from_slice(&writer.u16(u16::from(compressed)));
        for cpu in [0, 1] {
            let mut data = pages(writer, drawing, cpu);
            if compressed {
                let chunks: Vec<&[u8]> = data.chunks(PAGE).collect();
                let mut out = writer.u32(chunks.len() as u32).to_vec();
                for chunk in chunks {
                    let frame = zstd(chunk);
                    out.extend(writer.u32(frame.len() as u32));
                    out.extend(writer.u32(chunk.len() as u32));
                    out.extend(frame);
                }
                data = out;
            }
            buffer.extend(writer.u32(u32::from(cpu)));
            buffer.extend(writer.u64(file.len() as u64));
            buffer.extend(writer.u64(data.len() as u64));
            file.extend(data);
        }
        add(3, &buffer);
    }
    add(0, &writer.u64(0));
    let place = writer.u64(file.len() as u64);
    file[options_at..options_at + 8].copy_from_slice(&place);
    file.extend(section(writer, 0, &options, false));
    file
}

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
        let reader = check(version_6(writer, &Drawing::new(DRAWING)));
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
            let reader = check(version_7(writer, &Drawing::new(DRAWING), compressed));
            assert_eq!((reader.info().format, reader.info().clock.as_str()), ("trace.dat 7", "mono"));
            let why: Vec<String> = reader.problems().all().map(|p| p.first).collect();
            assert!(why.iter().any(|w| w.starts_with("several buffers hold scheduler events")), "{why:?}");
        }
    }
}

#[test]
fn threads_are_named_by_what_trace_cmd_saved() {
    let (events, reader) = read(version_6(LITTLE, &Drawing::new(DRAWING))).unwrap();
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
    let mut zlib = begin(LITTLE, "7");
    zlib.extend(b"zlib\x001.2\0");
    assert!(error(zlib).contains("compressed with zlib; rewrite it: trace-cmd convert"));
    let mut latency = version_6(LITTLE, &Drawing::new(DRAWING));
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

/// Bytes worth a try: all but most of the text of formats.
fn places(file: &[u8]) -> impl Iterator<Item = usize> {
    let text = file.windows(6).position(|w| w == b"field:").unwrap_or(file.len());
    let text_end = file.windows(4).rposition(|w| w == b": \"\"").unwrap_or(0);
    (0..=file.len()).filter(move |at| !(text..text_end).contains(at) || at % 61 == 0)
}

#[test]
fn every_cut_and_every_spoilt_byte_is_survived() {
    let drawing = Drawing::new(DRAWING);
    for file in [version_6(LITTLE, &drawing), version_7(LITTLE, &drawing, true)] {
        for at in places(&file) {
            let _ = read(file[..at].to_vec());
            let mut spoilt = file.clone();
            spoilt.get_mut(at).into_iter().for_each(|byte| *byte ^= if at % 2 == 0 { 0xff } else { 0x80 });
            let _ = read(spoilt);
        }
    }
}
