//! The results in a guest's answer: of each trial that it ran, and of the settings that it was booted with.

use super::booted_with;
use crate::runner::Planned;
use schedlab_plan::{Applied, GuestAnswer, GuestResult, Setting, TrialOutcome};

/// The results of the block's trials in order, at least one: a guest that was told to end has not started the others.
pub(super) fn results(
    answer: Result<GuestAnswer, String>,
    block: &[Planned],
    run: &[usize],
) -> Vec<Result<TrialOutcome, String>> {
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(why) => return vec![Err(why); run.len()],
    };
    let mut outcomes = match &mut answer.result {
        GuestResult::Measured(outcomes) => std::mem::take(outcomes),
        GuestResult::Failed(why) => vec![Err(std::mem::take(why)); run.len()],
        GuestResult::Prepared(_) | GuestResult::Toggles(_) => {
            vec![Err("the guest returned the result of another trial".into()); run.len()]
        }
    };
    if outcomes.is_empty() {
        outcomes.push(Err("the guest did not answer".into()));
    }
    for (outcome, trial) in outcomes.iter_mut().zip(run) {
        if let Ok(outcome) = outcome {
            outcome.applied.extend(booted_with(&block[*trial].settings).iter().map(|s| in_force(s, &answer)));
        }
    }
    outcomes
}

/// As shown by the guest's kernel. Even a word that the kernel does not know is on its command line.
pub(super) fn in_force(setting: &Setting, answer: &GuestAnswer) -> Applied {
    let mut not_applied = None;
    let effective = match setting {
        Setting::BootArgument(word) => {
            if !answer.cmdline.split_ascii_whitespace().any(|one| one == word) {
                not_applied = Some("it is not on the guest's command line".to_owned());
            } else if answer.words_without_effect.contains(word) {
                not_applied = Some("the guest's kernel does not know it, or does not take its value".to_owned());
            }
            answer.cmdline.clone()
        }
        Setting::Topology(_) => {
            not_applied = answer.other_machine.clone();
            answer.topology.clone()
        }
        _ => answer.kernel_release.clone(),
    };
    Applied { setting: setting.clone(), effective, not_applied }
}
