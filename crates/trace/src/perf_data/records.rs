//! The records of a perf.data file: samples become events, all others names, gaps and ends of rounds.

mod compressed;
mod held;
mod threads;

use super::attr::{Attr, u16_at, u32_at, u64_at};
use super::cgroups::SeenCgroups;
use super::coverage::Coverage;
use super::inflate::Inflate;
use super::shape::{Shape, shape};
use super::sources::Sources;
use crate::decoder_of_format::report_refused;
use crate::event::{Cpu, Event, What};
use crate::kind::{Kind, Kinds};
use crate::native;
use crate::order::Order;
use crate::problem::{ProblemKind, Problems};
use crate::record_decoder::{Dictionary, RecordDecoder, Refused};
use crate::tracing_data::TracingData;
use std::collections::BTreeMap;

/// `perf_event_type` and perf's own `perf_user_event_type`.
mod record {
    /// No record has it.
    pub(super) const NONE: u32 = u32::MAX;
    pub(super) const LOST: u32 = 2;
    pub(super) const COMM: u32 = 3;
    pub(super) const EXIT: u32 = 4;
    pub(super) const THROTTLE: u32 = 5;
    pub(super) const FORK: u32 = 7;
    pub(super) const SAMPLE: u32 = 9;
    pub(super) const LOST_SAMPLES: u32 = 13;
    pub(super) const CGROUP: u32 = 19;
    pub(super) const HEADER_ATTR: u32 = 64;
    pub(super) const HEADER_TRACING_DATA: u32 = 66;
    pub(super) const FINISHED_ROUND: u32 = 68;
    pub(super) const ID_INDEX: u32 = 69;
    pub(super) const AUXTRACE: u32 = 71;
    pub(super) const THREAD_MAP: u32 = 73;
    pub(super) const HEADER_FEATURE: u32 = 80;
    pub(super) const COMPRESSED: u32 = 81;
    pub(super) const COMPRESSED2: u32 = 83;
    /// In `misc` of LOST_SAMPLES.
    pub(super) const LOST_SAMPLES_BPF: u16 = 1 << 15;
}

/// What the caller must do before it continues.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Read more bytes, because the rest is not a complete record.
    More,
    /// Hand out the events of a finished round.
    Round,
    /// Skip bytes that are not records.
    Skip(u64),
    /// A piece of a pipe's header.
    Header(HeaderPiece),
    /// The records cannot be followed further.
    Stop,
}

/// A record in a pipe that corresponds to a part of a file's header, with the position of its content.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderPiece {
    /// A `perf_event_attr` and its ids.
    Attr { size: usize },
    /// The formats, which follow the record.
    Tracing { bytes: u64 },
    /// A feature section.
    Feature { number: u64, size: usize },
}

/// Counts of records that are counted nowhere else.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RecordCounts {
    /// Records that are not samples.
    pub(super) others: u64,
    /// Events reported as lost by the kernel's LOST records.
    pub(super) lost: u64,
    /// Number of these LOST records.
    pub(super) losses: u64,
    /// Samples reported as lost by perf's LOST_SAMPLES records.
    lost_samples: u64,
}

/// The state of reading records.
pub(super) struct Records {
    big_endian: bool,
    wanted: Kinds,
    pub(super) sources: Sources,
    /// The kinds for which the file has samples.
    traced: Kinds,
    /// The record type of samples. If samples must be held back, no type matches, so that they are handled with the
    /// other records.
    sample_type: u32,
    /// Events of a round that are read newest first.
    held: Vec<Event>,
    /// Events of rings that are read forward, in a file that also has overwriting rings: an event of the latter, which
    /// are read at the end, may be older than any of them.
    held_forward: Option<Vec<Event>>,
    /// Time of the oldest sample in each CPU's overwriting ring, ns.
    rings_begin: BTreeMap<Cpu, u64>,
    pub(super) coverage: Coverage,
    pub(super) counted: RecordCounts,
    pub(super) dictionary: Dictionary,
    pub(super) order: Order,
    pub(super) problems: Problems,
    pub(super) inflate: Option<Box<Inflate>>,
    /// Why compressed records could not be read further.
    pub(super) unreadable: Option<String>,
    /// Set while inflated records are read, which must not contain compressed ones.
    inflating: bool,
    /// The clock that the first event asked for.
    pub(super) clockid: Option<i32>,
    /// Where threads' cgroups are recorded, if asked for.
    pub(super) cgroups: Option<Box<SeenCgroups>>,
    /// Number of events made from COMM, FORK and EXIT records, which are not in the file as events, by CPU.
    pub(super) noted: BTreeMap<Cpu, u64>,
    /// Records of unknown types: their number, and type and position of the first.
    unknown_types: Option<(u64, u32, u64)>,
    ids: threads::Ids,
}

