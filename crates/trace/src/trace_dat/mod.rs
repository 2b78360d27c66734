//! trace.dat of `trace-cmd record`, version 6 and 7: the kernel's own pages, CPU by CPU, of one or several buffers.
//! Layout: trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5).

mod header;
pub(crate) mod page;
mod stream;
#[cfg(test)]
mod tests;

use crate::bytes::Input;
use crate::event::{Cpu, Event, Tid, What};
use crate::fields::{Dictionary, Plan, Refused};
use crate::info::TraceInfo;
use crate::kind::{Kind, Kinds};
use crate::names::Names;
use crate::order::Order;
use crate::prev_state::{PrevStates, StateBits};
use crate::problem::{ProblemKind, Problems};
use crate::{ByteSource, TraceError};
use header::{Buffer, Header};
use page::PageFormat;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use stream::Pages;

/// Pages of other sizes than 4 kB to 64 kB (a sub-buffer may be larger than a page of memory) are not believed.
const PAGE_SIZES: std::ops::RangeInclusive<u32> = 64..=1 << 20;

/// A trace.dat that is being read.
pub(crate) struct TraceDat {
    input: Input,
    header: Header,
    format: PageFormat,
    plans: Plans,
    streams: Vec<Stream>,
    /// Streams that have more pages, by how far they are.
    open: BinaryHeap<Reverse<(u64, usize)>>,
    dictionary: Dictionary,
    order: Order,
    problems: Problems,
    /// The buffer whose scheduler events are read, where several have some.
    owner: Option<usize>,
    done: bool,
}

/// A CPU's pages in a buffer.
struct Stream {
    cpu: Cpu,
    buffer: usize,
    pages: Pages,
    /// Of the last record.
    ts: u64,
}

/// What becomes of a record, by the number of its event.
struct Plans {
    big_endian: bool,
    by_id: Vec<Option<Entry>>,
}

struct Entry {
    name: String,
    plan: Option<(Kind, Plan)>,
    records: u64,
}

