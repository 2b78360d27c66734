//! The answer of one trial: measured facts, no verdict. Also the row types of the run directory's tables.

mod counter;

pub use counter::{Count, Counter, SeriesPoint};

use crate::histogram::Histogram;
use crate::order::Stamping;
use crate::packed::Packed;
use crate::setting::Setting;
use serde::{Deserialize, Serialize};

/// Where the partners of an operation ran, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// One logical CPU.
    SameCpu,
    /// Two threads of one core.
    Smt,
    /// Two cores below one last-level cache.
    Llc,
    /// Two last-level caches of one NUMA node.
    Node,
    /// Two NUMA nodes.
    Remote,
}

impl Tier {
    /// All tiers, nearest first; the index is what recorders count into.
    pub const ALL: [Self; 5] = [Self::SameCpu, Self::Smt, Self::Llc, Self::Node, Self::Remote];
    /// `same_cpu`, `smt`, `llc`, `node`, `remote`.
    pub fn name(self) -> &'static str {
        ["same_cpu", "smt", "llc", "node", "remote"][self as usize]
    }
}

/// Which way is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Rates.
    HigherIsBetter,
    /// Times and latencies.
    LowerIsBetter,
    /// Facts such as switches per operation: compared, never judged better or worse.
    Neutral,
}

/// Unit of a share of cycles, as opposed to `share`, which is one of slots: both are shown as percentages, and neither
/// may be added to the other.
pub const SHARE_OF_CYCLES: &str = "share of cycles";

/// One number of one trial that can be compared between arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Such as `msgs_per_s`, `time_s`, `latency_p99_ns`.
    pub name: String,
    /// The value in `unit`.
    #[serde(with = "crate::number")]
    pub value: f64,
    /// Such as `1/s`, `s`, `ns`, `1/op`, `share`.
    pub unit: String,
    /// Which way is good.
    pub direction: Direction,
}

/// A named stretch of a trial: `setup`, `herd_release`, `steady`, `drain`, `teardown`; CLOCK_MONOTONIC ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// The phase's name.
    pub name: String,
    /// First instant.
    pub start_ns: u64,
    /// First instant after it.
    pub end_ns: u64,
}

/// A latency distribution, whole or of one tier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedHistogram {
    /// Such as `latency`, `leg_parent_write_to_child_read`.
    pub name: String,
    /// The tier it is restricted to; `None` is all operations.
    pub tier: Option<Tier>,
    /// The distribution.
    pub histogram: Histogram,
}

/// What one task did between release and its own end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Thread id.
    pub tid: u32,
    /// `sender`, `receiver`, `parent`, `child`, `burner`.
    pub role: String,
    /// Group or copy number.
    pub group: u32,
    /// Operations it did.
    pub operations: u64,
    /// Voluntary switches, as the kernel counts them.
    pub voluntary_switches: Option<u64>,
    /// Involuntary switches.
    pub involuntary_switches: Option<u64>,
    /// Time on a CPU, schedstat.
    pub run_ns: Option<u64>,
    /// Time runnable but waiting, schedstat.
    pub run_delay_ns: Option<u64>,
    /// Times it was switched in, schedstat.
    pub timeslices: Option<u64>,
    /// Times it was moved to another CPU: `nr_migrations` of /proc/self/sched, where the kernel has that file.
    #[serde(default)]
    pub migrations: Option<u64>,
    /// User and system time, rusage.
    pub cpu_ns: Option<u64>,
    /// CPU it was last seen on.
    pub last_cpu: Option<u32>,
    /// Share of the operations it observed whose partner ran on the same CPU; `None` for a task that does not observe
    /// it.
    #[serde(default)]
    pub same_cpu_share: Option<f64>,
}

/// The task groups a number of tasks belong to: who shares the run queue's group matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskGroup {
    /// Content of `/proc/<tid>/autogroup`, or why it cannot be read.
    pub autogroup: String,
    /// The cpu controller's line of `/proc/<tid>/cgroup`.
    pub cgroup: String,
    /// Tasks of the workload and of the background load.
    pub tasks: u32,
}

