//! `schedlab trace`, end to end: files and pipes, options, bad input in one line.

mod program;

use program::{Lab, json, schedlab};
use schedlab_report::{ANALYSES, Filtered, TraceAnalysis};
use std::process::Stdio;

/// A sleeps on CPU 0, and is woken by an interrupt in B; it waits 5 µs.
const TRACE: &str = "\
A-10 [000] d..2. 1.000010: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
B-11 [001] d.h2. 1.000020: sched_waking: comm=A pid=10 prio=120 target_cpu=000
<idle>-0 [000] d..2. 1.000025: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
A-10 [000] d..2. 1.000045: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

fn lab(name: &str) -> (Lab, String) {
    let lab = Lab::new(name);
    let file = lab.path("trace.txt");
    std::fs::write(&file, TRACE).unwrap();
    (lab, file)
}

#[test]
fn the_one_file_of_a_directory_of_perf_is_read() {
    let (lab, file) = lab("trace-kcore");
    let dir = lab.path("kcore");
    std::fs::create_dir(&dir).unwrap();
    std::fs::copy(&file, format!("{dir}/data")).unwrap();
    schedlab(&["trace", "check", &dir]).success();
    // A single file of `perf record --threads` is not a complete trace.
    std::fs::write(format!("{dir}/data.1"), "").unwrap();
    assert!(schedlab(&["trace", "check", &dir]).failure().stderr.contains("has no data.0"));
}

#[test]
fn every_analysis_prints_a_page_and_json() {
    let (_lab, file) = lab("trace-pages");
    let text = schedlab(&["trace", "latency", &file]).success().stdout;
    assert!(
        text.starts_with("Longest wait after a wakeup: 5.000 µs (A 10, 1.000020 to 1.000025 s on CPU 0)."),
        "{text}"
    );
    let found = json(&schedlab(&["trace", "latency", &file, "--json"]).success().stdout);
    assert_eq!(found["total"]["wakeup"]["max_ns"], 5000);
    let states = json(&schedlab(&["trace", "states", &file, "--json"]).success().stdout);
    assert_eq!(states["rows"][0]["running_ns"], 20_000);
    let blame = json(&schedlab(&["trace", "blame", &file, "--json"]).success().stdout);
    assert_eq!((&blame["total"]["waited_ns"], &blame["causes"][0]["kind"]), (&5000.into(), &"idle".into()));
    let chains = json(&schedlab(&["trace", "chains", &file, "--json"]).success().stdout);
    assert_eq!(
        (&chains["pairs"][0]["waker"], &chains["longest"][0]["delay_ns"]),
        (&"(hard interrupt)".into(), &5000.into())
    );
    let inversions = json(&schedlab(&["trace", "inversions", &file, "--json", "--prio", "120"]).success().stdout);
    assert_eq!((&inversions["total"]["waits"], &inversions["total"]["own"]["ns"]), (&1.into(), &0.into()));
    let affine = json(&schedlab(&["trace", "affine", &file, "--json", "--llc-size", "2"]).success().stdout);
    assert_eq!((&affine["aside"]["by_strangers"], &affine["total"]["wakings"]), (&1.into(), &0.into()));
    assert_eq!(affine["llc_size"], 2);
    let explained = json(&schedlab(&["trace", "explain", &file, "--json"]).success().stdout);
    assert_eq!((&explained["blame"], &explained["chains"]["pairs"]), (&blame, &chains["pairs"]));
    // Even if, for an analysis that reads wakings, the trace begins before the first switch.
    let woken = format!("{}\n{TRACE}", TRACE.lines().nth(1).unwrap().replace("1.000020", "0.500000"));
    std::fs::write(&file, woken).unwrap();
    let explained = json(&schedlab(&["trace", "explain", &file, "--json"]).success().stdout);
    let map = json(&schedlab(&["trace", "map", &file, "--json"]).success().stdout);
    for part in ["start_ns", "slice_ns", "cpus", "signs"] {
        assert_eq!(explained["map"][part], map[part], "{part}");
    }
    let queues = json(&schedlab(&["trace", "queues", &file, "--json"]).success().stdout);
    let of_first = &queues["cpus"][0];
    assert_eq!((&of_first["at_ns"], &of_first["unknown_ns"]), (&serde_json::json!([10_000, 25_000]), &0.into()));
    assert_eq!((&queues["counted_from"], &of_first["waiting_ns"]), (&"sched_waking".into(), &5000.into()));
    let text = schedlab(&["trace", "queues", &file]).success().stdout;
    assert!(text.starts_with("0.714 runnable threads a CPU, at most 1 thread (CPU 0, 1.000020 s)"), "{text}");
    let late =
        json(&schedlab(&["trace", "queues", &file, "--json", "--time", "1.000021,", "--cpu", "0"]).success().stdout);
    assert_eq!(late["cpus"][0]["at_ns"], serde_json::json!([0, 24_000]));
    for analysis in ANALYSES.iter().map(|row| row.name).chain(["kworkers", "map", "timehist"]) {
        assert!(!schedlab(&["trace", analysis, &file]).success().stdout.is_empty(), "{analysis}");
    }
    let check = json(&schedlab(&["trace", "check", &file, "--json"]).success().stdout);
    assert_eq!(check["cpus"].as_array().map(Vec::len), Some(2));
    let lines = schedlab(&["trace", "timehist", &file, "--json"]).success().stdout;
    assert_eq!(json(lines.lines().next().unwrap())["run_ns"], 20_000);
    let perf = schedlab(&["trace", "latency", &file, "--compat", "perf"]).success().stdout;
    assert!(perf.contains("| avg:   0.005 ms | max:   0.005 ms |"), "{perf}");
}

