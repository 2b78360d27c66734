//! The real binary, driven end to end as a user would.

mod program;

use program::{Lab, json, schedlab};

#[test]
fn a_bench_prints_a_summary_and_its_json_is_complete() {
    let text = schedlab(&["bench", "messaging:groups=1,loops=20,transport=pipe"]).success();
    assert!(text.stdout.contains("Time: "), "hackbench's own line: {}", text.stdout);
    let outcome = json(&schedlab(&["bench", "pipe:pin=same,duration=50ms", "--json", "-"]).success().stdout);
    assert_eq!(outcome["workload"], "pipe/1");
    assert!(outcome["operations"].as_u64().unwrap() > 100);
    assert!(outcome["metrics"].as_array().unwrap().iter().any(|m| m["name"] == "round_trips_per_s"));
}

#[test]
fn long_options_say_the_same_as_the_spec() {
    let by_spec = json(&schedlab(&["bench", "messaging:groups=2,loops=5", "--dry-run"]).success().stdout);
    let by_option =
        json(&schedlab(&["bench", "messaging", "--groups", "2", "--loops", "5", "--dry-run"]).success().stdout);
    assert_eq!(by_spec, by_option);
    let twice = schedlab(&["bench", "messaging:groups=2", "--groups", "3", "--dry-run"]).failure();
    assert!(twice.stderr.contains("say it once"), "{}", twice.stderr);
}

#[test]
fn a_list_of_copies_is_a_sweep_with_a_scaling_table() {
    let lab = Lab::new("sweep");
    let answer = json(&schedlab(&["bench", "pipe:duration=30ms", "--copies", "1,2,2", "--json", "-"]).success().stdout);
    let rows = answer["scaling"]["rows"].as_array().unwrap();
    assert_eq!((rows.len(), rows[1]["copies"].as_array().unwrap().len()), (2, 2), "one value is run once");
    let out = lab.path("run");
    let arguments = ["ab", "-w", "pipe:pin=same", "--sweep", "bytes=8,64", "--b", "", "--trials", "6"];
    let ran = schedlab(&[&arguments[..], &["--trial", "20ms", "--out", &out]].concat()).success();
    assert!(ran.stdout.contains("Scaling: round_trips_per_s over bytes"), "{}", ran.stdout);
    let refused = schedlab(&["bench", "pipe:copies=2", "--sweep", "copies=1,4"]).failure();
    assert!(refused.stderr.contains("say it once"), "{}", refused.stderr);
}

#[test]
fn an_ab_leaves_a_sealed_run_that_another_run_does_not_overwrite() {
    let lab = Lab::new("aa");
    let out = lab.path("run");
    let arguments = ["ab", "-w", "pipe:pin=same", "--a", "", "--b", "", "--trials", "6", "--trial", "60ms"];
    let ran = schedlab(&[&arguments[..], &["--out", &out]].concat()).success();
    assert!(ran.stdout.contains("6 blocks"), "{}", ran.stdout);
    let reread = schedlab(&["report", &out, "--json"]).success();
    assert!(!reread.stderr.contains("not sealed"), "{}", reread.stderr);
    // What the verdict is depends on the machine; that it rests on six blocks of equal arms does not.
    let contrast = json(&reread.stdout)["workloads"][0]["metrics"][0]["contrasts"][0].clone();
    assert_eq!((contrast["units"].as_u64(), contrast["is_aa"].as_bool()), (Some(6), Some(true)));
    let again = schedlab(&[&arguments[..], &["--out", &out]].concat()).failure();
    assert_eq!(again.stderr.lines().filter(|l| l.starts_with("schedlab: ")).count(), 1, "{}", again.stderr);
}

#[test]
fn a_planted_slowdown_is_found_worse_and_fails_the_build() {
    let lab = Lab::new("planted");
    let out = lab.path("run");
    let arguments = [
        "ab",
        "-w",
        "pipe:pin=same",
        "--a",
        "plant=spin:0ns",
        "--b",
        "plant=spin:3us",
        "--trials",
        "6",
        "--trial",
        "60ms",
    ];
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
        "plant=spin:3us",
        "--trials",
        "6",
        "--trial",
        "200ms",
    ];
    let ran =
        schedlab(&[&arguments[..], &["--design", "switchback=10ms", "--out", &out, "--fail-on", "worse"]].concat());
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn every_report_format_is_written_from_files_alone() {
    let lab = Lab::new("report");
    let out = lab.path("run");
    schedlab(&["ab", "-w", "pipe:pin=same", "--b", "nice=1", "--trials", "6", "--trial", "30ms", "--out", &out])
        .success();
    let (html, md, svg) = (lab.path("r.html"), lab.path("r.md"), lab.path("svg"));
    schedlab(&["report", &out, "--html", &html, "--md", &md, "--svg", &svg]).success();
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("<svg") && !page.contains("http://") | page.contains("http://www.w3.org"), "self-contained");
    assert!(std::fs::read_to_string(&md).unwrap().lines().count() > 5);
    assert!(std::fs::read_dir(&svg).unwrap().count() > 0);
}

#[test]
fn an_import_is_a_run_of_unknown_order() {
    let lab = Lab::new("import");
    let csv = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data/netperf-autocork.csv");
    let out = lab.path("run");
    let ran = schedlab(&["import", csv, "--lower-is-better", "--unit", "CPUs", "--out", &out]).success();
    assert!(ran.stdout.contains("22"), "{}", ran.stdout);
    let findings = json(&schedlab(&["report", &out, "--json"]).success().stdout);
    assert_eq!(findings["source"]["kind"], "imported");
}

#[test]
fn two_runs_of_one_boot_are_confounded() {
    let lab = Lab::new("compare");
    let (a, b) = (lab.path("a"), lab.path("b"));
    for out in [&a, &b] {
        schedlab(&["ab", "-w", "pipe:pin=same", "--b", "", "--trials", "6", "--trial", "30ms", "--out", out]).success();
    }
    let findings = json(&schedlab(&["compare", &a, &b, "--json"]).success().stdout);
    assert_eq!(findings["workloads"][0]["metrics"][0]["contrasts"][0]["verdict"]["kind"], "no_verdict");
}

#[test]
fn doctor_and_list_speak_json() {
    let doctor = json(&schedlab(&["doctor", "--json"]).success().stdout);
    let checks = doctor["environment"]["checks"].as_array().unwrap();
    assert!(checks.len() >= 20, "{}", checks.len());
    assert!(checks.iter().any(|c| c["id"] == "round_trip"), "the round trip on one CPU against two");
    let list = json(&schedlab(&["list", "--json"]).success().stdout);
    assert!(list["workloads"].as_array().unwrap().iter().any(|w| w["id"] == "pipe2/1"));
    assert!(schedlab(&["completions", "bash"]).success().stdout.contains("schedlab"));
}

#[test]
fn a_setting_on_the_control_of_a_switchback_is_undone_in_the_other_arm() {
    let lab = Lab::new("switchback-a");
    let out = lab.path("run");
    let arguments =
        ["ab", "-w", "pipe:pin=same", "--a", "plant=spin:3us;nice=5", "--b", "", "--trials", "6", "--trial", "200ms"];
    let ran = schedlab(&[&arguments[..], &["--design", "switchback=10ms", "--out", &out, "--json"]].concat()).success();
    let verdict = json(&ran.stdout)["workloads"][0]["metrics"][0]["contrasts"][0]["verdict"]["kind"].clone();
    assert_eq!(verdict, "better", "B runs without A's spin");
}
