//! Google Benchmark and Android's binder latency tests, which print JSON.

use crate::lab::{counter, failure, form, log, no_options, pair, refused, source, specs, values};
use schedlab_import::{Kind, import};
use schedlab_plan::Count;
use schedlab_plan::Direction::{HigherIsBetter, LowerIsBetter, Neutral};

#[test]
fn repetitions_are_rows_and_aggregates_are_not() {
    let run = pair(Kind::GoogleBenchmark, "google-benchmark.json", "google-benchmark.json");
    let names = ["BM_pipe/4096", "BM_ms", "BM_err"].map(|n| format!("google-benchmark:benchmark={n}"));
    assert_eq!(specs(&run), names);
    assert_eq!(run.trials.len(), 2 * 3 * 3);
    let times = values(&run, "real_time_ns");
    assert_eq!(times[..2], [(0, 0, 1133.3336213297723), (0, 0, 1355.4751454397544)]);
    assert_eq!(times[3], (1, 0, 1_099_192.940_000_648_4), "milliseconds became nanoseconds");
    assert_eq!(form(&run, "real_time_ns"), ("ns".into(), LowerIsBetter));
    assert_eq!(form(&run, "bytes_per_second"), ("B/s".into(), HigherIsBetter));
    assert_eq!(form(&run, "tokens").1, Neutral);
    assert_eq!(run.trials[0].outcome.as_ref().unwrap().operations, 34_722);
    assert_eq!(failure(&run, 6), "no binder device");
    let warned = |what: &str| run.manifest.warnings.iter().any(|w| w.contains(what));
    assert!(warned("built for debugging") && warned("repetitions are of one process"), "{:?}", run.manifest.warnings);
}

#[test]
fn files_of_old_versions_are_understood() {
    let run = pair(Kind::GoogleBenchmark, "google-benchmark-1.4.json", "google-benchmark-1.4.json");
    assert_eq!(values(&run, "cpu_time_ns"), [(0, 0, 800.0), (0, 0, 850.0), (0, 1, 800.0), (0, 1, 850.0)]);
    assert!(run.manifest.warnings[0].contains("frequency scaling"));
}

#[test]
fn several_documents_in_a_file_are_several_runs() {
    let text = log("google-benchmark-1.4.json").text;
    let both = source("both", &format!("{text}{text}"));
    let run = import(None, &[both, log("google-benchmark-1.4.json")], &no_options()).unwrap();
    assert_eq!(values(&run, "real_time_ns").iter().filter(|v| v.1 == 0).count(), 4);
}

