//! Text traces: `trace` and `trace_pipe` of tracefs, `trace-cmd report` (raw fields or its plugins' wording), systrace
//! HTML, and `perf script`. Lines come in the order of time; lines that are not events are skipped.

mod ends;
mod finish;
mod lacks;
mod letters;
mod line;
mod read_payload;
mod shape;
#[cfg(test)]
mod tests;
mod write_payload;
pub(crate) mod writer;

use crate::bytes::Input;
use crate::cpus::Cpus;
use crate::event::{Cpu, Event, What};
use crate::info::{Origin, TraceInfo};
use crate::kind::{Kind, Kinds};
use crate::order::{Merging, Order};
use crate::pieces::Helper;
use crate::problem::{ProblemKind, Problems};
use crate::reader::TraceSource;
use crate::record_decoder::Dictionary;
use crate::section::Window;
use crate::wrapped::Failed;
use crate::{ByteSource, TraceError};
use ends::Ends;
use lacks::Lacks;
use letters::Letters;
use line::{Line, Said};
use memchr::{memchr, memchr_iter, memrchr};
use read_payload::Unread;
use std::sync::Arc;
pub(crate) use write_payload::payload_of;
#[cfg(test)]
pub(crate) use write_payload::pieces;

/// How long an event may be held back, so that a gap that is found later is marked where it began.
const HELD_NS: u64 = 1_000_000_000;

/// A text trace that is being read.
pub(crate) struct Text {
    input: Arc<Input>,
    window: Window,
    wanted: Kinds,
    dictionary: Dictionary,
    order: Order,
    problems: Problems,
    /// Number of events by name; bounded, because any word may be in the place of a name.
    events: Vec<(String, u64)>,
    kinds: Kinds,
    cpus: Cpus,
    /// Time of the first event, and of the latest.
    first: Option<u64>,
    now: u64,
    lines: u64,
    ends: Ends,
    letters: Letters,
    lacks: Lacks,
    failed: Option<Failed>,
    /// In the latency format.
    is_latency: bool,
    /// What schedlab converted this trace from.
    origin: Option<Origin>,
    /// The first event with a count in place of a time, and how many there were.
    untimed: Option<(u64, String)>,
}

/// Most different events that are counted by name.
const MAX_EVENTS: usize = 4096;

/// The beginnings of texts that may have no event in their first bytes. The last is the frame of `perf script
/// --header`, whose list of events alone may be longer.
const BEGINS: [&str; 7] =
    ["# tracer:", "TRACE:", "<!DOCTYPE html", "<!DOCTYPE HTML", "<html", "cpus=", "# ========\n# captured on"];

/// Whether the first bytes of a file are a text trace: they are one of these beginnings, or one of their lines is an
/// event.
pub(crate) fn recognise(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    BEGINS.iter().any(|b| text.trim_start().starts_with(b))
        || text.lines().any(|l| matches!(Said::parse(l), Said::Event(_) | Said::Untimed(_)))
}

impl Text {
    pub(crate) fn open(file: &str, source: Box<dyn ByteSource>, wanted: Kinds) -> Self {
        let end = source.size().unwrap_or(u64::MAX);
        let input = Arc::new(Input::new(file, source));
        Self {
            window: Window::new(&input, 0, end),
            input,
            wanted,
            dictionary: Dictionary::default(),
            order: Order::of_a_sorted_file(),
            problems: Problems::default(),
            events: Vec::new(),
            kinds: Kinds::default(),
            cpus: Cpus::default(),
            first: None,
            now: 0,
            lines: 0,
            ends: Ends::default(),
            letters: Letters::default(),
            lacks: Lacks::default(),
            failed: None,
            is_latency: false,
            origin: None,
            untimed: None,
        }
    }

    /// Opens a stream that reports why it ended, if it was damaged.
    pub(crate) fn inflated(file: &str, source: Box<dyn ByteSource>, wanted: Kinds, failed: Failed) -> Self {
        Self { failed: Some(failed), ..Self::open(file, source, wanted) }
    }

    /// `may_have_zero`: there is a zero byte among the lines read together with it.
    fn line(&mut self, line: &str, may_have_zero: bool) {
        let had_second = self.ends.second.is_some();
        self.ends.line(line, self.lines);
        if self.ends.second.is_some() && !had_second {
            self.second_trace();
        }
        // The scripts of a page may contain anything.
        let in_page = self.ends.is_html;
        match Said::parse(line) {
            _ if may_have_zero && line::has_zero(line) || !in_page && line::is_overwritten(line) => self.damaged(line),
            Said::Nothing if !in_page && line::is_rest(line) => self.damaged(line),
            Said::Event(line) => {
                self.is_latency |= line.in_us;
                self.event(&line);
            }
            Said::Lost { cpu, lost } => self.order.lost(cpu, self.now, lost, &mut self.problems),
            Said::Started(cpu) => self.order.begins_late(cpu),
            Said::Entries { there, written, online } => self.entries(there, written, online),
            Said::Cpus(cpus) => self.cpus.below = Some(cpus),
            Said::Impossible(number) => self.impossible(number),
            Said::Untimed(count) => {
                let met = self.untimed.get_or_insert_with(|| (0, shown(count)));
                met.0 += 1;
            }
            Said::Damaged => self.damaged(line),
            Said::Nothing => self.note(line),
        }
    }

    /// Several traces one after the other are read as one; what happened between the first two is not known.
    fn second_trace(&mut self) {
        let number = self.lines;
        self.order.lost(Cpu::ANY, self.now, 0, &mut Problems::default());
        self.problems.add(ProblemKind::Lost, || {
            format!("line {number}: another trace begins here; both are read as one, without what happened in between")
        });
    }

