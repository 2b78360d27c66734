//! Recording like a user: what a workload did is in the file. The tests skip themselves without tracefs.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::recordings::{NeverIdle, read, traced};
use program::{Lab, json, schedlab};
use schedlab_trace::{Event, ProblemKind, Tid, What};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

#[test]
fn a_recorded_ping_pong_has_two_switches_and_its_wakings_a_round_trip() {
    let (test, lab) = ("a_recorded_ping_pong_has_two_switches_and_its_wakings_a_round_trip", Lab::new("record"));
    let out = lab.path("trace");
    let arguments = ["record", "-o", &out, "--buffer", "64m", "--", "pipe:pin=same,loops=5000"];
    let Some(ran) = traced(test, &arguments) else { return };
    assert!(ran.stderr.contains("trace.slt"), "{}", ran.stderr);
    let outcome = json(&std::fs::read_to_string(lab.path("trace/outcome.json")).unwrap());
    let tids: Vec<u32> =
        outcome["tasks"].as_array().unwrap().iter().map(|t| t["tid"].as_u64().unwrap() as u32).collect();
    let phase = |name: &str| outcome["phases"].as_array().unwrap().iter().find(|p| p["name"] == name).unwrap();
    // The process that releases the tasks may lose its CPU to them before it has recorded the end of the release.
    let start = phase("herd_release")["start_ns"].as_u64().unwrap();
    let end = phase("steady")["end_ns"].as_u64().unwrap();

    let (events, reader) = read(&lab.path("trace/trace.slt"));
    let ours = |tid: schedlab_trace::Tid| tids.contains(&tid.0);
    let during = || events.iter().filter(|e| (start..=end).contains(&e.ts));
    let switches = during().filter(|e| matches!(e.what, What::Switch { prev, .. } if ours(prev))).count();
    let wakings = during().filter(|e| matches!(e.what, What::Waking(w) if ours(w.tid) && ours(w.waker))).count();
    // The trace and the workload use the same clock: all events are between the workload's release and its end. A
    // partner that is woken may run at once, before the other one sleeps; then a round trip has one waking, not two.
    assert!((9_900..=12_000).contains(&switches), "{switches} switches in 5000 round trips");
    assert!((4_950..=10_020).contains(&wakings), "{wakings} wakings in 5000 round trips");
    // Not that every switch follows the previous one: on some virtual machines the kernel itself omits switches
    // (docs/recording.md).
    assert_eq!(reader.problems().count(ProblemKind::Lost), 0);
    let recorded = outcome["counters"].as_array().unwrap().iter().find(|c| c["name"] == "trace_events").unwrap();
    assert!(recorded["count"]["exact"].as_u64().unwrap() >= 15_000, "{recorded}");
}

#[test]
fn a_command_is_recorded_to_its_end_and_its_threads_are_named() {
    let (test, lab) = ("a_command_is_recorded_to_its_end_and_its_threads_are_named", Lab::new("record-command"));
    let out = lab.path("trace");
    // A unique name: the whole machine is recorded, and other programs sleep too.
    let napper = lab.path("napper");
    std::os::unix::fs::symlink("/bin/sleep", &napper).unwrap();
    let line = format!("for i in 1 2 3; do {napper} 0.01; done");
    let command = ["record", "-o", &out, "--json", "--", "sh", "-c", &line];
    let Some(ran) = traced(test, &command) else { return };
    let answer = json(&ran.stdout);
    assert!(answer["events"].as_u64().unwrap() > 50 && answer["lost"] == 0, "{answer}");
    // Both commands report the same about missing events: `trace check` begins with it, in lines of 80 columns.
    let page = schedlab(&["trace", "check", &out]).success().stdout;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&page).starts_with(&words(answer["check"].as_str().unwrap())), "{answer}\n{page}");
    assert!(words(&page).contains(&format!("{} events", answer["events"])), "names are no events: {answer}\n{page}");
    let (events, reader) = read(answer["file"].as_str().unwrap());
    let sleeps: BTreeSet<u32> = events
        .iter()
        .filter_map(|e| match e.what {
            What::Exit { tid, comm } if reader.names().text(comm) == "napper" => Some(tid.0),
            _ => None,
        })
        .collect();
    assert_eq!(sleeps.len(), 3, "three processes of that name ended");
    assert!(reader.info().command.contains("napper 0.01"), "{:?}", reader.info());
}

