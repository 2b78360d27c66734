//! Pages of a live ring buffer, as `trace_pipe_raw` gives them, into events. What a page is made of is in
//! [`crate::trace_dat::page`]; here are the layouts of one kernel's events, and what its records become.
//!
//! The decoder is a pure function of bytes: what a page says about itself is checked, never believed.

use crate::event::What;
use crate::fields::{Dictionary, Plan, Refused};
use crate::format::{Field, Format};
use crate::kind::Kind;
use crate::names::Names;
use crate::prev_state::{PrevStates, StateBits};
use crate::trace_dat::page::PageFormat;

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

/// Longest page: the kernel's sub-buffers have at most 128 pages.
const LONGEST_PAGE: usize = 8 << 20;

/// Decodes the pages of one kernel.
#[derive(Debug)]
pub struct PageDecoder {
    format: PageFormat,
    big_endian: bool,
    /// Where the records of a page begin, and how many bytes there is room for.
    data_at: usize,
    data_bytes: usize,
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
        let mut fields = header_page.lines().filter_map(|line| Field::parse(line.trim()));
        let data = fields.find(|f| f.name == "data").filter(|f| ((f.offset + f.size) as usize) < LONGEST_PAGE);
        let data = data.ok_or("events/header_page names no data")?;
        let mut decoder = Self {
            // The size of a long goes without saying: the header page tells that of its commit field.
            format: PageFormat::new(header_page, 8, big_endian),
            big_endian,
            data_at: data.offset as usize,
            data_bytes: data.size as usize,
            plans: Vec::new(),
            dictionary: Dictionary::default(),
        };
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
        self.data_at + self.data_bytes
    }

    /// Whether a page is filled as far as events of ordinary size do: the next one would not have fitted. A reader that
    /// meets one that is not has caught up with the writer.
    pub fn is_full(&self, page: &Page) -> bool {
        const LARGEST_USUAL_EVENT: usize = 256;
        page.bytes + LARGEST_USUAL_EVENT > self.data_bytes
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
        self.data_bytes / 12 + 1
    }

    /// Decodes a page: what is in it with its time, in order. A loss comes first, at the time of the page.
    pub fn decode(&mut self, page: &[u8], mut each: impl FnMut(u64, Item)) -> Result<Page, PageError> {
        let what = "its header is cut, or more is committed than the page has";
        let opened = self.format.open(page).filter(|opened| opened.bytes() <= self.data_bytes);
        let opened = opened.ok_or(PageError { at: 0, what })?;
        let mut found = Page { ts: opened.ts, lost: opened.missed, bytes: opened.bytes(), ..Page::default() };
        if let Some(events) = found.lost {
            each(found.ts, Item::Lost(events));
        }
        let mut records = opened.records();
        let mut at = 0;
        while let Some((ts, raw)) = records.next() {
            at = found.bytes - records.left();
            match self.event(raw) {
                Ok(what) => {
                    found.events += 1;
                    each(ts, Item::Event(what));
                }
                Err(None | Some(Refused::NoWakeup)) => found.unknown += 1,
                Err(Some(_)) => found.refused += 1,
            }
        }
        let what = "behind this record is one that cannot be";
        if records.broken { Err(PageError { at: self.data_at + at, what }) } else { Ok(found) }
    }

    /// The event of a record; `None` where nobody asked for it.
    #[inline]
    fn event(&mut self, raw: &[u8]) -> Result<What, Option<Refused>> {
        let Some(number) = raw.get(..2).and_then(|b| b.try_into().ok()) else { return Err(Some(Refused::Short)) };
        let id = if self.big_endian { u16::from_be_bytes(number) } else { u16::from_le_bytes(number) };
        let plan = self.plans.get(usize::from(id)).and_then(Option::as_ref).ok_or(None)?;
        plan.decode(raw, &mut self.dictionary).map_err(Some)
    }
}

#[cfg(test)]
mod tests;
