//! Histories of settings bisected by the real binary: the planted cost is found, a killed study continues, and the
//! reason is given for what cannot be bisected.

mod program;

use program::guests::from;
use program::sources::{git, write as source};
use program::{Lab, json};
use std::path::Path;

/// A history of settings in which every member from `change` on has a spin many times as long as a round trip.
fn history(lab: &Lab, members: usize, change: usize) {
    let plan = "trials = 6\nlatency = \"off\"\ncounters = \"basic\"\n[[workload]]\nrun = \"pipe:pin=same,loops=60\"\n\
                [[arm]]\nname = \"a\"\n";
    std::fs::write(lab.path("plan.toml"), plan).unwrap();
    let line = |member: usize| format!("plant=spin:{}ns\n", if member >= change { 300_000 + member } else { member });
    std::fs::write(lab.path("arms"), (0..members).map(line).collect::<String>()).unwrap();
}

const BISECT: [&str; 7] = ["bisect", "--plan", "plan.toml", "--arms", "arms", "--no-why", "--json"];

#[test]
fn the_member_with_the_cost_is_found_and_the_study_is_kept() {
    let lab = Lab::new("bisect");
    history(&lab, 8, 5);
    let shown =
        from(&lab, &["bisect", "0", "7", "--plan", "plan.toml", "--arms", "arms", "--dry-run"]).success().stdout;
    assert!(shown.contains("8 members, good first") && shown.contains("set = \"plant=spin:300.007us\""), "{shown}");
    assert!(!Path::new(&lab.path("out")).exists(), "nothing was run");
    let found = from(&lab, &[&BISECT[..], &["0", "7"]].concat()).success();
    let answer = json(&found.stdout);
    assert_eq!(answer["answer"]["kind"], "change", "{}", found.stdout);
    assert_eq!((&answer["answer"]["last_good"], &answer["answer"]["first_bad"]), (&4.into(), &5.into()));
    assert!(answer["answer"]["probability"].as_f64().unwrap() >= 0.95);
    assert!(answer["ends"]["hi"].as_f64().unwrap() < 1.0, "{}", found.stdout);
    // Not from the trials that told the ends apart; if no others straddle the change, there is no value. The width of
    // its interval depends on other load.
    assert!(answer["change"]["value"].as_f64().is_none_or(|value| value < 1.0), "{}", found.stdout);
    let rounds = answer["rounds"].as_u64().unwrap();
    assert!((2..=20).contains(&rounds), "{rounds}");
    let between = std::fs::read_to_string(lab.path("out/bisect-plan/between.toml")).unwrap();
    assert!(between.contains("plant=spin:300.005us") && between.contains("set = \"plant=spin:4ns\""), "{between}");
    assert_eq!(answer["why"], serde_json::Value::Null, "it was not asked");
    // Replayed, the study gives the same result without a trial; an incomplete last round is run.
    let last = lab.path(&format!("out/bisect-plan/rounds/{rounds:03}"));
    std::fs::remove_dir_all(last).unwrap();
    let again = from(&lab, &[&BISECT[..], &["0", "7", "--resume"]].concat()).success();
    assert_eq!(json(&again.stdout)["answer"]["first_bad"], 5, "{}", again.stderr);
    let run: Vec<&str> = again.stderr.lines().filter(|line| line.starts_with("round ")).collect();
    assert!(run.len() == 1 && run[0].starts_with(&format!("round {rounds}:")), "{run:?}");
}

#[test]
fn a_good_end_that_is_worse_is_said_at_once() {
    let lab = Lab::new("bisect-reversed");
    history(&lab, 4, 2);
    let arms = std::fs::read_to_string(lab.path("arms")).unwrap();
    let reversed: String = arms.lines().rev().map(|line| format!("{line}\n")).collect();
    std::fs::write(lab.path("arms"), reversed).unwrap();
    let found = from(&lab, &[&BISECT[..], &["0", "3"]].concat()).success();
    assert_eq!(json(&found.stdout)["answer"]["kind"], "reversed", "{}", found.stdout);
    assert!(found.stdout.contains("nothing became worse between them"));
}

#[test]
fn what_cannot_be_set_is_skipped_and_said() {
    let lab = Lab::new("bisect-skips");
    history(&lab, 6, 3);
    let arms = std::fs::read_to_string(lab.path("arms")).unwrap();
    let mut lines: Vec<&str> = arms.lines().collect();
    // Less than -1 is out of range, and not every user may write it at all.
    lines[3] = "sysctl:kernel.sched_rt_runtime_us=-2";
    std::fs::write(lab.path("arms"), lines.join("\n")).unwrap();
    let found = from(&lab, &[&BISECT[..], &["0", "5"]].concat()).success();
    let answer = json(&found.stdout);
    assert_eq!((&answer["answer"]["last_good"], &answer["answer"]["first_bad"]), (&2.into(), &4.into()), "{answer}");
    assert!(answer["members"][3]["skipped"].as_str().is_some_and(|why| !why.is_empty()), "{answer}");
    assert!(answer["sentence"].as_str().unwrap().contains("one of 2 members"), "{answer}");
    // The round that showed it is replayed before the member is known to be skipped.
    let again = from(&lab, &[&BISECT[..], &["0", "5", "--resume"]].concat()).success();
    assert_eq!(json(&again.stdout), answer, "{}", again.stderr);
    assert!(!again.stderr.lines().any(|line| line.starts_with("round ")), "{}", again.stderr);
}

