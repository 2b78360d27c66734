//! Recording as a user does it: what a workload did is in the file, and nothing of ours stays in the kernel, whatever
//! ends the recording. They need tracefs and say so.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, Ran, json, schedlab};
use schedlab_trace::{Event, Kinds, ProblemKind, Reader, What};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs the program; `None`, and the reason on standard error, where nothing can be traced here.
fn traced(test: &str, arguments: &[&str]) -> Option<Ran> {
    let ran = schedlab(arguments);
    let barred = ran.stderr.lines().find(|line| line.contains("tracefs cannot be used here"));
    if let Some(why) = barred {
        eprintln!("schedlab-skip: {test}: needs tracefs ({why})");
        return None;
    }
    Some(ran.success())
}

fn read(file: &str) -> (Vec<Event>, Reader) {
    let source = std::fs::File::open(file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut reader = Reader::open(file, Box::new(source), Kinds::ALL).unwrap();
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).unwrap() {
        all.extend_from_slice(&batch);
    }
    (all, reader)
}

/// Instances that belong to recordings of ours, by the entries of their owners.
fn entries() -> BTreeSet<PathBuf> {
    let listing = std::fs::read_dir("/run/schedlab/trace").into_iter().flatten().flatten();
    listing.map(|entry| entry.path()).collect()
}

/// The entry of the recording that process `pid` is making.
fn entry_of(pid: u32) -> Option<PathBuf> {
    let mine = format!("schedlab-{pid}-");
    entries().into_iter().find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&mine)))
}

#[test]
fn a_recorded_ping_pong_has_two_switches_and_two_wakings_a_round_trip() {
    let (test, lab) = ("a_recorded_ping_pong_has_two_switches_and_two_wakings_a_round_trip", Lab::new("record"));
    let out = lab.path("trace");
    let arguments = ["record", "-o", &out, "--", "pipe:pin=same,loops=5000"];
    let Some(ran) = traced(test, &arguments) else { return };
    assert!(ran.stderr.contains("trace.slt"), "{}", ran.stderr);
    let outcome = json(&std::fs::read_to_string(lab.path("trace/outcome.json")).unwrap());
    let tids: Vec<u32> = outcome["tasks"].as_array().unwrap().iter().map(|t| t["tid"].as_u64().unwrap() as u32).collect();
    let steady = outcome["phases"].as_array().unwrap().iter().find(|p| p["name"] == "steady").unwrap();
    let (start, end) = (steady["start_ns"].as_u64().unwrap(), steady["end_ns"].as_u64().unwrap());

    let (events, reader) = read(&lab.path("trace/trace.slt"));
    let ours = |tid: schedlab_trace::Tid| tids.contains(&tid.0);
    let during = || events.iter().filter(|e| (start..=end).contains(&e.ts));
    let switches = during().filter(|e| matches!(e.what, What::Switch { prev, .. } if ours(prev))).count();
    let wakings = during().filter(|e| matches!(e.what, What::Waking(w) if ours(w.tid) && ours(w.waker))).count();
    // The clock of the trace is that of the workload: what happened is within its steady phase. Preemptions by others
    // add a few switches; the first and the last round trip may reach over an edge.
    assert!((9_900..=11_000).contains(&switches), "{switches} switches in 5000 round trips");
    assert!((9_900..=10_020).contains(&wakings), "{wakings} wakings in 5000 round trips");
    assert_eq!((reader.problems().count(ProblemKind::Lost), reader.problems().count(ProblemKind::ChainBreak)), (0, 0));
    let recorded = outcome["counters"].as_array().unwrap().iter().find(|c| c["name"] == "trace_events").unwrap();
    assert!(recorded["count"]["exact"].as_u64().unwrap() >= 20_000, "{recorded}");
}

#[test]
fn a_command_is_recorded_to_its_end_and_its_threads_are_named() {
    let (test, lab) = ("a_command_is_recorded_to_its_end_and_its_threads_are_named", Lab::new("record-command"));
    let out = lab.path("trace");
    let command = ["record", "-o", &out, "--json", "--", "sh", "-c", "for i in 1 2 3; do sleep 0.01; done"];
    let Some(ran) = traced(test, &command) else { return };
    let answer = json(&ran.stdout);
    assert!(answer["events"].as_u64().unwrap() > 50 && answer["lost"] == 0, "{answer}");
    let (events, reader) = read(answer["file"].as_str().unwrap());
    let sleeps: BTreeSet<u32> = events
        .iter()
        .filter_map(|e| match e.what {
            What::Exit { tid, comm } if reader.names().text(comm) == "sleep" => Some(tid.0),
            _ => None,
        })
        .collect();
    assert_eq!(sleeps.len(), 3, "three processes of sleep(1) ended");
    assert!(reader.info().command.contains("sleep 0.01"), "{:?}", reader.info());
}

