//! The real binary, driven end to end like by a user.

mod program;

use program::{Lab, json, schedlab};

#[test]
fn a_bench_prints_a_summary_and_its_json_is_complete() {
    let text = schedlab(&["bench", "messaging:groups=1,loops=20,transport=pipe"]).success();
    assert!(text.stdout.contains("Time: "), "hackbench's own line: {}", text.stdout);
    let outcome =
        json(&schedlab(&["bench", "pipe:pin=same,duration=300ms", "--json", "-", "--top", "0"]).success().stdout);
    assert_eq!(outcome["workload"], "pipe/1");
    assert!(outcome["operations"].as_u64().unwrap() > 100);
    assert!(outcome["metrics"].as_array().unwrap().iter().any(|m| m["name"] == "round_trips_per_s"));
}

#[test]
fn the_group_of_every_task_is_told_that_of_a_load_too() {
    let bench = ["bench", "pipe:pin=same,duration=300ms", "--load", "burn:2x20%", "--json", "-", "--top", "0"];
    let outcome = json(&schedlab(&bench).success().stdout);
    let tasks: Vec<u64> = outcome["groups"].as_array().unwrap().iter().map(|g| g["tasks"].as_u64().unwrap()).collect();
    assert_eq!(tasks.iter().sum::<u64>(), 4, "two partners and two burners: {}", outcome["groups"]);
}

#[test]
fn long_options_say_the_same_as_the_spec() {
    let by_spec = json(&schedlab(&["bench", "messaging:groups=2,loops=5", "--dry-run"]).success().stdout);
    let by_option =
        json(&schedlab(&["bench", "messaging", "--groups", "2", "--loops", "5", "--dry-run"]).success().stdout);
    assert_eq!(by_spec, by_option);
    let twice = schedlab(&["bench", "messaging:groups=2", "--groups", "3", "--dry-run"]).failure();
    assert!(twice.stderr.contains("give it once"), "{}", twice.stderr);
}

#[test]
fn a_dry_run_says_what_the_arms_need() {
    let ran = schedlab(&["ab", "-w", "pipe", "--b", "policy=batch;autogroup=off", "--dry-run"]).success();
    for needed in ["# arm `A`: the host as it is", "# arm `B`: policy=batch: needs nothing", "sched_autogroup_enabled"]
    {
        assert!(ran.stdout.contains(needed), "{needed}: {}", ran.stdout);
    }
    let ran = schedlab(&["ab", "-w", "messaging:fifo=yes", "--b", "nice=1", "--dry-run"]).success();
    let told = ran.stdout.split_whitespace().filter(|word| *word != "#").collect::<Vec<_>>().join(" ");
    assert!(told.contains("its own threads: policy=fifo:1: needs CAP_SYS_NICE"), "{told}");
    assert!(ran.stdout.lines().all(|line| !line.starts_with("#   block") || line.chars().count() <= 80), "{told}");
}

#[test]
fn a_list_of_copies_is_a_sweep_with_a_scaling_table() {
    let lab = Lab::new("sweep");
    let answer = json(
        &schedlab(&["bench", "pipe:duration=300ms", "--copies", "1,2,2", "--json", "-", "--top", "0"]).success().stdout,
    );
    let rows = answer["scaling"]["rows"].as_array().unwrap();
    assert_eq!((rows.len(), rows[1]["copies"].as_array().unwrap().len()), (2, 2), "one value is run once");
    let out = lab.path("run");
    let arguments = ["ab", "-w", "pipe:pin=same", "--sweep", "bytes=8,64", "--b", "", "--trials", "6"];
    let ran = schedlab(&[&arguments[..], &["--trial", "20ms", "--full", "--out", &out]].concat()).success();
    assert!(ran.stdout.contains("Scaling: round trips per second over bytes"), "{}", ran.stdout);
    let refused = schedlab(&["bench", "pipe:copies=2", "--sweep", "copies=1,4"]).failure();
    assert!(refused.stderr.contains("give it once"), "{}", refused.stderr);
}

