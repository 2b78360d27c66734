//! A private tracefs instance: its text, its raw pages, and what a trace.dat needs to know about it.

use anyhow::{Context, Result};
use schedlab_sys::tracefs::{Tracefs, open_without_waiting};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The events needed to analyse waits.
pub const EVENTS: [&str; 7] = [
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_migrate_task",
    "sched_process_fork",
    "sched_process_exit",
];

/// Buffer per CPU: large enough that a short recording overwrites nothing.
const BUFFER_KIB: u32 = 16 << 10;

/// An instance of ours, removed on drop.
pub struct Instance {
    tracefs: Tracefs,
    dir: PathBuf,
}

impl Instance {
    /// A new instance, with tracing off. Needs root.
    pub fn new() -> Result<Self> {
        let tracefs = Tracefs::find_or_mount(Path::new("/proc")).context("tracefs cannot be mounted (root?)")?;
        let dir = tracefs.root().join(format!("instances/schedlab-bench-{}", std::process::id()));
        std::fs::create_dir(&dir).with_context(|| format!("{} cannot be made", dir.display()))?;
        let instance = Self { tracefs, dir };
        instance.write("tracing_on", "0")?;
        instance.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        for event in EVENTS {
            instance.write(&format!("events/sched/{event}/enable"), "1")?;
        }
        Ok(instance)
    }

    /// Writes a file of the instance.
    pub fn write(&self, file: &str, what: &str) -> Result<()> {
        let path = self.dir.join(file);
        std::fs::write(&path, what).with_context(|| format!("{what} cannot be written to {}", path.display()))
    }

    /// Reads a file of the instance.
    pub fn read(&self, file: &str) -> Result<String> {
        let path = self.dir.join(file);
        Ok(String::from_utf8_lossy(&drain(&path, AT_ONCE)?).into_owned())
    }

    /// The clocks that this kernel has, in its order.
    pub fn clocks(&self) -> Result<Vec<String>> {
        let text = self.read("trace_clock")?;
        Ok(text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect())
    }

    /// Empties the buffers, and traces while `load` runs.
    pub fn record(&self, clock: &str, load: impl FnOnce() -> Result<()>) -> Result<()> {
        self.write("trace_clock", clock)?;
        self.write("trace", "\n")?;
        self.write("tracing_on", "1")?;
        let ran = load();
        self.write("tracing_on", "0")?;
        ran
    }

    /// The unread part of `trace_pipe`, which does not block if tracing is off.
    pub fn pipe(&self) -> Result<String> {
        self.read("trace_pipe")
    }

    /// The raw pages of each CPU, which are then removed from the buffers.
    pub fn pages(&self) -> Result<Vec<Vec<u8>>> {
        let mut cpus = Vec::new();
        while let path = self.dir.join(format!("per_cpu/cpu{}/trace_pipe_raw", cpus.len()))
            && path.exists()
        {
            cpus.push(drain(&path, PAGE)?);
        }
        Ok(cpus)
    }

    /// Formats of all traced events, by file below `events/`.
    pub fn formats(&self) -> Result<Vec<String>> {
        EVENTS.iter().map(|event| self.read(&format!("events/sched/{event}/format"))).collect()
    }

    /// Files of tracefs as a whole: `events/header_page`, `saved_cmdlines`.
    pub fn root_file(&self, file: &str) -> Result<String> {
        Ok(String::from_utf8_lossy(&drain(&self.tracefs.root().join(file), AT_ONCE)?).into_owned())
    }
}

/// Bytes per read: `header_page` returns what fits into one read, and nothing on the next.
const AT_ONCE: usize = 1 << 16;

/// Page size of the ring buffer.
pub const PAGE: usize = 4096;

fn drain(path: &Path, at_once: usize) -> Result<Vec<u8>> {
    let mut file = open_without_waiting(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    let (mut all, mut piece) = (Vec::new(), vec![0; at_once]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(all),
            Ok(bytes) => all.extend_from_slice(&piece[..bytes]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(all),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.write("events/enable", "0");
        let _ = std::fs::remove_dir(&self.dir);
    }
}
