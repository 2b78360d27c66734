//! Runs of `transact` and what they report: every transport and FIFO thread, compatibility output against our own raw
//! data, the stop at the first miss. They start the binary because a client has threads: forked from this multithreaded
//! test harness, it could block forever on a lock of std that was held during the fork.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, schedlab};
use schedlab_plan::TrialOutcome;
use serde_json::Value;

const TRANSPORTS: [&str; 5] = ["unix", "pipe", "futex", "seccomp-notify", "seccomp-notify-sync"];

/// The outcome of a trial at this stamping level, or the program's message.
fn try_run(spec: &str, arguments: &[&str]) -> Result<TrialOutcome, String> {
    let common = ["--counters", "basic", "--json", "-", "--top", "0"];
    let ran = schedlab(&[&["bench", spec], arguments, &common].concat());
    if ran.code == 0 { Ok(serde_json::from_str(&ran.stdout).unwrap()) } else { Err(ran.stderr) }
}

fn run(spec: &str, level: &str) -> TrialOutcome {
    try_run(spec, &["--latency", level]).unwrap_or_else(|said| panic!("{spec}: {said}"))
}

fn value(outcome: &TrialOutcome, name: &str) -> Option<f64> {
    outcome.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
}

/// Whether this machine allows the FIFO class; without it only the other class is tested.
fn fifo() -> bool {
    let permitted = schedlab_sys::rights::try_fifo().is_ok();
    if !permitted {
        eprintln!("schedlab-skip: the FIFO class of transact: needs CAP_SYS_NICE");
    }
    permitted
}

/// Runs a spec; a transport that this kernel lacks is skipped with the reported reason.
fn run_where_there_is_one(spec: &str) -> Option<TrialOutcome> {
    match try_run(spec, &[]) {
        Ok(outcome) => Some(outcome),
        Err(said) if spec.contains("seccomp") && said.contains("(Linux ") => {
            eprintln!("schedlab-skip: {spec}: {said}");
            None
        }
        Err(said) => panic!("{spec}: {said}"),
    }
}

#[test]
fn every_transport_carries_both_classes_from_fresh_and_kept_threads() {
    let classes = 1 + u64::from(fifo());
    for transport in TRANSPORTS {
        for thread in ["fresh", "kept"] {
            let spec = format!("transact:loops=40,pairs=2,transport={transport},fifo-thread={thread}");
            let Some(outcome) = run_where_there_is_one(&spec) else { continue };
            assert_eq!(outcome.operations, 2 * 40 * classes, "{spec}");
            assert_eq!(outcome.tiers.iter().map(|tier| tier.operations).sum::<u64>(), outcome.operations, "{spec}");
            let whole = |name: &str| outcome.histograms.iter().find(|h| h.name == name && h.tier.is_none());
            assert_eq!(whole("other").unwrap().histogram.count(), 80);
            assert_eq!(whole("fifo").map_or(0, |h| h.histogram.count()), 80 * (classes - 1));
            let role = |role: &str| outcome.tasks.iter().filter(|t| t.role == role).map(|t| t.operations).sum::<u64>();
            assert_eq!((role("server"), role("client"), role("client_fifo")), (80 * classes, 80, 80 * (classes - 1)));
            assert_eq!(outcome.stamping.stamped, outcome.operations);
            // A thread of a single transaction has no schedstat of its own; a reused one has.
            let known = |t: &&schedlab_plan::TaskRecord| t.run_delay_ns.is_some();
            let unknown = if thread == "fresh" { 2 * (classes - 1) as usize } else { 0 };
            assert_eq!(outcome.tasks.len() - outcome.tasks.iter().filter(known).count(), unknown, "{spec}");
            assert_eq!(outcome.metrics[0].name, "other_p50_ns");
            assert!(value(&outcome, "transactions_per_s").unwrap() > 0.0);
            assert!((0.0..=1.0).contains(&value(&outcome, "sync_share").unwrap()));
            let said = outcome.native_lines.join("\n");
            assert!(
                said.contains(&format!("inheritance: policy, priority and nice N/A ({transport} carries")),
                "{said}"
            );
        }
    }
}

#[test]
fn on_one_cpu_every_transaction_is_in_step_and_without_stamps_nothing_is_timed() {
    let outcome = run("transact:loops=30,pin=same,transport=pipe", "sampled");
    assert_eq!(value(&outcome, "sync_share"), Some(1.0));
    assert_eq!((outcome.tiers.len(), outcome.tiers[0].tier.name()), (1, "same_cpu"));
    let outcome = run("transact:loops=30,pin=same", "off");
    assert!(outcome.operations >= 30 && outcome.histograms.is_empty() && outcome.stamping.stamped == 0);
    assert_eq!((value(&outcome, "other_mean_ns"), value(&outcome, "other_miss_share")), (None, None));
    assert!(value(&outcome, "transactions_per_s").unwrap() > 0.0);
}

/// The numbers in `[1, 2, 3]` of a raw-data line.
fn numbers(array: &Value) -> Vec<u64> {
    array.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
}

