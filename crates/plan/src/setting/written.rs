//! Settings as text: how each is written in a SPEC, parsed and printed.

use super::{IdleStates, Policy, Setting, SettingError, Thp};
use crate::nearest::nearest;
use crate::units::{UnitError, format_ns_exact, parse_duration_ns};
use std::fmt;
use std::str::FromStr;

/// Keys as written in a SPEC, an example each, and what it does; `list knobs` prints them.
pub const SETTING_FORMS: &[(&str, &str, &str)] = &[
    ("slice", "slice=0.1ms", "each task's EEVDF slice (Linux 6.12)"),
    ("policy", "policy=batch", "other, batch, idle, fifo:PRIO, rr:PRIO"),
    ("nice", "nice=-5", "nice value of the workload's tasks"),
    ("cpus", "cpus=0-1", "CPUs they may run on"),
    ("autogroup", "autogroup=off", "a task group for each session; on, off"),
    ("timer_slack", "timer_slack=1us", "how late a sleep may end"),
    ("sysctl", "sysctl:net.ipv4.tcp_autocorking=0", "any sysctl; net.* inside a network namespace of the trial"),
    ("cpu_weight", "cpu_weight=200", "share of a cgroup around the workload, 1 to 10000"),
    ("cpu_quota", "cpu_quota=50ms/100ms", "CPU time of that cgroup per period, or max"),
    ("debugfs", "debugfs:sched/base_slice_ns=3000000", "any file below debugfs"),
    ("feature", "feature:NO_WA_IDLE", "a word of sched/features"),
    ("sysfs", "sysfs:kernel/mm/ksm/run=0", "any file below /sys"),
    ("thp", "thp=never", "transparent huge pages: always, madvise, never"),
    ("halt_poll", "halt_poll=200us", "how long a CPU polls before it halts: in this guest, or by KVM for guests"),
    ("cpuidle", "cpuidle=poll", "idle states of all CPUs: all, or poll (the first only)"),
    ("audit", "audit=off", "auditing of new tasks, by a rule; on, off"),
    ("option", "option:pin=same", "an option of the workload, so that arms can differ in it"),
    ("trace", "trace=on:full", "a trace of the scheduler beside the trial: off, unread[:EVENTS], on[:EVENTS]"),
    ("kernel", "kernel:debian:6.1", "the kernel of a guest"),
    ("boot", "boot:preempt=full", "a word of a guest's kernel command line"),
    ("topology", "topology:sockets=2,nodes=2", "how a guest's CPUs are arranged"),
    ("plant", "plant=spin:25ns", "injects a known delay into each operation, to test detection"),
    ("plant", "plant=stall:100ms/5s", "injects a known stall into every period"),
];

impl FromStr for Setting {
    type Err = SettingError;
    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        if let Some((scope, rest)) = text.split_once(':').filter(|(scope, _)| !scope.contains('=')) {
            return scoped(scope, rest);
        }
        let (key, value) = text.split_once('=').map(|(k, v)| (k.trim(), v.trim())).unwrap_or((text, ""));
        // Like options of workloads, they may be written with `-` for `_`.
        let key = key.replace('-', "_");
        let key = key.as_str();
        let bad = |why: &str| SettingError::BadValue { key: key.into(), value: value.into(), why: why.into() };
        let unit = |cause| SettingError::Unit { key: key.into(), cause };
        Ok(match key {
            "slice" => Self::Slice { ns: or_default(value).map_err(unit)? },
            "policy" => Self::Policy(value.parse().map_err(|why: String| bad(&why))?),
            "nice" => match value.parse() {
                Ok(nice @ -20..=19) => Self::Nice(nice),
                _ => return Err(bad("is not a nice value; they run from -20 to 19")),
            },
            "cpus" => Self::Cpus(value.parse().map_err(unit)?),
            "autogroup" => Self::Autogroup(on_or_off(value).ok_or_else(|| bad("is neither `on` nor `off`"))?),
            "thp" => match Thp::ALL.into_iter().find(|mode| mode.name() == value) {
                Some(mode) => Self::Thp(mode),
                None => return Err(bad("is not always, madvise or never")),
            },
            "halt_poll" => Self::HaltPoll { ns: parse_duration_ns(value).map_err(unit)? },
            "cpuidle" => match IdleStates::BOTH.into_iter().find(|states| states.name() == value) {
                Some(states) => Self::Cpuidle(states),
                None => return Err(bad("is neither `all` nor `poll`")),
            },
            "audit" => Self::Audit(on_or_off(value).ok_or_else(|| bad("is neither `on` nor `off`"))?),
            "timer_slack" => Self::TimerSlack { ns: or_default(value).map_err(unit)? },
            "cpu_weight" => match value.parse() {
                Ok(weight @ 1..=10_000) => Self::CpuWeight(weight),
                _ => return Err(bad("is not a cgroup v2 weight; they run from 1 to 10000, 100 is the default")),
            },
            "cpu_quota" => cpu_quota(value)?,
            "trace" => Self::Trace(value.parse().map_err(|why: String| bad(&why))?),
            "plant" => match value.split_once(':') {
                Some(("spin", ns)) => Self::PlantSpin { ns: parse_duration_ns(ns).map_err(unit)? },
                Some(("stall", stall)) => plant_stall(stall)?,
                _ => return Err(bad("is not a plant; there are `spin:TIME` and `stall:TIME/PERIOD`")),
            },
            _ => return Err(unknown(key)),
        })
    }
}

