//! The records of a perf.data file: samples into events, everything else into names, gaps and ends of rounds.

use super::attr::{Attr, Layout, TRACEPOINT, Trailer, u32_at, u64_at};
use super::inflate::Inflate;
use crate::event::{Cpu, Event, Tid, What};
use crate::fields::{Dictionary, Plan, Refused};
use crate::kind::{Kind, Kinds};
use crate::order::Order;
use crate::prev_state::{PrevStates, StateBits};
use crate::problem::{ProblemKind, Problems};
use crate::tracing_data::TracingData;

/// `perf_event_type` and perf's own `perf_user_event_type`.
mod record {
    pub(super) const LOST: u32 = 2;
    pub(super) const COMM: u32 = 3;
    pub(super) const EXIT: u32 = 4;
    pub(super) const THROTTLE: u32 = 5;
    pub(super) const FORK: u32 = 7;
    pub(super) const SAMPLE: u32 = 9;
    pub(super) const LOST_SAMPLES: u32 = 13;
    pub(super) const HEADER_ATTR: u32 = 64;
    pub(super) const HEADER_TRACING_DATA: u32 = 66;
    pub(super) const FINISHED_ROUND: u32 = 68;
    pub(super) const AUXTRACE: u32 = 71;
    pub(super) const HEADER_FEATURE: u32 = 80;
    pub(super) const COMPRESSED: u32 = 81;
    pub(super) const COMPRESSED2: u32 = 83;
}

/// What the caller must do before it goes on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Read more bytes: the rest is no whole record.
    More,
    /// Hand out the events of a finished round.
    Round,
    /// Skip bytes that are no records.
    Skip(u64),
    /// A piece of a pipe's header.
    Header(HeaderPiece),
    /// The records cannot be followed any further.
    Stop,
}

/// A record in which a pipe says what a file says in its header; where its content lies in the record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderPiece {
    /// A `perf_event_attr` and its ids.
    Attr { size: usize },
    /// The formats, which follow the record.
    Tracing { bytes: u64 },
    /// A feature section.
    Feature { number: u64, size: usize },
}

/// An event of the file.
struct Source {
    layout: Layout,
    config: u64,
    plan: Option<(Kind, Plan)>,
    name: String,
    samples: u64,
}

/// The state of reading records.
pub(super) struct Records {
    big_endian: bool,
    wanted: Kinds,
    sources: Vec<Source>,
    /// Number of the source by the event's id.
    ids: Ids,
    /// Where the id lies in each sample.
    id_at: Option<usize>,
    trailer: Trailer,
    pub(super) dictionary: Dictionary,
    pub(super) order: Order,
    pub(super) problems: Problems,
    inflate: Option<Box<Inflate>>,
    /// Reading inflated records, among which there are no compressed ones.
    inflating: bool,
    /// Clock asked for by the first event.
    pub(super) clockid: Option<i32>,
}

/// Ids are given by a counter of the kernel, so those of a recording lie close together.
#[derive(Default)]
struct Ids {
    first: u64,
    sources: Vec<u16>,
    sparse: std::collections::HashMap<u64, u16>,
}

const NO_SOURCE: u16 = u16::MAX;

/// Widest range of ids that is kept as an array.
const DENSE: u64 = 1 << 20;

impl Ids {
    fn new(pairs: &[(u64, u16)]) -> Self {
        let first = pairs.iter().map(|p| p.0).min().unwrap_or(0);
        let last = pairs.iter().map(|p| p.0).max().unwrap_or(0);
        let mut ids = Self { first, ..Self::default() };
        if last - first < DENSE {
            ids.sources = vec![NO_SOURCE; (last - first + 1) as usize];
            for (id, source) in pairs {
                ids.sources[(id - first) as usize] = *source;
            }
        } else {
            ids.sparse = pairs.iter().copied().collect();
        }
        ids
    }

    #[inline]
    fn get(&self, id: u64) -> Option<usize> {
        let source = match self.sources.get(id.wrapping_sub(self.first) as usize) {
            Some(source) => *source,
            None => *self.sparse.get(&id)?,
        };
        (source != NO_SOURCE).then_some(usize::from(source))
    }
}

