//! Searches by the real binary: what is said before one, a short one with its files, and the files of `tune export` as the
//! programs load them that they are for.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, Ran, json, schedlab};
use std::process::Command;

const PLAN: &str = "title = \"nice of a pipe\"\nstrategy = \"halving\"\nbudget = \"60s\"\ntrial = \"20ms\"\nlatency = \"off\"\n\
    counters = \"basic\"\n[[workload]]\nrun = \"pipe:pin=same\"\n[[knob]]\nset = \"nice\"\nvalues = [\"3\", \"9\"]\n\
    [[knob]]\nset = \"timer_slack\"\nrange = [\"1us\", \"50us\"]\nsteps = 2\n";

fn search(lab: &Lab, plan: &str, options: &[&str]) -> Ran {
    std::fs::write(lab.path("plan.toml"), plan).unwrap();
    let (plan, out) = (lab.path("plan.toml"), lab.path("out"));
    schedlab(&[&["run", &plan, "-o", &out], options].concat())
}

#[test]
fn a_search_says_what_it_will_do_or_why_it_cannot() {
    let lab = Lab::new("search-dry");
    let shown = search(&lab, PLAN, &["--dry-run"]).success().stdout;
    for part in ["strategy = \"halving\"", "# 4 points of 2 knobs", "then the winner and", "round 1", "needs"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!std::path::Path::new(&lab.path("out")).exists(), "nothing was run");
    let refused = |plan: &str, part: &str| {
        let ran = search(&lab, plan, &[]);
        assert!(ran.code == 2 && ran.stderr.contains(part), "{part}: {:?} {}", ran.code, ran.stderr);
    };
    refused(&PLAN.replace("60s", "1s"), "give at least");
    refused(&PLAN.replace("set = \"nice\"", "set = \"nise\""), "did you mean `nice`");
    refused(&PLAN.replace("steps = 2", "stpes = 2"), "did you mean `steps`");
}

#[test]
fn a_search_leaves_its_findings_and_goes_on_from_its_rounds() {
    let lab = Lab::new("search-run");
    let first = search(&lab, PLAN, &["--json"]).success();
    let found = json(&first.stdout);
    assert_eq!(found["schema"], "schedlab/search/1");
    assert_eq!(found["measured"].as_array().unwrap().len(), 4, "{}", first.stdout);
    assert_eq!(found["confirmed"].as_array().unwrap().len(), 3);
    assert!(found["confirmed"][0]["fresh"][0]["lo"].is_number(), "{}", first.stdout);
    let html = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    let markdown = std::fs::read_to_string(lab.path("out/report.md")).unwrap();
    assert!(html.contains("Measured again, in fresh trials") && markdown.contains("| point"), "{markdown}");
    let text = schedlab(&["report", &lab.path("out")]).success().stdout;
    assert!(text.contains("Measured again") && text.contains("as the search saw it"), "{text}");
    // Told its rounds again it says the same, without a trial.
    let again = search(&lab, PLAN, &["--json", "--resume"]).success();
    assert_eq!(json(&again.stdout), found);
    assert!(!again.stderr.contains("round 1:"), "{}", again.stderr);
    let other = search(&lab, &PLAN.replace("\"9\"", "\"8\""), &["--resume"]);
    assert!(other.code == 1 && other.stderr.contains("another plan"), "{}", other.stderr);
    let twice = search(&lab, PLAN, &[]);
    assert!(twice.code == 1 && twice.stderr.contains("--resume"), "{}", twice.stderr);
}

/// Of the one test that loads files: what it leaves out for want of something.
fn skip(need: &str) {
    eprintln!("schedlab-skip: exported_files_are_what_their_programs_load: needs {need}");
}

fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        skip(program);
    }
    there
}

fn ran(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

#[test]
fn exported_files_are_what_their_programs_load() {
    let lab = Lab::new("search-export");
    let out = lab.path("keep");
    let period = std::fs::read_to_string("/proc/sys/kernel/sched_rt_period_us").unwrap();
    let sysctl = format!("rt_period={}", period.trim());
    let settings = [&sysctl, "debugfs:sched/base_slice_ns=3000000", "thp=madvise", "nice=5"];
    let said = schedlab(&[&["tune", "export", "-o", &out], &settings[..]].concat());
    // A locked debugfs has no file to be checked against; the unit is then of the others.
    let said = if said.code == 0 {
        said
    } else {
        skip("debugfs");
        schedlab(&["tune", "export", "-o", &out, &sysctl, "thp=madvise", "nice=5"])
    };
    let said = said.success().stdout;
    assert!(said.contains("sysctl -p") && said.contains("undo: "), "{said}");
    let file = |name: &str| lab.path(&format!("keep/{name}"));
    let may_write = std::fs::OpenOptions::new().write(true).open("/proc/sys/kernel/sched_rt_period_us").is_ok();
    if !may_write {
        skip("root");
    }
    if has("sysctl") && may_write {
        // The value it has: nothing changes.
        let loaded = ran(Command::new("sysctl").args(["-p", &file("90-schedlab.conf")]));
        assert!(loaded.contains("kernel.sched_rt_period_us"), "{loaded}");
    }
    if has("systemd-analyze") {
        ran(Command::new("systemd-analyze").args(["verify", "--man=no", &file("schedlab-knobs.service")]));
    }
    let nice =
        ran(Command::new("sh").arg(file("schedlab-run")).arg("nice").env("SCHEDLAB", env!("CARGO_BIN_EXE_schedlab")));
    assert!(nice.contains('5'), "{nice}");
    let unknown = schedlab(&["tune", "export", "-o", &out, "rt_perod=1"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("did you mean"), "{}", unknown.stderr);
}