/// The analyses for which the trace lacks events.
fn lacking(file: &str) -> serde_json::Value {
    json(&schedlab(&["trace", "check", file, "--json"]).success().stdout)["lacking"].clone()
}

/// Events by task and kind in the order of time: the text of each, and its time.
type Ours = BTreeMap<(u32, &'static str), Vec<(String, u64)>>;

/// The events of our own tasks, named `slt-…`; `None` if some were lost.
fn of_ours(file: &str) -> Option<Ours> {
    let (events, reader) = read(file);
    if reader.problems().count(ProblemKind::Lost) > 0 {
        return None;
    }
    let names = reader.names();
    let mut ours = Ours::new();
    for event in &events {
        let mut add = |tid: Tid, comm, kind, said: String| {
            if names.text(comm).starts_with("slt-") {
                ours.entry((tid.0, kind)).or_default().push((format!("{said} on {:?}", event.cpu), event.ts));
            }
        };
        match event.what {
            What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } => {
                // Each tracer reads the state separately, and a zombie's parent may reap it in between.
                let state = reader.states().letters(prev_state).replace('X', "Z");
                add(prev, prev_comm, "leaves", format!("{prev_prio:?} {state} for {next:?}"));
                add(next, next_comm, "comes", format!("{next_prio:?} after {prev:?}"));
            }
            What::Waking(wake) => add(wake.tid, wake.comm, "waking", format!("by {:?}", wake.waker)),
            What::Wakeup(wake) => add(wake.tid, wake.comm, "wakeup", format!("to {:?}", wake.target_cpu)),
            What::Migrate { tid, comm, orig_cpu, dest_cpu, .. } => {
                add(tid, comm, "moves", format!("{orig_cpu:?} to {dest_cpu:?}"));
            }
            What::Exit { tid, comm } => add(tid, comm, "ends", String::new()),
            _ => {}
        }
    }
    Some(ours)
}

#[test]
fn rings_of_perf_tell_of_our_tasks_what_an_instance_of_tracefs_tells() {
    let (test, lab) = ("rings_of_perf_tell_of_our_tasks_what_an_instance_of_tracefs_tells", Lab::new("record-source"));
    // Unique names, because the whole machine is recorded.
    for (name, program) in [("slt-yes", "yes"), ("slt-head", "head"), ("slt-nap", "sleep")] {
        let which = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
        let path = String::from_utf8_lossy(&which.stdout).trim().to_owned();
        std::os::unix::fs::symlink(path, lab.path(name)).unwrap();
    }
    let [yes, head, nap] = ["slt-yes", "slt-head", "slt-nap"].map(|name| lab.path(name));
    // Both recordings are running before the first event and after the last one.
    let line = format!("{yes} | {head} -c 5000000 >{nap}.out; for i in 1 2 3; do {nap} 0.01; done; sleep 0.2");
    let _busy = NeverIdle::new();
    let record = |round: u32| {
        let [by_tracefs, by_perf] = ["tracefs", "perf"].map(|source| lab.path(&format!("by-{source}-{round}")));
        let program = program::binary().display().to_string();
        let inner =
            [&program, "record", "--source", "perf", "--buffer", "64m", "-o", &by_perf, "--", "sh", "-c", &line];
        let outer = ["record", "--source", "tracefs", "--buffer", "64m", "-o", &by_tracefs, "--"];
        let ran = traced(test, &[&outer[..], &inner].concat())?;
        assert!(ran.stderr.contains("read from perf's ring buffers, as asked for"), "{}", ran.stderr);
        Some([by_tracefs, by_perf].map(|dir| format!("{dir}/trace.slt")))
    };
    // A machine that is too busy to read events in time loses some, and then there is nothing to compare.
    for round in 0..5 {
        let Some(files) = record(round) else { return };
        let [by_tracefs, by_perf] = files.each_ref().map(|file| lacking(file));
        assert_eq!(by_tracefs, by_perf);
        if let [Some(by_tracefs), Some(by_perf)] = files.each_ref().map(|file| of_ours(file)) {
            return same_events(&by_tracefs, &by_perf);
        }
    }
    panic!("in each of five rounds events were lost");
}

