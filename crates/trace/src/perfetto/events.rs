//! Decodes one `FtraceEvent` into an event.

use super::schema::{event, kind};
use super::wire::{Fields, Value, numbers};
use crate::event::{Context, Cpu, Prio, Tid, Wake, What, second_argument};
use crate::kind::Kind;
use crate::names::Name;
use crate::record_decoder::Dictionary;
use crate::rows::{Bits, Holds, Row, Values};
use crate::syscall::Syscall;
use std::collections::HashMap;

/// Kernel symbols by packet sequence, and by their number in it.
pub(super) type Symbols = HashMap<u64, HashMap<u64, Name>>;

/// An `FtraceEvent` split into its parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raw<'a> {
    pub(super) ts: u64,
    pub(super) pid: u64,
    pub(super) flags: u64,
    /// Field number and content of the event itself.
    pub(super) what: (u32, &'a [u8]),
}

impl<'a> Raw<'a> {
    /// `None` if it cannot be parsed, or contains no time or no event.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut raw = Raw { ts: 0, pid: 0, flags: 0, what: (0, &[]) };
        let mut has_time = false;
        let mut fields = Fields::of(bytes);
        for (field, value) in fields.by_ref() {
            match (field, value) {
                (event::TIMESTAMP, Value::Number(ts)) => (raw.ts, has_time) = (ts, true),
                (event::PID, Value::Number(pid)) => raw.pid = pid,
                (event::COMMON_FLAGS, Value::Number(flags)) => raw.flags = flags,
                (event::TIMESTAMP | event::PID | event::COMMON_FLAGS, _) | (_, Value::Number(_)) => return None,
                (field, Value::Bytes(bytes)) => raw.what = (field, bytes),
            }
        }
        (!fields.broken && has_time && raw.what.0 > 0).then_some(raw)
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        kind(self.what.0)
    }

    /// The thread that traced it.
    fn pid(&self) -> Option<Tid> {
        Tid::from_raw(self.pid as i64)
    }
}

/// Fields of an event by number; no field that is used has a larger number.
pub(super) const FIELDS: usize = 8;

/// The content of an event.
struct Message<'a> {
    /// The numbers that are there.
    has: [bool; FIELDS],
    numbers: [u64; FIELDS],
    texts: [&'a [u8]; FIELDS],
}

impl<'a> Message<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut message = Self { has: [false; FIELDS], numbers: [0; FIELDS], texts: [&[]; FIELDS] };
        let mut fields = Fields::of(bytes);
        for (field, value) in fields.by_ref().filter(|(field, _)| (*field as usize) < FIELDS) {
            match value {
                Value::Number(number) => {
                    (message.has[field as usize], message.numbers[field as usize]) = (true, number);
                }
                Value::Bytes(text) => message.texts[field as usize] = text,
            }
        }
        (!fields.broken).then_some(message)
    }

    /// A number that every kernel's format has. Recorders write zeros too, so a missing number is an error.
    fn number(&self, field: usize) -> Option<u64> {
        self.has[field].then(|| self.numbers[field])
    }

    fn tid(&self, field: usize) -> Option<Tid> {
        Tid::from_raw(self.number(field)? as i64)
    }

    fn prio(&self, field: usize) -> Prio {
        Prio::from_raw(self.numbers[field] as i64)
    }

    fn cpu(&self, field: usize) -> Option<Cpu> {
        // A 32-bit −1 may be written in four bytes or in eight.
        Cpu::from_raw(i64::from(self.number(field)? as i32))
    }

    fn comm(&self, field: usize, dictionary: &mut Dictionary) -> Name {
        dictionary.names.intern_bytes(self.texts[field])
    }
}

