//! Text traces: `trace` and `trace_pipe` of tracefs, `trace-cmd report` (raw fields or its plugins' words), systrace
//! HTML, and `perf script`. Lines come in the order of time; what is no event line is passed over.

mod line;
mod payload;
mod print;
#[cfg(test)]
mod tests;
pub(crate) mod writer;

use crate::bytes::Input;
use crate::event::Event;
use crate::fields::Dictionary;
use crate::info::TraceInfo;
use crate::kind::{Kind, Kinds};
use crate::order::{Merging, Order};
use crate::pieces::Helper;
use crate::problem::{ProblemKind, Problems};
use crate::section::Window;
use crate::{ByteSource, TraceError};
use line::{Line, Said};
pub(crate) use print::payload_of;
use std::sync::Arc;

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
    /// Events by name, with their number; bounded, since any word may stand there.
    events: Vec<(String, u64)>,
    kinds: Kinds,
    /// Of the first event, and of the latest.
    first: Option<u64>,
    now: u64,
    lines: u64,
}

/// Different events that are counted by name.
const MOST_EVENTS: usize = 4096;

/// Whether the first bytes of a file are a text trace: they say so, or one of their lines is an event.
pub(crate) fn recognise(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let begins = ["# tracer:", "TRACE:", "<!DOCTYPE html", "<!DOCTYPE HTML", "<html", "cpus="];
    begins.iter().any(|b| text.trim_start().starts_with(b))
        || text.lines().any(|l| matches!(Said::parse(l), Said::Event(_)))
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
            first: None,
            now: 0,
            lines: 0,
        }
    }

    fn line(&mut self, line: &str) {
        match Said::parse(line) {
            Said::Event(line) => self.event(&line),
            Said::Lost { cpu, lost } => self.order.lost(cpu, self.now, lost, &mut self.problems),
            Said::Started(cpu) => self.order.begins_late(cpu, self.first.unwrap_or(self.now)),
            Said::Overwritten(gone) => self.problems.add_many(ProblemKind::Recording, gone, || {
                "the ring was full: older events were overwritten, before the trace begins or before a CPU's first event".into()
            }),
            Said::Impossible(number) => {
                let (line, number) = (self.lines, shown(number));
                self.problems.add(ProblemKind::ImpossibleNumber, || {
                    format!("line {line}: no machine has a CPU or a thread {number}; skipped")
                });
            }
            Said::Nothing => {}
        }
    }

    fn event(&mut self, line: &Line<'_>) {
        match self.events.iter().position(|(name, _)| name == line.event) {
            Some(at) => self.events[at].1 += 1,
            None if self.events.len() < MOST_EVENTS => self.events.push((line.event.to_owned(), 1)),
            None => {}
        }
        let Some(kind) = Kind::of_name(line.event).filter(|kind| self.wanted.has(*kind)) else { return };
        let Some(what) = payload::parse(kind, line, &mut self.dictionary) else {
            // A wakeup of an old kernel that woke nobody is none.
            if !line.payload.contains("success=0") {
                let number = self.lines;
                self.problems.add(ProblemKind::BadRecord, || {
                    format!("line {number}: `{}` does not read as {}; skipped", shown(line.payload), kind.name())
                });
            }
            return;
        };
        if kind == Kind::SchedSwitch && bare_state(line.payload) {
            self.problems.add(ProblemKind::GuessedStates, || {
                "prev_state is a bare number whose letters differ between kernels; they are guessed".into()
            });
        }
        self.kinds = self.kinds.with(kind);
        self.first.get_or_insert(line.ts);
        self.now = self.now.max(line.ts);
        self.order.push(Event { ts: line.ts, cpu: line.cpu, what }, &mut self.problems);
    }

    pub(crate) fn helper(&self) -> Option<Helper> {
        self.window.helper()
    }

    pub(crate) fn info(&self) -> TraceInfo {
        TraceInfo {
            format: "ftrace text",
            clock: "of the recording; a text trace does not say".into(),
            kinds: self.kinds,
            events: self.events.clone(),
            ..TraceInfo::default()
        }
    }

    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    pub(crate) fn problems(&self) -> &Problems {
        &self.problems
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
        let whole = match bytes.iter().rposition(|b| *b == b'\n') {
            Some(at) => at + 1,
            // The last line may have no end; one that fills the buffer is no event.
            None => bytes.len(),
        };
        let text = bytes[..whole].to_vec();
        self.window.consume(whole);
        let last = text.rsplit(|b| *b == b'\n').next().unwrap_or_default();
        if !more && !last.is_empty() && Said::parse(&String::from_utf8_lossy(last)) == Said::Nothing {
            let bytes = last.len();
            self.problems.add(ProblemKind::Truncated, || {
                format!("the trace ends inside a line, of which {bytes} bytes are there")
            });
        }
        for line in text.split(|b| *b == b'\n') {
            self.lines += 1;
            match std::str::from_utf8(line) {
                Ok(line) => self.line(line),
                Err(_) => self.line(&String::from_utf8_lossy(line)),
            }
        }
        self.lines -= 1;
        self.order.release(self.now.saturating_sub(HELD_NS));
        self.order.relieve(&mut self.problems);
        if !more {
            self.order.finish();
            if self.kinds == Kinds::default() {
                let has: Vec<&str> = self.events.iter().map(|e| e.0.as_str()).take(5).collect();
                let has = if has.is_empty() { "none of its lines is an event".into() } else { has.join(", ") };
                return Err(TraceError::NoSchedEvents { file: self.input.file.clone(), has });
            }
        }
        Ok(())
    }
}

/// A state by number; 0, 1 and 2 mean the same in all kernels.
fn bare_state(payload: &str) -> bool {
    let state = payload.split_once("prev_state=").and_then(|(_, rest)| rest.split_whitespace().next());
    state.is_some_and(|s| s.len() > 1 && s.starts_with(|c: char| c.is_ascii_digit()))
}

/// A payload as a message shows it.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect()
}
