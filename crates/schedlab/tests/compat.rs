//! Output in an original tool's format: its keys in its order, numbers that match our own samples and metrics, and
//! texts that our importers, made for the original tools, accept.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, json, schedlab};
use schedlab_plan::{TrialOutcome, TrialRecord};
use schedlab_run::RunReader;
use std::path::Path;

/// The keys of a JSON text, in order.
fn keys(text: &str) -> Vec<&str> {
    let quoted: Vec<&str> = text.split('"').collect();
    // Every other piece is in quotes; a key's closing quote is followed by a colon.
    let pairs = quoted.chunks_exact(2).zip(quoted.iter().skip(2).step_by(2));
    pairs.filter(|(_, after)| after.trim_start().starts_with(':')).map(|(pair, _)| pair[1]).collect()
}

const TIMES: [&str; 5] = ["avg", "wst", "bst", "miss", "meetR"];
const PERCENTILES: [&str; 4] = ["p50", "p90", "p95", "p99"];

/// The keys of an object of hwbinder or schd-dbg, its name first.
fn object(name: &'static str, has_percentiles: bool) -> Vec<&'static str> {
    let mut keys = vec![name, "SYNC", "S", "I", "R", "other_ms"];
    keys.extend(TIMES);
    keys.push("fifo_ms");
    keys.extend(TIMES);
    if has_percentiles {
        for class in ["otherdis", "fifodis"] {
            keys.push(class);
            keys.extend(PERCENTILES);
        }
    }
    keys
}

fn transact(arguments: &str) -> program::Ran {
    let line = format!("bench transact -i 40 -pair 2 -deadline_us 30 {arguments}");
    schedlab(&line.split_whitespace().collect::<Vec<_>>()).success()
}

#[test]
fn hwbinders_keys_stand_in_its_order() {
    let ran = transact("-raw_data --compat hwbinder");
    let mut expected = vec!["cfg", "pair", "iterations", "deadline_us", "passthrough", "fifo_0_data", "fifo_1_data"];
    expected.extend(["ALL", "P0", "P1"].into_iter().flat_map(|name| object(name, true)));
    expected.push("inheritance");
    assert_eq!(keys(&ran.stdout), expected, "{}", ran.stdout);
    let without = transact("--compat hwbinder").stdout;
    assert_eq!(keys(&without), expected.into_iter().filter(|key| !key.ends_with("_data")).collect::<Vec<_>>());
}

#[test]
fn schd_dbgs_keys_stand_in_its_order() {
    let ran = transact("--compat schd-dbg");
    let mut expected = vec!["cfg", "pair", "iterations", "deadline_us"];
    expected.extend(["P0", "P1"].into_iter().flat_map(|name| object(name, false)));
    expected.push("inheritance");
    assert_eq!(keys(&ran.stdout), expected, "{}", ran.stdout);
}

/// The values of `P0 3 other-caller tid: … : 0.012345 ms` lines, in nanoseconds, with five digits.
fn told_ns(said: &str, class: &str) -> Vec<f64> {
    let lines = said.lines().filter(|line| line.contains(&format!("{class}-caller")));
    lines.map(|line| line.trim_end_matches(" ms").rsplit(' ').next().unwrap().parse::<f64>().unwrap() * 1e6).collect()
}

/// The raw data contain only the FIFO class, like the reference's; `-v` prints the other one.
#[test]
fn numbers_of_both_classes_are_those_of_every_transaction_told() {
    for compat in ["hwbinder", "schd-dbg"] {
        let ran = transact(&format!("-v --compat {compat}"));
        let printed = json(&ran.stdout);
        let objects = ["P0", "P1"].map(|name| &printed[name]);
        for class in ["other", "fifo"] {
            let ns = told_ns(&ran.stderr, class);
            if class == "fifo" && ns.is_empty() {
                eprintln!("schedlab-skip: the FIFO class of transact: needs CAP_SYS_NICE");
                continue;
            }
            assert_eq!(ns.len(), 80, "{}", ran.stderr);
            let group = format!("{class}_ms");
            let number = |key: &str| objects.map(|object| object[&group][key].as_f64().unwrap());
            let near = |a: f64, b: f64| assert!((a - b).abs() <= 2e-4 * b, "{compat} {group}: {a} {b}: {}", ran.stdout);
            near(number("avg").iter().sum::<f64>() / 2.0, ns.iter().sum::<f64>() / 80.0 / 1e6);
            near(number("wst").into_iter().fold(0.0, f64::max), ns.iter().copied().fold(0.0, f64::max) / 1e6);
            near(number("bst").into_iter().fold(1e9, f64::min), ns.iter().copied().fold(1e18, f64::min) / 1e6);
            let missed = ns.iter().filter(|&&ns| ns > 30_000.0).count() as f64;
            assert_eq!(number("miss").iter().sum::<f64>(), missed, "the deadline of 30 µs holds for both classes");
            near(number("meetR").iter().sum::<f64>() / 2.0, 1.0 - missed / 80.0);
        }
    }
}

/// The keys of Google Benchmark 1.8 for a run of one iteration count, and those that its compare.py looks up.
#[test]
fn google_benchmarks_keys_stand_in_its_order() {
    let ran = schedlab(&["bench", "throughput:loops=20,transport=pipe", "--benchmark_format=json"]).success();
    let context = ["context", "date", "host_name", "executable", "num_cpus", "mhz_per_cpu", "cpu_scaling_enabled"];
    let mut expected: Vec<&str> = context.into_iter().chain(["caches", "load_avg", "library_build_type"]).collect();
    expected.push("benchmarks");
    let of_a_run = [
        "name",
        "family_index",
        "per_family_instance_index",
        "run_name",
        "run_type",
        "repetitions",
        "repetition_index",
        "threads",
        "iterations",
        "real_time",
        "cpu_time",
        "time_unit",
        "bytes_per_second",
    ];
    (0..15).for_each(|_| expected.extend(of_a_run));
    assert_eq!(keys(&ran.stdout), expected, "{}", ran.stdout);
    for run in json(&ran.stdout)["benchmarks"].as_array().unwrap() {
        // It matches runs of two files by name and unit, and sorts and divides the other values.
        assert!(run["name"] == run["run_name"] && run["time_unit"] == "ns" && run["run_type"] == "iteration", "{run}");
        assert!(run["real_time"].as_f64().unwrap() > 0.0 && run["cpu_time"].as_f64().unwrap() > 0.0, "{run}");
        let bytes: f64 = run["name"].as_str().unwrap().rsplit('/').next().unwrap().parse().unwrap();
        let rate = run["bytes_per_second"].as_f64().unwrap() * run["real_time"].as_f64().unwrap() / 1e9;
        assert!((rate / bytes - 1.0).abs() < 1e-9, "bytes over real time: {run}");
    }
}

/// Imports two copies of a text as two arms; returns the trials.
fn imported(name: &str, text: &str) -> Vec<TrialRecord> {
    let lab = Lab::new(&format!("compat-{name}"));
    let (a, b, out) = (lab.path("a"), lab.path("b"), lab.path("run"));
    std::fs::write(&a, text).unwrap();
    std::fs::write(&b, text).unwrap();
    schedlab(&["import", &a, &b, "--out", &out, "--json", "--top", "0"]).success();
    RunReader::open(Path::new(&out)).unwrap().trials
}

fn value(outcome: &TrialOutcome, name: &str) -> f64 {
    let found = outcome.metrics.iter().find(|metric| metric.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", outcome.metrics)).value
}

#[test]
fn our_importers_take_our_text_for_the_references() {
    let text = transact("-raw_data --compat hwbinder").stdout;
    let printed = json(&text);
    let trials = imported("hwbinder", &text);
    let outcome = trials[0].outcome.as_ref().unwrap();
    let other_ms = printed["ALL"]["other_ms"]["avg"].as_f64().unwrap();
    assert!((value(outcome, "other_mean_ns") / (other_ms * 1e6) - 1.0).abs() < 1e-9);
    assert_eq!(
        value(outcome, "sync_share"),
        printed["ALL"]["S"].as_f64().unwrap() / printed["ALL"]["I"].as_f64().unwrap()
    );

    let text = transact("--compat schd-dbg").stdout;
    let worst = ["P0", "P1"].map(|name| json(&text)[name]["other_ms"]["wst"].as_f64().unwrap());
    let trials = imported("schd-dbg", &text);
    let found = value(trials[0].outcome.as_ref().unwrap(), "other_worst_ns");
    assert!((found / (worst[0].max(worst[1]) * 1e6) - 1.0).abs() < 1e-9, "{found} {worst:?}");

    let text = schedlab(&["bench", "throughput:loops=20,bytes=64", "--benchmark_format=json"]).success().stdout;
    let trials = imported("google-benchmark", &text);
    let real_ns = json(&text)["benchmarks"][0]["real_time"].as_f64().unwrap();
    assert_eq!(value(trials[0].outcome.as_ref().unwrap(), "real_time_ns"), real_ns);

    let spec = "messaging:groups=2,loops=30,transport=pipe";
    let ours = json(&schedlab(&["bench", spec, "--json", "-", "--top", "0"]).success().stdout);
    let ours: TrialOutcome = serde_json::from_value(ours).unwrap();
    let trials = imported("hackbench", &ours.native_lines.join("\n"));
    let (printed, measured) = (value(trials[0].outcome.as_ref().unwrap(), "time_s"), value(&ours, "time_s"));
    // hackbench truncates to milliseconds.
    assert!((0.0..0.001).contains(&(measured - printed)), "{measured} s, printed as {printed} s");
}
