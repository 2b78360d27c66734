//! `trace slow`: a workload's own slow operations, with its trace, and its tracks in Perfetto.

#![allow(clippy::print_stderr, reason = "the skip marker is for `cargo xtask test`")]

mod program;

use program::{Lab, json, python_with_perfetto, schedlab};
use schedlab_plan::{SlowOperation, Stamping, StampingReport, TrialOutcome};
use std::process::Command;

/// A sleeps from 10 µs on, an interrupt wakes it at 20, it runs again at 25 and leaves at 45.
const TRACE: &str = "\
A-10 [000] d..2. 1.000010: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
B-11 [001] d.h2. 1.000020: sched_waking: comm=A pid=10 prio=120 target_cpu=000
<idle>-0 [000] d..2. 1.000025: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
A-10 [000] d..2. 1.000045: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// The files of `record -o DIR -- WORKLOAD`, with a trace written by hand.
fn recorded(name: &str, outcome: &TrialOutcome) -> (Lab, String) {
    let lab = Lab::new(name);
    let dir = lab.path("out");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(lab.path("out/trace.slt"), TRACE).unwrap();
    std::fs::write(lab.path("out/outcome.json"), serde_json::to_vec(outcome).unwrap()).unwrap();
    (lab, dir)
}

fn outcome(level: Stamping) -> TrialOutcome {
    let start_ns = 1_000_012_000;
    let slow = SlowOperation { name: "latency".into(), start_ns, end_ns: start_ns + 28_000, tid: 10, group: 0 };
    TrialOutcome {
        workload: "pipe/1".into(),
        slowest: if level == Stamping::Off { Vec::new() } else { vec![slow] },
        stamping: StampingReport { level, stamped: u64::from(level != Stamping::Off), ..StampingReport::default() },
        ..TrialOutcome::default()
    }
}

#[test]
fn the_page_and_the_json_tell_the_same() {
    let (_lab, dir) = recorded("slow-page", &outcome(Stamping::Sampled));
    let text = schedlab(&["trace", "slow", &dir]).success().stdout;
    assert!(text.starts_with("The slowest operation took 28.00 µs, 15.00 µs of it A:10 ran."), "{text}");
    // Independent of the width of the terminal.
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "1. latency 28.00 µs, 1.000012 to 1.000040 s, seen by A:10 of group 0",
        "A:10 slept for 8.000 µs (S) until an interrupt",
        "A:10, woken by (interrupt), waited 5.000 µs for CPU 0: 5.000 µs (idle)",
        "A:10 ran for 15.00 µs on CPU 0",
    ] {
        assert!(unwrapped.contains(line), "{line}: {text}");
    }
    assert_eq!(schedlab(&["trace", "slow", &format!("{dir}/trace.slt")]).success().stdout, text, "of the file itself");
    let found = json(&schedlab(&["trace", "slow", &dir, "--json"]).success().stdout);
    let steps: Vec<(&str, u64)> = found["operations"][0]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["did"].as_str().unwrap(), step["ns"].as_u64().unwrap()))
        .collect();
    assert_eq!(steps, [("slept", 8_000), ("waited", 5_000), ("ran", 15_000)]);
}

#[test]
fn what_cannot_be_told_is_one_sentence() {
    let one_line = |dir: &str, more: &[&str], part: &str| {
        let failed = schedlab(&[&["trace", "slow", dir], more].concat()).failure();
        assert!(failed.stderr.lines().count() == 1 && failed.stderr.contains(part), "{part}: {}", failed.stderr);
    };
    let (lab, dir) = recorded("slow-none", &outcome(Stamping::Off));
    one_line(&dir, &[], "operations have no timestamps (`--latency off`)");
    one_line(&dir, &["--trial", "3"], "holds one trial");
    one_line(&lab.path("out/trace.slt"), &["--trial", "3"], "is the trace of one trial");
    one_line(&lab.path("nothing"), &[], "nothing is not there");
    std::fs::remove_file(lab.path("out/outcome.json")).unwrap();
    one_line(&dir, &[], "slow operations are those of a workload");
    one_line(&lab.path("out/trace.slt"), &[], "trace.slt has no outcome of a workload beside it");
}

#[test]
fn perfettos_own_schema_reads_our_tracks() {
    let Some(python) = python_with_perfetto() else {
        eprintln!(
            "schedlab-skip: perfettos_own_schema_reads_our_tracks: needs perfetto (python3 without the package perfetto; \
             SCHEDLAB_PYTHON names another)"
        );
        return;
    };
    let (lab, _) = recorded("slow-perfetto", &outcome(Stamping::Sampled));
    let out = lab.path("out.perfetto-trace");
    schedlab(&["trace", "convert", &lab.path("out/trace.slt"), "-o", &out]).success();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/perfetto_tracks.py");
    let ran = Command::new(&python).arg(script).arg(&out).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let seen: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(seen["events"], 4);
    let tracks = &seen["tracks"];
    assert_eq!(
        tracks["Waits for a CPU / A 10"],
        serde_json::json!([["after a wakeup", 1_000_020_000u64, 1_000_025_000u64]])
    );
    assert_eq!(
        tracks["Slowest operations of the workload / latency, group 0, thread 10"],
        serde_json::json!([["latency", 1_000_012_000u64, 1_000_040_000u64]])
    );
}
