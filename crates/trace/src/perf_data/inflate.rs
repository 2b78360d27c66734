//! The records of `perf record -z`: pieces of one zstd stream, which perf flushes but never ends.
//!
//! The decoder holds back the last window of its output. perf's mark that ends a round is not compressed, and follows the
//! records of the round in the file. So the mark's place among the inflated bytes is kept, and the round ends when the
//! output has come exactly to that place. To compute the place, the number of bytes that the decoder holds must be known,
//! but the decoder reports only those beyond its window. So the frame header is changed to the smallest window, and as many
//! zeros are put in front: the decoder then reports nearly all bytes. This module itself keeps the true window in the
//! decoder, since later blocks refer back to it.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::collections::VecDeque;
use std::io::Read;

/// No block inflates to more.
const BLOCK: usize = 128 << 10;

/// Bytes taken out at once.
const STEP: usize = 256 << 10;

/// Compressed bytes that may wait for the rest of their block.
const MOST_WAITING: usize = 1 << 20;

/// An empty raw block with the mark of the last one: what perf should write at the end.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// The smallest window that a frame can name, by a descriptor of 0: the window that the decoder is given.
const SMALLEST_WINDOW: u64 = 1 << 10;

/// A block that repeats one byte, zero, as often as the smallest window is long.
const ZEROS: [u8; 4] = [((SMALLEST_WINDOW << 3 | 1 << 1) & 0xff) as u8, (SMALLEST_WINDOW >> 5) as u8, 0, 0];

/// A zstd stream that comes in pieces.
pub(super) struct Inflate {
    decoder: FrameDecoder,
    /// Compressed bytes that are not a whole block yet.
    waiting: Vec<u8>,
    /// Inflated bytes that are not a whole record yet.
    pub(super) plain: Vec<u8>,
    /// Bytes that the decoder gave out, the zeros in front among them.
    given_out: u64,
    /// How far back the frame refers; 0 before its header is with the decoder.
    window: u64,
    /// Bytes that may be given out: up to a block that cannot be inflated.
    good: u64,
    /// Ends of rounds, by the number of inflated bytes before each.
    rounds: VecDeque<u64>,
}

impl Inflate {
    pub(super) fn new() -> Self {
        Self {
            decoder: FrameDecoder::new(),
            waiting: Vec::new(),
            plain: Vec::new(),
            given_out: 0,
            window: 0,
            good: u64::MAX,
            rounds: VecDeque::new(),
        }
    }

    /// Adds a piece.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<(), String> {
        if self.has_ended() {
            return Err("bytes behind the end of the zstd stream".into());
        }
        if self.waiting.len() + piece.len() > MOST_WAITING {
            return Err("the zstd stream has a block that never ends".into());
        }
        self.waiting.extend_from_slice(piece);
        if self.window == 0
            && let Some(header) = frame_header(&self.waiting)?
            && self.waiting.len() >= header.bytes
        {
            self.waiting[WINDOW_AT] = 0;
            self.decoder.init(&self.waiting[..header.bytes]).map_err(unreadable)?;
            self.waiting.splice(..header.bytes, ZEROS);
            self.window = header.window;
        }
        Ok(())
    }

    /// Inflates a block, and takes into `plain` what the decoder can give out, but nothing after the next end of a
    /// round; false when more pieces are needed.
    pub(super) fn step(&mut self) -> Result<bool, String> {
        // One block at a time: a few bytes may stand for 128 kB, and thousands of such blocks fit a piece.
        let is_open = self.window > 0 && !self.has_ended();
        let bytes = if is_open { block_size(&self.waiting)? } else { None };
        if let Some(bytes) = bytes.filter(|bytes| *bytes <= self.waiting.len()) {
            let held = self.held();
            let block = &self.waiting[..bytes];
            if let Err(error) = self.decoder.decode_blocks(block, BlockDecodingStrategy::UptoBlocks(1)) {
                self.good = self.given_out + held;
                return Err(unreadable(error));
            }
            self.waiting.drain(..bytes);
            self.take()?;
            return Ok(true);
        }
        Ok(self.take()? > 0)
    }

    /// The stream has ended, as perf's never does by itself.
    fn has_ended(&self) -> bool {
        self.window > 0 && self.decoder.is_finished()
    }

    /// Takes bytes out of the decoder; how many.
    fn take(&mut self) -> Result<u64, String> {
        let held = self.held();
        let kept = if self.has_ended() { 0 } else { self.window };
        let free = held.saturating_sub(kept).min(self.good.saturating_sub(self.given_out)).min(STEP as u64);
        let up_to_round =
            self.rounds.front().map_or(u64::MAX, |at| (at + SMALLEST_WINDOW).saturating_sub(self.given_out));
        let amount = free.min(up_to_round);
        let start = self.plain.len();
        self.plain.resize(start + amount as usize, 0);
        let read = self.decoder.read(&mut self.plain[start..]).map_err(|error| error.to_string())?;
        self.plain.truncate(start + read);
        let zeros = SMALLEST_WINDOW.saturating_sub(self.given_out).min(read as u64);
        self.plain.drain(start..start + zeros as usize);
        self.given_out += read as u64;
        Ok(read as u64)
    }

    /// Bytes that the decoder has inflated and not given out.
    fn held(&self) -> u64 {
        let beyond = self.decoder.can_collect() as u64;
        // A frame that has ended no longer has a window.
        if self.window == 0 || self.has_ended() { beyond } else { beyond + SMALLEST_WINDOW }
    }

    /// A round ends here in the file.
    pub(super) fn end_of_round(&mut self) {
        self.rounds.push_back((self.given_out + self.held()).saturating_sub(SMALLEST_WINDOW));
    }

    /// Whether a round has ended in what came out so far; call until it has not.
    pub(super) fn round_ended(&mut self) -> bool {
        let out = self.given_out.saturating_sub(SMALLEST_WINDOW);
        let ended = self.rounds.front().is_some_and(|at| *at <= out);
        if ended {
            self.rounds.pop_front();
        }
        ended
    }

    /// Ends the stream, so that the decoder gives out what it kept back; how many bytes of it were no whole block.
    pub(super) fn end(&mut self) -> usize {
        let left = std::mem::take(&mut self.waiting).len();
        if self.window > 0 && !self.has_ended() {
            self.waiting.extend_from_slice(&LAST_BLOCK);
        }
        left
    }
}

