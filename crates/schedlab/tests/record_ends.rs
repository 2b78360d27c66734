//! However a recording ends, nothing of ours is left in the kernel, and its directory contains a complete recording or
//! what was there before. The tests skip themselves without tracefs.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::recordings::{entry_of, is_instance, orphan, read, traced};
use program::{Lab, json, schedlab};
use schedlab_sys::signal::{SIGINT, SIGTERM};
use schedlab_trace::ProblemKind;
use std::cell::Cell;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_killed_recording_leaves_nothing_after_the_next_start() {
    let (test, lab) = ("a_killed_recording_leaves_nothing_after_the_next_start", Lab::new("record-killed"));
    let out = lab.path("trace");
    let arguments = ["record", "-o", &out, "-d", "60s"];
    let Some(mut recorder) = under_way(test, &arguments, grows(lab.path("trace/trace.slt"))) else { return };
    let entry = entry_of(recorder.id()).unwrap();
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    assert!(entry.exists(), "a killed recorder cannot clean up");

    let next = schedlab(&["bench", "pipe:pin=same,duration=20ms", "--counters", "basic"]).success();
    let name = entry.file_name().unwrap().to_string_lossy().into_owned();
    // Another test's start may have been faster, or be removing it.
    let seen = next.taken_back.iter().any(|line| line.ends_with(&format!("tracefs instance {name}\n")));
    assert!(!seen || !entry.exists(), "{:?}", next.taken_back);
    assert!(is_gone(&name, &entry), "{name} is still there: {}", next.stderr);
    let (events, reader) = read(&lab.path("trace/trace.slt"));
    assert!(!events.is_empty(), "what was written before the kill can be read");
    assert_eq!(reader.problems().count(ProblemKind::Truncated), 1);
    let check = json(&schedlab(&["trace", "check", &lab.path("trace/trace.slt"), "--json"]).success().stdout);
    assert!(check["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()), "{check}");
}

/// Whether it disappears: another test's start may be about to remove it.
fn is_gone(name: &str, entry: &Path) -> bool {
    let deadline = Instant::now() + Duration::from_secs(60);
    while (entry.exists() || is_instance(name)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    !entry.exists() && !is_instance(name)
}

#[test]
fn whatever_measures_removes_what_a_killed_recording_left_and_whatever_reads_does_not() {
    let test = "whatever_measures_removes_what_a_killed_recording_left_and_whatever_reads_does_not";
    let lab = Lab::new("record-orphan");
    let out = lab.path("trace");
    let Some(_) = traced(test, &["record", "-o", &out, "-d", "1ms", "--source", "tracefs"]) else { return };
    let pipe = "pipe:pin=same,loops=10";
    let more = |name: &str| lab.path(name);
    for arguments in [
        &["profile", "--", "true"][..],
        &["profile", "-d", "1ms"],
        &["profile", "bench", pipe],
        &["record", "-o", &more("time"), "-d", "1ms"],
        &["record", "-o", &more("workload"), "--", pipe],
        &["bench", pipe],
        &["ab", "-w", pipe, "--b", "nice=1", "--trials", "6", "--trial", "20ms", "--out", &more("run")],
        &["doctor"],
        &["tune", "restore"],
    ] {
        let (name, entry) = orphan().unwrap();
        let ran = schedlab(arguments);
        assert!(is_gone(&name, &entry), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
    }
    let (name, _) = orphan().unwrap();
    for arguments in [
        &["list"][..],
        &["--version"],
        &["trace", "check", &out],
        &["tune", "show"],
        &["record", "--dry-run", "-d", "1s"],
        &["profile", "--dry-run", "-d", "1s"],
        &["bench", pipe, "--dry-run"],
        &["ab", "-w", pipe, "--b", "nice=1", "--dry-run"],
        &["tune", "restore", "--dry-run"],
    ] {
        // Another test's start may remove it meanwhile, and then reports it.
        let ran = schedlab(arguments).success();
        assert!(ran.taken_back.is_empty() && !ran.stdout.contains("run removed"), "{arguments:?}");
        let is_told = ran.stdout.contains(&format!("tracefs instance {name} of a killed run\n"));
        assert!(is_told || arguments[0] != "tune" || arguments[1] == "show" || !is_instance(&name), "{}", ran.stdout);
    }
    schedlab(&["tune", "restore"]).success();
    assert!(!is_instance(&name));
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
        (vec!["record", "--keep", "0", "-d", "1s"], "--keep 500ms"),
        (vec!["bench", "pipe", "--trace", "nowhere", "--keep", "0s"], "--keep 500ms"),
        (vec!["record", "--self-test", "--", "true"], "always runs pipe:pin=same"),
        (vec!["bench", "pipe", "--set", "trace=on"], "--trace DIR"),
        (vec!["bench", "pipe", "--set", "trace=yes"], "trace=on:full"),
        (vec!["ab", "-w", "pipe", "--b", "nice=1", "--trace=ful"], "did you mean `full`"),
    ] {
        // Nothing should be written, but if it is, not here.
        let ran = schedlab(
            &[&arguments[..1], &["--out", &out][..2 * usize::from(arguments[0] != "bench")], &arguments[1..]].concat(),
        );
        let ran = ran.failure();
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert!(lines.len() == 1 && ran.stderr.contains(needle), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_directory_with_a_recording_is_refused_and_left_as_it_is() {
    let lab = Lab::new("record-twice");
    let out = lab.path("trace");
    std::fs::create_dir(&out).unwrap();
    for file in ["trace.slt", "outcome.json"] {
        let path = Path::new(&out).join(file);
        std::fs::write(&path, "of another day").unwrap();
        for arguments in [
            vec!["record", "-o", &out, "-d", "10ms"],
            vec!["record", "-o", &out, "--", "true"],
            vec!["record", "-o", &out, "--", "pipe:pin=same,loops=10"],
            vec!["bench", "pipe:pin=same,loops=10", "--trace", &out],
        ] {
            let ran = schedlab(&arguments).failure();
            let option = if arguments[0] == "record" { "--out" } else { "--trace" };
            let expected = format!("schedlab: {out} already contains a recording: give another {option}\n");
            assert_eq!(ran.stderr, expected, "{arguments:?}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"of another day");
        std::fs::remove_file(&path).unwrap();
    }
}

/// Starts a recorder, and waits until `begun` returns true for its pid; `None` if nothing can be traced here.
fn under_way(test: &str, arguments: &[&str], begun: impl Fn(u32) -> bool) -> Option<Child> {
    let mut recorder =
        program::command().args(arguments).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !(begun(recorder.id()) && entry_of(recorder.id()).is_some()) {
        if recorder.try_wait().unwrap().is_some() {
            let why = String::from_utf8_lossy(&recorder.wait_with_output().unwrap().stderr).into_owned();
            assert!(why.contains("tracefs cannot be used here"), "{why}");
            eprintln!("schedlab-skip: {test}: needs tracefs ({})", why.trim());
            return None;
        }
        assert!(Instant::now() < deadline, "{arguments:?} has not begun");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(recorder)
}

/// Whether a file has grown since it was first seen non-empty: then there are events after the header of the recording.
fn grows(file: String) -> impl Fn(u32) -> bool {
    let first = Cell::new(0);
    move |_| {
        let bytes = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
        if first.get() == 0 {
            first.set(bytes);
        }
        bytes > first.get()
    }
}

/// Number of voluntary context switches of a process and its descendants.
fn switches(pid: u32) -> u64 {
    let read = |file: String| std::fs::read_to_string(file).unwrap_or_default();
    let status = read(format!("/proc/{pid}/status"));
    let own = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    let children = read(format!("/proc/{pid}/task/{pid}/children"));
    own.map_or(0, |n| n.trim().parse::<u64>().unwrap())
        + children.split_whitespace().map(|child| switches(child.parse().unwrap())).sum::<u64>()
}

/// Sends the signals one after the other; returns the output, and how long the process took to end.
fn end_requested(recorder: Child, signals: &[i32]) -> (std::process::Output, Duration) {
    let began = Instant::now();
    for signal in signals {
        schedlab_sys::signal::kill(recorder.id(), *signal).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    (recorder.wait_with_output().unwrap(), began.elapsed())
}

#[test]
fn an_interrupted_workload_ends_at_once_and_its_trace_is_kept() {
    let (test, lab) = ("an_interrupted_workload_ends_at_once_and_its_trace_is_kept", Lab::new("record-interrupted"));
    let workload = "pipe:pin=same,duration=120s";
    let (record, bench) = (lab.path("record"), lab.path("bench"));
    for (dir, arguments, signals) in [
        (&record, &["record", "-o", &record, "--", workload][..], &[SIGTERM][..]),
        // The instance is removed, even if the user presses Ctrl-C again.
        (&bench, &["bench", workload, "--trace", &bench, "--keep", "5s"], &[SIGINT, SIGINT]),
    ] {
        let file = format!("{dir}/trace.slt");
        let Some(recorder) = under_way(test, arguments, |pid| switches(pid) > 5000) else { return };
        let entry = entry_of(recorder.id()).unwrap();
        let (ran, took) = end_requested(recorder, signals);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(128 + signals[0]), "{said}");
        assert!(took < Duration::from_secs(60), "the workload was waited for: {took:?}");
        assert!(!entry.exists(), "{said}");
        let (events, reader) = read(&file);
        let recorded = events.len();
        assert!(recorded > 1000 && reader.problems().count(ProblemKind::Truncated) == 0, "{recorded} events: {said}");
        let seen = format!("was ended before its time and has no outcome; what was traced is kept: {file} (");
        let line = said.lines().find(|line| line.contains("interrupted: pipe")).unwrap_or_default();
        assert!(line.contains(&seen), "{said}");
        assert!(!Path::new(&format!("{dir}/outcome.json")).exists());
    }
}

#[test]
fn a_command_gets_the_signal_and_time_for_its_end() {
    let (test, lab) = ("a_command_gets_the_signal_and_time_for_its_end", Lab::new("record-signal"));
    let (out, ended) = (lab.path("trace"), lab.path("ended"));
    let ready = lab.path("ready");
    let line =
        format!("trap 'sleep 0.2; echo by itself >{ended}; exit 3' TERM; : >{ready}; while :; do sleep 0.05; done");
    let arguments = ["record", "-o", &out, "--", "sh", "-c", &line];
    let Some(recorder) = under_way(test, &arguments, |_| Path::new(&ready).exists()) else { return };
    let entry = entry_of(recorder.id()).unwrap();
    let (ran, _) = end_requested(recorder, &[SIGTERM]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("the command ended with exit status: 3; the recording is complete"), "{said}");
    assert_eq!(std::fs::read_to_string(&ended).unwrap(), "by itself\n");
    assert!(!entry.exists() && !read(&lab.path("trace/trace.slt")).0.is_empty());

    // A command that ignores signals: after the second one we do not wait for it, and still clean up.
    let ready = lab.path("deaf-ready");
    let line = format!("trap '' TERM INT; : >{ready}; while :; do sleep 0.05; done");
    let arguments = ["record", "-o", &lab.path("deaf"), "--", "sh", "-c", &line];
    let Some(recorder) = under_way(test, &arguments, |_| Path::new(&ready).exists()) else { return };
    let entry = entry_of(recorder.id()).unwrap();
    let (ran, _) = end_requested(recorder, &[SIGINT, SIGINT]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("the command ended with signal: 9 (SIGKILL); the recording is complete"), "{said}");
    assert!(!entry.exists() && !read(&lab.path("deaf/trace.slt")).0.is_empty());
}

#[test]
fn recorders_at_once_have_files_of_their_own_or_are_refused() {
    let (test, lab) = ("recorders_at_once_have_files_of_their_own_or_are_refused", Lab::new("record-at-once"));
    let Some(_) = traced(test, &["record", "-o", &lab.path("first"), "-d", "1ms"]) else { return };
    let at_once = |arguments: &[&str]| -> Vec<std::process::Output> {
        let start = || {
            let mut command = program::command();
            command.args(arguments).current_dir(lab.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let recorders: Vec<Child> = (0..3).map(|_| start()).collect();
        recorders.into_iter().map(|recorder| recorder.wait_with_output().unwrap()).collect()
    };
    let is_whole = |file: &str| {
        let (events, reader) = read(file);
        let bad = [ProblemKind::Truncated, ProblemKind::SkippedPart].map(|kind| reader.problems().count(kind));
        assert!(!events.is_empty() && bad == [0, 0], "{file}: {:?}", reader.problems());
    };
    for ran in at_once(&["record", "-d", "200ms"]) {
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    ["record", "record-2", "record-3"].iter().for_each(|dir| is_whole(&lab.path(&format!("out/{dir}/trace.slt"))));
    for arguments in [["-d", "200ms"], ["--", "pipe:pin=same,duration=200ms"]] {
        let dir = format!("same{}", arguments[0]);
        let ran = at_once(&[&["record", "-o", &dir], &arguments[..]].concat());
        let (done, refused): (Vec<_>, Vec<_>) = ran.iter().partition(|ran| ran.status.success());
        assert_eq!((done.len(), refused.len()), (1, 2), "{ran:?}");
        let sentence = format!("schedlab: {dir} already contains a recording: give another --out\n");
        // The leftovers of a recorder that another test killed may be reported before it.
        assert!(refused.iter().all(|ran| ran.stderr.ends_with(sentence.as_bytes())), "{refused:?}");
        is_whole(&lab.path(&format!("{dir}/trace.slt")));
    }
}

#[test]
fn a_command_that_cannot_be_started_leaves_nothing_behind() {
    let (test, lab) = ("a_command_that_cannot_be_started_leaves_nothing_behind", Lab::new("record-no-command"));
    let out = lab.path("a/b");
    let ran = schedlab(&["record", "-o", &out, "--", "no-such-command-here"]).failure();
    if !ran.stderr.contains("no-such-command-here cannot be started") {
        assert!(ran.stderr.contains("tracefs cannot be used here"), "{}", ran.stderr);
        eprintln!("schedlab-skip: {test}: needs tracefs ({})", ran.stderr.trim());
    }
    assert!(!Path::new(&lab.path("a")).exists());
    // What was there before is kept.
    let kept = lab.path("kept");
    std::fs::create_dir(&kept).unwrap();
    schedlab(&["record", "-o", &kept, "--", "no-such-command-here"]).failure();
    assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 0);
}

#[test]
fn a_time_without_a_workload_has_no_word_of_one() {
    let (test, lab) = ("a_time_without_a_workload_has_no_word_of_one", Lab::new("record-time"));
    let out = lab.path("trace");
    let Some(ran) = traced(test, &["record", "-o", &out, "-d", "20ms", "--buffer", "1"]) else { return };
    assert!(!ran.stderr.contains("workload"), "{}", ran.stderr);
    assert!(ran.stderr.contains("a buffer of 1 KiB is less than the least; each CPU has 64 KiB"), "{}", ran.stderr);
    let Some(ran) = traced(test, &["record", "-o", &lab.path("beside"), "--", "true"]) else { return };
    assert!(ran.stderr.contains("beside the workload"), "{}", ran.stderr);
}
