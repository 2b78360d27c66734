//! Who listens to a guest while it runs.

use crate::output::say;
use schedlab_run::units::format_ns;
use schedlab_sys::interrupt::Interrupt;
use schedlab_vm::{Events, Stage};
use std::io::Write;
use std::time::Duration;

/// The terminal as a listener: the command's output as if it ran here, the rest on standard error.
pub(super) struct Screen {
    pub(super) interrupt: Interrupt,
    /// Whether its console is shown, too.
    pub(super) verbose: bool,
}

/// A reader who has left must not end the guest.
fn write_all(mut to: impl Write, bytes: &[u8]) {
    let _ = to.write_all(bytes).and_then(|()| to.flush());
}

/// Listens to a guest of which only the answer matters.
pub(super) struct Quiet {
    interrupt: Option<Interrupt>,
    /// Whether an interrupt counts by now.
    heeds: bool,
}

impl Quiet {
    /// Ctrl-C lets it end, as it lets a trial end.
    pub(super) fn deaf() -> Self {
        Self { interrupt: None, heeds: false }
    }

    /// Ctrl-C ends it.
    pub(super) fn at_once(interrupt: Interrupt) -> Self {
        Self { interrupt: Some(interrupt), heeds: true }
    }

    /// Ctrl-C ends it once it has sent something to keep: a trial of it at least is then a trial.
    pub(super) fn with_something_kept(interrupt: Interrupt) -> Self {
        Self { interrupt: Some(interrupt), heeds: false }
    }
}

impl Events for Quiet {
    fn stage(&mut self, stage: Stage) {
        match stage {
            Stage::Kept => self.heeds = true,
            Stage::ToldToEnd => say("schedlab: the guest ends when the trial in progress does"),
            _ => {}
        }
    }
    fn stdout(&mut self, _bytes: &[u8]) {}
    fn stderr(&mut self, bytes: &[u8]) {
        write_all(std::io::stderr(), bytes);
    }
    fn note(&mut self, text: &str) {
        say(format_args!("schedlab: {text}"));
    }
    fn console(&mut self, _bytes: &[u8]) {}
    fn interrupted(&self) -> bool {
        self.heeds && self.interrupt.is_some_and(Interrupt::requested)
    }
    fn insisted(&self) -> bool {
        self.heeds && self.interrupt.is_some_and(Interrupt::insisted)
    }
}

/// To a tenth of a second.
fn rounded(time: Duration) -> String {
    format_ns(time.as_millis() as u64 / 100 * 100_000_000)
}

impl Events for Screen {
    fn stage(&mut self, stage: Stage) {
        match stage {
            Stage::Starting => say("schedlab: starting the guest"),
            Stage::Kept => {}
            Stage::ToldToEnd => {
                say("schedlab: telling the guest's command to end; once more ends the guest at once");
            }
            Stage::Up(release, after) => {
                say(format_args!("schedlab: the guest is up: {release}, after {}", rounded(after)));
            }
            Stage::Ended(code, after) => {
                let after = rounded(after);
                say(format_args!("schedlab: the guest's command ended with {code}, {after} after its start"));
            }
        }
    }
    fn stdout(&mut self, bytes: &[u8]) {
        write_all(std::io::stdout(), bytes);
    }
    fn stderr(&mut self, bytes: &[u8]) {
        write_all(std::io::stderr(), bytes);
    }
    fn note(&mut self, text: &str) {
        say(format_args!("schedlab: {text}"));
    }
    fn console(&mut self, bytes: &[u8]) {
        if self.verbose {
            write_all(std::io::stderr(), bytes);
        }
    }
    fn interrupted(&self) -> bool {
        self.interrupt.requested()
    }
    fn insisted(&self) -> bool {
        self.interrupt.insisted()
    }
}