impl Records {
    pub(super) fn new(big_endian: bool, wanted: Kinds) -> Self {
        Self {
            big_endian,
            wanted,
            sources: Vec::new(),
            ids: Ids::default(),
            id_at: None,
            trailer: Trailer::default(),
            dictionary: Dictionary::default(),
            order: Order::default(),
            problems: Problems::default(),
            inflate: None,
            inflating: false,
            clockid: None,
        }
    }

    pub(super) fn big_endian(&self) -> bool {
        self.big_endian
    }

    /// Takes the events and their formats; said again when a pipe tells of more.
    pub(super) fn describe(&mut self, attrs: &[Attr], tracing: &TracingData) {
        self.sources.clear();
        let mut pairs = Vec::new();
        for attr in attrs {
            let format = tracing.formats.iter().find(|f| u64::from(f.id) == attr.config && attr.kind == TRACEPOINT);
            let (layout, config) = (attr.layout(), attr.config);
            let mut source = Source { layout, config, plan: None, name: String::new(), samples: 0 };
            if let Some(format) = format {
                source.name = format!("{}:{}", format.system, format.name);
                let kind = Kind::of(&format.system, &format.name).filter(|kind| self.wanted.has(*kind));
                source.plan = kind.and_then(|kind| self.plan(kind, format, tracing.big_endian));
            }
            pairs.extend(attr.ids.iter().map(|id| (*id, self.sources.len() as u16)));
            self.sources.push(source);
        }
        self.ids = Ids::new(&pairs);
        let first = attrs.first();
        self.id_at = first.and_then(|a| a.layout().id);
        self.trailer = first.map(Attr::trailer).unwrap_or_default();
        self.clockid = first.and_then(|a| a.clockid);
    }

    fn plan(&mut self, kind: Kind, format: &crate::format::Format, big_endian: bool) -> Option<(Kind, Plan)> {
        if kind == Kind::SchedSwitch {
            match StateBits::parse(&format.print_fmt) {
                Some(bits) => self.dictionary.states = PrevStates::new(bits),
                None => self.problems.add(ProblemKind::GuessedStates, || {
                    "the format of sched_switch does not say what prev_state means; its letters are guessed".into()
                }),
            }
        }
        match Plan::new(kind, format, big_endian) {
            Ok(plan) => Some((kind, plan)),
            Err(why) => {
                self.problems.add(ProblemKind::OtherLayout, || format!("{why}; its events are skipped"));
                None
            }
        }
    }

    /// What keeps the file from being analysed at all, for events that are described.
    pub(super) fn unfit(&self) -> Option<(String, String)> {
        let planned: Vec<&Source> = self.sources.iter().filter(|s| s.plan.is_some()).collect();
        let lacking = |what: &str| {
            let what = format!("the scheduler events were recorded without {what}");
            Some((what, "record with `perf sched record`, or with -R, -T and -a".to_owned()))
        };
        if planned.iter().any(|s| s.layout.time.is_none()) {
            return lacking("time stamps");
        }
        if planned.iter().any(|s| s.layout.cpu.is_none()) {
            return lacking("the CPU");
        }
        if planned.iter().any(|s| !s.layout.has_raw) {
            return lacking("their data");
        }
        None
    }

