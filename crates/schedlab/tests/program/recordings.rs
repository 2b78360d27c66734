//! Recordings made by tests, and their traces in the kernel.

#![allow(clippy::print_stderr)] // A skip says why.

use super::{Ran, schedlab};
use schedlab_sys::tracefs::Tracefs;
use schedlab_trace::{Event, Kinds, Reader};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Processes that run on every otherwise idle CPU. On some virtual machines the kernel does not trace switches away
/// from a CPU's idle thread (docs/recording.md); if the idle thread never runs, no switch is missing.
pub struct NeverIdle(Vec<Child>);

impl NeverIdle {
    pub fn new() -> Self {
        let cpus = 0..std::thread::available_parallelism().map_or(1, usize::from);
        let spin = |cpu: usize| {
            let line = format!("chrt --idle 0 taskset -c {cpu} sh -c 'echo; while :; do :; done'");
            let mut shell =
                Command::new("sh").args(["-c", &format!("exec {line}")]).stdout(Stdio::piped()).spawn().unwrap();
            // Returns once the shell is running, or could not be started.
            _ = std::io::Read::read(shell.stdout.as_mut().unwrap(), &mut [0]);
            shell
        };
        Self(cpus.map(spin).collect())
    }
}

impl Drop for NeverIdle {
    fn drop(&mut self) {
        for child in &mut self.0 {
            _ = child.kill();
            _ = child.wait();
        }
    }
}

/// Runs the program; `None`, with the reason on standard error, if nothing can be traced here.
pub fn traced(test: &str, arguments: &[&str]) -> Option<Ran> {
    let ran = schedlab(arguments);
    let reason_withheld = ["tracefs cannot be used here", "perf_event_open of tracepoints"];
    let reason_withheld = ran.stderr.lines().find(|line| reason_withheld.iter().any(|why| line.contains(why)));
    if let Some(why) = reason_withheld {
        eprintln!("schedlab-skip: {test}: needs tracefs ({why})");
        return None;
    }
    Some(ran.success())
}

pub fn read(file: &str) -> (Vec<Event>, Reader) {
    let source = std::fs::File::open(file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut reader = Reader::open(file, Box::new(source), Kinds::ALL).unwrap();
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).unwrap() {
        all.extend_from_slice(&batch);
    }
    (all, reader)
}

/// Instances of our recordings, by the entries of their owners.
pub fn entries() -> BTreeSet<PathBuf> {
    let listing = std::fs::read_dir("/run/schedlab/trace").into_iter().flatten().flatten();
    listing.map(|entry| entry.path()).collect()
}

/// Creates what a killed recorder leaves: an instance, and an entry that is not locked; returns its name and its entry.
pub fn orphan() -> std::io::Result<(String, PathBuf)> {
    let name = format!("schedlab-{}-4711", std::process::id());
    let entry = Path::new("/run/schedlab/trace").join(&name);
    std::fs::create_dir(tracefs()?.root().join("instances").join(&name))?;
    std::fs::create_dir_all(entry.parent().unwrap())?;
    std::fs::write(&entry, "").map(|()| (name, entry))
}

/// Whether the kernel has this instance, in whichever tracefs mount there is.
pub fn is_instance(name: &str) -> bool {
    tracefs().is_ok_and(|tracefs| tracefs.root().join("instances").join(name).exists())
}

fn tracefs() -> std::io::Result<Tracefs> {
    Tracefs::find_or_mount(Path::new("/proc"))
}

/// The entry of the recording that process `pid` is making.
pub fn entry_of(pid: u32) -> Option<PathBuf> {
    let mine = format!("schedlab-{pid}-");
    entries().into_iter().find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&mine)))
}
