//! Where the blocks of all drain threads go: into the file as they come, or into memory until it is known which seconds
//! are wanted.

use super::error::TracerError;
use schedlab_sys::places;
use schedlab_trace::recording::{About, Block, FormatText, LastBlocks, Moment, RecordingWriter, ThreadState, Totals};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Memory that a flight recorder may use, bytes: 64 million events at 4 bytes per event.
const MAX_KEPT_BYTES: u64 = 256 << 20;

/// An event is in the buffer before its CPU commits it. If a hypervisor preempts the vCPU in between, the event appears
/// at most this much later; one that is later still is reported as out of order.
const IN_FLIGHT_NS: u64 = 10_000_000;

/// The one writer of a recording.
#[derive(Debug)]
pub(super) struct Sink {
    path: PathBuf,
    out: Option<RecordingWriter<BufWriter<File>>>,
    kept: Option<LastBlocks>,
    /// By drain thread: all events before this time have been handed in.
    complete_ns: Vec<u64>,
    pub(super) events: u64,
    pub(super) whole_bytes: u64,
}

impl Sink {
    pub(super) fn create(
        path: &Path,
        about: &About,
        header_page: &str,
        formats: &[FormatText],
        threads: usize,
        keep_ns: Option<u64>,
    ) -> Result<Self, TracerError> {
        let out = places::private_file(path).and_then(|file| {
            let mut out = RecordingWriter::begin(BufWriter::with_capacity(1 << 16, file), about, header_page, formats)?;
            out.flush()?;
            Ok(out)
        });
        let out = out.map_err(|cause| TracerError::Output { path: path.to_owned(), cause })?;
        Ok(Self {
            path: path.to_owned(),
            out: Some(out),
            kept: keep_ns.map(|ns| LastBlocks::new(ns, MAX_KEPT_BYTES)),
            complete_ns: vec![0; threads],
            events: 0,
            whole_bytes: 0,
        })
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut RecordingWriter<BufWriter<File>>) -> std::io::Result<()>,
    ) -> Result<(), TracerError> {
        // After a failure nothing more is written, so that what has been written stays readable.
        let Some(out) = &mut self.out else { return Ok(()) };
        write(out).map_err(|cause| {
            self.out = None;
            TracerError::Output { path: self.path.clone(), cause }
        })
    }

    pub(super) fn threads(&mut self, moment: Moment, at_ns: u64, threads: &[ThreadState]) -> Result<(), TracerError> {
        self.write(|out| out.threads(moment, at_ns, threads))
    }

    pub(super) fn block(&mut self, block: Block) -> Result<(), TracerError> {
        self.events += block.events;
        self.whole_bytes += block.whole_bytes;
        match &mut self.kept {
            Some(kept) => {
                kept.push(block);
                Ok(())
            }
            None => self.write(|out| out.block(&block)),
        }
    }

    /// Drain thread `thread` has handed in every event of its CPUs before `ns`. The file is flushed, so that these
    /// events survive if we are killed: on a quiet machine the buffer alone could hold many seconds of events.
    pub(super) fn complete(&mut self, thread: usize, ns: u64) -> Result<(), TracerError> {
        self.complete_ns[thread] = ns;
        let all = self.complete_ns.iter().copied().min().unwrap_or(0);
        if self.kept.is_some() {
            return Ok(());
        }
        self.write(|out| {
            out.complete_before(all.saturating_sub(IN_FLIGHT_NS))?;
            out.flush()
        })
    }

    /// Writes the kept blocks, if any; returns how many events were dropped before them, and whether for lack of room.
    pub(super) fn write_kept(&mut self) -> Result<Option<(u64, bool)>, TracerError> {
        let Some(kept) = self.kept.take() else { return Ok(None) };
        // After each block: no event before the oldest one in the later blocks is missing.
        let mut oldest_after: Vec<u64> = kept.blocks().map(|block| block.first_ns).collect();
        for at in (1..oldest_after.len()).rev() {
            oldest_after[at - 1] = oldest_after[at - 1].min(oldest_after[at]);
        }
        for (at, block) in kept.blocks().enumerate() {
            self.write(|out| out.block(block))?;
            if let Some(ns) = oldest_after.get(at + 1) {
                self.write(|out| out.complete_before(*ns))?;
            }
        }
        let sum = |of: fn(&Block) -> u64| -> u64 { kept.blocks().map(of).sum() };
        (self.events, self.whole_bytes) = (sum(|block| block.events), sum(|block| block.whole_bytes));
        Ok(Some((kept.dropped, kept.was_full)))
    }

    /// Ends the recording; returns the size of the file in bytes.
    pub(super) fn end(mut self, totals: &Totals) -> Result<u64, TracerError> {
        let failed = |cause| TracerError::Output { path: self.path.clone(), cause };
        let Some(out) = self.out.take() else { return Ok(0) };
        let file = out.end(totals).map_err(failed)?;
        file.get_ref().metadata().map(|m| m.len()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_head_at_once_and_every_round_at_its_end() {
        let file = std::env::temp_dir().join(format!("schedlab-sink-{}", std::process::id()));
        let mut sink = Sink::create(&file, &About::default(), "a page", &[], 2, None).unwrap();
        let in_file = || std::fs::metadata(&file).unwrap().len();
        let written = |sink: &Sink| sink.out.as_ref().unwrap().bytes();
        assert!(in_file() > 0 && in_file() == written(&sink));
        let thread = ThreadState { comm: "a thread".to_owned(), ..ThreadState::default() };
        sink.threads(Moment::Start, 1, &[thread]).unwrap();
        assert!(in_file() < written(&sink), "not with each part: that would be a call of the kernel for each");
        sink.complete(0, 250_000_000).unwrap();
        assert_eq!(in_file(), written(&sink));
        std::fs::remove_file(&file).unwrap();
    }
}
