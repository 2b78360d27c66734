//! `--load`: burners beside a workload. They are forked by the trial process before the workload, run until they are
//! stopped, share the trial's session, autogroup and cgroup unless told otherwise, and report what they achieved: a
//! load that did not get its CPU time is a fact about the trial.

use crate::burn::{self, Config};
use crate::error::BenchError;
use crate::task::{StopFlag, TaskCells};
use schedlab_run::{LoadReport, WorkloadSpec};
use schedlab_sys::clock::{monotonic_ns, sleep_until_ns, thread_cpu_ns};
use schedlab_sys::{affinity, process, signal, thread};
use std::sync::atomic::Ordering::{Acquire, Release};

/// Words a burner leaves in its group line: it runs, and the CPU time it used at its end (complete when not 0).
const RUNNING: usize = 0;
const CPU_NS: usize = 1;

struct Burner {
    pid: u32,
    load: usize,
}

/// Running background loads; dropping them kills and reaps every burner.
pub struct Load {
    configs: Vec<Config>,
    cells: TaskCells,
    burners: Vec<Burner>,
    started_ns: u64,
}

impl std::fmt::Debug for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Load").field("burners", &self.burners.len()).finish_non_exhaustive()
    }
}

impl Load {
    /// Validates that the specs can be loads: `burn` only, without an end of their own.
    pub fn check(specs: &[WorkloadSpec]) -> Result<(), BenchError> {
        specs.iter().try_for_each(|spec| read(spec).map(|_| ()))
    }

    /// Forks the burners and waits until each of them runs. `separate_session`: each load gets a session of its own
    /// (with autogroup on: a task group of its own).
    pub fn start(specs: &[WorkloadSpec], separate_session: bool) -> Result<Self, BenchError> {
        let configs = specs.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let burners: usize = configs.iter().map(|config| config.threads as usize).sum();
        let cells =
            TaskCells::new(burners, burners, false).map_err(BenchError::io("mapping the load's shared cells"))?;
        let mut load = Self { configs, cells, burners: Vec::with_capacity(burners), started_ns: monotonic_ns() };
        for number in 0..load.configs.len() {
            for _ in 0..load.configs[number].threads {
                load.fork_burner(number, separate_session)?;
            }
        }
        load.wait_until_running()?;
        load.started_ns = monotonic_ns();
        Ok(load)
    }

    fn fork_burner(&mut self, number: usize, separate_session: bool) -> Result<(), BenchError> {
        let (index, config, cells) = (self.burners.len(), &self.configs[number], &self.cells);
        let trial = thread::current_pid();
        let forked = process::fork_child(|| {
            if process::die_with_parent(trial).is_err() {
                return 1;
            }
            // Every burner a session: a leader's task group is shared by its own children only.
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
        self.burners.push(Burner { pid, load: number });
        Ok(())
    }

    fn wait_until_running(&self) -> Result<(), BenchError> {
        let give_up = monotonic_ns() + 30_000_000_000;
        for (index, burner) in self.burners.iter().enumerate() {
            while self.cells.group(index)[RUNNING].load(Acquire) == 0 {
                if let Ok(Some(_)) = process::try_wait_for(burner.pid) {
                    let what = "ended before it ran (no right to setsid or to its CPUs?)".to_owned();
                    return Err(BenchError::TaskFailed {
                        role: "burner",
                        tid: burner.pid,
                        group: burner.load as u32,
                        what,
                    });
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

    /// Thread ids of the burners, for the task-group table: who shares the workload's group decides what it sees.
    pub fn tids(&self) -> Vec<u32> {
        self.burners.iter().map(|burner| burner.pid).collect()
    }

    /// Stops the burners; one report for each load, over the time since start or the last `over_ns` when that is
    /// given as above 0 and shorter.
    pub fn stop(mut self, over_ns: u64) -> Vec<LoadReport> {
        let ran_ns = monotonic_ns() - self.started_ns;
        self.cells.stop_flag().set();
        let give_up = monotonic_ns() + 2_000_000_000;
        let mut achieved = vec![0u64; self.configs.len()];
        let mut alive = vec![true; self.configs.len()];
        for (index, burner) in self.burners.iter().enumerate() {
            let used = loop {
                let used = self.cells.group(index)[CPU_NS].load(Acquire);
                // Gone without having said how much it used: killed, or reaped by the workload's own wait.
                let gone = !matches!(process::try_wait_for(burner.pid), Ok(None));
                if used > 0 || gone || monotonic_ns() > give_up {
                    break self.cells.group(index)[CPU_NS].load(Acquire).max(used);
                }
                sleep_until_ns(monotonic_ns() + 200_000);
            };
            alive[burner.load] &= used > 0;
            achieved[burner.load] += used;
        }
        self.take_down();
        // The burners' CPU time is known over their whole life; a shorter measured part gets its share of it.
        let over_ns = if over_ns == 0 { ran_ns } else { over_ns.min(ran_ns) };
        let scale = over_ns as f64 / ran_ns.max(1) as f64;
        let report = |(number, config): (usize, &Config)| LoadReport {
            spec: config.spec_of(None).to_string(),
            asked_cpu_ns: (over_ns as f64 * config.load * f64::from(config.threads)) as u64,
            achieved_cpu_ns: (achieved[number] as f64 * scale) as u64,
            alive: alive[number],
        };
        self.configs.iter().enumerate().map(report).collect()
    }

    fn take_down(&mut self) {
        for burner in self.burners.drain(..) {
            // Still ours unless it was reaped, and then the answer is ECHILD and nothing is signalled.
            if matches!(process::try_wait_for(burner.pid), Ok(None)) {
                let _ = signal::kill(burner.pid, signal::SIGKILL);
                let _ = process::wait_for(burner.pid);
            }
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.take_down();
    }
}

fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let info = crate::find(spec)?;
    if info.name != burn::INFO.name {
        let reason = format!("cannot be a background load; write for example --load {}:2x50%", burn::INFO.name);
        return Err(BenchError::Conflict { workload: info.name, reason });
    }
    burn::read(spec)
}

fn run_burner(config: &Config, cells: &TaskCells, index: usize) -> i32 {
    let stop: StopFlag = cells.stop_flag();
    let before = thread_cpu_ns();
    cells.group(index)[RUNNING].store(1, Release);
    burn::burn(config, &stop, cells.counter(index), |_| {});
    cells.group(index)[CPU_NS].store((thread_cpu_ns() - before).max(1), Release);
    0
}