impl TraceDat {
    pub(crate) fn open(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Result<Self, TraceError> {
        let input = Input::new(file, source);
        let header = Header::read(&input)?;
        let tracing = &header.tracing;
        let format = PageFormat::new(&tracing.header_page, tracing.long_size, tracing.big_endian);
        let (mut dictionary, mut problems) = (Dictionary::default(), Problems::default());
        let plans = Plans::new(&header, wanted, &mut dictionary, &mut problems);
        let has: Vec<&str> = tracing.formats.iter().map(|f| f.name.as_str()).take(5).collect();
        if plans.kinds() == Kinds::default() {
            return Err(TraceError::NoSchedEvents {
                file: file.to_owned(),
                has: format!("formats of {}", has.join(", ")),
            });
        }
        let mut reader = Self {
            streams: Vec::new(),
            open: BinaryHeap::new(),
            input,
            format,
            plans,
            dictionary,
            order: Order::default(),
            problems,
            owner: None,
            done: false,
            header,
        };
        reader.open_streams()?;
        reader.name_threads();
        Ok(reader)
    }

    fn open_streams(&mut self) -> Result<(), TraceError> {
        let big_endian = self.header.tracing.big_endian;
        for (number, buffer) in self.header.buffers.iter().enumerate() {
            let Buffer { name, page_size, cpus, compressed } = buffer;
            if !PAGE_SIZES.contains(page_size) {
                let found = format!("pages of {page_size} bytes in buffer `{}`", name.escape_debug());
                return Err(self.input.malformed(0, found, "pages of 4096 to 65536 bytes"));
            }
            for data in cpus.iter().filter(|data| data.size > 0) {
                let Some(cpu) = Cpu::from_raw(i64::from(data.cpu)) else {
                    self.problems
                        .add(ProblemKind::ImpossibleNumber, || format!("CPU {}, which no machine has", data.cpu));
                    continue;
                };
                let pages = Pages::new(&self.input, *data, *page_size as usize, *compressed, big_endian)?;
                self.open.push(Reverse((0, self.streams.len())));
                self.streams.push(Stream { cpu, buffer: number, pages, ts: 0 });
            }
        }
        if self.header.overrun > 0 {
            let overrun = self.header.overrun;
            self.problems.add_many(ProblemKind::Recording, overrun, || {
                "events were overwritten in the ring before trace-cmd read them".into()
            });
        }
        Ok(())
    }

    /// Names that trace-cmd saved; events bring better ones.
    fn name_threads(&mut self) {
        for (tid, comm) in &self.header.cmdlines {
            let Some(tid) = Tid::from_raw(i64::from(*tid)).filter(|tid| *tid != Tid::IDLE) else { continue };
            let what = What::Comm { tid, comm: self.dictionary.names.intern(comm) };
            self.order.push_in(self.streams.len(), Event { ts: 0, cpu: Cpu::ANY, what }, &mut self.problems);
        }
    }

    /// The next events in the order of time, into `out`, which is emptied; false at the end.
    pub(crate) fn next_batch(&mut self, out: &mut Vec<Event>) -> Result<bool, TraceError> {
        out.clear();
        loop {
            self.order.take(out);
            if !out.is_empty() {
                return Ok(true);
            }
            if self.done {
                return Ok(false);
            }
            self.advance()?;
        }
    }

    /// Reads a page of the stream that is furthest behind.
    fn advance(&mut self) -> Result<(), TraceError> {
        let Some(Reverse((_, number))) = self.open.pop() else {
            self.order.finish();
            self.done = true;
            return Ok(());
        };
        let stream = &mut self.streams[number];
        // A chunk that cannot be inflated ends its CPU, not the trace.
        let page = match stream.pages.next(&self.input) {
            Ok(page) => page,
            Err(error) => {
                self.problems.add(ProblemKind::SkippedPart, || error.to_string());
                stream.pages.stop();
                None
            }
        };
        if let Some((offset, page)) = page {
            let times = Times { offset: self.header.ts_offset, tsc2nsec: self.header.tsc2nsec };
            let mut sink = Sink {
                plans: &mut self.plans,
                dictionary: &mut self.dictionary,
                order: &mut self.order,
                problems: &mut self.problems,
                owner: &mut self.owner,
                stream: (number, stream.buffer, stream.cpu),
                times,
            };
            stream.ts = sink.page(&self.format, page, offset).max(stream.ts);
            self.open.push(Reverse((stream.ts, number)));
        }
        // All others are at least as far.
        if let Some(Reverse((ts, _))) = self.open.peek() {
            self.order.release(ts.saturating_sub(1));
        }
        self.order.relieve(&mut self.problems);
        Ok(())
    }

    pub(crate) fn info(&self) -> TraceInfo {
        let header = &self.header;
        let mut uname = header.uname.split_whitespace();
        let (_, hostname, release) = (uname.next(), uname.next(), uname.next());
        TraceInfo {
            format: if header.tracing.version == "6" { "trace.dat 6" } else { "trace.dat 7" },
            clock: if header.clock.is_empty() { "local".into() } else { header.clock.clone() },
            hostname: hostname.unwrap_or_default().to_owned(),
            release: release.unwrap_or_default().to_owned(),
            arch: header.uname.split_whitespace().next_back().unwrap_or_default().to_owned(),
            recorder: format!("trace-cmd {}", header.recorder).trim_end().to_owned(),
            command: String::new(),
            cpus: None,
            kinds: self.plans.kinds(),
            events: self.plans.counts(),
        }
    }

    pub(crate) fn names(&self) -> &Names {
        &self.dictionary.names
    }

    pub(crate) fn states(&self) -> &PrevStates {
        &self.dictionary.states
    }

    pub(crate) fn problems(&self) -> &Problems {
        &self.problems
    }
}

/// From the times of a buffer to nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    offset: i64,
    tsc2nsec: Option<(u32, u32, u64)>,
}

impl Times {
    fn ns(self, ts: u64) -> u64 {
        let ts = match self.tsc2nsec {
            Some((mult, shift, offset)) => {
                let ns = (u128::from(ts.saturating_sub(offset)) * u128::from(mult)) >> shift;
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
            None => ts,
        };
        ts.saturating_add_signed(self.offset)
    }
}

/// Where the records of a page go.
struct Sink<'a> {
    plans: &'a mut Plans,
    dictionary: &'a mut Dictionary,
    order: &'a mut Order,
    problems: &'a mut Problems,
    owner: &'a mut Option<usize>,
    /// Number, buffer and CPU.
    stream: (usize, usize, Cpu),
    times: Times,
}

