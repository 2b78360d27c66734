//! Text traces: `trace` and `trace_pipe` of tracefs, `trace-cmd report` (raw fields or its plugins' words), systrace
//! HTML, and `perf script`. Lines come in the order of time; what is no event line is passed over.

mod line;
mod payload;
#[cfg(test)]
mod tests;

use crate::bytes::{Input, Window};
use crate::event::Event;
use crate::fields::Dictionary;
use crate::info::TraceInfo;
use crate::kind::{Kind, Kinds};
use crate::names::Names;
use crate::order::Order;
use crate::prev_state::PrevStates;
use crate::problem::{ProblemKind, Problems};
use crate::{ByteSource, TraceError};
use line::{Line, Said};

/// How long an event may be held back, so that a gap that is found later is marked where it began.
const HELD_NS: u64 = 1_000_000_000;

/// A text trace that is being read.
pub(crate) struct Text {
    input: Input,
    window: Window,
    wanted: Kinds,
    dictionary: Dictionary,
    order: Order,
    problems: Problems,
    /// Events by name, with their number; bounded, since any word may stand there.
    events: Vec<(String, u64)>,
    kinds: Kinds,
    /// Of the last event.
    now: u64,
    lines: u64,
    done: bool,
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
        Self {
            input: Input::new(file, source),
            window: Window::new(0, end),
            wanted,
            dictionary: Dictionary::default(),
            order: Order::default(),
            problems: Problems::default(),
            events: Vec::new(),
            kinds: Kinds::default(),
            now: 0,
            lines: 0,
            done: false,
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

    /// Reads the lines of one buffer.
    fn advance(&mut self) -> Result<(), TraceError> {
        let more = self.window.fill(&self.input)?;
        let bytes = self.window.bytes();
        let whole = match bytes.iter().rposition(|b| *b == b'\n') {
            Some(at) => at + 1,
            // The last line may have no end; one that fills the buffer is no event.
            None => bytes.len(),
        };
        let text = bytes[..whole].to_vec();
        self.window.consume(whole);
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
            self.done = true;
            if self.kinds == Kinds::default() {
                let has: Vec<&str> = self.events.iter().map(|e| e.0.as_str()).take(5).collect();
                let has = if has.is_empty() { "none of its lines is an event".into() } else { has.join(", ") };
                return Err(TraceError::NoSchedEvents { file: self.input.file.clone(), has });
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) {
        match Said::parse(line) {
            Said::Event(line) => self.event(&line),
            Said::Lost { cpu, lost } => self.order.lost(cpu, self.now, lost, &mut self.problems),
            Said::Overwritten(gone) => self.problems.add_many(ProblemKind::Recording, gone, || {
                "the ring was full: older events were overwritten before the trace begins".into()
            }),
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
        self.now = self.now.max(line.ts);
        self.order.push(Event { ts: line.ts, cpu: line.cpu, what }, &mut self.problems);
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

/// A state by number; 0, 1 and 2 mean the same in all kernels.
fn bare_state(payload: &str) -> bool {
    let state = payload.split_once("prev_state=").and_then(|(_, rest)| rest.split_whitespace().next());
    state.is_some_and(|s| s.len() > 1 && s.starts_with(|c: char| c.is_ascii_digit()))
}

/// A payload as a message shows it.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect()
}
