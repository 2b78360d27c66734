//! A running guest: follows its console and port, passes on what it sends, and ends it at its limit or on the user's
//! request, unless it ends by itself.

mod post_mortem;

use super::accelerate::Proof;
use super::boot::{Boot, Events, GuestResult, Stage};
use super::first_word::{FirstWord, Silence};
use super::kvm::{self, Failure};
use super::monitor::Monitor;
use super::process::Qemu;
use super::tail::{Growing, LastWords, MAX_CONSOLE_BYTES, MAX_PORT_BYTES};
use crate::error::{VmError, WITHOUT_KVM};
use crate::frame::{Decoder, Frame, is_wanted};
use crate::guest::END_COMMAND;
use crate::lane::{Accelerator, Lane, NoKvm};
use post_mortem::no_room;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// Time to power off after the last message; if instructions are counted, QEMU writes the counts only then.
const SWITCH_OFF: Duration = Duration::from_secs(5);
const SWITCH_OFF_COUNTING: Duration = Duration::from_secs(120);

/// The host's side of a guest's serial ports.
pub(super) struct HostPorts {
    /// The file into which QEMU writes what the guest sends over the serial port for frames.
    pub(super) port: PathBuf,
    /// The file of the console.
    pub(super) console: PathBuf,
    /// The named pipe from which the guest reads orders, on the serial port for frames.
    pub(super) orders: Option<File>,
}

/// One guest, and the receiver of its events.
pub(super) struct Session<'a> {
    boot: &'a Boot,
    qemu: Qemu,
    started: Instant,
    up: Option<Instant>,
    /// Under KVM, until the kernel's first console output.
    silence: Option<Silence>,
    /// Stored once the guest is up.
    proof: Option<Proof>,
    /// Where QEMU writes.
    directory: PathBuf,
    port: Growing,
    console_file: Growing,
    console: LastWords,
    decoder: Decoder,
    orders: Option<File>,
    /// The monitor of a guest that stops so that its state can be saved.
    monitor: Option<Monitor>,
    /// When the command was asked to end, and why.
    end_requested: Option<(Instant, VmError)>,
    result: GuestResult,
    /// The last version of each file that the guest sent before its end.
    kept: BTreeMap<String, Vec<u8>>,
    events: &'a mut dyn Events,
}

impl<'a> Session<'a> {
    /// QEMU has just been started.
    pub(super) fn new(
        boot: &'a Boot,
        qemu: Qemu,
        ports: HostPorts,
        proof: Option<Proof>,
        events: &'a mut dyn Events,
    ) -> Self {
        Self {
            boot,
            silence: by_kvm(boot).then(|| Silence::new(qemu.id())),
            proof,
            qemu,
            started: Instant::now(),
            up: None,
            directory: ports.port.parent().unwrap_or(Path::new("/")).to_owned(),
            port: Growing::new(&ports.port, MAX_PORT_BYTES),
            // In a shell, a person may produce a lot of output.
            console_file: Growing::new(&ports.console, if boot.job.shell { MAX_PORT_BYTES } else { MAX_CONSOLE_BYTES }),
            console: LastWords::default(),
            decoder: Decoder::default(),
            orders: ports.orders,
            monitor: None,
            end_requested: None,
            result: GuestResult::default(),
            kept: BTreeMap::new(),
            events,
        }
    }

    /// Until the guest has sent its last message, or there is no point in waiting. What it has sent by then is kept.
    pub(super) fn follow(&mut self) -> Result<GuestResult, VmError> {
        match self.listen() {
            Err(why) if !self.kept.is_empty() => {
                let files = std::mem::take(&mut self.kept).into_iter().collect();
                Ok(GuestResult { cut: Some(why), files, ..GuestResult::default() })
            }
            ended => ended,
        }
    }

    /// Until the guest has stopped so that its state can be saved; returns its QEMU's monitor.
    pub(super) fn follow_until_stopped(&mut self, monitor: Monitor) -> Result<&mut Monitor, VmError> {
        self.monitor = Some(monitor);
        self.listen()?;
        self.monitor
            .as_mut()
            .filter(|_| self.result.exit_code == 0)
            .ok_or_else(|| VmError::SavedState("it never stopped".into()))
    }

    fn listen(&mut self) -> Result<GuestResult, VmError> {
        let (boot, shell) = (self.boot, self.boot.job.shell);
        loop {
            // Check for its end before reading, so that its last output is read.
            let died = self.qemu.try_wait().inspect(|_| self.qemu.drain_stderr());
            let has_stopped = self.monitor.as_mut().is_some_and(Monitor::has_stopped);
            self.read_console()?;
            if self.read_port()? {
                let limit = if boot.counting.is_some() { SWITCH_OFF_COUNTING } else { SWITCH_OFF };
                self.wait_for_power_off(limit);
                return Ok(self.take_result());
            }
            if has_stopped {
                return self.stopped();
            }
            self.check_kvm(died)?;
            match died {
                Some(status) if shell && status.success() => return Ok(GuestResult::default()),
                Some(status) => return Err(self.died(status)),
                None => {}
            }
            self.cut_short()?;
            std::thread::sleep(Silence::LOOK_EVERY);
        }
    }

    /// Waits until the guest has powered off, but not while it fills the disk.
    fn wait_for_power_off(&mut self, limit: Duration) {
        let said_its_last = Instant::now();
        while self.qemu.wait(Silence::LOOK_EVERY).is_none() && said_its_last.elapsed() < limit {
            if self.port.is_over() || self.console_file.is_over() {
                return;
            }
        }
    }

