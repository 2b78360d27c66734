//! What arms can differ in: a list of knob settings separated by `;` (`slice=0.1ms;policy=batch`), parsed but not yet
//! applied. Paths, ranges and read-back belong to crate `tune`.

mod place;
mod written;

pub use place::Place;
pub use written::SETTING_FORMS;

use crate::tracing::TraceSetting;
use crate::units::{CpuList, UnitError};
use serde::{Deserialize, Serialize};

/// A scheduling policy, `sched(7)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// `SCHED_OTHER` (`SCHED_NORMAL` in the kernel).
    Other,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_FIFO` with a priority of 1 to 99.
    Fifo(u8),
    /// `SCHED_RR` with a priority of 1 to 99.
    Rr(u8),
}

impl Policy {
    /// The policy number and the real-time priority (0 without one) as sched_setscheduler(2) takes them.
    pub fn sched_numbers(self) -> (u32, u32) {
        match self {
            Self::Other => (0, 0),
            Self::Fifo(priority) => (1, priority.into()),
            Self::Rr(priority) => (2, priority.into()),
            Self::Batch => (3, 0),
            Self::Idle => (5, 0),
        }
    }
}

/// Where transparent huge pages are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thp {
    /// In every large mapping.
    Always,
    /// Where a program asks for them.
    Madvise,
    /// Nowhere.
    Never,
}

impl Thp {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Always, Self::Madvise, Self::Never];

    /// The kernel's word.
    pub fn name(self) -> &'static str {
        ["always", "madvise", "never"][self as usize]
    }
}

/// Idle states that CPUs may enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleStates {
    /// All of them.
    All,
    /// State 0 only: on most machines a CPU then polls and never sleeps.
    Poll,
}

impl IdleStates {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::All, Self::Poll];

    /// `all` or `poll`.
    pub fn name(self) -> &'static str {
        ["all", "poll"][self as usize]
    }
}

/// One knob and the value to set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Setting {
    /// `slice=0.1ms`: the per-task EEVDF slice, `sched_setattr(2)` `sched_runtime`; effective from Linux 6.12.
    Slice {
        /// Requested slice; the kernel clamps it to 0.1…100 ms. 0 is the default slice.
        ns: u64,
    },
    /// `policy=batch`, `policy=fifo:50`.
    Policy(Policy),
    /// `nice=-5`.
    Nice(i32),
    /// `cpus=0-1`: the workload's affinity mask.
    Cpus(CpuList),
    /// `autogroup=on|off`: sysctl `kernel.sched_autogroup_enabled`.
    Autogroup(bool),
    /// `timer_slack=1us`: `prctl(PR_SET_TIMERSLACK)`.
    TimerSlack {
        /// Requested slack. 0 means the thread's default, which comes from its parent thread; the minimum is 1 ns.
        ns: u64,
    },
    /// `sysctl:net.ipv4.tcp_autocorking=0`. `net.*` is written inside the workload's own network namespace.
    Sysctl {
        /// The dotted name.
        name: String,
        /// The text to write.
        value: String,
    },
    /// `cpu_weight=200`: cgroup v2 `cpu.weight` scale (1…10000, default 100); on v1 it becomes `cpu.shares`.
    CpuWeight(u64),
    /// `cpu_quota=50ms/100ms` or `cpu_quota=max`: cgroup bandwidth, quota per period.
    CpuQuota {
        /// CPU time per period; `None` is no limit.
        quota_ns: Option<u64>,
        /// The period.
        period_ns: u64,
    },
    /// `debugfs:sched/base_slice_ns=3000000`.
    Debugfs {
        /// Path below the debugfs root.
        path: String,
        /// The text to write.
        value: String,
    },
    /// `feature:NO_WA_IDLE`: one word of `sched/features`.
    Feature {
        /// The name without `NO_`.
        name: String,
        /// Whether it is switched on.
        on: bool,
    },
    /// `sysfs:kernel/mm/ksm/run=0`: a file below the sysfs root.
    Sysfs {
        /// Path below the sysfs root.
        path: String,
        /// The text to write.
        value: String,
    },
    /// `thp=never`: transparent huge pages, `kernel/mm/transparent_hugepage/enabled` in sysfs.
    Thp(Thp),
    /// `halt_poll=200us`: how long a CPU polls before it halts. In a guest with the haltpoll governor this is
    /// `guest_halt_poll_ns`, otherwise `halt_poll_ns` of kvm, which affects only the vCPUs of this machine's guests.
    HaltPoll {
        /// Longest poll; 0 polls never.
        ns: u64,
    },
    /// `cpuidle=poll`: which idle states the CPUs may enter.
    Cpuidle(IdleStates),
    /// `audit=off`: whether new tasks are audited, by the rule `never,task` (netlink, not while it is locked).
    Audit(bool),
    /// `option:pin=same`: an option of the workload, so that arms can differ in it.
    WorkloadOption {
        /// The option's key.
        key: String,
        /// Its value, checked by the workload.
        value: String,
    },
    /// `kernel:debian:6.1`: the kernel to boot in a guest.
    Kernel(String),
    /// `boot:preempt=full`: a word of the guest's kernel command line.
    BootArgument(String),
    /// `topology:sockets=2,nodes=2`: how the guest's CPUs are arranged.
    Topology(String),
    /// `trace=on:full`: whether the scheduler is traced while a trial runs.
    Trace(TraceSetting),
    /// `plant=spin:25ns`: adds a spin to each operation, to test what the statistics can find.
    PlantSpin {
        /// Added time per operation.
        ns: u64,
    },
    /// `plant=stall:100ms/5s`: the tasks that serve operations stop for 100 ms in the middle of every 5 s. A latency
    /// measurement must show this known stall.
    PlantStall {
        /// Length of a stall.
        ns: u64,
        /// From one stall to the next.
        period_ns: u64,
    },
}

/// A SPEC that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The key is not a setting.
    #[error("unknown setting `{key}`{}; `schedlab list knobs` shows them all, and an option of the workload is `option:{key}=…`", crate::nearest::hint_at(.nearest.as_deref()))]
    Unknown {
        /// The key as written.
        key: String,
        /// The nearest known key.
        nearest: Option<String>,
    },
    /// A key that exists, but in another form.
    #[error("`{key}` has another form: `{form}`")]
    Form {
        /// The key.
        key: String,
        /// An example.
        form: &'static str,
    },
    /// The value does not fit the key.
    #[error("{key}: `{value}` {why}")]
    BadValue {
        /// The key.
        key: String,
        /// The value as written.
        value: String,
        /// What is wrong and what would be right.
        why: String,
    },
    /// A size, time or CPU list that cannot be parsed.
    #[error("{key}: {cause}")]
    Unit {
        /// The key.
        key: String,
        /// What is wrong.
        cause: UnitError,
    },
    /// One key twice in a list.
    #[error("`{0}` is set twice in one arm")]
    Twice(String),
    /// A setting inside the value of another one.
    #[error("`{0}` holds several settings: join them by `;`, as in `slice=0.1ms;policy=batch`")]
    Joined(String),
}

impl Setting {
    /// The key that two settings of one arm must not share: `slice`, `sysctl:kernel.sched_rt_runtime_us`, …
    pub fn key(&self) -> String {
        match self {
            Self::Sysctl { name, .. } => format!("sysctl:{name}"),
            Self::Debugfs { path, .. } => format!("debugfs:{path}"),
            Self::Feature { name, .. } => format!("feature:{name}"),
            Self::Sysfs { path, .. } => format!("sysfs:{path}"),
            Self::WorkloadOption { key, .. } => format!("option:{key}"),
            Self::Kernel(_) => "kernel".into(),
            Self::BootArgument(word) => format!("boot:{}", word.split('=').next().unwrap_or_default()),
            Self::Topology(_) => "topology".into(),
            other => other.to_string().split('=').next().unwrap_or_default().to_owned(),
        }
    }
}

/// One side of a comparison: a name and its settings; no settings is the host's default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Unique in the plan.
    pub name: String,
    /// Applied in this order.
    pub settings: Vec<Setting>,
}

impl Arm {
    /// Parses a SPEC (`slice=0.1ms;policy=batch`, or `` for the default).
    pub fn parse(name: &str, spec: &str) -> Result<Self, SettingError> {
        let mut settings: Vec<Setting> = Vec::new();
        for part in spec.split(';').map(str::trim).filter(|p| !p.is_empty()) {
            // `sysctl:` would take the rest as its value, and the kernel's refusal would not explain why.
            if part.split([',', ' ']).skip(1).any(|rest| rest.parse::<Setting>().is_ok()) {
                return Err(SettingError::Joined(part.to_owned()));
            }
            let setting: Setting = part.parse()?;
            if settings.iter().any(|s| s.key() == setting.key()) {
                return Err(SettingError::Twice(setting.key()));
            }
            settings.push(setting);
        }
        Ok(Self { name: name.to_owned(), settings })
    }

    /// Whether both have the same settings, in any order.
    pub fn sets_as(&self, other: &Self) -> bool {
        let has = |arm: &Self, setting| arm.settings.contains(setting);
        self.settings.len() == other.settings.len() && self.settings.iter().all(|setting| has(other, setting))
    }

    /// The settings as a SPEC, `` for the default.
    pub fn spec(&self) -> String {
        self.settings.iter().map(Setting::to_string).collect::<Vec<_>>().join(";")
    }
}
