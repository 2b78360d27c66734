//! The records of `perf record -z`: pieces of one zstd stream, which perf flushes but never ends.
//!
//! The decoder holds back the last window of its output. perf's mark for the end of a round is not compressed, and
//! follows the records of the round in the file. So the mark's position among the inflated bytes is remembered, and the
//! round ends when the output has reached exactly that position. To compute it, the number of bytes held by the decoder
//! must be known, but the decoder reports only those beyond its window. So the frame header is changed to the smallest
//! window, and that many zeros are put in front: the decoder then reports nearly all bytes. This module itself keeps
//! the true window in the decoder, because later blocks refer back to it.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::collections::VecDeque;
use std::io::Read;

/// No block inflates to more.
const BLOCK: usize = 128 << 10;

/// Bytes taken out at once.
const STEP: usize = 256 << 10;

/// Most compressed bytes that may wait for the rest of their block.
const MAX_WAITING: usize = 1 << 20;

/// An empty raw block, marked as the last one: what perf should write at the end.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// The smallest window that a frame can have, with a descriptor of 0: the window that the decoder is given.
const SMALLEST_WINDOW: u64 = 1 << 10;

/// A block that repeats one byte, zero, for the length of the smallest window.
const ZEROS: [u8; 4] = [((SMALLEST_WINDOW << 3 | 1 << 1) & 0xff) as u8, (SMALLEST_WINDOW >> 5) as u8, 0, 0];

/// A zstd stream that arrives in pieces.
pub(super) struct Inflate {
    decoder: FrameDecoder,
    /// Compressed bytes that are not yet a complete block.
    waiting: Vec<u8>,
    /// Inflated bytes that are not yet a complete record.
    pub(super) plain: Vec<u8>,
    /// Number of bytes that came out of the decoder, including the zeros in front.
    given_out: u64,
    /// How far back the frame refers; 0 before the decoder has its header.
    window: u64,
    /// Number of bytes that may come out: up to a block that cannot be inflated.
    good: u64,
    /// Ends of rounds, as the number of inflated bytes before each.
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
            return Err("bytes after the end of the zstd stream".into());
        }
        if self.waiting.len() + piece.len() > MAX_WAITING {
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

    /// Inflates a block, and moves into `plain` what the decoder can release, but nothing after the next end of a
    /// round; returns false if more pieces are needed.
    pub(super) fn step(&mut self) -> Result<bool, String> {
        // One block at a time: a few bytes may inflate to 128 kB, and thousands of such blocks fit into a piece.
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

    /// Whether the stream has ended, which perf's never does by itself.
    fn has_ended(&self) -> bool {
        self.window > 0 && self.decoder.is_finished()
    }

    /// Takes bytes out of the decoder; returns how many.
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

    /// Number of bytes that the decoder has inflated but not released.
    fn held(&self) -> u64 {
        let beyond = self.decoder.can_collect() as u64;
        // A frame that has ended no longer has a window.
        if self.window == 0 || self.has_ended() { beyond } else { beyond + SMALLEST_WINDOW }
    }

    /// Notes that a round ends at this position in the file.
    pub(super) fn end_of_round(&mut self) {
        self.rounds.push_back((self.given_out + self.held()).saturating_sub(SMALLEST_WINDOW));
    }

    /// Whether a round has ended in the output so far; call it until it returns false.
    pub(super) fn round_ended(&mut self) -> bool {
        let out = self.given_out.saturating_sub(SMALLEST_WINDOW);
        let ended = self.rounds.front().is_some_and(|at| *at <= out);
        if ended {
            self.rounds.pop_front();
        }
        ended
    }

    /// Ends the stream, so that the decoder releases what it holds; returns how many compressed bytes were not a
    /// complete block.
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

/// Largest window that is accepted: that of zstd's highest level, 22. Memory is used only as far as the file fills it,
/// at most for twice as many bytes as the window has.
const LARGEST_WINDOW: u64 = 128 << 20;

/// Where a frame's header has its window.
const WINDOW_AT: usize = 5;

/// The content of a frame's first bytes.
#[derive(Debug, PartialEq, Eq)]
struct FrameHeader {
    bytes: usize,
    /// How far back the frame refers.
    window: u64,
}

/// RFC 8878, 3.1.1.1. `None` until it is complete.
fn frame_header(frame: &[u8]) -> Result<Option<FrameHeader>, String> {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    if !MAGIC.starts_with(&frame[..frame.len().min(4)]) {
        let begins = crate::error::begins(frame);
        return Err(format!("the first compressed record begins with {begins}, not with zstd's magic"));
    }
    let Some(descriptor) = frame.get(4) else { return Ok(None) };
    // A single-segment frame has the size of its content instead of a window; a stream does not know that size.
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

/// Size of a block including its header (RFC 8878, 3.1.1.2). `None` until the header is complete.
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
