//! perf.data, as written by `perf record` and `perf sched record`: a file, or what `-o -` writes into a pipe; plain or
//! compressed (`-z`). Layout: tools/perf/Documentation/perf.data-file-format.txt and include/uapi/linux/perf_event.h in
//! the kernel.

mod attr;
mod cgroups;
mod coverage;
mod header;
mod inflate;
mod parts;
mod records;
mod shape;
mod sources;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod written;

use crate::bytes::{Cursor, Input};
use crate::event::Cpu;
use crate::info::TraceInfo;
use crate::kind::{Kind, Kinds};
use crate::order::{Merging, Order};
use crate::pieces::Helper;
use crate::problem::{ProblemKind, Problems};
use crate::reader::TraceSource;
use crate::record_decoder::Dictionary;
use crate::section::Window;
use crate::tracing_data::TracingData;
use crate::{ByteSource, TraceError};
use attr::Attr;
pub use cgroups::SeenCgroups;
use header::{About, Header};
pub(crate) use header::{is_stream, recognise};
use parts::Parts;
use records::{HeaderPiece, Records, Step};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest formats in a pipe that are read.
const LONGEST_TRACING: u64 = 64 << 20;

/// Records of a perf.data file, as perf counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// All of them, whatever their type.
    pub records: u64,
    /// Lost events, as reported by the kernel.
    pub lost: u64,
    /// Records with such reports.
    pub losses: u64,
}

/// A perf.data file or stream that is being read.
pub(crate) struct PerfData {
    input: Arc<Input>,
    window: Window,
    records: Records,
    is_pipe: bool,
    attrs: Vec<Attr>,
    tracing: Option<TracingData>,
    about: About,
    /// The files that perf's threads wrote, if there are any.
    parts: Option<Parts>,
}

impl PerfData {
    /// Reads the header; records follow in batches. `parts` are the files of `perf record --threads`; `source` is the
    /// file with the header.
    pub(crate) fn open(
        file: &str,
        source: Box<dyn ByteSource>,
        parts: Vec<Box<dyn ByteSource>>,
        wanted: Kinds,
    ) -> Result<Self, TraceError> {
        let input = Arc::new(Input::new(file, source));
        let header = Header::read(&input)?;
        let (at, end) = header.data;
        // perf writes the size when it ends; if it was killed, there is no size, and no formats follow.
        let end = if end == at { input.source.size().unwrap_or(u64::MAX) } else { end };
        let mut records = Records::new(header.big_endian, wanted);
        for why in header.skipped {
            records.problems.add(ProblemKind::SkippedPart, || why);
        }
        let mut reader = Self {
            window: Window::new(&input, at, end),
            input,
            records,
            is_pipe: header.is_pipe,
            attrs: header.attrs,
            tracing: header.tracing,
            about: header.about,
            parts: (!parts.is_empty()).then(|| Parts::new(file, parts)),
        };
        if !reader.is_pipe {
            reader.describe()?;
        }
        Ok(reader)
    }

    /// Combines events and formats, and refuses what no analysis can use.
    fn describe(&mut self) -> Result<(), TraceError> {
        let empty = TracingData::default();
        let tracing = self.tracing.as_ref().unwrap_or(&empty);
        self.records.describe(&self.attrs, tracing);
        if self.tracing.is_none() && self.attrs.iter().any(|a| a.kind == attr::TRACEPOINT) {
            let what = "the formats of the events are missing: perf ended before it wrote them, by an error or killed";
            let fix = "record again and end perf with Ctrl-C";
            return Err(self.input.unsupported(self.window.offset(), what, fix));
        }
        if self.records.sources.kinds() == Kinds::default() {
            let names: Vec<&str> =
                self.records.sources.counts().map(|c| c.0).filter(|n| !n.is_empty()).take(5).collect();
            let has = if names.is_empty() { "none of its events is a tracepoint".into() } else { names.join(", ") };
            return Err(TraceError::NoSchedEvents { file: self.input.file.clone(), has });
        }
        match self.records.sources.unfit() {
            Some((what, fix)) => Err(self.input.unsupported(self.window.offset(), what, fix)),
            None => Ok(()),
        }
    }

