//! Writes a recording as it comes: every part is written completely and not changed afterwards, so if the recorder is
//! killed, the recording can be read up to its last part. It needs memory for one part.

use super::about::About;
use super::block::Block;
use super::chunk::{self, Tag};
use super::threads::{self, MAX_IN_A_PART, Moment, ThreadState};
use super::varint::put;
use std::collections::VecDeque;
use std::io::{self, Write};

/// The kernel's counters of one CPU's ring buffer at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTotals {
    /// Which.
    pub cpu: u32,
    /// Events recorded.
    pub events: u64,
    /// Events overwritten before they were read, as recorded in the pages.
    pub lost: u64,
    /// The same according to the kernel's own counters at the end: overwritten, dropped or not committed.
    pub kernel_lost: u64,
}

/// Totals at the end of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// When tracing was switched off, ns of the trace's clock.
    pub end_ns: u64,
    /// By CPU.
    pub cpus: Vec<CpuTotals>,
}

impl Totals {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut content = Vec::new();
        put(&mut content, self.end_ns);
        put(&mut content, self.cpus.len() as u64);
        for cpu in &self.cpus {
            [cpu.cpu.into(), cpu.events, cpu.lost, cpu.kernel_lost].into_iter().for_each(|n| put(&mut content, n));
        }
        content
    }

    pub(super) fn decode(mut content: &[u8]) -> Option<Self> {
        let rest = &mut content;
        let end_ns = super::varint::take(rest)?;
        let count = usize::try_from(super::varint::take(rest)?).ok().filter(|count| *count <= rest.len())?;
        let mut cpus = Vec::new();
        for _ in 0..count {
            let mut numbers = [0; 4];
            for number in &mut numbers {
                *number = super::varint::take(rest)?;
            }
            let [cpu, events, lost, kernel_lost] = numbers;
            cpus.push(CpuTotals { cpu: cpu.try_into().ok()?, events, lost, kernel_lost });
        }
        Some(Self { end_ns, cpus })
    }
}

/// The text of an event's `format` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatText {
    /// The system, as in `sched`.
    pub system: String,
    /// The whole text.
    pub text: String,
}

/// A recording that is being written.
#[derive(Debug)]
pub struct RecordingWriter<W: Write> {
    out: W,
    part: Vec<u8>,
    bytes: u64,
    complete_ns: u64,
}

impl<W: Write> RecordingWriter<W> {
    /// Writes everything that precedes the events. `header_page` is the kernel's layout of a page.
    pub fn begin(out: W, about: &About, header_page: &str, formats: &[FormatText]) -> io::Result<Self> {
        let mut writer = Self { out, part: Vec::new(), bytes: 0, complete_ns: 0 };
        writer.out.write_all(&chunk::head())?;
        writer.bytes = chunk::HEAD_BYTES;
        writer.part(Tag::About, &about.encode())?;
        let mut content = Vec::new();
        let texts = formats.iter().flat_map(|f| [f.system.as_str(), f.text.as_str()]);
        for text in [header_page].into_iter().chain(texts) {
            put(&mut content, text.len() as u64);
            content.extend_from_slice(text.as_bytes());
        }
        writer.part(Tag::Formats, &content)?;
        Ok(writer)
    }

    /// Writes a snapshot of the machine's threads, taken at `at_ns` of the trace's clock.
    pub fn threads(&mut self, moment: Moment, at_ns: u64, threads: &[ThreadState]) -> io::Result<()> {
        for some in threads.chunks(MAX_IN_A_PART) {
            self.part(Tag::Threads, &threads::encode(moment, at_ns, some))?;
        }
        Ok(())
    }

    /// Writes a block of events.
    pub fn block(&mut self, block: &Block) -> io::Result<()> {
        self.bytes += block.part.len() as u64;
        self.out.write_all(&block.part)
    }

    /// Records that every event before `ns`, on any CPU, has been written: a reader can put the events in order up to
    /// there.
    pub fn complete_before(&mut self, ns: u64) -> io::Result<()> {
        if ns <= self.complete_ns {
            return Ok(());
        }
        self.complete_ns = ns;
        let mut content = Vec::new();
        put(&mut content, ns);
        self.part(Tag::Complete, &content)
    }

    /// Flushes what has been written: from here on it survives us.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ends the recording; without this it looks as if the recorder was killed.
    pub fn end(mut self, totals: &Totals) -> io::Result<W> {
        self.part(Tag::End, &totals.encode())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn part(&mut self, tag: Tag, content: &[u8]) -> io::Result<()> {
        self.part.clear();
        chunk::frame(tag, content, &mut self.part);
        self.bytes += self.part.len() as u64;
        self.out.write_all(&self.part)
    }
}

/// The blocks of the last seconds: what a flight recorder keeps. Older ones are dropped as new ones arrive.
#[derive(Debug)]
pub struct LastBlocks {
    keep_ns: u64,
    most_bytes: u64,
    blocks: VecDeque<Block>,
    bytes: u64,
    latest_ns: u64,
    /// Events that were dropped because they were too old.
    pub dropped: u64,
    /// Whether blocks younger than requested were dropped for lack of room.
    pub was_full: bool,
}

impl LastBlocks {
    /// Keeps the `keep_ns` before the latest event, in at most `most_bytes`.
    pub fn new(keep_ns: u64, most_bytes: u64) -> Self {
        let (blocks, dropped, was_full) = (VecDeque::new(), 0, false);
        Self { keep_ns, most_bytes, blocks, bytes: 0, latest_ns: 0, dropped, was_full }
    }

    /// Adds a block. The blocks of one CPU come in order, those of different CPUs nearly so.
    pub fn push(&mut self, block: Block) {
        self.latest_ns = self.latest_ns.max(block.last_ns);
        self.bytes += block.stored_bytes();
        self.blocks.push_back(block);
        while let Some(first) = self.blocks.front() {
            let old = first.last_ns.saturating_add(self.keep_ns) < self.latest_ns;
            if !old && self.bytes <= self.most_bytes {
                break;
            }
            self.was_full |= !old;
            self.bytes -= first.stored_bytes();
            self.dropped += first.events;
            self.blocks.pop_front();
        }
    }

    /// What is kept, oldest first.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter()
    }
}