#[test]
fn a_void_round_is_run_again_and_is_no_interrupt() {
    let lab = Lab::new("bisect-void");
    history(&lab, 3, 1);
    let plan = std::fs::read_to_string(lab.path("plan.toml")).unwrap();
    let never = "[[require]]\nmetric = \"round_trips_per_s\"\nabove = 1e12\n";
    std::fs::write(lab.path("plan.toml"), plan + never).unwrap();
    let void = from(&lab, &[&BISECT[..], &["0", "2"]].concat());
    assert_eq!((void.code, json(&void.stdout)["answer"]["kind"].as_str()), (5, Some("unfinished")), "{}", void.stderr);
    assert!(void.stderr.contains("the last round is void") && void.stderr.contains("--resume runs it again"));
    let again = from(&lab, &[&BISECT[..], &["0", "2", "--resume"]].concat());
    assert!(again.code == 5 && again.stderr.contains("round 1:"), "{}", again.stderr);
    assert!(Path::new(&lab.path("out/bisect-plan/rounds/001.old1")).is_dir());
}

#[test]
fn the_end_that_does_not_run_is_named() {
    let lab = Lab::new("bisect-end");
    history(&lab, 4, 2);
    let arms = std::fs::read_to_string(lab.path("arms")).unwrap();
    let mut lines: Vec<&str> = arms.lines().collect();
    lines[0] = "sysctl:kernel.sched_rt_runtime_us=-2";
    std::fs::write(lab.path("arms"), lines.join("\n")).unwrap();
    let refused = from(&lab, &[&BISECT[..], &["0", "3"]].concat()).failure();
    let said = "sysctl:kernel.sched_rt_runtime_us=-2, an end of the history, does not run";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
}

#[test]
fn what_is_no_history_is_one_sentence() {
    let lab = Lab::new("bisect-words");
    history(&lab, 3, 2);
    std::fs::create_dir(lab.path("empty")).unwrap();
    std::fs::write(lab.path("one"), "nice=1\n").unwrap();
    std::fs::create_dir(lab.path("series")).unwrap();
    std::fs::write(lab.path("series/1.patch"), "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+x\n").unwrap();
    git(&lab, "", &["init", "-q", &lab.path("program")]);
    for text in ["1", "2"] {
        source(&lab, "program/Makefile", text.as_bytes());
        git(&lab, "program", &["add", "-A"]);
        git(&lab, "program", &["commit", "-qm", text]);
    }
    let shown = from(&lab, &[&BISECT[..], &["0", "2", "--dry-run"]].concat()).success().stdout;
    assert_eq!(json(&shown)["members"].as_array().unwrap().len(), 3, "{shown}");
    let guests = "trials = 6\n[guest]\nkernel = \"debian:6.1\"\n[[workload]]\nrun = \"pipe\"\n";
    std::fs::write(lab.path("guests.toml"), guests).unwrap();
    let absent =
        ["bisect", "build:never", "build:built", "--kernels", "build:never,build:built", "--plan", "guests.toml"];
    let absent = from(&lab, &absent);
    assert!(absent.code == 1 && absent.stderr.contains("--kernels: build:never"), "{}", absent.stderr);
    for (arguments, needle) in [
        (&["0", "2", "--arms", "arms", "--resume", "-o", "nosuch"][..], "nosuch contains no study to resume"),
        (&["0", "2", "--arms", "arms", "--metric", "round_trips"], "did you mean `round_trips_per_s`?"),
        (&["2", "0", "--arms", "arms"], "exchange them"),
        (&["1", "1", "--arms", "arms"], "are the same member"),
        (&["0", "2", "--arms", "arms", "--only", "nosuch", "--dry-run"], "--only: "),
        (&["0", "1", "--arms", "one"], "the history has 1 member: a bisection needs two or more"),
        (&["0", "9", "--arms", "arms"], "BAD `9` is not in the list, nor an index from 0 to 2"),
        (&["0", "1"], "give a history to bisect: --kernels LIST"),
        (&["debian:6.1", "debian:6.12", "--kernels", "debian:6.1,debian:6.12"], "give the plan a [guest] table"),
        (&["0", "1", "--series", "empty", "--onto", "empty"], "holds no *.patch"),
        (&["0", "1", "--series", "series", "--onto", "empty", "--dry-run"], "empty is not a kernel source tree"),
        (&["a", "b", "--git", "empty"], "is not a commit of empty"),
        (&["HEAD~1", "HEAD", "--git", "program", "--dry-run"], "is not a kernel source tree: it has no Kconfig"),
        (&["0", "2", "--arms", "arms", "--max-trials", "10"], "48 at least"),
    ] {
        let ran = from(&lab, &[&["bisect", "--plan", "plan.toml"], arguments].concat());
        assert!(ran.code != 0 && ran.stderr.contains(needle), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
    assert!(!Path::new(&lab.path("out")).exists(), "nothing was written");
}
