//! The layout of a page of the kernel's ring buffer: a time, the amount of data, whether events were lost before it,
//! and records whose times are relative to the previous record. Layout: include/linux/ring_buffer.h and
//! kernel/trace/ring_buffer.c; the kernel's `events/header_page` describes where the header's fields are.
//!
//! Pure functions of bytes: what a page claims about itself is checked and never relied on.

use crate::format::Field;

/// Type of a record: padding, or a discarded event.
pub(super) const PADDING: u32 = 29;
/// Type of a record: more bits of the elapsed time.
pub(super) const TIME_EXTEND: u32 = 30;
/// Type of a record: an absolute time.
pub(super) const TIME_STAMP: u32 = 31;

/// Bits of a record's first word that hold the elapsed time; an extension starts above them.
const DELTA_BITS: u32 = 27;

/// The top bits of a time, which do not fit into [`TIME_STAMP`].
const STAMP_TOP: u64 = 0xf8 << 56;

/// In the commit field: events were lost before this page.
pub(super) const MISSED: u64 = 1 << 31;
/// In the commit field: the number of lost events is stored after the records.
pub(super) const MISSED_STORED: u64 = 1 << 30;

/// Bytes that are not a page, or a page that is damaged in the middle. The events before `at` were handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} of a page: {what}")]
pub struct PageError {
    /// Offset in the page.
    pub at: usize,
    /// What is wrong, and what was expected.
    pub what: &'static str,
}

/// Where the parts of a page are, for the kernel that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageFormat {
    timestamp_at: usize,
    commit_at: usize,
    commit_bytes: usize,
    pub(super) data_at: usize,
    /// 0 if the kernel does not report it.
    pub(super) data_bytes: usize,
    pub(super) big_endian: bool,
}

/// A page that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenPage<'a> {
    /// The time to which the first record is relative.
    pub(crate) ts: u64,
    /// Records before this page are missing: this many, or 0 if the kernel did not say how many.
    pub(crate) missed: Option<u64>,
    /// The records.
    pub(crate) data: &'a [u8],
    data_at: usize,
    big_endian: bool,
}

/// Longest page: the kernel's sub-buffers have at most 128 pages.
const LONGEST_PAGE: usize = 8 << 20;

impl PageFormat {
    /// From `events/header_page`.
    pub(crate) fn parse(header_page: &str, big_endian: bool) -> Option<Self> {
        let fields: Vec<Field> = header_page.lines().filter_map(|line| Field::parse(line.trim())).collect();
        let field = |name: &str| fields.iter().find(|f| f.name == name);
        let (timestamp, commit, data) = (field("timestamp")?, field("commit")?, field("data")?);
        let format = Self {
            timestamp_at: timestamp.offset as usize,
            commit_at: commit.offset as usize,
            commit_bytes: commit.size as usize,
            data_at: data.offset as usize,
            data_bytes: data.size as usize,
            big_endian,
        };
        let sane = timestamp.size == 8 && matches!(commit.size, 4 | 8);
        (sane && format.data_at + format.data_bytes <= LONGEST_PAGE).then_some(format)
    }

    /// The layout for a kernel with longs of this size, if it reports nothing more.
    pub(crate) fn of_long(bytes: u8, big_endian: bool) -> Self {
        let commit_bytes = if bytes == 4 { 4 } else { 8 };
        Self { timestamp_at: 0, commit_at: 8, commit_bytes, data_at: 8 + commit_bytes, data_bytes: 0, big_endian }
    }

    /// Bytes of a whole page, header included, if the kernel reports it.
    pub(crate) fn page_bytes(&self) -> usize {
        self.data_at + self.data_bytes
    }

    /// The same layout with this byte order.
    pub(crate) fn in_order(self, big_endian: bool) -> Self {
        Self { big_endian, ..self }
    }

