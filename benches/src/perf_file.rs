//! Makes longer and shorter files from one recording of `perf sched record`: its samples repeated with later times, or
//! only the first of them. So cost can be measured over three orders of magnitude without recording for minutes.

use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// `PERF_RECORD_SAMPLE`, `PERF_RECORD_FINISHED_ROUND` and `PERF_RECORD_COMPRESSED`.
const SAMPLE: u32 = 9;
const FINISHED_ROUND: u32 = 68;
const COMPRESSED: [u32; 2] = [81, 83];

/// Bits of `sample_type` whose fields precede the time, and the bit of the time.
const BEFORE_TIME: [u64; 3] = [1 << 16, 1, 1 << 1];
const TIME: u64 = 1 << 2;

/// Time between the last event and its repetition, ns.
const PAUSE_NS: u64 = 1_000_000;

/// What is known about a file.
struct Source {
    /// Everything before the records.
    head: Vec<u8>,
    /// Bytes of records.
    bytes: u64,
    /// The table of the sections that follow the records, and these sections.
    sections: usize,
    rest: Vec<u8>,
    /// Offset of the time in a sample.
    time_at: usize,
}

/// Writes a file of `samples` samples; returns its size in bytes. Repetitions contain only samples and ends of rounds.
pub fn resize(from: &Path, to: &Path, samples: u64) -> Result<u64> {
    let mut file = File::open(from).with_context(|| format!("{} cannot be opened", from.display()))?;
    let source = Source::read(&mut file)?;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(to)?);
    out.write_all(&source.head)?;
    let (mut left, mut written, mut shift) = (samples, 0, 0);
    while left > 0 {
        file.seek(SeekFrom::Start(source.head.len() as u64))?;
        let records = BufReader::with_capacity(1 << 20, (&file).take(source.bytes));
        let (bytes, span_ns) = source.copy(records, &mut out, &mut left, shift)?;
        ensure!(span_ns > 0, "{} has no samples", from.display());
        (written, shift) = (written + bytes, shift + span_ns + PAUSE_NS);
    }
    out.write_all(&source.behind(written))?;
    let mut file = out.into_inner()?;
    file.seek(SeekFrom::Start(48))?;
    file.write_all(&written.to_le_bytes())?;
    Ok(file.metadata()?.len())
}

