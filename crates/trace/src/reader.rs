//! One reader for all formats: detects the format from the first bytes of a file, and yields its events in batches.

use crate::archive;
use crate::bytes::Input;
use crate::event::{Cpu, Event};
use crate::info::TraceInfo;
use crate::kind::Kinds;
use crate::names::Names;
use crate::order::Merging;
use crate::perf_data::{self, PerfData, RecordCounts, SeenCgroups};
use crate::perfetto::{self, Perfetto};
use crate::pieces::Helper;
use crate::prev_state::PrevStates;
use crate::problem::{ProblemKind, Problems};
use crate::record_decoder::Dictionary;
use crate::recording::{self, RecordingReader, Snapshot};
use crate::text::{self, Text};
use crate::trace_dat::{self, TraceDat};
use crate::{ByteSource, TraceError, tracing_data, wrapped};
use std::collections::BTreeMap;

/// A trace that is being read. Memory stays bounded, whatever the file contains: `order.rs` has the limit.
pub struct Reader(Box<dyn TraceSource>);

/// The reader of one format, which a [`Reader`] wraps. The defaults are for what only some formats have.
pub(crate) trait TraceSource: Merging + Send {
    fn info(&self) -> TraceInfo;
    fn dictionary(&self) -> &Dictionary;
    fn problems(&self) -> &Problems;
    fn problems_mut(&mut self) -> &mut Problems;
    fn helper(&self) -> Option<Helper> {
        None
    }
    fn snapshots(&self) -> &[Snapshot] {
        &[]
    }
    fn choose_machine(&mut self, _machine: u32) -> bool {
        false
    }
    fn watch_cgroups(&mut self) {}
    fn seen_cgroups(&self) -> Option<&SeenCgroups> {
        None
    }
    fn record_counts(&self) -> Option<RecordCounts> {
        None
    }
    fn noted(&self) -> Option<&BTreeMap<Cpu, u64>> {
        None
    }
    fn recording(&self) -> Option<&RecordingReader> {
        None
    }
}

impl Reader {
    /// Detects the format and reads the header. `file` is the name for messages; only events of `wanted` kinds are
    /// decoded.
    pub fn open(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Result<Self, TraceError> {
        Self::open_inner(file, source, wanted, true)
    }

    /// The same for the directory `file` that `perf record --threads` wrote: its file `data`, and data.0 and so on.
    pub fn open_parts(
        file: &str,
        data: Box<dyn ByteSource>,
        parts: Vec<Box<dyn ByteSource>>,
        wanted: Kinds,
    ) -> Result<Self, TraceError> {
        Ok(Self(Box::new(PerfData::open(file, data, parts, wanted)?)))
    }

    /// `packed`: the file may be an archive, or compressed; something that came out of one may not.
    fn open_inner(file: &str, source: Box<dyn ByteSource>, wanted: Kinds, packed: bool) -> Result<Self, TraceError> {
        let input = Input::new(file, source);
        let mut head = [0; 4096];
        let read = input.read(0, &mut head)?;
        let head = &head[..read];
        if head.is_empty() {
            return Err(TraceError::Empty { file: file.to_owned() });
        }
        if let Some((_, open)) = FORMATS.iter().find(|(is, _)| is(head)) {
            return open(Found { file, head, input, wanted, packed }).map(Self);
        }
        match head {
            // Its CPUs are read in parallel, so it is unpacked as a whole.
            head if packed && wrapped::is_archive(head) => {
                Ok(Self(Box::new(wrapped::open_archive(file, input.source, wanted)?)))
            }
            head if packed && head.starts_with(&archive::GZIP) => {
                Self::open_inner(file, archive::gunzip(input), wanted, false)
            }
            head if packed && head.starts_with(&archive::ZIP) => {
                let (file, source) = archive::only_trace(input, |head| FORMATS.iter().any(|(is, _)| is(head)))?;
                Self::open_inner(&file, source, wanted, false)
            }
            head => Err(unknown(file, head)),
        }
    }

    /// Replaces the content of `out` by the next events in the order of time; false at the end.
    pub fn next_batch(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        self.0.next_batch(out)
    }

    /// Reads ahead in other threads, for sources that gain from it.
    pub(crate) fn helper(&self) -> Option<Helper> {
        self.0.helper()
    }

    /// What the trace contains about itself; counts of events are those read so far.
    pub fn info(&self) -> TraceInfo {
        self.0.info()
    }

    /// The names in its events.
    pub fn names(&self) -> &Names {
        &self.0.dictionary().names
    }

    /// The states in its events, as letters.
    pub fn states(&self) -> &PrevStates {
        &self.0.dictionary().states
    }

    /// The threads of the machine at the start of our own recordings and, once it has been read, at the end; other
    /// formats do not have them.
    pub fn snapshots(&self) -> &[Snapshot] {
        self.0.snapshots()
    }

    /// In a trace with several machines, reads the one with this `machine_id` instead of the host; returns whether that
    /// is possible: only for a Perfetto trace of which nothing has been read.
    pub fn choose_machine(&mut self, machine: u32) -> bool {
        self.0.choose_machine(machine)
    }

    /// Starts recording in which cgroups threads are seen, if samples contain them.
    pub fn watch_cgroups(&mut self) {
        self.0.watch_cgroups();
    }

    /// The cgroups in which threads have been seen, if that is recorded: for files of `perf record --all-cgroups`.
    pub fn seen_cgroups(&self) -> Option<&SeenCgroups> {
        self.0.seen_cgroups()
    }

    /// The records so far, as perf counts them; only for perf.data.
    pub fn record_counts(&self) -> Option<RecordCounts> {
        self.0.record_counts()
    }

    /// How many of a CPU's events so far are not the trace's own: perf records names, forks and exits of threads
    /// separately. Information from before the trace ([`Event::is_from_before`]) is not counted.
    pub fn noted(&self, cpu: Cpu) -> u64 {
        self.0.noted().and_then(|noted| noted.get(&cpu)).copied().unwrap_or(0)
    }

    /// The same of all CPUs.
    pub fn noted_in_all(&self) -> u64 {
        self.0.noted().map_or(0, |noted| noted.values().sum())
    }

    /// What was wrong so far.
    pub fn problems(&self) -> &Problems {
        self.0.problems()
    }

    /// Adds a problem that shows only in the events as a whole.
    pub(crate) fn add_problem(&mut self, kind: ProblemKind, sentence: String) {
        self.0.problems_mut().add_sentence(kind, sentence);
    }

    /// What only schedlab's recordings have: threads at start and end, formats, totals.
    pub fn recording(&self) -> Option<&RecordingReader> {
        self.0.recording()
    }
}

/// A file whose format has been detected.
struct Found<'a> {
    file: &'a str,
    /// Its first bytes.
    head: &'a [u8],
    input: Input,
    wanted: Kinds,
    /// Whether it may be an archive or compressed, that is, did not itself come out of one.
    packed: bool,
}

