//! The records of `perf record -z`: pieces of one zstd stream, which perf flushes but never ends.
//!
//! The decoder keeps back as many bytes as its window holds until the stream ends. So the mark that ends a round in the
//! file is ahead of the records before it, and is held until as many bytes have come out as can have been before it.

use ruzstd::decoding::FrameDecoder;
use std::collections::VecDeque;

/// No block inflates to more.
const BLOCK: usize = 128 << 10;

/// Bytes taken out at once.
const STEP: usize = 256 << 10;

/// Compressed bytes that may wait for the rest of their block.
const MOST_WAITING: usize = 1 << 20;

/// An empty raw block with the mark of the last one: what perf should write at the end.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// A zstd stream that comes in pieces.
pub(super) struct Inflate {
    decoder: FrameDecoder,
    /// Compressed bytes that are not a whole block yet.
    waiting: Vec<u8>,
    /// Inflated bytes that are not a whole record yet.
    pub(super) plain: Vec<u8>,
    written: u64,
    window: u64,
    /// The frame's header is with the decoder.
    begun: bool,
    /// Ends of rounds, by how many bytes come before each at most.
    rounds: VecDeque<u64>,
}

impl Inflate {
    pub(super) fn new() -> Self {
        Self {
            decoder: FrameDecoder::new(),
            waiting: Vec::new(),
            plain: Vec::new(),
            written: 0,
            window: 0,
            begun: false,
            rounds: VecDeque::new(),
        }
    }

    /// Adds a piece.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<(), String> {
        if self.waiting.len() + piece.len() > MOST_WAITING {
            return Err("the zstd stream has a block that never ends".into());
        }
        self.waiting.extend_from_slice(piece);
        if self.window == 0 {
            self.window = frame_header(&self.waiting)?.map_or(0, |header| header.window);
        }
        Ok(())
    }

    /// Inflates a block into `plain`, or what the decoder can give out; false when more pieces are needed.
    pub(super) fn step(&mut self) -> Result<bool, String> {
        let start = self.plain.len();
        self.plain.resize(start + STEP, 0);
        // One block at a time: a few bytes may stand for 128 kB, and thousands of such blocks fit a piece.
        let source = &self.waiting[..self.next_part()?];
        let done = self.decoder.decode_from_to(source, &mut self.plain[start..]);
        let (read, written) = match done {
            Ok(done) => done,
            Err(error) => {
                self.plain.truncate(start);
                return Err(format!("the zstd stream cannot be inflated: {error}"));
            }
        };
        self.plain.truncate(start + written);
        self.waiting.drain(..read);
        self.begun |= read > 0;
        self.written += written as u64;
        Ok(read > 0 || written > 0)
    }

    /// Bytes of the frame's header, or of the next block; 0 where it is not whole yet.
    fn next_part(&self) -> Result<usize, String> {
        let bytes = if self.begun { block_size(&self.waiting)? } else { frame_header(&self.waiting)?.map(|h| h.bytes) };
        Ok(bytes.filter(|bytes| *bytes <= self.waiting.len() && (self.begun || self.window > 0)).unwrap_or(0))
    }

    /// A round ends here in the file.
    pub(super) fn end_of_round(&mut self) {
        let unread = if self.waiting.is_empty() { 0 } else { BLOCK as u64 };
        self.rounds.push_back(self.written + self.window + unread);
    }

    /// Whether a round has ended in what came out so far; call until it has not.
    pub(super) fn round_ended(&mut self) -> bool {
        let ended = self.rounds.front().is_some_and(|at| *at <= self.written - self.plain.len() as u64);
        if ended {
            self.rounds.pop_front();
        }
        ended
    }

    /// Ends the stream, so that the decoder gives out what it kept back.
    pub(super) fn end(&mut self) {
        self.waiting.extend_from_slice(&LAST_BLOCK);
    }
}

/// Largest window that is allowed to be held. perf's highest level asks for 128 MiB, which no one uses.
const LARGEST_WINDOW: u64 = 64 << 20;

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
    let Some(window) = frame.get(5) else { return Ok(None) };
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
mod tests {
    use super::*;

    #[test]
    fn the_window_is_in_the_header() {
        let window = |descriptor, window| frame_header(&[0x28, 0xb5, 0x2f, 0xfd, descriptor, window]);
        assert_eq!(window(0x00, 0x48), Ok(Some(FrameHeader { bytes: 6, window: 512 << 10 })));
        assert_eq!(window(0x00, 0x49), Ok(Some(FrameHeader { bytes: 6, window: 576 << 10 })));
        assert_eq!(window(0x43, 0x00), Ok(Some(FrameHeader { bytes: 12, window: 1 << 10 })));
        assert!(window(0x00, 0xff).is_err() && window(0x20, 0x00).is_err());
        assert_eq!(frame_header(&[0x28]), Ok(None));
        assert!(frame_header(&[0; 12]).is_err());
    }

    #[test]
    fn a_few_bytes_that_stand_for_gigabytes_come_out_in_steps() {
        // 16 000 blocks of 128 kB of zeros.
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00];
        for _ in 0..16_000 {
            frame.extend(&((BLOCK as u32) << 3 | 1 << 1).to_le_bytes()[..3]);
            frame.push(0);
        }
        let (mut inflate, mut bytes) = (Inflate::new(), 0);
        inflate.push(&frame).unwrap();
        for _ in 0..100 {
            assert!(inflate.step().unwrap());
            assert!(inflate.plain.len() <= STEP);
            bytes += inflate.plain.len();
            inflate.plain.clear();
        }
        assert!(bytes > 90 * BLOCK);
    }

    /// A frame of raw blocks, cut into pieces anywhere and never ended.
    #[test]
    fn pieces_come_out_whole_and_the_end_gives_the_rest() {
        let content: Vec<u8> = (0..300_000u32).map(|i| (i * 7) as u8).collect();
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00];
        for block in content.chunks(1000) {
            frame.extend(&((block.len() as u32) << 3).to_le_bytes()[..3]);
            frame.extend(block);
        }
        let (mut inflate, mut out) = (Inflate::new(), Vec::new());
        for piece in frame.chunks(777) {
            inflate.push(piece).unwrap();
            inflate.end_of_round();
            while inflate.step().unwrap() {
                out.append(&mut inflate.plain);
                while inflate.round_ended() {}
            }
        }
        assert!(out.len() < content.len() && content.starts_with(&out));
        assert!(!inflate.rounds.is_empty());
        inflate.end();
        while inflate.step().unwrap() {
            out.append(&mut inflate.plain);
        }
        assert!(out == content);
    }

    #[test]
    fn nonsense_is_an_error() {
        let mut inflate = Inflate::new();
        assert!(inflate.push(&[1, 2, 3, 4, 5, 6, 7]).is_err());
        let mut inflate = Inflate::new();
        inflate.push(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00, 0x07, 0x00, 0x00]).unwrap();
        assert!(inflate.step().unwrap(), "the header is good");
        assert!(inflate.step().is_err());
    }
}
