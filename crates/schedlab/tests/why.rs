//! `schedlab why` end to end: a planted difference that no toggle of this host changes, and requests that are refused.

#![allow(clippy::print_stderr)] // Skips say why.

mod program;

use program::{Lab, json, schedlab};

const PLAN: &str = "title = \"planted\"\ntrials = 6\nlatency = \"off\"\ncounters = \"basic\"\n\
                    [[workload]]\nrun = \"pipe:pin=same,loops=60\"\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\n";

fn plan(lab: &Lab, set: &str) -> String {
    let file = lab.path("plan.toml");
    std::fs::write(&file, format!("{PLAN}set = \"{set}\"\n")).unwrap();
    file
}

/// The first two toggles of this host, if any can be switched.
fn toggles(test: &str, plan: &str) -> Option<Vec<String>> {
    let ran = schedlab(&["why", plan, "--dry-run"]);
    if ran.code != 0 {
        assert!(ran.stderr.contains("nothing can be switched here"), "{}", ran.stderr);
        eprintln!("schedlab-skip: {test}: needs root, or a host whose scheduler can be switched");
        return None;
    }
    let names = ran.stdout.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with("not "));
    Some(names.filter_map(|line| line.split("  ").next()).take(2).map(str::to_owned).collect())
}

#[test]
fn a_planted_difference_is_no_toggles_doing_and_a_study_goes_on_from_its_rounds() {
    let lab = Lab::new("why");
    let file = plan(&lab, "plant=spin:1ms");
    let Some(toggles) = toggles("a_planted_difference_is_no_toggles_doing", &file) else { return };
    let (out, only) = (lab.path("out"), toggles.join(","));
    let ran = schedlab(&["why", &file, "--only", &only, "-o", &out, "--json"]).success();
    let found = json(&ran.stdout);
    assert_eq!(found["schema"], "schedlab/why/1");
    assert_eq!(found["difference"]["is_there"], true, "{found}");
    assert_eq!((&found["finished"], found["stages"].as_array().unwrap().len()), (&true.into(), 1));
    assert_eq!(found["factors"].as_array().unwrap().len(), toggles.len());
    // One in twenty studies of equal arms names something: the verdict is not checked then, only the text.
    assert!(ran.stdout.len() < 20_000, "{}", ran.stdout.len());
    assert_eq!(found, json(&std::fs::read_to_string(format!("{out}/why.json")).unwrap()));
    let text = schedlab(&["why", &file, "--only", &only, "-o", &out, "--resume"]).success().stdout;
    assert!(text.contains("What goes with it") || text.contains("How it was looked for"), "{text}");
    // A bisection ends with `why`, and resumes with it.
    let arms = lab.path("arms");
    std::fs::write(&arms, "default\nplant=spin:1ms\n").unwrap();
    let study = lab.path("study");
    let bisect = ["bisect", "0", "1", "--plan", &file, "--arms", &arms, "--only", &toggles[0], "-o", &study, "--json"];
    let ends = json(&schedlab(&bisect).success().stdout);
    assert_eq!(ends["why"]["difference"]["is_there"], true, "{ends}");
    assert_eq!(ends["why"]["factors"].as_array().unwrap().len(), 1, "{ends}");
    std::fs::remove_dir_all(format!("{study}/why/rounds/002")).unwrap();
    let resumed = schedlab(&[&bisect[..], &["--resume"]].concat()).success();
    let run: Vec<&str> = resumed.stderr.lines().filter(|line| line.starts_with("round ")).collect();
    assert!(run.len() == 1 && run[0].starts_with("round 2:"), "{run:?}");
    assert_eq!(json(&resumed.stdout)["why"]["difference"], ends["why"]["difference"]);
    let again = schedlab(&["why", &file, "--only", &only, "-o", &out]).failure();
    assert!(again.stderr.contains("already contains rounds of a study"), "{}", again.stderr);
    // A run of the plan can serve as the first round.
    let run = format!("{out}/rounds/001");
    let from_run = schedlab(&["why", &run, "--only", &only, "--dry-run"]).success().stdout;
    assert!(from_run.contains("in all about") && !from_run.contains("the difference: "), "{from_run}");
}

#[test]
fn what_cannot_be_asked_is_told_in_a_sentence() {
    let lab = Lab::new("why-refused");
    let file = plan(&lab, "nice=1");
    let refused = |arguments: &[&str], code: i32, words: &str| {
        let ran = schedlab(arguments);
        assert_eq!((ran.code, ran.stderr.contains(words)), (code, true), "{arguments:?}: {}", ran.stderr);
    };
    refused(&["why", &file, "--kernels", "debian:6.1,debian:6.12"], 2, "`[guest]` table");
    refused(&["why", &file, "--kernels", "debian:6.1", "--only", "NO_X"], 2, "cannot be used with");
    let guests = lab.path("guests.toml");
    std::fs::write(
        &guests,
        PLAN.replace("[[workload]]", "[guest]\nkernel = \"debian:6.1\"\n[[workload]]") + "set = \"nice=1\"\n",
    )
    .unwrap();
    refused(
        &["why", &guests, "--kernels", "build:never-built,debian:6.1", "--dry-run"],
        1,
        "--kernels: build:never-built",
    );
    refused(&["why", &lab.path("nosuch")], 1, "nosuch");
    refused(&["why", &file, "--budget", "0"], 2, "no stage could start in it");
    refused(&["why", &file, "--only", ","], 2, "a value is required for '--only");
    if let Some(names) = toggles("what_cannot_be_asked", &file) {
        let one = &names[0];
        refused(&["why", &file, "--only", one, "--without", one], 2, "--without leaves none of the toggles");
        refused(&["why", &file, "--without", "nosuch=1", "--dry-run"], 2, "not a toggle of this plan's kernels");
    }
    // A run whose arms are equal leaves nothing to explain, and the forecast says so.
    let alike = plan(&lab, "plant=spin:0ns");
    if toggles("what_cannot_be_asked", &alike).is_some() {
        let run = lab.path("alike");
        schedlab(&["run", &alike, "-o", &run]).success();
        let shown = schedlab(&["why", &run, "--dry-run", "--json"]).success().stdout;
        let forecast = json(&shown);
        if forecast["stages"].as_array().unwrap().is_empty() {
            assert!(forecast["note"].as_str().unwrap().contains("no difference"), "{shown}");
        }
        let shown = json(&schedlab(&["why", &alike, "--dry-run", "--json"]).success().stdout);
        assert_eq!((&shown["schema"], &shown["stages"][0]["rows"]), (&"schedlab/why-forecast/1".into(), &1.into()));
    }
    let three = lab.path("three.toml");
    std::fs::write(&three, format!("{PLAN}set = \"nice=1\"\n[[arm]]\nname = \"c\"\nset = \"nice=2\"\n")).unwrap();
    refused(&["why", &three, "--dry-run"], 2, "3 arms");
}