impl Source {
    fn read(file: &mut File) -> Result<Self> {
        let mut head = vec![0; 104];
        file.read_exact(&mut head)?;
        ensure!(head.starts_with(b"PERFILE2"), "no perf.data of a file (a pipe's cannot be repeated)");
        let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let (attrs, data, bytes) = (word(&head, 24), word(&head, 40), word(&head, 48));
        let sections = (0..4).map(|i| word(&head, 72 + 8 * i).count_ones() as usize).sum();
        head.resize(usize::try_from(data)?, 0);
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut head)?;
        let sample_type = word(head.get(usize::try_from(attrs)?..).filter(|a| a.len() >= 32).context("no events")?, 24);
        ensure!(sample_type & TIME != 0, "the samples have no times");
        let before = BEFORE_TIME.iter().filter(|bit| sample_type & **bit != 0).count();
        let mut rest = Vec::new();
        file.seek(SeekFrom::Start(data + bytes))?;
        file.read_to_end(&mut rest)?;
        ensure!(rest.len() >= 16 * sections, "the file ends inside the table behind its records");
        Ok(Self { head, bytes, sections, rest, time_at: 8 + 8 * before })
    }

    /// Copies records until `left` samples are copied, with times shifted by `shift` ns; returns the number of bytes
    /// and the time they cover, ns.
    fn copy(&self, mut from: impl Read, to: &mut impl Write, left: &mut u64, shift: u64) -> Result<(u64, u64)> {
        let (mut bytes, mut first, mut last) = (0, u64::MAX, 0);
        let mut record = vec![0; 1 << 16];
        while *left > 0 && from.read_exact(&mut record[..8]).is_ok() {
            let [a, b, c, d, _, _, low, high] = record[..8] else { break };
            let (kind, size) = (u32::from_le_bytes([a, b, c, d]), usize::from(u16::from_le_bytes([low, high])));
            ensure!(size >= 8 && !COMPRESSED.contains(&kind), "records that are compressed or broken");
            from.read_exact(&mut record[8..size])?;
            if kind == SAMPLE {
                let time = record[..size].get_mut(self.time_at..self.time_at + 8).context("a sample without a time")?;
                let ts = u64::from_le_bytes((&*time).try_into()?);
                (first, last) = (first.min(ts), last.max(ts));
                time.copy_from_slice(&(ts + shift).to_le_bytes());
                *left -= 1;
            } else if shift > 0 && kind != FINISHED_ROUND {
                continue;
            }
            to.write_all(&record[..size])?;
            bytes += size as u64;
        }
        Ok((bytes, last.saturating_sub(first)))
    }

    /// The sections after the records, with their new offsets.
    fn behind(&self, written: u64) -> Vec<u8> {
        let mut rest = self.rest.clone();
        for entry in rest.chunks_exact_mut(16).take(self.sections) {
            let at = u64::from_le_bytes(entry[..8].try_into().unwrap_or_default());
            entry[..8].copy_from_slice(&at.wrapping_add(written).wrapping_sub(self.bytes).to_le_bytes());
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with this many samples of IP, TID and TIME, 100 ns apart, each followed by the end of a round, and one
    /// section at the end.
    fn written(samples: u64) -> Vec<u8> {
        let mut head = b"PERFILE2".to_vec();
        let data = 104 + 64;
        let bytes = 8 + samples * 40;
        for word in [104, 64, 104, 64, data, bytes, 0, 0, 1 << 2, 0, 0, 0] {
            head.extend(u64::to_le_bytes(word));
        }
        head.extend([0; 24]);
        head.extend((1u64 | 1 << 1 | 1 << 2).to_le_bytes());
        head.resize(data as usize, 0);
        let record = |kind: u32, body: &[u64]| {
            let mut record = kind.to_le_bytes().to_vec();
            record.extend([0, 0]);
            record.extend((8 + 8 * body.len() as u16).to_le_bytes());
            body.iter().for_each(|word| record.extend(word.to_le_bytes()));
            record
        };
        head.extend(record(82, &[]));
        for i in 0..samples {
            head.extend(record(SAMPLE, &[7, 8, 1000 + 100 * i]));
            head.extend(record(FINISHED_ROUND, &[]));
        }
        let behind = head.len() as u64 + 16;
        [behind, 4].iter().for_each(|word| head.extend(word.to_le_bytes()));
        head.extend(b"host");
        head
    }

    fn times(file: &[u8]) -> Vec<u64> {
        let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        let (mut at, end) = (word(40) as usize, (word(40) + word(48)) as usize);
        let mut times = Vec::new();
        while at < end {
            if file[at] == SAMPLE as u8 {
                times.push(word(at + 24));
            }
            at += usize::from(u16::from_le_bytes([file[at + 6], file[at + 7]]));
        }
        assert_eq!(&file[word(end) as usize..][..4], b"host", "what follows is found");
        times
    }

    #[test]
    fn samples_are_repeated_later_or_left_out() {
        let dir = std::env::temp_dir().join(format!("schedlab-perf-file-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (from, to) = (dir.join("from"), dir.join("to"));
        std::fs::write(&from, written(3)).unwrap();
        let of = |samples: u64| {
            let bytes = resize(&from, &to, samples).unwrap();
            let file = std::fs::read(&to).unwrap();
            assert_eq!(file.len() as u64, bytes);
            times(&file)
        };
        assert_eq!(of(3), [1000, 1100, 1200]);
        assert_eq!(of(2), [1000, 1100]);
        let later = 200 + PAUSE_NS;
        assert_eq!(of(5), [1000, 1100, 1200, 1000 + later, 1100 + later]);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
