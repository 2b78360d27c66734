//! Perfetto's protobuf traces: the events of ftrace in them, one by one or as compact columns of `sched_switch` and
//! `sched_waking`, the names of the process tree, losses. Other data sources are passed over. Written as well: see
//! [`write`](writer::write). Schema: protos/perfetto/trace of Perfetto.

mod compact;
mod events;
pub(crate) mod profile;
mod schema;
#[cfg(test)]
mod tests;
pub(crate) mod tracks;
mod wire;
pub(crate) mod writer;

use crate::bytes::Input;
use crate::event::{Cpu, Event, Prio, Tid, What};
use crate::fields::Dictionary;
use crate::info::TraceInfo;
use crate::kind::{Kind, Kinds};
use crate::names::Name;
use crate::order::{Merging, Order};
use crate::pieces::Helper;
use crate::prev_state::{PrevStates, StateBits, StateId};
use crate::problem::{ProblemKind, Problems};
use crate::section::Window;
use crate::{ByteSource, TraceError};
use compact::{Compact, Told};
use events::{Raw, Symbols, what};
use schema::{PACKET, bundle, clock, packet};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::{Fields, Value, varint};

/// Longest packet that is read; larger ones hold no ftrace events. What it is decoded to is some ten times as large.
const LONGEST_PACKET: u64 = 16 << 20;

/// Symbols that are kept, whatever a file holds.
const MOST_SYMBOLS: usize = 1 << 18;

/// A Perfetto trace that is being read.
pub(crate) struct Perfetto {
    input: Arc<Input>,
    window: Window,
    wanted: Kinds,
    dictionary: Dictionary,
    symbols: Symbols,
    order: Order,
    problems: Problems,
    /// Events by their field in `FtraceEvent`, with their number.
    counts: BTreeMap<u32, u64>,
    kinds: Kinds,
    clock: Option<u64>,
    release: String,
    machine: String,
    /// By CPU: who is on it, which compact switches do not say.
    current: Vec<Option<(Tid, Name, Prio)>>,
    /// There are compact switches.
    infers_prev: bool,
}

/// Whether the first bytes of a file are a packet of a trace.
pub(crate) fn recognise(head: &[u8]) -> bool {
    let Some((length, used)) = head.strip_prefix(&[(PACKET << 3 | 2) as u8]).and_then(varint) else { return false };
    let packet = &head[1 + used..];
    let whole = usize::try_from(length).is_ok_and(|length| length <= packet.len());
    let mut fields = Fields::of(if whole { &packet[..length as usize] } else { packet });
    let known = fields.by_ref().take_while(|(field, _)| *field < 2000).count();
    length > 0 && (known > 0 && !fields.broken || !whole && length <= LONGEST_PACKET && packet.len() > 64)
}