#[test]
fn an_ab_leaves_a_sealed_run_that_another_run_does_not_overwrite() {
    let lab = Lab::new("aa");
    let out = lab.path("run");
    let arguments = ["ab", "-w", "pipe:pin=same", "--a", "", "--b", "", "--trials", "6", "--trial", "60ms"];
    schedlab(&[&arguments[..], &["--out", &out]].concat()).success();
    let reread = schedlab(&["report", &out, "--json", "--top", "0"]).success();
    assert!(!reread.stderr.contains("not sealed"), "{}", reread.stderr);
    // The verdict depends on the machine; that it uses six blocks of equal arms does not.
    let contrast = json(&reread.stdout)["workloads"][0]["metrics"][0]["contrasts"][0].clone();
    assert_eq!((contrast["units"].as_u64(), contrast["is_aa"].as_bool()), (Some(6), Some(true)));
    let again = schedlab(&[&arguments[..], &["--out", &out]].concat()).failure();
    assert_eq!(again.stderr.lines().filter(|l| l.starts_with("schedlab: ")).count(), 1, "{}", again.stderr);
}

#[test]
fn progress_calls_an_arm_by_its_name() {
    let lab = Lab::new("names");
    let out = lab.path("run");
    let ab = ["ab", "-w", "pipe:pin=same", "--b", "sysctl:kernel.nosuch=1", "--trials", "6", "--trial", "20ms"];
    let ran = schedlab(&[&ab[..], &["--out", &out]].concat());
    assert!(ran.stderr.contains("arm `B` could not be applied and is left out: "), "{}", ran.stderr);
    let log = std::fs::read_to_string(format!("{out}/log.txt")).unwrap();
    for words in [": seed ", "arm `B` could not be applied and is left out: ", "ended: nothing left to compare"] {
        let line = log.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("no `{words}` in:\n{log}"));
        assert!(line.starts_with("20") && line.as_bytes()[19] == b'Z', "the time before it: {line}");
    }
}

#[test]
fn a_planted_slowdown_is_found_worse_and_fails_the_build() {
    let lab = Lab::new("planted");
    let out = lab.path("run");
    // With a number of operations and not a time: a trial whose CPU is taken away ends later, but has done its work.
    let arguments =
        ["ab", "-w", "pipe:pin=same,loops=100", "--a", "plant=spin:0ns", "--b", "plant=spin:1ms", "--trials", "6"];
    let ran = schedlab(&[&arguments[..], &["--out", &out, "--fail-on", "worse"]].concat());
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("worse"), "{}", ran.stdout);
}

#[test]
fn a_switchback_finds_it_too() {
    let lab = Lab::new("switchback");
    let out = lab.path("run");
    let arguments = [
        "ab",
        "-w",
        "pipe:pin=same",
        "--a",
        "plant=spin:0ns",
        "--b",
        "plant=spin:500us",
        "--trials",
        "6",
        "--trial",
        "900ms",
    ];
    let ran =
        schedlab(&[&arguments[..], &["--design", "switchback=30ms", "--out", &out, "--fail-on", "worse"]].concat());
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn every_report_format_is_written_from_files_alone() {
    let lab = Lab::new("report");
    let out = lab.path("run");
    schedlab(&["ab", "-w", "pipe:pin=same", "--b", "nice=1", "--trials", "6", "--trial", "30ms", "--out", &out])
        .success();
    let (html, md, svg) = (lab.path("r.html"), lab.path("r.md"), lab.path("svg"));
    let files = ["report", &out, "--html", &html, "--md", &md, "--svg", &svg];
    assert_eq!(schedlab(&files).success().stdout, "");
    let full = schedlab(&["report", &out, "--full"]).success().stdout;
    assert_eq!(schedlab(&[&files[..], &["--full"]].concat()).success().stdout, full, "asked for as well");
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("<svg") && !page.contains("http://") | page.contains("http://www.w3.org"), "self-contained");
    assert!(std::fs::read_to_string(&md).unwrap().lines().count() > 5);
    assert!(std::fs::read_dir(&svg).unwrap().count() > 0);
    // An input file of a run is not overwritten by its report; an existing report is.
    let manifest = format!("{out}/manifest.json");
    let before = std::fs::read(&manifest).unwrap();
    let ran = schedlab(&["report", &out, "--html", &manifest]).failure();
    assert!(ran.stderr.contains("it is read (") && std::fs::read(&manifest).unwrap() == before, "{}", ran.stderr);
    schedlab(&["report", &out, "--html", &format!("{out}/report.html")]).success();
}

