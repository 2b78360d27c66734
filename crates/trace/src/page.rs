//! Decodes pages of the kernel's ring buffer, as `trace_pipe_raw` returns them, into events. The decoder is a pure
//! function of bytes: it checks what a page claims about itself and never relies on it.

mod records;

use crate::event::What;
use crate::format::Format;
use crate::kind::Kind;
use crate::names::Names;
use crate::prev_state::{PrevStates, StateBits};
use crate::record_decoder::{Dictionary, RecordDecoder, Refused};
use crate::recording::BlockWriter;
pub use records::PageError;
pub(crate) use records::PageFormat;

/// What a page was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Page {
    /// Time at its start, ns of the trace's clock; no record is older.
    pub ts: u64,
    /// Events lost before its first record: `Some(0)` if the kernel did not report how many.
    pub lost: Option<u64>,
    /// Bytes of records in it.
    pub bytes: usize,
    /// Records that became events.
    pub events: u64,
    /// Records of events that were not asked for, and records that are no event of the model.
    pub unknown: u64,
    /// Records that contradict their format; they are skipped.
    pub refused: u64,
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// This many events were lost here; 0 if the kernel did not report how many.
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
    record_decoders: Vec<Option<RecordDecoder>>,
    dictionary: Dictionary,
}

/// Largest number of an event: it has 16 bits.
const MAX_EVENTS: usize = 1 << 16;

impl PageDecoder {
    /// Makes a decoder from the kernel's `events/header_page` and the `format` files of the wanted events, each with
    /// its system; the error describes what is missing. An event that the model does not know is an error too, because
    /// nobody should record what nothing reads.
    pub fn new(header_page: &str, formats: &[(&str, &str)], big_endian: bool) -> Result<Self, String> {
        let format = PageFormat::parse(header_page, big_endian)
            .ok_or("events/header_page names no timestamp, commit and data")?;
        let mut decoder = Self { format, record_decoders: Vec::new(), dictionary: Dictionary::default() };
        for (system, text) in formats {
            let format = Format::parse(system, text).ok_or_else(|| format!("a format of {system} is none"))?;
            let kind = Kind::of(system, &format.name)
                .ok_or_else(|| format!("{system}:{} is not an event that is read here", format.name))?;
            if kind == Kind::SchedSwitch {
                let bits = StateBits::parse(&format.print_fmt).ok_or("sched_switch prints no states")?;
                decoder.dictionary.states = PrevStates::new(bits);
            }
            let record_decoder = RecordDecoder::new(kind, &format, big_endian)?;
            let id = usize::from(format.id);
            if decoder.record_decoders.len() <= id {
                decoder.record_decoders.resize_with((id + 1).min(MAX_EVENTS), || None);
            }
            decoder.record_decoders[id] = Some(record_decoder);
        }
        Ok(decoder)
    }

    /// Bytes of a whole page, header included.
    pub fn page_bytes(&self) -> usize {
        self.format.page_bytes()
    }

    /// Whether this many bytes of records fill a page for events of ordinary size, so that the next one would not have
    /// fitted. A reader that finds a page not full has caught up with the writer.
    pub fn is_full(&self, bytes: usize) -> bool {
        const LARGEST_USUAL_EVENT: usize = 256;
        bytes + LARGEST_USUAL_EVENT > self.format.data_bytes
    }

    /// The names in its events.
    pub fn names(&self) -> &Names {
        &self.dictionary.names
    }

    /// The states in its events, as letters.
    pub fn states(&self) -> &PrevStates {
        &self.dictionary.states
    }

    /// Events that a page can hold at most.
    pub fn most_events(&self) -> usize {
        // Four bytes for the record's header, eight for the fields that every event has.
        self.format.data_bytes / 12 + 1
    }

    /// Decodes a page: yields its content in order, each with its time. A loss comes first, with the time of the page.
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

    /// Decodes a page into the columns of its CPU's block. It is here and not where pages are read, so that the loop
    /// over every event is compiled once and optimised.
    pub fn decode_into(&mut self, page: &[u8], block: &mut BlockWriter) -> Result<Page, PageError> {
        self.decode(page, |ts, item| match item {
            Item::Event(what) => block.push(ts, what),
            Item::Lost(events) => block.lost(ts, events),
        })
    }

    /// The event in a record; `None` if it was not asked for.
    #[inline]
    fn event(&mut self, raw: &[u8]) -> Result<What, Option<Refused>> {
        let Some(number) = raw.get(..2).and_then(|b| b.try_into().ok()) else { return Err(Some(Refused::Short)) };
        let id = if self.format.big_endian { u16::from_be_bytes(number) } else { u16::from_le_bytes(number) };
        let record_decoder = self.record_decoders.get(usize::from(id)).and_then(Option::as_ref).ok_or(None)?;
        record_decoder.decode(raw, &mut self.dictionary).map_err(Some)
    }
}

mod ring;
#[cfg(test)]
mod tests;

pub use ring::RingRead;
