//! Bad input: one clear line each, with what to do next, and nothing half-written.

mod program;

use program::{Lab, schedlab};
use std::io::Write;
use std::process::Stdio;

/// Runs the command, and checks that it fails with one line that contains all of `words`.
fn refused(arguments: &[&str], words: &[&str]) {
    let ran = schedlab(arguments);
    assert!(ran.code == 1 || ran.code == 2, "{arguments:?} ended with {}: {}", ran.code, ran.stdout);
    let complaint: Vec<&str> = ran.stderr.lines().filter(|l| l.starts_with("schedlab: ")).collect();
    assert_eq!(complaint.len(), 1, "{arguments:?}: {}", ran.stderr);
    for word in words {
        assert!(complaint[0].contains(word), "{arguments:?}: `{word}` is not in: {}", complaint[0]);
    }
}

#[test]
fn names_that_do_not_exist_are_answered_with_the_nearest() {
    refused(&["bench", "mesaging"], &["mesaging", "messaging"]);
    refused(&["bench", "messaging:grups=2"], &["grups", "groups"]);
    refused(&["bench", "pipe", "--set", "slcie=1ms"], &["slcie", "slice"]);
    refused(&["ab", "-w", "pipe", "--b", "policy=bacth", "--dry-run"], &["bacth", "batch"]);
    let place = "sched_rr_timeslice_ms=…`";
    refused(
        &["ab", "-w", "pipe", "--b", "rr_timeslice=3", "--dry-run"],
        &["arm `B`: in a SPEC, the knob rr_timeslice is written `sysctl:kernel.", place],
    );
    let ran = schedlab(&["ab", "-w", "pipe", "--b", "base_slice=3ms", "--dry-run"]).failure();
    assert!(!ran.stderr.contains("list knobs") && !ran.stderr.contains("option:"), "{}", ran.stderr);
    refused(&["bench", "pipe", "--set", "sched_rr_timeslice_ms=3"], &[place]);
    refused(&["bench", "pipe", "--set", "sysctl:kernel.sched_rt_runtme_us=1"], &["sched_rt_runtime_us"]);
}

#[test]
fn values_out_of_range_are_refused_before_anything_starts() {
    refused(&["bench", "messaging:loops=0"], &["loops"]);
    refused(&["bench", "pipe:duration=5"], &["duration"]);
    refused(&["bench", "pipe", "--set", "cpus=4095"], &["4095"]);
    refused(&["bench", "messaging:groups=100000"], &["100000"]);
    refused(&["bench", "pipe/9"], &["pipe/1"]);
}

#[test]
fn a_bench_whose_outcome_has_no_place_or_no_meaning_is_not_run() {
    refused(&["bench", "pipe:duration=30s", "--json", "/nowhere/outcome.json"], &["/nowhere/outcome.json"]);
    for absent in ["sysctl:kernel.nosuch=1", "kernel:debian:6.1"] {
        let ran = schedlab(&["bench", "pipe:duration=30s", "--set", absent]).failure();
        assert_eq!(ran.stdout, "", "{absent}: no trial without it");
    }
    let lab = Lab::new("outcome");
    let file = lab.path("outcome.json");
    refused(&["bench", "pipe:pin=same,duration=5ms", "--set", "sysctl:kernel.nosuch=1", "--json", &file], &["nosuch"]);
    assert!(!std::path::Path::new(&file).exists(), "nothing half-written");
    schedlab(&["bench", "pipe:pin=same,duration=5ms", "--json", &file]).success();
    assert!(std::fs::read_to_string(&file).unwrap().starts_with('{'));
}

#[test]
fn a_cap_without_what_it_caps_is_refused() {
    let ab = ["ab", "-w", "pipe", "--b", "nice=1", "--dry-run"];
    refused(&[&ab[..], &["--max-blocks", "9"]].concat(), &["required arguments"]);
    schedlab(&[&ab[..], &["--max-blocks", "9", "--until-decided"]].concat()).success();
    schedlab(&ab).success();
}

#[test]
fn a_placement_the_machine_lacks_is_refused_before_the_first_trial() {
    let lab = Lab::new("placement");
    let out = lab.path("run");
    let cpu = std::fs::read_to_string("/proc/self/status").unwrap();
    let cpu = cpu.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first = cpu.trim().split([',', '-']).next().unwrap();
    let apart = format!("pipe:pin=apart,cpus={first}");
    refused(&["ab", "-w", &apart, "--b", "nice=1", "--out", &out], &["pin=apart needs two CPUs", "pin=same"]);
    // A single CPU has no other CPU at any tier.
    let tier = format!("pipe:pin=llc,cpus={first}");
    refused(&["ab", "-w", &tier, "--b", "nice=1", "--dry-run"], &["pin=llc: no two CPUs"]);
    assert!(!std::path::Path::new(&out).exists(), "nothing half-written");
}