#[test]
fn an_import_is_a_run_of_unknown_order() {
    let lab = Lab::new("import");
    let csv = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data/netperf-autocork.csv");
    let out = lab.path("run");
    let ran = schedlab(&["import", csv, "--lower-is-better", "--unit", "CPUs", "--out", &out, "--full"]).success();
    assert!(ran.stdout.contains("22"), "{}", ran.stdout);
    let findings = json(&schedlab(&["report", &out, "--json", "--top", "0"]).success().stdout);
    assert_eq!(findings["source"]["kind"], "imported");
}

#[test]
fn logs_of_other_tools_are_recognised_and_compared() {
    let lab = Lab::new("import-logs");
    let log = |file: &str| format!("{}/../import/tests/logs/{file}", env!("CARGO_MANIFEST_DIR"));
    for (a, b, primary) in [
        ("unixbench-old.log", "unixbench-new.log", "score"),
        ("google-benchmark.json", "google-benchmark.json", "real_time_ns"),
        ("perf-bench.txt", "perf-bench.txt", "ns_per_op"),
        ("hwbinder.json", "hwbinder.json", "fifo_mean_ns"),
        ("perf-stat-per-cpu.csv", "perf-stat-per-cpu.csv", "task-clock"),
    ] {
        let out = lab.path(a);
        let findings =
            json(&schedlab(&["import", &log(a), &log(b), "--out", &out, "--json", "--top", "0"]).success().stdout);
        assert_eq!(findings["workloads"][0]["metrics"][0]["name"], primary, "{a}");
        assert_eq!(
            findings["workloads"][0]["metrics"][0]["contrasts"][0]["unit_name"], "trials",
            "{a}: no pairs are guessed"
        );
    }
    let (stat, out) = (log("perf-stat.txt"), lab.path("twofold"));
    let refused = schedlab(&["import", &stat, &stat, "--out", &out]);
    assert!(refused.stderr.contains("--kind hackbench or --kind perf-stat"), "{}", refused.stderr);
    schedlab(&["import", &stat, &stat, "--kind", "perf-stat", "--metric", "context-switches", "--out", &out]).success();
}

#[test]
fn a_topdown_run_has_its_tree_or_the_reason_why_not() {
    let ran =
        schedlab(&["bench", "pipe:pin=same,duration=120ms", "--counters", "topdown", "--json", "-", "--top", "0"])
            .success();
    let outcome = json(&ran.stdout);
    let metrics = outcome["metrics"].as_array().unwrap();
    let counters = outcome["counters"].as_array().unwrap();
    let reason = counters.iter().find(|c| c["name"] == "topdown").map(|c| c["count"]["not_counted"].clone());
    let tree = metrics.iter().any(|m| m["name"] == "topdown.retiring");
    assert!(tree != reason.is_some(), "a tree or a reason: {reason:?}");
    assert!(counters.iter().any(|c| c["name"] == "dram_read_bytes"), "bytes or a reason");
    let listed = json(&schedlab(&["list", "counters", "--json", "--top", "0"]).success().stdout);
    assert!(listed["topdown"]["tables"].as_array().unwrap().iter().any(|t| t["id"] == "hisi-hip08"));
    assert!(listed["topdown"]["here"].is_string() != listed["topdown"]["why_not"].is_string());
}

#[test]
fn two_runs_of_one_boot_are_confounded() {
    let lab = Lab::new("compare");
    let (a, b) = (lab.path("a"), lab.path("b"));
    for out in [&a, &b] {
        schedlab(&["ab", "-w", "pipe:pin=same", "--b", "", "--trials", "6", "--trial", "30ms", "--out", out]).success();
    }
    let findings = json(&schedlab(&["compare", &a, &b, "--json", "--top", "0"]).success().stdout);
    assert_eq!(findings["workloads"][0]["metrics"][0]["contrasts"][0]["verdict"]["kind"], "no_verdict");
    let same = schedlab(&["compare", &a, &format!("{a}/.")]);
    assert!(same.code == 2 && same.stderr.contains("are the same run"), "{}", same.stderr);
    assert_eq!(schedlab(&["compare", &a, &b, "--more-a", &b]).code, 2, "on both sides");
    let again = lab.path("again");
    assert!(std::process::Command::new("cp").args(["-r", &b, &again]).status().unwrap().success());
    let pooled = json(&schedlab(&["compare", &a, &b, "--more-a", &again, "--json", "--top", "0"]).success().stdout);
    let total = |findings: &serde_json::Value| findings["workloads"][0]["counts"]["total"].as_u64().unwrap();
    // Not compared as half of the total: a run that repeated a block has more trials than the other.
    let of_b = json(&schedlab(&["report", &b, "--json", "--top", "0"]).success().stdout);
    assert_eq!(total(&pooled), total(&findings) + total(&of_b), "three runs, two of them on one side");
}

