//! Trials in guests: each trial in a guest of its own, or all trials of a block in one guest, with the kernel and
//! settings of their arms. For the loop this is just another runner. A closure boots the guests, so the loop knows
//! nothing of QEMU and its tests boot nothing.

mod answer;
mod kinds;

use crate::runner::{Planned, Runner};
use crate::schedule::Coins;
use answer::results;
use anyhow::Result;
pub use kinds::{TO_PREPARE, description, other_llc, preparations};
use schedlab_plan::plan::GuestPer;
use schedlab_plan::{GuestAnswer, GuestOrder, GuestTask, Setting, TrialOrder, TrialOutcome, TrialRecord};
use schedlab_sys::thread::side_by_side;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

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
    /// How many guests run side by side, 1 or more.
    at_once: usize,
    block: Block,
    /// The boot id of the last trial.
    boot_id: Option<String>,
    share_ns: Option<u64>,
}

/// A guest, and the positions of its trials in the block, in order.
type Batch = (GuestTrial, Vec<usize>);

/// The current block.
#[derive(Debug, Default)]
struct Block {
    number: u64,
    trials: Vec<Planned>,
    /// Numbers of their samples, if each has a guest of its own.
    samples: Vec<u64>,
    /// Trials that have run, by position.
    done: BTreeMap<u32, Done>,
    /// The first error of a guest of this block, which ends the run.
    failed: Option<anyhow::Error>,
}

#[derive(Debug)]
struct Done {
    outcome: Result<TrialOutcome, String>,
    /// The id of the boot that it ran in.
    boot_id: Option<String>,
    /// Its share of the time that it and the trials that ran beside it took, ns; `None` if no other guest ran.
    share_ns: Option<u64>,
}