/// `SCHEDLAB_BLESS=1 cargo test -p schedlab --test trace` rewrites the table in `docs/traces.md`.
#[test]
fn the_page_has_a_row_for_each_analysis() {
    const HEAD: &str = "| `schedlab trace … FILE` | |\n|---|---|\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/traces.md");
    let kept = std::fs::read_to_string(path).unwrap();
    let (before, rest) = kept.split_once(HEAD).unwrap();
    let rows = ANALYSES.iter().map(|row| format!("| `{}` | {} |\n", row.name, row.question));
    let after = rest.split_inclusive('\n').skip_while(|line| line.starts_with('|')).map(str::to_owned);
    let page = [before, HEAD].map(str::to_owned).into_iter().chain(rows).chain(after).collect::<String>();
    if std::env::var_os("SCHEDLAB_BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(kept == page, "docs/traces.md is old: SCHEDLAB_BLESS=1 cargo test -p schedlab --test trace");
}

#[test]
fn a_pipe_is_read_like_a_file() {
    let (_lab, file) = lab("trace-pipe");
    let piped = program::command()
        .args(["trace", "latency", "-"])
        .stdin(Stdio::from(std::fs::File::open(&file).unwrap()))
        .output()
        .unwrap();
    let direct = schedlab(&["trace", "latency", &file]).success().stdout;
    assert_eq!(String::from_utf8_lossy(&piped.stdout), direct);
}

#[test]
fn a_converted_trace_tells_the_same() {
    let (lab, file) = lab("trace-convert");
    let direct = json(&schedlab(&["trace", "latency", &file, "--json"]).success().stdout);
    for name in ["out.perfetto-trace", "out.txt"] {
        let out = lab.path(name);
        let said = schedlab(&["trace", "convert", &file, "-o", &out]).success().stderr;
        assert!(said.contains("4 events"), "{said}");
        let read = json(&schedlab(&["trace", "latency", &out, "--json"]).success().stdout);
        assert_eq!((&read["total"], &read["rows"]), (&direct["total"], &direct["rows"]), "{name}");
    }
    let one = schedlab(&["trace", "check", &lab.path("out.perfetto-trace"), "--machine", "7"]).failure().stderr;
    assert!(one.contains("events of the host alone: --machine 0 reads those"), "{one}");
    let text = schedlab(&["trace", "check", &lab.path("out.txt"), "--machine", "7"]).failure().stderr;
    assert!(text.contains("out.txt is not a trace of several machines"), "{text}");
    let refused = schedlab(&["trace", "convert", &file, "-o", &lab.path("out.zip")]).failure();
    assert!(
        refused.stderr.contains("out.zip: which format is meant? Name it OUT.perfetto-trace"),
        "{}",
        refused.stderr
    );
}

