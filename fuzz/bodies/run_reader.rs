//! What must hold for the bytes of any trial file and manifest; shared by the fuzz target and the replay of its corpus.
//! A fuzzer never guesses a CRC, so the same bytes are tried as the JSON inside a well-made frame as well.

use schedlab_plan::{Manifest, TrialRecord};
use schedlab_run::frame::{decode, encode};
use schedlab_run::reader::parse_manifest;

pub(crate) fn check(bytes: &[u8]) {
    trial(bytes);
    trial(&framed(bytes));
    if let Ok(manifest) = parse_manifest(bytes) {
        let again: Manifest = parse_manifest(&json(&manifest)).expect("what was accepted is written acceptably");
        assert_eq!(format!("{again:?}"), format!("{manifest:?}"));
    }
}

fn trial(bytes: &[u8]) {
    if let Ok(record) = decode(bytes) {
        let again: TrialRecord = decode(&encode(&record)).expect("what was accepted is written acceptably");
        // By print: NaN is not equal to itself.
        assert_eq!(format!("{again:?}"), format!("{record:?}"));
        for named in record.outcome.iter().flat_map(|o| &o.histograms) {
            let _ = (named.histogram.quantile_ns(0.99), named.histogram.mean_ns());
        }
    }
}

fn framed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"SLTRIAL1".to_vec();
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32(payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// CRC-32 of zip and gzip, bit by bit: slow, small, and independent of the one under test.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0u32, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

fn json(manifest: &Manifest) -> Vec<u8> {
    schedlab_run::writer::manifest_bytes(manifest)
}
