//! The records of a perf.data file: samples into events, everything else into names, gaps and ends of rounds.

use super::attr::{Attr, Trailer, u16_at, u32_at, u64_at};
use super::cgroups::SeenCgroups;
use super::inflate::Inflate;
use super::sources::Sources;
use crate::event::{Cpu, Event, Tid, What};
use crate::fields::{Dictionary, Plan, Refused};
use crate::kind::{Kind, Kinds};
use crate::native;
use crate::order::Order;
use crate::plans::tell_refused;
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
    pub(super) const CGROUP: u32 = 19;
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

/// The state of reading records.
pub(super) struct Records {
    big_endian: bool,
    wanted: Kinds,
    pub(super) sources: Sources,
    /// The kinds of which the file holds samples.
    traced: Kinds,
    trailer: Trailer,
    pub(super) dictionary: Dictionary,
    pub(super) order: Order,
    pub(super) problems: Problems,
    inflate: Option<Box<Inflate>>,
    /// Reading inflated records, among which there are no compressed ones.
    inflating: bool,
    /// Clock asked for by the first event.
    pub(super) clockid: Option<i32>,
    /// Where they are asked for.
    pub(super) cgroups: Option<Box<SeenCgroups>>,
}

impl Records {
    pub(super) fn new(big_endian: bool, wanted: Kinds) -> Self {
        Self {
            big_endian,
            wanted,
            sources: Sources::default(),
            traced: Kinds::of(&[]),
            trailer: Trailer::default(),
            dictionary: Dictionary::default(),
            order: Order::default(),
            problems: Problems::default(),
            inflate: None,
            inflating: false,
            clockid: None,
            cgroups: None,
        }
    }

    pub(super) fn big_endian(&self) -> bool {
        self.big_endian
    }

    /// Takes the events and their formats; said again when a pipe tells of more.
    pub(super) fn describe(&mut self, attrs: &[Attr], tracing: &TracingData) {
        self.sources = Sources::new(attrs, tracing, self.wanted, &mut self.dictionary, &mut self.problems);
        self.traced = self.sources.kinds();
        let first = attrs.first();
        self.trailer = first.map(Attr::trailer).unwrap_or_default();
        self.clockid = first.and_then(|a| a.clockid);
    }

    /// Reads the whole records of `bytes`, which lie at `offset` in the file; how far, and why no further.
    pub(super) fn read(&mut self, bytes: &[u8], offset: u64) -> (usize, Step) {
        // Compiled for each order of bytes: to ask for it at every number is a tenth of what decoding takes.
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
                    format!("byte {at}: a record of {size} bytes, less than its header; nothing behind it was read")
                });
                return (0, Step::Stop);
            }
            let Some(record) = bytes.get(at..at + size) else { break };
            if kind == record::SAMPLE {
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
        let Some((_, plan)) = &source.plan else { return };
        let layout = &source.layout;
        let parts = (
            layout.time.and_then(|at| u64_at(record, at, BIG)),
            layout.cpu.and_then(|at| u32_at(record, at, BIG)),
            layout.raw(record, BIG),
        );
        let (Some(ts), Some(cpu), Some(raw)) = parts else {
            return tell_refused(Refused::Short, offset, &mut self.problems);
        };
        let Some(cpu) = Cpu::from_raw(i64::from(cpu)) else {
            return tell_refused(Refused::Number, offset, &mut self.problems);
        };
        // Frequent kinds are put into their lane by code of their own. Behind one common end an event is put together in
        // memory by narrow stores, and the wide loads that copy it from there wait for them.
        let (order, problems) = (&mut self.order, &mut self.problems);
        match plan {
            Plan::NativeSwitch => match native::switch(raw, &mut self.dictionary) {
                Ok(what) => order.push(Event { ts, cpu, what }, problems),
                Err(refused) => tell_refused(refused, offset, problems),
            },
            Plan::NativeWake { kind: Kind::SchedWaking } => match native::wake(raw, &mut self.dictionary) {
                Ok(wake) => order.push(Event { ts, cpu, what: What::Waking(wake) }, problems),
                Err(refused) => tell_refused(refused, offset, problems),
            },
            _ => match plan.decode(raw, &mut self.dictionary) {
                Ok(what) => order.push_rare(Event { ts, cpu, what }, problems),
                Err(refused) => tell_refused(refused, offset, problems),
            },
        }
    }

    #[cold]
    fn unknown(&mut self, offset: u64) {
        self.problems.add(ProblemKind::UnknownEvent, || format!("byte {offset}: a sample of no event of the file"));
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
            record::THROTTLE if self.sources.is_planned(word(16)?) => {
                let (ts, cpu) = self.when(record);
                self.order.lost(cpu, ts, 1, &mut self.problems);
            }
            record::LOST_SAMPLES => {
                let lost = word(8).unwrap_or(0);
                self.problems.add_many(ProblemKind::Recording, lost, || {
                    "perf counts samples as lost without saying when; waits that a loss would make false are not known".into()
                });
            }
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
        // Where the tracepoint was recorded, too, this says the same again.
        if self.wanted.has(kind) && (ts == 0 || !self.traced.has(kind)) {
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
            let unread = inflate.end();
            let whole = self.drain(0);
            let left = self.inflate.as_ref().map_or(0, |inflate| inflate.plain.len());
            if unread + left > 0 || whole.is_err() {
                self.problems.add(ProblemKind::Truncated, || match whole {
                    Err(why) => format!("at the end of the file: {why}"),
                    Ok(_) => format!("the zstd stream ends inside a record, of which {} bytes are there", unread + left),
                });
            }
        }
        self.order.finish();
    }
}
