//! Filters for the contents of a trace: the same options for every analysis.

use super::files::open;
use crate::exit::usage;
use anyhow::{Context, Result};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use schedlab_analyze::trace::{Scope, TaskFilter, TimeWindow, cgroup_members, cgroups};
use schedlab_plan::units::CpuList;
use schedlab_report::Filtered;
use std::path::Path;

#[derive(Debug, Default, Args)]
pub(super) struct Filters {
    /// Only tasks whose first or last name is this (a child of a shell is named `sh` until it calls exec; timehist
    /// matches the name at that time); `*` matches any characters; may be given several times
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    comm: Vec<String>,
    /// Only these threads
    #[arg(long, value_name = "TID,…", value_delimiter = ',')]
    tid: Vec<u32>,
    /// Only threads in or below this cgroup, `*` matches any characters; needs a recording of schedlab or of `perf record
    /// --all-cgroups`; may be given several times
    #[arg(long, value_name = "PATH")]
    cgroup: Vec<String>,
    /// Only intervals that end between these times, in seconds as timehist prints them; either end may be left out
    #[arg(long, value_name = "FROM,TO")]
    time: Option<String>,
    /// Only intervals that end on these CPUs
    #[arg(long, value_name = "LIST")]
    cpu: Option<CpuList>,
    /// Only threads that were switched out in these states: R (preempted), R+ (in the kernel), S, D, I, T
    #[arg(long, value_name = "STATE,…")]
    state: Option<String>,
    /// Only these priorities: rt, deadline, fair, or kernel priorities such as 0-49,120
    #[arg(long, value_name = "PRIO,…", allow_hyphen_values = true)]
    prio: Option<String>,
}

/// Options that an analysis refuses, so its help hides them.
pub(super) fn refused(by: Filtered) -> &'static [&'static str] {
    match by {
        Filtered::No | Filtered::All => &[],
        Filtered::NotTasks(_) => &["comm", "tid", "cgroup", "state", "prio"],
        Filtered::NotStates(_) => &["state"],
        Filtered::NotTimes(_) => &["time", "cpu"],
    }
}

impl Filters {
    /// The filters for this file, which is read once to its end to find the members of cgroups.
    pub(super) fn scope(&self, file: &Path) -> Result<Scope> {
        let mut scope = Scope { tasks: self.tasks(file)?, window: self.window()?, ..Scope::default() };
        if let Some(state) = &self.state {
            scope.set_states(state).context("--state")?;
        }
        if let Some(prio) = &self.prio {
            scope.set_prios(prio).context("--prio")?;
        }
        Ok(scope)
    }

    /// Refuses the filters that an analysis does not support.
    pub(super) fn refuse(&self, by: Filtered) -> Result<()> {
        let (why, instead) = match by {
            Filtered::No | Filtered::All => return Ok(()),
            Filtered::NotTasks(why) => (why, ", or ask `trace latency`"),
            Filtered::NotStates(why) => (why, ""),
            Filtered::NotTimes(why) => (why, ", or ask `trace timehist`"),
        };
        if let Some(option) = refused(by).iter().find(|option| self.is_given(option)) {
            usage!("--{option}: {why}; leave it out{instead}");
        }
        Ok(())
    }

    fn is_given(&self, option: &str) -> bool {
        match option {
            "comm" => !self.comm.is_empty(),
            "tid" => !self.tid.is_empty(),
            "cgroup" => !self.cgroup.is_empty(),
            "time" => self.time.is_some(),
            "cpu" => self.cpu.is_some(),
            "state" => self.state.is_some(),
            "prio" => self.prio.is_some(),
            other => unreachable!("--{other} is no filter"),
        }
    }

    fn tasks(&self, file: &Path) -> Result<TaskFilter> {
        let mut tasks = TaskFilter { comms: self.comm.clone(), tids: self.tid.clone(), within: None };
        if !self.cgroup.is_empty() {
            if file == Path::new("-") {
                usage!("--cgroup reads the trace twice, which standard input does not allow: give a file");
            }
            let mut reader = open(file, cgroups::wanted())?;
            tasks.within = Some(cgroup_members(&mut reader, &self.cgroup).context("--cgroup")?);
        }
        Ok(tasks)
    }

    fn window(&self) -> Result<TimeWindow> {
        let cpu = |n: &u32| u16::try_from(*n).ok().map(schedlab_trace::Cpu);
        let cpus = self.cpu.as_ref().map(|list| list.as_slice().iter().filter_map(cpu).collect());
        let mut window = TimeWindow { cpus, ..TimeWindow::default() };
        if let Some(time) = &self.time {
            window.set_times(time).context("--time")?;
        }
        Ok(window)
    }
}
