//! Perfetto traces, encoded here from tracefs' text of the load: complete ones, and ones with missing parts.

use super::Lab;
use super::row::{Expected, Outcome, compare};
use anyhow::{Result, ensure};
use schedlab_benches::formats::instance::Instance;
use schedlab_benches::formats::lines::{self, Text};
use schedlab_benches::formats::protobuf::{self, Hole, Layout, Mark, SLICES};
use schedlab_benches::formats::reference::Event;
use std::path::Path;

const WHOLE: Layout = Layout { compact: false, compressed: false, sequences: false, hole: None };

/// The middle third of CPU 0.
const fn hole(mark: Mark) -> Layout {
    Layout { hole: Some(Hole { from: SLICES / 3, to: 2 * SLICES / 3, cpu: Some(0), mark }), ..WHOLE }
}

/// The first third of all CPUs, as if a ring had wrapped.
const RING: Hole = Hole { from: 0, to: SLICES / 3, cpu: Some(0), mark: Mark::PacketDropped };

const ROWS: [(&str, Layout, Expected); 16] = [
    ("event by event", WHOLE, Expected::Agree),
    ("compact", Layout { compact: true, ..WHOLE }, Expected::Agree),
    ("compressed packets", Layout { compressed: true, ..WHOLE }, Expected::Agree),
    ("compact, compressed", Layout { compact: true, compressed: true, ..WHOLE }, Expected::Agree),
    ("a sequence for each CPU", Layout { sequences: true, ..WHOLE }, Expected::Agree),
    ("compact, a sequence for each CPU", Layout { compact: true, sequences: true, ..WHOLE }, Expected::Agree),
    ("ring, first part lost", Layout { hole: Some(RING), ..WHOLE }, Expected::ReportLoss),
    ("compact ring, first part lost", Layout { compact: true, hole: Some(RING), ..WHOLE }, Expected::ReportLoss),
    ("lost_events", hole(Mark::LostEvents), Expected::Agree),
    ("compact, lost_events", Layout { compact: true, ..hole(Mark::LostEvents) }, Expected::Agree),
    ("previous_packet_dropped", hole(Mark::PacketDropped), Expected::ReportLoss),
    ("compact, previous_packet_dropped", Layout { compact: true, ..hole(Mark::PacketDropped) }, Expected::ReportLoss),
    ("previous_bundle_end_timestamp", Layout { compact: true, ..hole(Mark::PreviousEnd) }, Expected::Agree),
    ("last_read_event_timestamp", Layout { compact: true, ..hole(Mark::LastRead) }, Expected::Agree),
    ("error of a bundle", Layout { compact: true, ..hole(Mark::Error) }, Expected::ReportLoss),
    ("overruns in FtraceStats", Layout { compact: true, ..hole(Mark::Overrun) }, Expected::ReportLoss),
];

pub(crate) fn rows(lab: &Lab) -> Result<()> {
    for (options, layout, must) in ROWS {
        lab.row(["Perfetto", "encoded here", options], |file| row(lab, layout, must, file));
    }
    Ok(())
}

fn row(lab: &Lab, layout: Layout, must: Expected, file: &Path) -> Result<Outcome> {
    let events = recorded(lab)?;
    let (trace, kept) = protobuf::encode(&events, layout);
    std::fs::write(file, trace)?;
    // If a part is missing, no wait may be longer than in the whole trace.
    let mut text = Text::of(kept);
    if must == Expected::ReportLoss {
        text.events = events;
    }
    compare(lab, file, &text, must)
}

/// Events of the load, in ns: events in the same microsecond get different nanoseconds.
pub(crate) fn recorded(lab: &Lab) -> Result<Vec<Event>> {
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
