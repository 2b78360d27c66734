//! Bytes by position: a reader knows nothing else about where a trace comes from. A file, a block of memory and a pipe
//! look the same to it, except that a pipe cannot go back. Nothing here maps memory or opens a file.

use crate::TraceError;
use std::io;
use std::sync::{Mutex, PoisonError};

/// A source of bytes.
pub trait ByteSource: Send + Sync {
    /// Reads at most `into.len()` bytes at `offset`; returns 0 at the end.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Number of bytes; `None` if it is known only after reading (a pipe).
    fn size(&self) -> Option<u64>;
}

impl ByteSource for Vec<u8> {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let bytes = into.len().min(self.len() - start);
        into[..bytes].copy_from_slice(&self[start..start + bytes]);
        Ok(bytes)
    }

    fn size(&self) -> Option<u64> {
        Some(self.len() as u64)
    }
}

#[cfg(unix)]
impl ByteSource for std::fs::File {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, into, offset)
    }

    fn size(&self) -> Option<u64> {
        self.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len())
    }
}

/// Bytes that can be read once, in order: a pipe. The first ones are kept, so that the format can be detected.
#[derive(Debug)]
pub struct Forward<R>(Mutex<ForwardState<R>>);

#[derive(Debug)]
struct ForwardState<R> {
    reader: R,
    /// Bytes taken from the reader so far.
    taken: u64,
    /// The first of them.
    head: Vec<u8>,
}

/// Bytes at the start of a stream that can be read again.
const KEPT: usize = 4096;

impl<R: io::Read + Send> Forward<R> {
    /// Wraps a reader from which nothing has been read yet.
    pub fn new(reader: R) -> Self {
        Self(Mutex::new(ForwardState { reader, taken: 0, head: Vec::new() }))
    }
}

impl<R: io::Read> ForwardState<R> {
    fn take(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < into.len() {
            match self.reader.read(&mut into[done..]) {
                Ok(0) => break,
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.taken += done as u64;
        let keep = (KEPT - self.head.len()).min(done);
        self.head.extend_from_slice(&into[..keep]);
        Ok(done)
    }
}

impl<R: io::Read + Send> ByteSource for Forward<R> {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if offset < state.head.len() as u64 {
            let kept = &state.head[offset as usize..];
            let bytes = kept.len().min(into.len());
            into[..bytes].copy_from_slice(&kept[..bytes]);
            return Ok(bytes);
        }
        if offset < state.taken {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a pipe cannot go back; write it to a file first"));
        }
        let mut skipped = [0; 4096];
        while state.taken < offset {
            let most = usize::try_from(offset - state.taken).unwrap_or(usize::MAX).min(skipped.len());
            if state.take(&mut skipped[..most])? == 0 {
                return Ok(0);
            }
        }
        state.take(into)
    }

    fn size(&self) -> Option<u64> {
        None
    }
}

/// A source read in order from an offset on.
pub(crate) struct Onward {
    pub(crate) source: Box<dyn ByteSource>,
    pub(crate) at: u64,
}

impl io::Read for Onward {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read_at(self.at, into)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A named source, shared by the parts of a reader.
pub(crate) struct Input {
    pub(crate) file: String,
    pub(crate) source: Box<dyn ByteSource>,
    /// Offset of the source's first byte in the file, for messages, because a part of a file may be read from memory.
    pub(crate) base: u64,
}

impl Input {
    pub(crate) fn new(file: &str, source: Box<dyn ByteSource>) -> Self {
        Self { file: file.to_owned(), source, base: 0 }
    }

    /// A part of a file that is in memory.
    pub(crate) fn part(file: &str, base: u64, bytes: Vec<u8>) -> Self {
        Self { file: file.to_owned(), source: Box::new(bytes), base }
    }

    /// Fills `into` from `offset` on as far as there are bytes; returns how many there were.
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> Result<usize, TraceError> {
        let mut done = 0;
        while done < into.len() {
            match self.source.read_at(offset.saturating_add(done as u64), &mut into[done..]) {
                Ok(0) => break,
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let offset = self.base.saturating_add(offset).saturating_add(done as u64);
                    let (file, bytes) = (self.file.clone(), into.len() - done);
                    return Err(TraceError::Read { file, offset, bytes, source });
                }
            }
        }
        Ok(done)
    }

    /// Number of bytes; `None` for a source that can be read only once.
    pub(crate) fn size(&self) -> Option<u64> {
        self.source.size()
    }

    pub(crate) fn malformed(&self, offset: u64, found: impl Into<String>, expected: impl Into<String>) -> TraceError {
        let (file, offset) = (self.file.clone(), self.base.saturating_add(offset));
        TraceError::Malformed { file, offset, found: found.into(), expected: expected.into() }
    }

    pub(crate) fn unsupported(&self, offset: u64, what: impl Into<String>, fix: impl Into<String>) -> TraceError {
        let (file, offset) = (self.file.clone(), self.base.saturating_add(offset));
        TraceError::Unsupported { file, offset, what: what.into(), fix: fix.into() }
    }
}

/// Reads the small structured parts of a file (headers, tables, sections) one after the other, within `[at, end)`.
pub(crate) struct Cursor<'a> {
    pub(crate) input: &'a Input,
    pub(crate) at: u64,
    pub(crate) end: u64,
    pub(crate) big_endian: bool,
    /// Bytes that were read ahead, starting at `ahead_at`.
    ahead: Vec<u8>,
    ahead_at: u64,
}

