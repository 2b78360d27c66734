//! What the binary does in a guest that was booted for one trial: `schedlab __guest TASK ANSWER`, both files of JSON.

use crate::commands::{bench, doctor};
use anyhow::{Context, Result, bail};
use schedlab_run::{GuestAnswer, GuestResult, GuestTask, Plan};
use std::path::Path;

/// The hidden first argument.
pub(crate) const ARGUMENT: &str = "__guest";

/// Does the task, and writes the answer also when it failed.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [task, answer] = arguments else { bail!("{ARGUMENT} takes a task and an answer") };
    let text = std::fs::read(task).with_context(|| format!("{task} cannot be read"))?;
    let task: GuestTask = serde_json::from_slice(&text).with_context(|| format!("{task} is no task"))?;
    let (probed, result) = match task {
        GuestTask::Prepare { plan_toml, command } => (true, prepare(&plan_toml, command)),
        GuestTask::Trial { order, settings } => {
            let measured = bench::run_once(&order, &settings);
            (false, measured.map(|outcome| GuestResult::Measured(Box::new(outcome))))
        }
    };
    let result = result.unwrap_or_else(|error| GuestResult::Failed(format!("{error:#}")));
    let answered = GuestAnswer { result, environment: doctor::environment(probed) };
    let text = serde_json::to_vec(&answered).context("the answer has no JSON form")?;
    std::fs::write(Path::new(answer), text).with_context(|| format!("{answer} cannot be written"))
}

fn prepare(plan_toml: &str, command: Vec<String>) -> Result<GuestResult> {
    let plan = Plan::parse(plan_toml)?;
    let manifest = schedlab_trial::prepare::manifest(&plan, command, doctor::environment(true))?;
    Ok(GuestResult::Prepared(Box::new(manifest)))
}