/// A time for which 0 means the kernel's default.
fn or_default(value: &str) -> Result<u64, UnitError> {
    if value == "default" { Ok(0) } else { parse_duration_ns(value) }
}

fn default_or(ns: u64) -> String {
    if ns == 0 { "default".into() } else { format_ns_exact(ns) }
}

fn on_or_off(value: &str) -> Option<bool> {
    match value {
        "on" | "1" => Some(true),
        "off" | "0" => Some(false),
        _ => None,
    }
}

fn unknown(key: &str) -> SettingError {
    if let Some((_, form, _)) = SETTING_FORMS.iter().find(|(name, ..)| *name == key) {
        return SettingError::Form { key: key.to_owned(), form };
    }
    let known = SETTING_FORMS.iter().map(|(name, ..)| *name);
    SettingError::Unknown { key: key.to_owned(), nearest: nearest(key, known).map(str::to_owned) }
}

fn scoped(scope: &str, rest: &str) -> Result<Setting, SettingError> {
    let bad = |why: &str| SettingError::BadValue { key: scope.into(), value: rest.into(), why: why.into() };
    let assignment = || rest.split_once('=').map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned()));
    Ok(match scope.trim() {
        "sysctl" => match assignment() {
            // sysctl(8) accepts both spellings; a path that leaves /proc/sys is refused.
            Some((name, value)) if !name.split(['.', '/']).any(str::is_empty) => {
                Setting::Sysctl { name: name.replace('/', "."), value }
            }
            _ => return Err(bad("is not `NAME=VALUE`, for example `sysctl:kernel.sched_rt_runtime_us=950000`")),
        },
        "debugfs" => match assignment().filter(|(path, _)| is_below_root(path)) {
            Some((path, value)) => Setting::Debugfs { path, value },
            None => {
                return Err(bad(
                    "is not `PATH=VALUE` below the debugfs root, for example `debugfs:sched/base_slice_ns=3000000`",
                ));
            }
        },
        "sysfs" => match assignment().filter(|(path, _)| is_below_root(path)) {
            Some((path, value)) => Setting::Sysfs { path, value },
            None => {
                return Err(bad("is not `PATH=VALUE` below the sysfs root, for example `sysfs:kernel/mm/ksm/run=0`"));
            }
        },
        "option" => match assignment() {
            Some((key, value)) if !key.is_empty() && !key.contains(char::is_whitespace) => {
                // As in the workload's own table, so that an arm's value replaces the workload's.
                Setting::WorkloadOption { key: key.replace('_', "-"), value }
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
        "boot" if rest.starts_with("schedlab.") => {
            return Err(bad("is set by schedlab to describe the guest; use [guest] instead"));
        }
        "boot" if !rest.is_empty() && !rest.contains(char::is_whitespace) => Setting::BootArgument(rest.to_owned()),
        "boot" => return Err(bad("is not one word of a kernel's command line, for example `boot:preempt=full`")),
        "topology" if rest.contains('=') => Setting::Topology(rest.to_owned()),
        "topology" => return Err(bad("is not a topology, for example `topology:sockets=2,cores=2,nodes=2`")),
        other => return Err(unknown(other)),
    })
}

/// Whether a path cannot leave the root that it is below.
fn is_below_root(path: &str) -> bool {
    !path.is_empty() && !path.starts_with('/') && !path.contains("..")
}

fn cpu_quota(value: &str) -> Result<Setting, SettingError> {
    let unit = |cause| SettingError::Unit { key: "cpu_quota".into(), cause };
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
    let unit = |cause| SettingError::Unit { key: "plant".into(), cause };
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
            Self::Slice { ns } => write!(f, "slice={}", default_or(*ns)),
            Self::Policy(policy) => write!(f, "policy={policy}"),
            Self::Nice(nice) => write!(f, "nice={nice}"),
            Self::Cpus(cpus) => write!(f, "cpus={cpus}"),
            Self::Autogroup(on) => write!(f, "autogroup={}", if *on { "on" } else { "off" }),
            Self::TimerSlack { ns } => write!(f, "timer_slack={}", default_or(*ns)),
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
            Self::Trace(trace) => write!(f, "trace={trace}"),
            Self::Kernel(kernel) => write!(f, "kernel:{kernel}"),
            Self::BootArgument(word) => write!(f, "boot:{word}"),
            Self::Topology(topology) => write!(f, "topology:{topology}"),
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

#[cfg(test)]
mod tests;
