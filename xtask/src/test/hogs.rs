//! A noisy neighbour for the tests: real-time burners that take every CPU for 40 ms at a time, as the host of a shared
//! machine does. Tests that pass next to them do not depend on a quiet machine.

use anyhow::{Context, Result, bail};
use std::hint::black_box;
use std::os::unix::process::parent_id;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The command of a burner, which is xtask itself.
pub(crate) const COMMAND: &str = "__hog";

const ON: Duration = Duration::from_millis(40);
/// Shortest pause, and how much longer a pause may be.
const OFF: Duration = Duration::from_millis(30);
const OFF_SPREAD_MS: u64 = 50;

/// The burners, one per CPU; they end on drop.
pub(super) struct Hogs(Vec<Child>);

impl Hogs {
    /// Needs permission for SCHED_FIFO, and chrt and taskset of util-linux.
    pub(super) fn start() -> Result<Self> {
        let this = std::env::current_exe().context("this program's file is not known")?;
        let cpus = std::thread::available_parallelism().context("the CPUs cannot be counted")?.get();
        let mut hogs = Self(Vec::new());
        for cpu in 0..cpus {
            let mut command = Command::new("chrt");
            command.args(["--fifo", "1", "taskset", "--cpu-list", &cpu.to_string()]).arg(&this);
            command.args([COMMAND, &std::process::id().to_string()]).stdin(Stdio::null());
            hogs.0.push(command.spawn().context("--hogs needs chrt (util-linux)")?);
        }
        std::thread::sleep(ON);
        for hog in &mut hogs.0 {
            if let Some(status) = hog.try_wait().context("a burner cannot be waited for")? {
                bail!("--hogs needs root, or the right to SCHED_FIFO (a burner ended: {status})");
            }
        }
        Ok(hogs)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            // If it has already ended, nothing is left to do.
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// Runs one burner, until its parent, process `of`, has ended.
pub(crate) fn burn(of: u32) {
    let mut draw = u64::from(std::process::id());
    while parent_id() == of {
        let started = Instant::now();
        while started.elapsed() < ON {
            black_box(());
        }
        // The quick generator of Numerical Recipes, because the quality does not matter.
        draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(OFF + Duration::from_millis((draw >> 16) % OFF_SPREAD_MS));
    }
}