/// What happened; `None` if the content is invalid for the event.
pub(super) fn what(
    raw: &Raw<'_>,
    kind: Kind,
    sequence: u64,
    symbols: &Symbols,
    dictionary: &mut Dictionary,
) -> Option<What> {
    let m = &Message::of(raw.what.1)?;
    Some(match kind {
        Kind::SchedSwitch => What::Switch {
            prev: m.tid(2)?,
            next: m.tid(6)?,
            prev_comm: m.comm(1, dictionary),
            next_comm: m.comm(5, dictionary),
            prev_prio: m.prio(3),
            next_prio: m.prio(7),
            prev_state: dictionary.states.of_raw(m.number(4)?)?,
        },
        Kind::SchedWaking => What::Waking(wake(raw, m, dictionary)?),
        Kind::SchedWakeup => What::Wakeup(wake(raw, m, dictionary)?),
        Kind::SchedWakeupNew => What::WakeupNew(wake(raw, m, dictionary)?),
        Kind::SysEnter => sys_enter(raw, m)?,
        Kind::SysExit => {
            What::SysExit { tid: raw.pid()?, number: Syscall::from_raw(m.number(1)? as i64), ret: m.numbers[2].into() }
        }
        _ => of_row(raw, kind.row(), m, symbols.get(&sequence), dictionary)?,
    })
}

fn wake(raw: &Raw<'_>, m: &Message<'_>, dictionary: &mut Dictionary) -> Option<Wake> {
    Some(Wake {
        tid: m.tid(2)?,
        comm: m.comm(1, dictionary),
        waker: raw.pid()?,
        target_cpu: m.cpu(5)?,
        prio: m.prio(3),
        context: Context::from_common_flags(raw.flags as u8),
    })
}

/// Maps the fields of a row to those of the message.
fn of_row(
    raw: &Raw<'_>,
    row: &Row,
    m: &Message<'_>,
    symbols: Option<&HashMap<u64, Name>>,
    dictionary: &mut Dictionary,
) -> Option<What> {
    let mut fields = Values::default();
    for (field, bits) in row.fields.iter().zip(&mut fields) {
        let number = |at: &&u8| m.has[usize::from(**at)] || !m.texts[usize::from(**at)].is_empty();
        let numbers = field.perfetto;
        let Some(number) = numbers.iter().find(number).or(numbers.last()).map(|at| usize::from(*at)) else {
            *bits = raw.pid()?.bits();
            continue;
        };
        *bits = match field.holds {
            Holds::ThreadIfSaid if !m.has[number] => Tid::IDLE.bits(),
            Holds::Thread | Holds::ThreadIfSaid => m.tid(number)?.bits(),
            Holds::Comm | Holds::Text => m.comm(number, dictionary).bits(),
            Holds::Function => function(m.numbers[number], symbols, dictionary).bits(),
            Holds::Prio => m.prio(number).bits(),
            Holds::Cpu => m.cpu(number)?.bits(),
            Holds::Pool => m.cpu(number).unwrap_or(Cpu::ANY).bits(),
            Holds::Number => (m.number(number)? as u32).bits(),
            Holds::Long | Holds::Address => m.number(number)?,
        };
    }
    What::of(row.kind, fields)
}

/// A symbol's number if the recorder was asked to resolve symbols, otherwise an address, which is a large number.
fn function(number: u64, symbols: Option<&HashMap<u64, Name>>, dictionary: &mut Dictionary) -> Name {
    const LARGEST_SYMBOL: u64 = 1 << 24;
    match (number, symbols.and_then(|symbols| symbols.get(&number))) {
        (_, Some(symbol)) => *symbol,
        (0..LARGEST_SYMBOL, None) => Name::UNKNOWN,
        (address, None) => dictionary.names.address(address),
    }
}

/// Its arguments are one repeated field; older recorders leave them out.
fn sys_enter(raw: &Raw<'_>, m: &Message<'_>) -> Option<What> {
    const ARGS: u32 = 2;
    let mut args = Vec::new();
    Fields::of(raw.what.1).filter(|(field, _)| *field == ARGS).for_each(|(_, value)| numbers(value, &mut args));
    let arg0 = args.first().copied().unwrap_or(u64::MAX).into();
    let arg1 = args.get(1).copied().map_or(u32::MAX, second_argument);
    Some(What::SysEnter { tid: raw.pid()?, number: Syscall::from_raw(m.number(1)? as i64), arg0, arg1 })
}
