//! Pages of the kernel's ring buffer, as `trace_pipe_raw` gives them, into events. The decoder is a pure function of bytes:
//! what a page says about itself is checked, never believed.

mod records;

use crate::event::What;
use crate::fields::{Dictionary, Plan, Refused};
use crate::format::Format;
use crate::kind::Kind;
use crate::names::Names;
use crate::prev_state::{PrevStates, StateBits};
use crate::recording::BlockWriter;
pub use records::PageError;
pub(crate) use records::PageFormat;

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
    /// Records of events that were not asked for, and those that are no event of the model.
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

/// Decodes the pages of one kernel, and the same records if they come from a ring of perf
/// ([`PageDecoder::decode_ring_into`]).
#[derive(Debug)]
pub struct PageDecoder {
    format: PageFormat,
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
        let format = PageFormat::parse(header_page, big_endian)
            .ok_or("events/header_page names no timestamp, commit and data")?;
        let mut decoder = Self { format, plans: Vec::new(), dictionary: Dictionary::default() };
        for (system, text) in formats {
            let format = Format::parse(system, text).ok_or_else(|| format!("a format of {system} is none"))?;
            let kind = Kind::of(system, &format.name)
                .ok_or_else(|| format!("{system}:{} is not an event that is read here", format.name))?;
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
        self.format.page_bytes()
    }

    /// Whether this many bytes of records fill a page as far as events of ordinary size do: the next one would not have
    /// fitted. A reader that meets a page that is not full has caught up with the writer.
    pub fn is_full(&self, bytes: usize) -> bool {
        const LARGEST_USUAL_EVENT: usize = 256;
        bytes + LARGEST_USUAL_EVENT > self.format.data_bytes
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
        self.format.data_bytes / 12 + 1
    }

    /// Decodes a page: what is in it with its time, in order. A loss comes first, at the time of the page.
    pub fn decode(&mut self, page: &[u8], mut each: impl FnMut(u64, Item)) -> Result<Page, PageError> {
        let opened = self.format.open(page)?;
        let mut found = Page { ts: opened.ts, lost: opened.missed, bytes: opened.data.len(), ..Page::default() };
        if let Some(events) = found.lost {
            each(found.ts, Item::Lost(events));
        }
        let mut records = opened.records();
        for (ts, raw) in records.by_ref() {
            match self.event(raw) {
                Ok(what) => {
                    found.events += 1;
                    each(ts, Item::Event(what));
                }
                Err(None | Some(Refused::NoWakeup)) => found.unknown += 1,
                Err(Some(_)) => found.refused += 1,
            }
        }
        records.broken.map_or(Ok(found), Err)
    }

    /// Decodes a page into the columns of its CPU's block. Here and not where pages are read, so that the loop over every
    /// event is compiled once, for speed.
    pub fn decode_into(&mut self, page: &[u8], block: &mut BlockWriter) -> Result<Page, PageError> {
        self.decode(page, |ts, item| match item {
            Item::Event(what) => block.push(ts, what),
            Item::Lost(events) => block.lost(ts, events),
        })
    }

    /// The event of a record; `None` if it was not asked for.
    #[inline]
    fn event(&mut self, raw: &[u8]) -> Result<What, Option<Refused>> {
        let Some(number) = raw.get(..2).and_then(|b| b.try_into().ok()) else { return Err(Some(Refused::Short)) };
        let id = if self.format.big_endian { u16::from_be_bytes(number) } else { u16::from_le_bytes(number) };
        let plan = self.plans.get(usize::from(id)).and_then(Option::as_ref).ok_or(None)?;
        plan.decode(raw, &mut self.dictionary).map_err(Some)
    }
}

mod ring;
#[cfg(test)]
mod tests;

pub use ring::RingRead;
