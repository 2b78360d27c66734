//! The header of trace.dat: version 6, in which the parts follow each other, and version 7, in which options point to
//! sections that may be compressed.

use super::records::Times;
use super::shifts::Shifts;
use crate::TraceError;
use crate::bytes::{Cursor, Input};
use crate::clock::Counts;
use crate::kind::Kind;
use crate::problem::ProblemKind;
use crate::tracing_data::TracingData;
use crate::unpack::Packing;

/// The longest uncompressed section or chunk; formats of a kernel take 2 MB, kallsyms 10.
pub(super) const LONGEST_SECTION: u64 = 64 << 20;

/// CPUs and buffers of a file.
const MOST_CPUS: u32 = crate::Cpu::MOST as u32;
const MOST_BUFFERS: usize = 1024;

/// Kernels have ten clocks.
const LONGEST_CLOCKS: u64 = 4096;

/// Options sections that are followed; trace-cmd writes a few.
const MOST_OPTION_SECTIONS: u32 = 1000;

/// The pages of one CPU in one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuData {
    pub(super) cpu: u32,
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// A ring buffer: the top instance, or one of those that `trace-cmd record -B` makes.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffer {
    pub(super) name: String,
    /// What its times are of; empty where the file does not say.
    pub(super) clock: String,
    pub(super) page_size: u32,
    pub(super) cpus: Vec<CpuData>,
    /// How the chunks of its pages are compressed; `None` where pages lie as they are.
    pub(super) packing: Option<Packing>,
}

/// What the kernel had counted when the recording ended, over all CPUs of all buffers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// CPUs that are counted in, one per buffer.
    pub(super) cpus: u32,
    /// Events that were read from the ring or were in it still: what the file should hold.
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
    /// Thread ids and names when the recording ended.
    pub(super) cmdlines: Vec<(u32, String)>,
    /// Clock of the first buffer.
    pub(super) clock: String,
    pub(super) uname: String,
    pub(super) recorder: String,
    /// What was wrong already.
    pub(super) notices: Vec<(ProblemKind, String)>,
    /// What moves the times.
    shifts: Shifts,
    pub(super) counted: Counted,
    /// The file names its clock, somewhere.
    clocks_follow: bool,
    /// How compressed sections of version 7 are.
    packing: Option<Packing>,
    cpus: u32,
    /// The same by its option; version 7 has no other.
    cpu_count: u32,
    first_options: u64,
}

impl Header {
    /// A header of which only this is known, without any page yet.
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

    /// CPUs of the machine, as far as the file says.
    pub(super) fn cpus(&self) -> u32 {
        let listed = self.buffers.iter().map(|buffer| buffer.cpus.len() as u32).max();
        self.cpu_count.max(listed.unwrap_or(0))
    }

    /// How the times of a buffer become nanoseconds, or why they cannot.
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
            self.clock_behind_table(cursor);
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
    fn clock_behind_table(&mut self, cursor: &mut Cursor<'_>) {
        let bytes = cursor.u64("the size of the clocks").unwrap_or(0);
        if let Some(clocks) = (bytes <= LONGEST_CLOCKS).then(|| cursor.take(bytes, "the clocks").ok()).flatten() {
            self.clock = chosen(&text(clocks));
        }
    }

