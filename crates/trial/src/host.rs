//! Trials on this host: the guard of `tune` applies the settings, then the binary execs itself.

use crate::runner::{Planned, Runner};
use crate::traced::beside_trace;
use anyhow::{Context, Result, bail};
use schedlab_plan::{Applied, CounterLevel, Setting, Stamping, TraceOrder, TrialOrder, TrialOutcome};
use schedlab_sys::interrupt::Interrupt;
use schedlab_sys::net_name;
use schedlab_sys::pipe::drain;
use schedlab_tune::{HostGuard, Roots};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The hidden first argument that makes the binary a trial process; the second one is the id of the process that
/// ordered it.
pub const TRIAL_ARGUMENT: &str = "__trial";

/// How often to check whether a trial should end early: seldom, because the trial is being measured.
const LOOK: Duration = Duration::from_millis(100);

/// Time limit for a trial process that only tries settings.
const TRY: Duration = Duration::from_secs(60);

/// Context of the guard's errors.
const NOT_APPLIED: &str = "a setting could not be applied or restored";

/// Runs trials on this host: each under its settings, in a fresh, small, single-threaded process, however large this
/// process is.
pub struct HostRunner {
    guard: HostGuard,
    /// Set to end a trial early.
    interrupt: Option<Interrupt>,
}

impl HostRunner {
    /// Does not change anything yet; rights and a journal are needed only when a setting asks for them.
    pub fn of_this_host() -> Result<Self> {
        let guard = HostGuard::open(Roots::default(), &schedlab_tune::state_dir())?;
        Ok(Self { guard, interrupt: None })
    }

    /// When `interrupt` is requested, ends the running trial instead of letting it finish; that trial has no outcome.
    #[must_use]
    pub fn ended_by(self, interrupt: Interrupt) -> Self {
        Self { interrupt: Some(interrupt), ..self }
    }

    fn is_ended(&self) -> bool {
        self.interrupt.is_some_and(Interrupt::requested)
    }

    /// Replaces the settings in force by these; a setting that is not named any more gets its original value back.
    pub fn apply(&mut self, settings: &[Setting]) -> Result<Vec<Applied>> {
        Ok(self.guard.apply(settings)?)
    }

    /// Runs a trial under settings that are in force; its outcome lists them first. If its workload spreads its tasks
    /// over cgroups, these are created for the trial and removed after it, so that they are new each time. The outer
    /// error is the host's, the inner one the trial's.
    pub fn under(
        &mut self,
        mut applied: Vec<Applied>,
        mut order: TrialOrder,
        timeout: Duration,
    ) -> Result<Result<TrialOutcome, String>> {
        order.cgroup_procs = self.guard.cgroup_procs();
        let names = schedlab_bench::parse(&order.workload).map(|w| w.cgroups()).unwrap_or_default();
        if !names.is_empty() {
            let made = self.guard.make_trial_groups(&names);
            match made.context("the cgroups of the workload cannot be made restorable")? {
                Ok(procs) => order.workload_cgroups = procs,
                Err(why) => return Ok(Err(format!("{}: {why}", order.workload))),
            }
        }
        let result = self.exec_beside_trace(&order, timeout);
        if !names.is_empty() {
            self.guard.remove_trial_groups().context("the cgroups of the workload could not be removed")?;
        }
        Ok(result.map(|mut outcome| {
            applied.append(&mut outcome.applied);
            TrialOutcome { applied, ..outcome }
        }))
    }

    fn exec_beside_trace(&self, order: &TrialOrder, timeout: Duration) -> Result<TrialOutcome, String> {
        beside_trace(order, &|| self.is_ended(), |order| self.exec(order, timeout))
    }

    /// Tries an order's own settings in a trial process that applies them to itself and has almost nothing else to do.
    /// If that process fails, the result is empty: the trial itself will report the reason.
    fn tried(&self, order: &TrialOrder) -> Vec<Applied> {
        let order = TrialOrder {
            workload: "pipe/1:loops=1".parse().expect("a workload of ours"),
            stamping: Stamping::Off,
            counters: CounterLevel::Basic,
            calls: Vec::new(),
            load: Vec::new(),
            cgroup_procs: self.guard.cgroup_procs(),
            // Only trials write a trace file.
            trace: order.trace.clone().map(|trace| TraceOrder { out: None, ..trace }),
            switchback: None,
            ..order.clone()
        };
        self.exec_beside_trace(&order, TRY).map(|outcome| outcome.applied).unwrap_or_default()
    }
}