/// Compares event by event: what the kernel omits (docs/recording.md), it omits for both.
fn same_events(by_tracefs: &Ours, by_perf: &Ours) {
    let said = |events: &Vec<(String, u64)>| events.iter().map(|(said, _)| said.clone()).collect::<Vec<_>>();
    assert_eq!(by_tracefs.keys().collect::<Vec<_>>(), by_perf.keys().collect::<Vec<_>>());
    for (key, first) in by_tracefs {
        assert_eq!(said(first), said(&by_perf[key]), "{key:?}");
    }
    let tasks: BTreeSet<u32> = by_tracefs.keys().map(|(tid, _)| *tid).collect();
    assert_eq!(tasks.len(), 5, "yes, head and three naps");
    // Each tracer reads the clock separately, and the host may take the CPU away in between, but not often.
    let pairs = by_tracefs.iter().flat_map(|(key, first)| first.iter().zip(&by_perf[key]));
    let mut apart_ns: Vec<u64> = pairs.map(|((_, first), (_, second))| first.abs_diff(*second)).collect();
    apart_ns.sort_unstable();
    assert!(apart_ns.len() > 50 && apart_ns[apart_ns.len() / 2] < 1_000_000, "{apart_ns:?}");
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
    let reason_withheld = run.trials.iter().find_map(|trial| match &trial.status {
        schedlab_plan::TrialStatus::NotApplied(why) if why.contains("tracefs cannot be used here") => Some(why),
        _ => None,
    });
    if let Some(why) = reason_withheld {
        eprintln!("schedlab-skip: {test}: needs tracefs ({why})");
        return;
    }
    let of_b = run.trials.iter().filter(|t| t.arm == Some(1)).count();
    let files = std::fs::read_dir(lab.path("run/traces")).unwrap().count();
    assert_eq!((files, of_b > 0), (of_b, true), "a file for each trial of the traced arm");
    let mut all_round_trips = 0;
    for trial in run.trials.iter().filter(|t| t.arm == Some(1)) {
        let outcome = trial.outcome.as_ref().unwrap();
        let applied = &outcome.applied;
        assert!(applied.iter().any(|a| a.setting.is_trace() && a.not_applied.is_none()), "{applied:?}");
        let (events, _) = read(&lab.path(&format!("run/traces/{:08}.slt", trial.trial)));
        // A round trip on one CPU is at least two switches. A busy machine may have allowed only a few round trips, or
        // none if the CPU was taken away for all of the 30 ms.
        let (events, round_trips) = (events.len() as u64, outcome.operations);
        assert!(events > round_trips, "trial {}: {events} of {round_trips}", trial.trial);
        all_round_trips += round_trips;
    }
    assert!(all_round_trips > 0);
}

#[test]
fn slow_operations_and_cgroups_of_a_recording_are_found() {
    let (test, lab) = ("slow_operations_and_cgroups_of_a_recording_are_found", Lab::new("record-slow"));
    let out = lab.path("trace");
    let busy = NeverIdle::new();
    let Some(_) = traced(test, &["record", "-o", &out, "--buffer", "64m", "--", "pipe:pin=same,loops=3000"]) else {
        return;
    };
    drop(busy);
    let outcome = json(&std::fs::read_to_string(lab.path("trace/outcome.json")).unwrap());
    let kept = outcome["slowest"].as_array().unwrap();
    let longest = outcome["histograms"][0]["histogram"]["max_ns"].as_u64().unwrap();
    assert_eq!(kept[0]["end_ns"].as_u64().unwrap() - kept[0]["start_ns"].as_u64().unwrap(), longest);
    let found = json(&schedlab(&["trace", "slow", &out, "--top", "5", "--json"]).success().stdout);
    let operations = found["operations"].as_array().unwrap();
    assert_eq!((operations.len(), &found["outside"], &operations[0]["ns"]), (5, &0.into(), &longest.into()));
    let pair: BTreeSet<u64> =
        outcome["tasks"].as_array().unwrap().iter().filter_map(|task| task["tid"].as_u64()).collect();
    for operation in operations {
        let sum = |of: &str| operation[of].as_array().unwrap().iter().map(|part| part["ns"].as_u64().unwrap());
        assert_eq!(operation["ns"], sum("steps").sum::<u64>(), "{operation}");
        assert_eq!(operation["ns"], sum("parts").sum::<u64>(), "{operation}");
        // A round trip on one CPU is at least parent, child, parent. The child is a separate step if the parent slept,
        // and comes after the parent's wait if it preempted the parent on being woken.
        let steps = operation["steps"].as_array().unwrap();
        let ran = steps.iter().filter(|step| step["did"] == "ran");
        let behind = steps.iter().flat_map(|step| step["behind"].as_array().unwrap());
        let came: BTreeSet<u64> = ran.chain(behind).filter_map(|part| part["tid"].as_u64()).collect();
        assert!(steps.len() >= 3 && came.is_superset(&pair), "{operation}");
    }
    let trace = lab.path("trace/trace.slt");
    let all = json(&schedlab(&["trace", "states", &trace, "--top", "0", "--json"]).success().stdout);
    let root = schedlab(&["trace", "states", &trace, "--top", "0", "--json", "--cgroup", "/"]).success();
    let rows = |found: &serde_json::Value| found["rows"].as_array().unwrap().len();
    assert!(rows(&json(&root.stdout)) > 0 && rows(&json(&root.stdout)) <= rows(&all));
    let none = schedlab(&["trace", "states", &trace, "--cgroup", "/no/such/group"]).failure();
    assert!(none.stderr.contains("is in the cgroup `/no/such/group`; there are /"), "{}", none.stderr);
    let out = lab.path("out.perfetto-trace");
    schedlab(&["trace", "convert", &trace, "-o", &out]).success();
    let bytes = std::fs::read(&out).unwrap();
    let named = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
    assert!(named("Slowest operations of the workload") && named("Waits for a CPU"));
}

