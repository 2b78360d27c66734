//! The control side of a run: gathers the ready bytes, releases the tasks, waits with ticks and a safety time-out, and
//! reaps.
//!
//! t0 is taken after the last ready byte and before the wake byte, t1 after the last task has been reaped (joined):
//! these are the instants of hackbench's `Time:`.

use super::{Handle, Herd, Member};
use crate::error::BenchError;
use crate::observer::{Counted, Observer, Progress};
use schedlab_sys::clock::{self, monotonic_ns};
use schedlab_sys::mark;
use schedlab_sys::process::{self, ExitStatus, Reaped};
use schedlab_sys::signal::Interrupter;
use schedlab_sys::thread::Joined;
use std::sync::atomic::Ordering;

/// Instants of a run, CLOCK_MONOTONIC ns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Timeline {
    /// Before the wake byte.
    pub(crate) t0_ns: u64,
    /// After it.
    pub(crate) released_ns: u64,
    /// When the stop flag was set, or (loops) when the last task ended its loop.
    pub(crate) steady_end_ns: u64,
    /// When the last task ended its loop.
    pub(crate) drained_ns: u64,
    /// When the last task was reaped or joined: hackbench's stop.
    pub(crate) t1_ns: u64,
    /// Operations counted when the steady state ended; `None` in loops mode, where all of them count.
    pub(crate) steady_operations: Option<u64>,
}

/// When the control process gives up on a run of `expected_ns`: after ten times as long, and at least 30 s.
fn safety_ns(expected_ns: u64) -> u64 {
    expected_ns.saturating_mul(10).max(30_000_000_000)
}

/// What the control process waits for next.
struct Watch<'a> {
    observer: &'a mut dyn Observer,
    progress: Progress<'a>,
    stop_at_ns: u64,
    next_tick_ns: u64,
    give_up_ns: u64,
}

impl Watch<'_> {
    fn deadline(&self) -> u64 {
        self.stop_at_ns.min(self.next_tick_ns).min(self.give_up_ns)
    }
}

impl Herd {
    /// Waits until every task has reported that it is ready; it is an error if one dies before that.
    pub(crate) fn gather(&mut self) -> Result<(), BenchError> {
        let mut patience_ns = 30_000_000_000 + self.members.len() as u64 * 10_000_000;
        if let Some(dither) = self.dither {
            patience_ns += (0..self.members.len()).map(|task| dither.ns_of(task)).sum::<u64>();
        }
        let give_up = monotonic_ns() + patience_ns;
        let mut ready = 0;
        while ready < self.members.len() {
            let now = monotonic_ns();
            if self.gate.take_ready(now + 50_000_000).map_err(BenchError::io("waiting for the tasks to be ready"))? {
                ready += 1;
                continue;
            }
            self.fail_if_one_died()?;
            if now > give_up {
                let unfinished = self.members.len() - ready;
                return Err(BenchError::Hung {
                    unfinished,
                    tasks: self.members.len(),
                    after_s: patience_ns / 1_000_000_000,
                });
            }
        }
        Ok(())
    }

    fn fail_if_one_died(&mut self) -> Result<(), BenchError> {
        for task in 0..self.members.len() {
            let died = match &mut self.members[task].handle {
                Handle::Process { pid, reaped: reaped @ None } => {
                    *reaped = process::try_wait_for(*pid).map_err(BenchError::io("looking for dead children"))?;
                    reaped.map(|reaped| reaped.status)
                }
                Handle::Process { .. } => None,
                Handle::Thread { failed, .. } => failed.load(Ordering::Acquire).then_some(ExitStatus::Exited(1)),
            };
            if let Some(status) = died {
                return Err(self.failure(task, status));
            }
        }
        Ok(())
    }

    fn failure(&self, task: usize, status: ExitStatus) -> BenchError {
        let Member { role, group, ref handle } = self.members[task];
        let tid = match handle {
            Handle::Process { pid, .. } => *pid,
            Handle::Thread { .. } => self.cells.tid(task),
        };
        let what = match (self.cells.error(task), status) {
            (Some(error), _) => error.describe(),
            (None, ExitStatus::Signaled(signal)) => format!("was killed by signal {signal}"),
            (None, ExitStatus::Exited(code)) => format!("ended early with exit code {code}"),
        };
        BenchError::TaskFailed { role, tid, group, what }
    }

    /// Releases the tasks and waits for them to end. With `duration_ns`, sets the stop flag after that time; without,
    /// the tasks end by themselves.
    pub(crate) fn run(
        &mut self,
        observer: &mut dyn Observer,
        duration_ns: Option<u64>,
        expected_ns: u64,
        counted: impl Into<Counted>,
    ) -> Result<Timeline, BenchError> {
        let mut interrupter = Interrupter::new().map_err(BenchError::io("creating the time-out timer"))?;
        observer.herd_ready(&self.tasks()).map_err(BenchError::Observer)?;
        let (cells, gate) = (self.cells.clone(), std::sync::Arc::clone(&self.gate));
        let roles: Vec<&'static str> = self.members.iter().map(|member| member.role).collect();

        observer.releasing();
        mark::begin();
        let t0_ns = monotonic_ns();
        gate.release().map_err(BenchError::io("releasing the tasks"))?;
        let released_ns = monotonic_ns();

        observer.released(t0_ns);
        let progress = Progress::new(&cells, &roles, counted.into());
        let next_tick_ns = observer.tick(monotonic_ns(), &progress);
        let mut watch = Watch {
            observer,
            progress,
            stop_at_ns: duration_ns.map_or(u64::MAX, |ns| t0_ns + ns),
            next_tick_ns,
            give_up_ns: t0_ns + safety_ns(expected_ns),
        };
        let mut line = Timeline { t0_ns, released_ns, ..Timeline::default() };
        self.wait_processes(&mut watch, &mut line, &mut interrupter)?;
        self.wait_threads(&mut watch, &mut line)?;
        line.t1_ns = monotonic_ns();

        line.drained_ns = (0..self.members.len()).map(|task| self.cells.finished_ns(task)).max().unwrap_or(line.t1_ns);
        if line.steady_operations.is_none() {
            line.steady_end_ns = line.drained_ns;
            watch.observer.stopped(line.drained_ns);
        }
        Ok(line)
    }

