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
    /// `kernel:debian:6.1`: the kernel to boot in the guest lane.
    Kernel(String),
    /// `plant=spin:25ns`: a spin planted into each operation, to test what the statistics can find.
    PlantSpin {
        /// Added time per operation.
        ns: u64,
    },
    /// `plant=stall:100ms/5s`: the tasks that serve operations stand still for 100 ms in the middle of every 5 s, a
    /// known stall that an honest latency measurement must show.
    PlantStall {
        /// Length of a stall.
        ns: u64,
        /// From one stall to the next.
        period_ns: u64,
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
    ("kernel", "kernel:debian:6.1"),
    ("plant", "plant=spin:25ns"),
    ("plant", "plant=stall:100ms/5s"),
];

impl Setting {
    /// What two settings must not share in one arm: `slice`, `sysctl:kernel.sched_rt_runtime_us`, …
    pub fn key(&self) -> String {
        match self {
            Self::Sysctl { name, .. } => format!("sysctl:{name}"),
            Self::Debugfs { path, .. } => format!("debugfs:{path}"),
            Self::Feature { name, .. } => format!("feature:{name}"),
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
                | Self::PlantStall { .. }
        )
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
            "timer_slack" => Self::TimerSlack { ns: parse_duration_ns(value).map_err(unit)? },
            "cpu_weight" => match value.parse() {
                Ok(weight @ 1..=10_000) => Self::CpuWeight(weight),
                _ => return Err(bad("is not a cgroup v2 weight; they run from 1 to 10000, 100 is the default")),
            },
            "cpu_quota" => cpu_quota(value)?,
            "plant" => match value.split_once(':') {
                Some(("spin", ns)) => Self::PlantSpin { ns: parse_duration_ns(ns).map_err(unit)? },
                Some(("stall", stall)) => plant_stall(stall)?,
                _ => return Err(bad("is not a plant; there are `spin:TIME` and `stall:TIME/PERIOD`")),
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

fn plant_stall(value: &str) -> Result<Setting, SettingError> {
    let unit = |source| SettingError::Unit { key: "plant".into(), source };
    let bad = |why: &str| SettingError::BadValue {
        key: "plant".into(),
        value: format!("stall:{value}"),
        why: why.to_owned(),
    };
    let (stall, period) =
        value.split_once('/').ok_or_else(|| bad("names no period; write `stall:100ms/5s`, 100 ms of every 5 s"))?;
    let (ns, period_ns) = (parse_duration_ns(stall).map_err(unit)?, parse_duration_ns(period).map_err(unit)?);
    if ns == 0 || ns >= period_ns {
        return Err(bad("is not a stall: it must be longer than 0 and shorter than its period"));
    }
    Ok(Setting::PlantStall { ns, period_ns })
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
            Self::Kernel(kernel) => write!(f, "kernel:{kernel}"),
            Self::PlantSpin { ns } => write!(f, "plant=spin:{}", format_ns_exact(*ns)),
            Self::PlantStall { ns, period_ns } => {
                write!(f, "plant=stall:{}/{}", format_ns_exact(*ns), format_ns_exact(*period_ns))
            }
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
            "plant=stall:100ms",
            "plant=stall:0ms/1s",
            "plant=stall:2s/1s",
            "plant=pause:1s",
        ] {
            assert!(bad.parse::<Setting>().is_err(), "{bad}");
        }
        assert_eq!(Arm::parse("a", "nice=1;nice=2"), Err(SettingError::Twice("nice".into())));
    }
}
