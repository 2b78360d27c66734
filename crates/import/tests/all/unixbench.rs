//! UnixBench: a report has a trimmed score per test, a log every pass of every copy, and the two are never compared.

use crate::lab::{form, log, no_options, pair, refused, source, specs, values};
use schedlab_import::{Kind, import};
use schedlab_plan::Direction::HigherIsBetter;

#[test]
fn a_log_has_a_row_for_each_pass() {
    let run = pair(Kind::UnixBench, "unixbench-old.log", "unixbench-new.log");
    assert_eq!(
        specs(&run),
        [
            "unixbench:copies=1,score=each-pass,test=Pipe-based Context Switching",
            "unixbench:copies=2,score=each-pass,test=Pipe-based Context Switching"
        ]
    );
    assert_eq!(form(&run, "score"), ("1/s".into(), HigherIsBetter));
    let scores = values(&run, "score");
    let of = |workload, arm| scores.iter().filter(|s| (s.0, s.1) == (workload, arm)).map(|s| s.2).collect::<Vec<_>>();
    let per_s = |counts: &[u64]| counts.iter().map(|&n| n as f64 / 10.005).collect::<Vec<_>>();
    assert_eq!(of(0, 0), per_s(&[1_375_735, 1_368_120, 1_371_004, 1_210_333]), "the worst pass is kept");
    assert_eq!(of(1, 0), per_s(&[650_120 + 648_990, 612_004 + 655_120, 640_001 + 640_990]));
    let tasks = &run.trials[4].outcome.as_ref().unwrap().tasks;
    assert_eq!(tasks.iter().map(|t| (t.group, t.operations)).collect::<Vec<_>>(), [(0, 650_120), (1, 648_990)]);
}

#[test]
fn a_report_has_a_score_and_an_index_per_test_and_number_of_copies() {
    let run = pair(Kind::UnixBench, "unixbench-old.txt", "unixbench-new.txt");
    assert_eq!(run.manifest.workloads.len(), 8, "three tests and the overall index, with one and two copies");
    assert_eq!(specs(&run)[0], "unixbench:copies=1,score=best-two-thirds,test=Pipe-based Context Switching");
    assert_eq!(
        specs(&run)[7],
        "unixbench:copies=2,score=best-two-thirds,test=System Benchmarks Index Score (Partial Only)"
    );
    assert_eq!(run.manifest.primary[0], ["score"]);
    assert_eq!(run.manifest.primary[7], ["index"]);
    let scores = values(&run, "score");
    assert_eq!(scores[..2], [(0, 0, 137_573.5), (1, 0, 5817.0)]);
    assert_eq!(scores[2], (2, 0, 645_027.2 * 1024.0), "KBps as bytes");
    let index = values(&run, "index");
    assert_eq!((index[0], index[3]), ((0, 0, 343.9), (3, 0, 916.0)));
    assert!((index[0].2 - scores[0].2 / 4000.0 * 10.0).abs() < 0.05);
}

#[test]
fn a_score_of_the_best_passes_is_never_compared_with_all_passes() {
    let run = pair(Kind::UnixBench, "unixbench-old.txt", "unixbench-new.log");
    for workload in 0..run.manifest.workloads.len() as u32 {
        let arms: std::collections::BTreeSet<_> =
            run.trials.iter().filter(|t| t.workload == workload).map(|t| t.arm).collect();
        assert_eq!(arms.len(), 1);
    }
    assert!(run.manifest.warnings.iter().any(|w| w.contains("has no run of")));
}

#[test]
fn the_kind_is_seen_in_both_files() {
    for file in ["unixbench-old.txt", "unixbench-old.log"] {
        assert!(import(None, &[log(file), log(file)], &no_options()).is_ok(), "{file}");
    }
}

#[test]
fn a_torn_log_names_the_pass() {
    let text = log("unixbench-old.log").text;
    // The second copy of the last pass is missing.
    let torn = &text[..text.rfind("# COUNT0").unwrap()];
    let error = refused(Kind::UnixBench, torn);
    assert!(error.contains("has the results of 1 of 2 copies") && error.starts_with("it line "), "{error}");
    assert!(refused(Kind::UnixBench, "Benchmark Run: today\n").contains("it is not a UnixBench result"));
    let failed = text.replacen("# COUNT0: 1368120", "# ERROR: command returned status 512", 1);
    let run = import(None, &[source("a", &failed), source("b", &text)], &no_options()).unwrap();
    assert_eq!(crate::lab::failure(&run, 1), "command returned status 512");
}
