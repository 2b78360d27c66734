//! Reads the buffer of one CPU, and passes it through the decoder into the columns of a block.

use super::error::TracerError;
use super::instance::Instance;
use schedlab_sys::kernel_facts::page_size_bytes;
use schedlab_sys::perf_ring::TracepointRing;
use schedlab_sys::tracefs;
use schedlab_trace::recording::{Block, BlockWriter, CpuTotals};
use schedlab_trace::{Cpu, PageDecoder, PageError};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

/// How far to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Up to the page that the CPU is writing to; newer events are read with more of that page at the next tick.
    Writer,
    /// Up to the last event.
    Empty,
}

/// Where its records come from.
#[derive(Debug)]
enum Tap {
    Pages(Pages),
    Ring(TracepointRing),
}

/// Pages of a tracefs instance.
#[derive(Debug)]
struct Pages {
    pipe: File,
    path: PathBuf,
    /// Bytes read so far of the page that the CPU was writing to; the next read returns the rest of it.
    of_page: usize,
}

/// One CPU.
#[derive(Debug)]
pub(super) struct CpuReader {
    pub(super) cpu: u32,
    tap: Tap,
    writer: BlockWriter,
    /// Every event of this CPU before this time has been read, ns.
    pub(super) complete_ns: u64,
    events: u64,
    lost: u64,
    /// Reads that could not be decoded; each is a loss of unknown size.
    bad_reads: u64,
    first_trouble: Option<String>,
}

/// Takes a block that has become full.
pub(super) type Full<'a> = &'a mut dyn FnMut(Block) -> Result<(), TracerError>;

impl CpuReader {
    pub(super) fn of_instance(instance: &Instance, cpu: u32) -> Result<Self, TracerError> {
        let path = instance.directory().join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let pipe = tracefs::open_without_waiting(&path).map_err(TracerError::file(&path, ""))?;
        Ok(Self::new(cpu, Tap::Pages(Pages { pipe, path, of_page: 0 })))
    }

    pub(super) fn of_ring(ring: TracepointRing, cpu: u32) -> Self {
        Self::new(cpu, Tap::Ring(ring))
    }

    fn new(cpu: u32, tap: Tap) -> Self {
        let writer = BlockWriter::new(Cpu::from_raw(cpu.into()).unwrap_or(Cpu::ANY));
        Self { cpu, tap, writer, complete_ns: 0, events: 0, lost: 0, bad_reads: 0, first_trouble: None }
    }

    /// Reads what is in the buffer; `began_ns` is the time at which reading starts. Blocks that become full go to
    /// `full`. Returns how many pages there were.
    pub(super) fn drain(
        &mut self,
        decoder: &mut PageDecoder,
        buffer: &mut Vec<u8>,
        until: Until,
        began_ns: u64,
        full: Full<'_>,
    ) -> Result<u64, TracerError> {
        match &mut self.tap {
            Tap::Pages(_) => self.drain_pages(decoder, buffer, until, began_ns, full),
            Tap::Ring(ring) => {
                buffer.clear();
                ring.drain(buffer);
                self.take_in(decoder, buffer, full)?;
                if until == Until::Empty {
                    self.report_late_loss();
                }
                self.complete_ns = began_ns;
                Ok((buffer.len() as u64).div_ceil(page_size_bytes()))
            }
        }
    }

    fn drain_pages(
        &mut self,
        decoder: &mut PageDecoder,
        buffer: &mut Vec<u8>,
        until: Until,
        began_ns: u64,
        full: Full<'_>,
    ) -> Result<u64, TracerError> {
        buffer.resize(decoder.page_bytes(), 0);
        let mut pages = 0;
        loop {
            let Some(bytes) = self.read(buffer)? else {
                self.complete_ns = began_ns;
                return Ok(pages);
            };
            pages += 1;
            if !self.writer.has_room_for(decoder.most_events())
                && let Some(block) = self.take(decoder)
            {
                full(block)?;
            }
            let is_full = self.page(decoder, &buffer[..bytes]);
            if until == Until::Writer && !is_full {
                // Not `began_ns`: a page may also end early because a long event did not fit.
                self.complete_ns = self.writer.last_ns().min(began_ns);
                return Ok(pages);
            }
        }
    }

