//! Kinds recognised from the content; files that are not of the given kind; files of several kinds.

use crate::lab::{log, no_options, source};
use schedlab_import::{Kind, Source, import};

fn detected(file: &str) -> Result<(), String> {
    import(None, &[log(file), log(file)], &no_options()).map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn every_kind_has_a_name() {
    for kind in Kind::ALL {
        assert_eq!(Kind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(Kind::from_name("sysbench"), None);
}

#[test]
fn content_tells_the_kind() {
    for file in [
        "perf-stat-interval.txt",
        "perf-stat-interval.csv",
        "perf-stat-started.csv",
        "perf-stat-per-cpu.csv",
        "perf-stat-de-core.json",
        "perf-stat-multiplexed.txt",
        "perf-stat-multiplexed.csv",
        "perf-bench.txt",
        "unixbench-new.txt",
        "unixbench-new.log",
        "google-benchmark.json",
        "hwbinder.json",
        "schd-dbg.json",
    ] {
        assert_eq!(detected(file), Ok(()), "{file}");
    }
}

#[test]
fn two_tools_in_one_log_are_the_users_to_tell() {
    let error = detected("perf-stat.txt").unwrap_err();
    assert_eq!(
        error,
        "perf-stat.txt is a hackbench log and a perf stat log at once; choose which to read: --kind hackbench or --kind \
         perf-stat"
    );
    for kind in [Kind::Hackbench, Kind::PerfStat] {
        let run = import(Some(kind), &[log("perf-stat.txt"), log("perf-stat.txt")], &no_options()).unwrap();
        assert_eq!(run.trials.len(), 6, "{kind:?}");
    }
}

#[test]
fn a_file_of_another_kind_says_what_it_is() {
    for (asked, file, found) in [
        (Kind::Hackbench, "unixbench-old.txt", "unixbench"),
        (Kind::PerfBench, "google-benchmark.json", "google-benchmark"),
        (Kind::GoogleBenchmark, "hwbinder.json", "hwbinder"),
        (Kind::Csv, "perf-stat-interval.csv", "perf-stat"),
        (Kind::Hwbinder, "perf-bench.txt", "perf-bench"),
    ] {
        let error = import(Some(asked), &[log(file)], &no_options()).unwrap_err().to_string();
        let expected = format!("(--kind {found})");
        assert!(error.starts_with(&format!("{file} is not ")) && error.ends_with(&expected), "{error}");
    }
}

#[test]
fn files_of_two_kinds_are_refused() {
    let error = import(None, &[log("hwbinder.json"), log("perf-bench.txt")], &no_options()).unwrap_err().to_string();
    assert!(
        error.contains("hwbinder.json is an hwbinder latency JSON and perf-bench.txt is a perf bench log"),
        "{error}"
    );
    assert!(import(None, &[source("e", "")], &no_options()).unwrap_err().to_string().contains("e is empty"));
}

#[test]
fn one_log_is_one_arm_of_its_kind() {
    let error = import(None, &[log("hwbinder.json")], &no_options()).unwrap_err().to_string();
    assert_eq!(error, "an hwbinder latency JSON is one arm; give a second one to compare it with");
}

#[test]
fn an_error_names_the_file_as_it_was_given_and_the_arm_goes_by_its_stem() {
    let given = |text: &str| Source { name: "r".into(), file: "old/r.html".into(), text: text.into() };
    let refused = |source: Source| import(None, &[source.clone(), source], &no_options()).unwrap_err().to_string();
    assert!(
        refused(given("<!doctype html>")).starts_with("old/r.html line 1: "),
        "{}",
        refused(given("<!doctype html>"))
    );
    assert!(refused(given("")).starts_with("old/r.html is empty"));
    let run = import(None, &[given("a,b\n1,2\n2,3\n")], &no_options()).unwrap();
    assert_eq!(run.manifest.title, "r");
    let wrong = import(None, &[given("a,b\n1,x\n")], &no_options()).unwrap_err().to_string();
    assert!(wrong.starts_with("old/r.html line 2: "), "{wrong}");
}
