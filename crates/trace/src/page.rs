//! A page of the kernel's ring buffer, as `trace_pipe_raw` gives it: a time, how much is in it, whether events were lost
//! before it, and records whose times are distances to the one before. Layout: include/linux/ring_buffer.h and
//! kernel/trace/ring_buffer.c; where the fields of the header lie is told by the kernel's `events/header_page`.
//!
//! The decoder is a pure function of bytes: what a page says about itself is checked, never believed.

use crate::event::What;
use crate::fields::{Dictionary, Plan, Refused};
use crate::format::{Field, Format};
use crate::kind::Kind;
use crate::names::Names;
use crate::prev_state::{PrevStates, StateBits};

/// Type of a record: a filler, or an event that was taken back.
const PADDING: u32 = 29;
/// Type of a record: more bits of the time that passed.
const TIME_EXTEND: u32 = 30;
/// Type of a record: the time itself.
const TIME_STAMP: u32 = 31;

/// Bits of a record's first word that are the time passed; an extension begins above them.
const DELTA_BITS: u32 = 27;

/// The top bits of a time, which [`TIME_STAMP`] has no room for.
const STAMP_TOP: u64 = 0xf8 << 56;

/// In the commit field: events were lost before this page.
const MISSED: u64 = 1 << 31;
/// In the commit field: how many, behind the records.
const MISSED_STORED: u64 = 1 << 30;

/// What a page was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Page {
    /// Time at its start, ns of the trace's clock: no record is older.
    pub ts: u64,
    /// Events lost before its first record: `Some(0)` where the kernel did not say how many.
    pub lost: Option<u64>,
    /// Bytes of records in it.
    pub bytes: usize,
    /// Records that became events.
    pub events: u64,
    /// Records of events that nobody asked for, and those that are no event of the model.
    pub unknown: u64,
    /// Records that cannot be what their format says; skipped.
    pub refused: u64,
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// So many events were lost here; 0 where the kernel did not say how many.
    Lost(u64),
    /// An event.
    Event(What),
}

/// A page that is not one, or not up to its end. The events before `at` were handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} of a page: {what}")]
pub struct PageError {
    /// Offset in the page.
    pub at: usize,
    /// What is wrong, and what was expected.
    pub what: &'static str,
}

/// Where the fields of a page's header lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    timestamp_at: usize,
    commit_at: usize,
    commit_bytes: usize,
    data_at: usize,
    data_bytes: usize,
}

/// Longest page: the kernel's sub-buffers have at most 128 pages.
const LONGEST_PAGE: usize = 8 << 20;

impl Layout {
    fn parse(header_page: &str) -> Option<Self> {
        let fields: Vec<Field> = header_page.lines().filter_map(|line| Field::parse(line.trim())).collect();
        let field = |name: &str| fields.iter().find(|f| f.name == name);
        let (timestamp, commit, data) = (field("timestamp")?, field("commit")?, field("data")?);
        let layout = Self {
            timestamp_at: timestamp.offset as usize,
            commit_at: commit.offset as usize,
            commit_bytes: commit.size as usize,
            data_at: data.offset as usize,
            data_bytes: data.size as usize,
        };
        let sane = timestamp.size == 8 && matches!(commit.size, 4 | 8);
        (sane && layout.data_at + layout.data_bytes <= LONGEST_PAGE).then_some(layout)
    }
}

/// Decodes the pages of one kernel.
#[derive(Debug)]
pub struct PageDecoder {
    layout: Layout,
    big_endian: bool,
    /// By `common_type`.
    plans: Vec<Option<Plan>>,
    dictionary: Dictionary,
}

/// Largest number of an event: it has 16 bits.
const MOST_EVENTS: usize = 1 << 16;

impl PageDecoder {
    /// From the kernel's `events/header_page` and the `format` files of the events that are wanted, each with its
    /// system; what is missing is an error in words. Events that the model does not know are an error too: nobody
    /// should record what nothing reads.
    pub fn new(header_page: &str, formats: &[(&str, &str)], big_endian: bool) -> Result<Self, String> {
        let layout = Layout::parse(header_page).ok_or("events/header_page names no timestamp, commit and data")?;
        let mut decoder = Self { layout, big_endian, plans: Vec::new(), dictionary: Dictionary::default() };
        for (system, text) in formats {
            let format = Format::parse(system, text).ok_or_else(|| format!("a format of {system} is none"))?;
            let kind = Kind::of(system, &format.name)
                .ok_or_else(|| format!("{system}:{} is no event that is read here", format.name))?;
            if kind == Kind::SchedSwitch {
                let bits = StateBits::parse(&format.print_fmt).ok_or("sched_switch prints no states")?;
                decoder.dictionary.states = PrevStates::new(bits);
            }
            let plan = Plan::new(kind, &format, big_endian)?;
            let id = usize::from(format.id);
            if decoder.plans.len() <= id {
                decoder.plans.resize_with((id + 1).min(MOST_EVENTS), || None);
            }
            decoder.plans[id] = Some(plan);
        }
        Ok(decoder)
    }

    /// Bytes of a whole page, header included.
    pub fn page_bytes(&self) -> usize {
        self.layout.data_at + self.layout.data_bytes
    }

    /// Whether a page is filled as far as events of ordinary size do: the next one would not have fitted. A reader that
    /// meets one that is not has caught up with the writer.
    pub fn is_full(&self, page: &Page) -> bool {
        const LARGEST_USUAL_EVENT: usize = 256;
        page.bytes + LARGEST_USUAL_EVENT > self.layout.data_bytes
    }

    /// The texts of the names in its events.
    pub fn names(&self) -> &Names {
        &self.dictionary.names
    }

