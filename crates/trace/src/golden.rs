//! The golden traces of machines that are not 64-bit little-endian, and of features that only binary traces have. They
//! are written here from the drawing at their head, and stored as dumps next to those of
//! `crates/report/tests/traces.rs`, which contains the expected results.

use crate::drawing::{Drawing, observe, observe_events};
use crate::kind::Kind;
use crate::perf_data::written::{LITTLE, Writer};
use crate::trace_dat::written::{Saved, version_6};
use crate::{Kinds, Reader, Tid};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A wakeup and a preemption.
const DRAWING: &str = "
    1 5 . R > C
    0 10 . R > A
    1 30 waking B by C
    1 32 wakeup B on 0
    1 40 C S > .
    0 50 A R+ > B
    0 58 B S > A
    0 70 A D > .
";

const KINDS: [Kind; 3] = [Kind::SchedSwitch, Kind::SchedWaking, Kind::SchedWakeup];

fn perf_data(writer: Writer, drawing: &Drawing) -> Vec<u8> {
    let records: Vec<u8> = drawing.lines.iter().flat_map(|line| writer.line(drawing, line)).collect();
    writer.file(&records)
}

/// Recorded with the cgroups of threads: B is in one, all others are in another.
fn perf_cgroups(drawing: &Drawing) -> Vec<u8> {
    const B: Tid = Tid(11);
    let cgroup_of = |tid| if tid == B { 7 } else { 5 };
    let writer = Writer { kinds: &KINDS, cgroup_of: Some(cgroup_of), ..LITTLE };
    let named = [writer.cgroup(5, "/batch"), writer.cgroup(7, "/serve/web")].concat();
    let records = drawing.lines.iter().flat_map(|line| writer.line(drawing, line));
    writer.file(&named.into_iter().chain(records).collect::<Vec<u8>>())
}

fn trace_dat(writer: Writer, drawing: &Drawing) -> Vec<u8> {
    version_6(writer, drawing, Saved::NOTHING)
}

/// This many letters in a row are dumped as text and not as numbers.
const TEXT: usize = 5;

/// The next token of a dump, and how many bytes it stands for.
fn token(bytes: &[u8]) -> (usize, String) {
    let same = bytes.iter().take_while(|b| **b == bytes[0]).count();
    let text = bytes.iter().take_while(|b| matches!(b, b'\t' | b' '..=b'~')).count();
    let text = text + usize::from(bytes.get(text) == Some(&b'\n'));
    match (same, text) {
        (3.., _) => (same, format!("{:02x}*{same}", bytes[0])),
        (_, TEXT..) => (text, format!("\"{}\"", bytes[..text].escape_ascii())),
        _ => (1, format!("{:02x}", bytes[0])),
    }
}

/// Bytes as pairs of hex digits, `00*12` for twelve zeros, and text in quotes, one line of text per line.
fn dump(mut bytes: &[u8]) -> String {
    let (mut out, mut line) = (String::new(), String::new());
    while !bytes.is_empty() {
        let (length, token) = token(bytes);
        bytes = &bytes[length..];
        if line.starts_with('"') || token.starts_with('"') || line.len() + token.len() > 100 {
            writeln!(out, "{line}").expect("a string");
            line.clear();
        }
        line += if line.is_empty() { "" } else { " " };
        line += &token;
    }
    out.trim_start().to_owned() + &line + "\n"
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/traces").join(name).with_extension("dump")
}

/// Checks that the stored file of a machine, with its description, is what is written here.
fn is_kept(name: &str, story: &str, bytes: &[u8]) {
    let drawing = DRAWING.trim_end().replace("\n    ", "\n# ");
    let made = format!("# {story}{drawing}\n{}", dump(bytes));
    if std::env::var_os("SCHEDLAB_BLESS").is_some() {
        std::fs::write(path(name), &made).expect("written");
    }
    let kept = std::fs::read_to_string(path(name)).unwrap_or_default();
    assert!(kept == made, "{name}.dump differs from what is written here: SCHEDLAB_BLESS=1 cargo test");
}

#[test]
fn binary_golden_traces_read_as_drawn_and_are_kept() {
    const ANSWER: &str = "B waits 20 us, 2 to its queue, 18 for A; A, preempted, 8 for B.";
    let (drawing, drawn) = (Drawing::new(DRAWING), observe(DRAWING));
    let machine = |big_endian, long_size| Writer { big_endian, long_size, kinds: &KINDS, ..LITTLE };
    let (big, small, small_big) = (machine(true, 8), machine(false, 4), machine(true, 4));
    for (name, story, file) in [
        ("big_endian", "perf.data of a big-endian kernel.", perf_data(big, &drawing)),
        (
            "long_of_32_bits",
            "trace.dat of a kernel of 32 bits: commit and prev_state of 4 bytes.",
            trace_dat(small, &drawing),
        ),
        ("perf_cgroups", "perf.data with cgroups: B in /serve/web, A and C in /batch.", perf_cgroups(&drawing)),
        ("big_endian_32_bits", "trace.dat of a big-endian kernel of 32 bits.", trace_dat(small_big, &drawing)),
    ] {
        let mut reader = Reader::open(name, Box::new(file.clone()), Kinds::ALL).expect("a trace");
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        while reader.next_batch(&mut batch).expect("readable") {
            all.extend_from_slice(&batch);
        }
        assert_eq!(observe_events(&all, reader.names(), reader.states()).lines, drawn.lines, "{name}");
        is_kept(name, &format!("{story} {ANSWER}"), &file);
    }
}
