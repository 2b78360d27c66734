//! Events that are recorded on request in addition to the scheduler's: system calls, and changes of where a thread may
//! run. The tests skip themselves without tracefs.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::recordings::{NeverIdle, read, traced};
use program::{Lab, json, schedlab};
use schedlab_trace::What;
use std::process::{Child, Command, Stdio};

#[test]
fn the_system_call_of_a_sleep_is_named() {
    let (test, lab) = ("the_system_call_of_a_sleep_is_named", Lab::new("record-syscalls"));
    let out = lab.path("trace");
    let napper = lab.path("napper");
    std::os::unix::fs::symlink("/bin/sleep", &napper).unwrap();
    // Many short calls, and no idle CPU: if the kernel omits a switch (docs/recording.md), a sleep has no call.
    let _busy = NeverIdle::new();
    let line = format!("for i in $(seq 40); do {napper} 0.002; done");
    let command = ["record", "-o", &out, "--buffer", "64m", "--events", "full+syscalls", "--", "sh", "-c", &line];
    let Some(_) = traced(test, &command) else { return };
    let (events, reader) = read(&lab.path("trace/trace.slt"));
    let calls = events.iter().filter(|event| matches!(event.what, What::SysEnter { .. })).count();
    let returns = events.iter().filter(|event| matches!(event.what, What::SysExit { .. })).count();
    assert!(calls > 100 && returns > 100, "{calls} calls, {returns} returns");
    let rows = schedlab(&["trace", "timehist", &out, "--comm", "napper", "--json"]).success().stdout;
    let slept: Vec<String> = rows.lines().filter_map(|row| json(row)["slept_in"].as_str().map(str::to_owned)).collect();
    let known = ["x86_64", "aarch64"].contains(&reader.info().arch.as_str());
    let naps = slept.iter().filter(|call| call.contains("nanosleep") || !known).count();
    assert!((1..=40).contains(&naps), "{slept:?}");
}

/// A CPU that we may use.
fn some_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    list.split(|c: char| !c.is_ascii_digit()).next().unwrap().to_owned()
}

/// A shell that sleeps repeatedly until a file exists, then restricts itself to one CPU, and sleeps on.
struct Napping(Child);

impl Napping {
    fn new(lab: &Lab) -> Self {
        let line = format!(
            "while :; do sleep 0.005; [ -e {0} ] && rm {0} && taskset -c -p {cpu} $$ >{1}; done",
            lab.path("flag"),
            lab.path("done"),
            cpu = some_cpu()
        );
        Self(Command::new("sh").args(["-c", &line]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Napping {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// The number of its waits, of those judged without a known CPU set, and of threads with another set at the end.
fn blamed(lab: &Lab, events: &str) -> Option<(u64, u64, u64)> {
    let (test, out) = ("a_thread_that_changes_its_affinity_has_the_ends_from_then_on", lab.path(events));
    let napping = Napping::new(lab);
    let tid = napping.0.id().to_string();
    let (flag, done) = (lab.path("flag"), lab.path("done"));
    let changed = format!("for i in $(seq 500); do [ -s {done} ] && break; sleep 0.01; done");
    let line = format!("sleep 0.1; touch {flag}; {changed}; sleep 0.1; rm {done}");
    let command = ["record", "-o", &out, "--buffer", "64m", "--events", events, "--", "sh", "-c", &line];
    traced(test, &command)?;
    let found = json(&schedlab(&["trace", "blame", &out, "--tid", &tid, "--json"]).success().stdout);
    let number = |of: &serde_json::Value| of.as_u64().unwrap();
    let total = &found["total"];
    Some((number(&total["waits"]), number(&total["unknown_set_waits"]), number(&found["affinity_changed"])))
}

#[test]
fn a_thread_that_changes_its_affinity_has_the_ends_from_then_on() {
    let (test, lab) = ("a_thread_that_changes_its_affinity_has_the_ends_from_then_on", Lab::new("record-affinity"));
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return eprintln!("schedlab-skip: {test}: needs two CPUs");
    }
    if Command::new("taskset").arg("--version").stdout(Stdio::null()).status().is_err() {
        return eprintln!("schedlab-skip: {test}: needs taskset");
    }
    let Some((waits, unknown, changed)) = blamed(&lab, "full") else { return };
    // The time of the change is unknown: start and end differ, so no wait has a known set.
    assert!(waits > 0 && changed >= 1, "{waits} waits, {changed} changed");
    assert_eq!(unknown, waits);
    let Some((waits, unknown, changed)) = blamed(&lab, "full+syscalls") else { return };
    // The system call shows the time: except for the wait during the call, each wait has the set of the start or that
    // of the end.
    assert!(waits > 1 && unknown <= 1 && changed >= 1, "{unknown} of {waits} waits, {changed} changed");
}
