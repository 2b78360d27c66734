//! `transact` and `throughput` as a user starts them: the twins' spellings and formats, and a process that dies.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{json, schedlab};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn the_twins_command_line_gives_the_twins_json_and_nothing_else() {
    let line = "bench transact -i 20 -pair 2 -deadline_us 2500 -v -raw_data --compat hwbinder";
    let ran = schedlab(&line.split(' ').collect::<Vec<_>>()).success();
    let printed = json(&ran.stdout);
    assert_eq!(printed["cfg"]["pair"], 2);
    assert_eq!((&printed["cfg"]["iterations"], &printed["cfg"]["deadline_us"]), (&20.into(), &2500.into()));
    assert!(printed["ALL"]["other_ms"]["avg"].is_f64() && printed["P1"]["otherdis"]["p99"].is_f64());
    let said = ran.stderr.lines().filter(|line| line.contains("other-caller")).count();
    assert_eq!(said, 40, "-v does not corrupt the JSON: {}", ran.stderr);
}

#[test]
fn a_miss_with_trace_ends_the_run_and_the_json_is_whole() {
    for compat in ["hwbinder", "schd-dbg"] {
        let line = format!("bench transact -i 100000 -deadline_us 1 -trace --compat {compat}");
        let ran = schedlab(&line.split(' ').collect::<Vec<_>>()).success();
        assert!(json(&ran.stdout)["P0"]["other_ms"].is_object(), "{}", ran.stdout);
        assert!(ran.stderr.contains("stopped at the first missed deadline"), "{}", ran.stderr);
    }
}

#[test]
fn the_whole_outcome_has_both_classes_and_says_overloaded() {
    let ran = schedlab(&["bench", "transact:loops=30,pairs=100", "--json", "-"]).success();
    let outcome = json(&ran.stdout);
    assert_eq!(outcome["workload"], "transact/1");
    let notes = outcome["notes"].to_string();
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!(notes.contains("overloaded"), cpus < 100, "{notes}");
    assert!(outcome["native_lines"].to_string().contains("inheritance: "));
}

#[test]
fn throughput_speaks_google_benchmarks_json() {
    let ran = schedlab(&["bench", "throughput:bytes=64,loops=50", "--benchmark_format=json"]).success();
    let printed = json(&ran.stdout);
    assert_eq!(printed["benchmarks"][0]["name"], "BM_sendVec_unix/64");
    assert!(printed["context"]["num_cpus"].as_u64().unwrap() >= 1);
}

#[test]
fn bad_input_is_one_line() {
    for (arguments, needle) in [
        (&["bench", "transact", "--deadline", "0"][..], "above 0"),
        (&["bench", "transact", "-deadline_us", "0"], "above 0"),
        (&["bench", "transact", "--pairs", "1000000"], "from 1 to 1000"),
        (&["bench", "throughput", "--bytes", "0"], "from 1 to 262144"),
        (&["bench", "transact", "--transport", "binder", "--binder-device", "/nowhere"], "schedlab vm run"),
        (&["bench", "transact", "-i"], "--loops"),
    ] {
        let ran = schedlab(arguments).failure();
        let complaint: Vec<&str> =
            ran.stderr.lines().filter(|l| l.starts_with("schedlab: ") || l.starts_with("error: ")).collect();
        assert!(complaint.len() == 1 && complaint[0].contains(needle), "{arguments:?}: {}", ran.stderr);
    }
}

/// The processes below one, with itself: `/proc/<pid>/task/*/children`.
fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return all };
    for task in tasks.flatten() {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|child| child.parse().ok()).flat_map(family));
    }
    all
}

/// Whether the process is there and not a zombie that only its parent's wait keeps.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// Starts a long run and waits until its whole family is there: the command, the trial, two pairs.
fn start(transport: &str) -> (std::process::Child, Vec<u32>) {
    let spec = format!("transact:duration=60s,pairs=2,transport={transport}");
    let mut child = Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .args(["bench", &spec, "--counters", "basic"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..400 {
        let family = family(child.id());
        if family.len() == 6 {
            // Let them pass the gate.
            std::thread::sleep(Duration::from_millis(100));
            return (child, family);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let found = family(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("the run did not start: {found:?}");
}

#[test]
fn sigkill_of_any_one_process_ends_all_of_them_with_an_error_within_two_seconds() {
    if !Path::new(&format!("/proc/self/task/{}/children", std::process::id())).exists() {
        eprintln!("schedlab-skip: sigkill_of_any_one_process: needs /proc/<pid>/task/<tid>/children");
        return;
    }
    for transport in ["unix", "futex", "pipe"] {
        for victim in 0..6 {
            let (child, family) = start(transport);
            let killed = Instant::now();
            schedlab_sys::signal::kill(family[victim], schedlab_sys::signal::SIGKILL).unwrap();
            let output = child.wait_with_output().unwrap();
            while family.iter().any(|&pid| is_running(pid)) {
                assert!(killed.elapsed() < Duration::from_secs(2), "{transport}, victim {victim}: {family:?}");
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(killed.elapsed() < Duration::from_secs(2), "{transport}, victim {victim}");
            // The command itself cannot say anything any more.
            if victim > 0 {
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(1), "{said}");
                assert!(
                    said.contains("signal") && said.trim_end().lines().count() == 1,
                    "{transport}, {victim}: {said}"
                );
            }
        }
    }
}
