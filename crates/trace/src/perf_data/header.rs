//! The header of a perf.data file: which events, where the records are, and the feature sections after them.

use super::attr::Attr;
use crate::TraceError;
use crate::bytes::{Cursor, Input};
use crate::kind::Kind;
use crate::tracing_data::TracingData;

/// "PERFILE2", as a number in the byte order of the machine that wrote it.
pub(crate) const MAGIC: [u8; 8] = *b"PERFILE2";
const MAGIC_SWAPPED: [u8; 8] = *b"2ELIFREP";

/// Size of the header in a pipe: magic and size, nothing else.
const PIPE_HEADER: u64 = 16;

/// Whether a file with these first bytes is perf.data, in either byte order.
pub(crate) fn recognise(head: &[u8]) -> bool {
    let mut swapped = MAGIC;
    swapped.reverse();
    head.starts_with(&MAGIC) || head.starts_with(&swapped)
}

/// Whether data with these first bytes is what perf writes into a pipe.
pub(crate) fn is_stream(head: &[u8]) -> bool {
    let size = head.get(8..16).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    size == PIPE_HEADER || size == PIPE_HEADER.swap_bytes()
}

/// Most events, and most ids of events, that are read: thousands of CPUs times hundreds of events.
const MAX_ATTRS: u64 = 4096;
const MAX_IDS: u64 = 1 << 22;

/// Numbers of the features that are used.
pub(crate) mod feature {
    pub(crate) const TRACING_DATA: usize = 1;
    pub(crate) const HOSTNAME: usize = 3;
    pub(crate) const OSRELEASE: usize = 4;
    pub(crate) const VERSION: usize = 5;
    pub(crate) const ARCH: usize = 6;
    pub(crate) const NRCPUS: usize = 7;
    pub(crate) const CMDLINE: usize = 11;
}

/// The file's metadata, before and after its records.
#[derive(Debug, Default)]
pub(crate) struct Header {
    pub(crate) big_endian: bool,
    /// Records begin at once and contain the metadata; nothing follows them.
    pub(crate) is_pipe: bool,
    pub(crate) attrs: Vec<Attr>,
    /// The records.
    pub(crate) data: (u64, u64),
    pub(crate) tracing: Option<TracingData>,
    pub(crate) about: About,
    /// A sentence for each section that could not be read.
    pub(crate) skipped: Vec<String>,
}

/// Machine, recorder and command line.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) hostname: String,
    pub(crate) release: String,
    pub(crate) perf_version: String,
    pub(crate) arch: String,
    pub(crate) cpus: Option<u32>,
    pub(crate) cmdline: String,
}

impl Header {
    /// Reads everything but the records.
    pub(crate) fn read(input: &Input) -> Result<Self, TraceError> {
        let size = input.source.size().unwrap_or(u64::MAX);
        let mut cursor = Cursor::new(input, 0, size, false);
        let magic = cursor.take(8, "the magic of perf.data")?;
        let big_endian = magic != MAGIC;
        if big_endian && magic != MAGIC_SWAPPED {
            let found = crate::error::begins(magic);
            return Err(input.malformed(0, found, "PERFILE2, the magic of perf.data since 2009"));
        }
        cursor.big_endian = big_endian;
        let header_size = cursor.u64("the size of the header")?;
        let mut header = Self { big_endian, ..Self::default() };
        if header_size == PIPE_HEADER {
            header.is_pipe = true;
            header.data = (PIPE_HEADER, size);
            return Ok(header);
        }
        if header_size != 104 {
            let found = format!("a header of {header_size} bytes");
            return Err(input.malformed(8, found, "104 bytes (a file) or 16 (a pipe)"));
        }
        if input.source.size().is_none() {
            return Err(input.unsupported(
                0,
                "a perf.data file comes through a pipe",
                "give the file itself, or record with `perf record -o -`",
            ));
        }
        let attr_size = cursor.u64("the size of an event's entry")?;
        let attrs = section(&mut cursor, "the events")?;
        header.data = section(&mut cursor, "the records")?;
        section(&mut cursor, "the event types")?;
        let mut bits = [0; 4];
        for word in &mut bits {
            *word = cursor.u64("the list of features")?;
        }
        // The list is an array of C longs: on a 32-bit machine of this byte order the halves are swapped. Like perf,
        // this recognises them by a feature that every recording has.
        let has_hostname = |word: u64| word & 1 << feature::HOSTNAME != 0;
        if big_endian && !has_hostname(bits[0]) && has_hostname(bits[0].rotate_left(32)) {
            bits = bits.map(|word| word.rotate_left(32));
        }
        header.read_attrs(input, attr_size, attrs)?;
        // If the recording was killed, it has no size here, and no features after its records.
        if header.data.1 > header.data.0 {
            header.read_features(input, size, bits)?;
        }
        Ok(header)
    }