#[test]
fn what_cannot_be_read_is_one_line_that_names_it() {
    let (lab, file) = lab("trace-bad");
    let refused = |code: i32, arguments: &[&str], part: &str| {
        let failed = schedlab(arguments).failure();
        assert_eq!(failed.stderr.lines().count(), 1, "{}", failed.stderr);
        assert!(failed.stderr.contains(part), "{part}: {}", failed.stderr);
        assert_eq!((failed.code, failed.stdout.as_str()), (code, ""));
    };
    let one_line = |arguments: &[&str], part: &str| refused(1, arguments, part);
    let wrong_words = |arguments: &[&str], part: &str| refused(2, arguments, part);
    let picture = lab.path("picture");
    std::fs::write(&picture, b"\x89PNG\r\n").unwrap();
    one_line(&["trace", "latency", &picture], "picture is not a trace that is known here: it begins with 89 50 4e 47");
    std::fs::write(&picture, b"").unwrap();
    one_line(&["trace", "check", &picture], "picture is empty; expected a trace");
    std::fs::write(&picture, b"PERFILE2\x68\0\0\0").unwrap();
    one_line(&["trace", "states", &picture], "byte 8: 4 bytes are left; expected the size of the header");
    std::fs::write(&picture, b"\x1f\x8b\x08\0\0\0").unwrap();
    one_line(&["trace", "check", &picture], "picture: reading 4096 bytes at byte 0 failed");
    std::fs::write(&picture, b"BZh9").unwrap();
    one_line(&["trace", "check", &picture], "byte 0: a file compressed with bzip2; bunzip2 it first");
    one_line(&["trace", "latency", &lab.path("none")], "none cannot be opened");
    one_line(
        &["trace", "latency", &lab.path("")],
        "is a directory, and neither trace.slt of `schedlab record` nor data of `perf record` is in it",
    );
    one_line(&["trace", "copies", &file], "give the directory that `record -o DIR -- pipe:copies=4` or a run wrote");
    wrong_words(&["trace", "latency", &file, "--time", "5,1,2"], "`5,1,2` is no time window");
    wrong_words(
        &["trace", "latency", &file, "--time", "5,1"],
        "`5,1` runs backwards: FROM is later than TO; write 1,5",
    );
    wrong_words(&["trace", "blame", &file, "--state", "Q"], "--state: `Q` is not a state of a thread that waits");
    wrong_words(&["trace", "chains", &file, "--prio", "high"], "--prio: `high` is not a priority");
    one_line(
        &["trace", "latency", &file, "--cgroup", "/a"],
        "recordings of `schedlab record` and of `perf record --all-cgroups` do",
    );
    wrong_words(&["trace", "latency", "-", "--cgroup", "/a"], "which standard input does not allow: give a file");
    wrong_words(&["trace", "map", &file, "--state", "S"], "--state: a map shows running tasks only");
    wrong_words(&["trace", "queues", &file, "--comm", "A"], "--comm: the length of a queue counts all threads");
    wrong_words(&["trace", "queues", &file, "--prio", "rt"], "--prio: the length of a queue counts all threads");
    wrong_words(&["trace", "kworkers", &file, "--state", "S"], "--state: a work item has no state");
    wrong_words(
        &["trace", "states", &file, "--time", "1,2"],
        "--time: the time of a task is added up over the whole trace",
    );
}