#[test]
fn doctor_and_list_speak_json() {
    let doctor = json(&schedlab(&["doctor", "--json", "--top", "0"]).success().stdout);
    let checks = doctor["environment"]["checks"].as_array().unwrap();
    assert!(checks.len() >= 20, "{}", checks.len());
    assert!(checks.iter().any(|c| c["id"] == "round_trip"), "the round trip on one CPU against two");
    let list = json(&schedlab(&["list", "--json", "--top", "0"]).success().stdout);
    assert!(list["workloads"].as_array().unwrap().iter().any(|w| w["id"] == "pipe2/1"));
    let keys: Vec<&str> = list["knobs"].as_array().unwrap().iter().map(|k| k["key"].as_str().unwrap()).collect();
    assert!(keys.contains(&"slice") && keys.contains(&"kernel"), "{keys:?}");
}

#[test]
fn completions_know_workloads_settings_kernels_and_places() {
    let script = schedlab(&["completions", "fish"]).success().stdout;
    let offers = |command: &str, option: &str, value: &str| {
        let is_it =
            |line: &&str| line.contains(&format!("subcommand {command}\"")) && line.contains(&format!(" -l {option} "));
        script
            .split("\ncomplete ")
            .find(is_it)
            .unwrap_or_else(|| panic!("{command} {option}: {script}"))
            .contains(value)
    };
    assert!(offers("ab", "workload", "messaging") && offers("ab", "b", "policy=batch"));
    assert!(offers("run", "out", "__fish_complete_directories"));
    let bash = schedlab(&["completions", "bash"]).success().stdout;
    assert!(bash.contains("debian:6.12") && bash.contains("plant=spin:25ns") && bash.contains("burn"), "{bash}");
}

/// The exit code and standard error if standard output has no reader, or is a full disk.
fn unread(arguments: &[&str], stdout: impl Into<std::process::Stdio>) -> (Option<i32>, String) {
    let mut command = program::command();
    let child = command.args(arguments).stdout(stdout).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error_and_a_full_disk_is_one_line() {
    for arguments in [
        &["list"][..],
        &["list", "--json", "--top", "0"],
        &["tune", "show"],
        &["tune", "show", "--json", "--top", "0"],
        &["bench", "pipe", "--dry-run"],
        &["bench", "pipe:pin=same,duration=5ms", "--json", "-", "--top", "0"],
        &["bench", "pipe:pin=same,duration=5ms"],
        &["doctor"],
        &["completions", "bash"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let (code, said) = unread(arguments, writer);
        assert_eq!((code, said.contains("panicked")), (Some(0), false), "{arguments:?}: {said}");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (code, said) = unread(arguments, full);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(said.lines().last().unwrap().starts_with("schedlab: standard output cannot be written"), "{said}");
    }
}

#[test]
fn a_setting_on_the_control_of_a_switchback_is_undone_in_the_other_arm() {
    let lab = Lab::new("switchback-a");
    let out = lab.path("run");
    let arguments =
        ["ab", "-w", "pipe:pin=same", "--a", "plant=spin:2ms;nice=5", "--b", "", "--trials", "6", "--trial", "600ms"];
    let ran =
        schedlab(&[&arguments[..], &["--design", "switchback=30ms", "--out", &out, "--json", "--top", "0"]].concat())
            .success();
    let verdict = json(&ran.stdout)["workloads"][0]["metrics"][0]["contrasts"][0]["verdict"]["kind"].clone();
    assert_eq!(verdict, "better", "B runs without A's spin");
}
