//! The files of `perf record --threads`: `data` describes what was recorded, and what each of perf's threads read is in
//! a separate file, data.0 and so on, without a header or ends of rounds
//! (tools/perf/Documentation/perf.data-directory-format.txt).
//!
//! A file with one CPU is in order, so such files are read in parallel: always the one that is furthest behind. If a
//! thread read several CPUs, nothing shows up to which time their events are complete, so everything is held back, up
//! to the limit in `order.rs`.

use super::inflate::Inflate;
use super::records::{Records, Step};
use crate::bytes::Input;
use crate::order::SWAPPED_NS;
use crate::pieces::PIECE;
use crate::problem::ProblemKind;
use crate::{ByteSource, TraceError};

/// The files beside `data`.
pub(super) struct Parts {
    all: Vec<Part>,
    /// A piece of whichever is read on.
    buffer: Vec<u8>,
    /// `data` was read to its end.
    pub(super) have_begun: bool,
}

struct Part {
    input: Input,
    at: u64,
    /// The decompressor for its compressed records, which are a separate stream.
    inflate: Option<Box<Inflate>>,
    /// Time of its latest event, ns.
    reached: u64,
    ended: bool,
}

impl Parts {
    pub(super) fn new(file: &str, sources: Vec<Box<dyn ByteSource>>) -> Self {
        let part = |(number, source)| Part {
            input: Input::new(&format!("{file}/data.{number}"), source),
            at: 0,
            inflate: None,
            reached: 0,
            ended: false,
        };
        Self { all: sources.into_iter().enumerate().map(part).collect(), buffer: vec![0; PIECE], have_begun: false }
    }

    /// Reads a piece of the file that is furthest behind, and releases events that no file can precede; false at the
    /// end of all files.
    pub(super) fn advance(&mut self, records: &mut Records) -> Result<bool, TraceError> {
        let behind = self.all.iter().enumerate().filter(|(_, part)| !part.ended).min_by_key(|(_, part)| part.reached);
        let Some((number, _)) = behind else {
            report_unseen(records);
            return Ok(false);
        };
        let known = records.problems.met();
        self.all[number].read_on(records, &mut self.buffer)?;
        records.problems.report_where(known, &format!("data.{number}: "));
        let cpus = records.coverage.cpus().count();
        let reached = self.all.iter().filter(|part| !part.ended).map(|part| part.reached).min();
        if let Some(reached) = reached.filter(|_| (1..=self.all.len()).contains(&cpus)) {
            // Neighbouring events of one CPU may be swapped.
            records.order.release(reached.saturating_sub(SWAPPED_NS), &mut records.problems);
        }
        records.order.relieve(&mut records.problems);
        Ok(true)
    }
}

/// Reports CPUs whose file may be missing.
fn report_unseen(records: &mut Records) {
    let Records { coverage, order, problems, .. } = records;
    for cpu in coverage.cpus().filter(|cpu| !order.has_seen(*cpu)) {
        problems.add(ProblemKind::Recording, || {
            format!("no file has an event of CPU {}, which was recorded: is one of them missing?", cpu.0)
        });
    }
}

impl Part {
    fn read_on(&mut self, records: &mut Records, buffer: &mut [u8]) -> Result<(), TraceError> {
        let filled = self.input.read(self.at, buffer)?;
        let bytes = &buffer[..filled];
        std::mem::swap(&mut self.inflate, &mut records.inflate);
        let latest = records.order.replace_latest(self.reached);
        let mut at = 0;
        self.ended = loop {
            let offset = self.at + at as u64;
            let (read, step) = records.read(&bytes[at..], offset);
            at += read;
            match step {
                Step::More => break filled < buffer.len(),
                Step::Stop => break true,
                Step::Round => {}
                Step::Skip(more) => {
                    let more = usize::try_from(more).unwrap_or(usize::MAX);
                    let here = more.min(filled - at);
                    (at, self.at) = (at + here, self.at.saturating_add((more - here) as u64));
                }
                Step::Header(_) => records.problems.add(ProblemKind::BadRecord, || {
                    format!("byte {offset}: a record of a stream's header, where there is none; skipped")
                }),
            }
        };
        self.at = self.at.saturating_add(at as u64);
        if self.ended {
            if filled > at {
                let left = filled - at;
                records.problems.add(ProblemKind::Truncated, || {
                    format!("byte {}: the records end inside one, of which {left} bytes are there", self.at)
                });
            }
            records.end_of_stream();
        }
        self.reached = records.order.latest();
        records.order.replace_latest(latest.max(self.reached));
        std::mem::swap(&mut self.inflate, &mut records.inflate);
        Ok(())
    }
}
