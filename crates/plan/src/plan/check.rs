//! Keys of a plan that are valid alone but not together.

use super::{MIN_UNITS, Plan, PlanError, Stopping, inconsistent};
use crate::factorial::{MAX_FACTORS, PlannedFactor};
use crate::setting::Setting;
use crate::units::format_ns;

/// A day. No machine stays undisturbed during longer trials, and a number of such blocks could exceed any calendar.
const LONGEST_TRIAL_NS: u64 = 86_400_000_000_000;

impl Plan {
    /// Refuses what no machine could run.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.workloads.is_empty() {
            return inconsistent("the plan has no workload; add `[[workload]]` with `run = \"messaging:5x50\"`");
        }
        if !self.factors.is_empty() {
            return self.check_factors();
        }
        if let Some(search) = &self.search {
            self.check_search(search)?;
            return self.check_rules();
        }
        match self.arms.as_slice() {
            [] => {
                return inconsistent(
                    "the plan has no arms; add at least two `[[arm]]` tables, the first is the control",
                );
            }
            [_] => {
                return inconsistent(
                    "the plan has one arm; add a second `[[arm]]` to compare it with, if only the same again",
                );
            }
            _ => {}
        }
        for (i, arm) in self.arms.iter().enumerate() {
            if self.arms[..i].iter().any(|a| a.name == arm.name) {
                return inconsistent(format!("two arms are named `{}`; give each a name of its own", arm.name));
            }
        }
        self.check_rules()
    }

    fn check_factors(&self) -> Result<(), PlanError> {
        if !self.arms.is_empty() {
            return inconsistent("the factors make the arms; leave out `[[arm]]`, or write arms without `[[factor]]`");
        }
        if !(2..=MAX_FACTORS).contains(&self.factors.len()) {
            let n = self.factors.len();
            return inconsistent(format!(
                "a factorial has 2 to {MAX_FACTORS} factors, not {n}; one factor is two arms"
            ));
        }
        if self.switchback_window_ns.is_some() {
            return inconsistent("a switchback alternates two arms; a factorial has more: use blocks");
        }
        if !matches!(self.stopping, Stopping::Trials { .. }) {
            return inconsistent("a factorial has a fixed number of blocks; give `trials = 6` or more");
        }
        for (i, factor) in self.factors.iter().enumerate() {
            factor.check_beside(&self.factors[..i])?;
        }
        // This checks whether the fraction exists; only the machine knows which factors can be set.
        self.settle(&[])?;
        self.check_rules()
    }

    fn check_rules(&self) -> Result<(), PlanError> {
        if !(self.sesoi > 0.0 && self.sesoi < 1.0) {
            return inconsistent("sesoi must be above 0 and below 100 %; 1% is the default");
        }
        if !(self.alpha > 0.0 && self.alpha <= 0.5) {
            return inconsistent("alpha must be above 0 and at most 0.5; 0.05 is the default");
        }
        if let Some(ns) = self.trial_ns.filter(|&ns| ns > LONGEST_TRIAL_NS) {
            return inconsistent(format!(
                "a trial of {} is too long: a trial lasts at most {}, and blocks of short ones are more precise",
                format_ns(ns),
                format_ns(LONGEST_TRIAL_NS)
            ));
        }
        match self.stopping {
            Stopping::Trials { blocks: 0 } => too_few("trials", 0),
            Stopping::Trials { blocks } if (blocks as usize) < MIN_UNITS && self.round_of.is_none() => {
                too_few("trials", blocks)
            }
            Stopping::UntilDecided { max_blocks } if (max_blocks as usize) < MIN_UNITS => {
                too_few("max_blocks", max_blocks)
            }
            Stopping::Budget { looks: 0, .. } => {
                inconsistent("looks = 0: a budget needs at least one look, at its end")
            }
            _ => self.check_guest().and_then(|()| self.check_switchback()),
        }
    }

    fn check_switchback(&self) -> Result<(), PlanError> {
        let Some(window_ns) = self.switchback_window_ns else { return Ok(()) };
        if self.arms.len() != 2 {
            return inconsistent(format!("a switchback alternates two arms; this plan has {}", self.arms.len()));
        }
        if window_ns < 1_000_000 {
            return inconsistent(format!(
                "a switchback window of {} is too short; use at least 1ms",
                format_ns(window_ns)
            ));
        }
        // Autogroup acts on tasks forked or moved after the change, so running tasks would not follow it.
        let autogroup =
            |s: &Setting| matches!(s, Setting::Sysctl { name, .. } if name == "kernel.sched_autogroup_enabled");
        let sysctl = |s: &Setting| matches!(s, Setting::Sysctl { .. }) && !s.is_net_sysctl() && !autogroup(s);
        // A stall leaves a backlog of operations that lasts longer than its window.
        let stall = |s: &Setting| matches!(s, Setting::PlantStall { .. });
        let alternates = |s: &Setting| s.is_per_task() && !stall(s) || sysctl(s);
        // A trace lasts from before the first window until after the last.
        let throughout = |s: &Setting| s.is_trace() && self.arms.iter().all(|a| a.settings.contains(s));
        let fixed = self.arms.iter().flat_map(|a| &a.settings).find(|s| !alternates(s) && !throughout(s));
        match fixed {
            Some(setting) => inconsistent(format!(
                "`{setting}` cannot alternate on running tasks: only a task's own settings and sysctls without a memory can; use blocks"
            )),
            None => Ok(()),
        }
    }
}

impl PlannedFactor {
    /// What is wrong with the factor, by itself or together with those before it.
    fn check_beside(&self, earlier: &[Self]) -> Result<(), PlanError> {
        let name = &self.name;
        if earlier.iter().any(|other| other.name == *name) {
            return inconsistent(format!("two factors are named `{name}`; give each a name of its own"));
        }
        if self.low.settings == self.high.settings {
            return inconsistent(format!("factor `{name}`: its low and its high level are the same"));
        }
        for other in earlier {
            if let Some(key) = self.keys().find(|key| other.keys().any(|theirs| theirs == *key)) {
                return inconsistent(format!("factors `{}` and `{name}` both set {key}", other.name));
            }
        }
        Ok(())
    }

    /// What its levels set.
    fn keys(&self) -> impl Iterator<Item = String> {
        self.low.settings.iter().chain(&self.high.settings).map(Setting::key)
    }
}

fn too_few(key: &str, blocks: u32) -> Result<(), PlanError> {
    inconsistent(format!("{key} = {blocks} is too few: no verdict is given below {MIN_UNITS} blocks"))
}
