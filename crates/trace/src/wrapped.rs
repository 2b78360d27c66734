//! Traces inside other data: the output of `atrace -z`, and archives packed with gzip.

use crate::bytes::{ByteSource, Forward, Input, Onward};
use crate::error::TraceError;
use crate::kind::Kinds;
use crate::text::Text;
use crate::trace_dat::{TraceDat, archive};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// Data that is not read from start to end is inflated into memory: perf.data, and archives, whose CPUs are read in
/// parallel: 64 CPUs with SchedViz's usual 4 MB.
const MAX_INFLATED: u64 = 256 << 20;

/// Where the zlib stream of `atrace -z` begins: after the line `TRACE:`, before which there may be others.
pub(crate) fn atrace(head: &[u8]) -> Option<u64> {
    let line = head.split_inclusive(|b| *b == b'\n').scan(0, |end, line| {
        *end += line.len();
        Some((*end, line))
    });
    let at = line.filter(|(_, line)| line.trim_ascii_end() == b"TRACE:").map(|(end, _)| end).next()?;
    // Deflate with a window of 32 kB, and a valid check of the first two bytes (RFC 1950).
    let is_zlib = matches!(head[at..], [0x78, flags, ..] if (0x7800 | u16::from(flags)) % 31 == 0);
    is_zlib.then_some(at as u64)
}

/// The text after `at`, inflated while it is read. If it is damaged, it ends there, and that is reported.
pub(crate) fn open_atrace(file: &str, source: Box<dyn ByteSource>, at: u64, wanted: Kinds) -> Text {
    let failed = Failed::default();
    let inflated = Inflated { decoder: ZlibDecoder::new(Onward { source, at }), failed: failed.clone() };
    Text::inflated(file, Box::new(Forward::new(inflated)), wanted, failed)
}

/// Why a stream ended early.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failed(Arc<Mutex<Option<String>>>);

impl Failed {
    /// Why it ended early, if it did.
    pub(crate) fn why(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct Inflated {
    decoder: ZlibDecoder<Onward>,
    failed: Failed,
}

impl Read for Inflated {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.decoder.read(into) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                *self.failed.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                Ok(0)
            }
            read => read,
        }
    }
}

/// Whether a gzip file begins with a tar archive.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    let mut block = Vec::new();
    // A prefix is enough to recognise it; that it ends early is no error here.
    let _ = MultiGzDecoder::new(head).take(512).read_to_end(&mut block);
    archive::recognise(&block)
}