/// The longest block that a cursor reads at once. If a header claims a longer one, it is not believed.
const LONGEST_BLOCK: u64 = 64 << 20;

/// Bytes that a cursor reads ahead; for a pipe, no more than can be read again.
const AHEAD: u64 = KEPT as u64;

impl<'a> Cursor<'a> {
    pub(crate) fn new(input: &'a Input, at: u64, end: u64, big_endian: bool) -> Self {
        Self { input, at, end, big_endian, ahead: Vec::new(), ahead_at: at }
    }

    /// The next `bytes` bytes; `what` describes them in errors.
    pub(crate) fn take(&mut self, bytes: u64, what: &str) -> Result<&[u8], TraceError> {
        let left = self.left();
        if bytes > left || bytes > LONGEST_BLOCK {
            let found = if bytes > left { format!("{left} bytes are left") } else { "an impossible size".into() };
            return Err(self.input.malformed(self.at, found, format!("{what} of {bytes} bytes")));
        }
        let there = self.look(bytes)?;
        if (there as u64) < bytes {
            let found = format!("the file ends after {there} bytes");
            return Err(self.input.malformed(self.at, found, format!("{what} of {bytes} bytes")));
        }
        let from = (self.at - self.ahead_at) as usize;
        self.at += bytes;
        Ok(&self.ahead[from..from + bytes as usize])
    }

    /// Reads the next `bytes` bytes into memory, as far as there are any; returns how many there are.
    fn look(&mut self, bytes: u64) -> Result<usize, TraceError> {
        let ahead_end = self.ahead_at + self.ahead.len() as u64;
        if self.at < self.ahead_at || self.at + bytes > ahead_end {
            let want = bytes.max(AHEAD).min(self.left());
            self.ahead.resize(want as usize, 0);
            self.ahead_at = self.at;
            let read = self.input.read(self.at, &mut self.ahead)?;
            self.ahead.truncate(read);
        }
        let there = self.ahead.len() - ((self.at - self.ahead_at) as usize).min(self.ahead.len());
        Ok(there.min(bytes as usize))
    }

    pub(crate) fn left(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    pub(crate) fn skip(&mut self, bytes: u64, what: &str) -> Result<(), TraceError> {
        if bytes > self.left() {
            let found = format!("{} bytes are left", self.left());
            return Err(self.input.malformed(self.at, found, format!("{what} of {bytes} bytes")));
        }
        self.at += bytes;
        Ok(())
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], TraceError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64, what)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self, what: &str) -> Result<u8, TraceError> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(crate) fn u16(&mut self, what: &str) -> Result<u16, TraceError> {
        let bytes = self.array(what)?;
        Ok(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    pub(crate) fn u32(&mut self, what: &str) -> Result<u32, TraceError> {
        let bytes = self.array(what)?;
        Ok(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    pub(crate) fn u64(&mut self, what: &str) -> Result<u64, TraceError> {
        let bytes = self.array(what)?;
        Ok(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// A string up to its zero byte, at most `most` bytes.
    pub(crate) fn string(&mut self, most: usize, what: &str) -> Result<String, TraceError> {
        let there = self.look((most as u64 + 1).min(self.left()))?;
        let from = (self.at - self.ahead_at) as usize;
        let bytes = &self.ahead[from..from + there];
        let Some(end) = bytes.iter().position(|b| *b == 0) else {
            let expected = format!("{what} of at most {most} bytes");
            return Err(self.input.malformed(self.at, "no end of the string", expected));
        };
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        self.at += end as u64 + 1;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_keeps_its_head_and_goes_on() {
        let bytes: Vec<u8> = (0..20_000u32).map(|i| i as u8).collect();
        let pipe = Input::new("pipe", Box::new(Forward::new(io::Cursor::new(bytes.clone()))));
        let mut four = [0; 4];
        for offset in [0, 2, 5000, 10_000, 1] {
            assert_eq!(pipe.read(offset, &mut four).unwrap(), 4);
            assert_eq!(four, bytes[offset as usize..][..4]);
        }
        let back = pipe.read(6000, &mut four).unwrap_err();
        assert_eq!(back.to_string(), "pipe: reading 4 bytes at byte 6000 failed");
        assert_eq!(pipe.read(30_000, &mut four).unwrap(), 0);
    }

    #[test]
    fn a_cursor_does_not_believe_sizes() {
        let input = Input::part("f", 0, vec![1u8, 0, 0, 0, 9]);
        let mut cursor = Cursor::new(&input, 0, 5, false);
        assert_eq!(cursor.u32("count").unwrap(), 1);
        let error = cursor.take(1 << 40, "a table").unwrap_err().to_string();
        assert_eq!(error, "f: byte 4: 1 bytes are left; expected a table of 1099511627776 bytes");
        assert_eq!(cursor.u32("x").unwrap_err().to_string(), "f: byte 4: 1 bytes are left; expected x of 4 bytes");
        assert!(cursor.string(10, "name").is_err());
    }
}
