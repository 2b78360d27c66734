//! The one loop of schedlab: sweeps, A/B comparisons and self-tests all run here. Workload after workload, block after
//! block, trial after trial. The results of a trial are stored before the next one starts; if a runner runs several
//! trials side by side, before the next group of them starts.
//!
//! The loop knows no workload, no knob path and no terminal: [`Runner`] runs a trial under its arm's settings,
//! [`Store`] keeps the rows, and events go to a closure. With fakes for all three it is tested in microseconds.

mod block;
pub(crate) mod kept;
mod orders;
mod tried;
mod turns;

use crate::contamination::Watch;
use crate::require;
use crate::runner::Runner;
use crate::stopping::{Pace, Stop};
use crate::tally::Tally;
use anyhow::{Context, Result, bail};
use kept::keep_what_stopping_needs;
use schedlab_plan::manifest::{Design, LookRecord};
use schedlab_plan::{
    Applied, MIN_UNITS, Manifest, NamedHistogram, Requirement, Setting, Stamping, TrialRecord, TrialStatus,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Stores the run: each call returns when its data are durable.
pub trait Store {
    /// One finished trial.
    fn trial(&mut self, record: &TrialRecord) -> Result<()>;
    /// The manifest with what has happened so far.
    fn manifest(&mut self, manifest: &Manifest) -> Result<()>;
}

/// What the loop reports while it runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// A workload's first trial comes next.
    Workload {
        /// Index in the manifest.
        index: u32,
        /// Number of blocks, if the design fixes it.
        planned: Option<u32>,
    },
    /// A trial has ended and is stored.
    Trial {
        /// The trial.
        record: &'a TrialRecord,
        /// All rows so far.
        trials: &'a [TrialRecord],
        /// The run.
        manifest: &'a Manifest,
    },
    /// The pilot is over: how long a block takes and how many fit.
    Forecast {
        /// Index in the manifest.
        workload: u32,
        /// What a block takes, ns.
        block_ns: u64,
        /// Number of blocks that fit the design.
        blocks: u32,
        /// All rows so far.
        trials: &'a [TrialRecord],
        /// The run.
        manifest: &'a Manifest,
    },
    /// An arm is not in force and is left out of further blocks.
    ArmDropped {
        /// Index in the manifest.
        workload: u32,
        /// Index in the manifest.
        arm: u32,
        /// Why it is not applied.
        reason: &'a str,
    },
    /// A sequential design has taken an interim look.
    Look {
        /// The look.
        look: &'a LookRecord,
        /// All rows so far.
        trials: &'a [TrialRecord],
        /// The run.
        manifest: &'a Manifest,
    },
    /// A workload is done, and why.
    Ended {
        /// Index in the manifest.
        workload: u32,
        /// As in the manifest's `ended`.
        reason: &'a str,
    },
}

/// Everything the loop works on.
pub struct Experiment<'a> {
    /// What is run; `looks` and `ended` are filled in by the loop.
    pub manifest: Manifest,
    /// Rows so far, including those of an interrupted run. Of a stored trial the loop keeps only what the stopping
    /// rules need; the complete rows are in the store.
    pub trials: Vec<TrialRecord>,
    /// Where trials run and settings are applied.
    pub runner: &'a mut dyn Runner,
    /// Watches the machine; `None` in tests.
    pub watch: Option<Watch>,
    /// Where rows are kept.
    pub store: &'a mut dyn Store,
    /// The directory for the traces of arms with `trace=on`.
    pub traces: PathBuf,
    /// Receives the events.
    pub events: &'a mut dyn FnMut(Event<'_>),
    /// Whether the user wants to stop; asked between trials.
    pub interrupted: &'a dyn Fn() -> bool,
    /// CLOCK_MONOTONIC, ns.
    pub clock: &'a dyn Fn() -> u64,
    /// CLOCK_REALTIME, ns.
    pub wall_clock: &'a dyn Fn() -> u64,
    /// What the loop finds out; empty at the start.
    pub known: Known,
}

/// What the loop knows of a run.
#[derive(Default)]
pub struct Known {
    /// What the stopping rules need from the rows.
    tally: Tally,
    /// From the plan: each trial is checked against them.
    requirements: Vec<Requirement>,
    /// Host-wide settings of a switchback that had no effect when they were tried.
    not_covered: Vec<Applied>,
    /// By arm, why it cannot be in force here, found out before the first trial.
    refused: BTreeMap<u32, String>,
}

/// Where a trial belongs in the design.
#[derive(Debug, Clone, Copy)]
struct TrialSlot {
    workload: u32,
    arm: Option<u32>,
    block: u32,
    position: u32,
    repeats_block: Option<u32>,
    warm_up: bool,
}