/// The archive inside a gzip.
pub(crate) fn open_archive(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Result<TraceDat, TraceError> {
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(Onward { source, at: 0 }).take(MAX_INFLATED + 1).read_to_end(&mut bytes);
    if bytes.len() as u64 > MAX_INFLATED {
        let (file, what) = (file.to_owned(), format!("an archive of more than {MAX_INFLATED} bytes in gzip"));
        return Err(TraceError::Unsupported { file, offset: 0, what, fix: "gunzip it first".into() });
    }
    let inflated = bytes.len();
    let mut reader = TraceDat::open_archive(file, Box::new(bytes), wanted)?;
    if let Err(error) = read {
        reader.report(format!("the gzip around the archive is damaged or cut after its byte {inflated}: {error}"));
    }
    Ok(reader)
}

/// All unpacked bytes, to be read by position.
pub(crate) fn in_memory(input: &Input) -> Result<Box<dyn ByteSource>, TraceError> {
    const STEP: usize = 1 << 20;
    let mut bytes = Vec::new();
    loop {
        let at = bytes.len();
        bytes.resize(at + STEP, 0);
        let read = input.read(at as u64, &mut bytes[at..])?;
        bytes.truncate(at + read);
        if read == 0 {
            return Ok(Box::new(bytes));
        }
        if bytes.len() as u64 > MAX_INFLATED {
            let what = format!("a packed perf.data of more than {MAX_INFLATED} bytes");
            return Err(input.unsupported(0, what, "unpack it first"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::Drawing;
    use crate::perf_data::written::{BIG, LITTLE, Writer};
    use crate::trace_dat::written::archive;
    use crate::{Event, ProblemKind, Reader};
    use flate2::Compression;
    use std::io::Write;

    const DRAWING: &str = "0 10 . R > A\n1 12 . R > B\n1 16 waking C by B\n0 20 A R+ > C\n1 22 B S > .\n0 33 C S > .\n";

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), Compression::default());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn read(file: Vec<u8>) -> Result<(Vec<Event>, Reader), TraceError> {
        let mut reader = Reader::open("t", Box::new(file), Kinds::ALL)?;
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        while reader.next_batch(&mut batch)? {
            all.extend_from_slice(&batch);
        }
        Ok((all, reader))
    }

    fn unread(reader: &Reader) -> u64 {
        [ProblemKind::SkippedPart, ProblemKind::Truncated, ProblemKind::Lost]
            .map(|kind| reader.problems().count(kind))
            .iter()
            .sum()
    }

    #[test]
    fn what_atrace_compresses_is_read_and_a_cut_is_reported() {
        let line =
            |us: u32| format!("a-1 [000] d..2. 1.{us:06}: sched_waking: comm=x pid={us} prio=120 target_cpu=000\n");
        let text: String = (0..3000).map(line).collect();
        let plain = read(text.clone().into_bytes()).unwrap().0;
        assert_eq!(plain.len(), 3000);
        for head in ["TRACE:\n", "capturing trace... done\r\nTRACE:\r\n"] {
            let whole = [head.as_bytes(), &zlib(text.as_bytes())].concat();
            let (events, reader) = read(whole.clone()).unwrap();
            assert_eq!((events == plain, unread(&reader)), (true, 0));
            for bytes in [1, 3, 5, whole.len() / 2, whole.len() * 3 / 4] {
                let (events, reader) = read(whole[..whole.len() - bytes].to_vec()).unwrap();
                assert!(unread(&reader) > 0 && plain.starts_with(&events), "{bytes} bytes fewer");
            }
        }
        assert_eq!(read([b"TRACE:\n", text.as_bytes()].concat()).unwrap().0, plain);
    }

    #[test]
    fn archives_of_raw_pages_are_read_in_either_byte_order_and_packed() {
        let drawing = Drawing::new(DRAWING);
        let expected = drawing.ordered();
        for writer in [LITTLE, BIG] {
            let tar = archive(writer, &drawing);
            for file in [tar.clone(), gzip(&tar)] {
                let (events, reader) = read(file).unwrap();
                let times = |events: &[Event]| events.iter().map(|e| (e.ts, e.cpu)).collect::<Vec<_>>();
                assert_eq!((times(&events), unread(&reader)), (times(&expected), 0));
                let info = reader.info();
                assert_eq!((info.format, info.clock.as_str()), ("raw pages in a tar", "mono"));
                assert_eq!(reader.problems().all().count(), 0);
            }
        }
    }

    #[test]
    fn every_cut_of_an_archive_is_reported() {
        let tar = archive(LITTLE, &Drawing::new(DRAWING));
        let whole = read(tar.clone()).unwrap().0;
        // Nothing is missing after the first of two empty blocks.
        for at in (1..tar.len() - 512).step_by(37) {
            let Ok((events, reader)) = read(tar[..at].to_vec()) else { continue };
            assert!(unread(&reader) > 0, "cut at {at}: {} of {} events", events.len(), whole.len());
        }
        for at in (0..tar.len()).step_by(11) {
            let mut spoilt = tar.clone();
            spoilt[at] ^= 0x80;
            let _ = read(spoilt);
        }
        let packed = gzip(&tar);
        for at in (1..packed.len()).step_by(7) {
            let Ok((_, reader)) = read(packed[..at].to_vec()) else { continue };
            assert!(unread(&reader) > 0, "gzip cut at {at}");
        }
    }

    #[test]
    fn other_archives_are_refused() {
        let error = |file: Vec<u8>| read(file).err().expect("refused").to_string();
        let mut other = archive(LITTLE, &Drawing::new(DRAWING));
        let at = other.windows(11).position(|w| w == b"header_page").unwrap();
        other[at] = b'H';
        // That header's checksum no longer matches, so nothing after it is believed.
        assert!(
            error(other).contains("a tar without formats/header_page; give an archive as SchedViz's trace.sh makes it")
        );
        let bare = archive(Writer { kinds: &[], ..LITTLE }, &Drawing::new(DRAWING));
        assert!(error(bare).contains("(no format of an event: a tar needs formats/SYSTEM/NAME/format)"));
        assert!(error(gzip(b"Once upon a time")).contains("Once"), "what came out is named");
    }
}
