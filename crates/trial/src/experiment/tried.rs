//! Whether the arms can be in force here, found out before anything is measured: each is applied and read back once.

use super::block::status_of;
use super::{Experiment, TrialSlot};
use anyhow::Result;
use schedlab_plan::{TrialRecord, TrialStatus};

impl Experiment<'_> {
    /// Applies the settings of each arm, reads them back and undoes them.
    pub(super) fn try_arms(&mut self) -> Result<()> {
        for arm in 0..self.manifest.arms.len() as u32 {
            if (self.interrupted)() {
                break;
            }
            let place =
                TrialSlot { workload: 0, arm: Some(arm), block: 0, position: 0, repeats_block: None, warm_up: true };
            if !self.settings(place).any(|setting| !setting.is_workload_option()) {
                continue;
            }
            let mut applied = self.known.not_covered.clone();
            applied.retain(|one| self.manifest.arms[arm as usize].settings.contains(&one.setting));
            if applied.is_empty() {
                let mut trial = self.planned(place);
                if self.manifest.switchback_window_ns.is_some() {
                    // They were tried when they were journalled.
                    trial.settings.clear();
                }
                applied = self.runner.try_settings(&trial)?;
            }
            if let TrialStatus::NotApplied(reason) = status_of(&applied) {
                self.known.refused.insert(arm, reason);
            }
        }
        Ok(())
    }

    /// A row for each refused arm that has none yet, instead of a trial.
    pub(super) fn rows_of_refused(&mut self, workload: u32) -> Result<()> {
        let known = self.arms_not_applied(workload);
        let switchback = self.manifest.switchback_window_ns.is_some();
        for (arm, reason) in self.known.refused.clone() {
            if known.contains(&arm) || switchback && self.known.refused.keys().next() != Some(&arm) {
                continue;
            }
            let record = TrialRecord {
                trial: self.next_trial(),
                workload,
                // A switchback trial contains both arms.
                arm: (!switchback).then_some(arm),
                block: 0,
                position: if switchback { 0 } else { arm },
                repeats_block: None,
                warm_up: true,
                status: TrialStatus::NotApplied(reason.clone()),
                marks: Vec::new(),
                started_unix_ns: (self.wall_clock)(),
                wall_ns: 0,
                boot_id: self.manifest.environment.boot_id.clone(),
                outcome: None,
            };
            self.keep(record)?;
            (self.events)(super::Event::ArmDropped { workload, arm, reason: &reason });
        }
        Ok(())
    }
}
