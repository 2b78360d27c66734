//! QEMU's process: it dies with us, is ended on every way out, and is waited for with a limit.

use super::program::{self, last_lines};
use crate::error::VmError;
use crate::kernel::image::Architecture;
use crate::qemu;
use schedlab_sys::thread::start;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a killed QEMU may take to disappear; one that hangs in the kernel (a /dev/kvm that does not respond) is
/// left alone after that.
const GRACE: Duration = Duration::from_millis(500);

/// What to install.
pub fn fix(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "apt-get install --no-install-recommends qemu-system-x86",
        Architecture::Aarch64 => "apt-get install --no-install-recommends qemu-system-arm",
    }
}

/// The QEMU of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its program.
    pub path: PathBuf,
    /// `7.2.22`, as QEMU itself reports it.
    pub version: String,
}

impl Installed {
    /// The first QEMU in $PATH for guests of an architecture.
    pub fn find(architecture: Architecture) -> Result<Self, VmError> {
        Self::at(&in_path(qemu::program(architecture)), architecture)
    }

    /// This program.
    pub fn at(path: &Path, architecture: Architecture) -> Result<Self, VmError> {
        let mut asked = program::command(path);
        let said = program::output("asking QEMU for its version", asked.arg("--version"), fix(architecture))?;
        let word = said.split_once("version ").and_then(|(_, rest)| rest.split_whitespace().next());
        let version = word.unwrap_or("unknown").trim_end_matches(',').to_owned();
        Ok(Self { path: path.to_owned(), version })
    }
}

/// The path of a program; its name if it is not found.
fn in_path(name: &str) -> PathBuf {
    let is_program = |path: &PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join(name)).find(is_program);
    found.unwrap_or_else(|| name.into())
}

/// QEMU's standard input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Not connected.
    None,
    /// Ours.
    Terminal,
    /// Pipes, available from `Qemu::take_pipes`.
    Pipes,
}

/// A running QEMU; ended when dropped.
#[derive(Debug)]
pub struct Qemu {
    child: Child,
    complaints: Arc<Mutex<Vec<u8>>>,
    /// Reads them.
    reader: Option<JoinHandle<()>>,
}

impl Qemu {
    /// Starts it.
    pub fn start(
        program: &Path,
        architecture: Architecture,
        arguments: &[OsString],
        streams: Streams,
    ) -> Result<Self, VmError> {
        let mut command = program::command(program);
        command.args(arguments).stderr(Stdio::piped());
        // In its own process group, so that Ctrl-C on the terminal reaches only us, and we end it.
        use std::os::unix::process::CommandExt;
        match streams {
            Streams::Terminal => command.stdin(Stdio::inherit()).stdout(Stdio::inherit()),
            Streams::None => command.stdout(Stdio::null()).process_group(0),
            Streams::Pipes => command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0),
        };
        let spawned = command.spawn();
        let mut child = spawned.map_err(|e| program::not_started("starting QEMU", &command, e, fix(architecture)))?;
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let reader = child.stderr.take().map(|pipe| {
            let kept = Arc::clone(&complaints);
            // Ends with the pipe.
            start(Box::new(move || keep(pipe, &kept)))
        });
        Ok(Self { child, complaints, reader })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Our ends of [`Streams::Pipes`]; available once.
    pub(super) fn take_pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        Some((self.child.stdin.take()?, self.child.stdout.take()?))
    }

    /// Its exit status, if it has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits, at most `limit`.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        program::wait(&mut self.child, limit)
    }

    /// The last lines of its standard error.
    pub fn complaints(&self) -> String {
        last_lines(&self.said(), 6)
    }

    /// The first line of its standard error that contains one of these.
    pub fn complaint(&self, words: &[&str]) -> Option<String> {
        let said = self.said();
        said.lines().find(|line| words.iter().any(|word| line.contains(word))).map(|line| line.trim().to_owned())
    }

    /// Waits briefly for the last output of a process that has ended.
    pub(super) fn drain_stderr(&self) {
        let deadline = Instant::now() + GRACE;
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn said(&self) -> String {
        let kept = self.complaints.lock().map(|bytes| bytes.clone()).unwrap_or_default();
        String::from_utf8_lossy(&kept).into_owned()
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
