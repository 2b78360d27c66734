//! `schedlab trace`, end to end: files and pipes, options, bad input in one line.

mod program;

use program::{Lab, json, schedlab};
use std::process::{Command, Stdio};

/// A of CPU 0 sleeps and is woken by an interrupt in B; it waits 5 µs.
const TRACE: &str = "\
A-10 [000] d..2. 1.000010: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
B-11 [001] d.h2. 1.000020: sched_waking: comm=A pid=10 prio=120 target_cpu=000
<idle>-0 [000] d..2. 1.000025: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
A-10 [000] d..2. 1.000045: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

fn lab(name: &str) -> (Lab, String) {
    let lab = Lab::new(name);
    let file = lab.path("trace.txt");
    std::fs::write(&file, TRACE).unwrap();
    (lab, file)
}

#[test]
fn every_analysis_prints_a_page_and_json() {
    let (_lab, file) = lab("trace-pages");
    let text = schedlab(&["trace", "latency", &file]).success().stdout;
    assert!(text.starts_with("Longest wait after a wakeup: 5.000 µs (A 10, 1.000020 to 1.000025 s on CPU 0)."), "{text}");
    let found = json(&schedlab(&["trace", "latency", &file, "--json"]).success().stdout);
    assert_eq!(found["total"]["wakeup"]["max_ns"], 5000);
    let states = json(&schedlab(&["trace", "states", &file, "--json"]).success().stdout);
    assert_eq!(states["rows"][0]["running_ns"], 20_000);
    let check = json(&schedlab(&["trace", "check", &file, "--json"]).success().stdout);
    assert_eq!(check["cpus"].as_array().map(Vec::len), Some(2));
    let lines = schedlab(&["trace", "timehist", &file, "--json"]).success().stdout;
    assert_eq!(json(lines.lines().next().unwrap())["run_ns"], 20_000);
    let perf = schedlab(&["trace", "latency", &file, "--compat", "perf"]).success().stdout;
    assert!(perf.contains("| avg:   0.005 ms | max:   0.005 ms |"), "{perf}");
}

#[test]
fn a_pipe_is_read_like_a_file() {
    let (_lab, file) = lab("trace-pipe");
    let piped = Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .args(["trace", "latency", "-"])
        .stdin(Stdio::from(std::fs::File::open(&file).unwrap()))
        .output()
        .unwrap();
    let direct = schedlab(&["trace", "latency", &file]).success().stdout;
    assert_eq!(String::from_utf8_lossy(&piped.stdout), direct);
}

#[test]
fn what_cannot_be_read_is_one_line_that_names_it() {
    let (lab, file) = lab("trace-bad");
    let one_line = |arguments: &[&str], part: &str| {
        let failed = schedlab(arguments).failure();
        assert_eq!(failed.stderr.lines().count(), 1, "{}", failed.stderr);
        assert!(failed.stderr.contains(part), "{part}: {}", failed.stderr);
        assert_eq!((failed.code, failed.stdout.as_str()), (1, ""));
    };
    let picture = lab.path("picture");
    std::fs::write(&picture, b"\x89PNG\r\n").unwrap();
    one_line(&["trace", "latency", &picture], "picture is not a trace that is known here: it begins with 89 50 4e 47");
    std::fs::write(&picture, b"").unwrap();
    one_line(&["trace", "check", &picture], "picture is empty; expected a trace");
    std::fs::write(&picture, b"PERFILE2\x68\0\0\0").unwrap();
    one_line(&["trace", "states", &picture], "byte 8: 4 bytes are left; expected the size of the header");
    one_line(&["trace", "latency", &lab.path("none")], "none cannot be opened");
    one_line(&["trace", "latency", &lab.path("")], "is a directory");
    one_line(&["trace", "latency", &file, "--time", "5,1"], "`5,1` is no time window");
}

#[test]
fn a_filter_that_lets_nothing_through_says_so() {
    let (_lab, file) = lab("trace-none");
    let text = schedlab(&["trace", "latency", &file, "--comm", "nobody"]).success().stdout;
    assert!(text.starts_with("No wait of a task is known from begin to end."), "{text}");
    let text = schedlab(&["trace", "latency", &file, "--comm", "*", "--cpu", "1"]).success().stdout;
    assert!(text.starts_with("No wait of a task is known from begin to end."), "{text}");
}
