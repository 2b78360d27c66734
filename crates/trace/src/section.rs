//! Reads a trace's records: a section of the file, piece by piece, each after what was left of the previous one.

use crate::TraceError;
use crate::bytes::Input;
use crate::pieces::{Helper, PIECE, Piece, Pieces};
use std::sync::Arc;

/// A section of a file, from its beginning to its end.
pub(crate) struct Window {
    pieces: Arc<Pieces>,
    /// Only who decodes may read: a pipe has one order.
    is_pipe: bool,
    /// Room for what the last piece left over, and after it the present piece.
    buffer: Vec<u8>,
    /// What of the buffer is read and not yet consumed.
    begin: usize,
    filled: usize,
    /// Offset in the file of `buffer[begin]`.
    offset: u64,
}

impl Window {
    /// Reads `[offset, end)`; a pipe has no known end.
    pub(crate) fn new(input: &Arc<Input>, offset: u64, end: u64) -> Self {
        let pieces = Arc::new(Pieces::new(Arc::clone(input), offset, end));
        let is_pipe = input.source.size().is_none();
        Self { pieces, is_pipe, buffer: Vec::new(), begin: 0, filled: 0, offset }
    }

    /// Reads ahead in other threads; `None` for a pipe.
    pub(crate) fn helper(&self) -> Option<Helper> {
        (!self.is_pipe).then(|| Helper(Arc::clone(&self.pieces)))
    }

    /// The position in the file of the first unconsumed byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.begin..self.filled]
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        self.begin += bytes;
        self.offset += bytes as u64;
    }

    /// Skips bytes, which need not be in the buffer.
    pub(crate) fn skip(&mut self, bytes: u64) {
        let buffered = (self.filled - self.begin) as u64;
        self.begin += buffered.min(bytes) as usize;
        self.offset = self.offset.saturating_add(bytes);
    }

    /// Reads more, after what is left; returns whether there was anything.
    pub(crate) fn fill(&mut self) -> Result<bool, TraceError> {
        // What does not fit is of no use, because no record is that long.
        let left = (self.filled - self.begin).min(PIECE);
        let wanted = self.offset + left as u64;
        while let Some(piece) = self.pieces.take() {
            let Piece { at, read, mut buffer } = piece?;
            // Skipped bytes are not read.
            if wanted >= at + read as u64 {
                self.pieces.give_back(buffer);
                continue;
            }
            buffer[PIECE - left..PIECE].copy_from_slice(&self.buffer[self.begin..self.begin + left]);
            let before = std::mem::replace(&mut self.buffer, buffer);
            if !before.is_empty() {
                self.pieces.give_back(before);
            }
            // If anything was skipped, nothing is left over.
            self.begin = PIECE - left + (wanted - at) as usize;
            self.filled = PIECE + read;
            return Ok(true);
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Arc<Input> {
        Arc::new(Input::part("f", 0, bytes.to_vec()))
    }

    fn read_all(mut window: Window) -> Vec<u8> {
        let mut seen = Vec::new();
        while window.fill().unwrap() {
            let whole = window.bytes().len() / 7 * 7;
            seen.extend_from_slice(&window.bytes()[..whole]);
            window.consume(whole);
        }
        seen.extend_from_slice(window.bytes());
        seen
    }

    #[test]
    fn a_section_comes_whole() {
        for length in [10, PIECE as u64 * 2 + 10, PIECE as u64 * 50 + 3] {
            let bytes: Vec<u8> = (0..length).map(|i| (i / 3) as u8).collect();
            let window = Window::new(&of(&bytes), 4, length - 1);
            assert!(window.helper().is_some());
            assert!(read_all(window) == bytes[4..bytes.len() - 1]);
        }
    }

    #[test]
    fn a_pipe_is_read_by_one_thread_only() {
        let bytes: Vec<u8> = (0..3 * PIECE).map(|i| (i / 7) as u8).collect();
        let pipe = crate::Forward::new(std::io::Cursor::new(bytes.clone()));
        let window = Window::new(&Arc::new(Input::new("pipe", Box::new(pipe))), 0, u64::MAX);
        assert!(window.helper().is_none());
        assert!(read_all(window) == bytes);
    }

    #[test]
    fn what_is_skipped_does_not_come() {
        for length in [PIECE * 9, PIECE * 70] {
            let bytes: Vec<u8> = (0..length).map(|i| (i / 1000) as u8).collect();
            let mut window = Window::new(&of(&bytes), 0, length as u64);
            assert!(window.fill().unwrap());
            window.consume(100);
            window.skip(PIECE as u64 * 3 + 17);
            assert!(window.bytes().is_empty() && window.fill().unwrap());
            let at = 100 + PIECE * 3 + 17;
            assert_eq!(window.offset(), at as u64);
            assert!(read_all(window) == bytes[at..]);
        }
    }
}
