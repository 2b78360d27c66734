//! Trials in guests: each trial in a guest of its own, or all trials of a block in one guest, with the kernel and
//! settings of their arms. For the loop this is just another runner. A closure boots the guests, so the loop knows
//! nothing of QEMU and its tests boot nothing.

mod kinds;

use crate::runner::{Planned, Runner};
use crate::schedule::Coins;
use anyhow::Result;
pub use kinds::{TO_PREPARE, description, other_llc, preparations};
use schedlab_plan::plan::GuestPer;
use schedlab_plan::{
    Applied, GuestAnswer, GuestOrder, GuestResult, GuestTask, Setting, TrialOrder, TrialOutcome, TrialRecord,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// A guest to be booted.
#[derive(Debug, Clone, PartialEq)]
pub struct GuestTrial {
    /// What it does.
    pub task: GuestTask,
    /// Kernel, command line and topology of its arm.
    pub booted_with: Vec<Setting>,
    /// Number of the sample, from 1. In the virtual lane it is the seed, so that arms are paired by it.
    pub sample: u64,
    /// Number of the boot that it shares with other samples, from 1; `None` if it boots for itself.
    pub boot: Option<u64>,
    /// Time limit for all its trials together.
    pub limit: Duration,
}

/// The machine and the settings of an arm's guests, each as text: equal texts mean equal guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Kernel, command line and topology.
    pub machine: String,
    /// The settings applied inside the guest.
    pub set: String,
}

/// Runs trials in guests.
pub struct GuestRunner<B> {
    /// Boots a guest and returns its answer, or a sentence on why there is none. The outer error ends the run.
    boot: B,
    identities: Vec<Identity>,
    per: GuestPer,
    /// The boot of each planned block, from 1; empty if every guest boots for itself.
    boots: Vec<u64>,
    /// Number of the first sample, and of the first boot.
    first: u64,
    /// Trials so far, by workload and arm.
    trials: BTreeMap<(u32, u32), u64>,
    block: Block,
    boot_id: Option<String>,
}

/// The current block, if one guest runs all trials of a machine.
#[derive(Debug, Default)]
struct Block {
    number: u64,
    trials: Vec<Planned>,
    /// Results of trials by position, with the boot they ran in.
    done: BTreeMap<u32, (Result<TrialOutcome, String>, Option<String>)>,
}

/// The runner for the guests of a run. `identities` are those of the arms, and `boots` those of the planned blocks if
/// blocks share boots. `trials` are those of an interrupted run; sample numbers continue after them. `first` is the
/// number of the first sample, and of the first boot.
pub fn guests<B>(
    boot: B,
    per: GuestPer,
    identities: Vec<Identity>,
    boots: Vec<u64>,
    first: u64,
    trials: &[TrialRecord],
) -> GuestRunner<B> {
    let mut counts = BTreeMap::new();
    for trial in trials {
        *counts.entry((trial.workload, trial.arm.unwrap_or(0))).or_insert(0) += 1;
    }
    GuestRunner { boot, identities, per, boots, first, trials: counts, block: Block::default(), boot_id: None }
}

/// Offset between samples that must differ: an arm equal to an earlier one has samples of its own, otherwise an A/A
/// comparison in the virtual lane would compare each boot with itself. The same holds for an arm's second trial in one
/// guest.
const SAMPLES_APART: u64 = 1_000_000;

/// The seed of the order for a sample: always with the same number of digits, so that the guest's task always has the
/// same length.
fn seed_of(sample: u64) -> u64 {
    const DIGITS_19: u64 = 1_000_000_000_000_000_000;
    DIGITS_19 + Coins::new(sample, &[]).next() % (9 * DIGITS_19)
}

/// Random choices must depend only on the sample, or arms of one sample would differ in more than their settings.
fn in_guest(order: &TrialOrder, sample: u64, settings: &[Setting], again: bool) -> GuestOrder {
    let order = TrialOrder { seed: seed_of(sample), ..order.clone() };
    GuestOrder { order, settings: settings.iter().filter(|s| !s.is_of_guest()).cloned().collect(), again }
}

/// The settings with which an arm's guests are booted: kernel, command line and topology.
pub fn booted_with(settings: &[Setting]) -> Vec<Setting> {
    settings.iter().filter(|setting| setting.is_of_guest()).cloned().collect()
}