impl Sink<'_> {
    /// Takes a page's records; the time of its last one, ns.
    fn page(&mut self, format: &PageFormat, page: &[u8], offset: u64) -> u64 {
        let Some(opened) = format.open(page) else {
            self.problems.add(ProblemKind::Truncated, || format!("byte {offset}: a page that is not whole; skipped"));
            return 0;
        };
        if let Some(missed) = opened.missed {
            self.lost(opened.ts, missed);
        }
        let (mut last, mut records) = (opened.ts, opened.records());
        for (ts, raw) in records.by_ref() {
            last = ts;
            self.record(self.times.ns(ts), raw, offset);
        }
        if records.broken {
            self.problems.add(ProblemKind::BadRecord, || {
                format!("byte {offset}: a page with a record that cannot be; the rest of the page was skipped")
            });
            self.lost(last, 0);
        }
        self.times.ns(last)
    }

    /// What other buffers lose falsifies nothing about tasks.
    fn lost(&mut self, ts: u64, lost: u64) {
        let (number, buffer, cpu) = self.stream;
        if self.owner.is_none_or(|owner| owner == buffer) {
            self.order.lost_in(number, cpu, self.times.ns(ts), lost, self.problems);
        }
    }

    fn record(&mut self, ts: u64, raw: &[u8], offset: u64) {
        let (number, buffer, cpu) = self.stream;
        let Some(entry) = self.plans.entry(raw) else {
            self.problems
                .add(ProblemKind::UnknownEvent, || format!("byte {offset}: a record of an event without a format"));
            return;
        };
        entry.records += 1;
        let Some((kind, plan)) = &entry.plan else { return };
        if kind.is_of_tasks() && *self.owner.get_or_insert(buffer) != buffer {
            self.problems.add(ProblemKind::Recording, || {
                "several buffers hold scheduler events; those of the first are read".into()
            });
            return;
        }
        match plan.decode(raw, self.dictionary) {
            Ok(what) => self.order.push_in(number, Event { ts, cpu, what }, self.problems),
            Err(Refused::NoWakeup) => {}
            Err(Refused::Short) => self.problems.add(ProblemKind::BadRecord, || {
                format!("byte {offset}: a record that is shorter than its format says; skipped")
            }),
            Err(Refused::Number) => self.problems.add(ProblemKind::ImpossibleNumber, || {
                format!("byte {offset}: a CPU or thread number that no machine has; skipped")
            }),
        }
    }
}

impl Plans {
    fn new(header: &Header, wanted: Kinds, dictionary: &mut Dictionary, problems: &mut Problems) -> Self {
        let mut plans = Self { big_endian: header.tracing.big_endian, by_id: Vec::new() };
        for format in &header.tracing.formats {
            let kind = Kind::of(&format.system, &format.name).filter(|kind| wanted.has(*kind));
            if kind == Some(Kind::SchedSwitch) {
                match StateBits::parse(&format.print_fmt) {
                    Some(bits) => dictionary.states = PrevStates::new(bits),
                    None => problems.add(ProblemKind::GuessedStates, || {
                        "the format of sched_switch does not say what prev_state means; its letters are guessed".into()
                    }),
                }
            }
            let plan = kind.and_then(|kind| match Plan::new(kind, format, plans.big_endian) {
                Ok(plan) => Some((kind, plan)),
                Err(why) => {
                    problems.add(ProblemKind::OtherLayout, || format!("{why}; its events are skipped"));
                    None
                }
            });
            let id = usize::from(format.id);
            if id >= plans.by_id.len() {
                plans.by_id.resize_with(id + 1, || None);
            }
            plans.by_id[id] = Some(Entry { name: format!("{}:{}", format.system, format.name), plan, records: 0 });
        }
        plans
    }

    #[inline]
    fn entry(&mut self, raw: &[u8]) -> Option<&mut Entry> {
        let id: [u8; 2] = raw.get(..2)?.try_into().ok()?;
        let id = if self.big_endian { u16::from_be_bytes(id) } else { u16::from_le_bytes(id) };
        self.by_id.get_mut(usize::from(id))?.as_mut()
    }

    /// The kinds that are wanted and have a format; whether they occur is seen only by reading.
    fn kinds(&self) -> Kinds {
        let kinds: Vec<Kind> = self.by_id.iter().flatten().filter_map(|e| e.plan.as_ref().map(|p| p.0)).collect();
        Kinds::of(&kinds)
    }

    fn counts(&self) -> Vec<(String, u64)> {
        let counted = self.by_id.iter().flatten().filter(|entry| entry.records > 0);
        counted.map(|entry| (entry.name.clone(), entry.records)).collect()
    }
}
