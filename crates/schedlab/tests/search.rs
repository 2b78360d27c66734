//! Searches by the real binary: the output before one, a short one with its files, and the files of `tune export` as
//! loaded by the programs that they are for.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, Ran, json, schedlab};
use std::process::Command;

const PLAN: &str = "title = \"nice of a pipe\"\nalpha = 0.1\nstrategy = \"halving\"\nbudget = \"60s\"\ntrial = \"20ms\"\nlatency = \"off\"\n\
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
    let old = PLAN.replace("set = \"nice\"", "name = \"old\"\nset = \"sysctl:kernel.sched_latency_ns\"");
    let knob = "[[knob]]\nset = \"debugfs:sched/latency_ns\"\nvalues = [1000000, 2000000]\n";
    for (search, sweep) in [("budget = \"60s\"", "budget = \"60s\""), ("\"halving\"", "\"one-at-a-time\"")] {
        refused(
            &format!("{}{knob}", old.replace(search, sweep)),
            "knob `old` (sysctl:kernel.sched_latency_ns) and knob `latency_ns` (debugfs:sched/latency_ns) set one knob",
        );
    }
    let control = "[[arm]]\nname = \"base\"\nset = \"debugfs:sched/latency_ns=1000000\"\n";
    refused(&format!("{old}{control}"), "sets one knob, latency, by two names");
    assert!(!std::path::Path::new(&lab.path("out")).exists(), "nothing was run");
}

#[test]
fn a_search_leaves_its_findings_and_goes_on_from_its_rounds() {
    let lab = Lab::new("search-run");
    let first = search(&lab, PLAN, &["--json"]).success();
    let found = json(&first.stdout);
    assert_eq!(found["schema"], "schedlab/search/1");
    assert_eq!(found["measured"].as_array().unwrap().len(), 4, "{}", first.stdout);
    assert_eq!(found["confirmed"].as_array().unwrap().len(), 3);
    let fresh = &found["confirmed"][0]["fresh"][0];
    assert!(fresh["lo"].is_number() && fresh["level"] == 0.9 && found["level"] == 0.9, "{}", first.stdout);
    assert!(found["confirmed"][1]["over_winner"]["lo"].is_number(), "{}", first.stdout);
    let html = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    let markdown = std::fs::read_to_string(lab.path("out/report.md")).unwrap();
    assert!(html.contains("Measured again, in fresh trials") && markdown.contains("| point"), "{markdown}");
    let none = schedlab(&["report", &lab.path("out"), "--svg", &lab.path("svg")]);
    assert!(none.code == 2 && none.stderr.contains("two objectives"), "{}", none.stderr);
    let text = schedlab(&["report", &lab.path("out")]).success().stdout;
    assert!(text.contains("Measured again") && text.contains("as the search saw it"), "{text}");
    // A replay of its rounds gives the same output, without a trial.
    let again = search(&lab, PLAN, &["--json", "--resume"]).success();
    assert_eq!(json(&again.stdout), found);
    assert_eq!(json(&schedlab(&["report", &lab.path("out"), "--json"]).success().stdout), found);
    // The exit code is the verdict, if requested.
    let code = match found["verdict"]["kind"].as_str() {
        Some("better" | "equivalent") => 0,
        Some("worse") => 3,
        _ => 4,
    };
    assert_eq!(search(&lab, PLAN, &["--resume", "--fail-on", "worse"]).code, code, "{}", found["verdict"]);
    // A report does not overwrite its own input.
    let plan = || std::fs::read_to_string(lab.path("out/plan.toml")).unwrap();
    let before = plan();
    let lost = schedlab(&["report", &lab.path("out"), "--md", &lab.path("out/plan.toml")]);
    assert!(lost.code == 2 && lost.stderr.contains("would be lost"), "{}", lost.stderr);
    assert_eq!(plan(), before);
    schedlab(&["report", &lab.path("out"), "--md", &lab.path("out/report.md")]).success();
    assert!(!again.stderr.contains("round 1:"), "{}", again.stderr);
    let other = search(&lab, &PLAN.replace("\"9\"", "\"8\""), &["--resume"]);
    assert!(other.code == 1 && other.stderr.contains("another plan"), "{}", other.stderr);
    let twice = search(&lab, PLAN, &[]);
    assert!(twice.code == 1 && twice.stderr.contains("--resume"), "{}", twice.stderr);
}

#[test]
fn a_search_without_a_point_that_can_be_set_is_void() {
    let lab = Lab::new("search-void");
    let plan = PLAN.split("[[knob]]").next().unwrap().to_owned()
        + "[[knob]]\nset = \"sysctl:kernel.no_such_knob\"\nvalues = [1, 2]\n";
    let ran = search(&lab, &plan, &[]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stdout.contains("no point could be set"), "{}", ran.stdout);
    assert!(ran.stdout.contains("this kernel has no sysctl"), "{}", ran.stdout);
}

