//! What a guest sends over its port: frames with a length and a checksum, because a serial line loses bytes silently,
//! and because a guest can die in the middle of a message.

use crate::host::tail::MAX_PORT_BYTES;
use crate::packed;
use std::path::{Component, Path};

/// First bytes of every frame.
const MAGIC: [u8; 4] = *b"SLG1";
/// Magic, kind, length (u32 LE), CRC-32 of kind, length and payload (u32 LE).
const HEADER_BYTES: usize = 13;
/// Kinds with this bit have a packed payload.
const PACKED: u8 = 0x80;
/// Longest payload: a larger length is damaged.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 30;
/// Longest file that a guest sends: together with its path it fits well into a payload.
pub const MAX_FILE_BYTES: usize = MAX_PAYLOAD_BYTES / 2;

/// A message from the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The guest is up and about to start its command; contains the kernel's release.
    Started(String),
    /// The command's standard output.
    Stdout(Vec<u8>),
    /// The command's standard error.
    Stderr(Vec<u8>),
    /// Something the user should know.
    Note(String),
    /// A file to be written on the host.
    File {
        /// Absolute path.
        path: String,
        /// Whole content.
        content: Vec<u8>,
    },
    /// A file in its present state, in case the guest dies before its end; a later one with the same path replaces it.
    Kept {
        /// Absolute path.
        path: String,
        /// Whole content.
        content: Vec<u8>,
    },
    /// The command has ended with this exit code (128 + n when signal n killed it), and all files have been sent.
    Ended(i32),
    /// The guest could not do its job, in one sentence.
    Failed(String),
}

/// Why the port's bytes are not frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Something else writes to the port, or bytes were lost.
    #[error("no message begins at byte {at} of the guest's port")]
    Magic {
        /// Where.
        at: u64,
    },
    /// A guest that sends compressed zeros could fill a disk with little data.
    #[error("the guest sent more than {} MiB, the most that is taken of one guest", MAX_PORT_BYTES >> 20)]
    TooMuch,
    /// The checksum does not fit.
    #[error("the message at byte {at} of the guest's port is damaged")]
    Damaged {
        /// Where.
        at: u64,
    },
}

impl Frame {
    fn kind(&self) -> u8 {
        match self {
            Self::Started(_) => 1,
            Self::Stdout(_) => 2,
            Self::Stderr(_) => 3,
            Self::Note(_) => 4,
            Self::File { .. } => 5,
            Self::Ended(_) => 6,
            Self::Failed(_) => 7,
            Self::Kept { .. } => 8,
        }
    }

    fn payload(&self) -> Vec<u8> {
        match self {
            Self::Started(text) | Self::Note(text) | Self::Failed(text) => text.as_bytes().to_vec(),
            Self::Stdout(bytes) | Self::Stderr(bytes) => bytes.clone(),
            Self::File { path, content } | Self::Kept { path, content } => [path.as_bytes(), &[0], content].concat(),
            Self::Ended(code) => code.to_le_bytes().to_vec(),
        }
    }

    /// As it goes over the port.
    pub fn encode(&self) -> Vec<u8> {
        let (mut kind, mut payload) = (self.kind(), self.payload());
        if let Some(packed) = packed::pack(&payload) {
            (kind, payload) = (kind | PACKED, packed);
        }
        let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.push(kind);
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        let crc = checksum(&bytes[4..9], &payload);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.extend_from_slice(&payload);
        bytes
    }

    /// `None` for a kind or a payload that no guest of this version sends.
    fn from_parts(kind: u8, payload: &[u8]) -> Option<Self> {
        let text = || String::from_utf8_lossy(payload).into_owned();
        Some(match kind {
            1 => Self::Started(text()),
            2 => Self::Stdout(payload.to_vec()),
            3 => Self::Stderr(payload.to_vec()),
            4 => Self::Note(text()),
            5 => file(payload).map(|(path, content)| Self::File { path, content })?,
            6 => Self::Ended(i32::from_le_bytes(payload.try_into().ok()?)),
            7 => Self::Failed(text()),
            8 => file(payload).map(|(path, content)| Self::Kept { path, content })?,
            _ => return None,
        })
    }
}

/// A path, a zero byte, and the content.
fn file(payload: &[u8]) -> Option<(String, Vec<u8>)> {
    let end = payload.iter().position(|&byte| byte == 0)?;
    let path = std::str::from_utf8(&payload[..end]).ok()?.to_owned();
    Some((path, payload[end + 1..].to_vec()))
}

fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(payload);
    hasher.finalize()
}

/// Takes the port's bytes as they arrive and returns complete frames.
#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
    /// Bytes of `pending` that have been consumed; they are removed together, because a guest can send a great many
    /// small frames.
    taken: usize,
    /// Total bytes of the frames before `pending`.
    passed: u64,
    /// Total unpacked size of the packed payloads.
    unpacked: u64,
}

