//! Good files become runs of unknown order; any other file gives one line that names the file and the line.

use crate::lab::{no_options, source};
use schedlab_import::{Imported, Kind, Options, import};
use schedlab_plan::Direction;
use schedlab_plan::manifest::OrderKnown;

fn options() -> Options {
    Options { metric: Some("cpus".into()), unit: Some("CPUs".into()), direction: Direction::LowerIsBetter, sesoi: 0.05 }
}

fn csv(text: &str) -> Result<Imported, String> {
    import(Some(Kind::Csv), &[source("study", text)], &options()).map_err(|e| e.to_string())
}

/// `(arm, block, value)` of every trial.
fn rows(imported: &Imported) -> Vec<(u32, u32, f64)> {
    let value = |t: &schedlab_plan::TrialRecord| t.outcome.as_ref().unwrap().metrics[0].value;
    imported.trials.iter().map(|t| (t.arm.unwrap(), t.block, value(t))).collect()
}

fn names(imported: &Imported) -> Vec<&str> {
    imported.manifest.arms.iter().map(|a| a.name.as_str()).collect()
}

#[test]
fn the_published_study_is_22_pairs() {
    let text = include_str!("../../../../docs/data/netperf-autocork.csv");
    let study = import(None, &[source("netperf-autocork", text)], &options()).unwrap();
    assert_eq!(names(&study), ["before", "after"]);
    assert_eq!(study.manifest.order, OrderKnown::Unknown);
    assert_eq!(study.manifest.primary, [["cpus"]]);
    let rows = rows(&study);
    assert_eq!(rows.len(), 44);
    assert_eq!((rows[0], rows[1], rows[43]), ((0, 0, 0.089), (1, 0, 0.085), (1, 21, 0.109)));
    let sum = |arm: u32| rows.iter().filter(|r| r.0 == arm).map(|r| r.2).sum::<f64>();
    assert!((sum(0) - 1.927).abs() < 1e-9 && (sum(1) - 1.756).abs() < 1e-9, "{} {}", sum(0), sum(1));
}

#[test]
fn rows_of_named_arms_share_no_block() {
    let run = csv("arm,value\nold,3\nnew,2\nold,4\n").unwrap();
    assert_eq!(names(&run), ["old", "new"]);
    assert_eq!(rows(&run), [(0, 0, 3.0), (1, 1, 2.0), (0, 2, 4.0)]);
}

#[test]
fn separators_quotes_comments_and_line_ends_are_tolerated() {
    let plain = rows(&csv("a,b\n1,2\n").unwrap());
    for text in ["\u{feff}a;b\r\n1;2\r\n", "\"a\"\t\"b\"\n# noted by hand\n\n 1 \t\"2\"", "a,b\n1,2"] {
        assert_eq!(rows(&csv(text).unwrap()), plain, "{text:?}");
    }
    assert_eq!(names(&csv("\"x, old\",y\n1,2\n").unwrap()), ["x, old", "y"]);
}

#[test]
fn a_csv_that_is_none_names_the_line() {
    for (text, expected) in [
        ("dear diary\n", "study line 1: `dear diary` is not a CSV header"),
        ("1,2\n3,4\n", "line 1: `1,2` holds numbers where a header should be"),
        ("a,b\n1,2\n3,x\n", "line 3: `x` is not a number"),
        ("a,b\n1,2\n\n3,\n", "line 4: `` is not a number"),
        ("a,b\n1,nan\n", "line 2: `nan` is not a number"),
        ("a,b\n1,2,3\n", "line 2: `1,2,3` has 3 columns where the header has two"),
        ("a,b,c\n1,2,3\n", "line 1: `a,b,c` has 3 columns, not two"),
        ("a,a\n1,2\n", "names both arms alike"),
        ("a,\n1,2\n", "a column without a name"),
        ("a,b\n", "a header and no rows"),
        ("arm,value\nold,1\nold,2\n", "one arm, `old`"),
        ("arm,value\n,1\n", "line 2: the arm has no name"),
        ("\n# nothing\n", "study is empty"),
    ] {
        let error = csv(text).unwrap_err();
        assert!(error.contains(expected) && !error.contains('\n'), "{text:?}: {error}");
    }
    let ids: String = (0..70).map(|i| format!("{i},1.5\n")).collect();
    assert!(csv(&format!("arm,value\n{ids}")).unwrap_err().contains("line 66: `64` is arm number 65"));
}

