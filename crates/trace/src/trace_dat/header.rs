//! The header of trace.dat: version 6, in which the parts follow each other, and version 7, in which options point to
//! sections that may be compressed.

mod options;
mod version_7;

use super::records::Times;
use super::shifts::Shifts;
use crate::TraceError;
use crate::bytes::{Cursor, Input};
use crate::clock::Counts;
use crate::kind::Kind;
use crate::problem::ProblemKind;
use crate::tracing_data::TracingData;
use crate::unpack::Packing;
use options::option;

/// The longest uncompressed section or chunk; a kernel's formats take 2 MB, kallsyms 10.
pub(super) const LONGEST_SECTION: u64 = 64 << 20;

/// CPUs and buffers of a file.
const MAX_CPUS: u32 = crate::Cpu::MAX_COUNT as u32;
const MAX_BUFFERS: usize = 1024;

/// Kernels have ten clocks.
const LONGEST_CLOCKS: u64 = 4096;

/// Most options sections that are followed; trace-cmd writes a few.
const MAX_OPTION_SECTIONS: u32 = 1000;

/// The pages of one CPU in one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuData {
    pub(super) cpu: u32,
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// A ring buffer: the top instance, or one of those made by `trace-cmd record -B`.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffer {
    pub(super) name: String,
    /// The clock of its times; empty if the file does not name it.
    pub(super) clock: String,
    pub(super) page_size: u32,
    pub(super) cpus: Vec<CpuData>,
    /// How the chunks of its pages are compressed; `None` if pages are stored uncompressed.
    pub(super) packing: Option<Packing>,
}

/// The kernel's counters at the end of the recording, summed over all CPUs of all buffers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RecorderCounts {
    /// Number of CPUs included, counted once per buffer.
    pub(super) cpus: u32,
    /// Events that were read from the ring or were still in it: what the file should contain.
    pub(super) events: u64,
    /// Events that the ring overwrote.
    pub(super) overrun: u64,
    /// Events that found no room.
    pub(super) dropped: u64,
}

/// Everything but the pages.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The name of the format.
    pub(super) format: &'static str,
    pub(super) tracing: TracingData,
    pub(super) buffers: Vec<Buffer>,
    /// Ids and names of threads at the end of the recording.
    pub(super) cmdlines: Vec<(u32, String)>,
    /// Clock of the first buffer.
    pub(super) clock: String,
    pub(super) uname: String,
    pub(super) recorder: String,
    /// Problems found so far.
    pub(super) notices: Vec<(ProblemKind, String)>,
    /// The options that shift times.
    shifts: Shifts,
    pub(super) counted: RecorderCounts,
    /// Whether the file names its clock somewhere.
    clocks_follow: bool,
    /// How compressed sections of version 7 are packed.
    packing: Option<Packing>,
    cpus: u32,
    /// The number of CPUs from its option; version 7 has no other.
    cpu_count: u32,
    first_options: u64,
}

impl Header {
    /// A header of which only this is known, so far without pages.
    pub(super) fn of(format: &'static str, recorder: &str, tracing: TracingData) -> Self {
        Self { format, recorder: recorder.to_owned(), tracing, ..Self::default() }
    }

    pub(super) fn read(input: &Input) -> Result<Self, TraceError> {
        let size = input.source.size().unwrap_or(u64::MAX);
        if input.source.size().is_none() {
            return Err(input.unsupported(
                0,
                "trace.dat comes through a pipe",
                "its parts lie all over the file: give the file itself",
            ));
        }
        let mut cursor = Cursor::new(input, 0, size, false);
        let mut header = Self::of("", "trace-cmd", TracingData::begin(&mut cursor)?);
        match header.tracing.version.as_str() {
            "6" => {
                header.format = "trace.dat 6";
                header.read_6(&mut cursor)?;
            }
            "7" => {
                header.format = "trace.dat 7";
                header.read_7(&mut cursor)?;
            }
            version => {
                let found = format!("trace.dat of version `{}`", version.escape_debug());
                return Err(input.malformed(10, found, "version 6 or 7"));
            }
        }
        Ok(header)
    }

    /// How the times of a buffer are converted to nanoseconds, or why they cannot be.
    pub(super) fn times(&self, buffer: &Buffer) -> Result<Times, String> {
        let clock = buffer.clock.as_str();
        let counts = match (Counts::of(clock), self.shifts.tsc2nsec) {
            (Counts::Nanoseconds, _) => return Ok(self.shifts.times(None)),
            (Counts::Cycles, Some(tsc2nsec)) => return Ok(self.shifts.times(Some(tsc2nsec))),
            (Counts::Cycles, None) => "cycles, and the file does not say how many make a second",
            (Counts::Other(counts), _) => counts,
        };
        Err(format!("recorded by the clock `{}`, which counts {counts}", clock.escape_debug()))
    }