impl Perfetto {
    pub(crate) fn open(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Self {
        let end = source.size().unwrap_or(u64::MAX);
        let input = Arc::new(Input::new(file, source));
        let states = PrevStates::new(StateBits::since_4_14());
        Self {
            window: Window::new(&input, 0, end),
            input,
            wanted,
            dictionary: Dictionary { states, ..Dictionary::default() },
            symbols: Symbols::default(),
            order: Order::default(),
            problems: Problems::default(),
            counts: BTreeMap::new(),
            kinds: Kinds::default(),
            clock: None,
            release: String::new(),
            machine: String::new(),
            current: Vec::new(),
            infers_prev: false,
        }
    }

    /// The length of the next packet, whose header is consumed; `None` at the end, or where nothing can be followed.
    fn packet_length(&mut self) -> Result<Option<u64>, TraceError> {
        const LONGEST_HEADER: usize = 11;
        if self.window.bytes().len() < LONGEST_HEADER {
            self.window.fill()?;
        }
        let at = self.window.offset();
        let bytes = self.window.bytes();
        let header = bytes.strip_prefix(&[(PACKET << 3 | 2) as u8]).and_then(varint);
        if let Some((length, used)) = header {
            self.window.consume(1 + used);
            return Ok(Some(length));
        }
        if !bytes.is_empty() {
            let found = format!("byte {at}: no packet of a trace begins here; nothing behind it was read");
            self.problems.add(ProblemKind::BadRecord, || found);
        }
        Ok(None)
    }

    /// The next bytes; `None` where there are not so many.
    fn packet_bytes(&mut self, length: usize) -> Result<Option<Vec<u8>>, TraceError> {
        let mut packet = Vec::new();
        loop {
            let take = self.window.bytes().len().min(length - packet.len());
            packet.extend_from_slice(&self.window.bytes()[..take]);
            self.window.consume(take);
            if packet.len() == length {
                return Ok(Some(packet));
            }
            if !self.window.fill()? {
                return Ok(None);
            }
        }
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        self.order.finish();
        if self.kinds != Kinds::default() {
            return Ok(());
        }
        let names: Vec<String> = self.events().into_iter().map(|e| e.0).take(5).collect();
        let has = if names.is_empty() { "no event of ftrace".into() } else { names.join(", ") };
        Err(TraceError::NoSchedEvents { file: self.input.file.clone(), has })
    }

    fn packet(&mut self, bytes: &[u8], at: u64) {
        let mut fields = Fields::of(bytes);
        let sequence = Fields::of(bytes).find_map(|field| match field {
            (packet::SEQUENCE, Value::Number(sequence)) => Some(sequence),
            _ => None,
        });
        for (field, value) in fields.by_ref() {
            let Value::Bytes(bytes) = value else { continue };
            match field {
                packet::FTRACE_EVENTS => self.bundle(bytes, sequence.unwrap_or(0), at),
                packet::PROCESS_TREE => self.process_tree(bytes),
                packet::SYSTEM_INFO => self.system_info(bytes),
                packet::INTERNED_DATA => self.interned(bytes, sequence.unwrap_or(0)),
                packet::COMPRESSED_PACKETS => self.problems.add(ProblemKind::SkippedPart, || {
                    format!("byte {at}: compressed packets, which are not read; rewrite the file: traceconv decompress_packets")
                }),
                _ => {}
            }
        }
        self.check(fields.broken, at);
    }

    fn check(&mut self, broken: bool, at: u64) {
        if broken {
            self.problems.add(ProblemKind::BadRecord, || {
                format!("byte {at}: a packet that cannot be followed to its end; the rest of it was skipped")
            });
        }
    }

    /// The events of one CPU, in the order of time but for the compact ones, which lie apart.
    fn bundle(&mut self, bytes: &[u8], sequence: u64, at: u64) {
        let (mut cpu, mut lost) = (0, false);
        let mut told: Vec<(u64, Told)> = Vec::new();
        let mut fields = Fields::of(bytes);
        let mut bad = false;
        for (field, value) in fields.by_ref() {
            match (field, value) {
                (bundle::CPU, Value::Number(number)) => cpu = number,
                (bundle::LOST_EVENTS, Value::Number(some)) => lost = some != 0,
                (bundle::FTRACE_CLOCK, Value::Number(number)) => self.clock = Some(number),
                (bundle::EVENT, Value::Bytes(bytes)) => match Raw::of(bytes) {
                    Some(raw) => self
                        .event(&raw, sequence, at)
                        .into_iter()
                        .for_each(|what| told.push((raw.ts, Told::Event(what)))),
                    None => bad = true,
                },
                (bundle::COMPACT_SCHED, Value::Bytes(bytes)) => match Compact::of(bytes, &mut self.dictionary) {
                    Some(compact) => self.compact(&compact, &mut told),
                    None => bad = true,
                },
                _ => {}
            }
        }
        self.check(fields.broken || bad, at);
        let Some(cpu) = Cpu::from_raw(cpu as i64).filter(|cpu| *cpu != Cpu::ANY) else {
            self.problems.add(ProblemKind::ImpossibleNumber, || {
                format!("byte {at}: events of a CPU that no machine has; skipped")
            });
            return;
        };
        told.sort_by_key(|(ts, _)| *ts);
        if lost {
            let ts = told.first().map_or(0, |(ts, _)| *ts);
            self.order.lost(cpu, ts, 0, &mut self.problems);
        }
        self.push(cpu, lost, &told);
    }

    /// Hands events on, with what compact ones leave out: who was on the CPU.
    fn push(&mut self, cpu: Cpu, lost: bool, told: &[(u64, Told)]) {
        let at = usize::from(cpu.0);
        if at >= self.current.len() {
            self.current.resize(at + 1, None);
        }
        if lost {
            self.current[at] = None;
        }
        for (ts, told) in told {
            let current = self.current[at];
            let what = match *told {
                Told::Event(what) => what,
                Told::Switch { prev_state, next, next_comm, next_prio } => {
                    self.current[at] = Some((next, next_comm, next_prio));
                    self.infers_prev = true;
                    // Who leaves at the first one is not known to anybody. Who comes is, and may have waited.
                    let nobody = (Tid::IDLE, Name::UNKNOWN, Prio::UNKNOWN);
                    let prev_state = if current.is_some() { prev_state } else { StateId::UNKNOWN };
                    let (prev, prev_comm, prev_prio) = current.unwrap_or(nobody);
                    What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state }
                }
                Told::Waking(wake) => What::Waking(crate::Wake { waker: current.map_or(Tid::IDLE, |c| c.0), ..wake }),
            };
            if let What::Switch { next, next_comm, next_prio, .. } = what {
                self.current[at] = Some((next, next_comm, next_prio));
            }
            self.order.push(Event { ts: *ts, cpu, what }, &mut self.problems);
        }
    }

    fn event(&mut self, raw: &Raw<'_>, sequence: u64, at: u64) -> Option<What> {
        *self.counts.entry(raw.what.0).or_default() += 1;
        let kind = raw.kind().filter(|kind| self.wanted.has(*kind))?;
        let what = what(raw, kind, sequence, &self.symbols, &mut self.dictionary);
        match what {
            Some(_) => self.kinds = self.kinds.with(kind),
            None => self.problems.add(ProblemKind::BadRecord, || {
                format!("byte {at}: an event that does not read as {}; skipped", kind.name())
            }),
        }
        what
    }

