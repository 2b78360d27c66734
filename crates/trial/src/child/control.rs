//! What the control process does while the workload's tasks run: reads settings back, counts, samples, and alternates
//! settings.

use super::switchback::Switchback;
use schedlab_bench::load::Load;
use schedlab_bench::{DelayCell, HerdTask, Observer, Progress};
use schedlab_plan::{Applied, Setting, TaskGroup, TrialOrder, TrialOutcome};
use schedlab_record::TrialCounters;
use schedlab_tune::task;
use std::collections::{BTreeMap, BTreeSet};

/// How often the loads are checked, ns.
const LOAD_LOOK_NS: u64 = 100_000_000;

/// The observer of one trial.
pub(super) struct Control<'a> {
    settings: Vec<Setting>,
    applied: Vec<Applied>,
    counters: TrialCounters,
    groups: BTreeMap<(String, String), u32>,
    /// Tasks that are in `groups`.
    noted: BTreeSet<u32>,
    switchback: Option<Switchback>,
    load: Option<&'a mut Load>,
    /// When the loads are checked next.
    look_ns: u64,
    trouble: Option<String>,
}

impl<'a> Control<'a> {
    /// Records the state of this process before any setting is applied to it.
    pub(super) fn new(order: &TrialOrder, settings: Vec<Setting>, load: Option<&'a mut Load>, own_net: bool) -> Self {
        Self {
            settings,
            applied: Vec::new(),
            counters: TrialCounters::new(order.counters, schedlab_record::Roots::default())
                .in_own_net(own_net)
                .with_calls(&order.calls),
            groups: BTreeMap::new(),
            noted: BTreeSet::new(),
            switchback: order.switchback.clone().map(Switchback::new),
            load,
            look_ns: 0,
            trouble: None,
        }
    }

    /// Applies the settings to this process; the workload's tasks inherit them.
    pub(super) fn apply_to_self(&mut self) {
        self.applied = task::apply_to_self(&self.settings);
    }

    /// Adds counters, groups, windows and read-backs to what the workload measured.
    pub(super) fn finish(self, outcome: &mut TrialOutcome, net: Vec<Applied>) {
        let counted = self.counters.finish(&outcome.tasks, outcome.operations);
        outcome.counters.extend(counted.counters);
        outcome.series.extend(counted.series);
        outcome.metrics.extend(counted.metrics);
        outcome.notes.extend(counted.notes);
        outcome.applied.extend(net);
        outcome.applied.extend(self.applied);
        outcome.groups = self
            .groups
            .into_iter()
            .map(|((autogroup, cgroup), tasks)| TaskGroup { autogroup, cgroup, tasks })
            .collect();
        if let Some(switchback) = self.switchback {
            let (windows, failures) = switchback.finish();
            outcome.windows = windows;
            outcome.applied.extend(failures);
        }
    }

    /// The read-back of all tasks of the workload: the first task whose setting is not in force decides.
    fn read_back(&mut self, tasks: &[HerdTask]) {
        for herd_task in tasks {
            for seen in task::read_back(herd_task.tid, &self.settings) {
                let Some(slot) = self.applied.iter_mut().find(|a| a.setting == seen.setting) else { continue };
                if slot.not_applied.is_none() && seen.not_applied.is_some() {
                    *slot = seen;
                }
            }
        }
    }

    fn load_tids(&self) -> Vec<u32> {
        self.load.as_ref().map(|load| load.tids()).unwrap_or_default()
    }

    fn note_groups(&mut self, tids: impl Iterator<Item = u32>) {
        for tid in tids {
            if !self.noted.insert(tid) {
                continue;
            }
            let read = |file: &str| std::fs::read_to_string(format!("/proc/{tid}/{file}"));
            let autogroup =
                read("autogroup").map(|t| t.trim().to_owned()).unwrap_or_else(|e| format!("unreadable: {e}"));
            let cgroup = read("cgroup").map(|t| cpu_line(&t)).unwrap_or_else(|e| format!("unreadable: {e}"));
            *self.groups.entry((autogroup, cgroup)).or_default() += 1;
        }
    }
}

/// The line of /proc/<pid>/cgroup that names the cpu controller, or the unified one.
fn cpu_line(text: &str) -> String {
    let has_cpu = |line: &&str| line.split(':').nth(1).is_some_and(|c| c.split(',').any(|c| c == "cpu"));
    text.lines().find(has_cpu).or_else(|| text.lines().find(|l| l.starts_with("0::"))).unwrap_or("").to_owned()
}

impl Observer for Control<'_> {
    fn before_fork(&mut self) -> Result<(), String> {
        self.counters.before_fork();
        Ok(())
    }

    fn herd_ready(&mut self, tasks: &[HerdTask]) -> Result<(), String> {
        self.read_back(tasks);
        self.note_groups(tasks.iter().map(|task| task.tid));
        self.note_groups(self.load_tids().into_iter());
        if let Some(switchback) = &mut self.switchback {
            switchback.herd_ready(tasks);
        }
        Ok(())
    }

    fn delay_cell(&mut self, cell: &DelayCell) {
        if let Some(switchback) = &mut self.switchback {
            switchback.delay_cell(cell.clone());
        }
    }

    fn releasing(&mut self) {
        self.counters.releasing();
    }

    fn released(&mut self, t0_ns: u64) {
        if let Some(switchback) = &mut self.switchback {
            switchback.released(t0_ns);
        }
        self.counters.released(t0_ns);
    }

    fn tick(&mut self, now_ns: u64, progress: &Progress<'_>) -> u64 {
        // The alternation comes first: its instants decide what a window contains, while a counter sample may be late.
        let switch_ns = self.switchback.as_mut().map_or(u64::MAX, |s| s.tick(progress));
        let sample_ns = self.counters.sample_if_due(now_ns);
        if let Some(load) = self.load.as_mut().filter(|_| now_ns >= self.look_ns) {
            self.trouble = load.trouble();
            self.look_ns = now_ns + LOAD_LOOK_NS;
        }
        let look_ns = if self.load.is_some() { self.look_ns } else { u64::MAX };
        switch_ns.min(sample_ns).min(look_ns)
    }

    fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    fn stopped(&mut self, t1_ns: u64) {
        self.counters.stopped(t1_ns);
        // A command forks and starts sessions at any time: fio's jobs start some 0.2 s late.
        self.note_groups(self.load_tids().into_iter());
        if let Some(switchback) = &mut self.switchback {
            switchback.stopped();
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_cpu_controllers_line_is_found_on_v1_and_v2() {
        assert_eq!(super::cpu_line("4:memory:/a\n1:cpu,cpuacct:/b\n0::/c\n"), "1:cpu,cpuacct:/b");
        assert_eq!(super::cpu_line("0::/user.slice\n"), "0::/user.slice");
    }
}