    fn read_attrs(&mut self, input: &Input, attr_size: u64, section: (u64, u64)) -> Result<(), TraceError> {
        let (at, end) = section;
        if !(80..=4096).contains(&attr_size) || (end - at) % attr_size != 0 || (end - at) / attr_size > MAX_ATTRS {
            let found = format!("{} bytes of events, {attr_size} bytes each", end - at);
            return Err(input.malformed(16, found, format!("at most {MAX_ATTRS} events of 80 to 4096 bytes each")));
        }
        let mut ids_read = 0;
        for entry in (at..end).step_by(attr_size as usize) {
            let mut cursor = Cursor::new(input, entry, end, self.big_endian);
            let mut attr = Attr::read(&mut cursor, attr_size - 16)?;
            let mut cursor = Cursor::new(input, entry + attr_size - 16, end, self.big_endian);
            let offset = cursor.at;
            let (from, bytes) = (cursor.u64("the place of an event's ids")?, cursor.u64("the size of an event's ids")?);
            ids_read += bytes / 8;
            if bytes % 8 != 0 || ids_read > MAX_IDS || from.checked_add(bytes).is_none() {
                return Err(input.malformed(offset, format!("{bytes} bytes of ids"), "8 bytes for each id"));
            }
            let mut ids = Cursor::new(input, from, from + bytes, self.big_endian);
            for _ in 0..bytes / 8 {
                attr.ids.push(ids.u64("the id of an event")?);
            }
            self.attrs.push(attr);
        }
        Ok(())
    }

    /// Reads the sections after the records. A section that cannot be read is reported; without the formats nothing can
    /// be decoded.
    fn read_features(&mut self, input: &Input, size: u64, bits: [u64; 4]) -> Result<(), TraceError> {
        let (_, data_end) = self.data;
        if data_end > size {
            let found = format!("the file has {size} bytes; its records should end at byte {data_end}");
            let expected = "the formats of its events after them: the file is truncated, or still being written";
            return Err(input.malformed(40, found, expected));
        }
        let mut table = Cursor::new(input, data_end, size, self.big_endian);
        let set = (0..256).filter(|n| bits[n / 64] & 1 << (n % 64) != 0);
        let mut file_end = data_end;
        for number in set {
            let (at, end) = section(&mut table, "a feature section")?;
            file_end = file_end.max(table.at).max(end);
            let mut cursor = Cursor::new(input, at, end.min(size), self.big_endian);
            match self.read_feature(number, &mut cursor) {
                Err(error) if number == feature::TRACING_DATA => return Err(error),
                Err(error) => self.skipped.push(format!("feature {number}: {error}")),
                Ok(()) => {}
            }
        }
        if Cursor::new(input, file_end, size, self.big_endian).take(8, "a magic").is_ok_and(recognise) {
            self.skipped.push(format!(
                "byte {file_end}: a second perf.data file begins here and was not read: give each file by itself"
            ));
        }
        Ok(())
    }

    /// Reads one section; sections that are not used are skipped.
    pub(crate) fn read_feature(&mut self, number: usize, cursor: &mut Cursor<'_>) -> Result<(), TraceError> {
        let about = &mut self.about;
        match number {
            feature::TRACING_DATA => self.tracing = Some(read_tracing(cursor)?),
            feature::HOSTNAME => about.hostname = text(cursor)?,
            feature::OSRELEASE => about.release = text(cursor)?,
            feature::VERSION => about.perf_version = text(cursor)?,
            feature::ARCH => about.arch = text(cursor)?,
            feature::NRCPUS => {
                cursor.skip(4, "the number of available CPUs")?;
                about.cpus = Some(cursor.u32("the number of online CPUs")?);
            }
            feature::CMDLINE => {
                let words = cursor.u32("the number of words of the command line")?;
                let words: Result<Vec<String>, _> = (0..words.min(1000)).map(|_| text(cursor)).collect();
                about.cmdline = words?.join(" ");
            }
            _ => {}
        }
        Ok(())
    }
}

/// The formats of the events.
pub(crate) fn read_tracing(cursor: &mut Cursor<'_>) -> Result<TracingData, TraceError> {
    let big_endian = cursor.big_endian;
    let mut tracing = TracingData::begin(cursor)?;
    tracing.headers(cursor)?;
    tracing.formats(cursor, |system, name| Kind::of(system, name).is_some())?;
    cursor.big_endian = big_endian;
    Ok(tracing)
}

/// Start and end of a section.
fn section(cursor: &mut Cursor<'_>, what: &str) -> Result<(u64, u64), TraceError> {
    let at = cursor.at;
    let (offset, size) = (cursor.u64(what)?, cursor.u64(what)?);
    match offset.checked_add(size) {
        Some(end) => Ok((offset, end)),
        None => Err(cursor.input.malformed(at, format!("{what}: {size} bytes at {offset}"), "a section of the file")),
    }
}

/// A string, preceded by its padded length.
fn text(cursor: &mut Cursor<'_>) -> Result<String, TraceError> {
    let bytes = cursor.u32("the length of a string")?;
    let bytes = cursor.take(u64::from(bytes.min(1 << 16)), "a string")?;
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    Ok(text.chars().map(|c| if c.is_control() { '?' } else { c }).collect())
}