    fn wait_processes(
        &mut self,
        watch: &mut Watch<'_>,
        line: &mut Timeline,
        interrupter: &mut Interrupter,
    ) -> Result<(), BenchError> {
        let is_left = |m: &&Member| matches!(m.handle, Handle::Process { reaped: None, .. });
        let mut left = self.members.iter().filter(is_left).count();
        while left > 0 {
            match process::wait_any(interrupter, watch.deadline()) {
                Ok(Some(child)) => left -= usize::from(self.note_reaped(child)?),
                Ok(None) => self.at_deadline(watch, line, left)?,
                Err(cause) => return Err(BenchError::Io { doing: "waiting for the tasks".into(), cause }),
            }
        }
        interrupter.arm(u64::MAX);
        Ok(())
    }

    /// Whether the child was one of our tasks (a burner of a background load may end too).
    fn note_reaped(&mut self, child: Reaped) -> Result<bool, BenchError> {
        let is_it = |m: &Member| matches!(m.handle, Handle::Process { pid, .. } if pid == child.pid);
        let Some(task) = self.members.iter().position(is_it) else { return Ok(false) };
        self.members[task].handle = Handle::Process { pid: child.pid, reaped: Some(child) };
        if child.status.success() { Ok(true) } else { Err(self.first_cause(task, child.status)) }
    }

    /// When a task is killed, its partners fail with EPIPE and may be reaped first, but the killed one is the cause.
    /// Its descriptors are closed before it can be reaped, so wait a moment for it.
    fn first_cause(&mut self, task: usize, status: ExitStatus) -> BenchError {
        for _ in 0..10 {
            if let Some(cause) = self.killed_task() {
                return cause;
            }
            clock::sleep_until_ns(monotonic_ns() + 5_000_000);
        }
        self.failure(task, status)
    }

    /// The first task that a signal ended.
    fn killed_task(&mut self) -> Option<BenchError> {
        for other in 0..self.members.len() {
            let Handle::Process { pid, reaped: reaped @ None } = &mut self.members[other].handle else { continue };
            *reaped = process::try_wait_for(*pid).ok().flatten();
            if let Some(Reaped { status: status @ ExitStatus::Signaled(_), .. }) = *reaped {
                return Some(self.failure(other, status));
            }
        }
        None
    }

    fn wait_threads(&mut self, watch: &mut Watch<'_>, line: &mut Timeline) -> Result<(), BenchError> {
        for task in 0..self.members.len() {
            while !self.join_thread(task, watch.deadline())? {
                // The thread that we wait for may hang because another task failed.
                self.fail_if_one_died()?;
                if monotonic_ns() >= watch.deadline() {
                    self.at_deadline(watch, line, self.members.len() - task)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a task's thread has ended well (a process need not be joined); returns at the deadline or after a
    /// second.
    fn join_thread(&mut self, task: usize, deadline_ns: u64) -> Result<bool, BenchError> {
        let Handle::Thread { failed, thread } = &mut self.members[task].handle else { return Ok(true) };
        let look_again = monotonic_ns() + 1_000_000_000;
        let joined = thread.join_until(deadline_ns.min(look_again)).map_err(BenchError::io("joining a thread"))?;
        let failed = failed.load(Ordering::Acquire);
        match joined {
            Joined::NotYet => Ok(false),
            Joined::Done if !failed => Ok(true),
            Joined::Done => Err(self.failure(task, ExitStatus::Exited(1))),
            Joined::Panicked => Err(self.failure(task, ExitStatus::Exited(101))),
        }
    }

    /// A deadline of the watch has come: stop flag, tick, or the end of patience.
    fn at_deadline(&self, watch: &mut Watch<'_>, line: &mut Timeline, unfinished: usize) -> Result<(), BenchError> {
        let now = monotonic_ns();
        // A tick that coincides with the end comes first, because it closes the last window of a switchback.
        if now >= watch.next_tick_ns {
            watch.next_tick_ns = watch.observer.tick(now, &watch.progress);
            if let Some(why) = watch.observer.trouble() {
                return Err(BenchError::Observer(why));
            }
        }
        if now >= watch.stop_at_ns {
            watch.stop_at_ns = u64::MAX;
            mark::end();
            line.steady_operations = Some(watch.progress.operations());
            line.steady_end_ns = monotonic_ns();
            watch.observer.stopped(line.steady_end_ns);
            self.cells.stop_flag().set();
            watch.next_tick_ns = u64::MAX;
        }
        if now >= watch.give_up_ns {
            let after_s = (now - line.t0_ns) / 1_000_000_000;
            return Err(BenchError::Hung { unfinished, tasks: self.members.len(), after_s });
        }
        Ok(())
    }
}
