//! Golden traces: tiny, written by hand, each with its story in its first line. The answers are in this file; the pages
//! of all analyses are in `traces/*.out`, which `SCHEDLAB_BLESS=1 cargo test -p schedlab-report` writes anew.

use schedlab_analyze::trace::{
    Latency, LatencyOptions, Reader, TaskFilter, TimeWindow, check, latency, perf_latency, states, timehist,
};
use schedlab_report::{
    perf_latency_text, timehist_header, timehist_line, trace_check_text, trace_latency_text, trace_states_text,
};
use std::path::{Path, PathBuf};

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces")
}

fn open(name: &str, wanted: schedlab_trace::Kinds) -> Reader {
    let bytes = std::fs::read(dir().join(format!("{name}.txt"))).expect("a golden trace");
    Reader::open(name, Box::new(bytes), wanted).expect("a trace")
}

fn latencies(name: &str) -> Latency {
    latency(&mut open(name, latency::wanted()), &LatencyOptions::default()).expect("readable to its end")
}

/// Waits after wakeups and after preemptions: number, longest in ns, censored by reason.
fn answer(name: &str) -> [(u64, u64, [u64; 3]); 2] {
    let total = latencies(name).total;
    [&total.wakeup, &total.preempt].map(|waits| (waits.count, waits.max_ns.unwrap_or(0), waits.censored))
}

#[test]
fn every_golden_trace_has_its_known_answer() {
    const NONE: (u64, u64, [u64; 3]) = (0, 0, [0; 3]);
    let known = [
        ("preempt", [NONE, (2, 7_000, [0; 3])]),
        ("r_plus_then_waking", [NONE, (1, 8_000, [0; 3])]),
        ("waking_before_switch", [(1, 4_000, [0; 3]), NONE]),
        ("cancelled_sleep", [(1, 4_000, [0; 3]), NONE]),
        ("lost_switch_in", [(1, 3_000, [0, 1, 0]), NONE]),
        ("lost_cpu_window", [(1, 11_000, [1, 0, 0]), NONE]),
        ("pid_reuse", [(1, 4_000, [0; 3]), NONE]),
        ("rename", [(1, 9_000, [0; 3]), NONE]),
        ("migration_while_waiting", [(1, 9_000, [0; 3]), NONE]),
        ("several_idle_threads", [(1, 2_000, [0; 3]), NONE]),
        ("irq_waker", [(1, 6_000, [0; 3]), NONE]),
        ("clock_back", [(1, 4_000, [0; 3]), NONE]),
        ("truncated", [(0, 0, [0, 0, 1]), (0, 0, [0, 0, 1])]),
    ];
    for (name, expected) in known {
        assert_eq!(answer(name), expected, "{name}");
    }
    let files = std::fs::read_dir(dir()).expect("golden traces").map(|e| e.expect("readable").path());
    let traces = files.filter(|path| path.extension().is_some_and(|e| e == "txt")).count();
    assert_eq!(traces, known.len(), "a golden trace without an answer");
}

#[test]
fn what_the_stories_tell_beside_the_waits() {
    let trace = |name| latencies(name).trace;
    assert_eq!(trace("waking_before_switch").repaired_wakings, 1);
    assert_eq!(trace("cancelled_sleep").cancelled_sleeps, 1);
    assert_eq!(trace("r_plus_then_waking").cancelled_sleeps, 1);
    assert_eq!(trace("lost_switch_in").gaps, 1);
    assert_eq!(trace("several_idle_threads").gaps, 0);
    assert!(trace("truncated").problems.iter().any(|p| p.starts_with("the trace ends inside a line")));
    let renamed = latencies("rename");
    let names: Vec<&str> = renamed.rows.iter().map(|r| r.comm.as_str()).collect();
    assert_eq!((names, renamed.rows[0].tasks), (vec!["sh"], 1));
    let reused = latencies("pid_reuse");
    let mut names: Vec<&str> = reused.rows.iter().map(|r| r.comm.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["A", "D"]);
    assert_eq!(latencies("migration_while_waiting").total.migrations, 1);
}

