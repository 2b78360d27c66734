//! trace.dat from `trace-cmd record`, versions 6 and 7: the kernel's own pages, CPU by CPU, from one or several
//! buffers. Layout: trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5).

pub(crate) mod archive;
mod header;
mod records;
mod shifts;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod written;

use crate::bytes::Input;
use crate::clock;
use crate::event::{Cpu, Event, Tid, What};
use crate::info::TraceInfo;
use crate::kind::Kinds;
use crate::order::{Merging, Order};
use crate::page::PageFormat;
use crate::problem::{ProblemKind, Problems};
use crate::reader::TraceSource;
use crate::record_decoder::Dictionary;
use crate::{ByteSource, TraceError};
use header::{Buffer, Header, RecorderCounts};
use records::{RecordDecoders, Sink, Times};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use stream::Pages;

/// Plausible page sizes; a sub-buffer may be larger than a memory page of 4 kB to 64 kB.
const PAGE_SIZES: std::ops::RangeInclusive<u32> = 64..=1 << 20;

/// A trace.dat that is being read.
pub(crate) struct TraceDat {
    input: Input,
    header: Header,
    format: PageFormat,
    decoders: RecordDecoders,
    streams: Vec<Stream>,
    /// Streams that have more pages, by their progress.
    open: BinaryHeap<Reverse<(u64, usize)>>,
    dictionary: Dictionary,
    order: Order,
    problems: Problems,
    /// If several buffers have scheduler events, the one whose events are read.
    owner: Option<usize>,
}

/// A CPU's pages in a buffer.
struct Stream {
    cpu: Cpu,
    buffer: usize,
    pages: Pages,
    times: Times,
    /// Time of the last record.
    ts: u64,
}

