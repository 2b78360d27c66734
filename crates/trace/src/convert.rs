//! Converts any trace that can be read into the formats of other tools.

use crate::engine::Engine;
use crate::event::{Cpu, Event, Tid, What};
use crate::info::Origin;
use crate::names::Name;
use crate::perfetto::tracks::WaitTracks;
use crate::perfetto::writer::PerfettoWriter;
use crate::text::writer::TextWriter;
use crate::{Reader, TraceError};
use schedlab_plan::SlowOperation;
use std::io::{self, Write};

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Perfetto's protobuf: what ui.perfetto.dev and its trace processor open.
    Perfetto,
    /// The lines of tracefs' `trace` file.
    Text,
}

/// How many events were converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Converted {
    /// Events written.
    pub written: u64,
    /// Events that the format cannot represent.
    pub left_out: u64,
}

/// Why a conversion ended early.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The file cannot be written.
    #[error("writing failed")]
    Write(#[from] io::Error),
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] schedlab_run::RunError),
}

/// Reads a trace to its end and writes it, in bounded memory. Perfetto's format gets additional tracks: waits as the
/// state machine knows them, missing events, and these `operations` of the traced workload.
pub fn convert(
    reader: &mut Reader,
    target: Target,
    operations: &[SlowOperation],
    out: &mut dyn Write,
) -> Result<Converted, ConvertError> {
    let mut batch = Vec::new();
    let (mut engine, mut waits) = (Engine::default(), WaitTracks::default());
    let mut converted = Converted::default();
    let mut has_untimed_losses = false;
    let mut perfetto = PerfettoWriter::default();
    let mut text = TextWriter::default();
    // Some formats describe the recorder only after their first packets.
    let mut has_batch = reader.next_batch(&mut batch)?;
    let info = reader.info();
    let origin = Origin::of(&info).to_line();
    match target {
        Target::Perfetto => perfetto.begin(&info, &origin, operations, out)?,
        Target::Text => text.begin(&origin, out)?,
    }
    while has_batch {
        let written = match target {
            Target::Perfetto => {
                let classes = reader.states().classes();
                engine.expect(&batch);
                for event in &batch {
                    waits.now = event.ts;
                    engine.take_dyn(event, &classes, &mut waits);
                }
                waits.write(engine.tasks(), reader.names(), out)?;
                perfetto.batch(&batch, reader, out)?
            }
            Target::Text => text.batch(&batch, reader, out)?,
        };
        converted.written += written;
        has_untimed_losses |= batch.iter().any(|e| e.cpu == Cpu::ANY && matches!(e.what, What::WaitsUnknown { .. }));
        // Names from before the trace are in the lines of their threads, and are not events that anyone would miss.
        let are_none = batch.iter().filter(|event| event.what.is_mark() || event.is_from_before()).count();
        converted.left_out += (batch.len() - are_none) as u64 - written;
        has_batch = reader.next_batch(&mut batch)?;
    }
    if target == Target::Perfetto {
        engine.finish_dyn(&mut waits);
        waits.write(engine.tasks(), reader.names(), out)?;
    }
    let notes = reader.problems().notes(has_untimed_losses);
    match target {
        Target::Perfetto => PerfettoWriter::end(&info, &origin, &notes, out)?,
        Target::Text => text.end(&notes, out)?,
    }
    Ok(converted)
}

/// The thread on each CPU, which therefore traces the events there; `None` if no switch shows it.
#[derive(Debug, Default)]
pub(crate) struct Tracers(Vec<Traced>);

/// The thread in whose context an event was traced.
pub(crate) type Traced = Option<(Tid, Name)>;

impl Tracers {
    /// The thread in which each event of a batch was traced. A thread that leaves a CPU was also on it before, back to
    /// the last gap.
    pub(crate) fn of(&mut self, batch: &[Event]) -> Vec<Traced> {
        let cpus = batch.iter().filter(|event| event.cpu != Cpu::ANY).map(|event| usize::from(event.cpu.0) + 1).max();
        self.0.resize(self.0.len().max(cpus.unwrap_or(0)), None);
        let mut leaves = vec![None; self.0.len()];
        let mut traced = vec![None; batch.len()];
        for (event, by) in batch.iter().zip(&mut traced).rev() {
            if let What::Switch { prev, prev_comm, .. } = event.what {
                set(&mut leaves, event.cpu, Some((prev, prev_comm)));
            }
            *by = leaves.get(usize::from(event.cpu.0)).copied().flatten();
            if matches!(event.what, What::GapBegin | What::GapEnd { .. }) {
                set(&mut leaves, event.cpu, None);
            }
        }
        for (event, by) in batch.iter().zip(&mut traced) {
            let on_cpu = self.0.get(usize::from(event.cpu.0)).copied().flatten();
            *by = by_event(event, on_cpu.or(*by));
            match event.what {
                What::Switch { next, next_comm, .. } => set(&mut self.0, event.cpu, Some((next, next_comm))),
                What::GapBegin | What::GapEnd { .. } => set(&mut self.0, event.cpu, None),
                _ => {}
            }
        }
        traced
    }
}

/// Sets what is known about a CPU, or about all of them.
fn set(cpus: &mut [Traced], cpu: Cpu, to: Traced) {
    match cpu {
        Cpu::ANY => cpus.fill(None),
        cpu => cpus[usize::from(cpu.0)] = to,
    }
}

/// The thread that the event itself names if it does, otherwise the one on its CPU.
fn by_event(event: &Event, on_cpu: Traced) -> Traced {
    let named = |tid: Tid| Some(on_cpu.filter(|on_cpu| on_cpu.0 == tid).unwrap_or((tid, Name::UNKNOWN)));
    match event.what {
        What::Switch { prev, prev_comm, .. } => Some((prev, prev_comm)),
        What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) => named(wake.waker),
        What::WorkStarted { worker, .. } | What::WorkEnded { worker, .. } => named(worker),
        What::Fork { parent, .. } => named(parent),
        What::Exit { tid, comm } => Some((tid, comm)),
        // If it names the idle thread, it does not show who traced it.
        What::Comm { tid, comm } if tid != Tid::IDLE => Some((tid, comm)),
        What::Exec { tid, .. } | What::SysEnter { tid, .. } | What::SysExit { tid, .. } => named(tid),
        _ => on_cpu,
    }
}
