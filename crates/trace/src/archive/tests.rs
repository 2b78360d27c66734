use super::*;
use crate::{Event, Kinds, Reader};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use std::io::Write;

const TEXT: &[u8] = b"# tracer: nop\n#\n a-1 [000] d.... 1.000001: sched_waking: comm=b pid=2 prio=120 target_cpu=000\n\
    a-1 [000] d.... 1.000002: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120\n";

fn zip(members: &[(&str, &[u8])], deflate: bool) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let packed = if deflate {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        } else {
            content.to_vec()
        };
        let mut common = vec![20, 0, 0, 0, if deflate { 8 } else { 0 }, 0, 0, 0, 0, 0];
        for number in [crc32fast::hash(content), packed.len() as u32, content.len() as u32] {
            common.extend(number.to_le_bytes());
        }
        common.extend([name.len() as u8, 0, 0, 0]);
        let at = bytes.len() as u32;
        bytes.extend([&ZIP[..], &common, name.as_bytes(), &packed].concat());
        directory.extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let (at, length, count) = (bytes.len() as u32, directory.len() as u32, members.len() as u8);
    bytes.extend(&directory);
    bytes.extend(
        [b"PK\x05\x06", &[0, 0, 0, 0, count, 0, count, 0][..], &length.to_le_bytes(), &at.to_le_bytes(), &[0, 0]]
            .concat(),
    );
    bytes
}

fn read(bytes: Vec<u8>) -> Result<Vec<Event>, TraceError> {
    let mut reader = Reader::open("t.zip", Box::new(bytes), Kinds::ALL)?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    Ok(all)
}

/// `TEXT` as Perfetto.
fn packets() -> Vec<u8> {
    let mut reader = Reader::open("t", Box::new(TEXT.to_vec()), Kinds::ALL).unwrap();
    let mut out = Vec::new();
    crate::convert(&mut reader, crate::Target::Perfetto, &[], &mut out).unwrap();
    out
}

#[test]
fn the_one_trace_of_an_archive_is_read() {
    let (trace, other) = (packets(), b"a page of the report".repeat(50));
    let expected = read(trace.clone()).unwrap();
    for deflate in [false, true] {
        assert_eq!(read(zip(&[("trace.pftrace", &trace)], deflate)).unwrap(), expected);
        let report = [("version.txt", &other[..]), ("FS/systrace.pftrace", &trace), ("empty", b""), ("log.txt", TEXT)];
        assert_eq!(read(zip(&report, deflate)).unwrap(), expected, "the one of Perfetto");
    }
    let text = read(zip(&[("a.txt", TEXT), ("b", &other)], true)).unwrap();
    assert_eq!(text, read(TEXT.to_vec()).unwrap());
}

#[test]
fn what_is_not_one_trace_is_refused_with_the_choice() {
    let trace = packets();
    let error = |bytes| read(bytes).expect_err("refused").to_string();
    assert_eq!(
        error(zip(&[("a.pftrace", &trace), ("b c.pftrace", &trace)], true)),
        "t.zip: byte 0: an archive with 2 traces: a.pftrace, b c.pftrace; unpack the one that is meant and name it: unzip t.zip 'a.pftrace'"
    );
    assert!(error(zip(&[("a", b"x")], true)).contains("an archive of 1 members, none of which is a trace"));
    let pipe = crate::Forward::new(io::Cursor::new(zip(&[("a", &trace)], true)));
    let refused = Reader::open("-", Box::new(pipe), Kinds::ALL).err().expect("refused").to_string();
    assert!(refused.ends_with("whose directory is at its end; name the file"), "{refused}");
    let whole = zip(&[("a", &trace)], true);
    assert!(error(whole[..whole.len() - 30].to_vec()).contains("without its directory"));
}

#[test]
fn perf_data_is_unpacked_to_be_read() {
    use crate::perf_data::written::LITTLE;
    let drawing = crate::drawing::Drawing::new("0 10 . R > A\n0 20 A S > .");
    let records: Vec<u8> = drawing.lines.iter().flat_map(|line| LITTLE.line(&drawing, line)).collect();
    let expected = read(LITTLE.file(&records)).unwrap();
    for trace in [LITTLE.file(&records), LITTLE.stream(&records)] {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&trace).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(read(gzip.clone()).unwrap(), expected);
        assert_eq!(read(zip(&[("perf.data", &trace)], true)).unwrap(), expected);
        assert!((1..gzip.len()).all(|end| read(gzip[..end].to_vec()).is_err()), "a cut");
    }
}

#[test]
fn damage_to_a_compressed_trace_is_an_error() {
    let trace = packets();
    let whole = zip(&[("a.pftrace", &trace)], true);
    let expected = read(whole.clone()).unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&trace).unwrap();
    let gzip = gzip.finish().unwrap();
    assert_eq!(read(gzip.clone()).unwrap(), expected);
    for (file, content) in [(&whole, 43..whole.len() - 110), (&gzip, 10..gzip.len() - 4)] {
        for at in content {
            let mut spoilt = file.clone();
            spoilt[at] ^= 4;
            // A spoilt bit may be padding, or select a match at another distance with the same bytes.
            assert!(read(spoilt).map_or(true, |events| events == expected), "byte {at}");
        }
        (0..file.len()).for_each(|end| assert!(read(file[..end].to_vec()).is_err(), "cut at {end}"));
    }
}
