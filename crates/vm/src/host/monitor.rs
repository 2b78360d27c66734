//! QEMU's monitor on its standard input and output: QMP, one JSON object per line. Source: QEMU's
//! docs/interop/qmp-spec.rst.

use super::process::Qemu;
use crate::error::VmError;
use schedlab_sys::{clock, fd};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

/// How long to wait for a reply; QEMU replies between two iterations of its main loop.
const PATIENCE_NS: u64 = 60_000_000_000;
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A QEMU that takes requests.
pub(super) struct Monitor {
    to: ChildStdin,
    from: ChildStdout,
    /// Bytes read that are not yet a complete line.
    rest: Vec<u8>,
    has_stopped: bool,
}

impl Monitor {
    /// Connects to a QEMU whose standard input and output are a monitor.
    pub(super) fn new(qemu: &mut Qemu) -> Result<Self, VmError> {
        let (to, from) = qemu.take_pipes().ok_or_else(|| failed("QEMU has no monitor"))?;
        let mut monitor = Self { to, from, rest: Vec::new(), has_stopped: false };
        monitor.ask("qmp_capabilities", "")?;
        Ok(monitor)
    }

    /// Whether the guest has stopped itself. This needs no query, because QEMU sends an event.
    pub(super) fn has_stopped(&mut self) -> bool {
        while let Ok(Some(said)) = self.read_line(0) {
            self.note(&said);
        }
        self.has_stopped
    }

    fn note(&mut self, said: &str) {
        self.has_stopped |= field(said, "event") == "STOP";
    }

    /// The next line, or `None` at the deadline; an error if QEMU has ended.
    fn read_line(&mut self, deadline_ns: u64) -> Result<Option<String>, VmError> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            if !fd::poll_readable(self.from.as_fd(), deadline_ns).unwrap_or(true) {
                return Ok(None);
            }
            let mut buffer = [0; 4096];
            match self.from.read(&mut buffer) {
                Ok(length @ 1..) => self.rest.extend_from_slice(&buffer[..length]),
                _ => return Err(failed("QEMU ended")),
            }
        }
    }

    /// Sends a command, with its arguments as the text of an object; returns the line with the result.
    fn ask(&mut self, what: &str, arguments: &str) -> Result<String, VmError> {
        let arguments = if arguments.is_empty() { "{}" } else { arguments };
        let asked = writeln!(self.to, "{{\"execute\":\"{what}\",\"arguments\":{arguments}}}");
        asked.map_err(|e| failed(&format!("`{what}` cannot be asked: {e}")))?;
        let deadline_ns = clock::monotonic_ns() + PATIENCE_NS;
        while let Some(said) = self.read_line(deadline_ns)? {
            if said.starts_with("{\"error\"") {
                return Err(failed(&format!("{what}: {}", field(&said, "desc"))));
            }
            if said.starts_with("{\"return\"") {
                return Ok(said);
            }
            self.note(&said);
        }
        Err(failed(&format!("no answer to `{what}`")))
    }

    /// Queries until the status is none of `passing`.
    fn wait(&mut self, what: &str, passing: &[&str]) -> Result<String, VmError> {
        loop {
            let answer = self.ask(what, "")?;
            let status = field(&answer, "status");
            if !passing.contains(&status) {
                let why = field(&answer, "error-desc");
                return Ok(if why.is_empty() { status.to_owned() } else { why.to_owned() });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Writes the stopped guest's state into a file.
    pub(super) fn save_state(&mut self, file: &Path) -> Result<(), VmError> {
        let path = file.display().to_string();
        if path.contains(['"', '\\']) || path.contains(|c: char| c.is_control()) {
            return Err(failed(&format!(
                "{path} cannot be passed to QEMU: use a cache path without quotes (SCHEDLAB_CACHE)"
            )));
        }
        self.ask("migrate", &format!("{{\"uri\":\"file:{path}\"}}"))?;
        match self.wait("query-migrate", &["", "setup", "active", "device"])?.as_str() {
            "completed" => Ok(()),
            why => Err(failed(&format!("it cannot be written to {}: {why}", file.display()))),
        }
    }

    /// Resumes the guest, once the state is loaded.
    pub(super) fn go_on(&mut self) -> Result<(), VmError> {
        match self.wait("query-status", &["inmigrate", "finish-migrate", "prelaunch"])?.as_str() {
            "guest-panicked" => self.ask("cont", "").map(drop),
            other => Err(failed(&format!("with it QEMU is `{other}`, not where the guest stopped"))),
        }
    }
}

/// The text of an object's field, as QEMU writes it; empty if there is none. The names of the fields looked up occur
/// only once in their replies.
fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let value = line.split_once(&format!("\"{name}\": \"")).map_or("", |(_, value)| value);
    value.split('"').next().unwrap_or_default()
}

fn failed(why: &str) -> VmError {
    VmError::SavedState(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_qemu_are_read() {
        let lines = [
            ("{\"timestamp\": {\"seconds\": 1, \"microseconds\": 2}, \"event\": \"STOP\"}\r\n", "event", "STOP"),
            ("{\"return\": {\"status\": \"guest-panicked\", \"running\": false}}", "status", "guest-panicked"),
            ("{\"return\": {\"expected-downtime\": 300, \"status\": \"active\"}}", "status", "active"),
            ("{\"error\": {\"class\": \"GenericError\", \"desc\": \"No space\"}}", "desc", "No space"),
            ("{\"return\": {}}", "status", ""),
        ];
        for (line, name, value) in lines {
            assert_eq!(field(line, name), value);
        }
    }
}
