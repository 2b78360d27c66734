//! Raw pages in a tar archive: what SchedViz's `trace.sh` makes (`traces/cpuN`, each CPU's `trace_pipe_raw`;
//! `formats/…`, the layouts of events and pages), and the same files under their names in tracefs. Layout of a tar:
//! pax(1), ustar.

use super::header::{Buffer, CpuData, Header, chosen, cmdlines};
use crate::TraceError;
use crate::bytes::Input;
use crate::format::Format;
use crate::page::PageFormat;
use crate::problem::ProblemKind;
use crate::tracing_data::TracingData;
use std::ops::Range;

const BLOCK: u64 = 512;

/// Where a member's header has its magic.
const MAGIC: Range<usize> = 257..262;

/// Where the header's checksum is.
const SUM: Range<usize> = 148..156;

/// Most members that are read; a machine has a few dozen topology files per CPU.
const MAX_MEMBERS: u32 = 1 << 20;

/// Longest layout, list of names, or name of a member.
const LONGEST_TEXT: u64 = 16 << 20;

/// Whether a file begins like a tar archive.
pub(crate) fn recognise(head: &[u8]) -> bool {
    head.get(MAGIC).is_some_and(|magic| magic == b"ustar")
}

/// Reads all but the pages.
pub(super) fn read(input: &Input) -> Result<Header, TraceError> {
    let tracing = TracingData { long_size: 8, ..TracingData::default() };
    let mut header = Header::of("raw pages in a tar", "SchedViz or alike", tracing);
    let mut buffer = Buffer::default();
    let (mut at, mut long_name) = (0, None);
    for _ in 0..MAX_MEMBERS {
        let Some(member) = Member::at(input, at, &mut header)? else { break };
        at = member.data + member.size.div_ceil(BLOCK).saturating_mul(BLOCK);
        match member.kind {
            // GNU tar: the name of the next member, if it is long.
            b'L' => long_name = Some(text(input, &member)?.trim_end_matches('\0').to_owned()),
            b'0' | 0 => {
                let name = long_name.take().unwrap_or(member.name.clone());
                header.member(input, &name, &member, &mut buffer)?;
            }
            _ => {}
        }
    }
    let Some(format) = PageFormat::parse(&header.tracing.header_page, false) else {
        let found = "a tar without formats/header_page";
        return Err(input.unsupported(
            0,
            found,
            "give an archive as SchedViz's trace.sh makes it, or unpack it: tar -xf",
        ));
    };
    buffer.page_size = u32::try_from(format.page_bytes()).unwrap_or(0);
    header.tracing.page_size = buffer.page_size;
    header.tracing.big_endian = is_big_endian(input, &buffer.cpus, format)?;
    buffer.cpus.sort_by_key(|data| data.cpu);
    buffer.clock.clone_from(&header.clock);
    header.buffers.push(buffer);
    Ok(header)
}

/// A file in the archive.
struct Member {
    name: String,
    kind: u8,
    /// Where its bytes begin.
    data: u64,
    size: u64,
}

impl Member {
    /// The member whose header is here; `None` at the end, which is marked by two empty blocks.
    fn at(input: &Input, at: u64, header: &mut Header) -> Result<Option<Self>, TraceError> {
        let mut block = [0; BLOCK as usize];
        let read = input.read(at, &mut block)?;
        if read == block.len() && block == [0; BLOCK as usize] {
            return Ok(None);
        }
        let bytes = |range: Range<usize>| {
            let field = &block[range];
            &field[..field.iter().position(|b| *b == 0).unwrap_or(field.len())]
        };
        let octal = |range| u64::from_str_radix(std::str::from_utf8(bytes(range)).ok()?.trim(), 8).ok();
        let blank = |(at, byte): (usize, &u8)| u64::from(if SUM.contains(&at) { b' ' } else { *byte });
        let sum = block.iter().enumerate().map(blank).sum::<u64>();
        let size = octal(124..136).filter(|_| read == block.len() && recognise(&block) && octal(SUM) == Some(sum));
        let Some(size) = size else {
            header.notices.push((
                ProblemKind::SkippedPart,
                format!("byte {at}: the archive has no further member and no end; files after it are missing"),
            ));
            return Ok(None);
        };
        let text = |range| String::from_utf8_lossy(bytes(range)).into_owned();
        let name = match text(345..500) {
            prefix if prefix.is_empty() || !block[MAGIC.end..].starts_with(b"\0") => text(0..100),
            prefix => format!("{prefix}/{}", text(0..100)),
        };
        Ok(Some(Self { name, kind: block[156], data: at + BLOCK, size }))
    }
}

impl Header {
    /// Takes a member whose name is known, in whatever directory it is.
    fn member(&mut self, input: &Input, name: &str, member: &Member, buffer: &mut Buffer) -> Result<(), TraceError> {
        let path: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let cpu = |part: &str| part.strip_prefix("cpu").and_then(|number| number.parse::<u32>().ok());
        match path[..] {
            [.., "traces", part] | [.., "per_cpu", part, "trace_pipe_raw"] if cpu(part).is_some() => {
                let (offset, size) = (member.data, member.size);
                buffer.cpus.push(CpuData { cpu: cpu(part).unwrap_or(0), offset, size });
            }
            [.., "formats" | "events", system, event, "format"] => {
                let words = text(input, member)?;
                let format = Format::parse(system, &words).ok_or_else(|| {
                    input.malformed(
                        member.data,
                        format!("a format of {system}:{event} that is none"),
                        "name, ID and fields",
                    )
                })?;
                self.tracing.formats.push(format);
            }
            [.., "formats" | "events", "header_page"] => self.tracing.header_page = text(input, member)?,
            [.., "trace_clock"] => self.clock = chosen(&text(input, member)?),
            [.., "saved_cmdlines"] => self.cmdlines = cmdlines(text(input, member)?.as_bytes()),
            _ => {}
        }
        Ok(())
    }
}

fn text(input: &Input, member: &Member) -> Result<String, TraceError> {
    if member.size > LONGEST_TEXT {
        let found = format!("{} bytes of {}", member.size, member.name);
        return Err(input.malformed(member.data, found, format!("at most {LONGEST_TEXT}")));
    }
    let mut bytes = vec![0; member.size as usize];
    let read = input.read(member.data, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
}

/// The archive does not contain the byte order: it is the one in which a CPU's first page has data, and no more than
/// fits.
fn is_big_endian(input: &Input, cpus: &[CpuData], little: PageFormat) -> Result<bool, TraceError> {
    let mut page = vec![0; little.page_bytes()];
    for data in cpus.iter().filter(|data| data.size > 0) {
        let read = input.read(data.offset, &mut page)?;
        let fits = |big_endian| little.in_order(big_endian).open(&page[..read]).is_ok_and(|page| !page.data.is_empty());
        if fits(false) != fits(true) {
            return Ok(fits(true));
        }
    }
    Ok(false)
}