    /// The letters of the states in its events.
    pub fn states(&self) -> &PrevStates {
        &self.dictionary.states
    }

    /// Events that a page can hold at most.
    pub fn most_events(&self) -> usize {
        // Four bytes of a record, eight of the fields that every event has.
        self.layout.data_bytes / 12 + 1
    }

    /// Decodes a page: what is in it with its time, in order. A loss comes first, at the time of the page.
    pub fn decode(&mut self, page: &[u8], mut each: impl FnMut(u64, Item)) -> Result<Page, PageError> {
        let (mut found, data) = self.header(page)?;
        if let Some(events) = found.lost {
            each(found.ts, Item::Lost(events));
        }
        let (mut at, mut ts) = (0, found.ts);
        while at < data.len() {
            let record = self.record(data, at, &mut ts);
            let record = record.map_err(|what| PageError { at: self.layout.data_at + at, what })?;
            at = record.end;
            let Some(raw) = record.raw else { continue };
            match self.event(raw) {
                Ok(what) => {
                    found.events += 1;
                    each(ts, Item::Event(what));
                }
                Err(None | Some(Refused::NoWakeup)) => found.unknown += 1,
                Err(Some(_)) => found.refused += 1,
            }
        }
        Ok(found)
    }

    fn header<'a>(&self, page: &'a [u8]) -> Result<(Page, &'a [u8]), PageError> {
        let layout = &self.layout;
        let short = |at| PageError { at, what: "the page ends in its header" };
        let ts = self.number(page, layout.timestamp_at, 8).ok_or(short(layout.timestamp_at))?;
        let commit = self.number(page, layout.commit_at, layout.commit_bytes).ok_or(short(layout.commit_at))?;
        let bytes = (commit & (MISSED_STORED - 1)) as usize;
        let data = page.get(layout.data_at..).unwrap_or(&[]);
        let Some(records) = data.get(..bytes).filter(|_| bytes <= layout.data_bytes) else {
            return Err(PageError { at: layout.commit_at, what: "more bytes are committed than the page has" });
        };
        let lost = (commit & MISSED != 0).then(|| {
            let stored = commit & MISSED_STORED != 0;
            let count = stored.then(|| self.number(data, bytes, layout.commit_bytes)).flatten();
            count.unwrap_or(0)
        });
        Ok((Page { ts, lost, bytes, ..Page::default() }, records))
    }

    /// One record; `ts` moves on by what it says.
    #[inline]
    fn record<'a>(&self, data: &'a [u8], at: usize, ts: &mut u64) -> Result<Record<'a>, &'static str> {
        let first = self.word(data, at).ok_or("the records end inside one")?;
        let (kind, delta) = if self.big_endian {
            (first >> DELTA_BITS, first & ((1 << DELTA_BITS) - 1))
        } else {
            (first & 0x1f, first >> 5)
        };
        let second = || self.word(data, at + 4).ok_or("the records end inside one");
        let ends = |end: usize| if end <= data.len() { Ok(end) } else { Err("a record reaches beyond the records") };
        match kind {
            TIME_STAMP => {
                *ts = absolute(u64::from(second()?) << DELTA_BITS | u64::from(delta), *ts);
                Ok(Record { raw: None, end: at + 8 })
            }
            TIME_EXTEND => {
                *ts = ts.wrapping_add(u64::from(second()?) << DELTA_BITS | u64::from(delta));
                Ok(Record { raw: None, end: at + 8 })
            }
            // Nothing behind it on this page.
            PADDING if delta == 0 => Ok(Record { raw: None, end: data.len() }),
            PADDING => {
                *ts = ts.wrapping_add(u64::from(delta));
                Ok(Record { raw: None, end: ends(at + 4 + second()? as usize)? })
            }
            0 => {
                *ts = ts.wrapping_add(u64::from(delta));
                let bytes = second()? as usize;
                if bytes < 4 {
                    return Err("a record of a length that does not hold its own length");
                }
                let end = ends(at.saturating_add(4).saturating_add(bytes.next_multiple_of(4)))?;
                Ok(Record { raw: Some(&data[at + 8..end]), end })
            }
            words => {
                *ts = ts.wrapping_add(u64::from(delta));
                let end = ends(at + 4 + words as usize * 4)?;
                Ok(Record { raw: Some(&data[at + 4..end]), end })
            }
        }
    }

    /// The event of a record; `None` where nobody asked for it.
    #[inline]
    fn event(&mut self, raw: &[u8]) -> Result<What, Option<Refused>> {
        let Some(number) = raw.get(..2).and_then(|b| b.try_into().ok()) else { return Err(Some(Refused::Short)) };
        let id = if self.big_endian { u16::from_be_bytes(number) } else { u16::from_le_bytes(number) };
        let plan = self.plans.get(usize::from(id)).and_then(Option::as_ref).ok_or(None)?;
        plan.decode(raw, &mut self.dictionary).map_err(Some)
    }

    #[inline]
    fn word(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// A number of 4 or 8 bytes.
    fn number(&self, bytes: &[u8], at: usize, size: usize) -> Option<u64> {
        if size == 4 {
            return self.word(bytes, at).map(u64::from);
        }
        let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
        Some(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }
}

struct Record<'a> {
    /// What the event is made of; `None` of a record that only moves the time.
    raw: Option<&'a [u8]>,
    end: usize,
}

/// An absolute time has 59 bits: the top ones are those of the time before, plus one where the rest went round.
fn absolute(stamp: u64, before: u64) -> u64 {
    let whole = stamp | before & STAMP_TOP;
    if whole < before && before - whole > 1 << 58 { whole.wrapping_add(1 << 59) } else { whole }
}

#[cfg(test)]
mod tests;
