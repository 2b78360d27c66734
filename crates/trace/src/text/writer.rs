//! Writes events as the lines of tracefs' `trace` file, in the wording of the kernel's print formats, with nanoseconds.

use super::payload_of;
use crate::Reader;
use crate::convert::Tracers;
use crate::event::{Context, Cpu, Event, Missing, Tid, What};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes lines.
#[derive(Debug, Default)]
pub(crate) struct TextWriter {
    tracers: Tracers,
    /// Those that had an event.
    cpus: BTreeSet<Cpu>,
}

impl TextWriter {
    /// `origin`: a line about the source of the conversion.
    pub(crate) fn begin(&mut self, origin: &str, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "# tracer: nop\n# {origin}\n#")
    }

    /// Writes what must be known about the source.
    pub(crate) fn end(&self, notes: &[String], out: &mut dyn Write) -> io::Result<()> {
        notes.iter().try_for_each(|note| writeln!(out, "# {note}"))
    }

    /// Writes events; returns for how many of them there is a line.
    pub(crate) fn batch(&mut self, events: &[Event], reader: &Reader, out: &mut dyn Write) -> io::Result<u64> {
        let mut written = 0;
        for (event, traced) in events.iter().zip(self.tracers.of(events)) {
            if let What::GapEnd { missing: Missing::Lost, lost } = event.what {
                self.lost(event.cpu, lost, out)?;
                continue;
            }
            // A line contains the CPU. Names of threads from before the trace have none, nor do perf's records without
            // one.
            if event.cpu == Cpu::ANY {
                continue;
            }
            self.cpus.insert(event.cpu);
            let Some((name, payload)) = payload_of(&event.what, reader.names(), reader.states()) else { continue };
            // An unknown thread has no name and, because every reader of such lines expects a number, the number 0.
            let (tid, comm) = match traced {
                Some((Tid::IDLE, _)) => (0, "<idle>"),
                Some((tid, comm)) => {
                    (tid.0, Some(reader.names().text(comm)).filter(|c| !c.is_empty()).unwrap_or("<...>"))
                }
                None => (0, "<...>"),
            };
            let (s, ns) = (event.ts / 1_000_000_000, event.ts % 1_000_000_000);
            let (cpu, flags) = (event.cpu.0, flags(&event.what));
            writeln!(out, "{comm:>16}-{tid:<7} [{cpu:03}] {flags} {s:>5}.{ns:09}: {name}: {payload}")?;
            written += 1;
        }
        Ok(written)
    }
}

impl TextWriter {
    /// A loss on an unknown CPU may have been on any.
    fn lost(&self, cpu: Cpu, lost: u32, out: &mut dyn Write) -> io::Result<()> {
        match (cpu, lost) {
            (Cpu::ANY, _) => self.cpus.iter().try_for_each(|cpu| writeln!(out, "CPU:{} [EVENTS DROPPED]", cpu.0)),
            (cpu, 0) => writeln!(out, "CPU:{} [EVENTS DROPPED]", cpu.0),
            (cpu, lost) => writeln!(out, "CPU:{} [LOST {lost} EVENTS]", cpu.0),
        }
    }
}

/// The context, as the third character; the others are not in the model.
fn flags(what: &What) -> &'static str {
    let context = match what {
        What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) => wake.context,
        _ => Context::NONE,
    };
    match (context.is_hard(), context.is_interrupt()) {
        (true, _) => "..h..",
        (_, true) => "..s..",
        _ => ".....",
    }
}
