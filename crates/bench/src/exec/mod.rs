//! `exec/1`: any command as a workload. It yields the command's own figure (found in its output with a regular
//! expression or a JSON pointer) and the resources that its whole process tree used, with the statistics, settings,
//! counters and loads of every other workload.
//!
//! t0 is before the byte that lets the forked, ready child exec the command; t1 is the instant at which its exit is
//! seen. A [`subreaper`] between the trial and the command adopts the processes that the command leaves behind; none of
//! them is left when a trial ends.

mod capture;
mod config;
mod extract;
mod outcome;
mod running;
mod script;
mod steps;
mod subreaper;
pub(crate) mod tree;

pub(crate) use config::{Config, read};
pub(crate) use running::Running;

use crate::error::BenchError;
use crate::herd::Timeline;
use crate::limits::Limits;
use crate::observer::{HerdTask, Observer, Progress, RunOrder};
use crate::task::TaskCells;
use crate::workload::{Workload, WorkloadInfo, option};
use schedlab_plan::{TrialOutcome, WorkloadSpec};
use schedlab_sys::clock::monotonic_ns;
use schedlab_sys::mark;
use script::{Message, Report};

/// `exec/1`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "exec",
    version: 1,
    reference: "any command: pgbench, perf bench, a compile",
    summary: "any command, its own figure and what its process tree used; also a background load",
    operation: "run",
    primary: &["time_s"],
    metrics: outcome::OWN_METRICS,
    options: &[
        option("command", "COMMAND", "", "the command, split into words as a shell does; no shell reads it"),
        option("metric", "REGEX", "", "its first group is the figure; without it wall time is what a verdict is about"),
        option("pointer", "POINTER", "", "JSON pointer to the figure instead, such as /jobs/0/read/iops"),
        option("name", "NAME", "value", "name of the figure"),
        option("unit", "UNIT", "", "its unit, such as 1/s, s or bytes"),
        option("direction", "higher|lower|neutral", "", "which way is good; required with metric or pointer"),
        option("pick", "only|first|last", "only", "which of several matches; only: they must agree"),
        option("output", "stdout|stderr|both", "stdout", "where the figure is printed"),
        option("warmup", "N", "0", "uncounted runs before the measured one, in every trial"),
        option("setup", "COMMAND", "", "run before each run, not measured; what it leaves running stays until cleanup"),
        option("cleanup", "COMMAND", "", "run after each run, also after a failed one"),
        option("timeout", "TIME", "600s", "what each of these may take before it is killed with its whole tree"),
        option("dir", "DIR", "", "directory to run in"),
        option("settle", "TIME", "200ms", "as a load: how long it runs before the workload starts"),
    ],
    shorthand: "COMMAND",
    parse: |spec| Ok(Box::new(read(spec)?)),
};

/// What an outcome is built from, in addition to the report.
struct Run<'a> {
    config: &'a Config,
    order: &'a RunOrder,
    setup_ns: u64,
}

impl Workload for Config {
    fn info(&self) -> &'static WorkloadInfo {
        &INFO
    }

    fn spec(&self) -> WorkloadSpec {
        self.spec.clone()
    }

    fn primary(&self) -> Vec<String> {
        let own = || INFO.primary.iter().map(|name| (*name).to_owned()).collect();
        self.wanted.as_ref().map_or_else(own, |wanted| vec![wanted.name.clone()])
    }

    fn set_duration_ns(&mut self, _ns: u64) -> Result<(), BenchError> {
        let reason = "a command runs until it ends; leave out the trial length, or set the length in the command";
        Err(BenchError::Conflict { workload: INFO.name, reason: reason.into() })
    }

    fn counts_operations(&self) -> bool {
        false
    }

    fn check(&self, limits: &Limits) -> Result<(), BenchError> {
        limits.fit(INFO.name, "a command and its subreaper", 2, 16)?;
        self.script.check()
    }

    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
        order.injects_nothing(INFO.name)?;
        let run = Run { config: self, order, setup_ns: monotonic_ns() };
        observer.before_fork().map_err(BenchError::Observer)?;
        let mut running = Running::start(&self.script)?;
        let Some(pid) = running.ready(u64::MAX)? else {
            return Err(BenchError::Command("the command did not become ready".into()));
        };
        let task = HerdTask { tid: pid, role: "command", group: 0 };
        observer.herd_ready(&[task]).map_err(BenchError::Observer)?;
        observer.releasing();
        mark::begin();
        let mut line = Timeline { t0_ns: monotonic_ns(), ..Timeline::default() };
        running.release()?;
        line.released_ns = monotonic_ns();
        let report = watch(&mut running, observer, &mut line)?;
        (line.drained_ns, line.t1_ns) = (line.steady_end_ns, monotonic_ns());
        outcome::build(&run, &report, &line, pid)
    }
}

/// From the release to the subreaper's last message, with the observer's ticks in between.
fn watch(running: &mut Running, observer: &mut dyn Observer, line: &mut Timeline) -> Result<Report, BenchError> {
    let cells = TaskCells::new(1, 1, false).map_err(BenchError::io("mapping a counter"))?;
    let progress = Progress::new(&cells, &["command"], "command".into());
    observer.released(line.t0_ns);
    let mut next_tick_ns = observer.tick(monotonic_ns(), &progress);
    loop {
        match running.next(next_tick_ns)? {
            Some(Message::Ended { t1_ns }) => {
                mark::end();
                line.steady_end_ns = t1_ns;
                observer.stopped(t1_ns);
                running.go_on();
                next_tick_ns = u64::MAX;
            }
            Some(Message::Finished(report)) => return Ok(*report),
            Some(_) => {}
            None => {
                next_tick_ns = observer.tick(monotonic_ns(), &progress);
                if let Some(why) = observer.trouble() {
                    return Err(BenchError::Observer(why));
                }
            }
        }
    }
}