impl Records {
    pub(super) fn new(big_endian: bool, wanted: Kinds) -> Self {
        Self {
            big_endian,
            wanted,
            sources: Sources::default(),
            traced: Kinds::of(&[]),
            sample_type: record::SAMPLE,
            held: Vec::new(),
            held_forward: None,
            rings_begin: BTreeMap::new(),
            coverage: Coverage::default(),
            counted: RecordCounts::default(),
            dictionary: Dictionary::default(),
            order: Order::of_cpus_in_turn(),
            problems: Problems::default(),
            inflate: None,
            unreadable: None,
            inflating: false,
            clockid: None,
            cgroups: None,
            noted: BTreeMap::new(),
            unknown_types: None,
            ids: threads::Ids::default(),
        }
    }

    pub(super) fn big_endian(&self) -> bool {
        self.big_endian
    }

    /// Takes the events and their formats; called again if a pipe describes more.
    pub(super) fn describe(&mut self, attrs: &[Attr], tracing: &TracingData) {
        self.sources = Sources::new(attrs, tracing, self.wanted, &mut self.dictionary, &mut self.problems);
        self.traced = self.sources.kinds();
        self.clockid = attrs.first().and_then(|a| a.clockid);
        let is_backward = attrs.iter().any(|attr| attr.is_backward);
        self.sample_type = if is_backward { record::NONE } else { record::SAMPLE };
        if is_backward && self.sources.has_forward_rings() {
            self.held_forward.get_or_insert_default();
        }
    }

    /// Reads the complete records in `bytes`, which are at `offset` in the file; returns how far it got, and why it
    /// stopped.
    pub(super) fn read(&mut self, bytes: &[u8], offset: u64) -> (usize, Step) {
        // Compiled separately for each byte order, because checking it for every number costs a tenth of the decoding
        // time.
        if self.big_endian { self.read_as::<true>(bytes, offset) } else { self.read_as::<false>(bytes, offset) }
    }

    fn read_as<const BIG: bool>(&mut self, bytes: &[u8], offset: u64) -> (usize, Step) {
        let mut at = 0;
        while let Some(head) = bytes.get(at..at + 8) {
            let kind = u32_at(head, 0, BIG).unwrap_or(0);
            let size = usize::from(u16_at(head, 6, BIG));
            if size < 8 {
                let at = offset + at as u64;
                self.problems.add(ProblemKind::BadRecord, || {
                    format!("byte {at}: a record of {size} bytes, less than its header; nothing after it was read")
                });
                return (0, Step::Stop);
            }
            let Some(record) = bytes.get(at..at + size) else { break };
            if kind == self.sample_type {
                self.sample::<BIG>(record, offset + at as u64);
                at += size;
                continue;
            }
            let step = self.other(kind, record, offset + at as u64);
            at += size;
            if let Some(step) = step {
                return (at, step);
            }
        }
        (at, Step::More)
    }

    #[inline(always)]
    fn sample<const BIG: bool>(&mut self, record: &[u8], offset: u64) {
        let Some(source) = self.sources.of(record, BIG) else { return self.unknown(offset) };
        source.samples += 1;
        if let Some(cgroups) = &mut self.cgroups {
            cgroups.sample(&source.layout, record, BIG);
        }
        let raw = source.raw(record, BIG, offset, &mut self.problems);
        let Some((_, decoder)) = &source.decoder else { return };
        let layout = &source.layout;
        let raw = match raw {
            Ok(raw) => raw,
            Err(refused) => return report_refused(refused, offset, &mut self.problems),
        };
        let parts =
            (layout.time.and_then(|at| u64_at(record, at, BIG)), layout.cpu.and_then(|at| u32_at(record, at, BIG)));
        let (Some(ts), Some(cpu)) = parts else {
            return report_refused(Refused::Short, offset, &mut self.problems);
        };
        let Some(cpu) = Cpu::from_raw(i64::from(cpu)) else {
            return report_refused(Refused::Number, offset, &mut self.problems);
        };
        if self.ids.are_open() {
            self.ids.compare::<BIG>(layout.tid.and_then(|at| u32_at(record, at, BIG)), raw);
        }
        // Frequent kinds are added to their lane by separate code. With a common end for all kinds, an event would be
        // assembled in memory with narrow stores, and the wide loads that copy it from there would wait for them.
        let (order, problems) = (&mut self.order, &mut self.problems);
        match decoder {
            RecordDecoder::NativeSwitch => match native::switch(raw, &mut self.dictionary) {
                Ok(what) => order.push(Event { ts, cpu, what }, problems),
                Err(refused) => report_refused(refused, offset, problems),
            },
            RecordDecoder::NativeWake { kind: Kind::SchedWaking } => match native::wake(raw, &mut self.dictionary) {
                Ok(wake) => order.push(Event { ts, cpu, what: What::Waking(wake) }, problems),
                Err(refused) => report_refused(refused, offset, problems),
            },
            _ => match decoder.decode(raw, &mut self.dictionary) {
                Ok(what) => order.push_rare(Event { ts, cpu, what }, problems),
                Err(refused) => report_refused(refused, offset, problems),
            },
        }
    }

    #[cold]
    fn unknown(&mut self, offset: u64) {
        self.counted.others += 1;
        self.problems.add(ProblemKind::UnknownEvent, || format!("byte {offset}: a sample of no event of the file"));
    }

