//! Burners as a load: the trial process forks them, they run until its stop flag is set, and they record how much CPU
//! time they got.

use crate::burn::{self, Config};
use crate::error::BenchError;
use crate::task::{StopFlag, TaskCells};
use schedlab_plan::LoadReport;
use schedlab_sys::clock::{monotonic_ns, sleep_until_ns, thread_cpu_ns};
use schedlab_sys::{affinity, fd, pidfd, process, signal, thread};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Release};

/// Words that a burner writes into its group's line: that it runs, and at its end the CPU time it used (valid if not
/// 0).
const RUNNING: usize = 0;
const CPU_NS: usize = 1;

#[derive(Debug)]
struct Burner {
    pid: u32,
    pidfd: OwnedFd,
}

/// The burners of one load; dropping them kills and reaps each.
#[derive(Debug)]
pub(super) struct Burners {
    config: Config,
    cells: TaskCells,
    burners: Vec<Burner>,
}

impl Burners {
    /// Forks the burners. `number` is the load's, for messages.
    pub(super) fn start(config: Config, separate_session: bool, number: usize) -> Result<Self, BenchError> {
        let threads = config.threads as usize;
        let cells =
            TaskCells::new(threads, threads, false).map_err(BenchError::io("mapping the load's shared cells"))?;
        let mut load = Self { config, cells, burners: Vec::with_capacity(threads) };
        for _ in 0..threads {
            load.fork_burner(separate_session)?;
        }
        load.wait_until_running(number)?;
        Ok(load)
    }

    fn fork_burner(&mut self, separate_session: bool) -> Result<(), BenchError> {
        let (index, config, cells) = (self.burners.len(), &self.config, &self.cells);
        let trial = thread::current_pid();
        let forked = process::fork_child(|| {
            if process::die_with_parent(trial).is_err() {
                return 1;
            }
            // Every burner leads its own session: a session leader shares its task group with its own children only.
            if separate_session && process::new_session().is_err() {
                return 2;
            }
            if !config.cpus.is_empty() && affinity::set_affinity(0, config.cpus.as_slice()).is_err() {
                return 3;
            }
            process::set_name(c"schedlab-burn");
            run_burner(config, cells, index)
        });
        let pid = forked.map_err(BenchError::io("forking a burner of the load"))?;
        let pidfd = pidfd::open(pid).map_err(BenchError::io("watching a burner of the load"))?;
        self.burners.push(Burner { pid, pidfd });
        Ok(())
    }

    fn wait_until_running(&self, number: usize) -> Result<(), BenchError> {
        let give_up = monotonic_ns() + 30_000_000_000;
        for (index, burner) in self.burners.iter().enumerate() {
            while self.cells.group(index)[RUNNING].load(Acquire) == 0 {
                if let Ok(Some(_)) = process::try_wait_for(burner.pid) {
                    let what = "ended before it ran (no right to setsid or to its CPUs?)".to_owned();
                    let group = number as u32;
                    return Err(BenchError::TaskFailed { role: "burner", tid: burner.pid, group, what });
                }
                if monotonic_ns() > give_up {
                    let (unfinished, tasks) = (self.burners.len() - index, self.burners.len());
                    return Err(BenchError::Hung { unfinished, tasks, after_s: 30 });
                }
                sleep_until_ns(monotonic_ns() + 200_000);
            }
        }
        Ok(())
    }

    pub(super) fn spec(&self) -> String {
        self.config.spec_of(None).to_string()
    }

    pub(super) fn tids(&self) -> Vec<u32> {
        self.burners.iter().map(|burner| burner.pid).collect()
    }

    /// Reports a burner that has ended although it was not stopped.
    pub(super) fn trouble(&self) -> Option<String> {
        let fds: Vec<_> = self.burners.iter().map(|burner| burner.pidfd.as_fd()).collect();
        let ended = fd::poll_any(&fds, 0).ok()?.iter().position(|&ended| ended)?;
        Some(format!("its burner {} died", self.burners[ended].pid))
    }

    /// Asks them to end.
    pub(super) fn ask_to_stop(&self) {
        self.cells.stop_flag().set();
    }

    /// What the burners achieved in the last `over_ns` of the `ran_ns` since they started; call it after
    /// [`Self::ask_to_stop`].
    pub(super) fn report(&self, over_ns: u64, ran_ns: u64) -> LoadReport {
        let give_up = monotonic_ns() + 2_000_000_000;
        let (mut achieved, mut alive) = (0, true);
        for (index, burner) in self.burners.iter().enumerate() {
            let used = loop {
                let used = self.cells.group(index)[CPU_NS].load(Acquire);
                // It ended without recording how much it used: it was killed, or reaped by the workload's own wait.
                let gone = !matches!(process::try_wait_for(burner.pid), Ok(None));
                if used > 0 || gone || monotonic_ns() > give_up {
                    break self.cells.group(index)[CPU_NS].load(Acquire).max(used);
                }
                sleep_until_ns(monotonic_ns() + 200_000);
            };
            alive &= used > 0;
            achieved += used;
        }
        // The burners' CPU time is known for their whole life; a shorter measured part is assigned its share.
        let scale = over_ns as f64 / ran_ns.max(1) as f64;
        LoadReport {
            spec: self.spec(),
            asked_cpu_ns: (over_ns as f64 * self.config.load * f64::from(self.config.threads)) as u64,
            achieved_cpu_ns: (achieved as f64 * scale) as u64,
            alive,
        }
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for burner in self.burners.drain(..) {
            // The child is still ours unless it was reaped; then the result is ECHILD, and no signal is sent.
            if matches!(process::try_wait_for(burner.pid), Ok(None)) {
                let _ = signal::kill(burner.pid, signal::SIGKILL);
                let _ = process::wait_for(burner.pid);
            }
        }
    }
}

fn run_burner(config: &Config, cells: &TaskCells, index: usize) -> i32 {
    let stop: StopFlag = cells.stop_flag();
    let before = thread_cpu_ns();
    cells.group(index)[RUNNING].store(1, Release);
    burn::burn(config, &stop, cells.counter(index), |_| {});
    cells.group(index)[CPU_NS].store((thread_cpu_ns() - before).max(1), Release);
    0
}
