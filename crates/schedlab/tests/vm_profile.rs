//! `vm profile` as a user starts it, with a cost planted in a function of a real kernel.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::guests::{KERNEL, can_boot, from};
use program::{Lab, json};

/// Copies a pipe's bytes on x86-64 with `rep movsb`: one instruction per byte, once in each direction, in both pipes.
const COPY: &str = "copy_user_enhanced_fast_string";
const LOOPS: f64 = 500.0;
const ADDED_BYTES: f64 = 2000.0;

#[test]
fn a_planted_cost_is_found_in_its_function_to_the_instruction() {
    let test = "a_planted_cost_is_found_in_its_function_to_the_instruction";
    if !can_boot(test) {
        return;
    }
    let lab = Lab::new("vm-profile");
    let profile = |bytes: u32, options: &[&str]| {
        let workload = format!("pipe:loops={LOOPS},pin=same,bytes={bytes}");
        // Two CPUs, so that a second thread translates code as well.
        let words = ["vm", "profile", "--kernel", KERNEL, "--cpus", "2", "--top", "3"];
        from(&lab, &[&words, options, &["--", "bench", &workload]].concat())
    };
    let without = profile(2000, &["--json", "without.json"]);
    if without.stderr.contains("use QEMU 10 or newer") {
        eprintln!(
            "schedlab-skip: {test}: needs QEMU 10 (Debian 12: apt-get install -t bookworm-backports qemu-system-x86)"
        );
        return;
    }
    without.success();
    let compared = profile(4000, &["--json", "with.json", "--against", "without.json"]).success().stdout;

    let copied = |name: &str| {
        let text = std::fs::read_to_string(lab.path(name)).unwrap();
        let profiles = json(&text)["profiles"].clone();
        let last = profiles.as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["operations"], LOOPS);
        last["functions"][COPY].as_f64().unwrap()
    };
    let (without, with) = (copied("without.json"), copied("with.json"));
    // Two writes and two reads per operation; a write and a read end the loop. A tick may restart a `rep`, and other
    // copies meanwhile (the control process reading /proc) may have other sizes: some hundred bytes.
    let planted = (4.0 * LOOPS + 2.0) * ADDED_BYTES;
    let found = with - without;
    assert!((found - planted).abs() <= planted / 1000.0, "{found} for {planted} planted");

    let mut lines = compared.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = lines.find(|words| words.last() == Some(&COPY) && words.len() == 4).expect("its row is shown");
    let difference: f64 = row[2].parse().unwrap();
    assert!((difference * LOOPS - found).abs() < LOOPS, "{compared}");
    let words = compared.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("; {difference:+.2} in {COPY}")), "what changed most is named: {compared}");
    // Copying belongs to memory, which contains everything that was planted; page faults differ by some hundred. For
    // the other groups only the sums are checked, because the number of ticks depends on how often the host takes the
    // guest's CPUs away.
    let groups = json(&std::fs::read_to_string(lab.path("with.json")).unwrap())["groups"]["groups"].clone();
    let part = |group: &serde_json::Value, key: &str| group[key].as_f64().unwrap();
    let change = |group: &serde_json::Value| part(group, "this") - part(group, "against");
    let groups: Vec<_> = groups.as_array().unwrap().iter().collect();
    let memory = groups.iter().find(|group| group["group"] == "memory").unwrap();
    assert!((change(memory) * LOOPS - planted).abs() <= planted / 10.0, "{groups:?}");
    let all: f64 = groups.iter().map(|group| change(group)).sum();
    for pair in groups.windows(2) {
        assert!(part(pair[0], "share").abs() >= part(pair[1], "share").abs(), "{groups:?}");
    }
    for group in &groups {
        assert!((part(group, "share") - change(group) / all).abs() < 1e-9, "{groups:?}");
    }
    assert!(compared.contains("instead of") && compared.contains("% in memory"), "{compared}");
}