    /// Takes in records of a ring.
    fn take_in(&mut self, decoder: &mut PageDecoder, records: &[u8], full: Full<'_>) -> Result<(), TracerError> {
        let mut at = 0;
        while at < records.len() {
            let before = self.writer.events();
            let read = decoder.decode_ring_into(&records[at..], &mut self.writer);
            self.events += self.writer.events() - before;
            match read {
                Ok(read) => {
                    self.lost += read.lost;
                    at += read.bytes;
                }
                Err(error) => {
                    self.not_understood(&error);
                    return Ok(());
                }
            }
            if at < records.len()
                && let Some(block) = self.take(decoder)
            {
                full(block)?;
            }
        }
        Ok(())
    }

    /// The kernel reports a loss with the next event that finds room; a loss just before the end appears only in its
    /// counter.
    fn report_late_loss(&mut self) {
        let Tap::Ring(ring) = &self.tap else { return };
        let unreported = ring.events().lost().unwrap_or(0).saturating_sub(self.lost);
        if unreported > 0 {
            self.writer.lost(self.writer.last_ns(), unreported);
            self.lost += unreported;
        }
    }

    /// A page, or part of the page that the CPU writes to; `None` if there is nothing.
    fn read(&mut self, page: &mut [u8]) -> Result<Option<usize>, TracerError> {
        let Tap::Pages(pages) = &mut self.tap else { return Ok(None) };
        loop {
            return match pages.pipe.read(page) {
                Ok(0) => Ok(None),
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => Err(TracerError::file(&pages.path, "")(source)),
            };
        }
    }

    /// Decodes a page; returns whether the CPU has moved on to another one.
    fn page(&mut self, decoder: &mut PageDecoder, page: &[u8]) -> bool {
        let before = self.writer.events();
        let decoded = decoder.decode_into(page, &mut self.writer);
        self.events += self.writer.events() - before;
        let Tap::Pages(pages) = &mut self.tap else { return false };
        match decoded {
            Ok(found) => {
                self.lost += found.lost.map_or(0, |events| events.max(1));
                // A page that is read while the CPU writes to it arrives in parts, so it is full when the parts add up
                // to a page.
                pages.of_page += found.bytes;
                let is_full = decoder.is_full(pages.of_page);
                if is_full {
                    pages.of_page = 0;
                }
                is_full
            }
            Err(error) => {
                pages.of_page = 0;
                self.not_understood(&error);
                true
            }
        }
    }

    /// The rest of what was read is lost; it is not known how many events that is.
    fn not_understood(&mut self, error: &PageError) {
        self.bad_reads += 1;
        self.lost += 1;
        let ts = self.writer.last_ns();
        self.writer.lost(ts, 0);
        self.first_trouble.get_or_insert_with(|| error.to_string());
    }

    /// Number of events that are not yet in a block.
    pub(super) fn pending(&self) -> u64 {
        self.writer.events()
    }

    /// Ends the block of the events read so far.
    pub(super) fn take(&mut self, decoder: &PageDecoder) -> Option<Block> {
        self.writer.finish(decoder.names(), decoder.states())
    }

    /// Reads that could not be decoded, in words.
    pub(super) fn trouble(&self) -> Option<String> {
        let first = self.first_trouble.as_ref()?;
        Some(format!("CPU {}: {}; the first: {first}", self.cpu, schedlab_plan::counted(self.bad_reads, "reads")))
    }

    /// The CPU's totals; the owner of the instance fills in `kernel_lost`.
    pub(super) fn totals(&self) -> CpuTotals {
        CpuTotals { cpu: self.cpu, events: self.events, lost: self.lost, kernel_lost: 0 }
    }
}
