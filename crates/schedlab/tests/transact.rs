//! `transact` and `throughput` as a user starts them: the original tools' spellings and formats.

mod program;

use program::{json, schedlab};

#[test]
fn the_command_line_of_the_reference_gives_its_json_and_nothing_else() {
    let line = "bench transact -i 20 -pair 2 -deadline_us 2500 -v -raw_data --compat hwbinder";
    let ran = schedlab(&line.split(' ').collect::<Vec<_>>()).success();
    let printed = json(&ran.stdout);
    assert_eq!(printed["cfg"]["pair"], 2);
    assert_eq!((&printed["cfg"]["iterations"], &printed["cfg"]["deadline_us"]), (&20.into(), &2500.into()));
    assert!(printed["ALL"]["other_ms"]["avg"].is_f64() && printed["P1"]["otherdis"]["p99"].is_f64());
    let said = ran.stderr.lines().filter(|line| line.contains("other-caller")).count();
    assert_eq!(said, 40, "-v does not corrupt the JSON: {}", ran.stderr);
}

#[test]
fn a_miss_with_trace_ends_the_run_and_the_json_is_whole() {
    for compat in ["hwbinder", "schd-dbg"] {
        let line = format!("bench transact -i 100000 -deadline_us 1 -trace --compat {compat}");
        let ran = schedlab(&line.split(' ').collect::<Vec<_>>()).success();
        assert!(json(&ran.stdout)["P0"]["other_ms"].is_object(), "{}", ran.stdout);
        assert!(ran.stderr.contains("stopped at the first missed deadline"), "{}", ran.stderr);
    }
}

#[test]
fn the_whole_outcome_has_both_classes_and_says_overloaded() {
    let ran = schedlab(&["bench", "transact:loops=30,pairs=100", "--json", "-", "--top", "0"]).success();
    let outcome = json(&ran.stdout);
    assert_eq!(outcome["workload"], "transact/1");
    let notes = outcome["notes"].to_string();
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!(notes.contains("overloaded"), cpus < 100, "{notes}");
    assert!(outcome["native_lines"].to_string().contains("inheritance: "));
}

#[test]
fn throughput_speaks_google_benchmarks_json() {
    let ran = schedlab(&["bench", "throughput:bytes=64,loops=50", "--benchmark_format=json"]).success();
    let printed = json(&ran.stdout);
    assert_eq!(printed["benchmarks"][0]["name"], "BM_sendVec_unix/64");
    assert!(printed["context"]["num_cpus"].as_u64().unwrap() >= 1);
}

#[test]
fn bad_input_is_one_line() {
    for (arguments, needle) in [
        (&["bench", "transact", "--deadline", "0"][..], "above 0"),
        (&["bench", "transact", "-deadline_us", "0"], "above 0"),
        (&["bench", "transact", "--pairs", "1000000"], "from 1 to 1000"),
        (&["bench", "throughput", "--bytes", "0"], "from 1 to 262144"),
        (
            &["bench", "transact", "--transport", "binder", "--binder-device", "/nowhere"],
            "schedlab vm run --kernel debian:6.1",
        ),
        (&["bench", "transact", "-i"], "--loops"),
    ] {
        let ran = schedlab(arguments).failure();
        let complaint: Vec<&str> = ran.stderr.lines().filter(|l| l.starts_with("schedlab: ")).collect();
        assert!(complaint.len() == 1 && complaint[0].contains(needle), "{arguments:?}: {}", ran.stderr);
    }
}