impl TraceDat {
    pub(crate) fn open(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Result<Self, TraceError> {
        let input = Input::new(file, source);
        let header = Header::read(&input)?;
        Self::of(input, header, wanted)
    }

    /// Raw pages in a tar.
    pub(crate) fn open_archive(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Result<Self, TraceError> {
        let input = Input::new(file, source);
        let header = archive::read(&input)?;
        Self::of(input, header, wanted)
    }

    /// `why` is the problem before the start of the archive.
    pub(crate) fn report(&mut self, why: String) {
        self.problems.add(ProblemKind::SkippedPart, || why);
    }

    fn of(input: Input, mut header: Header, wanted: Kinds) -> Result<Self, TraceError> {
        let notices = std::mem::take(&mut header.notices);
        let tracing = &header.tracing;
        let format = PageFormat::parse(&tracing.header_page, tracing.big_endian)
            .unwrap_or_else(|| PageFormat::of_long(tracing.long_size, tracing.big_endian));
        let (mut dictionary, mut problems) = (Dictionary::default(), Problems::default());
        let decoders = RecordDecoders::new(&header, wanted, &mut dictionary, &mut problems);
        let has: Vec<&str> = tracing.formats.iter().map(|f| f.name.as_str()).take(5).collect();
        if decoders.kinds() == Kinds::default() {
            let has = match &has[..] {
                [] => "no format of an event: a tar needs formats/SYSTEM/NAME/format".to_owned(),
                names => format!("formats of {}", names.join(", ")),
            };
            return Err(TraceError::NoSchedEvents { file: input.file, has });
        }
        let mut reader = Self {
            streams: Vec::new(),
            open: BinaryHeap::new(),
            input,
            format,
            decoders,
            dictionary,
            order: Order::default(),
            problems,
            owner: None,
            header,
        };
        notices.into_iter().for_each(|(kind, why)| reader.problems.add_sentence(kind, why));
        reader.open_streams()?;
        reader.name_threads();
        Ok(reader)
    }

    fn open_streams(&mut self) -> Result<(), TraceError> {
        let big_endian = self.header.tracing.big_endian;
        let mut refused = None;
        for (number, buffer) in self.header.buffers.iter().enumerate() {
            let Buffer { name, page_size, cpus, packing, .. } = buffer;
            if !PAGE_SIZES.contains(page_size) {
                let found = format!("pages of {page_size} bytes in buffer `{}`", name.escape_debug());
                return Err(self.input.malformed(0, found, "pages of 4096 to 65536 bytes"));
            }
            let times = match self.header.times(buffer) {
                Ok(times) => times,
                Err(why) => {
                    self.problems.add(ProblemKind::SkippedPart, || format!("buffer `{}`: {why}", name.escape_debug()));
                    refused.get_or_insert(why);
                    continue;
                }
            };
            for data in cpus.iter().filter(|data| data.size > 0) {
                let Some(cpu) = Cpu::from_raw(i64::from(data.cpu)) else {
                    self.problems
                        .add(ProblemKind::ImpossibleNumber, || format!("CPU {}, which no machine has", data.cpu));
                    continue;
                };
                let pages = Pages::new(&self.input, *data, *page_size as usize, *packing, big_endian)?;
                self.open.push(Reverse((0, self.streams.len())));
                self.streams.push(Stream { cpu, buffer: number, pages, times, ts: 0 });
            }
        }
        match refused {
            Some(why) if self.streams.is_empty() => Err(self.input.unsupported(0, why, clock::FIX)),
            _ => Ok(()),
        }
    }

    /// Names that trace-cmd saved; those in events are better.
    fn name_threads(&mut self) {
        for (tid, comm) in &self.header.cmdlines {
            let Some(tid) = Tid::from_raw(i64::from(*tid)).filter(|tid| *tid != Tid::IDLE) else { continue };
            let what = What::Comm { tid, comm: self.dictionary.names.intern(comm) };
            self.order.push_rare(Event { ts: 0, cpu: Cpu::ANY, what }, &mut self.problems);
        }
    }

    /// Events that the kernel counted but that are not in the file, or that never got into it.
    fn report_missing(&mut self) {
        let RecorderCounts { cpus, events, overrun, dropped } = self.header.counted;
        let found = self.decoders.records;
        // If a buffer has no counts, its events would hide what is missing in others.
        if cpus as usize >= self.streams.len() && events > found {
            self.problems.add_many(ProblemKind::Lost, events - found, || {
                format!(
                    "the kernel counted {events} events and the file holds {found}: it is cut, damaged or a part of a longer one"
                )
            });
        }
        let marked = self.problems.count(ProblemKind::Lost);
        if overrun.saturating_add(dropped) > marked {
            self.problems.add_many(ProblemKind::Lost, overrun.saturating_add(dropped) - marked, || {
                format!("the ring overwrote {overrun} events and refused {dropped}; where is not marked")
            });
        }
    }

    /// The file always has the formats of all events; only at the end is it known whether any was recorded.
    fn has_events(&self) -> Result<(), TraceError> {
        if self.decoders.have_events() {
            return Ok(());
        }
        let names: Vec<String> = self.decoders.counts().into_iter().map(|c| c.0).take(5).collect();
        let has = if names.is_empty() { "no record at all".into() } else { names.join(", ") };
        Err(TraceError::NoSchedEvents { file: self.input.file.clone(), has })
    }
}

impl TraceSource for TraceDat {
    fn info(&self) -> TraceInfo {
        let header = &self.header;
        let mut uname = header.uname.split_whitespace();
        let (_, hostname, release) = (uname.next(), uname.next(), uname.next());
        TraceInfo {
            format: header.format,
            clock: clock::shown(&header.clock),
            hostname: hostname.unwrap_or_default().to_owned(),
            release: release.unwrap_or_default().to_owned(),
            arch: header.uname.split_whitespace().next_back().unwrap_or_default().to_owned(),
            recorder: header.recorder.clone(),
            command: String::new(),
            cpus: None,
            infers_prev: false,
            kinds: self.decoders.kinds(),
            events: self.decoders.counts(),
        }
    }

    fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn problems_mut(&mut self) -> &mut Problems {
        &mut self.problems
    }
}

impl Merging for TraceDat {
    fn order(&mut self) -> &mut Order {
        &mut self.order
    }

    /// Reads a page of the stream that is furthest behind.
    fn advance(&mut self) -> Result<(), TraceError> {
        let Some(Reverse((_, number))) = self.open.pop() else {
            self.report_missing();
            // Records that nobody wants are events, too.
            let read = self.streams.iter().filter(|stream| self.owner == Some(stream.buffer));
            read.for_each(|stream| self.order.meet(stream.cpu));
            self.order.finish(&mut self.problems);
            return self.has_events();
        };
        let stream = &mut self.streams[number];
        let mut sink = Sink {
            decoders: &mut self.decoders,
            dictionary: &mut self.dictionary,
            order: &mut self.order,
            problems: &mut self.problems,
            owner: &mut self.owner,
            // Lane 0 is that of no CPU.
            stream: (1 + number, stream.buffer, stream.cpu),
            times: stream.times,
        };
        match stream.pages.next(&self.input) {
            Ok(Some((offset, page))) => {
                stream.ts = sink.page(&self.format, page, offset, stream.ts).max(stream.ts);
                self.open.push(Reverse((stream.ts, number)));
            }
            Ok(None) => {}
            // If a page cannot be read or inflated, only its CPU ends, not the trace.
            Err(error) => {
                sink.problems.add(ProblemKind::SkippedPart, || error.to_string());
                sink.lost(stream.ts, 0);
            }
        }
        // All other streams are at least as far.
        if let Some(Reverse((ts, _))) = self.open.peek() {
            self.order.release(ts.saturating_sub(1), &mut self.problems);
        }
        self.order.relieve(&mut self.problems);
        Ok(())
    }
}
