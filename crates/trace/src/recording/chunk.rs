//! The frame around every part of a recording: its kind, its length, whether it is compressed, and a checksum. A part
//! that a crash tore or a disk damaged is recognised by its frame, and what follows is still found.

use crate::TraceError;
use crate::bytes::Input;

/// First bytes of a recording, without the version.
pub(crate) const MAGIC: [u8; 8] = *b"SLTRACE\0";

/// The version written here, and the newest that can be read: version 2 added system calls and moves between cgroups.
pub(super) const VERSION: u16 = 2;

/// Bytes before the first part.
pub(super) const HEAD_BYTES: u64 = 16;

/// Bytes of a frame.
pub(super) const FRAME_BYTES: usize = 16;

/// The longest content, stored or unpacked; a header with a larger length is not believed.
pub(super) const LONGEST: usize = 16 << 20;

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    About,
    Formats,
    Threads,
    Events,
    Complete,
    End,
    /// A part from a later version, with its letters.
    Other([u8; 4]),
}

const TAGS: [(Tag, &[u8; 4]); 6] = [
    (Tag::About, b"ABOU"),
    (Tag::Formats, b"FMTS"),
    (Tag::Threads, b"THRD"),
    (Tag::Events, b"EVTS"),
    (Tag::Complete, b"CMPL"),
    (Tag::End, b"END "),
];

impl Tag {
    fn bytes(self) -> [u8; 4] {
        match self {
            Self::Other(bytes) => bytes,
            known => TAGS.iter().find(|(tag, _)| *tag == known).map_or(*b"????", |(_, bytes)| **bytes),
        }
    }

    /// `None` if these are not four capitals or spaces, so no frame begins here.
    fn of(bytes: [u8; 4]) -> Option<Self> {
        match TAGS.iter().find(|(_, known)| **known == bytes) {
            Some((tag, _)) => Some(*tag),
            None => bytes.iter().all(|b| b.is_ascii_uppercase() || *b == b' ').then_some(Self::Other(bytes)),
        }
    }
}

/// The first bytes of a file.
pub(super) fn head() -> [u8; HEAD_BYTES as usize] {
    let mut head = [0; HEAD_BYTES as usize];
    head[..8].copy_from_slice(&MAGIC);
    head[8..10].copy_from_slice(&VERSION.to_le_bytes());
    head
}

/// Frames a content, compressed if that makes it shorter, and appends it to `out`.
pub(super) fn frame(tag: Tag, content: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + FRAME_BYTES + lz4_flex::block::get_maximum_output_size(content.len()), 0);
    let body = start + FRAME_BYTES;
    let stored = match lz4_flex::block::compress_into(content, &mut out[body..]) {
        Ok(bytes) if bytes < content.len() => bytes,
        _ => {
            out.truncate(body);
            out.extend_from_slice(content);
            content.len()
        }
    };
    out.truncate(body + stored);
    let crc = crc32fast::hash(&out[body..]);
    out[start..start + 4].copy_from_slice(&tag.bytes());
    out[start + 4..start + 8].copy_from_slice(&(stored as u32).to_le_bytes());
    out[start + 8..start + 12].copy_from_slice(&(content.len() as u32).to_le_bytes());
    out[start + 12..body].copy_from_slice(&crc.to_le_bytes());
}

/// What is at a position in the file.
pub(super) enum Found {
    /// A whole part.
    Part(Tag),
    /// A part whose checksum or compression is wrong, and why; the next part follows it.
    Damaged(Tag, String),
    /// The end, between two parts.
    Nothing,
    /// The file ends inside a part, of which this many bytes exist.
    Cut(u64),
    /// No frame, so nothing after it can be found; what is there, and what was expected.
    Unframed(String, &'static str),
}

/// A part: its tag, its length as stored and unpacked, and the checksum of the stored bytes.
type Frame = (Tag, usize, usize, u32);

/// Reads parts one after the other, through buffers that are used again.
pub(super) struct Parts {
    pub(super) at: u64,
    stored: Vec<u8>,
    content: Vec<u8>,
}

impl Parts {
    pub(super) fn new(at: u64) -> Self {
        Self { at, stored: Vec::new(), content: Vec::new() }
    }