const RUN: &str = "$ hackbench -g 10\nRunning in process mode with 10 groups using 40 file descriptors each (== 400 tasks)\n\
                   Each sender will pass 100 messages of 100 bytes\n";

#[test]
fn hackbench_logs_are_one_arm_each() {
    let log = |times: &[&str]| times.iter().map(|t| format!("{RUN}Time: {t}\n")).collect::<String>();
    let logs = [source("6.1", &log(&["1.25", "1.5"])), source("6.18", &log(&["1.0"]))];
    let run = import(None, &logs, &no_options()).unwrap();
    assert_eq!((names(&run), rows(&run)), (vec!["6.1", "6.18"], vec![(0, 0, 1.25), (0, 1, 1.5), (1, 2, 1.0)]));
    assert_eq!(run.manifest.workloads[0].to_string(), "hackbench:bytes=100,fds=40,groups=10,loops=100,mode=process");
    assert_eq!(run.manifest.primary, [["time_s"]]);
}

#[test]
fn runs_of_other_options_are_another_workload() {
    let other = RUN.replace("10 groups", "1 groups");
    let both = format!("{RUN}Time: 1\n{other}Time: 0.1\n");
    let run = import(None, &[source("a", &both), source("a", &format!("{RUN}Time: 2\n"))], &no_options()).unwrap();
    assert_eq!((run.manifest.workloads.len(), names(&run)), (2, vec!["a", "a (2)"]));
    assert_eq!(run.trials.iter().map(|t| t.workload).collect::<Vec<_>>(), [0, 1, 0]);
    assert!(run.manifest.warnings.iter().any(|w| w.contains("has no run of")), "{:?}", run.manifest.warnings);
}

#[test]
fn a_log_that_is_none_is_refused() {
    let as_log =
        |text: &str| import(Some(Kind::Hackbench), &[source("notes", text)], &no_options()).unwrap_err().to_string();
    assert!(as_log("dear diary\n").contains("notes is not a hackbench log: none of its 1 lines is `Time: SECONDS`"));
    assert!(as_log("x\nTime: soon\n").contains("notes line 2: `Time: soon` is not"));
    assert!(as_log("Time: 1.0\n").contains("a hackbench log is one arm; give a second one"));
    let unknown = import(None, &[source("notes", "dear diary\n")], &no_options()).unwrap_err().to_string();
    assert!(unknown.contains("notes line 1: `dear diary`") && unknown.contains("--kind"), "{unknown}");
    let two = [source("a", "x,y\n1,2\n"), source("b", "x,y\n1,2\n")];
    assert!(import(None, &two, &no_options()).unwrap_err().to_string().contains("one at a time"));
    assert!(import(None, &[], &no_options()).unwrap_err().to_string().contains("nothing to import"));
}

#[test]
fn a_metric_without_direction_says_so() {
    let neutral = Options { metric: Some("cpus".into()), ..no_options() };
    let run = import(None, &[source("s", "a,b\n1,2\n")], &neutral).unwrap();
    assert!(run.manifest.warnings[0].contains("--lower-is-better"));
}

#[test]
fn an_import_is_stored_and_read_like_any_run() {
    let dir = std::env::temp_dir().join(format!("schedlab-import-{}", std::process::id()));
    let study = csv("before,after\n1,2\n3,4\n").unwrap();
    let mut writer = schedlab_run::RunWriter::create(&dir, &study.manifest).unwrap();
    study.trials.iter().for_each(|t| drop(writer.append(t).unwrap()));
    writer.seal().unwrap();
    let run = schedlab_run::RunReader::open(&dir).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!((run.manifest, run.trials), (study.manifest, study.trials));
}
