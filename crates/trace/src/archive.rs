//! Traces inside other files: compressed with gzip (RFC 1952), or the only trace in a zip archive (PKWARE's
//! APPNOTE.TXT), as ui.perfetto.dev and Android's bug reports make them. Compressed data is unpacked while it is read,
//! as from a pipe.

use crate::bytes::{ByteSource, Forward, Input};
use crate::{TraceError, perfetto};
use flate2::read::{DeflateDecoder, MultiGzDecoder};
use std::io::{self, Read};
use std::sync::Arc;

/// Largest archive directory that is read: some 100,000 members.
const LONGEST_DIRECTORY: u64 = 16 << 20;

/// Bytes at the end of an archive: a trailer of 22 and a comment of at most 65,535.
const TRAILER: usize = 22;
const LONGEST_TRAILER: u64 = TRAILER as u64 + 65_535;

/// Most members that an error message lists.
const LISTED: usize = 10;

pub(crate) const GZIP: [u8; 2] = *b"\x1f\x8b";
pub(crate) const ZIP: [u8; 4] = *b"PK\x03\x04";

/// The unpacked content of a file, which can be read once, as from a pipe.
pub(crate) fn gunzip(input: Input) -> Box<dyn ByteSource> {
    let part = Part { input: Arc::new(input), at: 0, end: u64::MAX };
    Box::new(Forward::new(MultiGzDecoder::new(part)))
}

/// The only trace in an archive: its name and its bytes.
pub(crate) fn only_trace(
    input: Input,
    is_trace: impl Fn(&[u8]) -> bool,
) -> Result<(String, Box<dyn ByteSource>), TraceError> {
    let archive = Archive::open(input)?;
    let mut traces = Vec::new();
    for member in &archive.members {
        let mut head = Vec::new();
        // A member that cannot be unpacked is not considered a trace.
        if let Ok(bytes) = archive.stream(member)
            && bytes.take(4096).read_to_end(&mut head).is_ok()
            && is_trace(&head)
        {
            traces.push((member, perfetto::recognise(&head)));
        }
    }
    let file = &archive.input.file;
    if traces.len() > 1 && traces.iter().filter(|(_, is_perfetto)| *is_perfetto).count() == 1 {
        // The rest of a bug report is text, some of which looks like a trace.
        traces.retain(|(_, is_perfetto)| *is_perfetto);
    }
    match traces[..] {
        [(member, _)] => Ok((format!("{file}: {}", member.name), archive.source(member)?)),
        [] => {
            let what = format!("an archive of {} members, none of which is a trace", archive.members.len());
            Err(archive.refuse(0, what, "name a trace, or an archive with one"))
        }
        _ => {
            let names: Vec<&str> = traces.iter().take(LISTED).map(|(member, _)| member.name.as_str()).collect();
            let more = if traces.len() > LISTED { ", …" } else { "" };
            let what = format!("an archive with {} traces: {}{more}", traces.len(), names.join(", "));
            let fix = format!("unpack the one that is meant and name it: unzip {file} '{}'", names[0]);
            Err(archive.refuse(0, what, &fix))
        }
    }
}

/// A file of an archive.
#[derive(Debug)]
struct Member {
    name: String,
    method: u16,
    crc: u32,
    /// Size as stored, and unpacked.
    packed: u64,
    size: u64,
    /// Where its header lies.
    at: u64,
}

struct Archive {
    input: Arc<Input>,
    members: Vec<Member>,
}

impl Archive {
    fn open(input: Input) -> Result<Self, TraceError> {
        let mut archive = Self { input: Arc::new(input), members: Vec::new() };
        let Some(size) = archive.input.source.size() else {
            return Err(archive.refuse(
                0,
                "a zip archive from a pipe, whose directory is at its end".into(),
                "name the file",
            ));
        };
        let from = size.saturating_sub(LONGEST_TRAILER);
        let end = archive.bytes(from, size - from)?;
        let trailer = end.windows(TRAILER).rposition(|bytes| bytes.starts_with(b"PK\x05\x06"));
        let Some(trailer) = trailer.map(|at| &end[at..]) else {
            return Err(archive.refuse(
                size,
                "the end of a zip archive without its directory".into(),
                "fetch the file again",
            ));
        };
        let (length, at) = (u64::from(u32_at(trailer, 12)), u64::from(u32_at(trailer, 16)));
        if at == u64::from(u32::MAX) || length > LONGEST_DIRECTORY {
            return Err(archive.refuse(
                at,
                "a zip archive of more than 4 GiB or 100,000 files".into(),
                "unzip it first",
            ));
        }
        let directory = archive.bytes(at, length)?;
        let mut rest = &directory[..];
        while let Some((member, after)) = Member::read(rest) {
            archive.members.extend(member);
            rest = after;
        }
        Ok(archive)
    }

