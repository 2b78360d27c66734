//! `throughput/1` end to end: every transport echoes every payload, and Google Benchmark's formats hold what was measured.

use schedlab_bench::{BenchError, Quiet, RunOrder, Topology};
use schedlab_plan::{Stamping, TrialOutcome};
use serde_json::Value;
use std::io::Write;
use std::path::Path;

fn run(spec: &str, stamping: Stamping) -> Result<TrialOutcome, BenchError> {
    let topology = Topology::read(Path::new("/sys")).unwrap();
    let order = RunOrder::plain(stamping, 3, topology);
    schedlab_bench::parse(&spec.parse().unwrap()).unwrap().run(&order, &mut Quiet)
}

fn value(outcome: &TrialOutcome, name: &str) -> f64 {
    let found = outcome.metrics.iter().find(|metric| metric.name == name);
    found.unwrap_or_else(|| panic!("{name} is missing")).value
}

#[test]
fn every_transport_echoes_every_payload() {
    for transport in ["unix", "pipe", "futex", "seccomp-notify", "seccomp-notify-sync"] {
        let spec = format!("throughput:transport={transport},loops=20,pairs=2");
        let outcome = match run(&spec, Stamping::All) {
            Ok(outcome) => outcome,
            Err(error) if transport.contains("seccomp") && error.to_string().contains("(Linux ") => {
                let _ = writeln!(std::io::stderr(), "schedlab-skip: {spec}: {error}");
                continue;
            }
            Err(error) => panic!("{spec}: {error}"),
        };
        // 20 measured echoes, and the one that ends a payload.
        assert_eq!(outcome.operations, 2 * 15 * 21, "{spec}");
        assert_eq!(outcome.stamping.stamped, 2 * 15 * 20, "{spec}");
        assert_eq!(outcome.histograms.len(), 15);
        assert!(outcome.histograms.iter().all(|named| named.histogram.count() == 40), "{spec}");
        assert_eq!(outcome.metrics[0].name, "real_time_ns");
        assert!(value(&outcome, "real_time_ns_65536") > 0.0 && value(&outcome, "client_cpu_time_ns") > 0.0);
        assert_eq!(outcome.native_lines.len(), 3 + 15);
    }
}

#[test]
fn one_payload_by_time_is_its_own_mean() {
    for bytes in [1, 13, 100_000] {
        let outcome =
            run(&format!("throughput:bytes={bytes},duration=300ms,transport=futex"), Stamping::Sampled).unwrap();
        let (ns, rate) = (value(&outcome, "real_time_ns"), value(&outcome, "bytes_per_s"));
        assert!((rate * ns / (f64::from(bytes) * 1e9) - 1.0).abs() < 1e-9, "{ns} ns and {rate} B/s");
        assert!((value(&outcome, "ops_per_s") * ns / 1e9 - 1.0).abs() < 1e-9);
        assert_eq!(outcome.histograms[0].name, "latency");
        assert!(!outcome.metrics.iter().any(|metric| metric.name.starts_with("real_time_ns_")));
    }
}

#[test]
fn google_benchmarks_json_holds_what_was_measured() {
    let outcome = run("throughput:loops=10,transport=pipe,benchmark_format=json", Stamping::Off).unwrap();
    let json: Value = serde_json::from_str(&outcome.native_lines.join("\n")).unwrap();
    let runs = json["benchmarks"].as_array().unwrap();
    assert_eq!(runs.len(), 15);
    for (run, bytes) in runs.iter().zip((2..17).map(|power| 1 << power)) {
        assert_eq!(run["name"], format!("BM_sendVec_pipe/{bytes}"));
        assert_eq!((run["iterations"].as_u64(), run["threads"].as_u64()), (Some(10), Some(1)));
        assert_eq!(run["real_time"].as_f64(), Some(value(&outcome, &format!("real_time_ns_{bytes}"))));
        assert_eq!(run["bytes_per_second"].as_f64(), Some(value(&outcome, &format!("bytes_per_s_{bytes}"))));
    }
    assert_eq!(outcome.stamping.stamped, 0);
    let console = run("throughput:loops=3,bytes=64,benchmark_format=console", Stamping::Off).unwrap();
    assert!(
        console.native_lines.iter().any(|line| line.starts_with("BM_sendVec_unix/64 ")),
        "{:?}",
        console.native_lines
    );
}

#[test]
fn more_pairs_than_cpus_are_marked() {
    let outcome = run("throughput:loops=2,bytes=4,pairs=40", Stamping::Off).unwrap();
    let cpus = Topology::read(Path::new("/sys")).unwrap().allowed().len();
    assert_eq!(outcome.notes.iter().any(|note| note.starts_with("overloaded")), cpus < 40);
}
