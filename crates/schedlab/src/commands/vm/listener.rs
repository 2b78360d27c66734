//! Receives the output of a running guest. A guest is not trusted: its output is printed without control sequences.

use crate::output::say;
use schedlab_plan::plain::{Plain, line};
use schedlab_plan::units::format_ns;
use schedlab_sys::interrupt::Interrupt;
use schedlab_vm::{Events, Stage};
use std::io::{Stderr, Stdout, Write};
use std::time::Duration;

/// Shows the command's output as if it ran here, and everything else on standard error.
pub(super) struct Screen {
    interrupt: Interrupt,
    /// Whether the guest's console is shown, too.
    verbose: bool,
    stdout: Plain<Stdout>,
    stderr: Plain<Stderr>,
    console: Plain<Stderr>,
}

impl Screen {
    pub(super) fn new(interrupt: Interrupt, verbose: bool) -> Self {
        let stderr = || Plain::new(std::io::stderr(), false);
        Self { interrupt, verbose, stdout: Plain::new(std::io::stdout(), false), stderr: stderr(), console: stderr() }
    }
}

/// Ignores errors: a closed pipe must not end the guest.
fn write_all(mut to: impl Write, bytes: &[u8]) {
    let _ = to.write_all(bytes).and_then(|()| to.flush());
}

/// Shows nothing: for a guest whose result only is needed.
pub(super) struct Quiet {
    interrupt: Option<Interrupt>,
    stderr: Plain<Stderr>,
    /// Whether an interrupt ends the guest by now.
    heeds: bool,
}

impl Quiet {
    fn new(interrupt: Option<Interrupt>, heeds: bool) -> Self {
        Self { interrupt, stderr: Plain::new(std::io::stderr(), false), heeds }
    }

    /// On Ctrl-C the guest still runs to its end, like a trial.
    pub(super) fn deaf() -> Self {
        Self::new(None, false)
    }

    /// Ctrl-C ends the guest.
    pub(super) fn at_once(interrupt: Interrupt) -> Self {
        Self::new(Some(interrupt), true)
    }

    /// Ctrl-C ends the guest once it has sent something to keep, so that at least one trial is complete.
    pub(super) fn with_something_kept(interrupt: Interrupt) -> Self {
        Self::new(Some(interrupt), false)
    }
}

impl Events for Quiet {
    fn stage(&mut self, stage: Stage) {
        match stage {
            Stage::Kept => self.heeds = true,
            Stage::EndRequested => say("schedlab: the guest ends when the trial in progress does"),
            _ => {}
        }
    }
    fn stdout(&mut self, _bytes: &[u8]) {}
    fn stderr(&mut self, bytes: &[u8]) {
        write_all(&mut self.stderr, bytes);
    }
    fn note(&mut self, text: &str) {
        say(format_args!("schedlab: {}", line(text)));
    }
    fn console(&mut self, _bytes: &[u8]) {}
    fn interrupted(&self) -> bool {
        self.heeds && self.interrupt.is_some_and(Interrupt::requested)
    }
    fn insisted(&self) -> bool {
        self.heeds && self.interrupt.is_some_and(Interrupt::insisted)
    }
}

/// Rounded to a tenth of a second.
fn rounded(time: Duration) -> String {
    format_ns(time.as_millis() as u64 / 100 * 100_000_000)
}

impl Events for Screen {
    fn stage(&mut self, stage: Stage) {
        match stage {
            Stage::Starting => say("schedlab: starting the guest"),
            Stage::Kept => {}
            Stage::EndRequested => {
                say("schedlab: asking the guest's command to end; Ctrl-C again ends the guest at once");
            }
            Stage::Up(release, after) => {
                let release = line(&release);
                say(format_args!("schedlab: the guest is up: {release}, after {}", rounded(after)));
            }
            Stage::Ended(code, after) => {
                let after = rounded(after);
                say(format_args!("schedlab: the guest's command ended with {code}, {after} after its start"));
            }
        }
    }
    fn stdout(&mut self, bytes: &[u8]) {
        write_all(&mut self.stdout, bytes);
    }
    fn stderr(&mut self, bytes: &[u8]) {
        write_all(&mut self.stderr, bytes);
    }
    fn note(&mut self, text: &str) {
        say(format_args!("schedlab: {}", line(text)));
    }
    fn console(&mut self, bytes: &[u8]) {
        if self.verbose {
            write_all(&mut self.console, bytes);
        }
    }
    fn interrupted(&self) -> bool {
        self.interrupt.requested()
    }
    fn insisted(&self) -> bool {
        self.interrupt.insisted()
    }
}