    /// Options up to the first of number 0; answers where other buffers are.
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
            if id == option::BUFFER && buffers.len() < MOST_BUFFERS {
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

    fn read_7(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TraceError> {
        let at = cursor.at;
        let name = cursor.string(64, "the name of the compression")?;
        cursor.string(64, "the version of the compression")?;
        self.packing = match name.as_str() {
            "none" => None,
            "zstd" => Some(Packing::Zstd),
            "zlib" => Some(Packing::Zlib),
            other => {
                let what = format!("compressed with {}", other.escape_debug());
                let fix = "rewrite it: trace-cmd convert -i FILE -o OUT --compression zstd";
                return Err(cursor.input.unsupported(at, what, fix));
            }
        };
        self.first_options = cursor.u64("the place of the options")?;
        let (mut next, mut sections) = (self.first_options, 0);
        while next != 0 && sections < MOST_OPTION_SECTIONS {
            next = self.options_7(cursor, next)?;
            sections += 1;
        }
        Ok(())
    }

    /// A section of options; answers where the next one is.
    fn options_7(&mut self, cursor: &Cursor<'_>, at: u64) -> Result<u64, TraceError> {
        let (section, size) = self.section(cursor, at, 0)?;
        let mut options = Cursor::new(&section, 0, size, cursor.big_endian);
        loop {
            let id = options.u16("the number of an option")?;
            let bytes = u64::from(options.u32("the size of an option")?);
            let base = options.at;
            let data = options.take(bytes, "an option")?.to_vec();
            let part = Input::part(&section.file, section.base + base, data);
            let mut data = Cursor::new(&part, 0, bytes, cursor.big_endian);
            match id {
                option::DONE => return if bytes >= 8 { data.u64("the place of more options") } else { Ok(0) },
                option::BUFFER => self.buffer_7(cursor, &mut data)?,
                option::BUFFER_TEXT => return Err(latency(cursor.input, data.u64("the place of a text")?)),
                option::HEADER_INFO | option::FTRACE_EVENTS | option::EVENT_FORMATS | option::CMDLINES => {
                    let place = data.u64("the place of a section")?;
                    self.section_7(cursor, id, place)?;
                }
                _ => self.option(id, &mut data)?,
            }
        }
    }

    fn section_7(&mut self, cursor: &Cursor<'_>, id: u16, place: u64) -> Result<(), TraceError> {
        let (part, size) = self.section(cursor, place, id)?;
        let mut section = Cursor::new(&part, 0, size, cursor.big_endian);
        match id {
            option::HEADER_INFO => self.tracing.headers(&mut section),
            option::FTRACE_EVENTS => self.tracing.ftrace_formats(&mut section, &known),
            option::EVENT_FORMATS => self.tracing.event_formats(&mut section, &known),
            _ => {
                let bytes = section.u64("the size of the saved command lines")?;
                self.cmdlines = cmdlines(section.take(bytes, "the saved command lines")?);
                Ok(())
            }
        }
    }

    fn buffer_7(&mut self, file: &Cursor<'_>, data: &mut Cursor<'_>) -> Result<(), TraceError> {
        let place = data.u64("the place of a buffer")?;
        let mut buffer = Buffer { name: data.string(4096, "the name of a buffer")?, ..Buffer::default() };
        buffer.clock = data.string(256, "the clock of a buffer")?;
        if self.clock.is_empty() {
            self.clock.clone_from(&buffer.clock);
        }
        buffer.page_size = data.u32("the page size of a buffer")?;
        for _ in 0..cpu_count(data)? {
            let cpu = data.u32("the number of a CPU")?;
            let (offset, size) = (data.u64("the place of a CPU's data")?, data.u64("the size of a CPU's data")?);
            buffer.cpus.push(CpuData { cpu, offset, size });
        }
        let mut section = Cursor::new(file.input, place, file.end, file.big_endian);
        section.u16("the number of a section")?;
        buffer.packing = self.packing_of(&mut section)?;
        if self.buffers.len() < MOST_BUFFERS {
            self.buffers.push(buffer);
        }
        Ok(())
    }

    /// A section in memory, inflated where it is compressed. Its number must be `id`.
    fn section(&self, cursor: &Cursor<'_>, at: u64, id: u16) -> Result<(Input, u64), TraceError> {
        let input = cursor.input;
        let mut cursor = Cursor::new(input, at, cursor.end, cursor.big_endian);
        let found = cursor.u16("the number of a section")?;
        if found != id {
            return Err(input.malformed(at, format!("section {found}"), format!("section {id}")));
        }
        let packing = self.packing_of(&mut cursor)?;
        cursor.skip(4, "the name of a section")?;
        let size = cursor.u64("the size of a section")?;
        let data = if let Some(packing) = packing {
            let (bytes, inflated) = (cursor.u32("a compressed size")?, cursor.u32("an inflated size")?);
            let from = cursor.at;
            let data = cursor.take(u64::from(bytes), "a compressed section")?;
            let size = u64::from(inflated).min(LONGEST_SECTION);
            packing.unpack_exactly(data, size).map_err(|why| input.malformed(from, why, "a compressed section"))?
        } else {
            cursor.take(size, "a section")?.to_vec()
        };
        let size = data.len() as u64;
        Ok((Input::part(&input.file, at, data), size))
    }

    /// How a section is compressed, by its flags.
    fn packing_of(&self, section: &mut Cursor<'_>) -> Result<Option<Packing>, TraceError> {
        let at = section.at;
        let compressed = section.u16("the flags of a section")? & 1 != 0;
        if compressed && self.packing.is_none() {
            let found = "a compressed section in a file whose compression is `none`";
            return Err(section.input.malformed(at, found, "the name of a compression"));
        }
        Ok(self.packing.filter(|_| compressed))
    }

    /// The options that both versions have.
    fn option(&mut self, id: u16, data: &mut Cursor<'_>) -> Result<(), TraceError> {
        let bytes = data.left();
        match id {
            option::CPUSTAT => {
                let text = text(data.take(bytes, "statistics of a CPU")?);
                self.counted.add(&text);
            }
            option::TRACECLOCK => {
                self.clocks_follow = true;
                self.clock = chosen(&text(data.take(bytes, "the clocks")?));
            }
            option::UNAME => self.uname = text(data.take(bytes, "uname")?),
            option::VERSION => {
                let version = text(data.take(bytes, "the version of trace-cmd")?);
                self.recorder = format!("trace-cmd {version}").trim_end().to_owned();
            }
            option::DATE => self.shifts.date(&text(data.take(bytes, "the time of day")?)),
            option::OFFSET => self.shifts.offset(&text(data.take(bytes, "the time offset")?)),
            option::CPUCOUNT => self.cpu_count = data.u32("the number of CPUs")?.min(MOST_CPUS),
            option::TIME_SHIFT => self.notices.extend(self.shifts.guest()),
            option::TSC2NSEC => {
                // An offset follows, which trace-cmd takes no notice of.
                let (mult, shift) = (data.u32("a multiplier")?, data.u32("a shift")?);
                self.shifts.tsc2nsec = Some((mult, shift)).filter(|(mult, shift)| *mult > 0 && *shift < 64);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Numbers of options.
mod option {
    pub(super) const DONE: u16 = 0;
    pub(super) const DATE: u16 = 1;
    pub(super) const CPUSTAT: u16 = 2;
    pub(super) const BUFFER: u16 = 3;
    pub(super) const TRACECLOCK: u16 = 4;
    pub(super) const UNAME: u16 = 5;
    pub(super) const OFFSET: u16 = 7;
    pub(super) const CPUCOUNT: u16 = 8;
    pub(super) const VERSION: u16 = 9;
    pub(super) const TIME_SHIFT: u16 = 12;
    pub(super) const TSC2NSEC: u16 = 14;
    pub(super) const HEADER_INFO: u16 = 16;
    pub(super) const FTRACE_EVENTS: u16 = 17;
    pub(super) const EVENT_FORMATS: u16 = 18;
    pub(super) const CMDLINES: u16 = 21;
    pub(super) const BUFFER_TEXT: u16 = 22;
}

impl Counted {
    /// Adds a CPU's `per_cpu/cpuN/stats`.
    fn add(&mut self, stats: &str) {
        let of = |name: &str| {
            let line = stats.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|n| n.trim().parse::<u64>().ok())
        };
        self.overrun = self.overrun.saturating_add(of("overrun").unwrap_or(0));
        // Two ways to find no room: the ring was full, or an interrupt had gone all around it.
        for name in ["dropped events", "commit overrun"] {
            self.dropped = self.dropped.saturating_add(of(name).unwrap_or(0));
        }
        // Kernels before 3.11 do not say what was read.
        if let Some((left, read)) = of("entries").zip(of("read events")) {
            self.cpus += 1;
            self.events = self.events.saturating_add(left).saturating_add(read);
        }
    }
}

/// The clock in brackets of those that `trace_clock` lists.
pub(super) fn chosen(clocks: &str) -> String {
    let chosen = clocks.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(String::new(), |(clock, _)| clock.to_owned())
}

/// What `trace-cmd record -p wakeup` and other tracers of one latency leave.
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
    if cpus > MOST_CPUS {
        return Err(cursor.input.malformed(at, format!("{cpus} CPUs"), format!("at most {MOST_CPUS}")));
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