#[test]
fn a_search_with_two_objectives_draws_its_front() {
    let lab = Lab::new("search-front");
    let plan = format!("objective = [\"round_trips_per_s\", \"cpu_ns_per_op\"]\n{PLAN}");
    search(&lab, &plan, &[]).success();
    assert_eq!(schedlab(&["report", &lab.path("out"), "--svg", &lab.path("svg")]).success().stdout, "");
    let svg = std::fs::read_to_string(lab.path("svg/front.svg")).unwrap();
    let html = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    for axis in ["round trips per second, higher is better", "CPU time per operation, lower is better"] {
        assert!(svg.contains(axis) && html.contains(axis), "{axis} in {svg}");
    }
}

#[test]
fn a_sweep_shows_its_points_order_and_time() {
    let lab = Lab::new("search-sweep");
    let sweep = |strategy: &str| {
        let plan = PLAN.replace("budget = \"60s\"", "trials = 6").replace("\"halving\"", strategy);
        search(&lab, &plan, &["--dry-run"])
    };
    let one = sweep("\"one-at-a-time\"").success().stdout;
    for part in [
        "# arm `default`: the host as it is",
        "# arm `nice=9`: ",
        "# arm `timer_slack=50us`",
        "6 blocks, about",
        "block 1: ",
    ] {
        assert!(one.contains(part), "{part} in {one}");
    }
    let cube = sweep("\"latin-hypercube\"\npoints = 3").success().stdout;
    assert_eq!(cube.matches("[[arm]]").count(), 4, "{cube}");
    let (_, order) = cube.split_once("block 0: ").unwrap();
    let (order, _) = order.split_once("block 1: ").unwrap();
    assert_eq!(order.matches("default").count(), 2, "the control is in every block: {order}");
    let many = sweep("\"latin-hypercube\"\npoints = 5");
    assert!(many.code == 2 && many.stderr.contains("give 2 to 4"), "{}", many.stderr);
}

#[test]
fn an_objective_that_no_trial_would_have_is_refused_before_anything_is_made() {
    let lab = Lab::new("search-objective");
    for (objective, more, needle) in [
        ("round_trip_per_s", "", "`round_trip_per_s` (did you mean `round_trips_per_s`?); it has"),
        ("latency_p50_ms_ns", "", "has no metric `latency_p50_ms_ns`"),
        ("latency_p99_ns", "latency = \"off\"\n", "with latency = \"off\" there are no stamps"),
    ] {
        let plan = format!("objective = [\"{objective}\"]\n{more}{}", PLAN.replace("latency = \"off\"\n", ""));
        for options in [&["--dry-run"][..], &[]] {
            let ran = search(&lab, &plan, options);
            assert!(ran.code == 2 && ran.stderr.contains(needle), "{objective} {options:?}: {}", ran.stderr);
            assert!(!std::path::Path::new(&lab.path("out")).exists(), "{}", ran.stderr);
        }
    }
}

#[test]
fn a_command_runs_with_its_settings_or_not_at_all() {
    let nice = schedlab(&["exec", "--nice", "5", "--timer-slack", "1ms", "--", "nice"]).success();
    assert_eq!(nice.stdout, "5\n");
    let slack = schedlab(&["exec", "--timer-slack", "0", "--", "cat", "/proc/self/timerslack_ns"]).success();
    assert!(slack.stderr.contains("timer_slack=default: timer_slack="), "0 is no slack of 0: {}", slack.stderr);
    let dry = schedlab(&["exec", "--timer-slack", "0", "--dry-run", "--", "true"]).success();
    assert!(dry.stdout.contains("timer_slack=default"), "{}", dry.stdout);
    let code = schedlab(&["exec", "--policy=batch", "--", "sh", "-c", "exit 7"]);
    assert_eq!(code.code, 7, "it becomes the command");
    let shown = schedlab(&["exec", "--nice=5", "--dry-run", "--", "echo", "a b"]).success().stdout;
    assert!(shown.ends_with("echo 'a b'\n") && shown.contains("nice=5"), "{shown}");
    for (options, code, seen) in
        [(&["--cpus=8191"][..], 1, "not online here"), (&["--nice=50"], 2, "nice"), (&[], 2, "nothing is set")]
    {
        let ran = schedlab(&[&["exec"], options, &["--", "echo", "it ran"]].concat());
        assert!(ran.code == code && ran.stderr.contains(seen) && ran.stdout.is_empty(), "{options:?}: {}", ran.stderr);
    }
    let missing = schedlab(&["exec", "--nice=5", "--", "/no/such/program"]);
    assert!(missing.code == 1 && missing.stderr.contains("cannot be run"), "{}", missing.stderr);
}