#[test]
fn a_missed_deadline_stops_the_flight_recorder() {
    let (test, lab) = ("a_missed_deadline_stops_the_flight_recorder", Lab::new("record-miss"));
    let out = lab.path("trace");
    let workload = "transact:loops=2000,deadline=1ns,stop-on-miss=yes";
    let arguments = ["bench", workload, "--trace", &out, "--keep", "1s", "--json", "-", "--top", "0"];
    let Some(ran) = traced(test, &arguments) else { return };
    let outcome = json(&ran.stdout);
    let notes = outcome["notes"].to_string();
    assert!(notes.contains("the trace was stopped"), "{notes}");
    // Tasks are ended after the miss: the one that missed ends after the trace does.
    let (gone, tasks) = ended(&outcome, &lab.path("trace/trace.slt"));
    assert!(gone < tasks, "{gone} of {tasks} tasks ended before the miss");
    // If the trace continues, it contains the end of each task.
    let out = lab.path("on");
    let arguments = ["bench", "transact:loops=2000", "--trace", &out, "--keep", "5s", "--json", "-", "--top", "0"];
    let outcome = json(&schedlab(&arguments).success().stdout);
    let (gone, tasks) = ended(&outcome, &lab.path("on/trace.slt"));
    assert!(gone == tasks && tasks > 0, "{gone} of {tasks} tasks ended");
}

/// How many of a workload's tasks end in its recording, and how many tasks it had. (The whole machine is recorded, and
/// other tasks end too.)
fn ended(outcome: &serde_json::Value, file: &str) -> (usize, usize) {
    let tids = outcome["tasks"].as_array().unwrap().iter().filter_map(|task| task["tid"].as_u64());
    let tids: BTreeSet<u64> = tids.collect();
    let (events, _) = read(file);
    let is_end = |e: &&Event| matches!(e.what, What::Exit { tid, .. } if tids.contains(&tid.0.into()));
    (events.iter().filter(is_end).count(), tids.len())
}

#[test]
fn rings_of_perf_are_not_stopped_by_a_miss_and_that_is_said() {
    let (test, lab) = ("rings_of_perf_are_not_stopped_by_a_miss_and_that_is_said", Lab::new("record-miss-perf"));
    let workload = "transact:loops=2000,deadline=1ns,stop-on-miss=yes";
    let out = lab.path("trace");
    let arguments =
        ["bench", workload, "--trace", &out, "--keep", "1s", "--source", "perf", "--json", "-", "--top", "0"];
    let Some(ran) = traced(test, &arguments) else { return };
    let outcome = json(&ran.stdout);
    let notes = outcome["notes"].to_string();
    assert!(notes.contains("the trace was not stopped: it is read from perf's ring buffers"), "{notes}");
    assert!(!notes.contains("record one"), "{notes}");
}