#[test]
fn a_filter_that_lets_nothing_through_says_so() {
    let (_lab, file) = lab("trace-none");
    let page = |arguments: &[&str]| {
        let text = schedlab(&[&["trace", arguments[0], &file], &arguments[1..]].concat()).success();
        (text.stdout + &text.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let by_tasks = |row: &&TraceAnalysis| !matches!(row.takes.filters, Filtered::No | Filtered::NotTasks(_));
    for analysis in ANALYSES.iter().filter(by_tasks).map(|row| row.name).chain(OTHERS) {
        let text = page(&[analysis, "--comm", "nobody", "--comm", "A*"]);
        assert!(text.contains("no task of the trace is called `nobody`") && !text.contains("`A*`"), "{text}");
    }
    let found = json(&schedlab(&["trace", "chains", &file, "--comm", "nobody", "--json"]).success().stdout);
    assert_eq!(found["trace"]["unmatched"][0], "no task of the trace is called `nobody`");
    let found = json(&schedlab(&["trace", "latency", &file, "--tid", "4", "--json"]).success().stdout);
    assert_eq!(found["trace"]["unmatched"][0], "no task of the trace has the id 4");
}

const OTHERS: [&str; 4] = ["latency", "kworkers", "map", "timehist"];

/// Its only CPU with switches, and A; B only wakes.
const HAS: &str = "; the trace has 1 task on CPU 0, from 1.0000";

/// The same rule for all analyses: if nothing matches, a sentence with the reason and with what there is to choose
/// from, and no empty table.
#[test]
fn where_nothing_matches_one_sentence_tells_what_the_trace_has() {
    let (lab, file) = lab("trace-nothing");
    let all = ANALYSES.iter().filter(|row| !matches!(row.takes.filters, Filtered::No));
    let all = all.map(|row| (row.name, row.takes.filters)).chain(OTHERS.map(|name| (name, Filtered::All)));
    let filters = [
        ("tid", "4", "no task of the trace has the id 4"),
        ("comm", "nobody", "no task of the trace is called `nobody`"),
        ("time", "99999,", "no event lies in the time asked for"),
        ("time", ",0.5", "no event lies in the time asked for"),
        ("cpu", "7", "is known"),
    ];
    for (analysis, taken) in all {
        let refused = |option: &str| match taken {
            Filtered::NotTasks(_) => ["comm", "tid"].contains(&option),
            Filtered::NotTimes(_) => ["time", "cpu"].contains(&option),
            _ => false,
        };
        for (option, value, why) in filters.iter().filter(|(option, ..)| !refused(option)) {
            let option = format!("--{option}");
            let ran = schedlab(&["trace", analysis, &file, &option, value]).success();
            let text = (ran.stdout + &ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
            let told = text.to_lowercase().find("nothing matches the filters: ").map(|at| &text[at..]);
            let told = told.unwrap_or_else(|| panic!("{analysis} {option} {value}: {text}"));
            assert!(told.contains(why), "{analysis} {option} {value}: {text}");
            assert!(told.contains(HAS) && told.contains(" to 1.000045 s"), "{analysis} {option} {value}: {text}");
            assert_eq!(text.to_lowercase().matches("nothing matches").count(), 1, "{analysis}: {text}");
            assert!(!text.contains("| |") && !text.contains("(idle)"), "no table: {text}");
        }
    }
    let svg = lab.path("never.svg");
    let ran = schedlab(&["trace", "timehist", &file, "--cpu", "7", "--svg", &svg]).failure();
    assert!(ran.stderr.contains(HAS), "{}", ran.stderr);
}

#[test]
fn the_first_lines_tell_which_events_were_analysed() {
    let (_lab, file) = lab("trace-events");
    let page = |analysis| {
        let text = schedlab(&["trace", analysis, &file]).success().stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(page("check").contains("35.00 µs, 4 events "), "{}", page("check"));
    assert!(page("map").contains("35.00 µs, 3 of the file's 4 events "), "{}", page("map"));
}

#[test]
fn a_trace_is_not_converted_onto_itself() {
    let (lab, file) = lab("trace-onto");
    std::os::unix::fs::symlink(&file, lab.path("link.txt")).unwrap();
    std::fs::hard_link(&file, lab.path("new.txt")).unwrap();
    for out in ["trace.txt", "link.txt", "new.txt"] {
        let refused = schedlab(&["trace", "convert", &file, "-o", &lab.path(out)]).failure();
        assert!(refused.stderr.contains("is the input and would be overwritten"), "{}", refused.stderr);
        assert_eq!(refused.stderr.lines().count(), 1);
    }
    let onto = ["trace", "convert", "-", "-o", &file, "--to", "perfetto"];
    let refused = from_file(&onto, &file);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("would be overwritten"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), TRACE);
}

fn from_file(arguments: &[&str], file: &str) -> std::process::Output {
    let stdin = Stdio::from(std::fs::File::open(file).unwrap());
    program::command().args(arguments).stdin(stdin).output().unwrap()
}

#[test]
fn a_conversion_goes_to_standard_output_as_to_a_file() {
    let (lab, file) = lab("trace-stdout");
    let out = lab.path("out.txt");
    schedlab(&["trace", "convert", &file, "-o", &out]).success();
    let piped = schedlab(&["trace", "convert", &file, "-o", "-", "--to", "text"]).success();
    assert_eq!(piped.stdout, std::fs::read_to_string(&out).unwrap());
    assert!(piped.stderr.contains("standard output: 4 events"), "{}", piped.stderr);
    for (more, part) in [(&["--to", "parquet"][..], "tables are files of a directory"), (&[], "which format is meant")]
    {
        let refused = schedlab(&[&["trace", "convert", &file, "-o", "-"], more].concat()).failure();
        assert!(refused.stderr.contains(part) && refused.stderr.lines().count() == 1, "{}", refused.stderr);
    }
    assert!(!std::path::Path::new("-").exists());
}

#[test]
fn a_conversion_that_fails_names_its_file_and_leaves_none() {
    let (lab, file) = lab("trace-half");
    let full = schedlab(&["trace", "convert", &file, "-o", "/dev/full", "--to", "text"]).failure();
    assert!(full.stderr.contains("/dev/full cannot be written: No space left"), "{}", full.stderr);
    let other = lab.path("other.txt");
    std::fs::write(&other, "# tracer: nop\n").unwrap();
    let out = lab.path("out.txt");
    std::fs::write(&out, "kept").unwrap();
    let failed = schedlab(&["trace", "convert", &other, "-o", &out]).failure();
    assert!(failed.stderr.contains("other.txt has no scheduler events"), "{}", failed.stderr);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "kept");
    let names = std::fs::read_dir(lab.path("")).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    assert!(!names.into_iter().any(|name| name.ends_with(".part")), "nothing half-written is left");
}

#[test]
fn the_directory_of_a_recording_is_its_trace() {
    let (lab, file) = lab("trace-directory");
    let dir = lab.path("recorded");
    std::fs::create_dir(&dir).unwrap();
    std::fs::rename(&file, lab.path("recorded/trace.slt")).unwrap();
    for analysis in ["latency", "blame", "chains", "kworkers", "map", "states", "check", "timehist"] {
        let of = |file: &str| schedlab(&["trace", analysis, file]).success().stdout;
        assert_eq!(of(&dir), of(&lab.path("recorded/trace.slt")), "{analysis}");
    }
    schedlab(&["trace", "convert", &dir, "-o", &lab.path("out.txt")]).success();
    let refused =
        schedlab(&["trace", "convert", &dir, "-o", &lab.path("recorded/trace.slt"), "--to", "text"]).failure();
    assert!(refused.stderr.contains("would be overwritten"), "{}", refused.stderr);
}

#[test]
fn a_file_on_standard_input_is_a_file() {
    let (lab, _) = lab("trace-stdin");
    // The size of the header and of one attribute, then a section before the current position: only a file can seek
    // back.
    let data = lab.path("seek.data");
    std::fs::write(&data, b"PERFILE2\x68\0\0\0").unwrap();
    let piped = from_file(&["trace", "check", "-"], &data);
    let direct = schedlab(&["trace", "check", &data]).failure();
    let said = String::from_utf8_lossy(&piped.stderr).replace("standard input", &data);
    assert_eq!(said, direct.stderr);
}

#[test]
fn perfs_page_has_all_of_its_rows() {
    let (_lab, file) = lab("trace-perf-top");
    let refused = schedlab(&["trace", "latency", &file, "--compat", "perf", "--top", "3"]).failure();
    assert!(refused.stderr.contains("'--compat <TOOL>' cannot be used with '--top <N>'"), "{}", refused.stderr);
}

#[test]
fn what_the_trace_lacks_is_told() {
    let (lab, file) = lab("trace-lacks");
    let only = |event: &str| {
        let lines: String = TRACE.lines().filter(|line| line.contains(event)).map(|line| format!("{line}\n")).collect();
        std::fs::write(&file, lines).unwrap();
    };
    only("sched_waking");
    for analysis in ["latency", "blame"] {
        let page = schedlab(&["trace", analysis, &file]).success().stdout;
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains("- sched_switch was not recorded: it is not known when threads got a CPU"), "{page}");
    }
    std::fs::write(lab.path("late.txt"), TRACE.replace("sched_waking", "sched_wakeup")).unwrap();
    let page = schedlab(&["trace", "latency", &lab.path("late.txt")]).success().stdout;
    assert!(page.contains("After a wakeup: sched_wakeup to switched in"), "{page}");
    assert!(page.contains("- sched_waking was not recorded"), "{page}");
    std::fs::write(lab.path("far.txt"), TRACE.replace("[001]", "[4294967295]")).unwrap();
    let page = schedlab(&["trace", "latency", &lab.path("far.txt")]).success().stdout;
    assert!(page.contains("! line 2: this machine has no CPU or thread 4294967295; skipped"), "{page}");
}

/// A worker that wakes every millisecond, waits `wait` and runs 0.3 ms; and a burner, if requested.
fn worker(begin: u64, wait: u64, burner: bool) -> String {
    let (other, tid) = if burner { ("burner", 99) } else { ("swapper/0", 0) };
    let mut text = String::new();
    for turn in 0..400 {
        let at = |micros: u64| format!("{begin}.{:06}", turn * 1000 + micros);
        let wait = 300 + wait + turn % 7;
        text += &format!(
            "A-10 [000] d..2. {}: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm={other} next_pid={tid} next_prio=120\n\
             {other}-{tid} [000] d.h2. {}: sched_waking: comm=A pid=10 prio=120 target_cpu=000\n\
             {other}-{tid} [000] d..2. {}: sched_switch: prev_comm={other} prev_pid={tid} prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120\n",
            at(0),
            at(300),
            at(wait)
        );
    }
    text
}

#[test]
fn two_traces_are_laid_beside_each_other() {
    let lab = Lab::new("trace-diff");
    let write = |name: &str, text: &str| {
        let file = lab.path(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let (a, same) = (write("a.txt", &worker(10, 20, false)), write("same.txt", &worker(50, 20, false)));
    let b = write("b.txt", &worker(90, 400, true));
    let page = schedlab(&["trace", "diff", &a, &b]).success().stdout;
    assert!(page.starts_with("Different, but without a verdict: burner ran 0 ns/s → "), "{page}");
    assert!(page.contains("with one trace on a side there is no verdict"), "{page}");
    let equal = schedlab(&["trace", "diff", &a, &same]).success().stdout;
    assert!(equal.starts_with("Nothing is apart: ") && !equal.contains("But "), "{equal}");
    // A burner that did not run in each tenth of the trace is not listed separately, but is still in the first
    // sentence.
    let (idle, burning) = (worker(130, 20, false), worker(130, 20, true));
    let late: Vec<&str> = idle.lines().take(300).chain(burning.lines().skip(300)).collect();
    let late = schedlab(&["trace", "diff", &a, &write("late.txt", &(late.join("\n") + "\n"))]).success().stdout;
    let said = late.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.starts_with("Nothing that ran in both is apart: ") && said.contains("But burner ran only in B, 0 ns/s → "),
        "{late}"
    );
    // As long, but with other threads.
    let other = write("other.txt", &worker(10, 20, false).replace("A-10", "C-10").replace("=A ", "=C "));
    let refused = schedlab(&["trace", "diff", &a, &other]);
    assert!(refused.code == 1 && refused.stderr.contains("no thread of A has a name that B has"), "{}", refused.stderr);
    let found = json(&schedlab(&["trace", "diff", &a, &b, "--json", "--top", "1"]).success().stdout);
    let first = &found["tables"][0]["rows"][0];
    assert_eq!(
        (&first["name"], &first["only"], &found["basis"]),
        (&"burner".into(), &"B".into(), &"description".into())
    );
    // As in `trace latency`, from which the burner's time and the trace's length are taken.
    let alone = json(&schedlab(&["trace", "latency", &b, "--json"]).success().stdout);
    let rows = alone["rows"].as_array().unwrap();
    let ran = rows.iter().find(|row| row["comm"] == "burner").unwrap()["run_ns"].as_f64().unwrap();
    let a_second = 1e9 * ran / alone["trace"]["length_ns"].as_f64().unwrap();
    assert!((first["changes"][0]["b"].as_f64().unwrap() / a_second - 1.0).abs() < 1e-3, "{first} {a_second}");
    let html = lab.path("d.html");
    schedlab(&["trace", "diff", &a, &b, "--html", &html]).success();
    let html = std::fs::read_to_string(html).unwrap();
    assert!(html.contains("B less A") && html.contains("<svg") && !html.contains("http://"), "no picture");
    let five: Vec<String> = (0..4).map(|n| write(&format!("a{n}.txt"), &worker(200 + n, 20 + n, false))).collect();
    let more: Vec<String> = (0..4).map(|n| write(&format!("b{n}.txt"), &worker(300 + n, 400 + n, true))).collect();
    let mut words = vec!["trace", "diff", &a, &b, "--more-a"];
    words.extend(five.iter().map(String::as_str));
    words.push("--more-b");
    words.extend(more.iter().map(String::as_str));
    let judged = schedlab(&words).success().stdout;
    assert!(judged.starts_with("Changed: burner ran 0 ns/s → "), "{judged}");
}

#[test]
fn what_is_not_compared_is_one_sentence() {
    let lab = Lab::new("trace-diff-bad");
    let file = lab.path("a.txt");
    std::fs::write(&file, worker(10, 20, false)).unwrap();
    let (empty, copy, wakings) = (lab.path("empty"), lab.path("copy.txt"), lab.path("wakings.txt"));
    std::fs::write(&empty, "").unwrap();
    std::fs::copy(&file, &copy).unwrap();
    let kept: Vec<String> =
        worker(20, 20, false).lines().filter(|l| !l.contains("sched_switch")).map(|l| format!("{l}\n")).collect();
    std::fs::write(&wakings, kept.concat()).unwrap();
    let strangers = lab.path("strangers.txt");
    std::fs::write(&strangers, worker(20, 20, false).replace("A-10", "Z-10").replace("comm=A", "comm=Z")).unwrap();
    for (words, said) in [
        (vec!["trace", "diff", &file, &file], "are the same recording"),
        (vec!["trace", "diff", &file, &copy], "are the same recording"),
        (vec!["trace", "diff", &file, &empty], "is empty"),
        (vec!["trace", "diff", &file, &wakings], "has no sched_switch"),
        (vec!["trace", "diff", &file, &strangers], "no thread of A has a name that B has"),
        (vec!["trace", "diff", &file], "one trace cannot be compared"),
        (vec!["trace", "diff", &file, "-"], "a trace is read twice"),
        (vec!["trace", "diff", &file, "/dev/null"], "is not a file"),
        (vec!["trace", "diff", &file, &copy, "--comm", "nobody"], "the same recording"),
    ] {
        let failed = schedlab(&words).failure();
        assert!(failed.stderr.contains(said) && failed.stderr.lines().count() == 1, "{words:?}: {}", failed.stderr);
        assert!(failed.stdout.is_empty(), "{words:?}");
    }
}

#[test]
fn a_picture_of_turns_is_neither_its_own_trace_nor_empty() {
    let (lab, file) = lab("trace-turns");
    let svg = lab.path("turns.svg");
    let draw = |more: &[&str], svg: &str| schedlab(&[&["trace", "timehist", &file, "--svg", svg], more].concat());
    assert!(draw(&[], &file).failure().stderr.contains("name another file"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), TRACE);
    assert!(draw(&["--time", "7,8"], &svg).failure().stderr.contains("no picture is written"));
    assert!(!std::path::Path::new(&svg).exists());
    draw(&[], &svg).success();
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("1 turn"), "{drawn}");
}