    /// Events of the file and their samples so far.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.sources.iter().map(|s| (s.name.as_str(), s.samples))
    }

    /// The kinds that are in the file and wanted.
    pub(super) fn kinds(&self) -> Kinds {
        let kinds: Vec<Kind> = self.sources.iter().filter_map(|s| s.plan.as_ref().map(|p| p.0)).collect();
        Kinds::of(&kinds)
    }

    /// Reads the whole records of `bytes`, which lie at `offset` in the file; how far, and why no further.
    pub(super) fn read(&mut self, bytes: &[u8], offset: u64) -> (usize, Step) {
        let mut at = 0;
        while let Some(head) = bytes.get(at..at + 8) {
            let kind = u32_at(head, 0, self.big_endian).unwrap_or(0);
            let size = usize::from(u16_at(head, 6, self.big_endian));
            if size < 8 {
                let at = offset + at as u64;
                self.problems.add(ProblemKind::BadRecord, || {
                    format!("byte {at}: a record of {size} bytes, less than its header; nothing behind it was read")
                });
                return (0, Step::Stop);
            }
            let Some(record) = bytes.get(at..at + size) else { break };
            if kind == record::SAMPLE {
                self.sample(record, offset + at as u64);
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

    #[inline]
    fn sample(&mut self, record: &[u8], offset: u64) {
        let big_endian = self.big_endian;
        let source = match self.id_at {
            Some(at) => u64_at(record, at, big_endian).and_then(|id| self.ids.get(id)),
            None => self.source_by_type(record),
        };
        let Some(source) = source.and_then(|s| self.sources.get_mut(s)) else {
            self.problems.add(ProblemKind::UnknownEvent, || format!("byte {offset}: a sample of no event of the file"));
            return;
        };
        source.samples += 1;
        let Some((_, plan)) = &source.plan else { return };
        let layout = &source.layout;
        let parts = (
            layout.time.and_then(|at| u64_at(record, at, big_endian)),
            layout.cpu.and_then(|at| u32_at(record, at, big_endian)),
            layout.raw(record, big_endian),
        );
        let (Some(ts), Some(cpu), Some(raw)) = parts else {
            return self.bad_sample(Refused::Short, offset);
        };
        let Some(cpu) = Cpu::from_raw(i64::from(cpu)) else { return self.bad_sample(Refused::Number, offset) };
        match plan.decode(raw, &mut self.dictionary) {
            Ok(what) => self.order.push(Event { ts, cpu, what }, &mut self.problems),
            Err(refused) => self.bad_sample(refused, offset),
        }
    }

    /// Where samples carry no id: the tracepoint's own number, the first field of what it wrote.
    fn source_by_type(&self, record: &[u8]) -> Option<usize> {
        let first = self.sources.first()?;
        if self.sources.len() == 1 {
            return Some(0);
        }
        let number = u64::from(u16_at(first.layout.raw(record, self.big_endian)?, 0, self.big_endian));
        self.sources.iter().position(|s| s.config == number && s.layout == first.layout)
    }

    #[cold]
    fn bad_sample(&mut self, refused: Refused, offset: u64) {
        match refused {
            Refused::Short => self.problems.add(ProblemKind::BadRecord, || {
                format!("byte {offset}: a sample that is shorter than its format says; skipped")
            }),
            Refused::Number => self.problems.add(ProblemKind::ImpossibleNumber, || {
                format!("byte {offset}: a CPU or thread number that no machine has; skipped")
            }),
            Refused::NoWakeup => {}
        }
    }

    fn other(&mut self, kind: u32, record: &[u8], offset: u64) -> Option<Step> {
        let big_endian = self.big_endian;
        let word = |at: usize| u64_at(record, at, big_endian);
        match kind {
            record::COMM | record::FORK | record::EXIT => self.thread_record(kind, record),
            record::LOST => {
                let (lost, (ts, cpu)) = (word(16).unwrap_or(1), self.when(record));
                self.order.lost(cpu, ts, lost, &mut self.problems);
            }
            // Samples of that event are missing until it is let go on.
            record::THROTTLE if self.ids.get(word(16)?).is_some_and(|s| self.sources[s].plan.is_some()) => {
                let (ts, cpu) = self.when(record);
                self.order.lost(cpu, ts, 1, &mut self.problems);
            }
            record::LOST_SAMPLES => {
                let lost = word(8).unwrap_or(0);
                self.problems.add_many(ProblemKind::Recording, lost, || {
                    "perf counts samples as lost without saying when; waits that a loss would make false are not known".into()
                });
            }
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

    fn end_of_round(&mut self) -> Option<Step> {
        if let Some(inflate) = &mut self.inflate {
            inflate.end_of_round();
            return None;
        }
        self.order.end_of_round();
        self.order.is_ready().then_some(Step::Round)
    }

    /// Time and CPU of a record that is no sample.
    fn when(&self, record: &[u8]) -> (u64, Cpu) {
        let from_end = |back: Option<usize>| back.and_then(|back| record.len().checked_sub(back));
        let ts = from_end(self.trailer.time).and_then(|at| u64_at(record, at, self.big_endian)).unwrap_or(0);
        let cpu = from_end(self.trailer.cpu).and_then(|at| u32_at(record, at, self.big_endian));
        (ts, cpu.and_then(|cpu| Cpu::from_raw(i64::from(cpu))).unwrap_or(Cpu::ANY))
    }

    /// COMM, FORK and EXIT: names and lifetimes, also of threads that were there before the recording (time 0).
    fn thread_record(&mut self, kind: u32, record: &[u8]) {
        let tid = |at: usize| u32_at(record, at, self.big_endian).and_then(|raw| Tid::from_raw(i64::from(raw)));
        let (mut ts, cpu) = self.when(record);
        let what = if kind == record::COMM {
            let end = record.len().saturating_sub(self.trailer.size);
            let Some((tid, comm)) = tid(12).zip(record.get(16..end)) else { return };
            What::Comm { tid, comm: self.dictionary.names.intern_bytes(comm) }
        } else {
            let (Some(tid), Some(parent)) = (tid(16), tid(20)) else { return };
            ts = u64_at(record, 24, self.big_endian).unwrap_or(ts);
            let comm = crate::names::Name::UNKNOWN;
            if kind == record::FORK { What::Fork { parent, child: tid, comm } } else { What::Exit { tid, comm } }
        };
        let kind = match what {
            What::Comm { .. } => Kind::TaskRename,
            What::Fork { .. } => Kind::SchedProcessFork,
            _ => Kind::SchedProcessExit,
        };
        if self.wanted.has(kind) {
            // What perf made up for the threads it found has no time, and belongs to no CPU.
            let cpu = if ts == 0 { Cpu::ANY } else { cpu };
            self.order.push(Event { ts, cpu, what }, &mut self.problems);
        }
    }

    fn inflate(&mut self, piece: &[u8], offset: u64) -> Option<Step> {
        let pushed = self.inflate.get_or_insert_with(|| Box::new(Inflate::new())).push(piece);
        let done = pushed.and_then(|()| self.drain(offset));
        match done {
            Ok(true) => Some(Step::Round),
            Ok(false) => None,
            Err(why) => {
                self.problems
                    .add(ProblemKind::SkippedPart, || format!("byte {offset}: {why}; nothing behind it was read"));
                Some(Step::Stop)
            }
        }
    }

    /// Reads the records that can be inflated by now; whether a round ended among them.
    fn drain(&mut self, offset: u64) -> Result<bool, String> {
        let Some(mut inflate) = self.inflate.take() else { return Ok(false) };
        let mut rounds = false;
        self.inflating = true;
        let result = loop {
            match inflate.step() {
                Ok(true) => {}
                Ok(false) => break Ok(rounds),
                Err(why) => break Err(why),
            }
            let plain = std::mem::take(&mut inflate.plain);
            let (mut at, mut step) = self.read(&plain, offset);
            while step != Step::More && step != Step::Stop {
                // Header pieces and skips do not occur inside: perf compresses what the kernel wrote.
                let (more, next) = self.read(&plain[at..], offset);
                (at, step) = (at + more, next);
            }
            if step == Step::Stop {
                break Err("its records cannot be followed".into());
            }
            inflate.plain = plain;
            inflate.plain.drain(..at);
            while inflate.round_ended() {
                self.order.end_of_round();
                rounds |= self.order.is_ready();
            }
            self.order.relieve(&mut self.problems);
        };
        self.inflating = false;
        self.inflate = Some(inflate);
        result
    }

    /// The file has ended: what is still held back comes out.
    pub(super) fn finish(&mut self) {
        if let Some(inflate) = &mut self.inflate {
            inflate.end();
            if let Err(why) = self.drain(0) {
                self.problems.add(ProblemKind::Truncated, || format!("at the end of the file: {why}"));
            }
        }
        self.order.finish();
    }
}

#[inline]
fn u16_at(bytes: &[u8], at: usize, big_endian: bool) -> u16 {
    let array = bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).unwrap_or([0; 2]);
    if big_endian { u16::from_be_bytes(array) } else { u16::from_le_bytes(array) }
}
