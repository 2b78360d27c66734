//! Per-task settings: slice, policy, nice, affinity, timer slack. They are inherited on fork and end with the task, so
//! they need no journal. Each is read back, because the kernel may clamp, ignore or refuse it.
//!
//! `plant=…` is handled by the workload: it is skipped here, and never listed.

use crate::sysctl::not_applied;
use schedlab_plan::units::{CpuList, format_ns};
use schedlab_plan::{Applied, Policy, Setting};
use schedlab_sys::{affinity, sched_attr, timer_slack};
use std::io;
use std::path::Path;

const PROC: &str = "/proc";

/// Slices that the kernel accepts, ns; it clamps others.
pub(crate) const SLICES_NS: std::ops::RangeInclusive<u64> = 100_000..=100_000_000;

/// Applies the per-task settings to the calling thread, and reads each back after the last is applied.
pub fn apply_to_self(settings: &[Setting]) -> Vec<Applied> {
    apply_to_tid(0, settings)
}

/// The same for thread `tid` (0: the caller).
pub fn apply_to_tid(tid: u32, settings: &[Setting]) -> Vec<Applied> {
    let errors: Vec<(&Setting, io::Error)> =
        in_their_order(settings).into_iter().filter_map(|s| Some((s, set_tid(tid, s).err()?))).collect();
    let judged = of_tasks(settings).map(|setting| match errors.iter().find(|(of, _)| *of == setting) {
        Some((_, error)) => not_applied(setting, effective_words(tid, setting), refused(tid, setting, error)),
        None => judge(tid, setting),
    });
    judged.collect()
}

/// A policy resets the slice, so the slice is set after it. The exception is `idle`, which keeps the slice that the
/// task had and accepts none (kernel/sched/syscalls.c, `__setscheduler_params`).
fn in_their_order(settings: &[Setting]) -> Vec<&Setting> {
    let is_slice = |setting: &&Setting| matches!(setting, Setting::Slice { .. });
    let (slices, others): (Vec<&Setting>, Vec<&Setting>) = of_tasks(settings).partition(is_slice);
    let is_idle = others.iter().any(|setting| matches!(setting, Setting::Policy(Policy::Idle)));
    let [first, last] = if is_idle { [slices, others] } else { [others, slices] };
    [first, last].concat()
}

/// The actual settings of thread `tid` (0: the caller), compared with the requested ones; writes nothing.
pub fn read_back(tid: u32, settings: &[Setting]) -> Vec<Applied> {
    of_tasks(settings).map(|setting| judge(tid, setting)).collect()
}

fn of_tasks(settings: &[Setting]) -> impl Iterator<Item = &Setting> {
    settings.iter().filter(|s| s.is_per_task() && !is_plant(s))
}

fn is_plant(setting: &Setting) -> bool {
    matches!(setting, Setting::PlantSpin { .. } | Setting::PlantStall { .. })
}

