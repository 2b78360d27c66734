//! perf stat and perf bench: real logs of perf 6.1 and hand-made ones (logs/README.md), each with its expected values.

use crate::lab::{counter, failure, form, log, no_options, pair, refused, source, specs, values};
use schedlab_import::{Kind, import};
use schedlab_plan::Count;
use schedlab_plan::Direction::{HigherIsBetter, LowerIsBetter, Neutral};

fn stat(file: &str) -> schedlab_import::Imported {
    pair(Kind::PerfStat, file, file)
}

/// The values of the first arm.
fn first(run: &schedlab_import::Imported, metric: &str) -> Vec<f64> {
    values(run, metric).iter().filter(|v| v.1 == 0).map(|v| v.2).collect()
}

#[test]
fn each_execution_for_people_is_a_row() {
    let run = stat("perf-stat.txt");
    assert_eq!(specs(&run), ["perf-stat:target=hackbench -g 1 -l 50"]);
    assert_eq!(run.manifest.primary, [["elapsed_s"]]);
    assert_eq!((first(&run, "elapsed_s").len(), first(&run, "task-clock").len()), (3, 3));
    assert_eq!(form(&run, "elapsed_s"), ("s".into(), LowerIsBetter));
    assert_eq!(form(&run, "task-clock"), ("ms".into(), LowerIsBetter));
    assert_eq!(form(&run, "context-switches"), ("1".into(), Neutral));
    assert!(matches!(counter(&run, 0, "cycles", "workload"), Count::NotCounted(why) if why.contains("not supported")));
    assert!(first(&run, "cycles").is_empty());
}

#[test]
fn numbers_are_read_in_the_locale_they_were_written_in() {
    let text = log("perf-stat-de.txt").text;
    assert!(text.contains("msec task-clock") && text.contains(" CPUs utilized") && text.contains(','));
    let run = stat("perf-stat-de.txt");
    // Counts beyond 999 have points in this file, times have commas.
    let (clock, switches) = (first(&run, "task-clock"), first(&run, "context-switches"));
    assert!(clock.iter().all(|ms| (1.0..10_000.0).contains(ms) && ms.fract() != 0.0), "{clock:?}");
    assert!(switches.iter().all(|n| *n >= 100.0 && n.fract() == 0.0), "{switches:?}");
    let french = stat("perf-stat-fr-r2.txt");
    let switches = first(&french, "context-switches");
    assert!(switches.len() == 1 && switches[0] > 1000.0, "{switches:?}");
}

#[test]
fn repetitions_are_one_row_unless_their_times_are_listed() {
    let means = stat("perf-stat-fr-r2.txt");
    assert_eq!(first(&means, "elapsed_s").len(), 1);
    assert!(means.manifest.warnings[0].contains("--table"), "{:?}", means.manifest.warnings);
    let notes = &means.trials[0].outcome.as_ref().unwrap().notes;
    assert!(
        notes[0].contains("means of 2 runs") && notes.iter().any(|n| n.starts_with("task-clock: standard")),
        "{notes:?}"
    );
    let table = stat("perf-stat-en-table.txt");
    assert_eq!(first(&table, "elapsed_s"), [0.2388, 0.4065, 0.3825]);
    assert!(table.manifest.warnings[0].contains("left out"), "{:?}", table.manifest.warnings);
}

#[test]
fn intervals_are_a_series_and_never_n() {
    for file in ["perf-stat-interval.txt", "perf-stat-interval.csv"] {
        let run = stat(file);
        assert_eq!(first(&run, "context-switches"), [1.0], "{file}");
        let outcome = run.trials[0].outcome.as_ref().unwrap();
        let series: Vec<f64> =
            outcome.series.iter().filter(|p| p.name == "context-switches").map(|p| p.delta).collect();
        assert_eq!(series, [1.0, 0.0], "{file}: the task slept through the second interval");
        let ends: Vec<u64> = outcome.series.iter().map(|p| p.t_ns).collect();
        assert!(ends.is_sorted() && ends[0] > 100_000_000, "{ends:?}");
    }
    // perf's own summary has the exact sum; the CSV has rounded parts.
    assert_eq!(first(&stat("perf-stat-interval.txt"), "task-clock"), [0.82]);
    let summed = stat("perf-stat-interval.csv");
    assert!(summed.trials[0].outcome.as_ref().unwrap().notes[0].contains("not counted in 1 intervals"));
}

