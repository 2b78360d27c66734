//! The buffer of one CPU: whole pages out of the kernel, through the decoder, into the columns of a block.

use super::error::TracerError;
use super::instance::Instance;
use schedlab_sys::tracefs;
use schedlab_trace::recording::{Block, BlockWriter, CpuTotals};
use schedlab_trace::{Cpu, Item, PageDecoder};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

/// How far to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Up to the first page that is not full: what comes now is read with more at the next tick.
    NotFull,
    /// Up to the last event.
    Empty,
}

/// One CPU.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) cpu: u32,
    pipe: File,
    path: PathBuf,
    writer: BlockWriter,
    events: u64,
    lost: u64,
    /// Pages that were not understood; each is a loss of unknown size.
    pub(super) bad_pages: u64,
    pub(super) first_trouble: Option<String>,
}

/// What a tick did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Drained {
    /// Pages read.
    pub(super) pages: u64,
}

impl Lane {
    pub(super) fn open(instance: &Instance, cpu: u32) -> Result<Self, TracerError> {
        let path = instance.directory().join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let pipe = tracefs::open_without_waiting(&path).map_err(TracerError::file(&path, ""))?;
        let writer = BlockWriter::new(Cpu::from_raw(cpu.into()).unwrap_or(Cpu::ANY));
        Ok(Self { cpu, pipe, path, writer, events: 0, lost: 0, bad_pages: 0, first_trouble: None })
    }

    /// Reads pages; blocks that become full go to `full`.
    pub(super) fn drain(
        &mut self,
        decoder: &mut PageDecoder,
        page: &mut [u8],
        until: Until,
        full: &mut dyn FnMut(Block) -> Result<(), TracerError>,
    ) -> Result<Drained, TracerError> {
        let mut drained = Drained::default();
        loop {
            let bytes = match self.pipe.read(page) {
                Ok(0) => return Ok(drained),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(drained),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(TracerError::file(&self.path, "")(source)),
            };
            drained.pages += 1;
            if !self.writer.has_room_for(decoder.most_events())
                && let Some(block) = self.take(decoder)
            {
                full(block)?;
            }
            let is_full = self.page(decoder, &page[..bytes]);
            if until == Until::NotFull && !is_full {
                return Ok(drained);
            }
        }
    }

    /// Takes in a page; whether it was full.
    fn page(&mut self, decoder: &mut PageDecoder, page: &[u8]) -> bool {
        let (writer, events, lost) = (&mut self.writer, &mut self.events, &mut self.lost);
        let decoded = decoder.decode(page, |ts, item| match item {
            Item::Event(what) => {
                *events += 1;
                writer.push(ts, what);
            }
            Item::Lost(count) => {
                *lost += count.max(1);
                writer.lost(ts, count);
            }
        });
        match decoded {
            Ok(found) => decoder.is_full(&found),
            Err(error) => {
                // The rest of the page is lost, and nobody knows how much that is.
                self.bad_pages += 1;
                self.lost += 1;
                let ts = self.writer.last_ns();
                self.writer.lost(ts, 0);
                self.first_trouble.get_or_insert_with(|| format!("CPU {}: {error}", self.cpu));
                true
            }
        }
    }

    /// Events that are in no block yet.
    pub(super) fn pending(&self) -> u64 {
        self.writer.events()
    }

    /// The block of what was read so far.
    pub(super) fn take(&mut self, decoder: &PageDecoder) -> Option<Block> {
        self.writer.finish(decoder.names(), decoder.states())
    }

    /// Its sums; `kernel_lost` is filled in by who has the instance.
    pub(super) fn totals(&self) -> CpuTotals {
        CpuTotals { cpu: self.cpu, events: self.events, lost: self.lost, kernel_lost: 0 }
    }
}