    fn compact(&mut self, compact: &Compact, told: &mut Vec<(u64, Told)>) {
        for (kind, events) in [(Kind::SchedSwitch, &compact.switches), (Kind::SchedWaking, &compact.wakings)] {
            let Some(field) = schema::field(kind).filter(|_| !events.is_empty()) else { continue };
            *self.counts.entry(field).or_default() += events.len() as u64;
            if self.wanted.has(kind) {
                self.kinds = self.kinds.with(kind);
                told.extend_from_slice(events);
            }
        }
    }

    /// Names of threads that were there.
    fn process_tree(&mut self, bytes: &[u8]) {
        const THREADS: u32 = 2;
        for (field, value) in Fields::of(bytes) {
            let (THREADS, Value::Bytes(thread)) = (field, value) else { continue };
            let (mut tid, mut name) = (None, None);
            for field in Fields::of(thread) {
                match field {
                    (1, Value::Number(number)) => tid = Tid::from_raw(number as i64),
                    (2, Value::Bytes(bytes)) => name = Some(bytes),
                    _ => {}
                }
            }
            let named = tid.filter(|tid| *tid != Tid::IDLE).zip(name);
            if let Some((tid, name)) = named.filter(|_| self.wanted.has(Kind::TaskRename)) {
                let what = What::Comm { tid, comm: self.dictionary.names.intern_bytes(name) };
                self.order.push(Event { ts: 0, cpu: Cpu::ANY, what }, &mut self.problems);
            }
        }
    }

    /// The kernel's release, on which the letters of states depend.
    fn system_info(&mut self, bytes: &[u8]) {
        const UTSNAME: u32 = 1;
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).take(200).collect();
        for (field, value) in Fields::of(bytes) {
            let (UTSNAME, Value::Bytes(utsname)) = (field, value) else { continue };
            for field in Fields::of(utsname) {
                match field {
                    (3, Value::Bytes(release)) => self.release = text(release),
                    (4, Value::Bytes(machine)) => self.machine = text(machine),
                    _ => {}
                }
            }
        }
        let mut numbers = self.release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse::<u32>().ok());
        if let (Some(major), Some(minor)) = (numbers.next(), numbers.next())
            && (major, minor) < (4, 14)
            && self.kinds == Kinds::default()
        {
            self.dictionary.states = PrevStates::new(StateBits::guess());
            let release = &self.release;
            self.problems.add(ProblemKind::GuessedStates, || {
                format!("the letters of prev_state of a {release} kernel are not in the trace; they are guessed")
            });
        }
    }

    fn interned(&mut self, bytes: &[u8], sequence: u64) {
        const KERNEL_SYMBOLS: u32 = 26;
        for (field, value) in Fields::of(bytes) {
            let (KERNEL_SYMBOLS, Value::Bytes(symbol)) = (field, value) else { continue };
            let (mut number, mut text) = (0, None);
            for field in Fields::of(symbol) {
                match field {
                    (1, Value::Number(iid)) => number = iid,
                    (2, Value::Bytes(bytes)) => text = Some(bytes),
                    _ => {}
                }
            }
            if let Some(text) = text.filter(|_| self.symbols.len() < MOST_SYMBOLS) {
                self.symbols.insert((sequence, number), self.dictionary.names.intern_bytes(text));
            }
        }
    }

    fn events(&self) -> Vec<(String, u64)> {
        let name = |field: u32| match schema::kind(field) {
            Some(kind) => kind.name().to_owned(),
            None => format!("field {field} of FtraceEvent"),
        };
        self.counts.iter().map(|(field, count)| (name(*field), *count)).collect()
    }

    pub(crate) fn helper(&self) -> Option<Helper> {
        self.window.helper()
    }

    pub(crate) fn info(&self) -> TraceInfo {
        TraceInfo {
            format: "Perfetto",
            clock: clock(self.clock.unwrap_or(0)).to_owned(),
            release: self.release.clone(),
            arch: self.machine.clone(),
            kinds: self.kinds,
            infers_prev: self.infers_prev,
            events: self.events(),
            ..TraceInfo::default()
        }
    }

    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    pub(crate) fn problems(&self) -> &Problems {
        &self.problems
    }
}

impl Merging for Perfetto {
    fn order(&mut self) -> &mut Order {
        &mut self.order
    }

    /// Reads packets until events may be handed out. Recorders write CPU after CPU, seconds apart in a long trace, so
    /// events are held back as long as there is room.
    fn advance(&mut self) -> Result<(), TraceError> {
        while !self.order.is_ready() {
            let at = self.window.offset();
            let Some(length) = self.packet_length()? else { return self.finish() };
            if length > LONGEST_PACKET {
                let skipped = || format!("byte {at}: a packet of {length} bytes; skipped");
                self.problems.add(ProblemKind::SkippedPart, skipped);
                self.window.skip(length);
                continue;
            }
            let Some(packet) = self.packet_bytes(length as usize)? else {
                let cut = || format!("byte {at}: the file ends inside a packet of {length} bytes");
                self.problems.add(ProblemKind::Truncated, cut);
                return self.finish();
            };
            self.packet(&packet, at);
            self.order.relieve(&mut self.problems);
        }
        Ok(())
    }
}