    fn read_6(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TraceError> {
        self.tracing.headers(cursor)?;
        self.tracing.formats(cursor, known)?;
        let symbols = u64::from(cursor.u32("the size of kallsyms")?);
        cursor.skip(symbols, "kallsyms")?;
        let formats = u64::from(cursor.u32("the size of the printk formats")?);
        cursor.skip(formats, "the printk formats")?;
        let bytes = cursor.u64("the size of the saved command lines")?;
        self.cmdlines = cmdlines(cursor.take(bytes, "the saved command lines")?);
        self.cpus = cpu_count(cursor)?;
        let mut buffers = Vec::new();
        loop {
            let at = cursor.at;
            let kind = cursor.take(10, "`options`, `flyrecord` or `latency`")?.to_vec();
            match kind.as_slice() {
                b"options  \0" => buffers = self.options_6(cursor)?,
                b"flyrecord\0" => break,
                b"latency  \0" => return Err(latency(cursor.input, at)),
                other => {
                    let found = crate::error::begins(other);
                    return Err(cursor.input.malformed(at, found, "`options`, `flyrecord` or `latency`"));
                }
            }
        }
        let listed = self.clocks_follow && self.clock.is_empty();
        self.buffer_6(cursor, String::new())?;
        if listed {
            self.clock_after_table(cursor);
        }
        for (offset, name) in buffers {
            let mut cursor = Cursor::new(cursor.input, offset, cursor.end, cursor.big_endian);
            if cursor.take(10, "`flyrecord`")? != b"flyrecord\0" {
                return Err(cursor.input.malformed(offset, "another word", "`flyrecord`, the start of a buffer"));
            }
            self.buffer_6(&mut cursor, name)?;
        }
        for buffer in &mut self.buffers {
            buffer.clock.clone_from(&self.clock);
        }
        Ok(())
    }

    /// The list of clocks, which most versions of trace-cmd write after the first table. Anything else is skipped.
    fn clock_after_table(&mut self, cursor: &mut Cursor<'_>) {
        let bytes = cursor.u64("the size of the clocks").unwrap_or(0);
        if let Some(clocks) = (bytes <= LONGEST_CLOCKS).then(|| cursor.take(bytes, "the clocks").ok()).flatten() {
            self.clock = chosen(&text(clocks));
        }
    }

    /// Reads options up to the first one with number 0; returns where other buffers are.
    fn options_6(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<(u64, String)>, TraceError> {
        let mut buffers = Vec::new();
        loop {
            let id = cursor.u16("the number of an option")?;
            if id == option::DONE {
                return Ok(buffers);
            }
            let bytes = u64::from(cursor.u32("the size of an option")?);
            let at = cursor.at;
            let data = cursor.take(bytes, "an option")?.to_vec();
            let part = Input::part(&cursor.input.file, at, data);
            let mut data = Cursor::new(&part, 0, bytes, cursor.big_endian);
            if id == option::BUFFER && buffers.len() < MAX_BUFFERS {
                buffers.push((data.u64("the place of a buffer")?, data.string(4096, "the name of a buffer")?));
            } else {
                self.option(id, &mut data)?;
            }
        }
    }

    fn buffer_6(&mut self, cursor: &mut Cursor<'_>, name: String) -> Result<(), TraceError> {
        let mut buffer = Buffer { name, page_size: self.tracing.page_size, ..Buffer::default() };
        for cpu in 0..self.cpus {
            let (offset, size) = (cursor.u64("the place of a CPU's data")?, cursor.u64("the size of a CPU's data")?);
            buffer.cpus.push(CpuData { cpu, offset, size });
        }
        self.buffers.push(buffer);
        Ok(())
    }
}

/// The clock in brackets in the list from `trace_clock`.
pub(super) fn chosen(clocks: &str) -> String {
    let chosen = clocks.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(String::new(), |(clock, _)| clock.to_owned())
}

/// What `trace-cmd record -p wakeup` and other tracers of a single latency write.
fn latency(input: &Input, at: u64) -> TraceError {
    let fix = "give the text itself: trace-cmd report FILE > trace.txt";
    input.unsupported(at, "a latency trace, which is text inside trace.dat", fix)
}

fn known(system: &str, name: &str) -> bool {
    Kind::of(system, name).is_some()
}

fn cpu_count(cursor: &mut Cursor<'_>) -> Result<u32, TraceError> {
    let at = cursor.at;
    let cpus = cursor.u32("the number of CPUs")?;
    if cpus > MAX_CPUS {
        return Err(cursor.input.malformed(at, format!("{cpus} CPUs"), format!("at most {MAX_CPUS}")));
    }
    Ok(cpus)
}

/// Lines of `PID NAME`.
pub(super) fn cmdlines(bytes: &[u8]) -> Vec<(u32, String)> {
    let parse = |line: &str| {
        let (pid, comm) = line.trim().split_once(' ')?;
        Some((pid.parse().ok()?, comm.trim().to_owned()))
    };
    text(bytes).lines().filter_map(parse).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}
