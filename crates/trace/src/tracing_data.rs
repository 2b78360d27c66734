//! What `trace-cmd` and `perf` copy from tracefs before the events: byte order, page layout, event formats. It is a
//! section of perf.data and the first part of trace.dat 6, with the same encoding.

use crate::TraceError;
use crate::bytes::Cursor;
use crate::format::Format;

/// `17 08 44 "tracing"`.
pub(crate) const MAGIC: [u8; 10] = *b"\x17\x08\x44tracing";

/// Most formats, and most systems, that are read; kernels have some 2500 events in 150 systems.
const MAX_FORMATS: u32 = 100_000;

/// Longest text of one format.
const LONGEST_FORMAT: u64 = 1 << 20;

/// The kernel that traced, as described by its own tracefs.
#[derive(Debug, Default)]
pub(crate) struct TracingData {
    /// As in `6` or `0.6`.
    pub(crate) version: String,
    pub(crate) big_endian: bool,
    /// Bytes of a C `long`.
    pub(crate) long_size: u8,
    /// Size of a page of the ring buffer, in bytes.
    pub(crate) page_size: u32,
    /// The layout of a page's header; unlike an event it has no number.
    pub(crate) header_page: String,
    pub(crate) formats: Vec<Format>,
}

impl TracingData {
    /// Reads the magic and version, up to the page size.
    pub(crate) fn begin(cursor: &mut Cursor<'_>) -> Result<Self, TraceError> {
        let at = cursor.at;
        let magic = cursor.take(MAGIC.len() as u64, "the magic of tracing data")?;
        if magic != MAGIC {
            let found = crate::error::begins(magic);
            return Err(cursor.input.malformed(at, found, "17 08 44 and `tracing`, the start of tracing data"));
        }
        let version = cursor.string(16, "the version of the tracing data")?;
        let big_endian = cursor.u8("the byte order")? != 0;
        let long_size = cursor.u8("the size of a long")?;
        if !matches!(long_size, 4 | 8) {
            return Err(cursor.input.malformed(cursor.at - 1, format!("a long of {long_size} bytes"), "4 or 8"));
        }
        cursor.big_endian = big_endian;
        let page_size = cursor.u32("the page size")?;
        Ok(Self { version, big_endian, long_size, page_size, ..Self::default() })
    }

    /// Reads `header_page` and `header_event`, each with its name and length.
    pub(crate) fn headers(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TraceError> {
        for name in ["header_page", "header_event"] {
            let at = cursor.at;
            let found = cursor.string(32, name)?;
            if found != name {
                return Err(cursor.input.malformed(at, format!("`{}`", found.escape_debug()), format!("`{name}`")));
            }
            let size = self.size(cursor, name)?;
            let text = cursor.take(size, name)?;
            if name == "header_page" {
                self.header_page = String::from_utf8_lossy(text).into_owned();
            }
        }
        Ok(())
    }

    /// Reads the formats of ftrace's own events and of each system's. `wanted` selects those that are kept completely;
    /// for the others, only name and number are.
    pub(crate) fn formats(
        &mut self,
        cursor: &mut Cursor<'_>,
        wanted: impl Fn(&str, &str) -> bool,
    ) -> Result<(), TraceError> {
        self.ftrace_formats(cursor, &wanted)?;
        self.event_formats(cursor, &wanted)
    }

    pub(crate) fn ftrace_formats(
        &mut self,
        cursor: &mut Cursor<'_>,
        wanted: &impl Fn(&str, &str) -> bool,
    ) -> Result<(), TraceError> {
        let own = self.count(cursor, "the number of ftrace's formats")?;
        self.system(cursor, "ftrace", own, wanted)
    }

    pub(crate) fn event_formats(
        &mut self,
        cursor: &mut Cursor<'_>,
        wanted: &impl Fn(&str, &str) -> bool,
    ) -> Result<(), TraceError> {
        for _ in 0..self.count(cursor, "the number of event systems")? {
            let system = cursor.string(256, "the name of an event system")?;
            let count = self.count(cursor, "the number of a system's formats")?;
            self.system(cursor, &system, count, wanted)?;
        }
        Ok(())
    }

    fn system(
        &mut self,
        cursor: &mut Cursor<'_>,
        system: &str,
        count: u32,
        wanted: &impl Fn(&str, &str) -> bool,
    ) -> Result<(), TraceError> {
        for _ in 0..count {
            let size = self.size(cursor, "the format of an event")?;
            let at = cursor.at;
            let text = String::from_utf8_lossy(cursor.take(size, "the format of an event")?).into_owned();
            let Some(format) = Format::parse(system, &text) else {
                let first = text.lines().next().unwrap_or_default().chars().take(40).collect::<String>();
                let found = format!("`{}`", first.escape_debug());
                return Err(cursor.input.malformed(at, found, "an event format: name, ID and fields"));
            };
            // For the others only the name is needed.
            let whole = wanted(system, &format.name);
            if let Some(zero) = text.trim_end_matches('\0').find('\0').filter(|_| whole) {
                let found = format!("a zero byte in the format of {}", format.name);
                return Err(cursor.input.malformed(at + zero as u64, found, "text"));
            }
            let (fields, print_fmt) = if whole { (format.fields, format.print_fmt) } else { Default::default() };
            self.formats.push(Format { fields, print_fmt, ..format });
        }
        Ok(())
    }

    fn size(&self, cursor: &mut Cursor<'_>, what: &str) -> Result<u64, TraceError> {
        let at = cursor.at;
        let size = cursor.u64("a size")?;
        if size > LONGEST_FORMAT {
            let found = format!("{size} bytes of {what}");
            return Err(cursor.input.malformed(at, found, format!("at most {LONGEST_FORMAT}")));
        }
        Ok(size)
    }

    fn count(&self, cursor: &mut Cursor<'_>, what: &str) -> Result<u32, TraceError> {
        let at = cursor.at;
        let count = cursor.u32(what)?;
        if count > MAX_FORMATS {
            return Err(cursor.input.malformed(at, format!("{what} is {count}"), format!("at most {MAX_FORMATS}")));
        }
        Ok(count)
    }
}
