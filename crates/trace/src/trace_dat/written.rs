//! Writes trace.dat files of both versions for tests.

use crate::drawing::{Drawing, Line};
use crate::perf_data::written::Writer;

const PAGE: usize = 512;

/// The pages of one CPU. A loss begins a new page.
fn pages(writer: Writer, drawing: &Drawing, cpu: u16) -> Vec<u8> {
    let (mut pages, mut page, mut ts) = (Vec::new(), Vec::new(), 0);
    let mut missed = None;
    let mut close = |page: &mut Vec<u8>, start: u64, missed: &mut Option<u64>| {
        if page.is_empty() {
            return;
        }
        let flags = if missed.is_some() { 1 << 31 | 1 << 30 } else { 0 };
        let mut whole = writer.u64(start).to_vec();
        whole.extend(writer.long(page.len() as u64 | flags));
        whole.append(page);
        whole.extend(missed.take().map_or(Vec::new(), |lost| writer.long(lost)));
        whole.resize(PAGE, 0);
        pages.extend(whole);
    };
    let mut start = 0;
    for line in &drawing.lines {
        match line {
            Line::Lost { cpu: c, lost, .. } if c.0 == cpu => {
                close(&mut page, start, &mut missed);
                missed = Some(*lost);
            }
            Line::Event(event) if event.cpu.0 == cpu => {
                let Some((_, mut raw)) = writer.raw(drawing, event.what) else { continue };
                raw.resize(raw.len().next_multiple_of(4), 0);
                if page.len() + raw.len() + 40 > PAGE {
                    close(&mut page, start, &mut missed);
                }
                if page.is_empty() {
                    (start, ts) = (event.ts - 3, event.ts - 3);
                }
                let (delta, words) = ((event.ts - ts) as u32, raw.len() as u32 / 4);
                let head = if writer.big_endian { words << 27 | delta } else { delta << 5 | words };
                page.extend(writer.u32(head));
                page.extend(raw);
                ts = event.ts;
            }
            _ => {}
        }
    }
    close(&mut page, start, &mut missed);
    pages
}

/// The first bytes of a file, up to the size of its pages.
pub(crate) fn begin(writer: Writer, version: &str) -> Vec<u8> {
    let mut file = b"\x17\x08\x44tracing".to_vec();
    file.extend(version.as_bytes());
    file.extend([0, u8::from(writer.big_endian), writer.long_size]);
    file.extend(writer.u32(PAGE as u32));
    file
}

fn header_page(writer: Writer) -> String {
    let (long, data_at) = (writer.long_size, 8 + usize::from(writer.long_size));
    let data_bytes = PAGE - data_at;
    format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
         \tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
         \tfield: char data;\toffset:{data_at};\tsize:{data_bytes};\tsigned:0;\n"
    )
}

fn headers(writer: Writer) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, text) in [("header_page", header_page(writer).as_str()), ("header_event", "x")] {
        out.extend(name.as_bytes());
        out.push(0);
        out.extend(writer.u64(text.len() as u64));
        out.extend(text.as_bytes());
    }
    out
}

