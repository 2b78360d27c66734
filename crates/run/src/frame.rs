//! One finished trial as a file: a header with length and CRC-32, then JSON. A torn file is recognised, named and
//! skipped.

use schedlab_plan::histogram::BUCKETS;
use schedlab_plan::record::TrialRecord;

/// First bytes of a trial file: `SLTRIAL` and the format version of the frame.
const MAGIC: &[u8; 8] = b"SLTRIAL1";
/// Magic, payload length (u64 LE), CRC-32 (u32 LE).
const HEADER: usize = 8 + 8 + 4;

/// Why a trial file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Shorter than its header says: the machine stopped while the file was being written.
    #[error("it is truncated: {have} of {want} bytes")]
    Torn {
        /// Bytes present.
        have: usize,
        /// Bytes the header asks for.
        want: u64,
    },
    /// Not a trial file.
    #[error("it is not a trial file")]
    Foreign,
    /// The checksum does not match.
    #[error("its checksum does not match its content")]
    Checksum,
    /// The JSON inside is not a trial.
    #[error("its content is not a trial: {0}")]
    Content(String),
}

/// The bytes of a trial file.
pub fn encode(record: &TrialRecord) -> Vec<u8> {
    let payload = serde_json::to_vec(record).expect("a trial record holds no map with keys that are not strings");
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&payload).to_le_bytes());
    bytes.extend_from_slice(&payload);
    bytes
}

/// The trial in a file's bytes.
pub fn decode(bytes: &[u8]) -> Result<TrialRecord, FrameError> {
    let torn = |want| FrameError::Torn { have: bytes.len(), want };
    let header = bytes.get(..HEADER).ok_or(torn(HEADER as u64))?;
    if &header[..8] != MAGIC {
        return Err(FrameError::Foreign);
    }
    let length = u64::from_le_bytes(header[8..16].try_into().expect("eight bytes"));
    let crc = u32::from_le_bytes(header[16..20].try_into().expect("four bytes"));
    let payload = &bytes[HEADER..];
    if payload.len() as u64 != length {
        return Err(torn(length.saturating_add(HEADER as u64)));
    }
    if crc32fast::hash(payload) != crc {
        return Err(FrameError::Checksum);
    }
    let record: TrialRecord = serde_json::from_slice(payload).map_err(|e| FrameError::Content(e.to_string()))?;
    let histograms = record.outcome.iter().flat_map(|o| &o.histograms);
    match histograms.flat_map(|h| &h.histogram.cells).find(|c| c.0 as usize >= BUCKETS) {
        // The range of a cell is computed with a shift by the cell's number, which is impossible beyond the last cell.
        Some((cell, _)) => Err(FrameError::Content(format!("a histogram has no cell {cell}"))),
        None => Ok(record),
    }
}
