//! What packets contain in addition to events: names of threads, the kernel's release, its symbols, names of events.

use super::Perfetto;
use super::wire::{Fields, Value};
use crate::event::{Cpu, Event, Tid, What};
use crate::info::Origin;
use crate::kind::{Kind, Kinds};
use crate::prev_state::{PrevStates, StateBits};
use crate::problem::ProblemKind;

/// Most symbols per sequence, and most sequences with symbols, that are kept, whatever a file contains.
const MAX_SYMBOLS: usize = 1 << 18;
const MAX_SEQUENCES: usize = 16;

/// Most names of events that are kept.
const MAX_NAMES: usize = 1 << 12;

/// A text from a file, made printable.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).take(200).collect()
}

/// A number and a text, from these fields of a message.
fn numbered(message: &[u8], number_field: u32, text_field: u32) -> Option<(u64, &[u8])> {
    let (mut number, mut text) = (0, None);
    for (field, value) in Fields::of(message) {
        match value {
            Value::Number(found) if field == number_field => number = found,
            Value::Bytes(bytes) if field == text_field => text = Some(bytes),
            _ => {}
        }
    }
    text.map(|text| (number, text))
}

impl Perfetto {
    /// Names of threads that existed already.
    pub(super) fn process_tree(&mut self, bytes: &[u8]) {
        const THREADS: u32 = 2;
        for (field, value) in Fields::of(bytes) {
            let (THREADS, Value::Bytes(thread)) = (field, value) else { continue };
            let Some((tid, name)) = numbered(thread, 1, 2) else { continue };
            let tid = Tid::from_raw(tid as i64).filter(|tid| *tid != Tid::IDLE);
            if let Some(tid) = tid.filter(|_| self.wanted.has(Kind::TaskRename)) {
                let what = What::Comm { tid, comm: self.dictionary.names.intern_bytes(name) };
                self.order.push_rare(Event { ts: 0, cpu: Cpu::ANY, what }, &mut self.problems);
            }
        }
    }

    /// The kernel's release, which determines the letters of states, and what a conversion kept about its source.
    pub(super) fn system_info(&mut self, bytes: &[u8]) {
        const UTSNAME: u32 = 1;
        for (field, value) in Fields::of(bytes) {
            let (UTSNAME, Value::Bytes(utsname)) = (field, value) else { continue };
            for field in Fields::of(utsname) {
                match field {
                    (2, Value::Bytes(version)) => {
                        let mut lines = version.split(|byte| *byte == b'\n');
                        self.origin = lines.next().and_then(|line| Origin::parse(&text(line)));
                        lines.for_each(|line| self.problems.take_note(&String::from_utf8_lossy(line)));
                    }
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

    /// Kernel symbols by their numbers.
    pub(super) fn interned(&mut self, bytes: &[u8], sequence: u64) {
        const KERNEL_SYMBOLS: u32 = 26;
        for (field, value) in Fields::of(bytes) {
            let (KERNEL_SYMBOLS, Value::Bytes(symbol)) = (field, value) else { continue };
            if !self.symbols.contains_key(&sequence) && self.symbols.len() >= MAX_SEQUENCES {
                return;
            }
            let symbols = self.symbols.entry(sequence).or_default();
            if let Some((number, text)) = numbered(symbol, 1, 2).filter(|_| symbols.len() < MAX_SYMBOLS) {
                symbols.insert(number, self.dictionary.names.intern_bytes(text));
            }
        }
    }

    /// The name of an event without its own field in the schema: a `GenericEventDescriptor`, whose `event_descriptor`
    /// is a `DescriptorProto`.
    pub(super) fn event_descriptor(&mut self, bytes: &[u8]) {
        let Some((field, descriptor)) = numbered(bytes, 1, 2) else { return };
        let name = numbered(descriptor, 0, 1).map(|(_, name)| text(name));
        let field = u32::try_from(field).ok().filter(|_| self.event_names.len() < MAX_NAMES);
        self.event_names.extend(field.zip(name));
    }
}