/// Operations by tier of the waker → wakee pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierCount {
    /// The tier.
    pub tier: Tier,
    /// Operations seen there.
    pub operations: u64,
}

/// One switchback window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Pair number from 0.
    pub pair: u32,
    /// Whether B was active.
    pub is_b: bool,
    /// ns after release at which the setting was applied to all tasks.
    pub start_ns: u64,
    /// ns after release from which operations were counted.
    pub counted_from_ns: u64,
    /// ns after release at which counting ended.
    pub end_ns: u64,
    /// Operations counted.
    pub operations: u64,
}

/// What became of a setting: requested, accepted, effective.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The setting asked for.
    pub setting: Setting,
    /// The value read back, written like the setting.
    pub effective: String,
    /// `None` if it is applied; otherwise why it is not (`not applied`).
    pub not_applied: Option<String>,
}

/// What stamping cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StampingReport {
    /// The level.
    pub level: Stamping,
    /// Every how many operations a stamp was taken (1 at `all`, 0 at `off`).
    pub every: u64,
    /// Stamped operations.
    pub stamped: u64,
    /// Cost of one stamped operation's clock reads, ns, measured in this process.
    #[serde(with = "crate::number")]
    pub cost_ns: f64,
    /// Share of the run time spent on stamps.
    #[serde(with = "crate::number")]
    pub cost_share: f64,
}

/// What a background load achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// The load as ordered.
    pub spec: String,
    /// CPU time requested over the trial, ns; 0 for a command, which requests no share.
    pub asked_cpu_ns: u64,
    /// CPU time got, ns.
    pub achieved_cpu_ns: u64,
    /// Whether every task of it was alive to the end.
    pub alive: bool,
}

/// One of the slowest stamped operations of a trial that was traced: where to look in the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowOperation {
    /// The distribution that it is counted in: `latency`.
    pub name: String,
    /// When it began, CLOCK_MONOTONIC ns.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The thread that saw its end.
    pub tid: u32,
    /// Its group or copy.
    pub group: u32,
}

impl SlowOperation {
    /// How long it took, ns.
    pub fn ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// Everything a trial measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialOutcome {
    /// Versioned id, `messaging/1`.
    pub workload: String,
    /// Operations done and verified.
    pub operations: u64,
    /// What an operation is: `message`, `round trip`.
    pub operation: String,
    /// Comparable numbers, the primary one first.
    pub metrics: Vec<Metric>,
    /// Phases in time order.
    pub phases: Vec<Phase>,
    /// Distributions.
    pub histograms: Vec<NamedHistogram>,
    /// The slowest stamped operations of a traced trial, slowest first.
    #[serde(default)]
    pub slowest: Vec<SlowOperation>,
    /// Placement.
    pub tiers: Vec<TierCount>,
    /// Totals.
    pub counters: Vec<Counter>,
    /// Every 100 ms.
    pub series: Vec<SeriesPoint>,
    /// Per task.
    pub tasks: Vec<TaskRecord>,
    /// Task groups of the workload and of the background load.
    pub groups: Vec<TaskGroup>,
    /// Switchback windows.
    pub windows: Vec<Window>,
    /// Read-back of the settings.
    pub applied: Vec<Applied>,
    /// Stamping cost.
    pub stamping: StampingReport,
    /// Background loads.
    pub loads: Vec<LoadReport>,
    /// Lines the workload wants shown, such as hackbench's own `Time: 0.123`.
    pub native_lines: Vec<String>,
    /// What a reader should know: `overloaded`, `tiers unknown: 4-byte messages`.
    pub notes: Vec<String>,
    /// Instead of metrics, counters, distributions and notes, where a report holds many trials; never stored.
    #[serde(skip)]
    pub packed: Option<Box<Packed>>,
}
