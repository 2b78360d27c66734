//! `--load`: burners or commands that run while a workload runs. The trial process starts them before the workload;
//! they run until they are stopped, share the trial's session, autogroup and cgroup unless configured otherwise, and
//! report what they achieved. If a load did not get its CPU time, that is a fact about the trial; if it ended early,
//! the trial is an error.

mod burners;
mod command;

use crate::error::BenchError;
use crate::{burn, exec};
use burners::Burners;
use command::CommandLoad;
use schedlab_plan::{LoadReport, WorkloadSpec};
use schedlab_sys::clock::monotonic_ns;

/// A validated load.
enum Config {
    Burn(burn::Config),
    Command(Box<exec::Config>),
}

#[derive(Debug)]
enum Part {
    Burn(Burners),
    Command(Box<CommandLoad>),
}

impl Part {
    fn spec(&self) -> String {
        match self {
            Self::Burn(burners) => burners.spec(),
            Self::Command(command) => command.spec(),
        }
    }
    fn trouble(&mut self) -> Option<String> {
        match self {
            Self::Burn(burners) => burners.trouble(),
            Self::Command(command) => command.trouble(),
        }
    }
}

/// Running background loads; dropping them kills and reaps all their processes.
#[derive(Debug)]
pub struct Load {
    parts: Vec<Part>,
    started_ns: u64,
}

impl Load {
    /// Checks that the specs can be loads: `burn` or `exec`, without an end of their own.
    pub fn check(specs: &[WorkloadSpec]) -> Result<(), BenchError> {
        specs.iter().try_for_each(|spec| match read(spec)? {
            Config::Burn(_) => Ok(()),
            Config::Command(config) => config.script.check(),
        })
    }

    /// Starts the loads and waits until all of them run. `separate_session`: each load gets a session of its own (and,
    /// with autogroup on, its own task group).
    pub fn start(specs: &[WorkloadSpec], separate_session: bool) -> Result<Self, BenchError> {
        let mut load = Self { parts: Vec::with_capacity(specs.len()), started_ns: 0 };
        for (number, spec) in specs.iter().enumerate() {
            load.parts.push(match read(spec)? {
                Config::Burn(config) => Part::Burn(Burners::start(config, separate_session, number)?),
                Config::Command(config) => Part::Command(Box::new(CommandLoad::start(&config, separate_session)?)),
            });
        }
        load.started_ns = monotonic_ns();
        Ok(load)
    }

    /// Process ids of the loads, for the task-group table and for marking our own tasks in traces.
    pub fn tids(&self) -> Vec<u32> {
        let tids = |part: &Part| match part {
            Part::Burn(burners) => burners.tids(),
            Part::Command(command) => command.tids(),
        };
        self.parts.iter().flat_map(tids).collect()
    }

    /// Why a load has ended, if one has; cheap enough to be called ten times a second.
    pub fn trouble(&mut self) -> Option<String> {
        self.parts.iter_mut().find_map(|part| {
            let why = part.trouble()?;
            Some(format!("the background load `{}` {why}", part.spec()))
        })
    }

    /// Stops the loads; returns one report for each, for the time since its start or, if `over_ns` is above 0 and
    /// shorter, for the last `over_ns`.
    pub fn stop(mut self, over_ns: u64) -> Vec<LoadReport> {
        let ran_ns = monotonic_ns() - self.started_ns;
        let over_ns = if over_ns == 0 { ran_ns } else { over_ns.min(ran_ns) };
        for part in &self.parts {
            if let Part::Burn(burners) = part {
                burners.ask_to_stop();
            }
        }
        let report = |part: &mut Part| match part {
            Part::Burn(burners) => burners.report(over_ns, ran_ns),
            Part::Command(command) => command.report(over_ns, ran_ns),
        };
        self.parts.iter_mut().map(report).collect()
    }
}

fn read(spec: &WorkloadSpec) -> Result<Config, BenchError> {
    let info = crate::find(spec)?;
    if info.name == burn::INFO.name {
        if spec.args.contains_key("duration") {
            return Err(not_of_a_load(info.name, "duration"));
        }
        burn::read(spec).map(Config::Burn)
    } else if info.name == exec::INFO.name {
        command::read(spec).map(|config| Config::Command(Box::new(config)))
    } else {
        let reason = "cannot be a background load; write for example --load burn:2x50% or --load 'exec:fio job.fio'";
        Err(BenchError::Conflict { workload: info.name, reason: reason.into() })
    }
}

/// An option that has no meaning for a load.
fn not_of_a_load(workload: &'static str, option: &str) -> BenchError {
    let reason = format!("{option} says nothing of a background load: it runs until its trial ends");
    BenchError::Conflict { workload, reason }
}