    /// The content of the part that [`Self::next`] found.
    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }

    /// Reads the next part. Memory is allocated for what is in the file, not for what a header claims: a length is
    /// believed up to [`LONGEST`], and the buffer for the stored bytes grows as they arrive.
    pub(super) fn next(&mut self, input: &Input) -> Result<Found, TraceError> {
        self.next_of(input, &|_| true)
    }

    /// The next part with a wanted tag; other parts are skipped without being read.
    pub(super) fn next_of(&mut self, input: &Input, wanted: &dyn Fn(Tag) -> bool) -> Result<Found, TraceError> {
        loop {
            let (tag, stored, whole, crc) = match self.frame(input)? {
                Ok(frame) => frame,
                Err(found) => return Ok(found),
            };
            if wanted(tag) {
                return self.content_of(input, (tag, stored, whole, crc));
            }
            self.at += (FRAME_BYTES + stored) as u64;
        }
    }

    /// The next frame's tag, stored and unpacked length, and checksum; or what is there instead.
    fn frame(&self, input: &Input) -> Result<Result<Frame, Found>, TraceError> {
        let mut frame = [0; FRAME_BYTES];
        match input.read(self.at, &mut frame)? {
            0 => return Ok(Err(Found::Nothing)),
            FRAME_BYTES => {}
            bytes => return Ok(Err(Found::Cut(bytes as u64))),
        }
        let number = |at: usize| u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
        let Some(tag) = Tag::of([frame[0], frame[1], frame[2], frame[3]]) else {
            let begins = crate::error::begins(&frame);
            return Ok(Err(Found::Unframed(begins, "the four capitals that a part begins with")));
        };
        let (stored, whole, crc) = (number(4) as usize, number(8) as usize, number(12));
        if stored > whole || whole > LONGEST {
            let found = format!("a part of {stored} bytes for {whole}");
            return Ok(Err(Found::Unframed(found, "no more stored than whole, and at most 16777216 bytes")));
        }
        Ok(Ok((tag, stored, whole, crc)))
    }

    fn content_of(&mut self, input: &Input, (tag, stored, whole, crc): Frame) -> Result<Found, TraceError> {
        let there = self.fill(input, stored)?;
        if there < stored {
            return Ok(Found::Cut((FRAME_BYTES + there) as u64));
        }
        self.at += (FRAME_BYTES + stored) as u64;
        let seen = crc32fast::hash(&self.stored);
        if seen != crc {
            return Ok(Found::Damaged(tag, format!("its checksum is {seen:08x}; expected {crc:08x}")));
        }
        if stored == whole {
            std::mem::swap(&mut self.stored, &mut self.content);
            return Ok(Found::Part(tag));
        }
        self.content.clear();
        self.content.resize(whole, 0);
        match lz4_flex::block::decompress_into(&self.stored, &mut self.content) {
            Ok(bytes) if bytes == whole => Ok(Found::Part(tag)),
            Ok(bytes) => Ok(Found::Damaged(tag, format!("it holds {bytes} bytes; expected {whole}"))),
            Err(error) => Ok(Found::Damaged(tag, format!("it is not a lz4 block of {whole} bytes: {error}"))),
        }
    }

    /// Fills `stored` in steps, so that a false length uses no more memory than the file is long.
    fn fill(&mut self, input: &Input, bytes: usize) -> Result<usize, TraceError> {
        const STEP: usize = 1 << 20;
        self.stored.clear();
        let from = self.at + FRAME_BYTES as u64;
        while self.stored.len() < bytes {
            let have = self.stored.len();
            self.stored.resize(bytes.min(have + STEP), 0);
            let read = input.read(from + have as u64, &mut self.stored[have..])?;
            if have + read < self.stored.len() {
                self.stored.truncate(have + read);
                break;
            }
        }
        Ok(self.stored.len())
    }
}