#[test]
fn an_export_keeps_a_file_that_has_other_text() {
    let lab = Lab::new("search-export-again");
    let out = lab.path("keep");
    let export = |value: &str| schedlab(&["tune", "export", value, "-o", &out]).success().stderr;
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        entries.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    };
    assert_eq!(export("nice=1"), "");
    let [name] = &names()[..] else { panic!("{:?}", names()) };
    assert_eq!(export("nice=1"), "", "the same text again");
    let first = std::fs::read(format!("{out}/{name}")).unwrap();
    let said = export("nice=2");
    assert!(said.contains(&format!("{name} has other text; the old file is kept as {name}.old1")), "{said}");
    assert_eq!(names(), [name.clone(), format!("{name}.old1")]);
    assert_eq!(std::fs::read(format!("{out}/{name}.old1")).unwrap(), first);
}

/// For the one test that loads files: what it leaves out because something is missing.
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

/// tuned itself, in separate namespaces: a profile directory of the test, and a sysctl that each network namespace has.
fn tuned_sets_it_and_takes_it_back(lab: &Lab) {
    let (own, profiles) = (lab.path("tuned"), lab.path("profiles"));
    schedlab(&["tune", "export", "-o", &own, "sysctl:net.core.somaxconn=777"]).success();
    ran(Command::new("cp").args(["-r", "/etc/tuned", &profiles]));
    std::fs::create_dir_all(format!("{profiles}/schedlab")).unwrap();
    std::fs::copy(format!("{own}/tuned.conf"), format!("{profiles}/schedlab/tuned.conf")).unwrap();
    let script = "mount --bind $0 /etc/tuned; cd $0; cat /proc/sys/net/core/somaxconn
        tuned --no-dbus --no-socket --profile schedlab --log $0/log --pid $0/pid & tuned=$!
        until grep -q 777 /proc/sys/net/core/somaxconn; do kill -0 $tuned || exit 1; sleep 0.1; done
        cat /proc/sys/net/core/somaxconn; kill $tuned; wait $tuned; cat /proc/sys/net/core/somaxconn";
    let said = ran(Command::new("unshare").args(["--net", "--mount", "sh", "-c", script, &profiles]));
    let values: Vec<&str> = said.lines().filter(|line| line.parse::<u32>().is_ok()).collect();
    let [before, during, after] = values[..] else { panic!("{said}") };
    assert!(during == "777" && before == after && before != during, "{said}");
}

/// Runs the printed commands for the profile, with a fake `tuned-adm` that prints how it was called.
fn the_profile_before_comes_back(lab: &Lab, keep: &str, said: &str) {
    let (_, line) = said.split_once("/tuned.conf: ").unwrap();
    let (apply, undo) = line.lines().next().unwrap().split_once("; undo: ").unwrap();
    let (etc, bin) = (lab.path("etc"), lab.path("bin"));
    for (dir, file, text) in [
        (&etc, "active_profile", "latency-performance\n"),
        (&bin, "tuned-adm", "#!/bin/sh\necho called $* | tee -a /etc/tuned/log\necho $2 > /etc/tuned/active_profile\n"),
    ] {
        std::fs::create_dir_all(dir).unwrap();
        std::fs::write(format!("{dir}/{file}"), text).unwrap();
    }
    let script = format!(
        "mount --bind {etc} /etc/tuned; chmod 755 {bin}/tuned-adm; PATH={bin}:$PATH; cd {keep}
         {apply}\n{apply}\n{undo}\nls /etc/tuned"
    );
    let said = ran(Command::new("unshare").args(["--mount", "sh", "-c", &script]));
    let calls =
        ["profile schedlab", "profile schedlab", "profile latency-performance"].map(|call| format!("called {call}"));
    assert!(said.starts_with(&calls.join("\n")) && said.ends_with("active_profile\nlog\n"), "{said}");
}

#[test]
fn exported_files_are_what_their_programs_load() {
    let lab = Lab::new("search-export");
    let out = lab.path("keep");
    let period = std::fs::read_to_string("/proc/sys/kernel/sched_rt_period_us").unwrap();
    let sysctl = format!("rt_period={}", period.trim());
    let settings = [&sysctl, "debugfs:sched/base_slice_ns=3000000", "thp=madvise", "nice=5"];
    let said = schedlab(&[&["tune", "export", "-o", &out], &settings[..]].concat());
    // With a locked debugfs there is no file to check against, so the unit has only the other settings.
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
        // The value that it already has: nothing changes.
        let loaded = ran(Command::new("sysctl").args(["-p", &file("90-schedlab.conf")]));
        assert!(loaded.contains("kernel.sched_rt_period_us"), "{loaded}");
    }
    if has("systemd-analyze") {
        ran(Command::new("systemd-analyze").args(["verify", "--man=no", &file("schedlab-knobs.service")]));
    }
    if has("tuned-adm") && may_write && has("unshare") {
        tuned_sets_it_and_takes_it_back(&lab);
        the_profile_before_comes_back(&lab, &out, &said);
    }
    let nice = ran(Command::new("sh").arg(file("schedlab-run")).arg("nice").env("SCHEDLAB", program::binary()));
    assert!(nice.contains('5'), "{nice}");
    let unknown = schedlab(&["tune", "export", "-o", &out, "rt_perod=1"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("did you mean"), "{}", unknown.stderr);
}