impl Runner for HostRunner {
    fn run(&mut self, trial: &Planned) -> Result<Result<TrialOutcome, String>> {
        let applied = self.apply(&trial.settings).context(NOT_APPLIED)?;
        self.under(applied, trial.order.clone(), trial.timeout)
    }

    fn try_settings(&mut self, trial: &Planned) -> Result<Vec<Applied>> {
        let mut applied = self.apply(&trial.settings).context(NOT_APPLIED)?;
        if applied.iter().all(|one| one.not_applied.is_none()) {
            applied.extend(self.tried(&trial.order));
        }
        self.apply(&[]).context("the host's settings could not be restored")?;
        Ok(applied)
    }

    fn cover(&mut self, settings: &[Setting]) -> Result<Vec<Applied>> {
        Ok(self.guard.cover(settings)?)
    }

    fn restore(&mut self) -> Result<()> {
        let failed: Vec<String> =
            self.guard.restore()?.iter().filter(|one| !one.is_done()).map(ToString::to_string).collect();
        if !failed.is_empty() {
            bail!("not restored: {}; try `schedlab tune restore`", failed.join("; "))
        }
        Ok(())
    }

    fn foreign_changes(&self) -> Vec<String> {
        self.guard.foreign_changes()
    }
}

impl HostRunner {
    fn exec(&self, order: &TrialOrder, timeout: Duration) -> Result<TrialOutcome, String> {
        let message = serde_json::to_vec(order).map_err(|e| format!("the trial order cannot be written: {e}"))?;
        let mut child = spawn().map_err(|e| format!("the trial process cannot be started: {e}"))?;
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // A process that died at once closes the pipe; its own message says why, so this error is ignored.
        let _ = stdin.write_all(&message);
        drop(stdin);
        let stdout = drain(child.stdout.take().expect("stdout is piped"));
        let stderr = drain(child.stderr.take().expect("stderr is piped"));
        let status = self.wait(&mut child, timeout)?;
        // The reader threads end with the pipe: the workload's tasks die with their parent (PR_SET_PDEATHSIG).
        let (text, complaint) = (stdout.bytes(), stderr.bytes());
        if !status.success() {
            // A killed trial could not remove the names of its network namespaces. If removing them fails here, the
            // next start tries again.
            let _ = net_name::remove_orphans(Path::new(net_name::RUN_ROOT));
            if self.is_ended() {
                return Err(format!("interrupted: {} was ended before its time and has no outcome", order.workload));
            }
            return Err(describe_failure(status, &String::from_utf8_lossy(&complaint)));
        }
        serde_json::from_slice(&text).map_err(|e| format!("the trial's output is not a valid outcome ({e})"))
    }

    /// Waits until the process has ended, its time limit has passed, or it should end early; the workload's tasks end
    /// with it.
    fn wait(&self, child: &mut Child, timeout: Duration) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + timeout;
        let why = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let next = if self.interrupt.is_some() { left.min(LOOK) } else { left };
            match schedlab_sys::pidfd::wait_exit(child.id(), next) {
                Ok(has_ended) if has_ended || self.is_ended() => {
                    // If it has ended already, there is nothing left to kill.
                    let _ = child.kill();
                    return child.wait().map_err(|e| format!("the trial process cannot be waited for: {e}"));
                }
                Ok(_) if left > next => {}
                Ok(_) => break format!("the trial did not end within {} s and was killed", timeout.as_secs()),
                Err(e) => break format!("the trial process cannot be watched: {e}"),
            }
        };
        let _ = child.kill();
        let _ = child.wait();
        Err(why)
    }
}

/// A process group of its own: a Ctrl-C at the terminal reaches only us, and the running trial ends as planned.
fn spawn() -> std::io::Result<Child> {
    use std::os::unix::process::CommandExt;
    Command::new("/proc/self/exe")
        .args([TRIAL_ARGUMENT, &std::process::id().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

fn describe_failure(status: ExitStatus, complaint: &str) -> String {
    let last = complaint.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("").trim();
    // The message comes from our own program, so its name in front of it is removed.
    let last = last.strip_prefix("schedlab: ").unwrap_or(last);
    match (last.is_empty(), status.code()) {
        (false, _) => last.to_owned(),
        (true, Some(code)) => format!("the trial process exited with {code} and no message"),
        (true, None) => format!("the trial process died: {status}"),
    }
}

#[cfg(test)]
mod tests;
