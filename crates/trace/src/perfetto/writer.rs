//! Events as a Perfetto trace: bundles of ftrace events CPU by CPU, and additional tracks of our own. States are
//! written with the numbers of 4.14, whichever kernel traced, and the release says so: without one, Perfetto assumes
//! those of 4.4. Times are written as those of the default clock, because without clock snapshots Perfetto opens no
//! other. The original release and clock are in the `version` of `uname`.

use super::encode::{Symbols, encode};
use super::schema::{PACKET, bundle, event as raw, field, packet};
use super::tracks;
use super::wire::{put_bytes, put_number};
use crate::Reader;
use crate::convert::Tracers;
use crate::event::{Cpu, Event, Missing, Tid, What};
use crate::info::TraceInfo;
use schedlab_plan::SlowOperation;
use std::io::{self, Write};

/// The release if the trace has none, or one whose states have other numbers.
const RELEASE: &str = "4.14.0";

/// All packets belong to one sequence.
const SEQUENCE: u64 = 1;

/// Writes packets.
#[derive(Debug, Default)]
pub(crate) struct PerfettoWriter {
    tracers: Tracers,
    symbols: Symbols,
    lanes: Vec<WrittenCpu>,
}

/// A CPU.
#[derive(Debug, Default)]
struct WrittenCpu {
    /// Encoded events of the next bundle.
    events: Vec<u8>,
    /// Whether events before the bundle are missing.
    lost: bool,
    gap_since: Option<u64>,
    has_track: bool,
}

impl PerfettoWriter {
    pub(crate) fn begin(
        &mut self,
        info: &TraceInfo,
        origin: &str,
        operations: &[SlowOperation],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut body = system_info(info, origin);
        // Nothing is missing before it, and everything that packets refer to comes after it.
        put_number(packet::FIRST_PACKET_ON_SEQUENCE, 1, &mut body);
        put_number(packet::SEQUENCE_FLAGS, packet::STATE_CLEARED, &mut body);
        write_packet(body, out)?;
        tracks::operations(operations, out)
    }

    /// Writes what must be known about the source, a line each.
    pub(crate) fn end(info: &TraceInfo, origin: &str, notes: &[String], out: &mut dyn Write) -> io::Result<()> {
        if notes.is_empty() {
            return Ok(());
        }
        write_packet(system_info(info, &format!("{origin}\n{}", notes.join("\n"))), out)
    }

    /// Writes events; returns how many of them the schema has.
    pub(crate) fn batch(&mut self, events: &[Event], reader: &Reader, out: &mut dyn Write) -> io::Result<u64> {
        let mut written = 0;
        let mut content = Vec::new();
        for (event, traced) in events.iter().zip(self.tracers.of(events)) {
            // The schema cannot express an unknown thread.
            let tid = traced.map_or(Tid::IDLE, |(tid, _)| tid);
            if event.cpu == Cpu::ANY {
                if let What::GapEnd { missing: Missing::Lost, .. } = event.what {
                    self.lost_anywhere(out)?;
                }
                continue;
            }
            let at = usize::from(event.cpu.0);
            if at >= self.lanes.len() {
                self.lanes.resize_with(at + 1, WrittenCpu::default);
            }
            match event.what {
                What::GapBegin => self.lanes[at].gap_since = Some(event.ts),
                What::GapEnd { missing, lost } => self.gap(event, missing, lost, out)?,
                _ => {}
            }
            content.clear();
            let Some(kind) = encode(&event.what, reader, &mut self.symbols, &mut content) else { continue };
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

    /// A loss ends a bundle: the next one is marked to show that events before it are missing.
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
        self.symbols.write(out)?;
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

/// The packet that names the kernel, with a text as its version.
fn system_info(info: &TraceInfo, text: &str) -> Vec<u8> {
    const UTSNAME: u32 = 1;
    let mut numbers = info.release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse::<u32>().ok());
    let version = numbers.next().zip(numbers.next());
    let release = if version.is_some_and(|version| version >= (4, 14)) { &info.release } else { RELEASE };
    let mut utsname = Vec::new();
    for (field, text) in [(1, "Linux"), (2, text), (3, release), (4, &info.arch)] {
        put_bytes(field, text.as_bytes(), &mut utsname);
    }
    let mut system = Vec::new();
    put_bytes(UTSNAME, &utsname, &mut system);
    let mut body = Vec::new();
    put_bytes(packet::SYSTEM_INFO, &system, &mut body);
    body
}
