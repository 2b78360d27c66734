//! The content of events in the words of Perfetto's schema.

use super::schema::packet;
use super::wire::{put_bytes, put_number};
use super::writer::write_packet;
use crate::Reader;
use crate::event::{Cpu, Prio, Tid, Wake, What};
use crate::kind::Kind;
use crate::names::{Name, Names};
use crate::prev_state::StateBits;
use crate::syscall::Syscall;
use std::collections::HashMap;
use std::io::{self, Write};

/// Kernel symbols by the numbers that stand for them in events.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    numbers: HashMap<Name, u64>,
    /// Those that are not written yet, as `InternedData`.
    new: Vec<u8>,
}

impl Symbols {
    /// The number of a function: of its symbol, counted from 1, or its address, where the trace had no more.
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

    /// Writes those that bundles to come refer to.
    pub(super) fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.new.is_empty() {
            return Ok(());
        }
        let mut body = Vec::new();
        put_bytes(packet::INTERNED_DATA, &std::mem::take(&mut self.new), &mut body);
        write_packet(body, out)
    }
}

/// The content of an event and what it is; `None` for what the schema does not have.
pub(super) fn encode(what: &What, reader: &Reader, symbols: &mut Symbols, out: &mut Vec<u8>) -> Option<Kind> {
    let names = reader.names();
    Some(match *what {
        What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } => {
            // A state that newer kernels do not have is written as parked: off the CPU, and for no other reason here.
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
        What::IrqEntry { irq, name } => {
            put_number(1, u64::from(irq), out);
            put_name(2, name, names, out);
            Kind::IrqHandlerEntry
        }
        What::IrqExit { irq } => put_one(1, u64::from(irq), Kind::IrqHandlerExit, out),
        What::SoftirqRaise { vec } => put_one(1, u64::from(vec), Kind::SoftirqRaise, out),
        What::SoftirqEntry { vec } => put_one(1, u64::from(vec), Kind::SoftirqEntry, out),
        What::SoftirqExit { vec } => put_one(1, u64::from(vec), Kind::SoftirqExit, out),
        What::CpuIdle { state, cpu } => {
            put_number(1, u64::from(state), out);
            put_cpu(2, cpu, out);
            Kind::CpuIdle
        }
        _ => return encode_work(what, names, symbols, out).or_else(|| encode_thread(what, names, out)),
    })
}

/// What happens to a work item. Which kworker executes it, the event's own thread says.
fn encode_work(what: &What, names: &Names, symbols: &mut Symbols, out: &mut Vec<u8>) -> Option<Kind> {
    let (kind, work, function) = match *what {
        What::WorkQueued { work, function, .. } => (Kind::WorkqueueQueueWork, work, function),
        What::WorkActivated { work, function } => (Kind::WorkqueueActivateWork, work, function),
        What::WorkStarted { work, function, .. } => (Kind::WorkqueueExecuteStart, work, function),
        What::WorkEnded { work, function, .. } => (Kind::WorkqueueExecuteEnd, work, function),
        _ => return None,
    };
    put_number(1, work.get(), out);
    put_number(2, symbols.number(function, names), out);
    if let What::WorkQueued { workqueue, cpu, .. } = *what {
        put_cpu(5, cpu, out);
        put_name(6, workqueue, names, out);
    }
    Some(kind)
}

/// What happens to a thread beside switches and wakeups.
fn encode_thread(what: &What, names: &Names, out: &mut Vec<u8>) -> Option<Kind> {
    Some(match *what {
        What::Migrate { tid, comm, prio, orig_cpu, dest_cpu } => {
            put_thread((1, comm), (2, tid), names, out);
            put_prio(3, prio, out);
            put_cpu(4, orig_cpu, out);
            put_cpu(5, dest_cpu, out);
            Kind::SchedMigrateTask
        }
        What::PiSetprio { tid, comm, oldprio, newprio } => {
            put_name(1, comm, names, out);
            put_prio(2, newprio, out);
            put_prio(3, oldprio, out);
            put_tid(4, tid, out);
            Kind::SchedPiSetprio
        }
        What::Fork { parent, child, comm } => {
            put_tid(2, parent, out);
            put_thread((3, comm), (4, child), names, out);
            Kind::SchedProcessFork
        }
        What::Exit { tid, comm } => {
            put_thread((1, comm), (2, tid), names, out);
            Kind::SchedProcessExit
        }
        What::Exec { tid, old_tid } => {
            put_tid(2, tid, out);
            put_tid(3, old_tid, out);
            Kind::SchedProcessExec
        }
        What::Comm { tid, comm } => {
            put_tid(1, tid, out);
            put_name(3, comm, names, out);
            Kind::TaskRename
        }
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
        What::CgroupAttach { tid, comm, dst_root, dst_path } => {
            put_number(1, u64::from(dst_root), out);
            put_tid(3, tid, out);
            put_name(4, comm, names, out);
            put_name(7, dst_path, names, out);
            Kind::CgroupAttachTask
        }
        // Run times are not in the schema; gaps are slices.
        _ => return None,
    })
}

fn put_syscall(number: Syscall, out: &mut Vec<u8>) {
    put_number(1, if number == Syscall::OTHER { u64::MAX } else { u64::from(number.0) }, out);
}

fn put_one(field: u32, number: u64, kind: Kind, out: &mut Vec<u8>) -> Kind {
    put_number(field, number, out);
    kind
}

fn put_wake(wake: &Wake, kind: Kind, names: &Names, out: &mut Vec<u8>) -> Kind {
    put_thread((1, wake.comm), (2, wake.tid), names, out);
    put_prio(3, wake.prio, out);
    put_cpu(5, wake.target_cpu, out);
    kind
}

/// Name and id, each with its field.
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

/// Nothing where it is not known.
fn put_prio(field: u32, prio: Prio, out: &mut Vec<u8>) {
    if let Some(prio) = prio.get() {
        put_number(field, i64::from(prio) as u64, out);
    }
}