/// Every page of every analysis of a trace.
fn pages(name: &str) -> String {
    let mut out = Vec::new();
    let title = |out: &mut Vec<u8>, text: &str| out.extend(format!("=== {text}\n").as_bytes());
    title(&mut out, "latency");
    trace_latency_text(&latencies(name), 140, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "states");
    let tasks = TaskFilter::default();
    let found = states(&mut open(name, states::wanted()), &tasks, None).expect("readable");
    trace_states_text(&found, 140, false, &mut out).expect("a Vec takes every byte");
    title(&mut out, "timehist");
    timehist_header(&mut out).expect("a Vec takes every byte");
    let mut reader = open(name, timehist::wanted());
    let mut each = |row: &_| timehist_line(row, &mut out).is_ok();
    timehist(&mut reader, &tasks, &TimeWindow::default(), &mut each).expect("readable");
    title(&mut out, "check");
    trace_check_text(&check(&mut open(name, check::wanted())).expect("readable"), 140, false, &mut out).expect("written");
    title(&mut out, "latency --compat perf");
    let found = perf_latency(&mut open(name, schedlab_analyze::trace::perf_latency::wanted()), false).expect("readable");
    perf_latency_text(&found, &mut out).expect("a Vec takes every byte");
    String::from_utf8(out).expect("pages are UTF-8")
}

#[test]
fn every_page_of_every_golden_trace_is_as_it_was() {
    for entry in std::fs::read_dir(dir()).expect("golden traces") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|e| e != "txt") {
            continue;
        }
        let name = path.file_stem().and_then(|s| s.to_str()).expect("a plain name").to_owned();
        let (is, golden) = (pages(&name), path.with_extension("out"));
        if std::env::var_os("SCHEDLAB_BLESS").is_some() {
            std::fs::write(&golden, &is).expect("written");
        }
        let was = std::fs::read_to_string(&golden).unwrap_or_default();
        assert!(is == was, "{name} differs; look at it, then bless it:\n{is}");
    }
}

#[test]
fn filters_leave_out_tasks_times_and_cpus() {
    let of = |options: &LatencyOptions| {
        let found = latency(&mut open("lost_cpu_window", latency::wanted()), options).expect("readable");
        (found.rows.iter().map(|r| r.comm.clone()).collect::<Vec<_>>(), found.total.wakeup.count)
    };
    let tasks = |comms: &[&str]| TaskFilter { comms: comms.iter().map(|c| (*c).to_owned()).collect(), ..TaskFilter::default() };
    assert_eq!(of(&LatencyOptions { tasks: tasks(&["B"]), ..LatencyOptions::default() }), (vec!["B".into()], 1));
    assert_eq!(of(&LatencyOptions { tasks: tasks(&["A"]), ..LatencyOptions::default() }), (vec!["A".into()], 0));
    let late = TimeWindow { from_ns: 32_000, ..TimeWindow::default() };
    assert_eq!(of(&LatencyOptions { window: late, ..LatencyOptions::default() }).1, 0);
    let cpu_1 = TimeWindow { cpus: Some(vec![schedlab_trace::Cpu(1)]), ..TimeWindow::default() };
    assert_eq!(of(&LatencyOptions { window: cpu_1, ..LatencyOptions::default() }).1, 1);
    let one_row = LatencyOptions { top: Some(1), ..LatencyOptions::default() };
    let found = latency(&mut open("lost_cpu_window", latency::wanted()), &one_row).expect("readable");
    assert_eq!((found.rows.len(), found.more_rows), (1, 1));
}

#[test]
fn the_json_is_complete() {
    let found = serde_json::to_value(latencies("waking_before_switch")).expect("JSON");
    assert_eq!(found["schema"], "schedlab/trace-latency/1");
    assert_eq!(found["rows"][0]["wakeup"]["max_ns"], 4000);
    assert_eq!(found["rows"][0]["queueing"]["max_ns"], 2000);
    assert_eq!(found["total"]["wakeup"]["histogram"]["max_ns"], 4000);
    assert!(found["definitions"].as_array().is_some_and(|d| d.iter().any(|d| d["id"] == "wakeup/1")));
}
