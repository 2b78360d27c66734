//! Writes a trace.dat around raw pages of the kernel: in version 6, as `trace-cmd record` does (trace-cmd.dat.v6.5),
//! because recording with trace-cmd needs the top-level tracefs, which not every host has; and in version 7 with zlib
//! (trace-cmd.dat.v7.5), which Debian's trace-cmd is built without.

use super::instance::{Instance, PAGE};
use anyhow::Result;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// TRACECMD_OPTION_TRACECLOCK: the list of clocks is after the table of CPUs.
const OPTION_TRACECLOCK: u16 = 4;

/// Options of version 7 that give the position of a section.
const OPTION_BUFFER: u16 = 3;
const OPTION_HEADERS: u16 = 16;
const OPTION_FTRACE_FORMATS: u16 = 17;
const OPTION_FORMATS: u16 = 18;
const OPTION_CMDLINES: u16 = 21;

/// Pages in a chunk of version 7.
const CHUNK: usize = 10 * PAGE;

/// The contents of a file, as in tracefs.
pub struct Parts {
    /// Files below `events/`.
    pub header_page: String,
    /// The same.
    pub header_event: String,
    /// Formats of the events of `sched`.
    pub formats: Vec<String>,
    /// `saved_cmdlines`.
    pub cmdlines: String,
    /// `trace_clock`.
    pub clocks: String,
    /// Raw pages of each CPU.
    pub pages: Vec<Vec<u8>>,
}

impl Parts {
    /// Takes what an instance has traced; its pages are then removed from the buffers.
    pub fn of(instance: &Instance) -> Result<Self> {
        Ok(Self {
            pages: instance.pages()?,
            header_page: instance.root_file("events/header_page")?,
            header_event: instance.root_file("events/header_event")?,
            formats: instance.formats()?,
            cmdlines: instance.read("saved_cmdlines").or_else(|_| instance.root_file("saved_cmdlines"))?,
            clocks: instance.read("trace_clock")?,
        })
    }

    /// The file as bytes.
    pub fn version_6(&self) -> Vec<u8> {
        let mut file = begin(b"6");
        file.extend(self.headers());
        // No formats of ftrace's own events; one system.
        file.extend(0u32.to_ne_bytes());
        file.extend(self.systems());
        // No kernel symbols and no strings of printk.
        file.extend(0u32.to_ne_bytes());
        file.extend(0u32.to_ne_bytes());
        sized(&mut file, &self.cmdlines);
        file.extend((self.pages.len() as u32).to_ne_bytes());
        file.extend(b"options  \0");
        option(&mut file, OPTION_TRACECLOCK, &[]);
        file.extend(0u16.to_ne_bytes());
        file.extend(b"flyrecord\0");
        let behind = file.len() + 16 * self.pages.len() + 8 + self.clocks.len();
        let mut at = behind.next_multiple_of(PAGE);
        for cpu in &self.pages {
            file.extend((at as u64).to_ne_bytes());
            file.extend((cpu.len() as u64).to_ne_bytes());
            at += cpu.len().next_multiple_of(PAGE);
        }
        sized(&mut file, &self.clocks);
        for cpu in &self.pages {
            file.resize(file.len().next_multiple_of(PAGE), 0);
            file.extend_from_slice(cpu);
        }
        file
    }

    /// The same as version 7, with zlib.
    pub fn version_7_zlib(&self) -> Result<Vec<u8>> {
        let mut file = begin(b"7");
        file.extend(b"zlib\x001.3\0");
        let place = file.len();
        file.extend([0; 8]);
        let mut options = Vec::new();
        let mut names = Vec::new();
        sized(&mut names, &self.cmdlines);
        let parts = [
            (OPTION_HEADERS, self.headers()),
            (OPTION_FTRACE_FORMATS, 0u32.to_ne_bytes().to_vec()),
            (OPTION_FORMATS, self.systems()),
            (OPTION_CMDLINES, names),
        ];
        for (id, data) in parts {
            option(&mut options, id, &(file.len() as u64).to_ne_bytes());
            section(&mut file, id, 1, &chunk(&data)?);
        }
        let clock = self.clocks.split(['[', ']']).nth(1).unwrap_or("local");
        let mut buffer = (file.len() as u64).to_ne_bytes().to_vec();
        // Its name is empty.
        buffer.push(0);
        buffer.extend([clock.as_bytes(), b"\0"].concat());
        buffer.extend([PAGE as u32, self.pages.len() as u32].map(u32::to_ne_bytes).concat());
        section(&mut file, OPTION_BUFFER, 1, &[]);
        for (cpu, pages) in self.pages.iter().enumerate() {
            let chunks = pages.chunks(CHUNK).map(chunk).collect::<Result<Vec<_>>>()?;
            let data = [&(chunks.len() as u32).to_ne_bytes()[..], &chunks.concat()].concat();
            buffer.extend((cpu as u32).to_ne_bytes());
            buffer.extend([file.len() as u64, data.len() as u64].map(u64::to_ne_bytes).concat());
            file.extend(data);
        }
        option(&mut options, OPTION_BUFFER, &buffer);
        // No further section of options.
        option(&mut options, 0, &0u64.to_ne_bytes());
        let at = (file.len() as u64).to_ne_bytes();
        file[place..place + 8].copy_from_slice(&at);
        section(&mut file, 0, 0, &options);
        Ok(file)
    }

    fn headers(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, text) in [("header_page", &self.header_page), ("header_event", &self.header_event)] {
            out.extend_from_slice(name.as_bytes());
            out.push(0);
            sized(&mut out, text);
        }
        out
    }

    fn systems(&self) -> Vec<u8> {
        let mut out = 1u32.to_ne_bytes().to_vec();
        out.extend(b"sched\0");
        out.extend((self.formats.len() as u32).to_ne_bytes());
        self.formats.iter().for_each(|format| sized(&mut out, format));
        out
    }
}

fn begin(version: &[u8]) -> Vec<u8> {
    let mut file = [b"\x17\x08\x44tracing", version, b"\0"].concat();
    file.extend([u8::from(cfg!(target_endian = "big")), size_of::<usize>() as u8]);
    file.extend((PAGE as u32).to_ne_bytes());
    file
}

fn sized(file: &mut Vec<u8>, text: &str) {
    file.extend((text.len() as u64).to_ne_bytes());
    file.extend_from_slice(text.as_bytes());
}

fn option(file: &mut Vec<u8>, id: u16, data: &[u8]) {
    file.extend(id.to_ne_bytes());
    file.extend((data.len() as u32).to_ne_bytes());
    file.extend_from_slice(data);
}

/// `flags` is 1 if the section is compressed.
fn section(file: &mut Vec<u8>, id: u16, flags: u16, body: &[u8]) {
    file.extend([id, flags].map(u16::to_ne_bytes).concat());
    // It has no description.
    file.extend(0u32.to_ne_bytes());
    file.extend((body.len() as u64).to_ne_bytes());
    file.extend_from_slice(body);
}

/// Both sizes, and the compressed data.
fn chunk(plain: &[u8]) -> Result<Vec<u8>> {
    let mut stream = ZlibEncoder::new(Vec::new(), Compression::default());
    stream.write_all(plain)?;
    let packed = stream.finish()?;
    Ok([&[packed.len() as u32, plain.len() as u32].map(u32::to_ne_bytes).concat()[..], &packed].concat())
}
