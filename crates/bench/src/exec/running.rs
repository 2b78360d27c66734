//! The trial's side of a command: starts its subreaper, sends it requests, reads its messages, and takes its place if
//! it is killed.

use super::script::{GO_ON, Message, STOP, Script};
use super::{subreaper, tree};
use crate::error::BenchError;
use schedlab_sys::clock::{monotonic_ns, sleep_until_ns};
use schedlab_sys::process::{self, ExitStatus};
use schedlab_sys::{fd, pidfd, signal, thread};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// How long a subreaper may take to stop when asked: it kills at once, but may still run `cleanup`.
const STOP_PATIENCE_NS: u64 = 10_000_000_000;
/// How long a subreaper may take to exit after its last message.
const REAP_PATIENCE_NS: u64 = 500_000_000;
/// How long killed processes may take to disappear.
const SWEEP_PATIENCE_NS: u64 = 2_000_000_000;

/// A command under its subreaper; dropping it ends the whole tree.
#[derive(Debug)]
pub(crate) struct Running {
    script: Script,
    subreaper: u32,
    pidfd: OwnedFd,
    gate: OwnedFd,
    control: OwnedFd,
    messages: File,
    buffer: Vec<u8>,
    /// Children of ours that do not belong to this command.
    others: BTreeSet<u32>,
    ended: bool,
}

impl Running {
    /// Forks the subreaper, which starts the script.
    pub(crate) fn start(script: &Script) -> Result<Self, BenchError> {
        let doing = |what: &str| BenchError::io(format!("{what} for a command"));
        process::become_subreaper().map_err(doing("becoming the subreaper"))?;
        let others = children().into_iter().map(|child| child.pid).collect();
        let pipe = || fd::pipe_pair().map_err(doing("opening a pipe"));
        let (gate, control, messages) = (pipe()?, pipe()?, pipe()?);
        let ends = subreaper::Ends {
            gate: gate.read.as_fd(),
            control: control.read.as_fd(),
            messages: messages.write.as_fd(),
            trial: thread::current_pid(),
        };
        let subreaper = process::fork_child(|| subreaper::run(script, ends)).map_err(doing("forking the subreaper"))?;
        Ok(Self {
            script: script.clone(),
            subreaper,
            pidfd: pidfd::open(subreaper).map_err(doing("watching the subreaper"))?,
            gate: gate.write,
            control: control.write,
            messages: messages.read.into(),
            buffer: Vec::new(),
            others,
            ended: false,
        })
    }

    /// Process id of the subreaper.
    pub(crate) fn subreaper(&self) -> u32 {
        self.subreaper
    }

