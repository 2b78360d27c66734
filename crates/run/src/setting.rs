//! What an arm can differ in: the `;`-list of knob settings (`slice=0.1ms;policy=batch`), parsed but not yet applied.
//! Paths, ranges and read-back belong to crate `tune`.

use crate::nearest::nearest;
use crate::units::{CpuList, UnitError, format_ns_exact, parse_duration_ns};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

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
    /// `all` or `poll`.
    pub fn name(self) -> &'static str {
        ["all", "poll"][self as usize]
    }
}

/// One knob and the value it is to take.
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
        /// Requested slack.
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
    /// `halt_poll=200us`: how long a CPU polls before it halts: `guest_halt_poll_ns` of the haltpoll module in a guest,
    /// `halt_poll_ns` of the kvm module on a host.
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
    /// `kernel:debian:6.1`: the kernel to boot in the guest lane.
    Kernel(String),
    /// `plant=spin:25ns`: a spin planted into each operation, to test what the statistics can find.
    PlantSpin {
        /// Added time per operation.
        ns: u64,
    },
}

/// A SPEC that is not a list of settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The key is not a setting.
    #[error("unknown setting `{key}`{}; `schedlab list knobs` shows them all", .nearest.as_ref().map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default())]
    Unknown {
        /// The key as written.
        key: String,
        /// The nearest known key.
        nearest: Option<String>,
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
    /// A size, time or CPU list that is not one.
    #[error("{key}: {source}")]
    Unit {
        /// The key.
        key: String,
        /// What is wrong.
        source: UnitError,
    },
    /// One key twice in a list.
    #[error("`{0}` is set twice in one arm")]
    Twice(String),
}

/// Keys as written in a SPEC, with an example each; `list knobs` prints them.
pub const SETTING_FORMS: &[(&str, &str)] = &[
    ("slice", "slice=0.1ms"),
    ("policy", "policy=batch"),
    ("nice", "nice=-5"),
    ("cpus", "cpus=0-1"),
    ("autogroup", "autogroup=off"),
    ("timer_slack", "timer_slack=1us"),
    ("sysctl", "sysctl:net.ipv4.tcp_autocorking=0"),
    ("cpu_weight", "cpu_weight=200"),
    ("cpu_quota", "cpu_quota=50ms/100ms"),
    ("debugfs", "debugfs:sched/base_slice_ns=3000000"),
    ("feature", "feature:NO_WA_IDLE"),
    ("sysfs", "sysfs:kernel/mm/ksm/run=0"),
    ("thp", "thp=never"),
    ("halt_poll", "halt_poll=200us"),
    ("cpuidle", "cpuidle=poll"),
    ("audit", "audit=off"),
    ("option", "option:pin=same"),
    ("kernel", "kernel:debian:6.1"),
    ("plant", "plant=spin:25ns"),
];

impl Setting {
    /// What two settings must not share in one arm: `slice`, `sysctl:kernel.sched_rt_runtime_us`, …
    pub fn key(&self) -> String {
        match self {
            Self::Sysctl { name, .. } => format!("sysctl:{name}"),
            Self::Debugfs { path, .. } => format!("debugfs:{path}"),
            Self::Feature { name, .. } => format!("feature:{name}"),
            Self::Sysfs { path, .. } => format!("sysfs:{path}"),
            Self::WorkloadOption { key, .. } => format!("option:{key}"),
            Self::Kernel(_) => "kernel".into(),
            other => other.to_string().split('=').next().unwrap_or_default().to_owned(),
        }
    }

    /// Whether the setting belongs to tasks (inherited over fork, changeable while they run) and not to the host.
    pub fn is_per_task(&self) -> bool {
        matches!(
            self,
            Self::Slice { .. }
                | Self::Policy(_)
                | Self::Nice(_)
                | Self::Cpus(_)
                | Self::TimerSlack { .. }
                | Self::PlantSpin { .. }
        )
    }

    /// Whether the setting is an option of the workload: no task and no host is changed.
    pub fn is_workload_option(&self) -> bool {
        matches!(self, Self::WorkloadOption { .. })
    }

    /// Whether the setting is a sysctl of a network namespace.
    pub fn is_net_sysctl(&self) -> bool {
        matches!(self, Self::Sysctl { name, .. } if name.starts_with("net."))
    }
}

