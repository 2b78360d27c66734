//! Perfetto's protobuf traces: their ftrace events, individually or as compact columns of `sched_switch` and
//! `sched_waking`, the names in the process tree, and losses. Other data sources are skipped. The format is also
//! written: see [`write`](writer::write). Schema: protos/perfetto/trace of Perfetto.

mod bundle;
mod compact;
mod encode;
mod events;
mod facts;
mod losses;
mod names;
mod packet;
mod schema;
mod stats;
#[cfg(test)]
mod tests;
pub(crate) mod tracks;
mod wire;
pub(crate) mod writer;

use crate::bytes::Input;
use crate::info::{Origin, TraceInfo};
use crate::kind::Kinds;
use crate::order::{Merging, Order};
use crate::pieces::Helper;
use crate::prev_state::{PrevStates, StateBits};
use crate::problem::{ProblemKind, Problems};
use crate::reader::TraceSource;
use crate::record_decoder::Dictionary;
use crate::section::Window;
use crate::{ByteSource, TraceError};
use bundle::CpuState;
use events::{Raw, Symbols};
use losses::Losses;
use schema::{PACKET, clock};
use stats::Stats;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use wire::{Fields, Value, varint};

/// Longest packet that is read; larger ones contain no ftrace events. Its decoded form has about ten times its size.
const LONGEST_PACKET: u64 = 16 << 20;

/// The start of a packet: its tag, followed by a length.
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
    /// Number of events by their field in `FtraceEvent`.
    counts: BTreeMap<u32, u64>,
    /// Number of events without their own field, by name.
    generic: BTreeMap<String, u64>,
    /// Names that the trace gives to fields of `FtraceEvent`.
    event_names: HashMap<u32, String>,
    kinds: Kinds,
    clock: Option<u64>,
    release: String,
    /// What schedlab converted this trace from.
    origin: Option<Origin>,
    machine: String,
    cpus: Vec<CpuState>,
    losses: Losses,
    stats: Stats,
    /// Whether each bundle reports when the previous one ended.
    gaps_are_marked: bool,
    /// The `machine_id` of the machine whose events are read; 0 is the host, which has no id.
    chosen: u64,
    /// Other machines with ftrace events.
    others: BTreeSet<u64>,
    /// There are compact switches.
    infers_prev: bool,
}

/// A machine by its `machine_id`, in words.
fn machine(id: u64) -> String {
    if id == 0 { "the host".into() } else { format!("machine {id}") }
}

/// Whether a file's first bytes are packets of a trace, of which at least one is not empty.
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
            origin: None,
            machine: String::new(),
            cpus: Vec::new(),
            losses: Losses::default(),
            stats: Stats::default(),
            gaps_are_marked: true,
            chosen: 0,
            others: BTreeSet::new(),
            infers_prev: false,
        }
    }

    /// The length of the next packet, whose header is consumed; `None` at the end, or if nothing can be parsed.
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
            let found = format!("byte {at}: no packet of a trace begins here; nothing after it was read");
            self.problems.add(ProblemKind::BadRecord, || found);
        }
        Ok(None)
    }

    /// The next bytes; `None` if there are fewer.
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
        let has_any_gap = self.cpus.iter().any(|cpu| cpu.has_gap);
        for (cpu, lost) in self.stats.report(has_gap, has_any_gap, self.gaps_are_marked, &mut self.problems) {
            self.order.lost_at_unknown_times(cpu, lost);
        }
        let end = self.order.latest();
        for cpu in self.losses.at_the_end(end).collect::<BTreeSet<_>>() {
            self.order.lost(cpu, end, 0, &mut self.problems);
        }
        self.order.finish(&mut self.problems);
        self.report_left_out();
        if self.kinds != Kinds::default() {
            return Ok(());
        }
        let names: Vec<String> = self.events().into_iter().map(|e| e.0).take(5).collect();
        let has = match (&names[..], self.others.first()) {
            ([], None) if self.problems.count(ProblemKind::Truncated) > 0 => "no event of ftrace, and it is cut".into(),
            ([], None) => match self.problems.all().find(|problem| problem.kind == ProblemKind::SkippedPart) {
                Some(unread) => format!("no event of ftrace in what can be read; {}", unread.first),
                None => "no event of ftrace".into(),
            },
            ([], Some(other)) => format!("events of {} alone: --machine {other} reads those", machine(*other)),
            (names, _) => names.join(", "),
        };
        Err(TraceError::NoSchedEvents { file: self.input.file.clone(), has })
    }

    /// Reports what was left out of the trace and is in no count.
    fn report_left_out(&mut self) {
        if let Some(other) = self.others.first() {
            self.problems.add(ProblemKind::Recording, || {
                let (chosen, other_one, machines) = (machine(self.chosen), machine(*other), self.others.len() + 1);
                format!("the trace is of {machines} machines: the output is about {chosen}; --machine {other} reads {other_one}")
            });
        }
        let unknown = self.counts.iter().filter(|(field, _)| self.event_name(**field).is_none());
        let unknown: Vec<(u32, u64)> = unknown.map(|(field, count)| (*field, *count)).collect();
        for (field, count) in unknown {
            self.problems.add_many(ProblemKind::UnknownRecord, count, || {
                format!("events of field {field} of FtraceEvent, which is not known here, were passed over")
            });
        }
    }

    fn check(&mut self, broken: bool, at: u64) {
        if broken {
            self.problems.add(ProblemKind::BadRecord, || {
                format!("byte {at}: a packet that cannot be followed to its end; the rest of it was skipped")
            });
        }
    }

    fn events(&self) -> Vec<(String, u64)> {
        let named = self.counts.iter().map(|(field, count)| {
            let name = self.event_name(*field).map_or_else(|| format!("field {field} of FtraceEvent"), str::to_owned);
            (name, *count)
        });
        named.chain(self.generic.clone()).collect()
    }

    /// The name of an event, from the schema or the trace itself.
    fn event_name(&self, field: u32) -> Option<&str> {
        names::of(field).or_else(|| self.event_names.get(&field).map(String::as_str))
    }

    /// Counts an event by its field, or by the name that it contains.
    fn count(&mut self, raw: &Raw<'_>) {
        const MAX_NAMES: usize = 1 << 12;
        let (field, content) = raw.what;
        let carried = (field == schema::GENERIC).then(|| Fields::of(content).find(|(field, _)| *field == 1)).flatten();
        match carried {
            Some((_, Value::Bytes(name))) if self.generic.len() < MAX_NAMES => {
                *self.generic.entry(facts::text(name)).or_default() += 1;
            }
            _ => *self.counts.entry(field).or_default() += 1,
        }
    }
}

impl TraceSource for Perfetto {
    fn helper(&self) -> Option<Helper> {
        self.window.helper()
    }

    fn info(&self) -> TraceInfo {
        let origin = self.origin.clone().unwrap_or_else(|| Origin {
            release: self.release.clone(),
            clock: clock(self.clock.unwrap_or(0)).to_owned(),
        });
        TraceInfo {
            format: "Perfetto",
            clock: origin.clock,
            release: origin.release,
            arch: self.machine.clone(),
            kinds: self.kinds,
            infers_prev: self.infers_prev,
            events: self.events(),
            ..TraceInfo::default()
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

    fn choose_machine(&mut self, machine: u32) -> bool {
        self.chosen = machine.into();
        true
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
