//! Traces inside something else: what `atrace -z` prints, and archives packed with gzip.

use crate::bytes::{ByteSource, Forward, Onward};
use crate::error::TraceError;
use crate::kind::Kinds;
use crate::text::Text;
use crate::trace_dat::{TraceDat, archive};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use std::io::Read;

/// An archive is inflated into memory, since its CPUs are read side by side: 64 CPUs with SchedViz's usual 4 MB.
const MOST_INFLATED: u64 = 256 << 20;

/// Where the zlib stream of `atrace -z` begins: behind the line `TRACE:`, which others may precede.
pub(crate) fn atrace(head: &[u8]) -> Option<u64> {
    let line = head.split_inclusive(|b| *b == b'\n').scan(0, |end, line| {
        *end += line.len();
        Some((*end, line))
    });
    let at = line.filter(|(_, line)| line.trim_ascii_end() == b"TRACE:").map(|(end, _)| end).next()?;
    // Deflate with a window of 32 kB, and a check of the first two bytes (RFC 1950).
    let is_zlib = matches!(head[at..], [0x78, flags, ..] if (0x7800 | u16::from(flags)) % 31 == 0);
    is_zlib.then_some(at as u64)
}

/// Text behind `at`, inflated as it is read. Damage in it is an error where it is met.
pub(crate) fn open_atrace(file: &str, source: Box<dyn ByteSource>, at: u64, wanted: Kinds) -> Text {
    let inflated = Forward::new(ZlibDecoder::new(Onward { source, at }));
    Text::open(file, Box::new(inflated), wanted)
}

/// Whether a gzip begins with a tar.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    let mut block = Vec::new();
    // What fits the first bytes of the file is enough of it; that they end early is no error here.
    let _ = MultiGzDecoder::new(head).take(512).read_to_end(&mut block);
    archive::recognise(&block)
}

/// The archive inside a gzip.
pub(crate) fn open_archive(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Result<TraceDat, TraceError> {
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(Onward { source, at: 0 }).take(MOST_INFLATED + 1).read_to_end(&mut bytes);
    if bytes.len() as u64 > MOST_INFLATED {
        let (file, what) = (file.to_owned(), format!("an archive of more than {MOST_INFLATED} bytes in gzip"));
        return Err(TraceError::Unsupported { file, offset: 0, what, mend: "gunzip it first".into() });
    }
    let inflated = bytes.len();
    let mut reader = TraceDat::open_archive(file, Box::new(bytes), wanted)?;
    if let Err(error) = read {
        reader.tell(format!("the gzip around the archive is damaged or cut behind its byte {inflated}: {error}"));
    }
    Ok(reader)
}