impl FromStr for Setting {
    type Err = SettingError;
    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        if let Some((scope, rest)) = text.split_once(':').filter(|(scope, _)| !scope.contains('=')) {
            return scoped(scope, rest);
        }
        let (key, value) = text.split_once('=').map(|(k, v)| (k.trim(), v.trim())).unwrap_or((text, ""));
        let bad = |why: &str| SettingError::BadValue { key: key.into(), value: value.into(), why: why.into() };
        let unit = |source| SettingError::Unit { key: key.into(), source };
        Ok(match key {
            "slice" if value == "default" => Self::Slice { ns: 0 },
            "slice" => Self::Slice { ns: parse_duration_ns(value).map_err(unit)? },
            "policy" => Self::Policy(value.parse().map_err(|why: String| bad(&why))?),
            "nice" => match value.parse() {
                Ok(nice @ -20..=19) => Self::Nice(nice),
                _ => return Err(bad("is not a nice value; they run from -20 to 19")),
            },
            "cpus" => Self::Cpus(value.parse().map_err(unit)?),
            "autogroup" => match value {
                "on" | "1" => Self::Autogroup(true),
                "off" | "0" => Self::Autogroup(false),
                _ => return Err(bad("is neither `on` nor `off`")),
            },
            "thp" => match [Thp::Always, Thp::Madvise, Thp::Never].into_iter().find(|mode| mode.name() == value) {
                Some(mode) => Self::Thp(mode),
                None => return Err(bad("is not always, madvise or never")),
            },
            "halt_poll" => Self::HaltPoll { ns: parse_duration_ns(value).map_err(unit)? },
            "cpuidle" => match [IdleStates::All, IdleStates::Poll].into_iter().find(|states| states.name() == value) {
                Some(states) => Self::Cpuidle(states),
                None => return Err(bad("is neither `all` nor `poll`")),
            },
            "audit" => match value {
                "on" | "1" => Self::Audit(true),
                "off" | "0" => Self::Audit(false),
                _ => return Err(bad("is neither `on` nor `off`")),
            },
            "timer_slack" => Self::TimerSlack { ns: parse_duration_ns(value).map_err(unit)? },
            "cpu_weight" => match value.parse() {
                Ok(weight @ 1..=10_000) => Self::CpuWeight(weight),
                _ => return Err(bad("is not a cgroup v2 weight; they run from 1 to 10000, 100 is the default")),
            },
            "cpu_quota" => cpu_quota(value)?,
            "plant" => match value.strip_prefix("spin:") {
                Some(ns) => Self::PlantSpin { ns: parse_duration_ns(ns).map_err(unit)? },
                None => return Err(bad("is not a plant; the only one is `spin:TIME`")),
            },
            _ => return Err(unknown(key)),
        })
    }
}

fn unknown(key: &str) -> SettingError {
    let known = SETTING_FORMS.iter().map(|(name, _)| *name);
    SettingError::Unknown { key: key.to_owned(), nearest: nearest(key, known).map(str::to_owned) }
}

fn scoped(scope: &str, rest: &str) -> Result<Setting, SettingError> {
    let bad = |why: &str| SettingError::BadValue { key: scope.into(), value: rest.into(), why: why.into() };
    let assignment = || rest.split_once('=').map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned()));
    Ok(match scope.trim() {
        "sysctl" => match assignment() {
            // sysctl(8) accepts both spellings; a path that climbs out of /proc/sys is refused.
            Some((name, value)) if !name.split(['.', '/']).any(str::is_empty) => {
                Setting::Sysctl { name: name.replace('/', "."), value }
            }
            _ => return Err(bad("is not `NAME=VALUE`, for example `sysctl:kernel.sched_rt_runtime_us=950000`")),
        },
        "debugfs" => match assignment() {
            Some((path, value)) if !path.is_empty() && !path.contains("..") && !path.starts_with('/') => {
                Setting::Debugfs { path, value }
            }
            _ => {
                return Err(bad(
                    "is not `PATH=VALUE` below the debugfs root, for example `debugfs:sched/base_slice_ns=3000000`",
                ));
            }
        },
        "sysfs" => match assignment() {
            Some((path, value)) if !path.is_empty() && !path.contains("..") && !path.starts_with('/') => {
                Setting::Sysfs { path, value }
            }
            _ => return Err(bad("is not `PATH=VALUE` below the sysfs root, for example `sysfs:kernel/mm/ksm/run=0`")),
        },
        "option" => match assignment() {
            Some((key, value)) if !key.is_empty() && !key.contains(char::is_whitespace) => {
                Setting::WorkloadOption { key, value }
            }
            _ => return Err(bad("is not `KEY=VALUE`, for example `option:pin=same`")),
        },
        "feature" => {
            let (name, on) = rest.strip_prefix("NO_").map(|n| (n, false)).unwrap_or((rest, true));
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
                return Err(bad("is not a scheduler feature, for example `feature:NO_WA_IDLE`"));
            }
            Setting::Feature { name: name.to_owned(), on }
        }
        "kernel" if !rest.is_empty() => Setting::Kernel(rest.to_owned()),
        other => return Err(unknown(other)),
    })
}