impl Decoder {
    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.drain(..std::mem::take(&mut self.taken));
        self.pending.extend_from_slice(bytes);
    }

    /// The next complete frame, if there is one.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let at = self.passed;
        let pending = &self.pending[self.taken..];
        let seen = pending.len().min(MAGIC.len());
        if pending[..seen] != MAGIC[..seen] {
            return Err(FrameError::Magic { at });
        }
        let Some(header) = pending.get(..HEADER_BYTES) else { return Ok(None) };
        let word = |from: usize| u32::from_le_bytes(std::array::from_fn(|i| header[from + i]));
        let (length, crc) = (word(5) as usize, word(9));
        if length > MAX_PAYLOAD_BYTES {
            return Err(FrameError::Damaged { at });
        }
        let end = HEADER_BYTES + length;
        let Some(payload) = pending.get(HEADER_BYTES..end) else { return Ok(None) };
        if checksum(&header[4..9], payload) != crc {
            return Err(FrameError::Damaged { at });
        }
        let kind = header[4] & !PACKED;
        let frame = if kind == header[4] {
            Frame::from_parts(kind, payload)
        } else {
            self.unpacked += u64::from(packed::unpacked_bytes(payload));
            if self.unpacked > MAX_PORT_BYTES {
                return Err(FrameError::TooMuch);
            }
            packed::unpack(payload).and_then(|payload| Frame::from_parts(kind, &payload))
        };
        let frame = frame.ok_or(FrameError::Damaged { at })?;
        self.taken += end;
        self.passed += end as u64;
        Ok(Some(frame))
    }
}

/// Whether a file's path is one of the places that the host asked for, or below one, and does not lead out of it: the
/// host never writes to a path of the guest's choice.
pub fn is_wanted(path: &str, wanted: &[String]) -> bool {
    let path = Path::new(path);
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    plain && path.is_absolute() && wanted.iter().any(|place| path.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Frame> {
        vec![
            Frame::Started("6.1.0-50-amd64".into()),
            Frame::Stdout(vec![0, 10, 255]),
            Frame::Stderr(Vec::new()),
            Frame::Note("SLG1 in a text".into()),
            Frame::File { path: "/work/out/a.json".into(), content: vec![0; 300] },
            Frame::File { path: "/empty".into(), content: Vec::new() },
            Frame::File { path: "/proc/kallsyms".into(), content: b"ffffffff81000000 T _text\n".repeat(100) },
            // Data without repetition is sent uncompressed.
            Frame::Stdout((0..2000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()),
            Frame::Kept { path: "/work/out/b".into(), content: vec![0, 1] },
            Frame::Ended(-1),
            Frame::Failed("why".into()),
        ]
    }

    #[test]
    fn frames_come_back_whole_however_the_bytes_are_cut() {
        let bytes: Vec<u8> = samples().iter().flat_map(Frame::encode).collect();
        for step in [1, 2, 3, 7, 13, 64, bytes.len()] {
            let (mut decoder, mut found) = (Decoder::default(), Vec::new());
            for part in bytes.chunks(step) {
                decoder.push(part);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found, samples(), "in steps of {step}");
        }
    }

    #[test]
    fn packed_zeros_do_not_fill_a_disk() {
        let frame = Frame::File { path: "/work/out/zeros".into(), content: vec![0; 1 << 20] };
        let mut decoder = Decoder { unpacked: MAX_PORT_BYTES - (3 << 19), ..Decoder::default() };
        decoder.push(&frame.encode().repeat(2));
        assert_eq!(decoder.next_frame(), Ok(Some(frame)));
        assert_eq!(decoder.next_frame(), Err(FrameError::TooMuch));
    }

    #[test]
    fn every_flipped_bit_of_a_frame_is_noticed() {
        let whole = Frame::File { path: "/a".into(), content: b"abc".to_vec() }.encode();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            // If the damage makes the length larger, the decoder waits for bytes that do not come; any other damage is
            // an error.
            let answer = decoder.next_frame();
            assert!(answer.is_err() || (answer == Ok(None) && (5 * 8..9 * 8).contains(&bit)), "bit {bit}: {answer:?}");
        }
    }

    #[test]
    fn a_cut_frame_is_not_taken_and_foreign_bytes_are_named() {
        let whole = Frame::Ended(3).encode();
        for end in 0..whole.len() {
            let mut decoder = Decoder::default();
            decoder.push(&whole[..end]);
            assert_eq!(decoder.next_frame(), Ok(None));
        }
        let mut decoder = Decoder::default();
        decoder.push(&whole);
        decoder.push(b"login: ");
        assert_eq!(decoder.next_frame(), Ok(Some(Frame::Ended(3))));
        assert_eq!(decoder.next_frame(), Err(FrameError::Magic { at: whole.len() as u64 }));
    }

    #[test]
    fn only_asked_for_places_are_written() {
        let wanted = ["/home/u/out/run".to_owned()];
        assert!(is_wanted("/home/u/out/run/manifest.json", &wanted));
        assert!(is_wanted("/home/u/out/run", &wanted));
        for path in ["/home/u/out/run2/x", "/home/u/out/run/../../.profile", "home/u/out/run/x", "/etc/passwd", ""] {
            assert!(!is_wanted(path, &wanted), "{path}");
        }
    }
}
