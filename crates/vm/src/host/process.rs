//! QEMU's process: started so that it dies with us, ended on every way out, waited for with a limit.

use super::program::{self, last_lines};
use crate::error::VmError;
use crate::kernel::image::Architecture;
use crate::qemu;
use schedlab_sys::pidfd;
use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a killed QEMU may take to go; one that hangs in the kernel (a /dev/kvm that does not answer) is left to it.
const GRACE: Duration = Duration::from_millis(500);

/// What to install.
pub fn mend(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "apt-get install --no-install-recommends qemu-system-x86",
        Architecture::Aarch64 => "apt-get install --no-install-recommends qemu-system-arm",
    }
}

/// `7.2.22`, from `qemu-system-x86_64 --version`.
pub fn version(architecture: Architecture) -> Result<String, VmError> {
    let name = qemu::program(architecture);
    let said =
        program::output("asking QEMU for its version", program::command(name).arg("--version"), mend(architecture))?;
    let word = said.split_once("version ").and_then(|(_, rest)| rest.split_whitespace().next());
    Ok(word.unwrap_or("unknown").trim_end_matches(',').to_owned())
}

/// A running QEMU; ended when dropped.
#[derive(Debug)]
pub struct Qemu {
    child: Child,
    complaints: Arc<Mutex<Vec<u8>>>,
}

impl Qemu {
    /// Starts it. With `at_terminal` it has our standard input and output.
    pub fn start(architecture: Architecture, arguments: &[OsString], at_terminal: bool) -> Result<Self, VmError> {
        let mut command = program::command(qemu::program(architecture));
        command.args(arguments).stderr(Stdio::piped());
        if at_terminal {
            command.stdin(Stdio::inherit()).stdout(Stdio::inherit());
        } else {
            // A group of its own: Ctrl-C at the terminal reaches us alone, and we end it.
            use std::os::unix::process::CommandExt;
            command.stdout(Stdio::null()).process_group(0);
        }
        let spawned = command.spawn();
        let mut child = spawned.map_err(|e| program::not_started("starting QEMU", &command, &e, mend(architecture)))?;
        let complaints = Arc::new(Mutex::new(Vec::new()));
        if let Some(pipe) = child.stderr.take() {
            let kept = Arc::clone(&complaints);
            // Ends with the pipe.
            std::thread::spawn(move || keep(pipe, &kept));
        }
        Ok(Self { child, complaints })
    }

    /// Its exit status, if it has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits, at most `limit`.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        match pidfd::wait_exit(self.child.id(), limit) {
            Ok(_) => self.try_wait(),
            // No pidfd_open (before Linux 5.3), or it has been waited for.
            Err(_) => {
                let deadline = Instant::now() + limit;
                while self.try_wait().is_none() && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_millis(5));
                }
                self.try_wait()
            }
        }
    }

    /// What it said on standard error, the last lines of it.
    pub fn complaints(&self) -> String {
        let kept = self.complaints.lock().map(|bytes| bytes.clone()).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&kept), 6)
    }

    /// Kills it.
    pub fn end(&mut self) {
        if self.try_wait().is_none() {
            let _ = self.child.kill();
            let _ = self.wait(GRACE);
        }
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        self.end();
    }
}

/// At most as much as a person reads.
const KEPT_BYTES: usize = 64 * 1024;

fn keep(mut pipe: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = pipe.read(&mut buffer) {
        let Ok(mut kept) = kept.lock() else { return };
        kept.extend_from_slice(&buffer[..length]);
        let surplus = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..surplus);
    }
}