impl<B: FnMut(&GuestTrial) -> Result<Result<GuestAnswer, String>>> GuestRunner<B> {
    /// Boots a guest for trials, each with the settings of its arm. Returns their results in order, at least one: a
    /// guest that was told to end has not begun the others.
    fn ran(&mut self, trial: &GuestTrial, settings: &[&[Setting]]) -> Result<Vec<Result<TrialOutcome, String>>> {
        // A boot that fails has no id; it must not keep that of the boot before it.
        self.boot_id = None;
        let answer = match (self.boot)(trial)? {
            Ok(answer) => answer,
            Err(why) => return Ok(vec![Err(why); settings.len()]),
        };
        self.boot_id = Some(answer.boot_id.clone());
        let mut outcomes = match &answer.result {
            GuestResult::Measured(outcomes) => outcomes.clone(),
            GuestResult::Failed(why) => vec![Err(why.clone()); settings.len()],
            GuestResult::Prepared(_) | GuestResult::Toggles(_) => {
                vec![Err("the guest returned the result of another trial".into()); settings.len()]
            }
        };
        if outcomes.is_empty() {
            outcomes.push(Err("the guest did not answer".into()));
        }
        for (outcome, settings) in outcomes.iter_mut().zip(settings) {
            if let Ok(outcome) = outcome {
                outcome.applied.extend(booted_with(settings).iter().map(|s| in_force(s, &answer)));
            }
        }
        Ok(outcomes)
    }

    /// Counts a trial, and numbers its sample.
    fn next_sample(&mut self, trial: &Planned) -> u64 {
        let count = self.trials.entry((trial.workload, trial.arm)).or_insert(0);
        *count += 1;
        let own = self.identities.get(trial.arm as usize);
        let equals = self.identities.iter().take(trial.arm as usize).filter(|other| Some(*other) == own).count() as u64;
        *count + self.first - 1 + equals * SAMPLES_APART
    }

    /// The boot of the current block; the warm-up uses that of the first block.
    fn boot_of_block(&self) -> Option<u64> {
        let block = usize::try_from(self.block.number.saturating_sub(1)).ok()?;
        self.boots.get(block.checked_rem(self.boots.len())?).map(|boot| boot + self.first - 1)
    }

    /// Boots one guest for all trials of the block that need the same machine as this one.
    fn run_block(&mut self, next: &Planned) -> Result<()> {
        let machine = |arm: u32| self.identities.get(arm as usize).map(|identity| &identity.machine);
        let own = machine(next.arm);
        let planned: Vec<Planned> =
            self.block.trials.iter().filter(|trial| machine(trial.arm) == own).cloned().collect();
        let sample = self.block.number + self.first;
        let mut earlier: BTreeMap<u32, u64> = BTreeMap::new();
        let ordered = planned.iter().map(|trial| {
            let earlier = earlier.entry(trial.arm).or_default();
            *earlier += 1;
            let again = trial.position < next.position;
            in_guest(&trial.order, sample + (*earlier - 1) * SAMPLES_APART, &trial.settings, again)
        });
        let trial = GuestTrial {
            task: GuestTask::Trials(ordered.collect()),
            booted_with: booted_with(&next.settings),
            sample,
            boot: self.boot_of_block(),
            limit: planned.iter().map(|trial| trial.timeout).sum(),
        };
        let settings: Vec<&[Setting]> = planned.iter().map(|trial| trial.settings.as_slice()).collect();
        let outcomes = self.ran(&trial, &settings)?;
        let boot_id = self.boot_id.clone();
        let done = planned.iter().zip(outcomes).map(|(trial, one)| (trial.position, (one, boot_id.clone())));
        self.block.done.extend(done);
        Ok(())
    }
}

impl<B: FnMut(&GuestTrial) -> Result<Result<GuestAnswer, String>>> Runner for GuestRunner<B> {
    fn wants_blocks(&self) -> bool {
        self.per == GuestPer::Block || !self.boots.is_empty()
    }

    fn block(&mut self, number: u64, trials: Vec<Planned>) {
        self.block = Block { number, trials, done: BTreeMap::new() };
    }

    fn has_run(&self, position: u32) -> bool {
        self.block.done.contains_key(&position)
    }

    fn run(&mut self, trial: &Planned) -> Result<Result<TrialOutcome, String>> {
        let sample = self.next_sample(trial);
        if self.per == GuestPer::Trial {
            let task = GuestTask::Trials(vec![in_guest(&trial.order, sample, &trial.settings, false)]);
            let (booted_with, boot) = (booted_with(&trial.settings), self.boot_of_block());
            let guest = GuestTrial { task, booted_with, sample, boot, limit: trial.timeout };
            return Ok(self.ran(&guest, &[&trial.settings])?.remove(0));
        }
        if !self.has_run(trial.position) {
            self.run_block(trial)?;
        }
        let Some(done) = self.block.done.get_mut(&trial.position) else {
            return Ok(Err("the block has no such trial".into()));
        };
        self.boot_id = done.1.clone();
        Ok(std::mem::replace(&mut done.0, Err("the trial has been asked for twice".into())))
    }

    fn boot_id(&self) -> Option<String> {
        self.boot_id.clone()
    }
}

/// As shown by the guest's kernel. Even a word that the kernel does not know is on its command line.
fn in_force(setting: &Setting, answer: &GuestAnswer) -> Applied {
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

#[cfg(test)]
mod tests;
