//! QEMU's monitor on its standard input and output: QMP, a JSON object a line. Source: QEMU's docs/interop/qmp-spec.rst.

use super::process::Qemu;
use crate::error::VmError;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// For an answer: QEMU gives it between two turns of its main loop.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A QEMU that takes requests.
pub(super) struct Monitor {
    to: ChildStdin,
    heard: Receiver<Value>,
    has_stopped: bool,
}

impl Monitor {
    /// Of a QEMU that was started with its standard input and output as a monitor.
    pub(super) fn new(qemu: &mut Qemu) -> Result<Self, VmError> {
        let (to, from) = qemu.take_pipes().ok_or_else(|| failed("QEMU has no monitor"))?;
        let (say, heard) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(from).lines().map_while(Result::ok);
            let values = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
            values.map(|value| say.send(value)).take_while(Result::is_ok).for_each(drop);
        });
        let mut monitor = Self { to, heard, has_stopped: false };
        monitor.ask("qmp_capabilities", json!({}))?;
        Ok(monitor)
    }

    /// Whether the guest has stopped itself. Nothing is asked: it is told.
    pub(super) fn has_stopped(&mut self) -> bool {
        while let Ok(value) = self.heard.try_recv() {
            self.note(&value);
        }
        self.has_stopped
    }

    fn note(&mut self, value: &Value) {
        self.has_stopped |= value["event"] == "STOP";
    }

    fn ask(&mut self, what: &str, arguments: Value) -> Result<Value, VmError> {
        let request = json!({ "execute": what, "arguments": arguments });
        writeln!(self.to, "{request}").map_err(|e| failed(format!("`{what}` cannot be asked: {e}")))?;
        loop {
            let mut answer = self.heard.recv_timeout(PATIENCE).map_err(|error| match error {
                RecvTimeoutError::Timeout => failed(format!("no answer to `{what}` in {PATIENCE:?}")),
                RecvTimeoutError::Disconnected => failed(format!("QEMU ended at `{what}`")),
            })?;
            if let Some(why) = answer.get("error") {
                return Err(failed(format!("{what}: {}", why["desc"].as_str().unwrap_or_default())));
            }
            if answer.get("return").is_some() {
                return Ok(answer["return"].take());
            }
            self.note(&answer);
        }
    }

    /// Asks until the status is none of these.
    fn wait(&mut self, what: &str, passing: &[&str]) -> Result<Value, VmError> {
        loop {
            let answer = self.ask(what, json!({}))?;
            let status = answer["status"].as_str().unwrap_or_default();
            if !passing.contains(&status) {
                return Ok(answer);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Writes the state of the stopped guest into a file.
    pub(super) fn keep(&mut self, file: &Path) -> Result<(), VmError> {
        let path = file.to_str().ok_or_else(|| failed(format!("{} is not UTF-8", file.display())))?;
        self.ask("migrate", json!({ "uri": format!("file:{path}") }))?;
        let end = self.wait("query-migrate", &["", "setup", "active", "device"])?;
        match end["status"].as_str() {
            Some("completed") => Ok(()),
            status => {
                let why = end["error-desc"].as_str().or(status).unwrap_or("unknown");
                Err(failed(format!("it cannot be written to {path}: {why}")))
            }
        }
    }

    /// Once the state is there, lets the guest go on.
    pub(super) fn go_on(&mut self) -> Result<(), VmError> {
        let there = self.wait("query-status", &["inmigrate", "finish-migrate", "prelaunch"])?;
        if there["status"] != "guest-panicked" {
            return Err(failed(format!("QEMU is {} with it, not where the guest stopped", there["status"])));
        }
        self.ask("cont", json!({})).map(drop)
    }
}

fn failed(why: impl Into<String>) -> VmError {
    VmError::State(why.into())
}
