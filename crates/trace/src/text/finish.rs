//! The end of a text: what becomes known only there.

use super::Text;
use crate::TraceError;
use crate::clock;
use crate::kind::{Kind, Kinds};
use crate::problem::ProblemKind;
use crate::wrapped::Failed;

impl Text {
    /// A last line without a newline: it is not known where it was cut, so its numbers are not trusted.
    pub(super) fn unfinished(&mut self, line: &[u8]) {
        // Most recorders pad their lines in front, so spaces are also the beginning of a line.
        let line_end = line.trim_ascii_end();
        let closes = self.ends.is_html && (line_end.is_empty() || line_end.ends_with(b">"));
        if line.is_empty() || closes {
            return self.line(&String::from_utf8_lossy(line), true);
        }
        let (number, bytes) = (self.lines, line.len());
        self.problems.add(ProblemKind::Truncated, || {
            format!("line {number}: the trace ends inside a line, of which {bytes} bytes are there; skipped")
        });
    }

    /// Events whose name differs from a known one by one letter: no kernel has such events, but a damaged file may.
    fn report_misspelt(&mut self) {
        for (name, count) in &self.events {
            // Including the system before it, because the colon between them may be the damaged letter.
            let differs_by_one = |known: &mut dyn Iterator<Item = char>| {
                let mut letters = name.chars();
                let differ = known.filter(|known| letters.next() != Some(*known)).take(2).count();
                differ == 1 && letters.next().is_none()
            };
            let is_like = |kind: Kind| {
                differs_by_one(&mut kind.name().chars())
                    || differs_by_one(&mut kind.system().chars().chain([':']).chain(kind.name().chars()))
            };
            if let Some(kind) = self.wanted.iter().find(|kind| is_like(*kind)) {
                self.problems.add_many(ProblemKind::BadRecord, *count, || {
                    format!("an event is called `{name}`, almost as {}; skipped", kind.name())
                });
            }
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        let untimed = self.untimed.take();
        if let (Some((_, count)), true) = (&untimed, self.first.is_none()) {
            let what = format!("its events have counts for times ({count}), of the clock x86-tsc, counter or uptime");
            return Err(self.input.unsupported(0, what, clock::FIX));
        }
        if let Some((met, count)) = untimed {
            self.problems.add_many(ProblemKind::BadRecord, met, || {
                format!("an event has a count for a time ({count}), beside others with times; skipped")
            });
        }
        self.report_misspelt();
        self.letters.report(&mut self.problems);
        self.lacks.report(self.kinds, &self.letters, &mut self.problems);
        if let Some(why) = self.failed.as_ref().and_then(Failed::why) {
            self.problems.add(ProblemKind::SkippedPart, || format!("the compressed text is damaged or cut: {why}"));
        }
        if let Some(why) = self.ends.why_cut() {
            self.problems.add(ProblemKind::Truncated, || why);
        }
        self.order.finish(&mut self.problems);
        let back = self.problems.count(ProblemKind::ClockBack);
        if back > 1 && back > self.events.iter().map(|event| event.1).sum::<u64>() / 4 {
            self.problems.add(ProblemKind::Recording, || {
                format!(
                    "{back} events are earlier than the one before, as where times are differences (`perf script \
                     --deltatime`): print it without that option, or give the perf.data itself"
                )
            });
        }
        if let Some(line) = self.ends.packed {
            if self.kinds == Kinds::default() {
                let what = format!("what line {line} of the page holds is compressed, and no other line is an event");
                let fix = "save the trace of the page as a file of its own (in Chrome's about:tracing), or record with `atrace -z`";
                return Err(self.input.unsupported(0, what, fix));
            }
            self.problems.add(ProblemKind::SkippedPart, || {
                format!("line {line}: data that is compressed inside the page was not read; it may hold events")
            });
        }
        if self.events.is_empty() && self.ends.has_lines_of_ftrace() {
            let what = "the header is that of ftrace, and none of the lines after it is an event";
            let fix =
                "turn off the trace options raw, hex and bin (`echo noraw > trace_options`) and read the trace again";
            return Err(self.input.unsupported(0, what, fix));
        }
        if self.kinds == Kinds::default() {
            let has: Vec<&str> = self.events.iter().map(|e| e.0.as_str()).take(5).collect();
            let has = match self.problems.count(ProblemKind::BadRecord) {
                _ if has.is_empty() => "none of its lines is an event".into(),
                0 => has.join(", "),
                unread => format!("{}; {unread} lines are called like one and do not read as one", has.join(", ")),
            };
            return Err(TraceError::NoSchedEvents { file: self.input.file.clone(), has });
        }
        Ok(())
    }
}