    /// Waits until the measured command blocks before its exec; returns its process id, or `None` at the deadline.
    pub(crate) fn ready(&mut self, deadline_ns: u64) -> Result<Option<u32>, BenchError> {
        loop {
            match self.next(deadline_ns)? {
                Some(Message::Ready { pid }) => return Ok(Some(pid)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// Waits until the command itself ends; returns when that was, or `None` at the deadline.
    pub(crate) fn ended(&mut self, deadline_ns: u64) -> Result<Option<u64>, BenchError> {
        match self.next(deadline_ns)? {
            Some(Message::Ended { t1_ns }) => Ok(Some(t1_ns)),
            _ => Ok(None),
        }
    }

    /// Lets the measured command begin.
    pub(crate) fn release(&self) -> Result<(), BenchError> {
        fd::write_full(self.gate.as_fd(), b"*").map_err(BenchError::io("releasing the command"))
    }

    /// The command's end has been recorded: the subreaper may continue.
    pub(super) fn go_on(&self) {
        let _ = fd::write_full(self.control.as_fd(), &[GO_ON]);
    }

    /// The next message, or `None` at the deadline (CLOCK_MONOTONIC ns). A failed step is an error, and so is a dead
    /// subreaper; then no process is left.
    pub(super) fn next(&mut self, deadline_ns: u64) -> Result<Option<Message>, BenchError> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                let message = serde_json::from_slice(&line);
                return match message
                    .map_err(|e| BenchError::Command(format!("the subreaper's words are not clear: {e}")))?
                {
                    Message::Failed(why) => {
                        self.reap();
                        Err(BenchError::Command(why))
                    }
                    Message::Finished(report) => {
                        self.reap();
                        Ok(Some(Message::Finished(report)))
                    }
                    message => Ok(Some(message)),
                };
            }
            let fds = [self.messages.as_fd(), self.pidfd.as_fd()];
            let ready = fd::poll_any(&fds, deadline_ns).map_err(BenchError::io("listening to the subreaper"))?;
            let mut chunk = vec![0; 1 << 16];
            match ready.as_slice() {
                [true, _] => {
                    match self.messages.read(&mut chunk).map_err(BenchError::io("listening to the subreaper"))? {
                        0 => return Err(self.died()),
                        got => self.buffer.extend_from_slice(&chunk[..got]),
                    }
                }
                [_, true] => return Err(self.died()),
                _ => return Ok(None),
            }
        }
    }

    /// Ends the command and everything it started, runs `cleanup`, and waits for it.
    pub(crate) fn stop(&mut self) {
        if self.ended {
            return;
        }
        let _ = fd::write_full(self.control.as_fd(), &[STOP]);
        let patience = monotonic_ns() + STOP_PATIENCE_NS;
        while !self.ended && monotonic_ns() < patience {
            if self.next(patience).is_err() {
                break;
            }
        }
        self.reap();
    }

    /// Waits for the subreaper to end, or kills it; afterwards no process of its tree is left.
    fn reap(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        let patience_ns = monotonic_ns() + REAP_PATIENCE_NS;
        let by_itself = fd::poll_readable(self.pidfd.as_fd(), patience_ns).unwrap_or(false);
        if !by_itself {
            let _ = signal::kill(self.subreaper, signal::SIGKILL);
        }
        // ECHILD if a wait for any child has reaped it already.
        let _ = process::wait_for(self.subreaper);
        if !by_itself {
            sweep(&self.others);
        }
    }

    /// The subreaper was killed: its children have become ours.
    fn died(&mut self) -> BenchError {
        let status = process::wait_for(self.subreaper).map(|reaped| reaped.status);
        self.ended = true;
        sweep(&self.others);
        let what = match status {
            Ok(ExitStatus::Signaled(signal)) => format!("was killed by signal {signal}"),
            Ok(ExitStatus::Exited(code)) => format!("ended early with exit code {code}"),
            Err(_) => "is gone".to_owned(),
        };
        let tidied = if self.script.cleanup.is_empty() { Ok(()) } else { self.clean_up_instead() };
        let untidy = tidied.err().map(|error| format!("; {error}")).unwrap_or_default();
        BenchError::Command(format!("the subreaper {} {what}; the command was taken down{untidy}", self.subreaper))
    }

    fn clean_up_instead(&self) -> Result<(), BenchError> {
        let (setup, cleanup) = (Vec::new(), Vec::new());
        let command = self.script.cleanup.clone();
        let script = Script { command, setup, cleanup, warmup: 0, ..self.script.clone() };
        let mut running = Self::start(&script)?;
        running.release()?;
        loop {
            match running.next(u64::MAX)? {
                Some(Message::Ended { .. }) => running.go_on(),
                Some(Message::Finished(_)) | None => return Ok(()),
                Some(_) => {}
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

fn children() -> Vec<tree::Process> {
    let own = thread::current_pid();
    tree::processes(Path::new("/proc")).into_iter().filter(|process| process.parent == own).collect()
}

/// Kills and reaps the children that we inherited from a subreaper.
fn sweep(others: &BTreeSet<u32>) {
    let give_up = monotonic_ns() + SWEEP_PATIENCE_NS;
    let own = thread::current_pid();
    loop {
        let all = tree::processes(Path::new("/proc"));
        let left = tree::descendants(&all, own, others);
        if left.is_empty() || monotonic_ns() > give_up {
            return;
        }
        for process in left {
            let _ = signal::kill(process.pid, signal::SIGKILL);
            if process.parent == own {
                let _ = process::try_wait_for(process.pid);
            }
        }
        sleep_until_ns(monotonic_ns() + 1_000_000);
    }
}