/// The runner for the guests of a run. `identities` are those of the arms, and `boots` those of the planned blocks if
/// blocks share boots. `trials` are those of an interrupted run; sample numbers continue after them. `first` is the
/// number of the first sample, and of the first boot. `at_once` guests of a block run side by side, 1 or more: no more
/// than 1 where a guest's result depends on what else the host does.
pub fn guests<B>(
    boot: B,
    per: GuestPer,
    identities: Vec<Identity>,
    boots: Vec<u64>,
    first: u64,
    at_once: usize,
    trials: &[TrialRecord],
) -> GuestRunner<B> {
    let mut counts = BTreeMap::new();
    for trial in trials {
        *counts.entry((trial.workload, trial.arm.unwrap_or(0))).or_insert(0) += 1;
    }
    let block = Block::default();
    GuestRunner { boot, identities, per, boots, first, trials: counts, at_once, block, boot_id: None, share_ns: None }
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

impl<B: Fn(&GuestTrial) -> Result<Result<GuestAnswer, String>> + Sync> GuestRunner<B> {
    /// Counts a trial of an arm, and numbers its sample.
    fn next_sample(&mut self, Planned { workload, arm, .. }: &Planned) -> u64 {
        let count = self.trials.entry((*workload, *arm)).or_insert(0);
        *count += 1;
        let before = self.identities.iter().take(*arm as usize);
        let equals = before.filter(|other| Some(*other) == self.identities.get(*arm as usize)).count() as u64;
        *count + self.first - 1 + equals * SAMPLES_APART
    }

    /// The boot of the current block; the warm-up uses that of the first block.
    fn boot_of_block(&self) -> Option<u64> {
        let block = usize::try_from(self.block.number.saturating_sub(1)).ok()?;
        self.boots.get(block.checked_rem(self.boots.len())?).map(|boot| boot + self.first - 1)
    }

    /// The guest of these trials of the block, which need the same machine.
    fn guest(&self, run: Vec<usize>, sample: u64, ordered: Vec<GuestOrder>) -> Batch {
        let trials = &self.block.trials;
        let guest = GuestTrial {
            task: GuestTask::Trials(ordered),
            booted_with: booted_with(&trials[run[0]].settings),
            sample,
            boot: self.boot_of_block(),
            limit: run.iter().map(|one| trials[*one].timeout).sum(),
        };
        (guest, run)
    }

    /// The guest of one trial.
    fn for_trial(&self, number: usize) -> Batch {
        let (trial, sample) = (&self.block.trials[number], self.block.samples[number]);
        self.guest(vec![number], sample, vec![in_guest(&trial.order, sample, &trial.settings, false)])
    }

    /// The guest of all trials of the block that need the same machine as this one.
    fn for_machine(&self, number: usize) -> Batch {
        let trials = &self.block.trials;
        let machine = |number: usize| self.identities.get(trials[number].arm as usize).map(|own| &own.machine);
        let run: Vec<usize> = (0..trials.len()).filter(|other| machine(*other) == machine(number)).collect();
        let sample = self.block.number + self.first;
        let mut earlier: BTreeMap<u32, u64> = BTreeMap::new();
        let ordered = run.iter().map(|&one| {
            let trial = &trials[one];
            let earlier = earlier.entry(trial.arm).or_default();
            *earlier += 1;
            in_guest(&trial.order, sample + (*earlier - 1) * SAMPLES_APART, &trial.settings, one < number)
        });
        let ordered = ordered.collect();
        self.guest(run, sample, ordered)
    }

    /// Boots the guest of the trial at that position, and side by side with it those of later trials. If one of them
    /// fails, the error is returned when its trial is requested; the results of the others are kept.
    fn run_from(&mut self, position: u32) {
        let is_left = |trial: &Planned| {
            let is_later = trial.position > position && !trial.is_recorded && !self.has_run(trial.position);
            is_later || trial.position == position
        };
        let trials = &self.block.trials;
        let mut left: Vec<usize> = (0..trials.len()).filter(|number| is_left(&trials[*number])).collect();
        let mut batches = Vec::new();
        while batches.len() < self.at_once
            && let Some(next) = left.first()
        {
            let batch = match self.per {
                GuestPer::Trial => self.for_trial(*next),
                GuestPer::Block => self.for_machine(*next),
            };
            left.retain(|number| !batch.1.contains(number));
            batches.push(batch);
        }
        let begun = Instant::now();
        let answers = side_by_side(batches.len(), |number| (self.boot)(&batches[number].0));
        let together = batches.iter().flat_map(|(_, run)| run).filter(|number| !trials[**number].is_recorded).count();
        let share_ns = (batches.len() > 1).then(|| begun.elapsed().as_nanos() as u64 / together.max(1) as u64);
        for ((_, run), answer) in batches.iter().zip(answers) {
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    self.block.failed = self.block.failed.take().or(Some(error));
                    continue;
                }
            };
            // A boot that fails has no id.
            let boot_id = answer.as_ref().ok().map(|answer| answer.boot_id.clone());
            for (outcome, number) in results(answer, &self.block.trials, run).into_iter().zip(run) {
                let done = Done { outcome, boot_id: boot_id.clone(), share_ns };
                self.block.done.insert(self.block.trials[*number].position, done);
            }
        }
    }
}

impl<B: Fn(&GuestTrial) -> Result<Result<GuestAnswer, String>> + Sync> Runner for GuestRunner<B> {
    /// Sample numbers depend only on the place in the design, whichever samples an interrupted run already has.
    fn block(&mut self, number: u64, trials: Vec<Planned>) {
        for trial in trials.iter().filter(|trial| trial.is_recorded) {
            let count = self.trials.entry((trial.workload, trial.arm)).or_insert(0);
            *count = count.saturating_sub(1);
        }
        let samples = trials.iter().map(|trial| self.next_sample(trial)).collect();
        self.block = Block { number, trials, samples, ..Block::default() };
    }

    fn has_run(&self, position: u32) -> bool {
        self.block.done.contains_key(&position)
    }

    fn run(&mut self, trial: &Planned) -> Result<Result<TrialOutcome, String>> {
        (self.boot_id, self.share_ns) = (None, None);
        if !self.has_run(trial.position) && self.block.failed.is_none() {
            self.run_from(trial.position);
        }
        let Some(done) = self.block.done.get_mut(&trial.position) else {
            return self.block.failed.take().map_or(Ok(Err("the block has no such trial".into())), Err);
        };
        (self.boot_id, self.share_ns) = (done.boot_id.clone(), done.share_ns);
        Ok(std::mem::replace(&mut done.outcome, Err("the trial has been asked for twice".into())))
    }

    fn share_ns(&self) -> Option<u64> {
        self.share_ns
    }

    fn boot_id(&self) -> Option<String> {
        self.boot_id.clone()
    }
}

#[cfg(test)]
mod tests;
