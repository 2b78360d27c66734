//! The task of this binary in a guest booted for trials: `schedlab __guest TASK ANSWERS`, with a JSON file and a
//! directory of JSON files; and how the host reads the results.

use crate::commands::doctor;
use anyhow::{Context, Result, bail};
use schedlab_host::Roots;
use schedlab_plan::{GuestAnswer, GuestOrder, GuestResult, GuestTask, Plan, TrialOutcome};
use schedlab_sys::interrupt::Interrupt;
use schedlab_trial::HostRunner;
use schedlab_vm::guest::{self, Keeper};
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The hidden first argument.
pub(crate) const ARGUMENT: &str = "__guest";

/// The guest has its own limit, by the host's clock.
const TRIAL_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// In the directory of results: the result without its outcomes. Each outcome is a separate file, so that the guest
/// sends it only once.
const ANSWER: &str = "answer.json";

type Outcome = Result<TrialOutcome, String>;

/// Does the task, and writes the result even if it failed.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> Result<()> {
    let paths: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let [task, answers] = paths.as_slice() else { bail!("{ARGUMENT} takes a task and a directory for answers") };
    let text = std::fs::read(task).with_context(|| format!("{} cannot be read", task.display()))?;
    let task: GuestTask = serde_json::from_slice(&text).with_context(|| format!("{} is no task", task.display()))?;
    std::fs::create_dir_all(answers).with_context(|| format!("{} cannot be made", answers.display()))?;
    match task {
        GuestTask::Prepare { plan_toml } => {
            let prepared = prepare(&plan_toml);
            let result = prepared.unwrap_or_else(|error| GuestResult::Failed(format!("{error:#}")));
            write(&answers.join(ANSWER), &answered(result))
        }
        GuestTask::Toggles => {
            let toggles = schedlab_tune::toggles(&schedlab_tune::Roots::default());
            write(&answers.join(ANSWER), &answered(GuestResult::Toggles(toggles)))
        }
        GuestTask::Trials(ordered) => run_trials(ordered, answers),
    }
}

/// The result of a guest that has sent these files.
pub(super) fn read(files: &[(String, Vec<u8>)]) -> Result<Option<GuestAnswer>> {
    let is_answer = |file: &&(String, Vec<u8>)| Path::new(&file.0).file_name().is_some_and(|name| name == ANSWER);
    let Some((_, text)) = files.iter().find(is_answer) else { return Ok(None) };
    let mut answer: GuestAnswer = serde_json::from_slice(text).context("the guest's answer cannot be read")?;
    if let GuestResult::Measured(outcomes) = &mut answer.result {
        let mut sent: Vec<_> = files.iter().filter(|file| !is_answer(file)).collect();
        sent.sort_unstable();
        for (path, text) in sent {
            let outcome = serde_json::from_slice(text).with_context(|| format!("the guest's {path} cannot be read"))?;
            outcomes.push(outcome);
        }
    }
    Ok(Some(answer))
}

/// Each outcome is sent before the next trial begins, so that it is not lost if the guest dies.
fn run_trials(ordered: Vec<GuestOrder>, answers: &Path) -> Result<()> {
    let (mut runner, mut keeper) = (HostRunner::of_this_host()?, Keeper::of_this_guest());
    let interrupt = Interrupt::catch().context("signals cannot be caught")?;
    let last = ordered.len().saturating_sub(1);
    for (number, one) in ordered.into_iter().enumerate() {
        let is_wanted = !one.again;
        let outcome: Outcome = measured(&mut runner, one).map_err(|error| format!("{error:#}"));
        let mut made = Vec::new();
        if number == 0 {
            made.push(answers.join(ANSWER));
            write(&made[0], &answered(GuestResult::Measured(Vec::new())))?;
        }
        let file = answers.join(format!("{number:05}.json"));
        write(&file, &outcome)?;
        made.push(file);
        // As on a host, an interrupt lets the trial in progress end.
        if interrupt.requested() && is_wanted {
            break;
        }
        if let Some(keeper) = keeper.as_mut().filter(|_| number < last) {
            made.iter().try_for_each(|file| keeper.keep(file)).context("an answer cannot be sent to the host")?;
        }
    }
    Ok(())
}

/// One trial under its settings; those of the trial before are reverted. A setting that cannot be applied is reported
/// next to what was measured, as on a host.
fn measured(runner: &mut HostRunner, GuestOrder { order, settings, .. }: GuestOrder) -> Result<TrialOutcome> {
    let applied = runner.apply(&settings)?;
    runner.under(applied, order, TRIAL_LIMIT)?.map_err(anyhow::Error::msg)
}

/// Only a few checks: code that runs once mostly takes QEMU's time to translate it. All checks of `doctor` took four
/// times as long as a short trial.
fn answered(result: GuestResult) -> GuestAnswer {
    let proc =
        |name: &str| std::fs::read_to_string(Path::new("/proc").join(name)).unwrap_or_default().trim().to_owned();
    GuestAnswer {
        result,
        boot_id: proc("sys/kernel/random/boot_id"),
        kernel_release: proc("sys/kernel/osrelease"),
        cmdline: proc("cmdline"),
        topology: schedlab_host::arrangement(&Roots::default()),
        words_without_effect: guest::words_without_effect(),
        other_machine: guest::other_machine(),
    }
}

fn write(file: &Path, what: &impl Serialize) -> Result<()> {
    let text = schedlab_plan::json::pretty(what).context("the answer has no JSON form")?;
    std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

fn prepare(plan_toml: &str) -> Result<GuestResult> {
    let plan = Plan::parse(plan_toml)?;
    let manifest = schedlab_trial::prepare::manifest(&plan, Vec::new(), doctor::environment(true))?;
    Ok(GuestResult::Prepared(Box::new(manifest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcomes_that_a_guest_has_sent_are_its_answer_in_their_order() {
        let answer = answered(GuestResult::Measured(Vec::new()));
        let file = |name: &str, text: String| (format!("/schedlab/answers/{name}"), text.into_bytes());
        let outcome = |why: &str| serde_json::to_string(&Outcome::Err(why.to_owned())).unwrap();
        let sent = [
            file("00001.json", outcome("second")),
            file(ANSWER, serde_json::to_string(&answer).unwrap()),
            file("00000.json", outcome("first")),
        ];
        let GuestResult::Measured(outcomes) = read(&sent).unwrap().unwrap().result else { panic!("it measured") };
        assert_eq!(outcomes, [Err("first".to_owned()), Err("second".to_owned())]);
        assert!(read(&sent[..1]).unwrap().is_none(), "an outcome without its guest");
        assert!(read(&[sent[1].clone(), file("00000.json", "cut".into())]).is_err());
    }
}
