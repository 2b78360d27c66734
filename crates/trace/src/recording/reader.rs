//! Reads a recording: its head at once, then its events in batches and in the order of time.

use super::about::About;
use super::chunk::{Found, HEAD_BYTES, MAGIC, Parts, Tag, VERSION};
use super::columns::{Columns, Entry};
use super::op::{self, BY_OP};
use super::threads::{self, Moment, ThreadState};
use super::varint::take;
use super::writer::{FormatText, Totals};
use crate::bytes::Input;
use crate::event::{Cpu, Event, Tid, What};
use crate::info::TraceInfo;
use crate::kind::{Kind, Kinds};
use crate::order::{Merging, Order, merge};
use crate::problem::{ProblemKind, Problems};
use crate::reader::TraceSource;
use crate::record_decoder::Dictionary;
use crate::{ByteSource, TraceError};

/// The threads of the machine at one moment of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// At its start or its end.
    pub moment: Moment,
    /// When, ns of the trace's clock.
    pub at_ns: u64,
    /// All threads.
    pub threads: Vec<ThreadState>,
}

impl Snapshot {
    /// Decodes the content of a part, limited by the room that the snapshots kept so far leave.
    pub(super) fn decode(content: &[u8], kept: &[Self]) -> Result<Self, String> {
        let (moment, at_ns, mut threads) = threads::decode(content)?;
        let held: usize = kept.iter().map(|snapshot| snapshot.threads.len()).sum();
        threads.truncate(MAX_THREADS.saturating_sub(held));
        Ok(Self { moment, at_ns, threads })
    }

    /// Adds it, or a further part of a large one.
    pub(super) fn add_to(mut self, snapshots: &mut Vec<Self>) {
        match snapshots.iter_mut().find(|snapshot| snapshot.moment == self.moment) {
            Some(snapshot) => snapshot.threads.append(&mut self.threads),
            None => snapshots.push(self),
        }
    }
}

/// Most threads of snapshots that are kept; on a machine with more, the first ones.
const MAX_THREADS: usize = 1 << 21;

/// A recording that is being read.
pub struct RecordingReader {
    pub(super) input: Input,
    parts: Parts,
    wanted: Kinds,
    dictionary: Dictionary,
    order: Order,
    problems: Problems,
    about: About,
    formats: Vec<FormatText>,
    snapshots: Vec<Snapshot>,
    totals: Option<Totals>,
    counts: [u64; op::OP_COUNT],
    /// Names of threads that existed at the start, before any event; handed out first.
    known: Vec<Event>,
    blocks: u64,
}

