//! The herd is the set of a workload's tasks: processes or threads that get ready, block at a gate, are released by one
//! byte that nobody consumes (poll is level-triggered, so it wakes them all), run their loop and end. The control
//! process supervises them: after any failure all tasks are ended before the error is returned, and no child outlives
//! its parent.

mod burn;
mod gate;
mod supervise;

use burn::burn;
pub(crate) use gate::Gate;
pub(crate) use supervise::Timeline;

use crate::error::BenchError;
use crate::observer::HerdTask;
use crate::task::{OwnCell, Step, TaskCells, TaskError, Work};
use schedlab_plan::lane::Dither;
use schedlab_sys::process::{self, Reaped};
use schedlab_sys::signal;
use schedlab_sys::thread::{self, HerdThread};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Processes or threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Process,
    Thread,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Thread => "thread",
        }
    }
}

#[derive(Debug)]
enum Handle {
    Process { pid: u32, reaped: Option<Reaped> },
    Thread { failed: Arc<AtomicBool>, thread: HerdThread },
}

#[derive(Debug)]
struct Member {
    role: &'static str,
    group: u32,
    handle: Handle,
}

/// The tasks started so far; dropping it kills and reaps those that still run.
#[derive(Debug)]
pub(crate) struct Herd {
    cells: TaskCells,
    gate: Arc<Gate>,
    dither: Option<Dither>,
    members: Vec<Member>,
}

impl Herd {
    pub(crate) fn new(cells: TaskCells, gate: Gate, capacity: usize, dither: Option<Dither>) -> Self {
        Self { cells, gate: Arc::new(gate), dither, members: Vec::with_capacity(capacity) }
    }

    /// The number the next task will get.
    pub(crate) fn next_task(&self) -> usize {
        self.members.len()
    }

    /// Forks a task. In the child, `prepare` runs before the gate (it closes what the reference closes there, and
    /// allocates; the parent's descriptors are not affected), and `body` runs between the gate and `_exit`.
    pub(crate) fn fork<T>(
        &mut self,
        role: &'static str,
        group: u32,
        prepare: impl FnOnce() -> Result<T, TaskError>,
        body: impl FnOnce(T) -> Result<Work, TaskError>,
    ) -> Result<(), BenchError> {
        let (task, cells, gate) = (self.members.len(), &self.cells, &self.gate);
        let burnt_ns = self.burnt_ns(task);
        let parent = thread::current_pid();
        let forked = process::fork_child(|| {
            let lives = || {
                process::die_with_parent(parent).map_err(TaskError::at(Step::ParentGone))?;
                prepare()
            };
            run_task(cells, task, gate, burnt_ns, true, lives, body)
        });
        let pid = forked.map_err(BenchError::io(format!("forking {role} {task} of group {group}")))?;
        self.members.push(Member { role, group, handle: Handle::Process { pid, reaped: None } });
        Ok(())
    }

    /// Starts a task as a thread.
    pub(crate) fn spawn<T>(
        &mut self,
        role: &'static str,
        group: u32,
        prepare: impl FnOnce() -> Result<T, TaskError> + Send + 'static,
        body: impl FnOnce(T) -> Result<Work, TaskError> + Send + 'static,
    ) -> Result<(), BenchError> {
        let (task, cells, gate) = (self.members.len(), self.cells.clone(), Arc::clone(&self.gate));
        let failed = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&failed);
        let burnt_ns = self.burnt_ns(task);
        let spawned = HerdThread::spawn(move || {
            let code = run_task(&cells, task, &gate, burnt_ns, false, prepare, body);
            flag.store(code != 0, Ordering::Release);
        });
        let thread = spawned.map_err(BenchError::io(format!("starting thread {role} {task} of group {group}")))?;
        self.members.push(Member { role, group, handle: Handle::Thread { failed, thread } });
        Ok(())
    }

    /// Starts a task, as a process or thread depending on the mode; the task owns its `part`.
    pub(crate) fn start<P: Send + Sync + 'static, T>(
        &mut self,
        mode: Mode,
        role: &'static str,
        group: u32,
        part: P,
        prepare: impl FnOnce(&P) -> Result<T, TaskError> + Send + 'static,
        body: impl FnOnce(&P, T) -> Result<Work, TaskError> + Send + 'static,
    ) -> Result<(), BenchError> {
        match mode {
            Mode::Process => self.fork(role, group, || prepare(&part), |state| body(&part, state)),
            Mode::Thread => {
                let part = Arc::new(part);
                let mine = Arc::clone(&part);
                self.spawn(role, group, move || prepare(&mine), move |state| body(&part, state))
            }
        }
    }

    /// CPU time that a task burns before it is ready.
    fn burnt_ns(&self, task: usize) -> u64 {
        self.dither.map_or(0, |dither| dither.ns_of(task))
    }

    /// The tasks as the observer sees them.
    pub(crate) fn tasks(&self) -> Vec<HerdTask> {
        let task = |(i, m): (usize, &Member)| HerdTask { tid: self.cells.tid(i), role: m.role, group: m.group };
        self.members.iter().enumerate().map(task).collect()
    }

    /// The tasks as rows of the outcome.
    pub(crate) fn records(&self) -> Vec<schedlab_plan::TaskRecord> {
        let record = |(task, member): (usize, &Member)| {
            let usage = match &member.handle {
                Handle::Process { reaped, .. } => reaped.map(|reaped| reaped.rusage),
                Handle::Thread { .. } => None,
            };
            self.cells.record(task, member.role, member.group, usage)
        };
        self.members.iter().enumerate().map(record).collect()
    }

    /// Kills (SIGKILL) and reaps every process that is left; threads end with the trial process. Safe to call twice.
    pub(crate) fn take_down(&mut self) {
        self.cells.stop_flag().set();
        for member in &self.members {
            if let Handle::Process { pid, reaped: None } = member.handle {
                // The process has not been reaped, so the pid is still ours and cannot be a stranger's.
                let _ = signal::kill(pid, signal::SIGKILL);
            }
        }
        for member in &mut self.members {
            if let Handle::Process { pid, reaped: reaped @ None } = &mut member.handle {
                *reaped = process::wait_for(*pid).ok();
            }
        }
    }
}

impl Drop for Herd {
    fn drop(&mut self) {
        self.take_down();
    }
}

/// A task's life; returns the exit code. Everything before the gate and after `body` is outside the timed loop.
fn run_task<T>(
    cells: &TaskCells,
    task: usize,
    gate: &Gate,
    burnt_ns: u64,
    whole_process: bool,
    prepare: impl FnOnce() -> Result<T, TaskError>,
    body: impl FnOnce(T) -> Result<Work, TaskError>,
) -> i32 {
    let own = OwnCell::prepare(cells, task);
    let ready = prepare().and_then(|state| {
        if burnt_ns > 0 {
            // After `prepare`, which moves the task to its CPU. The burn does not count towards what the task used.
            burn(burnt_ns);
            own.take_baselines();
        }
        gate.ready_and_wait().map(|()| state)
    });
    let outcome = ready.and_then(body);
    match own.finish(outcome, whole_process) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}