/// Sets one setting on one thread (0: the caller) without reading it back: cheap enough for each window of a
/// switchback. `InvalidInput` for a setting that is not per-task.
pub fn set_tid(tid: u32, setting: &Setting) -> io::Result<()> {
    match setting {
        Setting::Slice { ns } => sched_attr::set_slice(tid, *ns),
        Setting::Policy(policy) => {
            let (number, priority) = policy.sched_numbers();
            sched_attr::set_policy(tid, number, priority)
        }
        Setting::Nice(nice) => sched_attr::set_nice(tid, *nice),
        Setting::Cpus(cpus) => affinity::set_affinity(tid, cpus.as_slice()),
        Setting::TimerSlack { ns } if tid == 0 => timer_slack::set_own_ns(*ns),
        Setting::TimerSlack { ns } => timer_slack::set_tid_ns(Path::new(PROC), tid, *ns),
        plant if is_plant(plant) => Ok(()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// The default of a task for the key of `setting`: the kernel's slice, and for the rest the caller's present value,
/// which its children inherit. Call it before anything is applied.
pub fn default_of(setting: &Setting) -> Setting {
    match setting {
        Setting::Slice { .. } => Setting::Slice { ns: 0 },
        Setting::Policy(_) => Setting::Policy(present_policy(0).unwrap_or(Policy::Other)),
        Setting::Nice(_) => Setting::Nice(sched_attr::nice(0).unwrap_or(0)),
        Setting::Cpus(asked) => {
            Setting::Cpus(affinity::allowed_cpus(0).map(CpuList::new).unwrap_or_else(|_| asked.clone()))
        }
        Setting::TimerSlack { .. } => Setting::TimerSlack { ns: timer_slack::own_ns().unwrap_or(0) },
        Setting::PlantSpin { .. } => Setting::PlantSpin { ns: 0 },
        host_wide => host_wide.clone(),
    }
}

fn present_policy(tid: u32) -> io::Result<Policy> {
    let attr = sched_attr::get(tid)?;
    let priority = attr.priority as u8;
    Ok(match attr.policy {
        sched_attr::SCHED_OTHER => Policy::Other,
        sched_attr::SCHED_BATCH => Policy::Batch,
        sched_attr::SCHED_IDLE => Policy::Idle,
        sched_attr::SCHED_FIFO => Policy::Fifo(priority),
        sched_attr::SCHED_RR => Policy::Rr(priority),
        other => return Err(io::Error::other(format!("policy {other}, which schedlab does not set"))),
    })
}

/// The setting with the same key and the actual value. A slice of 0 means that the kernel does not report one.
fn present(tid: u32, setting: &Setting) -> io::Result<Setting> {
    Ok(match setting {
        Setting::Slice { .. } => Setting::Slice { ns: sched_attr::get(tid)?.runtime_ns },
        Setting::Policy(_) => Setting::Policy(present_policy(tid)?),
        Setting::Nice(_) => Setting::Nice(sched_attr::nice(tid)?),
        Setting::Cpus(_) => Setting::Cpus(CpuList::new(affinity::allowed_cpus(tid)?)),
        Setting::TimerSlack { .. } if tid == 0 => Setting::TimerSlack { ns: timer_slack::own_ns()? },
        Setting::TimerSlack { .. } => Setting::TimerSlack { ns: timer_slack::of_tid_ns(Path::new(PROC), tid)? },
        other => other.clone(),
    })
}

fn effective_words(tid: u32, setting: &Setting) -> String {
    present(tid, setting).map(|s| s.to_string()).unwrap_or_else(|e| format!("unreadable: {e}"))
}

fn judge(tid: u32, setting: &Setting) -> Applied {
    let present = match present(tid, setting) {
        Ok(present) => present,
        Err(e) => return not_applied(setting, "", format!("it cannot be read back: {e}")),
    };
    let (effective, in_force) = match (setting, &present) {
        (Setting::Slice { ns: 0 }, Setting::Slice { ns: 1.. }) => (format!("{present} (the kernel's default)"), true),
        // A real-time thread has no timer slack.
        (Setting::TimerSlack { ns: 0 }, Setting::TimerSlack { ns: 0 }) => ("timer_slack=0ns".into(), false),
        // The default of a task is the value of its parent when it was created: for a workload's tasks, the caller's.
        (Setting::TimerSlack { ns: 0 }, Setting::TimerSlack { ns }) => {
            let is_own = tid == 0 || timer_slack::own_ns().is_ok_and(|own| own == *ns);
            (format!("{present} (the default, which 0 asks for; the least is 1ns)"), is_own)
        }
        _ => (present.to_string(), present == *setting),
    };
    if in_force {
        return Applied { setting: setting.clone(), effective, not_applied: None };
    }
    let why = difference(tid, setting, &present);
    not_applied(setting, effective, why)
}

/// Why the value differs, although the call succeeded or was not made.
fn difference(tid: u32, setting: &Setting, present: &Setting) -> String {
    let policy = present_policy(tid);
    let realtime = matches!(policy, Ok(Policy::Fifo(_) | Policy::Rr(_)));
    match (setting, present) {
        // fair_policy() in kernel/sched/sched.h covers only normal and batch.
        (Setting::Slice { .. }, Setting::Slice { ns: 1.. }) if matches!(policy, Ok(Policy::Idle)) => {
            format!("a task under policy idle takes no slice and keeps {present}; give the slice before the policy")
        }
        (Setting::Slice { .. }, Setting::Slice { ns: 0 }) if realtime => {
            "a slice belongs to the fair policies; drop it, or the real-time policy".into()
        }
        (Setting::Slice { .. }, Setting::Slice { ns: 0 }) => {
            let own = se_slice(tid).map(|ns| format!(", and keeps {}", format_ns(ns))).unwrap_or_default();
            format!("this kernel accepts a slice and ignores it{own} (needs Linux 6.12); {}", crate::reason::GUEST_LANE)
        }
        (Setting::Slice { ns }, Setting::Slice { .. }) if !SLICES_NS.contains(ns) => CLAMPED.into(),
        (Setting::TimerSlack { .. }, _) if realtime => {
            "a thread under a real-time policy has no timer slack; drop it, or the policy".into()
        }
        (Setting::Cpus(asked), Setting::Cpus(now)) => cpus_missing(asked, now, tid),
        _ => format!("it is {present}; somebody else changed it, or a call was refused"),
    }
}

/// `se.slice` of /proc/<tid>/sched, ns: kernels from 6.6 print it even if no call can change it.
fn se_slice(tid: u32) -> Option<u64> {
    let of = if tid == 0 { "thread-self".to_owned() } else { tid.to_string() };
    let text = crate::file::read(Path::new(PROC).join(of).join("sched")).ok()?;
    let line = text.lines().find(|l| l.split([' ', ':']).next() == Some("se.slice"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Why thread `tid` (0: the caller) may run only on `now`, of the CPUs that were requested.
fn cpus_missing(asked: &CpuList, now: &CpuList, tid: u32) -> String {
    let missing: Vec<u32> = asked.as_slice().iter().copied().filter(|c| !now.as_slice().contains(c)).collect();
    if missing.is_empty() {
        return format!("the task may run on CPUs {now}; somebody else changed its affinity");
    }
    let missing = CpuList::new(missing);
    match online_cpus(Path::new("/sys")) {
        Some(online) if missing.as_slice().iter().any(|c| !online.as_slice().contains(c)) => {
            format!("CPU {missing} is not online here: there are {online}")
        }
        // The caller requested the same before it created the thread, and got it: no cpuset is in the way.
        _ if tid != 0 && has(affinity::allowed_cpus(0), &missing) => {
            format!(
                "a task of the workload runs on CPU {now} alone, where it puts itself; drop cpus, or its own pinning"
            )
        }
        _ => format!("CPU {missing} is outside this task's cpuset, which leaves {now}"),
    }
}

fn has(cpus: io::Result<Vec<u32>>, wanted: &CpuList) -> bool {
    cpus.is_ok_and(|cpus| wanted.as_slice().iter().all(|cpu| cpus.contains(cpu)))
}

/// `/sys/devices/system/cpu/online`.
pub(crate) fn online_cpus(sys: &Path) -> Option<CpuList> {
    crate::file::read(sys.join("devices/system/cpu/online")).ok()?.trim().parse().ok()
}

/// Why the kernel refused a call.
fn refused(tid: u32, setting: &Setting, error: &io::Error) -> String {
    let barred = error.kind() == io::ErrorKind::PermissionDenied;
    match setting {
        Setting::Nice(nice) if barred => format!(
            "a nice value of {nice} needs CAP_SYS_NICE, or RLIMIT_NICE of at least {}: run with sudo, or `ulimit -e {0}` as root",
            20 - nice
        ),
        Setting::Policy(Policy::Fifo(_) | Policy::Rr(_)) if barred => "a real-time policy needs CAP_SYS_NICE, or \
             RLIMIT_RTPRIO: run with sudo, or `ulimit -r 99` as root (root is refused too in a cgroup v1 group whose \
             cpu.rt_runtime_us is 0)"
            .into(),
        Setting::Policy(_) if barred => {
            "leaving policy idle needs CAP_SYS_NICE, or an RLIMIT_NICE that covers the task's nice value: run with sudo"
                .into()
        }
        Setting::Cpus(asked) => match affinity::allowed_cpus(tid) {
            Ok(now) => format!("{} ({error})", cpus_missing(asked, &CpuList::new(now), tid)),
            Err(e) => e.to_string(),
        },
        Setting::Slice { .. } if error.kind() == io::ErrorKind::InvalidInput => {
            "a slice belongs to the fair policies; drop it, or the real-time policy".into()
        }
        Setting::Slice { .. } if error.raw_os_error() == Some(ENOSYS) => "this system has no sched_setattr(2)".into(),
        Setting::TimerSlack { .. } if barred => "another thread's timer slack needs CAP_SYS_NICE: run with sudo".into(),
        _ => error.to_string(),
    }
}

const ENOSYS: i32 = 38;
/// Why a task has another slice than the requested one, which was too short or too long.
pub(crate) const CLAMPED: &str = "the kernel clamps a slice to 0.1 to 100 ms; ask for one within";

#[cfg(test)]
mod tests;
