//! Findings of traces in print.

mod check;
mod latency;
mod perf_latency;
mod states;
mod timehist;

pub use check::trace_check_text;
pub use latency::trace_latency_text;
pub use perf_latency::perf_latency_text;
pub use states::trace_states_text;
pub use timehist::{timehist_header, timehist_line};

use crate::escape::terminal;
use crate::table::{Table, paint, wrap};
use schedlab_analyze::trace::TraceFacts;
use schedlab_run::counted;
use std::io::{self, Write};

/// Where a page goes and how wide it is.
pub(super) struct Page<'w> {
    out: &'w mut dyn Write,
    width: usize,
    colour: bool,
}

impl<'w> Page<'w> {
    pub(super) fn new(out: &'w mut dyn Write, width: usize, colour: bool) -> Self {
        Self { out, width: width.clamp(60, 240), colour }
    }

    pub(super) fn heading(&mut self, text: &str) -> io::Result<()> {
        let code = self.colour.then_some("1");
        for line in wrap(&terminal(text), self.width) {
            writeln!(self.out, "{}", paint(&line, code))?;
        }
        Ok(())
    }

    pub(super) fn paragraph(&mut self, lead: &str, text: &str) -> io::Result<()> {
        let indent = crate::table::width(lead);
        for (at, line) in wrap(&terminal(text), self.width.saturating_sub(indent)).iter().enumerate() {
            let lead = if at == 0 { lead.to_owned() } else { " ".repeat(indent) };
            writeln!(self.out, "{lead}{line}")?;
        }
        Ok(())
    }

    pub(super) fn table(&mut self, table: &Table) -> io::Result<()> {
        let mut table = table.clone();
        table.rows.iter_mut().flatten().for_each(|cell| cell.text = terminal(&cell.text));
        for line in table.lines(self.width.saturating_sub(2), self.colour) {
            writeln!(self.out, "  {line}")?;
        }
        Ok(())
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Where the trace is from.
    pub(super) fn origin(&mut self, trace: &TraceFacts) -> io::Result<()> {
        let mut text = trace.format.clone();
        let mut add = |before: &str, what: &str| {
            if !what.is_empty() {
                text += &format!("{before}{what}");
            }
        };
        add(" of ", &trace.hostname);
        add(", kernel ", &trace.release);
        add(" ", &trace.arch);
        add(", by ", &trace.recorder);
        add("; clock: ", &trace.clock);
        let length = crate::number::quantity(trace.length_s, "s");
        self.paragraph("", &format!("{text}; {length}, {}", counted(trace.events, "events")))
    }

    /// What the reader of the findings must know of the trace.
    pub(super) fn remarks(&mut self, trace: &TraceFacts) -> io::Result<()> {
        let mut told = |count: u64, text: &str| match count {
            0 => Ok(()),
            n => self.paragraph("  - ", &format!("{} {text}", crate::number::count(n))),
        };
        told(trace.repaired_wakings, "wakings came before the switch-out that they ended; those waits begin there")?;
        told(trace.cancelled_sleeps, "wakings found their thread not asleep yet, and it did not sleep")?;
        told(trace.unseen_wakings, "times a thread was switched in after a sleep whose waking is not in the trace")?;
        told(trace.gaps, "stretches of some CPU have missing events; waits that overlap them are censored")?;
        for problem in &trace.problems {
            self.paragraph("  ! ", problem)?;
        }
        Ok(())
    }
}
