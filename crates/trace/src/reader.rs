//! One reader over all formats: which one a file is, told by its first bytes, and its events in batches.

use crate::archive;
use crate::bytes::Input;
use crate::event::{Cpu, Event};
use crate::fields::Dictionary;
use crate::info::TraceInfo;
use crate::kind::Kinds;
use crate::names::Names;
use crate::order::Merging;
use crate::perf_data::{self, PerfData, RecordCounts, SeenCgroups};
use crate::perfetto::{self, Perfetto};
use crate::pieces::Helper;
use crate::prev_state::PrevStates;
use crate::problem::Problems;
use crate::recording::{self, RecordingReader, Snapshot};
use crate::text::{self, Text};
use crate::trace_dat::{self, TraceDat};
use crate::{ByteSource, TraceError, tracing_data, wrapped};

/// A trace that is being read. Memory stays bounded whatever the file holds: see `order.rs` for how much.
pub struct Reader(Format);

enum Format {
    PerfData(Box<PerfData>),
    Perfetto(Box<Perfetto>),
    Text(Box<Text>),
    TraceDat(Box<TraceDat>),
    Recording(Box<RecordingReader>),
}

impl Reader {
    /// Looks at the first bytes and reads the header. `file` is the name that messages use; only events of `wanted` kinds
    /// are decoded.
    pub fn open(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Result<Self, TraceError> {
        Self::open_inner(file, source, wanted, true)
    }

    /// The same of the directory `file` that `perf record --threads` wrote: of its file `data`, and of data.0 and so on.
    pub fn open_parts(
        file: &str,
        data: Box<dyn ByteSource>,
        parts: Vec<Box<dyn ByteSource>>,
        wanted: Kinds,
    ) -> Result<Self, TraceError> {
        Ok(Self(Format::PerfData(Box::new(PerfData::open(file, data, parts, wanted)?))))
    }

    /// `packed`: the file may be an archive, or compressed; what comes out of one may not.
    fn open_inner(file: &str, source: Box<dyn ByteSource>, wanted: Kinds, packed: bool) -> Result<Self, TraceError> {
        let input = Input::new(file, source);
        let mut head = [0; 4096];
        let read = input.read(0, &mut head)?;
        let head = &head[..read];
        if head.is_empty() {
            return Err(TraceError::Empty { file: file.to_owned() });
        }
        let format = match Known::of(head) {
            // What perf writes into a file it is read by position.
            Some(Known::PerfData) if !packed && !perf_data::is_stream(head) => {
                let source = wrapped::in_memory(&input)?;
                Format::PerfData(Box::new(PerfData::open(file, source, Vec::new(), wanted)?))
            }
            Some(Known::PerfData) => {
                Format::PerfData(Box::new(PerfData::open(file, input.source, Vec::new(), wanted)?))
            }
            Some(Known::TraceDat) => Format::TraceDat(Box::new(TraceDat::open(file, input.source, wanted)?)),
            Some(Known::RawPages) => Format::TraceDat(Box::new(TraceDat::open_archive(file, input.source, wanted)?)),
            Some(Known::Recording) => Format::Recording(Box::new(RecordingReader::open(file, input.source, wanted)?)),
            Some(Known::Atrace(at)) => Format::Text(Box::new(wrapped::open_atrace(file, input.source, at, wanted))),
            Some(Known::Text) => Format::Text(Box::new(Text::open(file, input.source, wanted))),
            Some(Known::Perfetto) => Format::Perfetto(Box::new(Perfetto::open(file, input.source, wanted))),
            // Its CPUs are read side by side, so it is unpacked as a whole.
            None if packed && wrapped::is_archive(head) => {
                Format::TraceDat(Box::new(wrapped::open_archive(file, input.source, wanted)?))
            }
            None if packed && head.starts_with(&archive::GZIP) => {
                return Self::open_inner(file, archive::gunzip(input), wanted, false);
            }
            None if packed && head.starts_with(&archive::ZIP) => {
                let (file, source) = archive::only_trace(input, |head| Known::of(head).is_some())?;
                return Self::open_inner(&file, source, wanted, false);
            }
            None => return Err(unknown(file, head)),
        };
        Ok(Self(format))
    }

    /// The next events in the order of time, into `out`, which is emptied; false at the end.
    pub fn next_batch(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        match &mut self.0 {
            Format::PerfData(reader) => reader.next_batch(out),
            Format::Perfetto(reader) => reader.next_batch(out),
            Format::Text(reader) => reader.next_batch(out),
            Format::TraceDat(reader) => reader.next_batch(out),
            Format::Recording(reader) => reader.next_batch(out),
        }
    }

    /// Reads ahead in other threads, where bytes are all that it takes to be faster.
    pub(crate) fn helper(&self) -> Option<Helper> {
        match &self.0 {
            Format::PerfData(reader) => reader.helper(),
            Format::Perfetto(reader) => reader.helper(),
            Format::Text(reader) => reader.helper(),
            Format::TraceDat(_) | Format::Recording(_) => None,
        }
    }

    /// What the trace says about itself; counts of events are those read so far.
    pub fn info(&self) -> TraceInfo {
        match &self.0 {
            Format::PerfData(reader) => reader.info(),
            Format::Perfetto(reader) => reader.info(),
            Format::Text(reader) => reader.info(),
            Format::TraceDat(reader) => reader.info(),
            Format::Recording(reader) => reader.info(),
        }
    }

    /// The texts of the names in its events.
    pub fn names(&self) -> &Names {
        &self.dictionary().names
    }

    /// The letters of the states in its events.
    pub fn states(&self) -> &PrevStates {
        &self.dictionary().states
    }

    fn dictionary(&self) -> &Dictionary {
        match &self.0 {
            Format::PerfData(reader) => reader.dictionary(),
            Format::Perfetto(reader) => reader.dictionary(),
            Format::Text(reader) => reader.dictionary(),
            Format::TraceDat(reader) => reader.dictionary(),
            Format::Recording(reader) => reader.dictionary(),
        }
    }

    /// The threads of the machine at the start of our own recordings, and at the end once that was read; other formats
    /// say nothing of them.
    pub fn snapshots(&self) -> &[Snapshot] {
        match &self.0 {
            Format::Recording(reader) => reader.snapshots(),
            Format::PerfData(_) | Format::Perfetto(_) | Format::Text(_) | Format::TraceDat(_) => &[],
        }
    }

    /// Reads the machine with this `machine_id` instead of the host, where a trace may have several; whether it may: one of
    /// Perfetto of which nothing was read yet.
    pub fn choose_machine(&mut self, machine: u32) -> bool {
        match &mut self.0 {
            Format::Perfetto(reader) => reader.choose_machine(machine),
            _ => return false,
        }
        true
    }

    /// Remembers which cgroups threads are seen in while events are read, where samples say it.
    pub fn watch_cgroups(&mut self) {
        if let Format::PerfData(reader) = &mut self.0 {
            reader.watch_cgroups();
        }
    }

    /// Which cgroups threads were seen in so far, where that is watched: of files of `perf record --all-cgroups`.
    pub fn seen_cgroups(&self) -> Option<&SeenCgroups> {
        match &self.0 {
            Format::PerfData(reader) => reader.cgroups(),
            _ => None,
        }
    }

    /// The records so far as perf counts them, of perf.data.
    pub fn record_counts(&self) -> Option<RecordCounts> {
        match &self.0 {
            Format::PerfData(reader) => Some(reader.counts()),
            _ => None,
        }
    }

    /// How many of the events so far are none of the trace's, of a CPU: perf notes names, forks and exits of threads apart.
    /// What was there before the trace ([`Event::is_from_before`]) is not counted.
    pub fn noted(&self, cpu: Cpu) -> u64 {
        match &self.0 {
            Format::PerfData(reader) => reader.noted().get(&cpu).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// The same of all CPUs.
    pub fn noted_in_all(&self) -> u64 {
        match &self.0 {
            Format::PerfData(reader) => reader.noted().values().sum(),
            _ => 0,
        }
    }

    /// What was wrong so far.
    pub fn problems(&self) -> &Problems {
        match &self.0 {
            Format::PerfData(reader) => reader.problems(),
            Format::Perfetto(reader) => reader.problems(),
            Format::Text(reader) => reader.problems(),
            Format::TraceDat(reader) => reader.problems(),
            Format::Recording(reader) => reader.problems(),
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

/// A format that is known by its first bytes.
enum Known {
    PerfData,
    TraceDat,
    /// A tar of raw pages.
    RawPages,
    Recording,
    /// Compressed text, and where it begins.
    Atrace(u64),
    Text,
    Perfetto,
}

impl Known {
    fn of(head: &[u8]) -> Option<Self> {
        let mut swapped = perf_data::MAGIC;
        swapped.reverse();
        if let Some(at) = wrapped::atrace(head) {
            return Some(Self::Atrace(at));
        }
        Some(match head {
            head if head.starts_with(&perf_data::MAGIC) || head.starts_with(&swapped) => Self::PerfData,
            head if head.starts_with(&tracing_data::MAGIC) => Self::TraceDat,
            head if head.starts_with(&recording::MAGIC) => Self::Recording,
            head if trace_dat::archive::recognise(head) => Self::RawPages,
            head if text::recognise(head) => Self::Text,
            // Last, since its first byte is a line feed.
            head if perfetto::recognise(head) => Self::Perfetto,
            _ => return None,
        })
    }
}

/// What cannot be read at all.
fn unknown(file: &str, head: &[u8]) -> TraceError {
    match compressed(head) {
        Some((what, unpack)) => {
            let mend = format!("{unpack} it first");
            TraceError::Unsupported { file: file.to_owned(), offset: 0, what: what.to_owned(), mend }
        }
        None => TraceError::NotATrace { file: file.to_owned(), begins: crate::error::begins(head) },
    }
}

/// A file that was compressed as a whole: with what, and what undoes it.
fn compressed(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let known: [(&[u8], _, _); 4] = [
        (&archive::GZIP, "a file compressed with gzip", "gunzip"),
        (b"\x28\xb5\x2f\xfd", "a file compressed with zstd", "unzstd"),
        (b"\xfd7zXZ\0", "a file compressed with xz", "unxz"),
        (b"BZh", "a file compressed with bzip2", "bunzip2"),
    ];
    known.into_iter().find(|(magic, ..)| head.starts_with(magic)).map(|(_, what, unpack)| (what, unpack))
}
