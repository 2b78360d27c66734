//! SIGKILL at any moment: the next start restores the host, and no finished trial is lost.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, json, schedlab, trials_in};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A harmless sysctl: the slice of cgroup bandwidth, in µs.
const SYSCTL: &str = "/proc/sys/kernel/sched_cfs_bandwidth_slice_us";

/// Only one schedlab at a time may change this host, so the tests of this file take turns.
static HOST: Mutex<()> = Mutex::new(());

fn host_is_ours() -> MutexGuard<'static, ()> {
    HOST.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn value() -> String {
    std::fs::read_to_string(SYSCTL).unwrap_or_default().trim().to_owned()
}

/// Starts an A/B that alternates the sysctl, kills it after a while, and waits until it is gone. With `sees_change` it
/// waits until the sysctl has changed, for up to ten seconds on a loaded machine.
fn killed_run(out: &str, after: Duration, sees_change: Option<&str>) {
    let mut child = program::command()
        .args(["ab", "-w", "pipe:pin=same", "--b", "sysctl:kernel.sched_cfs_bandwidth_slice_us=4321", "--trials", "50"])
        .args(["--trial", "20ms", "--counters", "basic", "--out", out])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    if let Some(original) = sees_change {
        let give_up = Instant::now() + Duration::from_secs(60);
        while value() == original && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_sysctl_run_is_undone_by_the_next_start() {
    let _host = host_is_ours();
    let original = value();
    if original.is_empty() || std::fs::write(SYSCTL, &original).is_err() {
        eprintln!("schedlab-skip: a_killed_sysctl_run_is_undone_by_the_next_start: needs root");
        return;
    }
    let crashes: u64 = std::env::var("SCHEDLAB_CRASHES").ok().and_then(|n| n.parse().ok()).unwrap_or(25);
    let lab = Lab::new("crash");
    let mut changed = 0;
    for i in 0..crashes {
        let sees_change = (i % 5 == 0).then_some(original.as_str());
        killed_run(&lab.path(&format!("run{i}")), Duration::from_millis(100 + i * 37 % 400), sees_change);
        changed += u64::from(value() != original);
        // Every other time with `tune restore`, otherwise at the next start of any command.
        if i % 2 == 0 {
            schedlab(&["tune", "restore"]).success();
        } else {
            schedlab(&["bench", "pipe:pin=same,duration=5ms"]).success();
        }
        assert_eq!(value(), original, "after crash {i}");
    }
    assert!(changed > 0, "no kill hit a moment at which the sysctl was changed: the test showed nothing");
}

/// All writable sysctls as files, to check that none changed. Process ids are left out, because they advance.
fn sysctls() -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    use std::os::unix::fs::PermissionsExt;
    let (mut found, mut open) = (std::collections::BTreeMap::new(), vec![Path::new("/proc/sys").to_owned()]);
    while let Some(directory) = open.pop() {
        for path in std::fs::read_dir(&directory).into_iter().flatten().flatten().map(|item| item.path()) {
            let Ok(kind) = std::fs::symlink_metadata(&path) else { continue };
            if kind.is_dir() {
                open.push(path);
            } else if kind.permissions().mode() & 0o200 != 0 && !path.ends_with("ns_last_pid") {
                found.extend(std::fs::read(&path).ok().map(|value| (path, value)));
            }
        }
    }
    found
}

/// A sweep over values, killed in the middle, resumed, and observed from outside.
#[test]
fn a_sweep_ends_with_every_sysctl_as_before() {
    let _host = host_is_ours();
    let original = value();
    if original.is_empty() || std::fs::write(SYSCTL, &original).is_err() {
        eprintln!("schedlab-skip: a_sweep_ends_with_every_sysctl_as_before: needs root");
        return;
    }
    let (lab, before) = (Lab::new("crash-sweep"), sysctls());
    let plan = "strategy = \"one-at-a-time\"\ntrials = 6\ntrial = \"10ms\"\nlatency = \"off\"\ncounters = \"basic\"\n\
        [[workload]]\nrun = \"pipe:pin=same\"\n\
        [[knob]]\nset = \"sysctl:kernel.sched_cfs_bandwidth_slice_us\"\nvalues = [4321, 6789]\n\
        [[knob]]\nset = \"sysctl:kernel.sched_rr_timeslice_ms\"\nvalues = [40, 80]\n";
    std::fs::write(lab.path("plan.toml"), plan).unwrap();
    let (file, out) = (lab.path("plan.toml"), lab.path("out"));
    let words = ["run", &file, "-o", &out, "--json"];
    let mut child = program::command().args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let give_up = Instant::now() + Duration::from_secs(60);
    while (value() == original || trials_in(&out) < 15)
        && child.try_wait().unwrap().is_none()
        && Instant::now() < give_up
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(value() != original, "the kill would find nothing changed");
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = schedlab(&[&words[..], &["--resume"]].concat()).success();
    let arms = json(&resumed.stdout)["arms"].as_array().unwrap().len();
    assert_eq!(arms, 5, "the default and four values: {}", resumed.stdout);
    let after = sysctls();
    let changed: Vec<_> =
        before.iter().filter(|(path, value)| after.get(*path) != Some(value)).map(|(path, _)| path).collect();
    assert!(changed.is_empty() && before.len() > 100, "{changed:?} of {}", before.len());
}

/// Our cgroups in every hierarchy, wherever a run may have created them.
fn our_cgroups(of_pid: u32) -> Vec<std::path::PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![Path::new("/sys/fs/cgroup").to_owned()]);
    while let Some(directory) = open.pop() {
        for path in std::fs::read_dir(&directory).into_iter().flatten().flatten().map(|item| item.path()) {
            if path.is_dir() && !path.is_symlink() {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if name.starts_with(&format!("schedlab-{of_pid}")) {
                    found.push(path.clone());
                }
                open.push(path);
            }
        }
    }
    found
}

