//! Perfetto's protobuf traces: the events of ftrace in them, one by one or as compact columns of `sched_switch` and
//! `sched_waking`, the names of the process tree, losses. Other data sources are passed over. Written as well: see
//! [`write`](writer::write). Schema: protos/perfetto/trace of Perfetto.

mod bundle;
mod compact;
mod encode;
mod events;
mod facts;
mod losses;
mod names;
pub(crate) mod profile;
mod schema;
mod stats;
#[cfg(test)]
mod tests;
pub(crate) mod tracks;
mod wire;
pub(crate) mod writer;

use crate::bytes::Input;
use crate::fields::Dictionary;
use crate::info::TraceInfo;
use crate::kind::Kinds;
use crate::order::{Merging, Order};
use crate::pieces::Helper;
use crate::prev_state::{PrevStates, StateBits};
use crate::problem::{ProblemKind, Problems};
use crate::section::Window;
use crate::unpack::Packing;
use crate::{ByteSource, TraceError};
use bundle::CpuState;
use events::{Raw, Symbols};
use losses::Losses;
use schema::{PACKET, clock, packet};
use stats::Stats;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use wire::{Fields, Value, varint};

/// Longest packet that is read; larger ones hold no ftrace events. What it is decoded to is some ten times as large.
const LONGEST_PACKET: u64 = 16 << 20;

/// Most that may come out of one packet of compressed packets, which recorders keep below 512 kB.
const LONGEST_UNPACKED: u64 = 32 << 20;

/// A packet's start: its tag, with a length behind it.
const TAG: u8 = (PACKET << 3 | 2) as u8;

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
    /// Events that have no field of their own, by name.
    generic: BTreeMap<String, u64>,
    /// Names that the trace gives to fields of `FtraceEvent`.
    event_names: HashMap<u32, String>,
    kinds: Kinds,
    clock: Option<u64>,
    release: String,
    machine: String,
    cpus: Vec<CpuState>,
    losses: Losses,
    stats: Stats,
    /// Each bundle says when the one before it ended.
    gaps_are_marked: bool,
    /// Packets of other machines, by `machine_id`: with events of ftrace.
    others: BTreeMap<u64, u64>,
    /// There are compact switches.
    infers_prev: bool,
}

/// What a packet says about itself.
#[derive(Debug, Clone, Copy, Default)]
struct Header {
    sequence: u64,
    machine: u64,
    /// `previous_packet_dropped`.
    dropped: bool,
    /// `first_packet_on_sequence`.
    first: bool,
    /// `SEQ_INCREMENTAL_STATE_CLEARED`.
    cleared: bool,
}

impl Header {
    fn of(packet: &[u8]) -> Self {
        let mut header = Self::default();
        for (field, value) in Fields::of(packet) {
            let Value::Number(number) = value else { continue };
            match field {
                packet::SEQUENCE => header.sequence = number,
                packet::MACHINE_ID => header.machine = number,
                packet::PREVIOUS_PACKET_DROPPED => header.dropped = number != 0,
                packet::FIRST_PACKET_ON_SEQUENCE => header.first = number != 0,
                packet::SEQUENCE_FLAGS => header.cleared |= number & packet::STATE_CLEARED != 0,
                packet::INCREMENTAL_STATE_CLEARED => header.cleared |= number != 0,
                _ => {}
            }
        }
        header
    }
}

