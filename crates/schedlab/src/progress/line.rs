//! The last line of a terminal, which is rewritten; messages are printed above it.

use crate::output::say;
use schedlab_sys::terminal;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Minimum time between updates: a trial may take a millisecond.
const PACE: Duration = Duration::from_millis(100);

/// Moves to the first column and clears the rest of the line (ECMA-48, EL).
const CLEAR: &str = "\r\x1b[K";

/// The line and whether there is a terminal for it.
pub(super) struct Line {
    pub(super) terminal: bool,
    began: Instant,
    drawn: Option<Instant>,
    text: String,
}

impl Line {
    /// On standard error, unless that is a log or a terminal that cannot clear a line.
    pub(super) fn new() -> Self {
        let terminal = stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { terminal, began: Instant::now(), drawn: None, text: String::new() }
    }

    /// Prints a line that stays.
    pub(super) fn say(&mut self, line: &str) {
        self.clear();
        say(line);
        self.draw();
    }

    /// Sets the text of the line, without control sequences.
    pub(super) fn set(&mut self, text: String) {
        self.text = text;
        self.tick();
    }

    /// Updates the time.
    pub(super) fn tick(&mut self) {
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= PACE) {
            self.draw();
        }
    }

    fn draw(&mut self) {
        if self.terminal && !self.text.is_empty() {
            let columns = terminal::columns(stderr()).map_or(80, usize::from);
            let shown = shown(self.began.elapsed(), &self.text, columns);
            // As for all messages, a closed standard error does not end a run.
            let _ = write!(stderr(), "{CLEAR}{shown}");
            self.drawn = Some(Instant::now());
        }
    }

    /// Removes the line.
    pub(super) fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let _ = write!(stderr(), "{CLEAR}");
        }
    }
}

/// What fits before the last column, because wrapping would leave the first half of the line behind.
fn shown(elapsed: Duration, text: &str, columns: usize) -> String {
    let s = elapsed.as_secs();
    let whole = format!("[{:02}:{:02}:{:02}] {text}", s / 3600, s / 60 % 60, s % 60);
    whole.chars().take(columns.saturating_sub(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_never_wraps() {
        let time = Duration::from_secs(3723);
        assert_eq!(shown(time, "pipe: block 5 of 14", 80), "[01:02:03] pipe: block 5 of 14");
        assert_eq!(shown(time, "pipe: block 5 of 14", 20), "[01:02:03] pipe: bl");
        assert_eq!(shown(time, "pipe", 0), "");
    }
}