/// Whether a file with these first bytes has a format, and how it is opened.
type Format = (fn(&[u8]) -> bool, fn(Found<'_>) -> Result<Box<dyn TraceSource>, TraceError>);

/// All formats; the first that matches is used.
const FORMATS: [Format; 7] = [
    // Compressed text.
    (
        |head| wrapped::atrace(head).is_some(),
        |f| Ok(Box::new(wrapped::open_atrace(f.file, f.input.source, wrapped::atrace(f.head).unwrap_or(0), f.wanted))),
    ),
    (perf_data::recognise, |f| {
        // What perf writes into a regular file is read by position.
        let by_position = !f.packed && !perf_data::is_stream(f.head);
        let source = if by_position { wrapped::in_memory(&f.input)? } else { f.input.source };
        Ok(Box::new(PerfData::open(f.file, source, Vec::new(), f.wanted)?))
    }),
    (
        |head| head.starts_with(&tracing_data::MAGIC),
        |f| Ok(Box::new(TraceDat::open(f.file, f.input.source, f.wanted)?)),
    ),
    (
        |head| head.starts_with(&recording::MAGIC),
        |f| Ok(Box::new(RecordingReader::open(f.file, f.input.source, f.wanted)?)),
    ),
    // A tar of raw pages.
    (trace_dat::archive::recognise, |f| Ok(Box::new(TraceDat::open_archive(f.file, f.input.source, f.wanted)?))),
    (text::recognise, |f| Ok(Box::new(Text::open(f.file, f.input.source, f.wanted)))),
    // Last, because its first byte is a line feed.
    (perfetto::recognise, |f| Ok(Box::new(Perfetto::open(f.file, f.input.source, f.wanted)))),
];

/// What cannot be read at all.
fn unknown(file: &str, head: &[u8]) -> TraceError {
    match compressed(head) {
        Some((what, unpack)) => {
            let fix = format!("{unpack} it first");
            TraceError::Unsupported { file: file.to_owned(), offset: 0, what: what.to_owned(), fix }
        }
        None => TraceError::NotATrace { file: file.to_owned(), begins: crate::error::begins(head) },
    }
}

/// A file that was compressed as a whole: the format, and the command that unpacks it.
fn compressed(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let known: [(&[u8], _, _); 4] = [
        (&archive::GZIP, "a file compressed with gzip", "gunzip"),
        (b"\x28\xb5\x2f\xfd", "a file compressed with zstd", "unzstd"),
        (b"\xfd7zXZ\0", "a file compressed with xz", "unxz"),
        (b"BZh", "a file compressed with bzip2", "bunzip2"),
    ];
    known.into_iter().find(|(magic, ..)| head.starts_with(magic)).map(|(_, what, unpack)| (what, unpack))
}
