//! Settings of tasks: slice, policy, nice, affinity, timer slack. They are inherited over fork and end with the task,
//! so they need no journal. Every one is read back, because the kernel clamps, ignores and refuses.
//!
//! `plant=…` is the workload's own business: it is skipped and never listed.

use crate::sysctl::not_applied;
use schedlab_plan::units::{CpuList, format_ns};
use schedlab_plan::{Applied, Policy, Setting};
use schedlab_sys::{affinity, sched_attr, timer_slack};
use std::io;
use std::path::Path;

const PROC: &str = "/proc";

/// Applies the per-task settings to the calling thread, in order, and reads each back after the last is applied.
pub fn apply_to_self(settings: &[Setting]) -> Vec<Applied> {
    apply_to_tid(0, settings)
}

/// The same for thread `tid` (0: the caller).
pub fn apply_to_tid(tid: u32, settings: &[Setting]) -> Vec<Applied> {
    let errors: Vec<Option<io::Error>> = of_tasks(settings).map(|s| set_tid(tid, s).err()).collect();
    let judged = of_tasks(settings).zip(errors).map(|(setting, error)| match error {
        Some(error) => not_applied(setting, effective_words(tid, setting), refused(tid, setting, &error)),
        None => judge(tid, setting),
    });
    judged.collect()
}

/// The actual setting of thread `tid` (0: the caller), compared with what was asked; nothing is written.
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
/// switchback. `InvalidInput` for a setting that is not a task's.
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

/// What a task has by default, for the key of `setting`: the kernel's own slice, and for the rest what the caller has
/// now (its children inherit it): call it before anything is applied.
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

/// The setting of the same key with its actual value. A slice of 0 means that the kernel does not report one.
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
        // No slack at all is a real-time thread's.
        (Setting::TimerSlack { ns: 0 }, Setting::TimerSlack { ns: 0 }) => ("timer_slack=0ns".into(), false),
        // The default of a task is what its parent had when it created the task: for a workload's tasks, what the
        // caller has.
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

/// Why a call that succeeded, or was never made, left another value.
fn difference(tid: u32, setting: &Setting, present: &Setting) -> String {
    let policy = present_policy(tid);
    let realtime = matches!(policy, Ok(Policy::Fifo(_) | Policy::Rr(_)));
    match (setting, present) {
        // fair_policy() of kernel/sched/sched.h is normal and batch alone.
        (Setting::Slice { .. }, Setting::Slice { ns: 1.. }) if matches!(policy, Ok(Policy::Idle)) => {
            format!("policy idle has no slice of its own and keeps {present}; drop it, or the policy")
        }
        (Setting::Slice { .. }, Setting::Slice { ns: 0 }) if realtime => {
            "a slice belongs to the fair policies; drop it, or the real-time policy".into()
        }
        (Setting::Slice { .. }, Setting::Slice { ns: 0 }) => {
            let own = se_slice(tid).map(|ns| format!(", and keeps {}", format_ns(ns))).unwrap_or_default();
            format!("this kernel accepts a slice and ignores it{own} (needs Linux 6.12); {}", crate::reason::GUEST_LANE)
        }
        (Setting::Slice { ns }, Setting::Slice { .. }) if !(100_000..=100_000_000).contains(ns) => {
            "the kernel clamps a slice to 0.1 to 100 ms; ask for one within".into()
        }
        (Setting::TimerSlack { .. }, _) if realtime => {
            "a thread under a real-time policy has no timer slack; drop it, or the policy".into()
        }
        (Setting::Cpus(asked), Setting::Cpus(now)) => cpus_missing(asked, now, tid),
        _ => format!("it is {present}; somebody else changed it, or a call was refused"),
    }
}