    /// The end of the file; its parts are read after it.
    fn end(&mut self) -> Result<(), TraceError> {
        let (left, at) = (self.window.bytes().len(), self.window.offset());
        if left > 0 {
            self.records.problems.add(ProblemKind::Truncated, || {
                format!("byte {at}: the records end inside one, of which {left} bytes are there")
            });
        }
        if self.is_pipe {
            // If a stream has not described something by now, it is missing.
            self.describe_pipe()?;
        }
        match &mut self.parts {
            Some(parts) => {
                parts.have_begun = true;
                Ok(())
            }
            None => self.finish(),
        }
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        self.records.finish(self.about.cpus);
        self.has_samples()
    }

    /// An error if events were asked for, but none occurred, got into the file or could be read.
    fn has_samples(&mut self) -> Result<(), TraceError> {
        const UNREAD: [ProblemKind; 3] = [ProblemKind::Truncated, ProblemKind::BadRecord, ProblemKind::SkippedPart];
        let Records { sources, problems, .. } = &mut self.records;
        if sources.counts().any(|(_, samples)| samples > 0) {
            if sources.lose_wakings() {
                problems.add(ProblemKind::Recording, || {
                    "sched:sched_waking was recorded and not one of it is in the file: waits after wakeups begin at \
                     sched_wakeup, if that is there"
                        .into()
                });
            }
            if sources.samples(Kind::SchedSwitch) == Some(0) {
                problems.add(ProblemKind::Recording, || {
                    "sched:sched_switch was recorded and not one of it is in the file: nothing is known about tasks"
                        .into()
                });
            }
            return Ok(());
        }
        let names: Vec<&str> = sources.counts().map(|c| c.0).filter(|n| !n.is_empty()).take(5).collect();
        let of = if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) };
        let unread = problems.all().find(|problem| UNREAD.contains(&problem.kind));
        let why = unread.map_or_else(String::new, |problem| format!(" could be read: {problem}"));
        let has = format!("not one sample{of}{why}");
        Err(TraceError::NoSchedEvents { file: self.input.file.clone(), has })
    }

    /// An error if compressed records cannot be read, because the file then contains nothing to show.
    fn refuse_unreadable(&self, offset: u64) -> Result<(), TraceError> {
        match &self.records.unreadable {
            Some(why) if self.records.sources.counts().all(|(_, samples)| samples == 0) => {
                Err(self.input.unsupported(offset, why.clone(), "record again without -z"))
            }
            _ => Ok(()),
        }
    }

    fn describe_pipe(&mut self) -> Result<(), TraceError> {
        if self.attrs.is_empty() {
            return Err(self.input.malformed(16, "a stream without an event", "records of perf's pipe mode"));
        }
        if self.tracing.is_none() || self.records.sources.kinds() == Kinds::default() {
            self.describe()
        } else {
            Ok(())
        }
    }

    /// Takes a record of a stream that corresponds to a part of a file's header; it ends `read` bytes into the window.
    fn header_piece(&mut self, piece: HeaderPiece, read: usize, offset: u64) -> Result<(), TraceError> {
        let big_endian = self.records.big_endian();
        let body = |window: &Window, from: usize| window.bytes()[from..read].to_vec();
        let part = |bytes: Vec<u8>| {
            let (base, size) = (offset + (read - bytes.len()) as u64, bytes.len() as u64);
            (Input::part(&self.input.file, base, bytes), size)
        };
        match piece {
            HeaderPiece::Attr { size } => {
                let (input, size) = part(body(&self.window, read - size + 8));
                self.window.consume(read);
                let mut cursor = Cursor::new(&input, 0, size, big_endian);
                let mut attr = Attr::read(&mut cursor, size)?;
                while cursor.left() >= 8 {
                    attr.ids.push(cursor.u64("the id of an event")?);
                }
                if self.attrs.len() < usize::from(u16::MAX - 1) {
                    self.attrs.push(attr);
                }
            }
            HeaderPiece::Feature { number, size } => {
                let (input, size) = part(body(&self.window, read - size + 16));
                self.window.consume(read);
                let mut cursor = Cursor::new(&input, 0, size, big_endian);
                let mut header = Header { about: std::mem::take(&mut self.about), ..Header::default() };
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                // A feature only describes the recording; if it is damaged, nothing else is lost.
                if let Err(error) = header.read_feature(number, &mut cursor) {
                    self.records.problems.add(ProblemKind::SkippedPart, || format!("feature {number}: {error}"));
                }
                self.about = header.about;
                return Ok(());
            }
            HeaderPiece::Tracing { bytes } => {
                self.window.consume(read);
                self.tracing = Some(self.stream_tracing(bytes)?);
            }
        }
        if let Some(tracing) = &self.tracing {
            self.records.describe(&self.attrs, tracing);
        }
        Ok(())
    }

    /// The formats of a stream, which follow their record.
    fn stream_tracing(&mut self, bytes: u64) -> Result<TracingData, TraceError> {
        let at = self.window.offset();
        if bytes > LONGEST_TRACING {
            let expected = format!("at most {LONGEST_TRACING}");
            return Err(self.input.malformed(at, format!("{bytes} bytes of event formats"), expected));
        }
        let mut text = Vec::new();
        while (text.len() as u64) < bytes {
            let take = self.window.bytes().len().min(bytes as usize - text.len());
            text.extend_from_slice(&self.window.bytes()[..take]);
            self.window.consume(take);
            if take == 0 && !self.window.fill()? {
                let found = format!("the stream ends after {} bytes", text.len());
                return Err(self.input.malformed(at, found, format!("{bytes} bytes of event formats")));
            }
        }
        let input = Input::part(&self.input.file, at, text);
        header::read_tracing(&mut Cursor::new(&input, 0, bytes, self.records.big_endian()))
    }
}

