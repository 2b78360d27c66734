//! Version 7: options point to sections that may be compressed.

use super::{
    Buffer, CpuData, Header, LONGEST_SECTION, MAX_BUFFERS, MAX_OPTION_SECTIONS, cmdlines, cpu_count, known, latency,
    option,
};
use crate::TraceError;
use crate::bytes::{Cursor, Input};
use crate::unpack::Packing;

impl Header {
    pub(super) fn read_7(&mut self, cursor: &mut Cursor<'_>) -> Result<(), TraceError> {
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
        while next != 0 && sections < MAX_OPTION_SECTIONS {
            next = self.options_7(cursor, next)?;
            sections += 1;
        }
        Ok(())
    }

    /// Reads a section of options; returns where the next one is.
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
        if self.buffers.len() < MAX_BUFFERS {
            self.buffers.push(buffer);
        }
        Ok(())
    }

    /// A section in memory, inflated if it is compressed. Its number must be `id`.
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

    /// How a section is compressed, according to its flags.
    fn packing_of(&self, section: &mut Cursor<'_>) -> Result<Option<Packing>, TraceError> {
        let at = section.at;
        let compressed = section.u16("the flags of a section")? & 1 != 0;
        if compressed && self.packing.is_none() {
            let found = "a compressed section in a file whose compression is `none`";
            return Err(section.input.malformed(at, found, "the name of a compression"));
        }
        Ok(self.packing.filter(|_| compressed))
    }
}
