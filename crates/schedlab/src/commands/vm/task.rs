//! What the binary does in a guest that was booted for trials: `schedlab __guest TASK ANSWER`, both files of JSON.

use crate::commands::doctor;
use crate::session::Host;
use anyhow::{Context, Result, anyhow, bail};
use schedlab_run::{GuestAnswer, GuestOrder, GuestResult, GuestTask, Plan, TrialOutcome};
use schedlab_sys::interrupt::Interrupt;
use schedlab_trial::{ExecRunner, HostSettings, run_in_cgroups};
use schedlab_vm::guest::{self, Keeper};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The hidden first argument.
pub(crate) const ARGUMENT: &str = "__guest";

/// The guest has a limit of its own, by the host's clock.
const TRIAL_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// Does the task, and writes the answer also when it failed.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> Result<()> {
    let files: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let [task, answer] = files.as_slice() else { bail!("{ARGUMENT} takes a task and an answer") };
    let text = std::fs::read(task).with_context(|| format!("{} cannot be read", task.display()))?;
    let task: GuestTask = serde_json::from_slice(&text).with_context(|| format!("{} is no task", task.display()))?;
    match task {
        GuestTask::Prepare { plan_toml, command } => {
            let prepared = prepare(&plan_toml, command);
            let result = prepared.unwrap_or_else(|error| GuestResult::Failed(format!("{error:#}")));
            write(answer, &answered(true, result))
        }
        GuestTask::Trials(ordered) => run_trials(ordered, answer),
    }
}

/// What is done leaves the guest before the next trial begins, lest a guest that dies takes it along.
fn run_trials(ordered: Vec<GuestOrder>, file: &Path) -> Result<()> {
    let (mut host, mut keeper) = (Host::default(), Keeper::of_this_guest());
    let (mut answer, mut outcomes) = (None, Vec::new());
    let count = ordered.len();
    let interrupt = Interrupt::catch().context("signals cannot be caught")?;
    for one in ordered {
        let is_wanted = !one.again;
        outcomes.push(measured(&mut host, one).map_err(|error| format!("{error:#}")));
        let result = GuestResult::Measured(outcomes.clone());
        let so_far = match answer.take() {
            None => answered(false, result),
            Some(before) => GuestAnswer { result, ..before },
        };
        write(file, &so_far)?;
        answer = Some(so_far);
        // As on a host, an interrupt lets the trial in progress end.
        if interrupt.requested() && is_wanted {
            break;
        }
        if let Some(keeper) = keeper.as_mut().filter(|_| outcomes.len() < count) {
            keeper.keep(file).context("an answer cannot be sent to the host")?;
        }
    }
    Ok(())
}

/// One trial under its settings; those of the trial before are taken back. A setting that does not take is told beside what was
/// measured, as on a host.
fn measured(host: &mut Host, GuestOrder { mut order, settings, .. }: GuestOrder) -> Result<TrialOutcome> {
    let mut applied = host.apply(&settings)?;
    order.cgroup_procs = host.cgroup_procs();
    let mut runner = ExecRunner::of_this_binary();
    let mut outcome = run_in_cgroups(host, &mut runner, &mut order, TRIAL_LIMIT)?.map_err(|why| anyhow!(why))?;
    applied.append(&mut outcome.applied);
    Ok(TrialOutcome { applied, ..outcome })
}

fn answered(probed: bool, result: GuestResult) -> GuestAnswer {
    GuestAnswer {
        result,
        environment: doctor::environment(probed),
        words_without_effect: guest::words_without_effect(),
        other_machine: guest::other_machine(),
    }
}

fn write(file: &Path, answer: &GuestAnswer) -> Result<()> {
    let text = schedlab_run::json::pretty(answer).context("the answer has no JSON form")?;
    std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

fn prepare(plan_toml: &str, command: Vec<String>) -> Result<GuestResult> {
    let plan = Plan::parse(plan_toml)?;
    let manifest = schedlab_trial::prepare::manifest(&plan, command, doctor::environment(true))?;
    Ok(GuestResult::Prepared(Box::new(manifest)))
}
