//! Encodes events with Perfetto's schema.

use super::events::FIELDS;
use super::schema::packet;
use super::wire::{put_bytes, put_number};
use super::writer::write_packet;
use crate::Reader;
use crate::event::{Cpu, Prio, Tid, Wake, What};
use crate::kind::Kind;
use crate::names::{Name, Names};
use crate::prev_state::StateBits;
use crate::rows::{Bits, Field, Holds, Row, Values};
use crate::syscall::Syscall;
use std::collections::HashMap;
use std::io::{self, Write};

/// Kernel symbols, by the numbers that stand for them in events.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    numbers: HashMap<Name, u64>,
    /// Those that have not been written yet, as `InternedData`.
    new: Vec<u8>,
}

impl Symbols {
    /// The number of a function: that of its symbol, counted from 1, or its address, if the trace had only that.
    fn number(&mut self, function: Name, names: &Names) -> u64 {
        const KERNEL_SYMBOLS: u32 = 26;
        let text = names.text(function);
        if let Some(address) = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
            return address;
        }
        if function == Name::UNKNOWN {
            return 0;
        }
        let next = self.numbers.len() as u64 + 1;
        *self.numbers.entry(function).or_insert_with(|| {
            let mut symbol = Vec::new();
            put_number(1, next, &mut symbol);
            put_bytes(2, text.as_bytes(), &mut symbol);
            put_bytes(KERNEL_SYMBOLS, &symbol, &mut self.new);
            next
        })
    }

    /// Writes the symbols to which the next bundles refer.
    pub(super) fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.new.is_empty() {
            return Ok(());
        }
        let mut body = Vec::new();
        put_bytes(packet::INTERNED_DATA, &std::mem::take(&mut self.new), &mut body);
        write_packet(body, out)
    }
}

/// The content of an event and its kind; `None` if the schema does not have it.
pub(super) fn encode(what: &What, reader: &Reader, symbols: &mut Symbols, out: &mut Vec<u8>) -> Option<Kind> {
    let names = reader.names();
    Some(match *what {
        What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } => {
            // A state that newer kernels do not have is written as parked: off the CPU, and used for no other purpose
            // here.
            let state = StateBits::number_since_4_14(reader.states().letters(prev_state)).unwrap_or(0x40);
            put_thread((1, prev_comm), (2, prev), names, out);
            put_prio(3, prev_prio, out);
            put_number(4, state, out);
            put_thread((5, next_comm), (6, next), names, out);
            put_prio(7, next_prio, out);
            Kind::SchedSwitch
        }
        What::Waking(wake) => put_wake(&wake, Kind::SchedWaking, names, out),
        What::Wakeup(wake) => put_wake(&wake, Kind::SchedWakeup, names, out),
        What::WakeupNew(wake) => put_wake(&wake, Kind::SchedWakeupNew, names, out),
        What::SysEnter { number, arg0, arg1, .. } => {
            put_syscall(number, out);
            put_number(2, arg0.get(), out);
            if arg1 != u32::MAX {
                put_number(2, u64::from(arg1), out);
            }
            Kind::SysEnter
        }
        What::SysExit { number, ret, .. } => {
            put_syscall(number, out);
            put_number(2, ret.get(), out);
            Kind::SysExit
        }
        // Run times are not in the schema, and gaps are written as slices.
        _ => {
            let (row, fields) = what.fields().filter(|(row, _)| row.perfetto > 0)?;
            put_row(row, &fields, names, symbols, out);
            row.kind
        }
    })
}

/// The fields of a row by their numbers. Fields without a number are implied by the event's own thread.
fn put_row(row: &Row, fields: &Values, names: &Names, symbols: &mut Symbols, out: &mut Vec<u8>) {
    for number in 1..FIELDS as u8 {
        let of = |(field, _): &(&Field, &u64)| field.perfetto.first() == Some(&number);
        let Some((field, bits)) = row.fields.iter().zip(fields).find(of) else { continue };
        let number = number.into();
        match field.holds {
            Holds::Comm | Holds::Text => put_name(number, Bits::of(*bits), names, out),
            Holds::Function => put_number(number, symbols.number(Bits::of(*bits), names), out),
            Holds::Prio => put_prio(number, Bits::of(*bits), out),
            Holds::Cpu | Holds::Pool => put_cpu(number, Bits::of(*bits), out),
            Holds::Thread | Holds::ThreadIfSaid | Holds::Number | Holds::Long | Holds::Address => {
                put_number(number, *bits, out)
            }
        }
    }
}

fn put_syscall(number: Syscall, out: &mut Vec<u8>) {
    put_number(1, if number == Syscall::OTHER { u64::MAX } else { u64::from(number.0) }, out);
}

fn put_wake(wake: &Wake, kind: Kind, names: &Names, out: &mut Vec<u8>) -> Kind {
    put_thread((1, wake.comm), (2, wake.tid), names, out);
    put_prio(3, wake.prio, out);
    put_cpu(5, wake.target_cpu, out);
    kind
}

/// Name and id, each with its field number.
fn put_thread((name_field, name): (u32, Name), (tid_field, tid): (u32, Tid), names: &Names, out: &mut Vec<u8>) {
    put_name(name_field, name, names, out);
    put_tid(tid_field, tid, out);
}

fn put_tid(field: u32, tid: Tid, out: &mut Vec<u8>) {
    put_number(field, u64::from(tid.0), out);
}

/// Negative 32-bit numbers are written as 64-bit ones.
fn put_cpu(field: u32, cpu: Cpu, out: &mut Vec<u8>) {
    put_number(field, if cpu == Cpu::ANY { u64::MAX } else { u64::from(cpu.0) }, out);
}

fn put_name(field: u32, name: Name, names: &Names, out: &mut Vec<u8>) {
    put_bytes(field, names.text(name).as_bytes(), out);
}

/// Writes nothing if it is unknown.
fn put_prio(field: u32, prio: Prio, out: &mut Vec<u8>) {
    if let Some(prio) = prio.get() {
        put_number(field, i64::from(prio) as u64, out);
    }
}