#[test]
fn a_budget_too_short_for_a_verdict_names_the_least_one() {
    let lab = Lab::new("budget");
    let out = lab.path("run");
    refused(&["ab", "-w", "pipe", "--b", "nice=1", "--budget", "1s", "--out", &out], &["6 blocks", "at least"]);
    assert!(!std::path::Path::new(&out).exists(), "nothing half-written");
}

#[test]
fn numbers_beyond_any_clock_are_refused_or_forecast_as_what_they_are() {
    refused(&["ab", "-w", "pipe", "--b", "", "--trial", "2500000h", "--dry-run"], &["too long", "86400s"]);
    let forecast = |workload: &str, blocks: &str| {
        let said = schedlab(&["ab", "-w", workload, "--b", "", "--trials", blocks, "--dry-run"]).success().stdout;
        let line = said.lines().find(|line| line.contains("blocks, about ")).expect("a forecast").to_owned();
        let seconds = line.split("about ").nth(1).and_then(|rest| rest.split(' ').next()).expect("seconds").to_owned();
        seconds.parse::<u64>().expect("a number")
    };
    assert!(forecast("pipe", "4294967295") > 8_000_000_000, "almost three centuries, not none");
    assert!(forecast("pipe:duration=24h", "6") > 2_000_000, "seven blocks of four days");
}

#[test]
fn plans_are_checked_whole() {
    let lab = Lab::new("plans");
    let plan = |name: &str, text: &str| {
        let file = lab.path(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let one_arm = plan("one.toml", "trials = 6\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"a\"\n");
    refused(&["run", &one_arm, "--dry-run"], &["one arm"]);
    let typo = plan("typo.toml", "trails = 6\n[[workload]]\nrun = \"pipe\"\n");
    refused(&["run", &typo, "--dry-run"], &["trails", "trials"]);
    refused(&["run", &lab.path("absent.toml")], &["absent.toml"]);
}

#[test]
fn a_newer_or_truncated_run_is_named() {
    let lab = Lab::new("damaged");
    let out = lab.path("run");
    schedlab(&["ab", "-w", "pipe:pin=same", "--b", "", "--trials", "6", "--trial", "20ms", "--out", &out]).success();
    let manifest = format!("{out}/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"format_version\": ", "\"format_version\": 99")).unwrap();
    refused(&["report", &out], &["99"]);
    std::fs::write(&manifest, text).unwrap();
    let table = format!("{out}/tables/trials.parquet");
    let bytes = std::fs::read(&table).unwrap();
    std::fs::write(&table, &bytes[..bytes.len() / 2]).unwrap();
    refused(&["report", &out], &["trials.parquet"]);
    refused(&["report", &lab.path("nowhere")], &["nowhere"]);
}

#[test]
fn a_log_that_is_not_what_it_was_said_to_be_is_refused() {
    let lab = Lab::new("log");
    let file = lab.path("notes.txt");
    std::fs::write(&file, "dear diary\n").unwrap();
    refused(&["import", &file, "--kind", "hackbench"], &["hackbench"]);
    refused(&["import", &file, "--kind", "csv"], &["line 1"]);
}

#[test]
fn what_can_only_fail_is_refused_and_not_measured_to_the_end() {
    let lab = Lab::new("hopeless");
    let out = lab.path("run");
    refused(&["bench", "pipe", "--load", "messaging"], &["messaging"]);
    let plan = lab.path("primary.toml");
    let text = "trials = 6\ntrial = \"20ms\"\n[[workload]]\nrun = \"pipe:pin=same\"\nprimary = [\"speed\"]\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\n";
    std::fs::write(&plan, text).unwrap();
    refused(&["run", &plan, "--out", &out], &["speed", "round_trips_per_s"]);
    refused(&["run", &plan, "--dry-run"], &["speed", "round_trips_per_s"]);
    refused(
        &["ab", "-w", "timer", "--latency", "off", "--b", "nice=1", "-o", &out],
        &["latency_p50_ns", "wakeups_per_s"],
    );
    assert!(!std::path::Path::new(&out).exists());
}

#[test]
fn what_never_ends_is_refused_and_a_pipe_is_read() {
    let lab = Lab::new("endless");
    for arguments in [["run", "/dev/zero"], ["import", "/dev/zero"]] {
        refused(&[&arguments[..], &["-o", &lab.path("out")]].concat(), &["/dev/zero", "never ends"]);
    }
    assert!(!std::path::Path::new(&lab.path("out")).exists());
    // A pipe named by the user is read like a file.
    let plan =
        "trials = 6\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"nice=1\"\n";
    let mut read = program::command();
    read.args(["run", "/dev/stdin", "--dry-run"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut read = read.spawn().unwrap();
    read.stdin.take().unwrap().write_all(plan.as_bytes()).unwrap();
    let ended = read.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn a_file_where_a_run_is_asked_for_is_no_run() {
    let lab = Lab::new("no-run");
    std::fs::write(lab.path("file"), "").unwrap();
    refused(&["report", &lab.path("file")], &["is not a run directory"]);
}