/// trace-cmd's own additions.
#[derive(Clone, Copy)]
pub(crate) struct Saved {
    /// Thread ids and names.
    pub(crate) cmdlines: &'static str,
    /// Events that the ring overwrote.
    pub(crate) overrun: u32,
    /// More lines of a CPU's `stats`.
    pub(crate) stats: &'static str,
    /// `trace_clock`.
    pub(crate) clocks: &'static str,
    /// Version 6: the list of clocks follows the table of CPUs, as trace-cmd has written it for years.
    pub(crate) clocks_after: bool,
    /// Multiplier, shift and offset for cycles.
    pub(crate) tsc2nsec: Option<(u32, u32, u64)>,
    /// Version 6: one more option, by number.
    pub(crate) option: Option<(u16, &'static str)>,
}

impl Saved {
    pub(crate) const NOTHING: Self = Self {
        cmdlines: "",
        overrun: 0,
        stats: "",
        clocks: "local [global] counter",
        clocks_after: false,
        tsc2nsec: None,
        option: None,
    };
}

/// A file of version 6.
pub(crate) fn version_6(writer: Writer, drawing: &Drawing, saved: Saved) -> Vec<u8> {
    let mut file = begin(writer, "6");
    file.extend(headers(writer));
    file.extend(writer.u32(0));
    file.extend(writer.formats());
    file.extend(writer.u32(0));
    file.extend(writer.u32(0));
    file.extend(writer.u64(saved.cmdlines.len() as u64));
    file.extend(saved.cmdlines.as_bytes());
    file.extend(writer.u32(2));
    file.extend(b"options  \0");
    let arch = match (writer.long_size, writer.big_endian) {
        (4, true) => "ppc",
        (4, false) => "armv7l",
        _ => "aarch64",
    };
    let uname = format!("Linux host 6.18.0 #1 SMP {arch}\0");
    let stats = format!("CPU: 0\noverrun: {}\n{}\0", saved.overrun, saved.stats);
    let list = format!("{}\0", saved.clocks);
    let option = if saved.clocks_after { "" } else { &list };
    let calc = saved
        .tsc2nsec
        .map(|(mult, shift, offset)| [&writer.u32(mult)[..], &writer.u32(shift), &writer.u64(offset)].concat());
    let texts = [(4, option), (5, &uname), (2, &stats)].map(|(id, text)| (id, text.as_bytes().to_vec()));
    let more = saved.option.map(|(id, text)| (id, text.as_bytes().to_vec()));
    for (id, data) in texts.into_iter().chain(calc.map(|calc| (14, calc))).chain(more) {
        file.extend(writer.u16(id));
        file.extend(writer.u32(data.len() as u32));
        file.extend(data);
    }
    file.extend(writer.u16(0));
    file.extend(b"flyrecord\0");
    let after = [&writer.u64(list.len() as u64)[..], list.as_bytes()].concat();
    let after = if saved.clocks_after { after } else { Vec::new() };
    let mut at = (file.len() as u64 + 32 + after.len() as u64).next_multiple_of(PAGE as u64);
    let cpus = [pages(writer, drawing, 0), pages(writer, drawing, 1)];
    for pages in &cpus {
        file.extend(writer.u64(at));
        file.extend(writer.u64(pages.len() as u64));
        at += pages.len() as u64;
    }
    file.extend(after);
    file.resize(file.len().next_multiple_of(PAGE), 0);
    file.extend(cpus.concat());
    file
}

/// A zstd frame of raw blocks.
fn zstd(data: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00];
    for block in data.chunks(1000) {
        frame.extend(&((block.len() as u32) << 3).to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame.extend([1, 0, 0]);
    frame
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut stream, data).expect("memory");
    stream.finish().expect("memory")
}

/// How the parts of a file of version 7 are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packed {
    No,
    Zlib,
    Zstd,
    /// As by trace-cmd 3.0 to 3.1.6, which do not include the number of chunks in the size.
    ZstdShort,
}

impl Packed {
    fn name(self) -> &'static [u8] {
        match self {
            Self::No => b"none\0\0",
            Self::Zlib => b"zlib\x001.3\0",
            Self::Zstd | Self::ZstdShort => b"zstd\x001.5\0",
        }
    }

    fn pack(self, data: &[u8]) -> Vec<u8> {
        if self == Self::Zlib { zlib(data) } else { zstd(data) }
    }
}

fn section(writer: Writer, id: u16, data: &[u8], packed: Packed) -> Vec<u8> {
    let mut body = data.to_vec();
    let compressed = packed != Packed::No;
    if compressed {
        let frame = packed.pack(data);
        body = writer.u32(frame.len() as u32).to_vec();
        body.extend(writer.u32(data.len() as u32));
        body.extend(frame);
    }
    let mut out = writer.u16(id).to_vec();
    out.extend(writer.u16(u16::from(compressed)));
    out.extend(writer.u32(0));
    out.extend(writer.u64(body.len() as u64));
    out.extend(body);
    out
}