    /// Opens a page.
    pub(crate) fn open<'a>(&self, page: &'a [u8]) -> Result<OpenPage<'a>, PageError> {
        let Self { timestamp_at, commit_at, commit_bytes, data_at, big_endian, .. } = *self;
        let short = |at| PageError { at, what: "the page ends in its header" };
        let ts = number(page, timestamp_at, 8, big_endian).ok_or(short(timestamp_at))?;
        let commit = number(page, commit_at, commit_bytes, big_endian).ok_or(short(commit_at))?;
        let bytes = (commit & (MISSED_STORED - 1)) as usize;
        let after = page.get(data_at..).unwrap_or(&[]);
        let Some(data) = after.get(..bytes) else {
            return Err(PageError { at: commit_at, what: "more bytes are committed than the page has" });
        };
        let missed = (commit & MISSED != 0).then(|| {
            let stored = commit & MISSED_STORED != 0;
            let count = stored.then(|| number(after, bytes, commit_bytes, big_endian)).flatten();
            count.unwrap_or(0)
        });
        Ok(OpenPage { ts, missed, data, data_at, big_endian })
    }
}

impl<'a> OpenPage<'a> {
    /// Whether any data was committed to it.
    pub(crate) fn has_records(&self) -> bool {
        !self.data.is_empty()
    }

    /// The records in order.
    pub(crate) fn records(&self) -> Records<'a> {
        let Self { ts, data, data_at, big_endian, .. } = *self;
        Records { ts, data, at: 0, data_at, big_endian, broken: None }
    }
}

/// The records of a page that contain an event, each with its time.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    ts: u64,
    data: &'a [u8],
    at: usize,
    data_at: usize,
    big_endian: bool,
    /// Why the page could not be decoded to its end.
    pub(crate) broken: Option<PageError>,
}

impl<'a> Iterator for Records<'a> {
    type Item = (u64, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.data.len() {
            match self.step() {
                Ok(Some(raw)) => return Some((self.ts, raw)),
                Ok(None) => {}
                Err(what) => {
                    self.broken = Some(PageError { at: self.data_at + self.at, what });
                    self.at = self.data.len();
                }
            }
        }
        None
    }
}

impl<'a> Records<'a> {
    /// One record; `None` if it only advances the time.
    #[inline]
    fn step(&mut self) -> Result<Option<&'a [u8]>, &'static str> {
        let (at, data) = (self.at, self.data);
        let first = self.word(at).ok_or("the records end inside one")?;
        let (kind, delta) = if self.big_endian {
            (first >> DELTA_BITS, first & ((1 << DELTA_BITS) - 1))
        } else {
            (first & 0x1f, first >> 5)
        };
        let second = || self.word(at + 4).ok_or("the records end inside one");
        let beyond = "a record reaches beyond the records";
        // The time advances with every record, except those that define it otherwise.
        let passed = self.ts.wrapping_add(u64::from(delta));
        (self.at, self.ts) = match kind {
            TIME_STAMP => (at + 8, absolute(u64::from(second()?) << DELTA_BITS | u64::from(delta), self.ts)),
            TIME_EXTEND => (at + 8, self.ts.wrapping_add(u64::from(second()?) << DELTA_BITS | u64::from(delta))),
            // Nothing follows it on this page.
            PADDING if delta == 0 => (data.len(), self.ts),
            PADDING => {
                let end = (at + 4).saturating_add(second()? as usize);
                if end > data.len() {
                    return Err(beyond);
                }
                (end, passed)
            }
            // A length of more than 112 bytes is stored in a word of its own, which the length includes.
            0 => {
                let Some(bytes) = second()?.checked_sub(4) else {
                    return Err("a record of a length that does not hold its own length");
                };
                let end = (at + 8).saturating_add(bytes as usize);
                let raw = data.get(at + 8..end).ok_or(beyond)?;
                (self.at, self.ts) = (end.next_multiple_of(4), passed);
                return Ok(Some(raw));
            }
            words => {
                let end = at + 4 + words as usize * 4;
                let raw = data.get(at + 4..end).ok_or(beyond)?;
                (self.at, self.ts) = (end, passed);
                return Ok(Some(raw));
            }
        };
        Ok(None)
    }

    #[inline]
    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.data.get(at..at + 4)?.try_into().ok()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }
}

/// A number with this many bytes.
pub(super) fn number(bytes: &[u8], at: usize, size: usize, big_endian: bool) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    let push = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    Some(if big_endian { bytes.iter().fold(0, push) } else { bytes.iter().rev().fold(0, push) })
}

/// An absolute time has 59 bits: the top bits are those of the previous time, plus one if the rest wrapped around.
fn absolute(stamp: u64, before: u64) -> u64 {
    let whole = stamp | before & STAMP_TOP;
    if whole < before && before - whole > 1 << 58 { whole.wrapping_add(1 << 59) } else { whole }
}

#[cfg(test)]
mod tests;
