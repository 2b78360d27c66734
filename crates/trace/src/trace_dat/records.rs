//! Decodes the records of pages into events.

use super::header::Header;
use crate::decoder_of_format::{decoder_of, report_refused};
use crate::event::{Cpu, Event};
use crate::kind::{Kind, Kinds};
use crate::order::Order;
use crate::page::PageFormat;
use crate::problem::{ProblemKind, Problems};
use crate::record_decoder::{Dictionary, RecordDecoder};

/// How each record is handled, by the number of its event.
pub(super) struct RecordDecoders {
    big_endian: bool,
    by_id: Vec<Option<Entry>>,
    /// Number of records of any event, even of those without a format.
    pub(super) records: u64,
}

struct Entry {
    name: String,
    decoder: Option<(Kind, RecordDecoder)>,
    records: u64,
}

impl RecordDecoders {
    pub(super) fn new(header: &Header, wanted: Kinds, dictionary: &mut Dictionary, problems: &mut Problems) -> Self {
        let mut decoders = Self { big_endian: header.tracing.big_endian, by_id: Vec::new(), records: 0 };
        for format in &header.tracing.formats {
            let decoder = decoder_of(format, wanted, decoders.big_endian, dictionary, problems);
            let id = usize::from(format.id);
            if id >= decoders.by_id.len() {
                decoders.by_id.resize_with(id + 1, || None);
            }
            decoders.by_id[id] =
                Some(Entry { name: format!("{}:{}", format.system, format.name), decoder, records: 0 });
        }
        decoders
    }

    #[inline]
    fn entry(&mut self, raw: &[u8]) -> Option<&mut Entry> {
        let id: [u8; 2] = raw.get(..2)?.try_into().ok()?;
        let id = if self.big_endian { u16::from_be_bytes(id) } else { u16::from_le_bytes(id) };
        self.by_id.get_mut(usize::from(id))?.as_mut()
    }

    /// The wanted kinds that occur. The file has a format for each event of its kernel; before anything was read, these
    /// are the kinds with a format.
    pub(super) fn kinds(&self) -> Kinds {
        let read = self.have_events();
        let meant = self.by_id.iter().flatten().filter(|entry| entry.records > 0 || !read);
        let kinds: Vec<Kind> = meant.filter_map(|entry| entry.decoder.as_ref().map(|decoder| decoder.0)).collect();
        Kinds::of(&kinds)
    }

    pub(super) fn counts(&self) -> Vec<(String, u64)> {
        let counted = self.by_id.iter().flatten().filter(|entry| entry.records > 0);
        counted.map(|entry| (entry.name.clone(), entry.records)).collect()
    }

    /// Whether a wanted event was recorded.
    pub(super) fn have_events(&self) -> bool {
        self.by_id.iter().flatten().any(|entry| entry.decoder.is_some() && entry.records > 0)
    }
}

/// From the times of a buffer to nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// Added to each time, ns.
    pub(super) offset: i64,
    /// Multiplier and shift, where the clock counts cycles.
    pub(super) tsc2nsec: Option<(u32, u32)>,
}

impl Times {
    pub(super) fn ns(self, ts: u64) -> u64 {
        let ts = match self.tsc2nsec {
            Some((mult, shift)) => u64::try_from((u128::from(ts) * u128::from(mult)) >> shift).unwrap_or(u64::MAX),
            None => ts,
        };
        ts.saturating_add_signed(self.offset)
    }
}

/// Where the records of a page go.
pub(super) struct Sink<'a> {
    pub(super) decoders: &'a mut RecordDecoders,
    pub(super) dictionary: &'a mut Dictionary,
    pub(super) order: &'a mut Order,
    pub(super) problems: &'a mut Problems,
    pub(super) owner: &'a mut Option<usize>,
    /// Number, buffer and CPU.
    pub(super) stream: (usize, usize, Cpu),
    pub(super) times: Times,
}

impl Sink<'_> {
    /// Takes the records of a page that are later than a given time; returns the time of its last one, ns.
    pub(super) fn page(&mut self, format: &PageFormat, page: &[u8], offset: u64, after: u64) -> u64 {
        let opened = format.open(page).ok();
        // A page that the kernel hands out contains an event.
        let Some(opened) = opened.filter(|page| page.missed.is_some() || page.has_records()) else {
            self.problems.add(ProblemKind::Truncated, || format!("byte {offset}: a page that is not whole; skipped"));
            self.lost(after, 0);
            return after;
        };
        if let Some(missed) = opened.missed {
            self.lost(self.times.ns(opened.ts), missed);
        }
        let (mut last, mut records) = (opened.ts, opened.records());
        for (ts, raw) in records.by_ref() {
            last = ts;
            self.record(self.times.ns(ts), raw, offset);
        }
        if records.broken.is_some() {
            self.problems.add(ProblemKind::BadRecord, || {
                format!("byte {offset}: a page with a record that cannot be; the rest of the page was skipped")
            });
            self.lost(self.times.ns(last), 0);
        }
        self.times.ns(last)
    }

    /// Events are missing from `ts` on, ns. Losses in other buffers do not affect tasks.
    pub(super) fn lost(&mut self, ts: u64, lost: u64) {
        let (number, buffer, cpu) = self.stream;
        if self.owner.is_none_or(|owner| owner == buffer) {
            self.order.lost_in(number, cpu, ts, lost, self.problems);
        }
    }

    fn record(&mut self, ts: u64, raw: &[u8], offset: u64) {
        let (number, buffer, cpu) = self.stream;
        self.decoders.records += 1;
        let Some(entry) = self.decoders.entry(raw) else {
            self.problems
                .add(ProblemKind::UnknownEvent, || format!("byte {offset}: a record of an event without a format"));
            return;
        };
        entry.records += 1;
        let Some((kind, decoder)) = &entry.decoder else { return };
        if kind.is_of_tasks() && *self.owner.get_or_insert(buffer) != buffer {
            self.problems.add(ProblemKind::Recording, || {
                "several buffers hold scheduler events; those of the first are read".into()
            });
            return;
        }
        match decoder.decode(raw, self.dictionary) {
            Ok(what) => {
                self.order.push_in(number, Event { ts, cpu, what }, self.problems);
            }
            Err(refused) => report_refused(refused, offset, self.problems),
        }
    }
}