    fn other(&mut self, kind: u32, record: &[u8], offset: u64) -> Option<Step> {
        let big_endian = self.big_endian;
        let word = |at: usize| u64_at(record, at, big_endian);
        self.counted.others += u64::from(kind != record::SAMPLE);
        let size = record.len();
        match shape(kind, record, big_endian, &self.sources.trailer_sizes) {
            Shape::Fits => {}
            Shape::Unknown => {
                self.unknown_types.get_or_insert((0, kind, offset)).0 += 1;
                return None;
            }
            Shape::Impossible => {
                self.problems.add(ProblemKind::BadRecord, || {
                    format!("byte {offset}: a record of type {kind} and {size} bytes, which nothing writes so; skipped")
                });
                return None;
            }
        }
        match kind {
            record::SAMPLE => self.sample_held_back(record, offset),
            record::ID_INDEX => {
                let (sources, coverage) = (&self.sources, &mut self.coverage);
                let some_tasks = coverage.id_index(record, big_endian, |id| !sources.is_unplanned(id));
                self.order.breaks_are_expected(some_tasks);
            }
            record::THREAD_MAP => {
                let some_tasks = self.coverage.thread_map(record, big_endian);
                self.order.breaks_are_expected(some_tasks);
            }
            record::COMM | record::FORK | record::EXIT => self.thread_record(kind, record),
            record::LOST => {
                let lost = word(16).unwrap_or(1);
                self.counted.lost += lost;
                self.counted.losses += 1;
                self.lost(record, lost);
            }
            // Samples of that event are missing until it is unthrottled.
            record::THROTTLE if self.sources.is_planned(word(16)?) => {
                self.lost(record, 1);
            }
            // perf reads this from the kernel's counters at the end, for each event as a whole; LOST records reported
            // most of it. Records of the same type count what a BPF filter dropped.
            record::LOST_SAMPLES if u16_at(record, 4, big_endian) & record::LOST_SAMPLES_BPF != 0 => {
                self.problems.add_many(ProblemKind::Recording, word(8).filter(|dropped| *dropped > 0)?, || {
                    "a filter of perf record (--filter) dropped samples: what they would have shown is missing".into()
                });
            }
            record::LOST_SAMPLES => self.counted.lost_samples += word(8).unwrap_or(0),
            record::CGROUP => self.cgroups.iter_mut().for_each(|cgroups| cgroups.name(record, big_endian)),
            record::FINISHED_ROUND => return self.end_of_round(),
            record::AUXTRACE => return word(8).map(Step::Skip),
            record::HEADER_ATTR => return Some(Step::Header(HeaderPiece::Attr { size: record.len() })),
            record::HEADER_TRACING_DATA => {
                let bytes = u64::from(u32_at(record, 8, big_endian)?);
                return Some(Step::Header(HeaderPiece::Tracing { bytes }));
            }
            record::HEADER_FEATURE => {
                let number = word(8)?;
                return Some(Step::Header(HeaderPiece::Feature { number, size: record.len() }));
            }
            record::COMPRESSED | record::COMPRESSED2 if self.inflating => {
                self.problems.add(ProblemKind::BadRecord, || {
                    format!("byte {offset}: a compressed record inside a compressed one; skipped")
                })
            }
            record::COMPRESSED => return self.inflate(&record[8..], offset),
            record::COMPRESSED2 => {
                let size = usize::try_from(word(8)?).unwrap_or(usize::MAX).min(record.len() - 16);
                return self.inflate(&record[16..16 + size], offset);
            }
            _ => {}
        }
        None
    }

    /// Number of samples of every event and all other records.
    pub(super) fn records(&self) -> u64 {
        self.sources.counts().map(|(_, samples)| samples).sum::<u64>() + self.counted.others
    }

    /// The file, which was recorded on a machine with this many CPUs, has ended: releases what is still held back.
    pub(super) fn finish(&mut self, online: Option<u32>) {
        self.end_of_stream();
        self.sort_held();
        self.lost_unreported();
        self.coverage.report(online, &mut self.problems);
        self.order.finish(&mut self.problems);
        if let Some((number, kind, offset)) = self.unknown_types {
            self.problems.add(ProblemKind::UnknownRecord, || {
                let records = if number == 1 { "record" } else { "records" };
                format!(
                    "{number} {records} of unknown type, as a newer perf may write, passed over; the first is of type {kind}, at \
                     byte {offset}"
                )
            });
        }
    }

    /// Adds losses that the kernel counted but no record reported: such a record comes with the next event that has
    /// room, and after the last loss there may be none.
    fn lost_unreported(&mut self) {
        let unreported = self.counted.lost_samples.saturating_sub(self.counted.lost);
        if unreported > 0 {
            self.order.lost_at_unknown_times(Cpu::ANY, unreported);
            self.problems
                .add_many(ProblemKind::Lost, unreported, || "perf counts samples as lost without saying when".into());
        }
    }
}
