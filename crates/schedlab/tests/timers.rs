//! `timer` and `wakeup` through the binary: killed processes, missing rights, the arm that plants a stall.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, json, schedlab};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Children of a process that are still there, zombies left out.
fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(|&pid| is_running(pid)).collect()
}

fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the parenthesised name, which may hold spaces.
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with(['Z', 'X']) && !rest.is_empty())
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a bench of 30 s; answers it, its trial process and the herd (empty in thread mode).
fn started(spec: &str, herd: usize) -> (Child, u32, Vec<u32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    command.args(["bench", spec, "--counters", "basic"]);
    let bench = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let trial = wait_for("the trial process", || children(bench.id()).first().copied());
    let tasks = wait_for("the herd", || {
        let tasks = if herd == 0 { threads(trial) } else { children(trial) };
        (tasks.len() >= herd.max(2)).then_some(tasks)
    });
    (bench, trial, if herd == 0 { Vec::new() } else { tasks })
}

fn threads(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn signal(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

#[test]
fn killing_any_one_process_ends_all_with_one_line() {
    let timer = "timer:threads=2,duration=30s,mode=";
    let wakeup = "wakeup:1x2,rate=500,duration=30s,mode=";
    for (spec, mode, herd) in
        [(timer, "process", 2), (timer, "thread", 0), (wakeup, "process", 3), (wakeup, "thread", 0)]
    {
        let victims: Vec<Option<usize>> = std::iter::once(None).chain((0..herd).map(Some)).collect();
        for victim in victims {
            let (bench, trial, tasks) = started(&format!("{spec}{mode}"), herd);
            signal(victim.map_or(trial, |task| tasks[task]));
            let output = bench.wait_with_output().unwrap();
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!((output.status.code(), complaint.lines().count()), (Some(1), 1), "{spec}{mode}: {complaint}");
            assert!(complaint.contains("signal 9") || complaint.contains("signal: 9"), "{complaint}");
            wait_for("the end of the herd", || tasks.iter().chain([&trial]).all(|&pid| !is_running(pid)).then_some(()));
        }
    }
}

#[test]
fn killing_the_program_itself_leaves_no_orphan() {
    for (spec, herd) in [("timer:threads=2,duration=30s,mode=process", 2), ("wakeup:1x2,duration=30s,mode=thread", 0)] {
        let (mut bench, trial, tasks) = started(spec, herd);
        signal(bench.id());
        bench.wait().unwrap();
        wait_for("the end of the herd", || tasks.iter().chain([&trial]).all(|&pid| !is_running(pid)).then_some(()));
    }
}

#[test]
fn a_policy_without_rights_is_one_clear_line() {
    let lab = Lab::new("timer-nobody");
    let binary = lab.path("schedlab");
    std::fs::copy(env!("CARGO_BIN_EXE_schedlab"), &binary).unwrap();
    let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o777);
    std::fs::set_permissions(lab.path(""), open).unwrap();
    let as_nobody = |spec: &str| {
        let dropped = ["--reuid", "65534", "--regid", "65534", "--clear-groups", &binary, "bench", spec];
        Command::new("setpriv").args(dropped).env("HOME", lab.path("")).output().ok()
    };
    let ran = as_nobody("timer:loops=5,policy=fifo:80");
    let Some(ran) = ran.filter(|ran| !String::from_utf8_lossy(&ran.stderr).contains("setpriv:")) else {
        eprintln!("schedlab-skip: a_policy_without_rights_is_one_clear_line: needs root");
        return;
    };
    let complaint = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!((ran.status.code(), complaint.lines().count()), (Some(1), 1), "{complaint}");
    assert!(complaint.contains("policy=fifo:80") && complaint.contains("CAP_SYS_NICE"), "{complaint}");
    let ran = as_nobody("timer:loops=5").unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    if Path::new("/dev/cpu_dma_latency").exists() {
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(text.contains("cpu_dma_latency was not set"), "what is different here is said: {text}");
    }
}

#[test]
fn a_planted_stall_is_a_setting_of_an_arm() {
    let ran =
        schedlab(&["bench", "wakeup:1x1,rate=1000,work=0,think=0,duration=150ms", "--set", "plant=stall:40ms/100ms"]);
    assert!(ran.success().stdout.contains("wakeup/1: "));
    let outcome = schedlab(&["bench", "timer:duration=150ms", "--set", "plant=stall:40ms/100ms", "--json", "-"]);
    let outcome = json(&outcome.success().stdout);
    let missed = outcome["metrics"].as_array().unwrap().iter().find(|m| m["name"] == "missed_periods").unwrap();
    assert!(missed["value"].as_f64().unwrap() >= 20.0, "{missed}");
    let refused = schedlab(&["bench", "timer", "--set", "plant=stall:2s/1s"]).failure();
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
}