/// A file of version 7; the second of two buffers has the same content as the first.
pub(crate) fn version_7(writer: Writer, drawing: &Drawing, saved: Saved, packed: Packed) -> Vec<u8> {
    let compressed = packed != Packed::No;
    let mut file = begin(writer, "7");
    file.extend(packed.name());
    let options_at = file.len();
    file.extend([0; 8]);
    let mut options = Vec::new();
    let mut add = |id: u16, data: &[u8]| {
        options.extend(writer.u16(id));
        options.extend(writer.u32(data.len() as u32));
        options.extend(data);
    };
    let cmdlines = saved.cmdlines.as_bytes();
    let names = [&writer.u64(cmdlines.len() as u64)[..], cmdlines].concat();
    let parts = [(16, headers(writer)), (17, writer.u32(0).to_vec()), (18, writer.formats()), (21, names)];
    for (id, data) in parts {
        add(id, &writer.u64(file.len() as u64));
        file.extend(section(writer, id, &data, packed));
    }
    let clock = saved.clocks.split(['[', ']']).nth(1).unwrap_or_default();
    for (name, clock) in [("", clock), ("second", "mono")] {
        let mut buffer = writer.u64(file.len() as u64).to_vec();
        buffer.extend(name.as_bytes());
        buffer.push(0);
        buffer.extend(clock.as_bytes());
        buffer.push(0);
        buffer.extend(writer.u32(PAGE as u32));
        buffer.extend(writer.u32(2));
        file.extend(section(writer, 3, &[], Packed::No));
        let flags = file.len() - 14;
        file[flags..flags + 2].copy_from_slice(&writer.u16(u16::from(compressed)));
        for cpu in [0, 1] {
            let mut data = pages(writer, drawing, cpu);
            if compressed {
                let chunks: Vec<&[u8]> = data.chunks(PAGE).collect();
                let mut out = writer.u32(chunks.len() as u32).to_vec();
                for chunk in chunks {
                    let frame = packed.pack(chunk);
                    out.extend(writer.u32(frame.len() as u32));
                    out.extend(writer.u32(chunk.len() as u32));
                    out.extend(frame);
                }
                data = out;
            }
            buffer.extend(writer.u32(u32::from(cpu)));
            buffer.extend(writer.u64(file.len() as u64));
            let short = if packed == Packed::ZstdShort { 4 } else { 0 };
            buffer.extend(writer.u64(data.len() as u64 - short));
            file.extend(data);
        }
        add(3, &buffer);
    }
    add(0, &writer.u64(0));
    let place = writer.u64(file.len() as u64);
    file[options_at..options_at + 8].copy_from_slice(&place);
    file.extend(section(writer, 0, &options, Packed::No));
    file
}

/// A tar archive of raw pages, as SchedViz makes it, including the clock.
pub(crate) fn archive(writer: Writer, drawing: &Drawing) -> Vec<u8> {
    let mut files = vec![("metadata.textproto".to_owned(), b"trace_type: FTRACE\n".to_vec())];
    for format in writer.format_texts() {
        let name = format.lines().find_map(|line| line.strip_prefix("name: ")).expect("a name").to_owned();
        files.push((format!("formats/sched/{name}/format"), format.into_bytes()));
    }
    files.push(("formats/header_page".into(), header_page(writer).into_bytes()));
    for cpu in [0, 1] {
        files.push((format!("traces/cpu{cpu}"), pages(writer, drawing, cpu)));
    }
    files.push(("./trace_clock".into(), b"local [mono]\n".to_vec()));
    let mut tar: Vec<u8> = files.iter().flat_map(|(name, data)| member(name, data)).collect();
    tar.resize(tar.len() + 1024, 0);
    tar
}

/// A file in a tar (ustar).
fn member(name: &str, data: &[u8]) -> Vec<u8> {
    let mut block = [0u8; 512];
    let mut put = |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(124, &format!("{:011o}\0", data.len()));
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut out = [&block[..], data].concat();
    out.resize(out.len().next_multiple_of(512), 0);
    out
}