    /// An error if KVM, rather than the guest, is why it makes no progress.
    fn check_kvm(&mut self, died: Option<ExitStatus>) -> Result<(), VmError> {
        if !by_kvm(self.boot) || died.is_some() && (self.up.is_some() || no_room(&self.directory).is_some()) {
            return Ok(());
        }
        let spoke = self.silence.is_none();
        if let Some(failure) = kvm::failed(&self.qemu, died, spoke) {
            // A guest that has started its command is not started again.
            return Err(match self.up {
                None => VmError::Kvm(failure),
                Some(_) => VmError::Guest(format!("KVM failed: {}; {WITHOUT_KVM}", failure.evidence)),
            });
        }
        let hangs = self.silence.as_mut().and_then(Silence::over);
        hangs.map_or(Ok(()), |evidence| Err(VmError::Kvm(Failure { why: NoKvm::Hangs, evidence })))
    }

    fn take_result(&mut self) -> GuestResult {
        let late = match self.end_requested.take() {
            Some((_, VmError::TimeOut { limit, .. })) => Some(limit),
            _ => None,
        };
        GuestResult { late, ..std::mem::take(&mut self.result) }
    }

    /// Handles the user's interrupt and the time limit: first asks the command to end, so that it can do so cleanly.
    fn cut_short(&mut self) -> Result<(), VmError> {
        let grace = self.boot.grace;
        if let Some((at, _)) = self.end_requested {
            return match self.end_requested.take_if(|_| at.elapsed() > grace) {
                Some((_, why)) => Err(why),
                None if self.events.insisted() => Err(VmError::Interrupted),
                None => Ok(()),
            };
        }
        let why = match self.check_time_limit() {
            _ if self.events.interrupted() => VmError::Interrupted,
            Err(late) if !self.boot.job.shell => late,
            _ => return Ok(()),
        };
        let orders = self.orders.as_mut().filter(|_| self.up.is_some() && !grace.is_zero());
        if orders.is_none_or(|orders| orders.write_all(&[END_COMMAND]).is_err()) {
            return Err(why);
        }
        if matches!(why, VmError::Interrupted) {
            self.events.stage(Stage::EndRequested);
        }
        self.end_requested = Some((Instant::now(), why));
        Ok(())
    }

    fn read_console(&mut self) -> Result<(), VmError> {
        let said = self.console_file.read_new().map_err(too_much("console", "a quieter kernel (loglevel=)"))?;
        if !said.is_empty() {
            self.console.push(&said);
            self.events.console(&said);
            self.silence.take_if(|_| FirstWord::of(&self.console.text()).is_some());
        }
        Ok(())
    }

    /// Reads the port; returns whether the guest has sent its last message.
    fn read_port(&mut self) -> Result<bool, VmError> {
        let bytes = self
            .port
            .read_new()
            .map_err(too_much("port", "a command that prints less and leaves fewer or smaller files"))?;
        // If a kernel has no console, or another one, the first sign of it is its init process.
        self.silence.take_if(|_| !bytes.is_empty());
        self.decoder.push(&bytes);
        while let Some(frame) = self.decoder.next_frame()? {
            match frame {
                Frame::Started(release) => {
                    self.up = Some(Instant::now());
                    self.proof.take().inspect(Proof::keep);
                    self.events.stage(Stage::Up(release, self.started.elapsed()));
                }
                Frame::Stdout(bytes) => self.events.stdout(&bytes),
                Frame::Stderr(bytes) => self.events.stderr(&bytes),
                Frame::Note(text) => self.events.note(&text),
                Frame::File { path, content } if is_wanted(&path, &self.boot.job.collect) => {
                    self.result.files.push((path, content))
                }
                Frame::Kept { path, content } if is_wanted(&path, &self.boot.job.collect) => {
                    self.kept.insert(path, content);
                    self.events.stage(Stage::Kept);
                }
                Frame::File { path, .. } | Frame::Kept { path, .. } => {
                    return Err(VmError::Guest(format!("it sent {path}, which was not requested")));
                }
                Frame::Failed(why) => return Err(VmError::Guest(why)),
                Frame::Ended(code) => {
                    self.result.exit_code = code;
                    self.events.stage(Stage::Ended(code, self.started.elapsed()));
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// An error if it takes longer than allowed to start, or to end its command.
    fn check_time_limit(&self) -> Result<(), VmError> {
        let (goal, limit, since) = match self.up {
            None => ("start", self.boot.boot_limit, self.started),
            Some(up) => ("end its command", self.boot.limit, up),
        };
        if since.elapsed() <= limit {
            return Ok(());
        }
        let said = self.why_late();
        Err(VmError::TimeOut { goal, limit, said })
    }
}

/// The error if reading the guest's output failed; if it wrote too much, with the fix.
fn too_much(what: &'static str, fix: &'static str) -> impl FnOnce(io::Error) -> VmError {
    move |error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            VmError::Guest(format!("it wrote too much to its {what}: {error}; give it {fix}"))
        }
        _ => VmError::file("reading", format!("the guest's {what}"))(error),
    }
}

fn by_kvm(boot: &Boot) -> bool {
    matches!(boot.lane, Lane::Real { accelerator: Accelerator::Kvm, .. })
}
