//! One block: its trials in their random order, each stored before the next one starts, and the reasons to end the run
//! at once.

use super::kept::keep_what_stopping_needs;
use super::{Event, Experiment, TrialSlot};
use crate::contamination::{Watch, steal_mark, void};
use crate::require;
use crate::schedule::block_order;
use crate::stopping::Stop;
use anyhow::Result;
use schedlab_plan::units::format_ns;
use schedlab_plan::{Applied, Mark, TrialRecord, TrialStatus};
use std::collections::BTreeSet;

/// Shorter pauses come from set-up, or from a busy machine.
const MIN_PAUSE_NS: u64 = 10_000_000_000;

impl Experiment<'_> {
    pub(super) fn run_block(
        &mut self,
        workload: u32,
        block: u32,
        repeats_block: Option<u32>,
        warm_up: bool,
        dropped: &mut BTreeSet<u32>,
    ) -> Result<Option<Stop>> {
        let places = self.places(workload, block, repeats_block, warm_up);
        let number = if warm_up { 0 } else { u64::from(block) + 1 };
        let is_dropped = |place: &&TrialSlot| place.arm.is_some_and(|arm| dropped.contains(&arm));
        let planned = places.iter().filter(|place| !is_dropped(place)).map(|place| self.planned(*place)).collect();
        self.runner.block(number, planned);
        let mut cut = false;
        for place in places {
            let arm = place.arm;
            if arm.is_some_and(|arm| dropped.contains(&arm)) || self.has(place) {
                continue;
            }
            // First store what has been measured.
            if (self.interrupted)() && !self.runner.has_run(place.position) {
                cut = true;
                continue;
            }
            let record = self.run_trial(place)?;
            // The signal that stops us may have ended the trial as well. Then it is not a failure of its arm, and a
            // resumed run repeats it.
            if matches!(record.status, TrialStatus::Failed(_)) && (self.interrupted)() {
                cut = true;
                continue;
            }
            let unmet = require::unmet(&self.known.requirements, &self.manifest, &record);
            let record = self.keep(record)?;
            let names_metrics = warm_up && record.outcome.is_some();
            if let Some(what) = void(&record.marks) {
                return Ok(Some(Stop::Void(what.to_owned())));
            }
            if let Some(what) = unmet {
                return Ok(Some(Stop::Void(what)));
            }
            if let (TrialStatus::NotApplied(reason), Some(arm)) = (record.status.clone(), arm) {
                dropped.insert(arm);
                (self.events)(Event::ArmDropped { workload, arm, reason: &reason });
                if let Some(stop) = self.nothing_left(workload, dropped) {
                    return Ok(Some(stop));
                }
            }
            if names_metrics {
                self.refuse_hopeless(workload)?;
            }
        }
        Ok(cut.then_some(Stop::Interrupted))
    }

    /// The trials of a block in their order. It is drawn over all arms, even those dropped since: a resumed run must draw
    /// the same order.
    fn places(&self, workload: u32, block: u32, repeats_block: Option<u32>, warm_up: bool) -> Vec<TrialSlot> {
        let order: Vec<Option<u32>> = if self.manifest.switchback_window_ns.is_some() {
            vec![None]
        } else {
            let arms: Vec<u32> = (0..self.manifest.arms.len() as u32).collect();
            let label = if warm_up { u32::MAX } else { block };
            block_order(self.manifest.seed, workload, label, &arms).into_iter().map(Some).collect()
        };
        let place = |(position, arm)| TrialSlot { workload, arm, block, position, repeats_block, warm_up };
        (0..).zip(order).map(place).collect()
    }

    /// Stores a trial, reports it, and keeps what the stopping rules need.
    pub(super) fn keep(&mut self, record: TrialRecord) -> Result<&TrialRecord> {
        self.store.trial(&record)?;
        self.take(record);
        let record = self.trials.last().expect("just pushed");
        (self.events)(Event::Trial { record, trials: &self.trials, manifest: &self.manifest });
        Ok(record)
    }

    /// Keeps the needed part of a row that is stored.
    fn take(&mut self, mut record: TrialRecord) {
        keep_what_stopping_needs(&self.manifest, &mut record);
        self.trials.push(record);
        self.known.tally.add_last(&self.manifest, &self.trials);
    }

    /// Whether an interrupted run has this trial already.
    pub(super) fn has(&self, place: TrialSlot) -> bool {
        self.known.tally.has(place.workload, place.block, place.position, place.warm_up)
    }

    fn run_trial(&mut self, place: TrialSlot) -> Result<TrialRecord> {
        let (started, wall) = ((self.clock)(), (self.wall_clock)());
        let (status, outcome) = match self.runner.run(&self.planned(place))? {
            Err(reason) => (TrialStatus::Failed(reason), None),
            Ok(mut outcome) => {
                self.complete(&mut outcome.applied, place);
                (status_of(&outcome.applied), Some(outcome))
            }
        };
        let knobs = self.runner.foreign_changes();
        let mut marks: Vec<Mark> = knobs.into_iter().map(|what| Mark::Foreign { what }).collect();
        marks.extend(self.pause(place, wall));
        marks.extend(outcome.as_ref().and_then(steal_mark));
        marks.extend(self.watch.as_mut().map(Watch::marks).unwrap_or_default());
        Ok(TrialRecord {
            trial: self.next_trial(),
            workload: place.workload,
            arm: place.arm,
            block: place.block,
            position: place.position,
            repeats_block: place.repeats_block,
            warm_up: place.warm_up,
            status,
            marks,
            started_unix_ns: wall,
            wall_ns: self.runner.share_ns().unwrap_or_else(|| (self.clock)() - started),
            boot_id: self.runner.boot_id().unwrap_or_else(|| self.manifest.environment.boot_id.clone()),
            outcome,
        })
    }

    /// The pause before a trial that starts at `wall`, if it is longer than the block itself takes: the run was
    /// interrupted within the block, or the machine slept.
    fn pause(&self, place: TrialSlot, wall: u64) -> Option<Mark> {
        let is_of_block = |last: &&TrialRecord| {
            (last.workload, last.block, last.warm_up) == (place.workload, place.block, place.warm_up)
        };
        let last = self.trials.last().filter(is_of_block)?;
        let still = wall.saturating_sub(last.started_unix_ns + last.wall_ns);
        let block = last.wall_ns.saturating_mul(2 * self.manifest.arms.len() as u64);
        (still > block.max(MIN_PAUSE_NS))
            .then(|| Mark::Pause { evidence: format_ns(still / 1_000_000_000 * 1_000_000_000) })
    }

    /// Adds to the applied settings of a trial those that no runner sees: options of its workload, which are always in
    /// force, after those of the machine; and the settings of a switchback that had no effect.
    fn complete(&self, applied: &mut Vec<Applied>, place: TrialSlot) {
        let options = self.settings(place).filter(|setting| setting.is_workload_option());
        let in_force =
            options.map(|option| Applied { setting: option.clone(), effective: option.to_string(), not_applied: None });
        let machines = applied.iter().take_while(|one| one.setting.is_host_wide()).count();
        applied.splice(machines..machines, in_force);
        applied.extend(self.known.not_covered.iter().cloned());
    }

    pub(super) fn next_trial(&self) -> u64 {
        self.trials.last().map_or(0, |t| t.trial + 1)
    }
}

/// An arm counts as measured only if all of its settings are applied.
pub(super) fn status_of(applied: &[Applied]) -> TrialStatus {
    let missing: Vec<String> =
        applied.iter().filter_map(|a| a.not_applied.as_ref().map(|why| format!("{}: {why}", a.setting))).collect();
    if missing.is_empty() { TrialStatus::Ok } else { TrialStatus::NotApplied(missing.join("; ")) }
}
