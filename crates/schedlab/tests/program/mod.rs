//! Starts the binary under test in a temporary directory.

#![allow(dead_code, unreachable_pub, missing_docs)] // Each test file uses its part.

pub mod guests;
pub mod recordings;
pub mod sources;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

pub struct Ran {
    pub code: i32,
    pub stdout: String,
    /// Without `taken_back`, and without the line that another schedlab is changing this host: that may be another
    /// test's.
    pub stderr: String,
    /// What this start removed after killed runs, one line each; another test may have killed them.
    pub taken_back: Vec<String>,
}

impl Ran {
    pub fn success(self) -> Self {
        assert_eq!(self.code, 0, "{}\n{}", self.stdout, self.stderr);
        self
    }
    pub fn failure(self) -> Self {
        assert_ne!(self.code, 0, "it should have failed: {}", self.stdout);
        self
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let is_beside = |line: &str| {
            line.starts_with("schedlab: another schedlab (pid ") && line.contains("results measured now are affected")
        };
        let lines = stderr.split_inclusive('\n').filter(|line| !is_beside(line));
        let (taken_back, said): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| line.starts_with("schedlab: removed after a killed run: "));
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: said.concat(),
            taken_back: taken_back.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// Waits for an event that comes soon, even on a heavily loaded machine.
pub fn wait_until(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The binary under test: the released one if `SCHEDLAB_BIN` names it, as `cargo xtask test` does, because it is what
/// users run, and needs a third less CPU time; otherwise the one that cargo built for the tests.
pub fn binary() -> PathBuf {
    std::env::var_os("SCHEDLAB_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_schedlab").into()).into()
}

pub fn command() -> Command {
    Command::new(binary())
}

pub fn schedlab(arguments: &[&str]) -> Ran {
    command().args(arguments).output().expect("the binary starts").into()
}

/// Runs a copy of the binary as nobody, who may write into `lab`; `None` if this process may not change its user.
pub fn as_nobody(lab: &Lab, arguments: &[&str]) -> Option<Output> {
    const NOBODY: &str = "65534";
    let binary = lab.path("schedlab");
    if !Path::new(&binary).exists() {
        // Copied by a separate process: a file descriptor open for writing in this process would be inherited for a
        // moment by programs that other tests start, and the kernel refuses to execute such a file (ETXTBSY).
        let copied = Command::new("cp").arg(self::binary()).arg(&binary).status();
        assert!(copied.expect("cp starts").success());
        std::fs::set_permissions(lab.path(""), std::fs::Permissions::from_mode(0o777)).expect("a directory of ours");
    }
    let dropped = ["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", &binary];
    let mut command = Command::new("setpriv");
    let output = command.args(dropped).args(arguments).env("HOME", lab.path("")).output().ok()?;
    let refused = String::from_utf8_lossy(&output.stderr).contains("setpriv:");
    (!refused).then_some(output)
}

pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("not JSON: {e}: {text}"))
}

/// How many trials a run has written; the list of stored trials next to them does not count.
pub fn trials_in(run: &str) -> usize {
    let is_trial = |entry: &std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "rec");
    std::fs::read_dir(Path::new(run).join("trials")).map_or(0, |dir| dir.flatten().filter(is_trial).count())
}

/// A temporary directory, removed on drop.
pub struct Lab(PathBuf);

impl Lab {
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("schedlab-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a scratch directory");
        Self(dir)
    }
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a plain path").to_owned()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The interpreter with Perfetto's own schema; `SCHEDLAB_PYTHON` names one in a virtual environment.
pub fn python_with_perfetto() -> Option<String> {
    let python = std::env::var("SCHEDLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe = Command::new(&python).args(["-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"]).output();
    probe.is_ok_and(|o| o.status.success()).then_some(python)
}