#[test]
fn arms_are_traced_into_the_run_directory_and_their_cost_is_a_comparison() {
    let (test, lab) = ("arms_are_traced_into_the_run_directory_and_their_cost_is_a_comparison", Lab::new("record-ab"));
    let out = lab.path("run");
    let pipe = "pipe:pin=same";
    let arguments =
        ["ab", "-w", pipe, "--b", "trace=on", "--trials", "6", "--trial", "30ms", "--counters", "basic", "--out", &out];
    let Some(_) = traced(test, &arguments) else { return };
    let run = schedlab_run::RunReader::open(Path::new(&out)).unwrap();
    let barred = run.trials.iter().find_map(|trial| match &trial.status {
        schedlab_run::TrialStatus::NotApplied(why) if why.contains("tracefs cannot be used here") => Some(why),
        _ => None,
    });
    if let Some(why) = barred {
        eprintln!("schedlab-skip: {test}: needs tracefs ({why})");
        return;
    }
    let of_b = run.trials.iter().filter(|t| t.arm == Some(1)).count();
    let files = std::fs::read_dir(lab.path("run/traces")).unwrap().count();
    assert_eq!((files, of_b > 0), (of_b, true), "a file for each trial of the traced arm");
    for trial in run.trials.iter().filter(|t| t.arm == Some(1)) {
        let applied = &trial.outcome.as_ref().unwrap().applied;
        assert!(applied.iter().any(|a| a.setting.is_trace() && a.not_applied.is_none()), "{applied:?}");
        let (events, _) = read(&lab.path(&format!("run/traces/{:08}.slt", trial.trial)));
        assert!(events.len() > 1000, "trial {}", trial.trial);
    }
}

#[test]
fn a_missed_deadline_stops_the_flight_recorder() {
    let (test, lab) = ("a_missed_deadline_stops_the_flight_recorder", Lab::new("record-miss"));
    let out = lab.path("trace");
    let workload = "transact:loops=2000,deadline=1ns,stop-on-miss=yes";
    let arguments = ["bench", workload, "--trace", &out, "--keep", "1s", "--json", "-"];
    let Some(ran) = traced(test, &arguments) else { return };
    let outcome = json(&ran.stdout);
    let notes = outcome["notes"].to_string();
    assert!(notes.contains("the trace was stopped"), "{notes}");
    let (events, reader) = read(&lab.path("trace/trace.slt"));
    // The herd is taken down after the miss, which a trace that went on would show.
    let last = events.iter().map(|e| e.ts).max().unwrap();
    let end = reader.recording().unwrap().totals().unwrap().end_ns;
    assert!(last < end, "the last event, {last}, is before the end, {end}");
    let exits = events.iter().filter(|e| matches!(e.what, What::Exit { .. })).count();
    let tasks = outcome["tasks"].as_array().unwrap().len();
    assert!(exits < tasks, "{exits} of {tasks} tasks ended before the miss");
}

#[test]
fn a_killed_recording_leaves_nothing_after_the_next_start() {
    let (test, lab) = ("a_killed_recording_leaves_nothing_after_the_next_start", Lab::new("record-killed"));
    let out = lab.path("trace");
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .args(["record", "-o", &out, "-d", "60s"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    // Until events have reached the file: the middle of a recording.
    let grown = || std::fs::metadata(lab.path("trace/trace.slt")).is_ok_and(|m| m.len() > 5000);
    while !grown() && Instant::now() < deadline && recorder.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let Some(entry) = entry_of(recorder.id()) else {
        let output = recorder.wait_with_output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(why.contains("tracefs cannot be used here"), "{why}");
        eprintln!("schedlab-skip: {test}: needs tracefs ({})", why.trim());
        return;
    };
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    assert!(entry.exists(), "a killed recorder cannot clean up");

    // Any start cleans up, whatever it does.
    let next = schedlab(&["bench", "pipe:pin=same,duration=20ms", "--counters", "basic"]).success();
    let name = entry.file_name().unwrap().to_string_lossy().into_owned();
    let told = next.stderr.contains(&format!("removed after a killed run: tracefs instance {name}"));
    // Another test's start may have been first.
    assert!(told || !entry.exists(), "{}", next.stderr);
    assert!(!entry.exists());
    let instances = [Path::new("/sys/kernel/tracing/instances"), Path::new("/sys/kernel/debug/tracing/instances")];
    assert!(instances.iter().all(|dir| !dir.join(&name).exists()), "{name} is still there");
    let (events, reader) = read(&lab.path("trace/trace.slt"));
    assert!(!events.is_empty(), "what was written before the kill can be read");
    assert_eq!(reader.problems().count(ProblemKind::Truncated), 1);
}

#[test]
fn bad_input_is_one_line_that_says_what_to_do() {
    let lab = Lab::new("record-bad");
    let out = lab.path("trace");
    for (arguments, needle) in [
        (vec!["record"], "-d 5s"),
        (vec!["record", "-d", "5"], "--duration"),
        (vec!["record", "-d", "1s", "--events", "ful"], "did you mean `full`"),
        (vec!["record", "-d", "1s", "--", "true"], "recorded to its end"),
        (vec!["record", "-d", "1s", "--", "pipe:pin=same"], "duration="),
        (vec!["record", "--keep", "soon", "-d", "1s"], "--keep"),
        (vec!["record", "--self-test", "--", "true"], "workload of its own"),
        (vec!["bench", "pipe", "--set", "trace=on"], "--trace DIR"),
        (vec!["bench", "pipe", "--set", "trace=yes"], "trace=on:full"),
        (vec!["ab", "-w", "pipe", "--b", "nice=1", "--trace=ful"], "did you mean `full`"),
    ] {
        // Nothing is to be written, but should it be, not here.
        let ran = schedlab(&[&arguments[..1], &["--out", &out][..2 * usize::from(arguments[0] != "bench")], &arguments[1..]].concat());
        let ran = ran.failure();
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert!(lines.len() == 1 && ran.stderr.contains(needle), "{arguments:?}: {}", ran.stderr);
    }
}
