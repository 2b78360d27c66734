//! Perfetto traces, encoded here from tracefs' text of the load: complete ones, and ones with missing parts.

use super::Lab;
use super::row::{Must, Outcome, compare};
use anyhow::{Result, ensure};
use schedlab_benches::formats::instance::Instance;
use schedlab_benches::formats::lines::{self, Text};
use schedlab_benches::formats::protobuf::{self, Hole, Layout, Mark, SLICES};
use schedlab_benches::formats::reference::Happened;
use std::path::Path;

const WHOLE: Layout = Layout { compact: false, compressed: false, sequences: false, hole: None };

/// The middle third of CPU 0.
const fn hole(mark: Mark) -> Layout {
    Layout { hole: Some(Hole { from: SLICES / 3, to: 2 * SLICES / 3, cpu: Some(0), mark }), ..WHOLE }
}

/// The first third of all CPUs, as if a ring had wrapped.
const RING: Hole = Hole { from: 0, to: SLICES / 3, cpu: Some(0), mark: Mark::PacketDropped };

const ROWS: [(&str, Layout, Must); 16] = [
    ("event by event", WHOLE, Must::Agree),
    ("compact", Layout { compact: true, ..WHOLE }, Must::Agree),
    ("compressed packets", Layout { compressed: true, ..WHOLE }, Must::Agree),
    ("compact, compressed", Layout { compact: true, compressed: true, ..WHOLE }, Must::Agree),
    ("a sequence for each CPU", Layout { sequences: true, ..WHOLE }, Must::Agree),
    ("compact, a sequence for each CPU", Layout { compact: true, sequences: true, ..WHOLE }, Must::Agree),
    ("ring, first part lost", Layout { hole: Some(RING), ..WHOLE }, Must::TellLoss),
    ("compact ring, first part lost", Layout { compact: true, hole: Some(RING), ..WHOLE }, Must::TellLoss),
    ("lost_events", hole(Mark::LostEvents), Must::Agree),
    ("compact, lost_events", Layout { compact: true, ..hole(Mark::LostEvents) }, Must::Agree),
    ("previous_packet_dropped", hole(Mark::PacketDropped), Must::TellLoss),
    ("compact, previous_packet_dropped", Layout { compact: true, ..hole(Mark::PacketDropped) }, Must::TellLoss),
    ("previous_bundle_end_timestamp", Layout { compact: true, ..hole(Mark::PreviousEnd) }, Must::Agree),
    ("last_read_event_timestamp", Layout { compact: true, ..hole(Mark::LastRead) }, Must::Agree),
    ("error of a bundle", Layout { compact: true, ..hole(Mark::Error) }, Must::TellLoss),
    ("overruns in FtraceStats", Layout { compact: true, ..hole(Mark::Overrun) }, Must::TellLoss),
];

pub(crate) fn rows(lab: &Lab) -> Result<()> {
    for (options, layout, must) in ROWS {
        lab.row(["Perfetto", "encoded here", options], |file| row(lab, layout, must, file));
    }
    Ok(())
}

fn row(lab: &Lab, layout: Layout, must: Must, file: &Path) -> Result<Outcome> {
    let events = recorded(lab)?;
    let (trace, kept) = protobuf::encode(&events, layout);
    std::fs::write(file, trace)?;
    // If a part is missing, no wait may be longer than in the whole trace.
    let mut text = Text::of(kept);
    if must == Must::TellLoss {
        text.events = events;
    }
    compare(lab, file, &text, must)
}

/// Events of the load, in ns: events in the same microsecond get different nanoseconds.
pub(crate) fn recorded(lab: &Lab) -> Result<Vec<Happened>> {
    let instance = Instance::new()?;
    instance.record("mono", || lab.run_load())?;
    let mut text = lines::parse(&instance.read("trace")?);
    ensure!(text.lost == 0 && !text.events.is_empty(), "the kernel lost events");
    let mut last = 0;
    for event in &mut text.events {
        last = event.ts.max(last + 1);
        event.ts = last;
    }
    Ok(text.events)
}