fn cpu_quota(value: &str) -> Result<Setting, SettingError> {
    let unit = |source| SettingError::Unit { key: "cpu_quota".into(), source };
    let (quota, period) = value.split_once('/').unwrap_or((value, "100ms"));
    let period_ns = parse_duration_ns(period).map_err(unit)?;
    let quota_ns = if quota == "max" { None } else { Some(parse_duration_ns(quota).map_err(unit)?) };
    // kernel/sched/core.c tg_set_cfs_bandwidth: both at least 1 ms, the period at most 1 s.
    if !(1_000_000..=1_000_000_000).contains(&period_ns) || quota_ns.is_some_and(|q| q < 1_000_000) {
        return Err(SettingError::BadValue {
            key: "cpu_quota".into(),
            value: value.into(),
            why: "is outside the kernel's limits: quota at least 1ms, period 1ms to 1s".into(),
        });
    }
    Ok(Setting::CpuQuota { quota_ns, period_ns })
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slice { ns } => write!(f, "slice={}", format_ns_exact(*ns)),
            Self::Policy(policy) => write!(f, "policy={policy}"),
            Self::Nice(nice) => write!(f, "nice={nice}"),
            Self::Cpus(cpus) => write!(f, "cpus={cpus}"),
            Self::Autogroup(on) => write!(f, "autogroup={}", if *on { "on" } else { "off" }),
            Self::TimerSlack { ns } => write!(f, "timer_slack={}", format_ns_exact(*ns)),
            Self::Sysctl { name, value } => write!(f, "sysctl:{name}={value}"),
            Self::CpuWeight(weight) => write!(f, "cpu_weight={weight}"),
            Self::CpuQuota { quota_ns: None, period_ns } => write!(f, "cpu_quota=max/{}", format_ns_exact(*period_ns)),
            Self::CpuQuota { quota_ns: Some(quota), period_ns } => {
                write!(f, "cpu_quota={}/{}", format_ns_exact(*quota), format_ns_exact(*period_ns))
            }
            Self::Debugfs { path, value } => write!(f, "debugfs:{path}={value}"),
            Self::Feature { name, on } => write!(f, "feature:{}{name}", if *on { "" } else { "NO_" }),
            Self::Sysfs { path, value } => write!(f, "sysfs:{path}={value}"),
            Self::Thp(mode) => write!(f, "thp={}", mode.name()),
            Self::HaltPoll { ns } => write!(f, "halt_poll={}", format_ns_exact(*ns)),
            Self::Cpuidle(states) => write!(f, "cpuidle={}", states.name()),
            Self::Audit(on) => write!(f, "audit={}", if *on { "on" } else { "off" }),
            Self::WorkloadOption { key, value } => write!(f, "option:{key}={value}"),
            Self::Kernel(kernel) => write!(f, "kernel:{kernel}"),
            Self::PlantSpin { ns } => write!(f, "plant=spin:{}", format_ns_exact(*ns)),
        }
    }
}

impl TryFrom<String> for Setting {
    type Error = SettingError;
    fn try_from(text: String) -> Result<Self, SettingError> {
        text.parse()
    }
}

impl From<Setting> for String {
    fn from(setting: Setting) -> Self {
        setting.to_string()
    }
}

impl FromStr for Policy {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, priority) = text.split_once(':').map(|(n, p)| (n, Some(p))).unwrap_or((text, None));
        let realtime = || match priority.unwrap_or("1").parse() {
            Ok(priority @ 1..=99u8) => Ok(priority),
            _ => Err("has no real-time priority of 1 to 99; write `fifo:50`".to_owned()),
        };
        match (name, priority) {
            ("other" | "normal", None) => Ok(Self::Other),
            ("batch", None) => Ok(Self::Batch),
            ("idle", None) => Ok(Self::Idle),
            ("fifo", _) => realtime().map(Self::Fifo),
            ("rr", _) => realtime().map(Self::Rr),
            _ => Err("is not a policy; there are other, batch, idle, fifo:PRIO and rr:PRIO".to_owned()),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("other"),
            Self::Batch => f.write_str("batch"),
            Self::Idle => f.write_str("idle"),
            Self::Fifo(priority) => write!(f, "fifo:{priority}"),
            Self::Rr(priority) => write!(f, "rr:{priority}"),
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
            let setting: Setting = part.parse()?;
            if settings.iter().any(|s| s.key() == setting.key()) {
                return Err(SettingError::Twice(setting.key()));
            }
            settings.push(setting);
        }
        Ok(Self { name: name.to_owned(), settings })
    }

    /// The settings as a SPEC, `` for the default.
    pub fn spec(&self) -> String {
        self.settings.iter().map(Setting::to_string).collect::<Vec<_>>().join(";")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_prints_as_it_is_read() {
        for (_, form) in SETTING_FORMS {
            let setting: Setting = form.parse().unwrap();
            assert_eq!(setting.to_string().parse(), Ok(setting));
        }
    }

    #[test]
    fn an_unknown_setting_names_the_nearest() {
        let error = "slcie=1ms".parse::<Setting>().unwrap_err();
        assert!(error.to_string().contains("did you mean `slice`"), "{error}");
    }

    #[test]
    fn values_out_of_range_are_refused_in_words() {
        for bad in [
            "nice=20",
            "policy=fifo:100",
            "slice=5",
            "cpu_quota=10us/100ms",
            "cpus=",
            "sysctl:x",
            "sysctl:net..x=1",
            "sysctl:net//x=1",
            "sysctl:/kernel/x=1",
            "debugfs:/etc/passwd=1",
            "sysfs:/etc/passwd=1",
            "sysfs:../x=1",
            "thp=often",
            "cpuidle=deep",
            "audit=maybe",
            "halt_poll=5",
            "option:pin",
        ] {
            assert!(bad.parse::<Setting>().is_err(), "{bad}");
        }
        assert_eq!(Arm::parse("a", "nice=1;nice=2"), Err(SettingError::Twice("nice".into())));
    }
}