    fn bytes(&self, at: u64, length: u64) -> Result<Vec<u8>, TraceError> {
        let mut bytes = vec![0; length as usize];
        let read = self.input.read(at, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// The bytes of a member as stored.
    fn part(&self, member: &Member) -> Result<Part, TraceError> {
        const HEADER: u64 = 30;
        let header = self.bytes(member.at, HEADER)?;
        if header.len() < HEADER as usize || !header.starts_with(&ZIP) {
            return Err(self.refuse(member.at, format!("no {} lies here", member.name), "fetch the file again"));
        }
        let at = member.at + HEADER + u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28));
        Ok(Part { input: Arc::clone(&self.input), at, end: at + member.packed })
    }

    fn stream(&self, member: &Member) -> Result<Box<dyn Read + Send>, TraceError> {
        let part = self.part(member)?;
        let unpacked: Box<dyn Read + Send> =
            if member.method == STORED { Box::new(part) } else { Box::new(DeflateDecoder::new(part)) };
        Ok(Box::new(Summed { unpacked, left: member.size, crc: member.crc, sum: crc32fast::Hasher::new() }))
    }

    /// A stored (uncompressed) member can be read by position.
    fn source(&self, member: &Member) -> Result<Box<dyn ByteSource>, TraceError> {
        if member.method == STORED {
            return Ok(Box::new(self.part(member)?));
        }
        Ok(Box::new(Forward::new(self.stream(member)?)))
    }

    fn refuse(&self, offset: u64, what: String, fix: &str) -> TraceError {
        TraceError::Unsupported { file: self.input.file.clone(), offset, what, fix: fix.to_owned() }
    }
}

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

impl Member {
    /// The first entry of a directory, if it can be read, and the rest of the directory.
    fn read(directory: &[u8]) -> Option<(Option<Self>, &[u8])> {
        const HEADER: usize = 46;
        const ENCRYPTED: u16 = 1;
        let header = directory.get(..HEADER).filter(|header| header.starts_with(b"PK\x01\x02"))?;
        let name_ends = HEADER + usize::from(u16_at(header, 28));
        let name = directory.get(HEADER..name_ends)?;
        let name = String::from_utf8_lossy(name).chars().filter(|c| !c.is_control()).collect();
        let after = name_ends + usize::from(u16_at(header, 30)) + usize::from(u16_at(header, 32));
        let member = Self {
            name,
            method: u16_at(header, 10),
            crc: u32_at(header, 16),
            packed: u32_at(header, 20).into(),
            size: u32_at(header, 24).into(),
            at: u32_at(header, 42).into(),
        };
        let readable = matches!(member.method, STORED | DEFLATED) && u16_at(header, 8) & ENCRYPTED == 0;
        Some((readable.then_some(member), directory.get(after..)?))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

/// A part of a file, by position or in order from its start.
struct Part {
    input: Arc<Input>,
    at: u64,
    end: u64,
}

impl ByteSource for Part {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let at = self.at.saturating_add(offset);
        let most = self.end.saturating_sub(at).min(into.len() as u64) as usize;
        self.input.source.read_at(at, &mut into[..most])
    }

    fn size(&self) -> Option<u64> {
        Some(self.end - self.at)
    }
}

impl Read for Part {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.read_at(0, into)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A member that is unpacked; its size and checksum must match the directory.
struct Summed {
    unpacked: Box<dyn Read + Send>,
    left: u64,
    crc: u32,
    sum: crc32fast::Hasher,
}

impl Read for Summed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.unpacked.read(into)?;
        self.sum.update(&into[..read]);
        let left = self.left.checked_sub(read as u64);
        let ended = read == 0 && !into.is_empty();
        self.left = left.unwrap_or(0);
        if left.is_none() || ended && (self.left > 0 || self.sum.clone().finalize() != self.crc) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a file of the archive is damaged; fetch it again"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