#[test]
fn separated_and_json_forms_say_the_same() {
    for (file, runs) in
        [("perf-stat.csv", 3), ("perf-stat.json", 3), ("perf-stat-started.csv", 2), ("perf-stat-de.csv", 2)]
    {
        let run = stat(file);
        assert_eq!(first(&run, "task-clock").len(), runs, "{file}");
        assert_eq!(run.manifest.primary, [["task-clock"]], "{file}: these forms have no elapsed time");
        assert!(matches!(counter(&run, 0, "cycles", "workload"), Count::NotCounted(_)), "{file}");
    }
    let per_cpu = stat("perf-stat-per-cpu.csv");
    let clock = [0, 1].map(|cpu| counter(&per_cpu, 0, "task-clock_ns", &format!("cpu{cpu}")).value().unwrap());
    let total = first(&per_cpu, "task-clock");
    assert!((total[0] - (clock[0] + clock[1]) as f64 / 1e6).abs() < 1e-6, "{total:?} {clock:?}");
    let per_core = stat("perf-stat-de-core.json");
    assert_eq!(first(&per_core, "context-switches"), [36.0]);
    assert_eq!(counter(&per_core, 0, "task-clock_ns", "S0-D0-C1"), Count::Exact(101_888_291));
}

#[test]
fn a_shared_pmu_gives_estimates_that_say_so() {
    let csv = stat("perf-stat-multiplexed.csv");
    let cycles = counter(&csv, 0, "cycles", "workload");
    assert_eq!(cycles, Count::Scaled { value: 3_012_345_678, running_ns: 671_293_000, enabled_ns: 1_006_889_156 });
    let human = stat("perf-stat-multiplexed.txt");
    let Count::Scaled { value: 12_000_000, running_ns, enabled_ns } = counter(&human, 0, "cache-misses", "workload")
    else {
        panic!("an estimate")
    };
    assert_eq!((running_ns, enabled_ns), (504_450_617, 1_008_901_234), "half of the elapsed time");
    assert_eq!(first(&human, "cycles"), [3_012_345_678.0]);
    assert_eq!((first(&human, "power/energy-pkg/"), form(&human, "power/energy-pkg/").0), (vec![12.5], "J".into()));
    for run in [&csv, &human] {
        assert!(
            matches!(counter(run, 0, "LLC-loads", "workload"), Count::NotCounted(why) if why.contains("never on the PMU"))
        );
    }
}

#[test]
fn a_run_in_which_nothing_was_counted_is_a_failed_row() {
    let csv = "<not supported>,,cycles,0,100.00,,\n";
    let run = import(None, &[source("a", csv), source("b", csv)], &no_options()).unwrap();
    assert!(failure(&run, 0).contains("`cycles` was not supported"));
}

#[test]
fn the_metric_that_decides_can_be_chosen() {
    let options = schedlab_import::Options { metric: Some("context-switches".into()), ..no_options() };
    let logs = [log("perf-stat.csv"), log("perf-stat.csv")];
    let run = import(Some(Kind::PerfStat), &logs, &options).unwrap();
    assert_eq!(run.manifest.primary, [["context-switches"]]);
    assert!(run.manifest.warnings.iter().any(|w| w.contains("it is not known which way is good")));
    let lower = schedlab_import::Options { direction: LowerIsBetter, ..options };
    let run = import(Some(Kind::PerfStat), &logs, &lower).unwrap();
    assert_eq!((form(&run, "context-switches").1, form(&run, "cpu-migrations").1), (LowerIsBetter, Neutral));
    let wrong = schedlab_import::Options { metric: Some("latency".into()), ..no_options() };
    let error = import(Some(Kind::PerfStat), &logs, &wrong).unwrap_err().to_string();
    assert!(error.contains("no metric `latency`") && error.contains("task-clock"), "{error}");
    let unit = schedlab_import::Options { unit: Some("ms".into()), ..no_options() };
    assert!(import(Some(Kind::PerfStat), &logs, &unit).unwrap_err().to_string().contains("names its own units"));
}

