//! SIGKILL in the middle of host-wide changes: the next start restores every value, whenever the kill came.
//!
//! Runs on the real kernel, as root, with sysctls that do no harm if they are changed for a few milliseconds:
//! `kernel.sched_cfs_bandwidth_slice_us` and `kernel.sched_rr_timeslice_ms` (which the kernel rounds to ticks).

use schedlab_tune::{Leftovers, Preview, Roots, TuneError, preview, restore_leftovers};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

const SLICE: &str = "/proc/sys/kernel/sched_cfs_bandwidth_slice_us";
const RR: &str = "/proc/sys/kernel/sched_rr_timeslice_ms";

/// The tests of this file change the same sysctls: one at a time.
static HOST: Mutex<()> = Mutex::new(());

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn root_or_skip(name: &str) -> Option<MutexGuard<'static, ()>> {
    if fs::OpenOptions::new().write(true).open(SLICE).is_err() {
        eprintln!("schedlab-skip: {name}: needs root and a writable {SLICE}");
        return None;
    }
    Some(HOST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Cargo builds examples before tests, and puts them next to `deps`, where this test is.
fn victim(state: &Path, a: &str, b: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let mut command = Command::new(test.parent().unwrap().parent().unwrap().join("examples/killed"));
    command.arg(state).args([a, b]).stdout(Stdio::piped());
    command
}

fn started(state: &Path, a: &str, b: &str) -> Child {
    let mut child =
        victim(state, a, b).spawn().expect("examples/killed is there: `cargo test` builds it, `--test` alone does not");
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"), "the victim ended before it was ready");
    child
}

fn value(path: &str) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Restores while the killed process may still exist, as in `kill -9 PID; schedlab tune restore`.
fn kill_and_restore_at_once(mut child: Child, state: &Path) -> Vec<schedlab_tune::Restored> {
    child.kill().unwrap();
    let restored = restore_leftovers(Leftovers::Killed, &Roots::default(), state).unwrap();
    child.wait().unwrap();
    restored
}

fn group_directories() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = open.pop() {
        for item in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = item.path();
            if path.is_dir() && !path.is_symlink() {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if name.strip_prefix("schedlab-").is_some_and(|pid| pid.parse::<u32>().is_ok()) {
                    found.push(path.clone());
                }
                open.push(path);
            }
        }
    }
    found
}

#[test]
fn a_hundred_sigkills_at_random_instants_are_a_hundred_full_restores() {
    let Some(_host) = root_or_skip("a_hundred_sigkills_at_random_instants_are_a_hundred_full_restores") else { return };
    let state = tempfile::tempdir().unwrap();
    let before = (value(SLICE), value(RR));
    let (a, b) = (
        "sysctl:kernel.sched_cfs_bandwidth_slice_us=7001;sysctl:kernel.sched_rr_timeslice_ms=33",
        "sysctl:kernel.sched_cfs_bandwidth_slice_us=9002",
    );
    let mut caught_in_the_act = 0;
    let mut random = schedlab_stats::Random::new(1);
    for round in 0..100 {
        // Half of the kills come while the victim is still writing its first intents.
        let delay = Duration::from_micros(random.below(6_000) as u64);
        let child =
            if round % 2 == 0 { started(state.path(), a, b) } else { victim(state.path(), a, b).spawn().unwrap() };
        std::thread::sleep(delay);
        let restored = if round % 10 < 5 {
            kill(child);
            caught_in_the_act += usize::from((value(SLICE), value(RR)) != before);
            restore_leftovers(Leftovers::Killed, &Roots::default(), state.path()).unwrap()
        } else {
            let restored = kill_and_restore_at_once(child, state.path());
            caught_in_the_act += usize::from(!restored.is_empty());
            restored
        };
        assert_eq!((value(SLICE), value(RR)), before, "round {round}, delay {delay:?}: {restored:?}");
        assert!(restored.iter().all(schedlab_tune::Restored::is_done), "round {round}: {restored:?}");
        assert_eq!(
            restore_leftovers(Leftovers::Killed, &Roots::default(), state.path()).unwrap(),
            [],
            "nothing is left to do"
        );
    }
    assert!(
        caught_in_the_act >= 50,
        "only {caught_in_the_act} kills left something to restore: the test proves little"
    );
}

#[test]
fn a_second_schedlab_is_told_who_holds_the_host_and_restores_nothing() {
    let Some(_host) = root_or_skip("a_second_schedlab_is_told_who_holds_the_host_and_restores_nothing") else { return };
    let state = tempfile::tempdir().unwrap();
    let child = started(
        state.path(),
        "sysctl:kernel.sched_cfs_bandwidth_slice_us=7001",
        "sysctl:kernel.sched_cfs_bandwidth_slice_us=9002",
    );
    let busy = restore_leftovers(Leftovers::Killed, &Roots::default(), state.path()).unwrap_err();
    assert!(matches!(&busy, TuneError::Busy { pid } if *pid == child.id().to_string()), "{busy}");
    assert_eq!(preview(&Roots::default(), state.path()).unwrap(), Preview::default());
    let mut guard = schedlab_tune::HostGuard::open(Roots::default(), state.path()).unwrap();
    let error = guard.apply(&["sysctl:kernel.sched_rr_timeslice_ms=200".parse().unwrap()]).unwrap_err();
    assert!(matches!(&error, TuneError::Busy { pid } if *pid == child.id().to_string()), "{error}");
    kill(child);
    restore_leftovers(Leftovers::Killed, &Roots::default(), state.path()).unwrap();
}

#[test]
fn a_cgroup_of_a_killed_process_is_removed_with_what_still_runs_in_it() {
    let name = "a_cgroup_of_a_killed_process_is_removed_with_what_still_runs_in_it";
    let Some(_host) = root_or_skip(name) else { return };
    let state = tempfile::tempdir().unwrap();
    let child = started(state.path(), "cpu_weight=200;cpu_quota=50ms/100ms", "cpu_quota=80ms/100ms");
    let pid = child.id();
    let group = group_directories().into_iter().find(|g| g.ends_with(format!("schedlab-{pid}")));
    let Some(group) = group else {
        kill(child);
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("schedlab-skip: {name}: needs a writable cgroup with the cpu controller");
        }
        return;
    };
    let mut tenant = Command::new("sleep").arg("60").spawn().unwrap();
    fs::write(group.join("cgroup.procs"), tenant.id().to_string()).unwrap();
    kill(child);
    restore_leftovers(Leftovers::Killed, &Roots::default(), state.path()).unwrap();
    assert!(!group.exists());
    assert!(tenant.try_wait().unwrap().is_none(), "the task moved up and still runs");
    tenant.kill().unwrap();
    tenant.wait().unwrap();
}