impl Experiment<'_> {
    /// Runs until the end of the plan, a decision, the end of the budget or an interrupt. In any case the measurements
    /// are in `trials`, and `manifest.ended` says why the run ended.
    pub fn run(&mut self) -> Result<()> {
        let ran = self.run_groups();
        // Even if the loop failed: settings that stay in force would be measured by others.
        self.runner.restore()?;
        self.manifest.ended = ran?;
        self.store.manifest(&self.manifest)
    }

    /// Returns why the run ended.
    fn run_groups(&mut self) -> Result<String> {
        let mut reason = "planned".to_owned();
        self.known.requirements = require::of_run(&self.manifest).context("the plan in the manifest cannot be read")?;
        self.cover_switchback()?;
        self.try_arms()?;
        // In place: for a long run there is no room for two lists.
        for at in 0..self.trials.len() {
            keep_what_stopping_needs(&self.manifest, &mut self.trials[at]);
            self.known.tally.add_last(&self.manifest, &self.trials[..=at]);
        }
        for group in self.manifest.groups() {
            let stop = self.run_group(&group)?;
            reason = stop.reason();
            if matches!(stop, Stop::Interrupted | Stop::Void(_)) {
                break;
            }
        }
        Ok(reason)
    }

    /// The trial process alternates host-wide values itself; they are journalled here, before the first trial, so that
    /// a SIGKILL in the middle of a B window is undone like any other.
    fn cover_switchback(&mut self) -> Result<()> {
        if self.manifest.switchback_window_ns.is_none() {
            return Ok(());
        }
        let settings = self.manifest.arms.iter().flat_map(|a| &a.settings);
        let host_wide: Vec<Setting> = settings.filter(|s| !s.is_per_task() && !s.is_trace()).cloned().collect();
        if host_wide.is_empty() {
            return Ok(());
        }
        let tried = self.runner.cover(&host_wide).context("a setting of the switchback cannot be journalled")?;
        self.known.not_covered = tried.into_iter().filter(|a| a.not_applied.is_some()).collect();
        Ok(())
    }

    /// Called after the first trial that has an outcome, and after the warm-up block. If every trial of a plan fails,
    /// or its primary metric does not exist, the run ends here, with the reason, and not after the whole budget.
    fn refuse_hopeless(&self, workload: u32) -> Result<()> {
        let name = &self.manifest.workloads[workload as usize];
        let rows = || self.trials.iter().filter(|t| t.workload == workload);
        let Some(outcome) = rows().find_map(|t| t.outcome.as_ref()) else {
            let why = rows().find_map(|t| match &t.status {
                TrialStatus::Failed(why) => Some(why.as_str()),
                _ => None,
            });
            bail!("{name}: every trial of the warm-up failed: {}", why.unwrap_or("no reason given"));
        };
        let known: Vec<&str> = outcome.metrics.iter().map(|m| m.name.as_str()).collect();
        // The metric may be a quantile, whose distribution a short warm-up may lack.
        let of_one = |whole: &NamedHistogram, p: &str| p.strip_prefix(&whole.name).is_some_and(|q| q.starts_with("_p"));
        let is_quantile = |p: &str| {
            let all = &outcome.histograms;
            let may_come = all.is_empty() && self.manifest.stamping != Stamping::Off;
            p.ends_with("_ns") && (may_come || all.iter().any(|whole| of_one(whole, p)))
        };
        let missing = |p: &&String| !known.contains(&p.as_str()) && !is_quantile(p);
        if let Some(primary) = self.manifest.primary[workload as usize].iter().find(missing) {
            bail!("{name} has no metric `{primary}`; it has {}", known.join(", "));
        }
        Ok(())
    }

    /// If the control is not in force, or only the control is left, there is nothing to compare; a factorial needs no
    /// control.
    fn nothing_left(&self, workload: u32, dropped: &BTreeSet<u32>) -> Option<Stop> {
        let arms = self.manifest.arms.len() as u32;
        let switchback_refused =
            self.manifest.switchback_window_ns.is_some() && self.known.tally.of(workload).is_refused;
        let left = (0..arms).filter(|arm| !dropped.contains(arm)).count();
        let control_lost = dropped.contains(&0) && self.manifest.factorial.is_none();
        (control_lost || left < 2 || switchback_refused).then_some(Stop::NothingToCompare)
    }

    /// Takes an interim look if one is due (or forced, at a fraction), records it, and returns a reason to stop if it
    /// decides the workload.
    fn look(&mut self, workload: u32, pace: &mut Pace, force: Option<f64>) -> Result<Option<Stop>> {
        let Some(fraction) = force.or_else(|| pace.look_due(&self.known.tally)) else { return Ok(None) };
        let blocks = pace.usable_blocks(&self.known.tally);
        if (blocks as usize) < MIN_UNITS {
            return Ok(None);
        }
        match self.manifest.design {
            Design::Fixed { .. } => return Ok(None),
            Design::OpenEnded { .. } => {
                let decided = schedlab_analyze::decided(&self.manifest, &self.trials, workload);
                return Ok(decided.then_some(Stop::Decided));
            }
            Design::Budgeted { .. } => {}
        }
        pace.took_look(fraction);
        self.manifest.looks.retain(|l| !(l.workload == workload && l.blocks == blocks));
        self.manifest.looks.push(LookRecord { workload, blocks, fraction, decided: false });
        // The verdict allows for the look, and the look is stored with it: a resumed run must know that it ended here.
        let decided = schedlab_analyze::decided(&self.manifest, &self.trials, workload);
        self.manifest.looks.last_mut().expect("just pushed").decided = decided;
        self.store.manifest(&self.manifest)?;
        let look = self.manifest.looks.last().expect("just pushed");
        (self.events)(Event::Look { look, trials: &self.trials, manifest: &self.manifest });
        Ok(decided.then_some(Stop::Decided))
    }

    fn arms_not_applied(&self, workload: u32) -> BTreeSet<u32> {
        self.known.tally.of(workload).dropped.clone()
    }
}

/// The `duration` argument of a canonical workload; for a run by loops, one second.
pub fn trial_duration_ns(workload: &schedlab_plan::WorkloadSpec) -> u64 {
    let duration = workload.args.get("duration").and_then(|d| schedlab_plan::units::parse_duration_ns(d).ok());
    duration.filter(|&ns| ns > 0).unwrap_or(1_000_000_000)
}

/// Whether a workload runs for a given time, and not for a number of loops or until a command ends.
pub fn is_timed(workload: &schedlab_plan::WorkloadSpec) -> bool {
    !workload.args.contains_key("loops") && workload.name != "exec"
}

/// The file of a trial's trace, in the directory of a run's traces.
pub fn trace_file(traces: &Path, trial: u64) -> PathBuf {
    traces.join(format!("{trial:08}.slt"))
}