#[test]
fn what_perf_stat_never_printed_is_refused_by_line() {
    let header = " Performance counter stats for 'x':\n\n";
    for (text, expected) in [
        (log("perf-stat-de-commas.csv").text, "line 1: `0,86,msec,task-clock"),
        (log("perf-stat-de-commas.csv").text, "-x ';'"),
        (format!("{header}  12x cycles\n"), "line 3: `12x cycles` is not a line of perf stat's counts"),
        (format!("{header}  many seconds time elapsed\n"), "line 3"),
        ("dear diary\n".into(), "none of its 1 lines is a count of perf stat; line 1 is `dear diary`"),
        ("{\"counter-value\" : \"5\", \"event\" : \"cs\"\n".into(), "line 1: `{\"counter-value\""),
        ("1,,cs,10,100.00,,\n2,,cs,10,100.00,,\n3,,faults,10,100.00,,\n".into(), "line 2: the run that starts here"),
    ] {
        let error = refused(Kind::PerfStat, &text);
        assert!(error.contains(expected) && !error.contains('\n'), "{text:?}: {error}");
    }
}

#[test]
fn perf_bench_has_a_row_per_benchmark() {
    let run = pair(Kind::PerfBench, "perf-bench.txt", "perf-bench.txt");
    assert_eq!(
        specs(&run),
        [
            "perf-bench:benchmark=sched/pipe,loops=5000,mode=processes",
            "perf-bench:benchmark=sched/messaging,groups=1,mode=processes,pairs=20"
        ]
    );
    assert_eq!(run.manifest.primary, [["ns_per_op"], ["time_s"]]);
    assert_eq!(run.trials.len(), 12);
    assert_eq!(form(&run, "ns_per_op"), ("ns".into(), LowerIsBetter));
    assert_eq!(form(&run, "ops_per_s"), ("1/s".into(), HigherIsBetter));
    assert_eq!(run.trials[0].outcome.as_ref().unwrap().operations, 5000);
    assert!(run.manifest.warnings[0].contains("6.15"), "{:?}", run.manifest.warnings);
    let per_op = values(&run, "ns_per_op")[0].2;
    let rate = values(&run, "ops_per_s")[0].2;
    assert!((per_op * rate / 1e9 - 1.0).abs() < 0.01, "{per_op} ns, {rate} 1/s");
}

#[test]
fn other_benchmarks_of_perf_are_read_as_far_as_they_are_known() {
    let run = pair(Kind::PerfBench, "perf-bench-others.txt", "perf-bench-others.txt");
    let specs = specs(&run);
    assert_eq!(specs.iter().filter(|s| s.contains("mem/memcpy")).count(), 4, "one per function: {specs:?}");
    assert!(specs[0].contains("bytes=64KB") && specs[0].contains("function=default"), "{specs:?}");
    let bytes = values(&run, "bytes_per_s")[0].2;
    assert!((bytes - 46.950120 * 1_073_741_824.0).abs() < 1.0, "{bytes}");
    // The locale groups whole numbers with points and writes fractions with commas.
    assert!(specs.iter().any(|s| s == "perf-bench:benchmark=syscall/basic,call=getppid(),loops=10000"), "{specs:?}");
    let syscall = specs.iter().position(|s| s.contains("syscall")).unwrap() as u32;
    let of = |metric: &str| values(&run, metric).iter().find(|v| v.0 == syscall).unwrap().2;
    assert_eq!((of("ns_per_op"), of("ops_per_s")), (2255.0, 443_458.0));
    assert!(run.manifest.warnings.iter().any(|w| w.contains("internals/synthesize has no result")));
}

#[test]
fn the_simple_format_must_be_asked_for() {
    let simple = log("perf-bench-simple.txt");
    let run = pair(Kind::PerfBench, "perf-bench-simple.txt", "perf-bench-simple.txt");
    assert_eq!((specs(&run), values(&run, "time_s").len()), (vec!["perf-bench:format=simple".into()], 6));
    assert!(run.manifest.warnings.iter().any(|w| w.contains("neither the benchmark nor its options")));
    let unasked = import(None, &[simple.clone(), simple], &no_options()).unwrap_err().to_string();
    assert!(unasked.contains("--kind") && unasked.contains("perf-bench"), "{unasked}");
    assert!(refused(Kind::PerfBench, "0.1\nfast\n").contains("it line 2: `fast`"));
    assert!(refused(Kind::PerfBench, "# Running 'sched/pipe' benchmark:\n").contains("Total time"));
}
