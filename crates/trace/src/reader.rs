//! One reader over all formats: which one a file is, told by its first bytes, and its events in batches.

use crate::bytes::Input;
use crate::event::Event;
use crate::info::TraceInfo;
use crate::kind::Kinds;
use crate::names::Names;
use crate::perf_data::{self, PerfData};
use crate::prev_state::PrevStates;
use crate::problem::Problems;
use crate::recording::{self, RecordingReader};
use crate::text::{self, Text};
use crate::trace_dat::TraceDat;
use crate::tracing_data;
use crate::{ByteSource, TraceError};

/// A trace that is being read. Memory stays bounded whatever the file holds: see [`crate::order`] for how much.
pub struct Reader(Format);

enum Format {
    PerfData(Box<PerfData>),
    Recording(Box<RecordingReader>),
    Text(Box<Text>),
    TraceDat(Box<TraceDat>),
}

impl Reader {
    /// Looks at the first bytes and reads the header. `file` is the name that messages use; only events of `wanted` kinds
    /// are decoded.
    pub fn open(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Result<Self, TraceError> {
        let input = Input::new(file, source);
        let mut head = [0; 4096];
        let read = input.read(0, &mut head)?;
        let head = &head[..read];
        if head.is_empty() {
            return Err(TraceError::Empty { file: file.to_owned() });
        }
        let mut swapped = perf_data::MAGIC;
        swapped.reverse();
        if head.starts_with(&perf_data::MAGIC) || head.starts_with(&swapped) {
            let reader = PerfData::open(file, input.source, wanted)?;
            return Ok(Self(Format::PerfData(Box::new(reader))));
        }
        if head.starts_with(&recording::MAGIC) {
            let reader = RecordingReader::open(file, input.source, wanted)?;
            return Ok(Self(Format::Recording(Box::new(reader))));
        }
        if head.starts_with(&tracing_data::MAGIC) {
            return Ok(Self(Format::TraceDat(Box::new(TraceDat::open(file, input.source, wanted)?))));
        }
        if text::recognise(head) {
            return Ok(Self(Format::Text(Box::new(Text::open(file, input.source, wanted)))));
        }
        Err(TraceError::NotATrace { file: file.to_owned(), begins: crate::error::begins(head) })
    }

    /// The next events in the order of time, into `out`, which is emptied; false at the end.
    pub fn next_batch(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        match &mut self.0 {
            Format::PerfData(reader) => reader.next_batch(out),
            Format::Recording(reader) => reader.next_batch(out),
            Format::Text(reader) => reader.next_batch(out),
            Format::TraceDat(reader) => reader.next_batch(out),
        }
    }

    /// What the trace says about itself; counts of events are those read so far.
    pub fn info(&self) -> TraceInfo {
        match &self.0 {
            Format::PerfData(reader) => reader.info(),
            Format::Recording(reader) => reader.info(),
            Format::Text(reader) => reader.info(),
            Format::TraceDat(reader) => reader.info(),
        }
    }

    /// The texts of the names in its events.
    pub fn names(&self) -> &Names {
        match &self.0 {
            Format::PerfData(reader) => reader.names(),
            Format::Recording(reader) => reader.names(),
            Format::Text(reader) => reader.names(),
            Format::TraceDat(reader) => reader.names(),
        }
    }

    /// The letters of the states in its events.
    pub fn states(&self) -> &PrevStates {
        match &self.0 {
            Format::PerfData(reader) => reader.states(),
            Format::Recording(reader) => reader.states(),
            Format::Text(reader) => reader.states(),
            Format::TraceDat(reader) => reader.states(),
        }
    }

    /// What was wrong so far.
    pub fn problems(&self) -> &Problems {
        match &self.0 {
            Format::PerfData(reader) => reader.problems(),
            Format::Recording(reader) => reader.problems(),
            Format::Text(reader) => reader.problems(),
            Format::TraceDat(reader) => reader.problems(),
        }
    }

    /// What only a recording of schedlab has: its threads at start and end, its formats, its sums.
    pub fn recording(&self) -> Option<&RecordingReader> {
        match &self.0 {
            Format::Recording(reader) => Some(reader),
            _ => None,
        }
    }
}