#[test]
fn hwbinders_output_agrees_with_our_own_raw_data() {
    if !fifo() {
        return;
    }
    let outcome = run("transact:loops=60,pairs=2,raw-data=yes,compat=hwbinder,deadline=20us", "sampled");
    let json: Value = serde_json::from_str(&outcome.native_lines.join("\n")).unwrap();
    let mut together = Vec::new();
    for pair in 0..2 {
        let ns = numbers(&json[format!("fifo_{pair}_data")]);
        assert_eq!(ns.len(), 60);
        check_class(&json[format!("P{pair}")], &ns);
        together.extend(ns);
    }
    check_class(&json["ALL"], &together);
    assert_eq!(json["ALL"]["I"], 240);
    let whole = outcome.histograms.iter().find(|h| h.name == "fifo" && h.tier.is_none()).unwrap();
    assert_eq!(whole.histogram.sum_ns, together.iter().sum::<u64>());
}

/// Recomputes average, extremes, misses and quantiles of the FIFO class from its samples.
fn check_class(object: &Value, ns: &[u64]) {
    let number =
        |group: &str, key: &str| object[group][key].as_f64().unwrap_or_else(|| panic!("{group}.{key}: {object}"));
    let near = |a: f64, b: f64, by: f64| assert!((a - b).abs() <= by * b.abs() + 1e-12, "{a} {b}: {object}");
    near(number("fifo_ms", "avg"), ns.iter().sum::<u64>() as f64 / ns.len() as f64 / 1e6, 5e-5);
    near(number("fifo_ms", "wst"), *ns.iter().max().unwrap() as f64 / 1e6, 5e-5);
    near(number("fifo_ms", "bst"), *ns.iter().min().unwrap() as f64 / 1e6, 5e-5);
    let misses = ns.iter().filter(|&&ns| ns > 20_000).count();
    assert_eq!(object["fifo_ms"]["miss"].as_u64(), Some(misses as u64));
    near(number("fifo_ms", "meetR"), 1.0 - misses as f64 / ns.len() as f64, 5e-5);
    let mut sorted = ns.to_vec();
    sorted.sort_unstable();
    for (key, q) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
        // Within the histogram cell (0.4 %) of one of the samples next to the rank.
        let rank = q * sorted.len() as f64;
        let around = [(rank.ceil() as usize).max(1) - 1, (rank.floor() as usize).min(sorted.len() - 1)];
        let value = number("fifodis", key) * 1e6;
        assert!(around.iter().any(|&i| (value / sorted[i] as f64 - 1.0).abs() < 0.005), "{key}: {value} {sorted:?}");
    }
}

#[test]
fn the_first_miss_stops_the_trace_and_the_run_and_the_output_stays_whole() {
    let lab = Lab::new("transact-miss");
    let (instance, switch) = (lab.path(""), lab.path("tracing_on"));
    std::fs::write(&switch, "1\n").unwrap();
    let options = format!("loops=100000,pairs=2,deadline=1ns,stop-on-miss=yes,trace-instance={instance}");
    let outcome = run(&format!("transact:{options},compat=hwbinder"), "sampled");
    assert!(outcome.operations < 1_000, "{}", outcome.operations);
    let json: Value = serde_json::from_str(&outcome.native_lines.join("\n")).unwrap();
    assert!(json["ALL"]["other_ms"].is_object() && json["cfg"]["iterations"] == 100_000);
    assert_eq!(std::fs::read_to_string(&switch).unwrap(), "0\n");
    let notes = outcome.notes.join("\n");
    assert!(
        notes.contains("stopped at the first missed deadline: pair") && notes.contains("trace was stopped"),
        "{notes}"
    );
    let again = try_run(&format!("transact:{options}"), &[]).unwrap_err();
    assert!(again.contains("not recording"), "{again}");
}

#[test]
fn a_miss_that_does_not_stop_is_counted_in_both_classes() {
    let outcome = run("transact:loops=20,deadline=1ns", "all");
    assert_eq!(value(&outcome, "other_miss_share"), Some(1.0));
    if fifo() {
        assert_eq!(value(&outcome, "fifo_miss_share"), Some(1.0));
    }
    let met = run("transact:loops=20,deadline=1000s", "all");
    assert_eq!(value(&met, "other_miss_share"), Some(0.0));
}

#[test]
fn more_pairs_than_cpus_are_marked() {
    let cpus = std::thread::available_parallelism().unwrap().get();
    let outcome = run(&format!("transact:loops=3,pairs={}", cpus + 1), "off");
    assert!(outcome.notes.iter().any(|note| note.starts_with("overloaded: ")), "{:?}", outcome.notes);
    let outcome = run("transact:loops=3,pairs=1", "off");
    assert!(!outcome.notes.iter().any(|note| note.contains("overloaded")));
}

#[test]
fn a_planted_spin_is_inside_the_timed_region() {
    let planted = ["--latency", "all", "--set", "plant=spin:300us"];
    let outcome = try_run("transact:loops=10,pin=same", &planted).unwrap();
    let other = &outcome.histograms.iter().find(|h| h.name == "other").unwrap().histogram;
    // Half of the planted time: clock speeds differ between calibration and run; without the plant it is tens of
    // microseconds.
    assert!(other.min_ns > 150_000, "{}", other.min_ns);
}

#[test]
fn without_a_binder_driver_the_error_names_a_guest_that_has_it() {
    let spec = "transact:loops=5,transport=binder";
    match try_run(spec, &[]) {
        // With a binder driver the trial really runs.
        Ok(outcome) => assert_eq!(outcome.operations, 5 * (1 + u64::from(fifo()))),
        Err(said) => assert!(said.contains("schedlab vm run") && said.trim().lines().count() == 1, "{said}"),
    }
}
