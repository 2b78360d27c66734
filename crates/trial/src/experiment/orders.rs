//! The order of a trial, from its place in the design.

use super::{Experiment, TrialSlot, trace_file, trial_duration_ns};
use crate::require;
use crate::runner::Planned;
use crate::schedule::{Coins, switchback_coins};
use schedlab_plan::{Setting, SwitchbackOrder, TraceOrder, TrialOrder};
use std::time::Duration;

impl Experiment<'_> {
    /// A switchback trial begins and ends with A's settings; B's are applied and undone inside it.
    pub(super) fn settings(&self, place: TrialSlot) -> impl Iterator<Item = &Setting> {
        self.manifest.arms[place.arm.unwrap_or(0) as usize].settings.iter()
    }

    pub(super) fn planned(&self, place: TrialSlot) -> Planned {
        let order = self.order(place);
        let timeout = timeout(&order);
        let (workload, arm, position) = (place.workload, place.arm.unwrap_or(0), place.position);
        let settings = self.settings(place).filter(|setting| setting.is_host_wide()).cloned().collect();
        Planned { workload, arm, position, order, settings, timeout, is_recorded: self.has(place) }
    }

    /// The trace order for a trace setting: its file has the trial's number, like everything else of the trial.
    fn trace(&self, setting: &Setting) -> Option<TraceOrder> {
        let Setting::Trace(trace) = setting else { return None };
        trace.order(|| trace_file(&self.traces, self.next_trial()))
    }

    fn order(&self, place: TrialSlot) -> TrialOrder {
        let manifest = &self.manifest;
        let (mut options, mut settings) = (Vec::new(), Vec::new());
        for setting in self.settings(place) {
            match setting {
                option if option.is_workload_option() => options.push(option.clone()),
                own if own.is_per_task() || own.is_net_sysctl() => settings.push(own.clone()),
                _ => {}
            }
        }
        let label = if place.warm_up { u64::from(u32::MAX) } else { u64::from(place.block) };
        let mut coins = Coins::new(manifest.seed, &[u64::from(place.workload), label, u64::from(place.position), 1]);
        TrialOrder {
            workload: manifest.workloads[place.workload as usize].with_options(&options),
            settings,
            stamping: manifest.stamping,
            counters: manifest.counters,
            calls: require::called(&self.known.requirements, manifest, place.workload, place.arm),
            load: manifest.load.get(place.workload as usize).cloned().unwrap_or_default(),
            load_group: manifest.load_group,
            // If one arm has a net.* sysctl, every arm gets a namespace; otherwise the namespace itself would be the
            // effect.
            net_namespace: manifest.arms.iter().any(|a| a.settings.iter().any(Setting::is_net_sysctl)),
            cgroup_procs: Vec::new(),
            workload_cgroups: Vec::new(),
            trace: self.settings(place).find_map(|setting| self.trace(setting)),
            trace_instance: None,
            switchback: self.switchback(place),
            seed: coins.next(),
        }
    }

    /// What an arm changes while the tasks run.
    fn alternating(&self, arm: usize) -> Vec<Setting> {
        self.manifest.arms[arm].settings.iter().filter(|s| !s.is_trace()).cloned().collect()
    }

    fn switchback(&self, place: TrialSlot) -> Option<SwitchbackOrder> {
        let window_ns = self.manifest.switchback_window_ns?;
        let duration = trial_duration_ns(&self.manifest.workloads[place.workload as usize]);
        let pairs = (duration / (2 * window_ns)).max(1) as usize;
        let label = if place.warm_up { u32::MAX } else { place.block };
        Some(SwitchbackOrder {
            window_ns,
            discard_share: 0.2,
            a: self.alternating(0),
            b: self.alternating(1),
            b_first: switchback_coins(self.manifest.seed, place.workload, label, pairs),
        })
    }
}

/// Generous: a trial that is merely slow is a result, and one that hangs is not.
fn timeout(order: &TrialOrder) -> Duration {
    // The workload has a time-out of its own, from its own estimate; this one is for a trial process that hangs.
    let own = ["loops", "timeout"].iter().any(|key| order.workload.args.contains_key(*key));
    let least = Duration::from_secs(if own { 24 * 3600 } else { 60 });
    Duration::from_nanos(trial_duration_ns(&order.workload)) * 20 + least
}