/// `se.slice` of /proc/<tid>/sched, ns: kernels from 6.6 print it also where no call can change it.
fn se_slice(tid: u32) -> Option<u64> {
    let of = if tid == 0 { "thread-self".to_owned() } else { tid.to_string() };
    let text = std::fs::read_to_string(Path::new(PROC).join(of).join("sched")).ok()?;
    let line = text.lines().find(|l| l.split([' ', ':']).next() == Some("se.slice"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Why thread `tid` (0: the caller) may run on `now` alone of what was asked for.
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
        // The caller asked for the same before it made the thread, and has them: no cpuset is in the way.
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
    std::fs::read_to_string(sys.join("devices/system/cpu/online")).ok()?.trim().parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Attributes belong to threads: they end with this one.
    fn on_own_thread(specs: &'static [&'static str]) -> Vec<Applied> {
        let settings: Vec<Setting> = specs.iter().map(|s| s.parse().unwrap()).collect();
        std::thread::spawn(move || apply_to_self(&settings)).join().unwrap()
    }

    fn knows_slices() -> bool {
        sched_attr::get(0).unwrap().runtime_ns != 0
    }

    #[test]
    fn what_needs_no_rights_is_in_force_and_the_plant_is_not_listed() {
        let applied = on_own_thread(&["policy=batch", "nice=5", "cpus=0", "timer_slack=1us", "plant=spin:5ns"]);
        let words: Vec<&str> = applied.iter().map(|a| a.effective.as_str()).collect();
        assert_eq!(words, ["policy=batch", "nice=5", "cpus=0", "timer_slack=1us"]);
        assert!(applied.iter().all(|a| a.not_applied.is_none()), "{applied:?}");
    }

    #[test]
    fn a_slice_is_in_force_or_the_kernels_age_is_the_reason() {
        let applied = &on_own_thread(&["slice=3ms"])[0];
        if knows_slices() {
            assert_eq!((applied.effective.as_str(), &applied.not_applied), ("slice=3ms", &None));
        } else {
            assert!(applied.not_applied.as_ref().unwrap().contains("6.12"));
        }
        let default = &on_own_thread(&["slice=default"])[0];
        assert!(default.not_applied.is_none() && default.effective.contains("default"), "{default:?}");
    }

    #[test]
    fn a_slack_of_0_is_the_default_and_the_read_back_says_which() {
        let applied = std::thread::spawn(|| {
            let default = timer_slack::own_ns().unwrap();
            let asked: Vec<Setting> = ["timer_slack=7us", "timer_slack=0"].map(|s| s.parse().unwrap()).into();
            apply_to_self(&asked[..1]);
            (default, apply_to_self(&asked[1..]).remove(0))
        });
        let (default, applied) = applied.join().unwrap();
        assert_eq!(applied.setting.to_string(), "timer_slack=default");
        assert!(applied.effective.starts_with(&Setting::TimerSlack { ns: default }.to_string()), "{applied:?}");
        assert!(applied.effective.contains("the least is 1ns") && applied.not_applied.is_none(), "{applied:?}");
        let real_time = on_own_thread(&["policy=fifo:1", "timer_slack=0"]);
        let why = &real_time[1].not_applied;
        assert!(real_time[0].not_applied.is_some() || why.as_ref().unwrap().contains("real-time"), "{real_time:?}");
    }

    #[test]
    fn a_clamped_slice_is_not_applied() {
        let applied = &on_own_thread(&["slice=10us"])[0];
        let why = applied.not_applied.as_ref().unwrap();
        if knows_slices() {
            assert_eq!(applied.effective, "slice=100us");
            assert!(why.contains("clamps"), "{why}");
        } else {
            assert!(why.contains("6.12"), "{why}");
        }
    }

    #[test]
    fn a_cpu_beyond_the_machine_names_those_there_are() {
        let applied = &on_own_thread(&["cpus=9999"])[0];
        let why = applied.not_applied.as_ref().unwrap();
        assert!(why.contains("CPU 9999 is not online here: there are 0"), "{why}");
        // A mask that is partly there succeeds and is trimmed: only the read-back finds out.
        let applied = &on_own_thread(&["cpus=0,9999"])[0];
        assert_eq!(applied.effective, "cpus=0");
        assert!(applied.not_applied.as_ref().unwrap().contains("9999"));
    }

    #[test]
    fn a_slice_under_policy_idle_names_the_policy() {
        let applied = &on_own_thread(&["policy=idle", "slice=3ms"])[1];
        let why = applied.not_applied.as_ref().unwrap();
        assert!(why.contains(if knows_slices() { "policy idle has no slice" } else { "6.12" }), "{applied:?}");
    }

    /// As a workload's own pinning does it: no cpuset is to blame.
    #[test]
    fn a_task_that_narrows_itself_is_told_from_a_cpuset() {
        let all = affinity::allowed_cpus(0).unwrap();
        let (first, asked) = (CpuList::new(vec![all[0]]), CpuList::new(all.clone()));
        assert!(cpus_missing(&CpuList::new(vec![9999]), &first, 1).contains("not online"));
        if all.len() > 1 {
            assert!(cpus_missing(&asked, &first, 1).contains("puts itself"));
            assert!(cpus_missing(&asked, &first, 0).contains("cpuset"));
        }
    }

    #[test]
    fn a_slice_under_a_real_time_policy_is_explained() {
        let applied = on_own_thread(&["policy=fifo:1", "slice=3ms"]);
        if applied[0].not_applied.is_some() {
            assert!(applied[0].not_applied.as_ref().unwrap().contains("CAP_SYS_NICE"));
            return;
        }
        assert!(applied[1].not_applied.as_ref().unwrap().contains("fair policies"), "{applied:?}");
    }

    #[test]
    fn defaults_are_what_the_caller_has() {
        let back = |spec: &str| default_of(&spec.parse().unwrap()).to_string();
        assert_eq!(back("slice=1ms"), "slice=default");
        assert_eq!(back("plant=spin:9ns"), "plant=spin:0ns");
        let nice = std::thread::spawn(move || {
            sched_attr::set_nice(0, 3).unwrap();
            default_of(&Setting::Nice(9))
        });
        assert_eq!(nice.join().unwrap(), Setting::Nice(3));
        let cpus = default_of(&"cpus=0".parse().unwrap());
        assert_eq!(cpus, Setting::Cpus(CpuList::new(affinity::allowed_cpus(0).unwrap())));
    }

    #[test]
    fn another_thread_is_read_back() {
        let (send, receive) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            send.send(schedlab_sys::thread::current_tid()).unwrap();
            let _ = wait.recv();
        });
        let tid = receive.recv().unwrap();
        let asked = [Setting::Nice(4)];
        assert!(read_back(tid, &asked)[0].not_applied.is_some());
        assert!(apply_to_tid(tid, &asked)[0].not_applied.is_none());
        assert_eq!(read_back(tid, &asked)[0].effective, "nice=4");
        drop(end);
        other.join().unwrap();
    }
}
