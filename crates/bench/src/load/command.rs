//! A command as a load: it has its own subreaper, runs while the workload runs, and is ended with its whole tree.

use super::not_of_a_load;
use crate::error::BenchError;
use crate::exec::{self, Config, Running, tree};
use schedlab_plan::{LoadReport, WorkloadSpec, units};
use schedlab_sys::clock::monotonic_ns;
use std::collections::BTreeSet;
use std::path::Path;

/// Options of `exec` that have no meaning for a load.
const NOT_OF_A_LOAD: &[&str] =
    &["metric", "pointer", "name", "unit", "direction", "pick", "output", "warmup", "timeout"];
/// How long `setup` may take.
const SETUP_NS: u64 = 600_000_000_000;

/// Reads and validates the spec of a command load.
pub(super) fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let mut config = exec::read(spec)?;
    if let Some(key) = NOT_OF_A_LOAD.iter().find(|key| spec.args.contains_key(**key)) {
        return Err(not_of_a_load(exec::INFO.name, key));
    }
    for key in ["warmup", "timeout"] {
        config.spec.args.remove(key);
    }
    // The trial ends it, not a time-out.
    config.script.timeout_ns = u64::MAX;
    Ok(config)
}

/// A running command load; dropping it ends its tree.
#[derive(Debug)]
pub(super) struct CommandLoad {
    spec: String,
    running: Running,
    started_ns: u64,
    /// CPU time of the tree just before the workload started.
    before_ns: u64,
    trouble: Option<String>,
}

impl CommandLoad {
    /// Starts the command and lets it settle.
    pub(super) fn start(config: &Config, separate_session: bool) -> Result<Self, BenchError> {
        config.script.check()?;
        let mut script = config.script.clone();
        script.new_session = separate_session;
        let mut running = Running::start(&script)?;
        let spec = config.spec.to_string();
        let give_up = monotonic_ns() + SETUP_NS;
        if running.ready(give_up)?.is_none() {
            return Err(BenchError::Command(format!("the setup of the load {spec} did not end")));
        }
        running.release()?;
        let started_ns = monotonic_ns();
        let mut load = Self { spec, running, started_ns, before_ns: 0, trouble: None };
        load.listen(started_ns + config.settle_ns);
        if let Some(why) = load.trouble.take() {
            return Err(BenchError::Command(format!("the load {} {why}", load.spec)));
        }
        load.before_ns = load.cpu_ns();
        Ok(load)
    }

    /// Watches, until the deadline, for the command's end.
    fn listen(&mut self, deadline_ns: u64) {
        if self.trouble.is_some() {
            return;
        }
        self.trouble = match self.running.ended(deadline_ns) {
            Ok(None) => None,
            Ok(Some(at_ns)) => {
                let after = units::format_ns(at_ns.saturating_sub(self.started_ns) / 1_000_000 * 1_000_000);
                Some(format!("ended by itself {after} after its start; it must outlast the trial"))
            }
            Err(error) => Some(format!("died: {error}")),
        };
    }

    pub(super) fn spec(&self) -> String {
        self.spec.clone()
    }

    pub(super) fn tids(&self) -> Vec<u32> {
        self.tree().iter().map(|process| process.pid).collect()
    }

    fn tree(&self) -> Vec<tree::Process> {
        tree::descendants(&tree::processes(Path::new("/proc")), self.running.subreaper(), &BTreeSet::new())
    }

    /// CPU time of the tree so far, including processes that have ended.
    fn cpu_ns(&self) -> u64 {
        let all = tree::processes(Path::new("/proc"));
        let mut processes = tree::descendants(&all, self.running.subreaper(), &BTreeSet::new());
        // The subreaper's own row contains what it has reaped.
        processes.extend(all.into_iter().filter(|process| process.pid == self.running.subreaper()));
        tree::cpu_ns(Path::new("/proc"), &processes)
    }

    /// Why the load has ended, if it has.
    pub(super) fn trouble(&mut self) -> Option<String> {
        self.listen(0);
        self.trouble.clone()
    }

    /// What it achieved since just before the workload started, scaled to `over_ns` of the `ran_ns` since then; a
    /// command requests no particular share of the CPU time. Ends the tree.
    pub(super) fn report(&mut self, over_ns: u64, ran_ns: u64) -> LoadReport {
        self.listen(0);
        let used_ns = self.cpu_ns().saturating_sub(self.before_ns);
        self.running.stop();
        LoadReport {
            spec: self.spec(),
            asked_cpu_ns: 0,
            achieved_cpu_ns: (used_ns as f64 * over_ns as f64 / ran_ns.max(1) as f64) as u64,
            alive: self.trouble.is_none(),
        }
    }
}