#[test]
fn json_that_is_not_theirs_says_what_is_missing() {
    let whole = log("google-benchmark.json").text;
    let document = |runs: &str| format!("{{\"context\": {{}}, \"benchmarks\": [{runs}]}}");
    let aggregate = r#"{"name": "x_mean", "run_type": "aggregate", "real_time": 1, "cpu_time": 1, "time_unit": "ns"}"#;
    for (text, expected) in [
        (whole[..whole.len() / 2].to_owned(), "truncated: the program was ended"),
        (document(""), "is empty; did a filter match nothing?"),
        (document(aggregate), "repeat without --benchmark_report_aggregates_only"),
        (document(r#"{"name": "x", "real_time": 1, "cpu_time": 1}"#), "benchmark 1: `x` has no time_unit"),
        (document(r#"{"name": "x", "real_time": 1, "cpu_time": 1, "time_unit": "h"}"#), "time_unit `h`"),
        (document(r#"{"name": "x", "real_time": "1", "time_unit": "ns"}"#), "`x` has no real_time"),
        (document("5"), "benchmark 1: is not an object"),
        (document("{}"), "benchmark 1: has no name"),
        ("{\"context\": {}, \"benchmarks\": [}".into(), "line 1: not JSON: expected value"),
        ("{}".into(), "no list `benchmarks`"),
    ] {
        let error = refused(Kind::GoogleBenchmark, &text);
        assert!(error.contains(expected) && !error.contains('\n'), "{text:?}: {error}");
    }
}

#[test]
fn hwbinder_has_both_classes_and_every_raw_sample() {
    let run = pair(Kind::Hwbinder, "hwbinder.json", "hwbinder.json");
    assert_eq!(specs(&run), ["hwbinder-latency:deadline_us=2500,iterations=4,pair=2,passthrough=1"]);
    assert_eq!(run.manifest.primary, [["fifo_mean_ns"]]);
    for (metric, value) in [
        ("fifo_mean_ns", 18_000.0),
        ("fifo_worst_ns", 37_000.0),
        ("other_best_ns", 2200.0),
        ("fifo_miss_share", 1.0 / 8.0),
        ("other_miss_share", 0.0),
        ("fifo_p99_bucket_ns", 195_310.0),
        ("sync_share", 14.0 / 16.0),
    ] {
        let got = values(&run, metric)[0].2;
        assert!((got - value).abs() < 1e-6, "{metric}: {got}");
    }
    assert_eq!((form(&run, "fifo_mean_ns").1, form(&run, "sync_share").1), (LowerIsBetter, Neutral));
    assert_eq!(counter(&run, 0, "fifo_miss", "P1"), Count::Exact(1));
    let outcome = run.trials[0].outcome.as_ref().unwrap();
    let fifo = &outcome.histograms[0].histogram;
    assert_eq!((fifo.count(), fifo.min_ns, fifo.max_ns, fifo.sum_ns), (8, 14_002, 37_000, 143_002));
    assert_eq!(outcome.notes, ["inheritance: PASS"]);
    let warned = |what: &str| run.manifest.warnings.iter().any(|w| w.contains(what));
    assert!(warned("two significant digits") && warned("0.39 ms"), "{:?}", run.manifest.warnings);
}

#[test]
fn pairs_alone_are_summed_and_of_neither_tool_by_name() {
    let run = pair(Kind::Hwbinder, "schd-dbg.json", "hwbinder.json");
    assert_eq!(specs(&run)[0], "binder-latency:deadline_us=2500,iterations=4,pair=2");
    let warning = "schd-dbg.json: schd-dbg and the first libhwbinder_latency print this in the same way";
    assert!(run.manifest.warnings.iter().any(|w| w.starts_with(warning)), "{:?}", run.manifest.warnings);
    assert_eq!(run.manifest.workloads.len(), 2);
    let first = |metric: &str| values(&run, metric)[0].2;
    assert!((first("fifo_mean_ns") - 60_000.0).abs() < 1e-6);
    assert!((first("fifo_worst_ns") - 2_700_000.0).abs() < 1e-6);
    assert!((first("other_best_ns") - 10_000.0).abs() < 1e-6);
    assert_eq!((first("fifo_miss_share"), first("sync_share")), (1.0 / 8.0, 10.0 / 16.0));
}

#[test]
fn passthrough_is_libhwbinders_with_or_without_all() {
    let text = log("schd-dbg.json").text.replace("\"deadline_us\":2500", "\"deadline_us\":2500,\"passthrough\":0");
    let run = import(None, &[source("a", &text), source("b", &text)], &no_options()).unwrap();
    assert_eq!(specs(&run), ["hwbinder-latency:deadline_us=2500,iterations=4,pair=2,passthrough=0"]);
    assert!(!run.manifest.warnings.iter().any(|w| w.contains("print this alike")), "{:?}", run.manifest.warnings);
}

#[test]
fn a_class_that_could_not_be_scheduled_is_left_out() {
    let none = r#"{"avg":null,"wst":null,"bst":null,"miss":null,"meetR":null}"#;
    let other = r#"{"avg":0.02,"wst":0.04,"bst":0.01,"miss":2,"meetR":0.5}"#;
    let cfg = r#""cfg":{"pair":1,"iterations":4,"deadline_us":2500}"#;
    let document = |fifo: &str, other: &str| {
        let part = format!(r#"{{"S":4,"I":4,"fifo_ms":{fifo},"other_ms":{other}}}"#);
        format!(r#"{{{cfg},"P0":{part},"ALL":{part},"inheritance":"N/A"}}"#)
    };
    let text = document(none, other);
    let run = import(None, &[source("a", &text), source("b", &text)], &no_options()).unwrap();
    assert_eq!(run.manifest.primary, [["other_mean_ns"]]);
    assert!((values(&run, "other_miss_share")[0].2 - 0.5).abs() < 1e-9, "2 of 4, all of them of this class");
    assert!(run.trials[0].outcome.as_ref().unwrap().notes[0].contains("the fifo class"));
    assert!(refused(Kind::Hwbinder, &document(none, none)).contains("neither class has a latency"));
}

#[test]
fn a_hwbinder_run_that_stopped_at_a_miss_is_named() {
    let cut = "{\n\"cfg\":{\"pair\":1,\"iterations\":100,\"deadline_us\":2500},\n";
    let error = import(None, &[source("it", cut), source("b", cut)], &no_options()).unwrap_err().to_string();
    assert!(error.contains("it line 1") && error.contains("-trace"), "{error}");
    let empty = "{\"cfg\":{\"deadline_us\":1}}";
    assert!(refused(Kind::Hwbinder, empty).contains("neither `ALL` nor pairs"));
    let odd = "{\"cfg\":{\"deadline_us\":1},\"P0\":{\"I\":2,\"fifo_ms\":{\"avg\":1},\"other_ms\":{}}}";
    assert!(refused(Kind::Hwbinder, odd).contains("`fifo_ms` has no number `wst`"));
}