fn unreadable(error: ruzstd::decoding::errors::FrameDecoderError) -> String {
    format!("the zstd stream cannot be inflated: {error}")
}

/// Largest window that is read: that of zstd's highest level, 22. Of it no more is held than the file fills, at most twice
/// as many bytes as the window has.
const LARGEST_WINDOW: u64 = 128 << 20;

/// Where a frame's header names its window.
const WINDOW_AT: usize = 5;

/// What the first bytes of a frame say.
#[derive(Debug, PartialEq, Eq)]
struct FrameHeader {
    bytes: usize,
    /// How far back the frame refers.
    window: u64,
}

/// RFC 8878, 3.1.1.1. `None` until it is whole.
fn frame_header(frame: &[u8]) -> Result<Option<FrameHeader>, String> {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    if !MAGIC.starts_with(&frame[..frame.len().min(4)]) {
        let begins = crate::error::begins(frame);
        return Err(format!("the first compressed record begins with {begins}, not with zstd's magic"));
    }
    let Some(descriptor) = frame.get(4) else { return Ok(None) };
    // A frame of one segment names its content's size instead of a window; a stream does not know that.
    if descriptor & 0x20 != 0 {
        return Err("a zstd frame of one segment, not a stream".into());
    }
    let dictionary_id = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = [0, 2, 4, 8][usize::from(descriptor >> 6)];
    let Some(window) = frame.get(WINDOW_AT) else { return Ok(None) };
    let base = 1u64 << (10 + (window >> 3));
    let window = base + base / 8 * u64::from(window & 7);
    if window > LARGEST_WINDOW {
        return Err(format!("zstd with a window of {window} bytes; at most {LARGEST_WINDOW} are read"));
    }
    Ok(Some(FrameHeader { bytes: 6 + dictionary_id + content_size, window }))
}

/// Bytes of a block with its header (RFC 8878, 3.1.1.2). `None` until the header is whole.
fn block_size(block: &[u8]) -> Result<Option<usize>, String> {
    let [a, b, c, ..] = block else { return Ok(None) };
    let header = u32::from_le_bytes([*a, *b, *c, 0]);
    let size = (header >> 3) as usize;
    match header >> 1 & 3 {
        // One byte, repeated.
        1 => Ok(Some(4)),
        3 => Err("the zstd stream has a block of no known type".into()),
        _ if size > BLOCK => Err(format!("the zstd stream has a block of {size} bytes")),
        _ => Ok(Some(3 + size)),
    }
}

#[cfg(test)]
mod tests;
