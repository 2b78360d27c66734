//! The order of one trial: the message from the trial loop to the exec of ourselves that runs the workload.

use crate::setting::Setting;
use crate::tracing::TraceOrder;
use crate::workload_spec::WorkloadSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How many operations get a time stamp. Results of different levels are never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamping {
    /// No clock is read in the loop: used for the fidelity and `Time:` rows.
    Off,
    /// Every k-th operation, k calibrated so that the cost stays at or below 1 %.
    #[default]
    Sampled,
    /// Every operation; the cost is measured in the same run and reported.
    All,
}

/// Which counters a trial reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CounterLevel {
    /// rusage, schedstat and /proc tables before and after: nothing runs beside the workload.
    Basic,
    /// Also perf events if permitted, and a sample of everything every 100 ms.
    #[default]
    Full,
    /// As full, but the PMU is used for the groups of a top-down analysis; also memory bandwidth by socket and die.
    TopDown,
}

/// Whether the background load shares the workload's session, autogroup and cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadGroup {
    /// Same session, autogroup and cgroup as the workload.
    #[default]
    Same,
    /// A session of its own (with autogroup on: a task group of its own).
    Separate,
}

/// A setting that alternates while the tasks run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SwitchbackOrder {
    /// Length of one window.
    pub window_ns: u64,
    /// Share of each window, from its start, that is not counted.
    pub discard_share: f64,
    /// Settings in force during an A window.
    pub a: Vec<Setting>,
    /// Settings in force during a B window.
    pub b: Vec<Setting>,
    /// One coin per pair of windows: `true` is B first.
    pub b_first: Vec<bool>,
}

/// Everything that a trial process needs to know, as JSON on its standard input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialOrder {
    /// The workload with every argument spelled out.
    pub workload: WorkloadSpec,
    /// Settings of the tasks ([`Setting::is_per_task`]) and, with `net_namespace`, `net.*` sysctls; all others are
    /// already in force.
    pub settings: Vec<Setting>,
    /// Stamping level.
    pub stamping: Stamping,
    /// Which counters to read.
    pub counters: CounterLevel,
    /// Functions of the kernel whose calls are counted.
    #[serde(default)]
    pub calls: Vec<String>,
    /// Background loads (`burn:2x50%`), started before and ended after the workload.
    pub load: Vec<WorkloadSpec>,
    /// Whether the load shares the workload's groups.
    pub load_group: LoadGroup,
    /// Whether the workload runs in a network namespace of its own (loopback up).
    pub net_namespace: bool,
    /// `cgroup.procs` (or v1 `tasks`) files to which our pid is written before the workload's tasks are forked.
    pub cgroup_procs: Vec<PathBuf>,
    /// `cgroup.procs` files of the cgroups over which the workload spreads its tasks, under the workload's names for
    /// them.
    pub workload_cgroups: Vec<PathBuf>,
    /// Whether and how it is traced.
    #[serde(default)]
    pub trace: Option<TraceOrder>,
    /// The tracefs directory of that trace, while the trial runs.
    #[serde(default)]
    pub trace_instance: Option<PathBuf>,
    /// Alternation inside the trial.
    pub switchback: Option<SwitchbackOrder>,
    /// Every random choice of the trial derives from this.
    pub seed: u64,
}