    /// What a conversion wrote about its source.
    fn note(&mut self, line: &str) {
        let Some(line) = line.strip_prefix("# ") else { return };
        self.origin = self.origin.take().or_else(|| Origin::parse(line));
        self.problems.take_note(line.trim_end());
    }

    fn damaged(&mut self, line: &str) {
        let (number, words) = (self.lines, shown(line.trim_start()));
        self.problems.add(ProblemKind::BadRecord, || {
            format!("line {number}: `{words}` looks like an event and does not read as one; skipped")
        });
    }

    fn entries(&mut self, there: u64, written: u64, online: Option<u16>) {
        self.ends.announced += there;
        self.cpus.online = online.or(self.cpus.online);
        self.lacks.overwritten += written.saturating_sub(there);
    }

    fn impossible(&mut self, number: &str) {
        let (line, number) = (self.lines, shown(number));
        self.problems.add(ProblemKind::ImpossibleNumber, || {
            format!("line {line}: this machine has no CPU or thread {number}; skipped")
        });
    }

    fn event(&mut self, line: &Line<'_>) {
        self.lacks.has_flags |= line.context.is_some();
        if self.lacks.overwritten > 0 {
            // If the option `annotate` is off, no line marks where a CPU begins.
            self.order.begins_late(line.cpu);
        }
        match self.read(line) {
            Some(what) => self.order.push(Event { ts: line.ts, cpu: line.cpu, what }, &mut self.problems),
            // An event that is not wanted or not understood is still an event of its CPU.
            None => self.order.meet(line.cpu),
        }
    }

    /// The content of a wanted event.
    fn read(&mut self, line: &Line<'_>) -> Option<What> {
        match self.events.iter().position(|(name, _)| name == line.event) {
            Some(at) => self.events[at].1 += 1,
            None if self.events.len() < MAX_EVENTS => self.events.push((line.event.to_owned(), 1)),
            None => {}
        }
        let kind = Kind::of_name(line.event).filter(|kind| self.wanted.has(*kind))?;
        if !self.cpus.has(line.cpu) {
            self.impossible(&line.cpu.0.to_string());
            return None;
        }
        let mut what = read_payload::parse(kind, line, &mut self.dictionary, &mut self.letters);
        if let (Err(Unread::Unlike), Some(payload)) = (&what, read_payload::without_fields(kind, line.payload)) {
            let line = Line { payload: &payload, ..*line };
            what = read_payload::parse(kind, &line, &mut self.dictionary, &mut self.letters);
        }
        let what = match what {
            Ok(what) => what,
            Err(Unread::WokeNobody) => return None,
            Err(Unread::Unlike) => {
                let (number, words) = (self.lines, shown(line.payload));
                self.problems.add(ProblemKind::BadRecord, || {
                    format!(
                        "line {number}: `{words}` does not read as {}, or not in one way only; skipped",
                        kind.name()
                    )
                });
                return None;
            }
        };
        self.kinds = self.kinds.with(kind);
        self.first.get_or_insert(line.ts);
        self.now = self.now.max(line.ts);
        Some(what)
    }
}

impl TraceSource for Text {
    fn helper(&self) -> Option<Helper> {
        self.window.helper()
    }

    fn info(&self) -> TraceInfo {
        let clock = if self.is_latency {
            "of the recording, in whole µs since the ring's first event"
        } else {
            "of the recording, which a text trace does not name"
        };
        let origin = self.origin.clone().unwrap_or_else(|| Origin { release: String::new(), clock: clock.to_owned() });
        TraceInfo {
            format: "ftrace text",
            clock: origin.clock,
            release: origin.release,
            kinds: self.kinds,
            events: self.events.clone(),
            ..TraceInfo::default()
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

impl Merging for Text {
    fn order(&mut self) -> &mut Order {
        &mut self.order
    }

    /// Reads the lines of one buffer.
    fn advance(&mut self) -> Result<(), TraceError> {
        let more = self.window.fill()?;
        let bytes = self.window.bytes();
        let whole = match memrchr(b'\n', bytes) {
            Some(at) => at + 1,
            // The last line may have no newline; a line that fills the buffer is not an event.
            None => bytes.len(),
        };
        let text = bytes[..whole].to_vec();
        self.window.consume(whole);
        // For all lines at once, which costs less than for each.
        let valid = std::str::from_utf8(&text).ok();
        let has_zero = memchr(0, &text).is_some();
        let ends = memchr_iter(b'\n', &text).chain([text.len()]);
        let cut = |from: &mut usize, end: usize| Some(std::mem::replace(from, end + 1)..end);
        let mut lines = ends.scan(0, cut).peekable();
        while let Some(line) = lines.next() {
            self.lines += 1;
            // Nothing follows the last newline, except in a file that was cut.
            if lines.peek().is_none() && !more {
                self.unfinished(&text[line]);
                break;
            }
            match valid {
                Some(valid) => self.line(&valid[line], has_zero),
                None => self.line(&String::from_utf8_lossy(&text[line]), has_zero),
            }
        }
        self.lines -= 1;
        // In a full ring each CPU begins at its own time: until the last one has begun, nothing is known about what
        // other threads did there.
        if !(self.lacks.overwritten > 0 && self.cpus.lack_some()) {
            self.order.release(self.now.saturating_sub(HELD_NS), &mut self.problems);
        }
        self.order.relieve(&mut self.problems);
        if !more {
            self.finish()?;
        }
        Ok(())
    }
}

/// A payload in the form for a message.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect()
}
