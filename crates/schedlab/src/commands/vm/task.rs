//! What the binary does in a guest that was booted for one trial: `schedlab __guest TASK ANSWER`, both files of JSON.

use crate::commands::{bench, doctor};
use anyhow::{Context, Result, bail};
use schedlab_run::{GuestAnswer, GuestResult, GuestTask, Plan};
use schedlab_vm::guest;
use std::ffi::OsString;
use std::path::PathBuf;

/// The hidden first argument.
pub(crate) const ARGUMENT: &str = "__guest";

/// Does the task, and writes the answer also when it failed.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> Result<()> {
    let files: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let [task, answer] = files.as_slice() else { bail!("{ARGUMENT} takes a task and an answer") };
    let text = std::fs::read(task).with_context(|| format!("{} cannot be read", task.display()))?;
    let task: GuestTask = serde_json::from_slice(&text).with_context(|| format!("{} is no task", task.display()))?;
    let (probed, result) = match task {
        GuestTask::Prepare { plan_toml, command } => (true, prepare(&plan_toml, command)),
        GuestTask::Trial { order, settings } => {
            let measured = bench::run_once(&order, &settings);
            (false, measured.map(|outcome| GuestResult::Measured(Box::new(outcome))))
        }
    };
    let result = result.unwrap_or_else(|error| GuestResult::Failed(format!("{error:#}")));
    let answered = GuestAnswer {
        result,
        environment: doctor::environment(probed),
        words_without_effect: guest::words_without_effect(),
        other_machine: guest::other_machine(),
    };
    let text = schedlab_run::json::pretty(&answered).context("the answer has no JSON form")?;
    std::fs::write(answer, text).with_context(|| format!("{} cannot be written", answer.display()))
}

fn prepare(plan_toml: &str, command: Vec<String>) -> Result<GuestResult> {
    let plan = Plan::parse(plan_toml)?;
    let manifest = schedlab_trial::prepare::manifest(&plan, command, doctor::environment(true))?;
    Ok(GuestResult::Prepared(Box::new(manifest)))
}