/// Whether the first bytes of a file are packets of a trace: one that is not empty, at least.
pub(crate) fn recognise(head: &[u8]) -> bool {
    let mut head = head;
    while let Some(rest) = head.strip_prefix(&[TAG, 0]) {
        head = rest;
    }
    let Some((length, used)) = head.strip_prefix(&[TAG]).and_then(varint) else { return false };
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
            generic: BTreeMap::new(),
            event_names: HashMap::new(),
            kinds: Kinds::default(),
            clock: None,
            release: String::new(),
            machine: String::new(),
            cpus: Vec::new(),
            losses: Losses::default(),
            stats: Stats::default(),
            gaps_are_marked: true,
            others: BTreeMap::new(),
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
        let header = bytes.strip_prefix(&[TAG]).and_then(varint);
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
        let has_gap =
            |cpu: u64| usize::try_from(cpu).ok().and_then(|at| self.cpus.get(at)).is_some_and(|cpu| cpu.has_gap);
        self.stats.tell(has_gap, self.gaps_are_marked, &mut self.problems);
        self.order.settle_begins(&mut self.problems);
        self.order.finish();
        let others: u64 = self.others.values().sum();
        if let Some(machine) = self.others.keys().next() {
            self.problems.add_many(ProblemKind::Recording, others, || {
                format!("packets of {} other machines were left out, of machine_id {machine} first: what is told is of the host, which has none", self.others.len())
            });
        }
        if self.kinds != Kinds::default() {
            return Ok(());
        }
        let names: Vec<String> = self.events().into_iter().map(|e| e.0).take(5).collect();
        let has = match others {
            _ if !names.is_empty() => names.join(", "),
            0 => "no event of ftrace".into(),
            _ => "events of ftrace of other machines than the host alone".into(),
        };
        Err(TraceError::NoSchedEvents { file: self.input.file.clone(), has })
    }

    /// A packet; `unpacked`: it was compressed with others.
    fn packet(&mut self, bytes: &[u8], at: u64, unpacked: bool) {
        let header = Header::of(bytes);
        let sequence = header.sequence;
        if header.machine != 0 {
            let has_events = Fields::of(bytes).any(|(field, _)| field == packet::FTRACE_EVENTS);
            if has_events {
                *self.others.entry(header.machine).or_default() += 1;
            }
            return;
        }
        self.losses.packet(sequence, header.first, header.dropped);
        if header.cleared || header.dropped {
            self.symbols.retain(|(of, _), _| *of != sequence);
        }
        // What a bundle refers to lies behind it in its packet.
        let mut fields = Fields::of(bytes);
        for (field, value) in fields.by_ref() {
            if let (packet::INTERNED_DATA, Value::Bytes(bytes)) = (field, value) {
                self.interned(bytes, sequence);
            }
        }
        for (field, value) in Fields::of(bytes) {
            let Value::Bytes(bytes) = value else { continue };
            match field {
                packet::FTRACE_EVENTS => self.bundle(bytes, sequence, at),
                packet::PROCESS_TREE => self.process_tree(bytes),
                packet::SYSTEM_INFO => self.system_info(bytes),
                packet::FTRACE_STATS => self.stats.ftrace(bytes, &mut self.problems),
                packet::TRACE_STATS => self.stats.service(bytes),
                packet::COMPRESSED_PACKETS => self.compressed(Packing::Zlib, bytes, at, unpacked),
                packet::ZSTD_COMPRESSED_PACKETS => self.compressed(Packing::Zstd, bytes, at, unpacked),
                _ => {}
            }
        }
        if fields.broken {
            self.losses.unread_packet();
        }
        self.check(fields.broken, at);
    }

    /// Packets that were compressed together.
    fn compressed(&mut self, packing: Packing, bytes: &[u8], at: u64, unpacked: bool) {
        let packets = match packing.unpack(bytes, LONGEST_UNPACKED) {
            _ if unpacked => Err("they lie in compressed packets themselves".to_owned()),
            unpacked => unpacked,
        };
        let told = match packets {
            Ok(packets) => {
                let mut fields = Fields::of(&packets);
                for (field, value) in fields.by_ref() {
                    if let (PACKET, Value::Bytes(bytes)) = (field, value) {
                        self.packet(bytes, at, true);
                        self.order.relieve(&mut self.problems);
                    }
                }
                if !fields.broken {
                    return;
                }
                "what comes out of them is no row of packets".to_owned()
            }
            Err(why) => why,
        };
        self.losses.unread_packet();
        self.problems
            .add(ProblemKind::SkippedPart, || format!("byte {at}: compressed packets that cannot be read: {told}"));
    }

    fn check(&mut self, broken: bool, at: u64) {
        if broken {
            self.problems.add(ProblemKind::BadRecord, || {
                format!("byte {at}: a packet that cannot be followed to its end; the rest of it was skipped")
            });
        }
    }

    fn events(&self) -> Vec<(String, u64)> {
        let name = |field: u32| match (schema::kind(field), self.event_names.get(&field)) {
            (Some(kind), _) => kind.name().to_owned(),
            (None, Some(name)) => name.clone(),
            (None, None) => names::of(field).map_or_else(|| format!("field {field} of FtraceEvent"), str::to_owned),
        };
        let named = self.counts.iter().map(|(field, count)| (name(*field), *count));
        named.chain(self.generic.clone()).collect()
    }

    /// Counts an event by what it is, or by the name that it carries.
    fn count(&mut self, raw: &Raw<'_>) {
        const MOST_NAMES: usize = 1 << 12;
        let (field, content) = raw.what;
        let carried = (field == schema::GENERIC).then(|| Fields::of(content).find(|(field, _)| *field == 1)).flatten();
        match carried {
            Some((_, Value::Bytes(name))) if self.generic.len() < MOST_NAMES => {
                *self.generic.entry(facts::text(name)).or_default() += 1;
            }
            _ => *self.counts.entry(field).or_default() += 1,
        }
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
                self.losses.unread_packet();
                self.window.skip(length);
                continue;
            }
            let Some(packet) = self.packet_bytes(length as usize)? else {
                let cut = || format!("byte {at}: the file ends inside a packet of {length} bytes");
                self.problems.add(ProblemKind::Truncated, cut);
                return self.finish();
            };
            self.packet(&packet, at, false);
            self.order.relieve(&mut self.problems);
        }
        Ok(())
    }
}
