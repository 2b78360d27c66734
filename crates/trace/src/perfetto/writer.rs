//! Events as a Perfetto trace: bundles of ftrace events CPU by CPU, and tracks of our own beside them. States are written in the numbers of 4.14, whatever kernel traced, and the release says so.

use super::schema::{PACKET, bundle, event as raw, field, packet};
use super::tracks;
use super::wire::{put_bytes, put_number};
use crate::Reader;
use crate::convert::Tracers;
use crate::event::{Cpu, Event, Missing, Prio, Tid, Wake, What};
use crate::info::TraceInfo;
use crate::kind::Kind;
use crate::names::{Name, Names};
use crate::prev_state::StateBits;
use crate::syscall::Syscall;
use schedlab_run::SlowOperation;
use std::io::{self, Write};

/// The release where the trace does not say, or says one whose states had other numbers.
const RELEASE: &str = "4.14.0";

/// All packets are of one sequence.
const SEQUENCE: u64 = 1;

/// Writes packets.
#[derive(Debug, Default)]
pub(crate) struct PerfettoWriter {
    tracers: Tracers,
    lanes: Vec<Lane>,
}

/// A CPU.
#[derive(Debug, Default)]
struct Lane {
    /// Events of the bundle to come, encoded.
    events: Vec<u8>,
    /// Events before the bundle are missing.
    lost: bool,
    gap_since: Option<u64>,
    has_track: bool,
}

impl PerfettoWriter {
    pub(crate) fn begin(
        &mut self,
        info: &TraceInfo,
        operations: &[SlowOperation],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        const UTSNAME: u32 = 1;
        let mut numbers = info.release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse::<u32>().ok());
        let version = numbers.next().zip(numbers.next());
        let release = if version.is_some_and(|version| version >= (4, 14)) { &info.release } else { RELEASE };
        let mut utsname = Vec::new();
        for (field, text) in [(1, "Linux"), (3, release), (4, &info.arch)] {
            put_bytes(field, text.as_bytes(), &mut utsname);
        }
        let mut system = Vec::new();
        put_bytes(UTSNAME, &utsname, &mut system);
        let mut body = Vec::new();
        put_bytes(packet::SYSTEM_INFO, &system, &mut body);
        write_packet(body, out)?;
        tracks::operations(operations, out)
    }

    /// Writes events; how many the schema has.
    pub(crate) fn batch(&mut self, events: &[Event], reader: &Reader, out: &mut dyn Write) -> io::Result<u64> {
        let mut written = 0;
        let mut content = Vec::new();
        for (event, traced) in events.iter().zip(self.tracers.of(events)) {
            // The schema has no word for a thread that is not known.
            let tid = traced.map_or(Tid::IDLE, |(tid, _)| tid);
            if event.cpu == Cpu::ANY {
                if let What::GapEnd { missing: Missing::Lost, .. } = event.what {
                    self.lost_anywhere(out)?;
                }
                continue;
            }
            let at = usize::from(event.cpu.0);
            if at >= self.lanes.len() {
                self.lanes.resize_with(at + 1, Lane::default);
            }
            match event.what {
                What::GapBegin => self.lanes[at].gap_since = Some(event.ts),
                What::GapEnd { missing, lost } => self.gap(event, missing, lost, out)?,
                _ => {}
            }
            content.clear();
            let Some(kind) = encode(&event.what, reader, &mut content) else { continue };
            let Some(field) = field(kind) else { continue };
            let mut whole = Vec::with_capacity(content.len() + 24);
            put_number(raw::TIMESTAMP, event.ts, &mut whole);
            put_number(raw::PID, u64::from(tid.0), &mut whole);
            if let What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) = event.what
                && wake.context.is_interrupt()
            {
                put_number(raw::COMMON_FLAGS, u64::from(wake.context.bits()), &mut whole);
            }
            put_bytes(field, &content, &mut whole);
            put_bytes(bundle::EVENT, &whole, &mut self.lanes[at].events);
            written += 1;
        }
        (0..self.lanes.len()).try_for_each(|cpu| self.end_bundle(cpu, out))?;
        Ok(written)
    }

    /// A loss ends a bundle: the next one says that events before it are missing.
    fn gap(&mut self, event: &Event, missing: Missing, lost: u32, out: &mut dyn Write) -> io::Result<()> {
        let at = usize::from(event.cpu.0);
        if missing == Missing::Lost {
            self.end_bundle(at, out)?;
            self.lanes[at].lost = true;
        }
        let lane = &mut self.lanes[at];
        let since = lane.gap_since.take().unwrap_or(event.ts);
        let uuid = 1 + u64::from(event.cpu.0);
        if !std::mem::replace(&mut lane.has_track, true) {
            tracks::describe(uuid, &format!("CPU {}: events missing", event.cpu.0), None, out)?;
        }
        let why = match (missing, lost) {
            (Missing::Lost, 0) => "lost".to_owned(),
            (Missing::Lost, lost) => format!("{lost} lost"),
            (Missing::Chain, _) => "a switch away from a thread that was not on the CPU".to_owned(),
            (Missing::Clock, _) => "the clock went back".to_owned(),
        };
        tracks::slice(uuid, &why, (since, event.ts), out)
    }

    /// A loss on an unknown CPU may have been on any.
    fn lost_anywhere(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for cpu in 0..self.lanes.len() {
            self.end_bundle(cpu, out)?;
            self.lanes[cpu].lost = true;
        }
        Ok(())
    }

    fn end_bundle(&mut self, cpu: usize, out: &mut dyn Write) -> io::Result<()> {
        let lane = &mut self.lanes[cpu];
        if lane.events.is_empty() {
            return Ok(());
        }
        let mut whole = Vec::with_capacity(lane.events.len() + 8);
        put_number(bundle::CPU, cpu as u64, &mut whole);
        if std::mem::take(&mut lane.lost) {
            put_number(bundle::LOST_EVENTS, 1, &mut whole);
        }
        whole.append(&mut lane.events);
        let mut body = Vec::with_capacity(whole.len() + 8);
        put_bytes(packet::FTRACE_EVENTS, &whole, &mut body);
        write_packet(body, out)
    }
}

pub(super) fn write_packet(mut body: Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    put_number(packet::SEQUENCE, SEQUENCE, &mut body);
    let mut whole = Vec::with_capacity(body.len() + 8);
    put_bytes(PACKET, &body, &mut whole);
    out.write_all(&whole)
}

/// The content of an event and what it is; `None` for what the schema does not have.
fn encode(what: &What, reader: &Reader, out: &mut Vec<u8>) -> Option<Kind> {
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
        _ => return encode_thread(what, names, out),
    })
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
        // Functions of work items are symbols by number there; run times are not in the schema; gaps are slices.
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
