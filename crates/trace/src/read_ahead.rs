//! The way to a trace's records: a section of the file through one buffer that is filled again and again. Of a large file
//! the next piece is read by another thread while this one is decoded: copying out of the page cache takes as long as
//! decoding does.

use crate::TraceError;
use crate::bytes::Input;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};

/// Bytes read at once: they stay in the second-level cache until they are decoded.
const CHUNK: usize = 256 << 10;

/// Files below this are read by the thread that decodes them.
const LARGE: u64 = 8 << 20;

/// Pieces that are read ahead.
const AHEAD: usize = 4;

/// A section of a file, from its beginning to its end.
pub(crate) struct Window {
    input: Arc<Input>,
    /// Room for what the last piece left over, and behind it the present piece.
    buffer: Vec<u8>,
    /// What of the buffer is read and not yet consumed.
    begin: usize,
    filled: usize,
    /// Offset in the file of `buffer[begin]`.
    offset: u64,
    /// Where the section ends; a pipe has no known end.
    end: u64,
    ahead: Option<Ahead>,
}

impl Window {
    pub(crate) fn new(input: &Arc<Input>, offset: u64, end: u64) -> Self {
        let large = input.source.size().is_some_and(|size| size.min(end).saturating_sub(offset) > LARGE);
        let ahead = large.then(|| Ahead::new(Arc::clone(input), offset, end)).flatten();
        Self { input: Arc::clone(input), buffer: vec![0; 2 * CHUNK], begin: CHUNK, filled: CHUNK, offset, end, ahead }
    }

    /// Where the unconsumed bytes begin in the file.
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

    /// Reads on behind what is left; whether there was anything.
    pub(crate) fn fill(&mut self) -> Result<bool, TraceError> {
        match self.ahead.take() {
            None => self.fill_here(),
            Some(ahead) => {
                let filled = self.fill_from(&ahead);
                self.ahead = Some(ahead);
                filled
            }
        }
    }

    fn fill_here(&mut self) -> Result<bool, TraceError> {
        let left = self.make_room();
        let at = self.offset.saturating_add(left as u64);
        let want = (CHUNK as u64).min(self.end.saturating_sub(at)) as usize;
        let read = self.input.read(at, &mut self.buffer[CHUNK..CHUNK + want])?;
        self.filled = CHUNK + read;
        Ok(read > 0)
    }

    /// Moves what is left to just before the place of the next piece. What has no room there is of no use: no record is
    /// that long.
    fn make_room(&mut self) -> usize {
        let left = (self.filled - self.begin).min(CHUNK);
        self.buffer.copy_within(self.begin..self.begin + left, CHUNK - left);
        self.begin = CHUNK - left;
        left
    }

    fn fill_from(&mut self, ahead: &Ahead) -> Result<bool, TraceError> {
        loop {
            let Ok(piece) = ahead.full.recv() else { return Ok(false) };
            let Piece { at, read, mut buffer } = piece?;
            let left = (self.filled - self.begin).min(CHUNK);
            let wanted = self.offset + left as u64;
            if read == 0 {
                return Ok(false);
            }
            // What was skipped is passed over.
            if wanted >= at + read as u64 {
                let _ = ahead.empty.send(buffer);
                continue;
            }
            buffer[CHUNK - left..CHUNK].copy_from_slice(&self.buffer[self.begin..self.begin + left]);
            let _ = ahead.empty.send(std::mem::replace(&mut self.buffer, buffer));
            // Nothing is left over where anything was skipped.
            self.begin = CHUNK - left + (wanted - at) as usize;
            self.filled = CHUNK + read;
            return Ok(true);
        }
    }
}

/// A piece of the file, behind the room for what is left of the one before.
struct Piece {
    at: u64,
    read: usize,
    buffer: Vec<u8>,
}

/// The thread that reads ahead; it ends when nobody takes its pieces any more.
struct Ahead {
    full: Receiver<Result<Piece, TraceError>>,
    empty: Sender<Vec<u8>>,
}

impl Ahead {
    /// `None` where no thread can be had.
    fn new(input: Arc<Input>, offset: u64, end: u64) -> Option<Self> {
        let (full, pieces) = sync_channel(AHEAD);
        let (empty, buffers) = channel();
        let thread = std::thread::Builder::new().name("read ahead".into());
        thread.spawn(move || read_ahead(&input, (offset, end), &full, &buffers)).ok()?;
        Some(Self { full: pieces, empty })
    }
}

fn read_ahead(
    input: &Input, (mut at, end): (u64, u64), full: &SyncSender<Result<Piece, TraceError>>, empty: &Receiver<Vec<u8>>,
) {
    loop {
        let mut buffer = match empty.try_recv() {
            Ok(buffer) => buffer,
            Err(TryRecvError::Empty) => vec![0; 2 * CHUNK],
            Err(TryRecvError::Disconnected) => return,
        };
        let want = (CHUNK as u64).min(end.saturating_sub(at)) as usize;
        let read = input.read(at, &mut buffer[CHUNK..CHUNK + want]);
        let last = !matches!(read, Ok(1..));
        if full.send(read.map(|read| Piece { at, read, buffer })).is_err() || last {
            return;
        }
        at += want as u64;
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
    fn a_section_comes_whole_read_ahead_or_not() {
        for length in [10, CHUNK as u64 * 2 + 10, LARGE + CHUNK as u64 * 5 + 3] {
            let bytes: Vec<u8> = (0..length).map(|i| (i / 3) as u8).collect();
            let window = Window::new(&of(&bytes), 4, length - 1);
            assert_eq!(window.ahead.is_some(), length > LARGE);
            assert!(read_all(window) == bytes[4..bytes.len() - 1]);
        }
    }

    #[test]
    fn what_is_skipped_does_not_come() {
        for length in [CHUNK * 9, LARGE as usize * 2] {
            let bytes: Vec<u8> = (0..length).map(|i| (i / 1000) as u8).collect();
            let mut window = Window::new(&of(&bytes), 0, length as u64);
            assert!(window.fill().unwrap());
            window.consume(100);
            window.skip(CHUNK as u64 * 3 + 17);
            assert!(window.bytes().is_empty() && window.fill().unwrap());
            let at = 100 + CHUNK * 3 + 17;
            assert_eq!(window.offset(), at as u64);
            assert!(read_all(window) == bytes[at..]);
        }
    }

    #[test]
    fn a_window_that_is_let_go_ends_its_thread() {
        let bytes = vec![1; LARGE as usize * 2];
        let input = of(&bytes);
        drop(Window::new(&input, 0, bytes.len() as u64));
        // The thread lets go of the file when it finds that nobody takes its pieces.
        while Arc::strong_count(&input) > 1 {
            std::thread::yield_now();
        }
    }
}