impl TraceSource for PerfData {
    fn helper(&self) -> Option<Helper> {
        self.window.helper()
    }

    fn info(&self) -> TraceInfo {
        let clock = match self.records.clockid {
            None => "perf (local_clock of each CPU)",
            Some(0) => "CLOCK_REALTIME",
            Some(1) => "CLOCK_MONOTONIC",
            Some(4) => "CLOCK_MONOTONIC_RAW",
            Some(7) => "CLOCK_BOOTTIME",
            Some(11) => "CLOCK_TAI",
            Some(_) => "an unknown clock",
        };
        TraceInfo {
            format: if self.is_pipe { "perf.data (pipe)" } else { "perf.data" },
            clock: clock.to_owned(),
            hostname: self.about.hostname.clone(),
            release: self.about.release.clone(),
            arch: self.about.arch.clone(),
            recorder: if self.about.perf_version.is_empty() {
                "perf".to_owned()
            } else {
                format!("perf {}", self.about.perf_version)
            },
            command: self.about.cmdline.clone(),
            cpus: self.about.cpus,
            infers_prev: false,
            kinds: self.records.sources.kinds(),
            events: self.records.sources.counts().map(|(name, count)| (name.to_owned(), count)).collect(),
        }
    }

    fn dictionary(&self) -> &Dictionary {
        &self.records.dictionary
    }

    fn watch_cgroups(&mut self) {
        self.records.cgroups.get_or_insert_default();
    }

    fn seen_cgroups(&self) -> Option<&SeenCgroups> {
        self.records.cgroups.as_deref().filter(|_| self.records.sources.have_cgroups())
    }

    fn problems(&self) -> &Problems {
        &self.records.problems
    }

    fn problems_mut(&mut self) -> &mut Problems {
        &mut self.records.problems
    }

    fn record_counts(&self) -> Option<RecordCounts> {
        let counted = self.records.counted;
        Some(RecordCounts { records: self.records.records(), lost: counted.lost, losses: counted.losses })
    }

    fn noted(&self) -> Option<&BTreeMap<Cpu, u64>> {
        Some(&self.records.noted)
    }
}

impl Merging for PerfData {
    fn order(&mut self) -> &mut Order {
        &mut self.records.order
    }

    /// Reads records until a round ends, or to the end of what is buffered.
    fn advance(&mut self) -> Result<(), TraceError> {
        if let Some(parts) = self.parts.as_mut().filter(|parts| parts.have_begun) {
            if parts.advance(&mut self.records)? {
                return Ok(());
            }
            self.refuse_unreadable(0)?;
            return self.finish();
        }
        loop {
            let offset = self.window.offset();
            let (read, step) = self.records.read(self.window.bytes(), offset);
            match step {
                Step::More => {
                    self.window.consume(read);
                    self.records.order.relieve(&mut self.records.problems);
                    if self.records.order.is_ready() {
                        return Ok(());
                    }
                    if !self.window.fill()? {
                        return self.end();
                    }
                }
                Step::Round => {
                    self.window.consume(read);
                    return Ok(());
                }
                Step::Skip(bytes) => {
                    self.window.consume(read);
                    self.window.skip(bytes);
                }
                Step::Header(piece) => self.header_piece(piece, read, offset)?,
                Step::Stop if self.parts.is_some() => {
                    self.window.consume(self.window.bytes().len());
                    return self.end();
                }
                Step::Stop => {
                    self.refuse_unreadable(offset)?;
                    return self.finish();
                }
            }
        }
    }
}