#[test]
fn a_killed_run_with_cgroups_leaves_none_after_the_next_start() {
    let _host = host_is_ours();
    let once = schedlab(&["bench", "pipe:cgroups=apart,pin=same,duration=20ms"]);
    if once.code != 0 {
        let why = once.stderr.trim();
        eprintln!("schedlab-skip: a_killed_run_with_cgroups_leaves_none_after_the_next_start: needs root: {why}");
        return;
    }
    let lab = Lab::new("crash-cgroups");
    let mut left = 0;
    for i in 0..6u64 {
        let mut child = program::command()
            .args(["ab", "-w", "pipe:cgroups=apart,pin=same", "--b", "nice=1", "--trials", "50", "--trial", "100ms"])
            .args(["--counters", "basic", "--out", &lab.path(&format!("run{i}"))])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_trials(&lab.path(&format!("run{i}")), 1);
        std::thread::sleep(Duration::from_millis(i * 17));
        child.kill().unwrap();
        child.wait().unwrap();
        left += our_cgroups(child.id()).len();
        schedlab(&["tune", "restore"]).success();
        assert_eq!(our_cgroups(child.id()), Vec::<std::path::PathBuf>::new(), "after crash {i}");
    }
    assert!(left > 0, "no kill hit a moment at which there were groups: the test showed nothing");
}

#[test]
fn a_killed_run_loses_no_finished_trial_and_resumes() {
    let lab = Lab::new("resume");
    let out = lab.path("run");
    let plan = lab.path("plan.toml");
    std::fs::write(
        &plan,
        "trials = 6\ntrial = \"30ms\"\nseed = 3\n[[workload]]\nrun = \"pipe:pin=same\"\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"nice=1\"\n",
    )
    .unwrap();
    let mut child = program::command()
        .args(["run", &plan, "--out", &out])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_trials(&out, 5);
    child.kill().unwrap();
    child.wait().unwrap();
    let unsealed = schedlab(&["report", &out, "--json", "--top", "0"]).success();
    assert!(unsealed.stderr.contains("not sealed"), "{}", unsealed.stderr);
    let before = count_values(&json(&unsealed.stdout));
    assert!(before >= 1, "finished trials can be read");
    // A different experiment is refused before any file is touched.
    let (manifest, torn) = (Path::new(&out).join("manifest.json"), Path::new(&out).join("trials/99999999.rec"));
    let begun = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&torn, "torn").unwrap();
    for (field, what) in [("allowed_cpus", "allowed CPUs"), ("program_crc32", "program CRC-32")] {
        let mut other = json(&begun);
        other["environment"][field] = "another".into();
        write_manifest(&manifest, other);
        let refused = schedlab(&["run", &plan, "--out", &out, "--resume"]).failure().stderr;
        assert!(refused.contains(&format!("{what} was `another` and is ")), "{refused}");
    }
    let mut other = json(&begun);
    let checks = other["environment"]["checks"].as_array_mut().unwrap();
    checks.iter_mut().find(|check| check["id"] == "clocksource").unwrap()["value"] = "sundial".into();
    write_manifest(&manifest, other);
    let refused = schedlab(&["run", &plan, "--out", &out, "--resume"]).failure().stderr;
    assert!(refused.contains("clocksource was `sundial` and is ") && torn.exists(), "{refused}");
    std::fs::write(&manifest, begun).unwrap();
    let resumed = schedlab(&["run", &plan, "--out", &out, "--resume", "--json", "--top", "0"]).success();
    assert!(!torn.exists(), "it was set aside");
    // There may also be blocks that were repeated because the machine disturbed them.
    let used = json(&resumed.stdout)["workloads"][0]["counts"]["used"].as_u64();
    assert_eq!(used, Some(24), "six blocks of two in each of two arms, warm-up aside");
    assert!(schedlab(&["run", &plan, "--out", &out, "--resume"]).failure().stderr.contains("complete"));
}

fn write_manifest(path: &Path, manifest: serde_json::Value) {
    let manifest = serde_json::from_value(manifest).unwrap();
    std::fs::write(path, schedlab_run::writer::manifest_bytes(&manifest)).unwrap();
}

fn wait_for_trials(out: &str, wanted: usize) {
    for _ in 0..600 {
        if trials_in(out) >= wanted {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no trials appeared in {out}");
}

/// Number of values of the control without warm-up.
fn count_values(findings: &serde_json::Value) -> usize {
    let trials = findings["workloads"][0]["metrics"][0]["values"][0]["trials"].as_array().cloned().unwrap_or_default();
    trials.iter().filter(|t| t["used"] == true).count().max(trials.iter().filter(|t| t["note"] != "warm-up").count())
}