impl RecordingReader {
    /// Reads everything that precedes the events.
    pub fn open(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Result<Self, TraceError> {
        let input = Input::new(file, source);
        let mut head = [0; HEAD_BYTES as usize];
        let there = input.read(0, &mut head)?;
        if there < head.len() || !head.starts_with(&MAGIC) {
            let found = format!("{there} bytes that begin with {}", crate::error::begins(&head[..there]));
            return Err(input.malformed(0, found, "the head of a recording, SLTRACE and a version, 16 bytes"));
        }
        let version = u16::from_le_bytes([head[8], head[9]]);
        if version > VERSION {
            let what = format!("a recording of format version {version}");
            return Err(input.unsupported(8, what, "use a newer schedlab"));
        }
        let mut reader = Self {
            input,
            parts: Parts::new(HEAD_BYTES),
            wanted,
            dictionary: Dictionary::default(),
            order: Order::default(),
            problems: Problems::default(),
            about: About::default(),
            formats: Vec::new(),
            snapshots: Vec::new(),
            totals: None,
            counts: [0; op::OP_COUNT],
            known: Vec::new(),
            blocks: 0,
        };
        reader.begin()?;
        Ok(reader)
    }

    /// Reads up to the first block, so that the recording can be described before an event is read. A recording whose
    /// metadata is damaged is refused, because its clock is not known.
    fn begin(&mut self) -> Result<(), TraceError> {
        let at = self.parts.at;
        match self.parts.next(&self.input)? {
            Found::Part(Tag::About) => self.about = About::decode(self.parts.content()),
            other => {
                let found = what_is_there(&other);
                return Err(self.input.malformed(at, found, "the recording's description (ABOU)"));
            }
        }
        while self.blocks == 0 && !self.order.is_finished() {
            self.advance()?;
        }
        Ok(())
    }

    /// The content of a damaged part is missing: if it contained events, those of some CPU.
    fn damaged(&mut self, at: u64, tag: Tag, why: &str) {
        self.problems.add(ProblemKind::SkippedPart, || format!("byte {at}: a part ({tag:?}) is damaged: {why}"));
        if tag == Tag::Events {
            self.blocks += 1;
            self.order.lost(Cpu::ANY, self.order.latest(), 0, &mut self.problems);
        }
    }

    fn part(&mut self, tag: Tag) -> Result<(), String> {
        match tag {
            Tag::Events => self.events(),
            Tag::Complete => {
                let mut content = self.parts.content();
                let before = take(&mut content).ok_or("it holds no time")?;
                self.order.release(before.saturating_sub(1), &mut self.problems);
                Ok(())
            }
            Tag::Threads => self.threads(),
            Tag::Formats => {
                self.formats = formats(self.parts.content()).ok_or("it is not a list of texts")?;
                Ok(())
            }
            Tag::End => {
                self.totals = Some(Totals::decode(self.parts.content()).ok_or("it holds no totals")?);
                self.compare_totals();
                Ok(())
            }
            Tag::About => Err("a second description".to_owned()),
            // A part from a later version that is marked as optional.
            Tag::Other(_) => Ok(()),
        }
    }

    fn events(&mut self) -> Result<(), String> {
        self.blocks += 1;
        let mut columns = Columns::new(self.parts.content(), &mut self.dictionary)?;
        let wanted = op::of_kinds(self.wanted);
        while let Some(entry) = columns.next()? {
            match entry {
                Entry::Event(op, event) => {
                    self.counts[usize::from(op)] += 1;
                    if wanted >> op & 1 != 0 {
                        self.order.push(event, &mut self.problems);
                    }
                }
                Entry::Lost { ts, events } => {
                    self.counts[usize::from(op::LOST)] += events;
                    self.order.lost(columns.cpu, ts, events, &mut self.problems);
                }
            }
        }
        Ok(())
    }

    fn threads(&mut self) -> Result<(), String> {
        let snapshot = Snapshot::decode(self.parts.content(), &self.snapshots)?;
        if snapshot.moment == Moment::Start && self.blocks == 0 {
            let names = &mut self.dictionary.names;
            let named = snapshot.threads.iter().filter(|t| t.tid != 0 && t.tid <= Tid::MAX.0).map(|thread| {
                let what = What::Comm { tid: Tid(thread.tid), comm: names.intern(&thread.comm) };
                Event { ts: 0, cpu: Cpu::ANY, what }
            });
            self.known.extend(named);
        }
        snapshot.add_to(&mut self.snapshots);
        Ok(())
    }

    /// Reports a loss that the kernel's own counters show but no page does.
    fn compare_totals(&mut self) {
        for cpu in self.totals.iter().flat_map(|totals| &totals.cpus).filter(|cpu| cpu.kernel_lost > cpu.lost) {
            let unseen = cpu.kernel_lost - cpu.lost;
            self.problems.add_many(ProblemKind::Lost, unseen, || {
                format!("CPU {} lost {unseen} events more than its pages say, at unknown times", cpu.cpu)
            });
        }
    }

    /// Each name once, because some events are written with several ops.
    fn events_by_name(&self) -> Vec<(String, u64)> {
        let mut all: Vec<(String, u64)> = Vec::new();
        for (row, count) in BY_OP.into_iter().zip(self.counts).filter(|(_, count)| *count > 0) {
            // A mark of a loss is not an event.
            let Some(row) = row else { continue };
            match all.iter_mut().find(|(name, _)| name == row.name) {
                Some((_, sum)) => *sum += count,
                None => all.push((row.name.to_owned(), count)),
            }
        }
        all
    }

    /// All its metadata.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The formats of its events, as described by the kernel that traced them.
    pub fn formats(&self) -> &[FormatText] {
        &self.formats
    }

    /// Its totals, once the end has been read; `None` if the recorder was killed.
    pub fn totals(&self) -> Option<&Totals> {
        self.totals.as_ref()
    }
}

impl TraceSource for RecordingReader {
    fn info(&self) -> TraceInfo {
        let about = |key: &str| self.about.get(key).to_owned();
        let kinds = about("events").split(',').filter_map(Kind::of_name).fold(Kinds::default(), Kinds::with);
        let wanted = kinds.iter().filter(|kind| self.wanted.has(*kind)).fold(Kinds::default(), Kinds::with);
        TraceInfo {
            infers_prev: false,
            format: "schedlab recording",
            clock: about("clock"),
            hostname: about("hostname"),
            release: about("release"),
            arch: about("arch"),
            recorder: about("recorder"),
            command: about("command"),
            cpus: self.about.number("cpus").and_then(|cpus| cpus.try_into().ok()),
            kinds: wanted,
            events: self.events_by_name(),
        }
    }

    fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn problems_mut(&mut self) -> &mut Problems {
        &mut self.problems
    }

    fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    fn recording(&self) -> Option<&RecordingReader> {
        Some(self)
    }
}

impl Merging for RecordingReader {
    fn order(&mut self) -> &mut Order {
        &mut self.order
    }

    fn next_batch(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        if !self.known.is_empty() {
            let more = self.known.len().min(crate::BATCH);
            out.clear();
            out.extend(self.known.drain(..more));
            return Ok(true);
        }
        merge(self, out)
    }

    /// Reads one part.
    fn advance(&mut self) -> Result<(), TraceError> {
        let at = self.parts.at;
        match self.parts.next(&self.input)? {
            Found::Part(tag) => {
                if let Err(why) = self.part(tag) {
                    self.damaged(at, tag, &why);
                }
            }
            Found::Damaged(tag, why) => self.damaged(at, tag, &why),
            Found::Nothing => {
                if self.totals.is_none() {
                    self.problems.add(ProblemKind::Truncated, || {
                        format!("byte {at}: the recording has no end: it was killed, or its file cut")
                    });
                }
                self.order.finish(&mut self.problems);
            }
            Found::Cut(bytes) => {
                self.problems.add(ProblemKind::Truncated, || {
                    format!("byte {at}: the file ends inside a part, of which {bytes} bytes are there")
                });
                self.order.finish(&mut self.problems);
            }
            Found::Unframed(found, expected) => {
                self.problems.add(ProblemKind::SkippedPart, || {
                    format!("byte {at}: {found}; expected {expected}; nothing after it can be found")
                });
                self.order.finish(&mut self.problems);
            }
        }
        self.order.relieve(&mut self.problems);
        Ok(())
    }
}

/// Header page first, then pairs of system and text.
fn formats(mut content: &[u8]) -> Option<Vec<FormatText>> {
    let mut texts = Vec::new();
    while !content.is_empty() {
        let bytes = usize::try_from(take(&mut content)?).ok()?;
        let (text, rest) = content.split_at_checked(bytes)?;
        texts.push(String::from_utf8_lossy(text).into_owned());
        content = rest;
    }
    let pairs = texts.get(1..)?.chunks_exact(2);
    Some(pairs.map(|pair| FormatText { system: pair[0].clone(), text: pair[1].clone() }).collect())
}

fn what_is_there(found: &Found) -> String {
    match found {
        Found::Part(tag) => format!("a part {tag:?}"),
        Found::Damaged(tag, why) => format!("a part {tag:?} of which {why}"),
        Found::Nothing => "nothing".to_owned(),
        Found::Cut(bytes) => format!("the file ends after {bytes} bytes of a part"),
        Found::Unframed(found, _) => found.clone(),
    }
}