#[test]
fn legs_are_parts_of_the_whole_to_the_instruction() {
    let test = "legs_are_parts_of_the_whole_to_the_instruction";
    if !can_boot(test) {
        return;
    }
    let lab = Lab::new("vm-profile-legs");
    let workload = format!("pipe:loops={LOOPS},pin=same");
    let options = ["--kernel", KERNEL, "--cpus", "1", "--legs", "--json", "legs.json"];
    let ran = from(&lab, &[&["vm", "profile"], &options[..], &["--", "bench", &workload]].concat());
    if ran.stderr.contains("use QEMU 10 or newer") {
        eprintln!("schedlab-skip: {test}: needs QEMU 10");
        return;
    }
    let printed = ran.success().stdout;
    let whole = json(&std::fs::read_to_string(lab.path("legs.json")).unwrap())["profiles"][0].clone();
    let legs = whole["legs"].as_array().unwrap().clone();

    let count = |value: &serde_json::Value| value.as_u64().unwrap_or(0);
    let sum = |of: &dyn Fn(&serde_json::Value) -> u64| legs.iter().map(of).sum::<u64>();
    for part in ["programs", "kernel", "no_function"] {
        assert_eq!(sum(&|leg| count(&leg["instructions"][part])), count(&whole["instructions"][part]), "{part}");
    }
    for (name, all) in whole["functions"].as_object().unwrap() {
        assert_eq!(sum(&|leg| count(&leg["functions"][name])), count(all), "{name}");
    }

    // Two writes and two reads per operation, minus what a mark cut off, plus what ends the loop.
    let [outside, write, write_that_wakes, read, read_that_waits] = legs.as_slice() else { panic!("{legs:?}") };
    let calls = |leg: &serde_json::Value| leg["calls"].as_f64().unwrap();
    for pair in [calls(write) + calls(write_that_wakes), calls(read) + calls(read_that_waits)] {
        assert!((pair - 2.0 * LOOPS).abs() <= 8.0, "{pair} calls");
    }
    // On one CPU, a partner that is woken was waiting.
    assert!(calls(write_that_wakes) > LOOPS && calls(read_that_waits) > LOOPS, "{printed}");
    let has = |leg: &serde_json::Value, name: &str| count(&leg["functions"][name]) > 0;
    for (leg, does, does_not) in [
        (write, "pipe_write", "pipe_read"),
        (write_that_wakes, "autoremove_wake_function", "pipe_read"),
        (read, "pipe_read", "prepare_to_wait_event"),
        (read_that_waits, "prepare_to_wait_event", "pipe_write"),
    ] {
        assert!(calls(leg) == 0.0 || has(leg, does), "{does} in {}", leg["leg"]);
        assert!(!has(leg, does_not), "{does_not} in {}", leg["leg"]);
    }
    assert!(outside["instructions"]["programs"] == whole["instructions"]["programs"], "programs are in no leg");
    assert!(printed.contains("write that wakes") && printed.contains("outside"), "{printed}");
}

#[test]
fn what_is_no_profile_costs_no_boot() {
    let test = "what_is_no_profile_costs_no_boot";
    if !can_boot(test) {
        return;
    }
    let lab = Lab::new("vm-profile-input");
    std::fs::write(lab.path("other.json"), "{}").unwrap();
    for (words, needle) in [
        ("--legs --cpus 2 -- bench pipe", "legs can be counted on one CPU only: --cpus 1"),
        ("-- list", "takes a `bench` command"),
        ("-- bench pipe --json -", "without --json"),
        ("-- bench pipe --json=x.json", "without --json"),
        ("-- bench pipe --trace dir", "without --trace"),
        ("-- bench pipe:copies=1,2", "a list of values is several workloads"),
        ("-- doctor", "takes a `bench` command"),
        ("--lane real -- bench pipe", "leave --lane out"),
        ("--against nowhere.json -- bench pipe", "--against nowhere.json: it cannot be read"),
        ("--against other.json -- bench pipe", "not a profile of `vm profile --json`"),
        ("--against debian:1.0 -- bench pipe", "schedlab vm fetch debian:1.0"),
        ("--json nowhere/a.json -- bench pipe", "--json: there is no directory "),
        ("--json . -- bench pipe", "--json: . is a directory"),
        ("--json /proc/a.json -- bench pipe", "--json: /proc/a.json cannot be written"),
    ] {
        let words: Vec<&str> = ["vm", "profile", "--kernel", KERNEL].into_iter().chain(words.split(' ')).collect();
        let ran = from(&lab, &words).failure();
        assert!(ran.stderr.lines().last().is_some_and(|line| line.contains(needle)), "{words:?}: {}", ran.stderr);
    }
    let line = from(&lab, &["vm", "profile", "--kernel", KERNEL, "--dry-run", "--", "bench", "pipe"]).success().stdout;
    assert!(line.contains("-plugin ") && line.contains("-icount "), "{line}");
}
