//! `exec`: any command as a workload and as a load; whatever it does, none of its processes is left behind.

mod program;

use program::{Lab, json, schedlab, wait_until};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A sleep time that no other process uses, so that /proc shows whose it is.
fn mark(number: u32) -> String {
    format!("{}.{number}", 100_000 + std::process::id())
}

/// Live processes with this argument.
fn with_argument(argument: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&b| b == 0).any(|word| word == argument.as_bytes())
    };
    pids.filter(has).collect()
}

fn parent_of(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn metric(outcome: &serde_json::Value, name: &str) -> Option<f64> {
    outcome["metrics"].as_array()?.iter().find(|m| m["name"] == name)?["value"].as_f64()
}

#[test]
fn a_commands_figure_and_its_trees_usage_are_reported() {
    let script = "echo 'tps = 1,234.5'; (head -c 20000000 /dev/zero | md5sum >/dev/null)";
    let arguments = ["bench", "exec", "--metric", "tps = ([0-9,.]+)", "--unit", "1/s", "--direction", "higher"];
    let tail = ["--name", "tps", "--json", "-", "--top", "0", "--", "sh", "-c", script];
    let outcome = json(&schedlab(&[&arguments[..], &tail].concat()).success().stdout);
    assert_eq!((outcome["workload"].as_str(), outcome["metrics"][0]["name"].as_str()), (Some("exec/1"), Some("tps")));
    assert_eq!(metric(&outcome, "tps"), Some(1234.5));
    assert!(metric(&outcome, "cpu_s").unwrap() > 0.0, "md5sum is a grandchild and counts");
    assert!(metric(&outcome, "time_s").unwrap() > 0.0 && metric(&outcome, "max_rss_bytes").unwrap() > 100_000.0);
    let counted = |name: &str| outcome["counters"].as_array().unwrap().iter().any(|c| c["name"] == name);
    assert!(counted("voluntary_switches") && counted("context_switches"));
}

#[test]
fn settings_are_those_of_the_command() {
    let arguments = ["bench", "exec", "--set", "nice=7;policy=batch;cpus=0", "--metric", "^([0-9]+)"];
    let script = "nice; chrt -p $$ | grep -q BATCH && taskset -cp $$ | grep -q 'list: 0$'";
    let tail = ["--direction", "neutral", "--json", "-", "--top", "0", "--", "sh", "-c", script];
    let outcome = json(&schedlab(&[&arguments[..], &tail].concat()).success().stdout);
    assert_eq!(metric(&outcome, "value"), Some(7.0));
    assert!(
        outcome["applied"].as_array().unwrap().iter().all(|a| a["not_applied"].is_null()),
        "{}",
        outcome["applied"]
    );
}

#[test]
fn setup_warm_up_and_cleanup_run_in_their_order_and_a_server_lives_in_between() {
    let lab = Lab::new("exec-steps");
    let (log, pid_file) = (lab.path("log"), lab.path("pid"));
    let setup = format!("sh -c 'echo setup >> {log}; sleep {} & echo $! > {pid_file}'", mark(1));
    let cleanup = format!("sh -c 'kill $(cat {pid_file}) && echo cleanup >> {log}'");
    let arguments =
        ["bench", "exec", "--setup", &setup, "--cleanup", &cleanup, "--warmup", "1", "--json", "-", "--top", "0", "--"];
    let script = format!("echo run >> {log}; kill -0 $(cat {pid_file})");
    let outcome = json(&schedlab(&[&arguments[..], &["sh", "-c", &script]].concat()).success().stdout);
    let lines = std::fs::read_to_string(&log).unwrap();
    assert_eq!(lines.split_whitespace().collect::<Vec<_>>(), ["setup", "run", "cleanup", "setup", "run", "cleanup"]);
    assert!(metric(&outcome, "server_cpu_s").is_some(), "what setup left running is told apart");
    assert_eq!(with_argument(&mark(1)), [] as [u32; 0]);
}

#[test]
fn a_command_that_fails_outlives_its_time_or_hides_its_figure_is_an_error_and_leaves_nothing() {
    let lab = Lab::new("exec-bad");
    let (log, sleep) = (lab.path("log"), mark(2));
    let cleanup = format!("sh -c 'echo cleaned >> {log}'");
    let daemon = format!("setsid sleep {sleep} & sh -c 'setsid sleep {sleep} &';");
    let cases: [(&[&str], String, &[&str]); 4] = [
        (&[], format!("{daemon} echo oops >&2; exit 3"), &["exited with code 3", "its output: oops"]),
        (
            &["--timeout", "300ms"],
            format!("{daemon} echo busy; sleep {sleep}"),
            &["outlived its 300ms", "its output: busy"],
        ),
        (
            &["--metric", "tps = (.*)", "--direction", "higher"],
            format!("{daemon} echo done"),
            &["no match", "its output: done"],
        ),
        (&[], format!("{daemon} kill -SEGV $$"), &["killed by signal 11"]),
    ];
    for (options, script, expected) in cases {
        let arguments = [&["bench", "exec", "--cleanup", &cleanup], options, &["--", "sh", "-c", &script]].concat();
        let started = Instant::now();
        let ran = schedlab(&arguments).failure();
        assert!(expected.iter().all(|text| ran.stderr.contains(text)), "{script}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert_eq!(with_argument(&sleep), [] as [u32; 0], "{script}");
        assert!(started.elapsed() < Duration::from_secs(60), "nobody waits for the sleep");
    }
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 4, "cleanup ran each time");
}

/// Starts a long command with a daemon, kills one of all processes, and checks that all are gone within two seconds.
fn killed(number: u32, victim: impl Fn(u32, u32) -> u32) -> String {
    let (lab, sleep) = (Lab::new(&format!("exec-kill{number}")), mark(number));
    let script = format!("(setsid sleep {sleep} &) ; sleep {sleep}; :");
    let cleanup = format!("sh -c 'echo cleaned >> {}'", lab.path("log"));
    let schedlab = program::command()
        .args(["bench", "exec", "--cleanup", &cleanup, "--", "sh", "-c", &script])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("two sleeps", || with_argument(&sleep).len() == 2);
    // One sleep is the shell's child; the other one becomes a child of the subreaper, the shell's parent, when the
    // process that forked it has ended. Until then the shell is an ancestor of both.
    let is_it = |p: u32| parent_of(parent_of(p)) == schedlab.id();
    let subreaper = || {
        let parents: Vec<u32> = with_argument(&sleep).into_iter().map(parent_of).collect();
        let above = |p: u32| parents.iter().any(|&other| other != p && parent_of(other) == p);
        parents.iter().copied().find(|&p| above(p) && is_it(p))
    };
    wait_until("a subreaper above the shell", || subreaper().is_some());
    let subreaper = subreaper().expect("both go on sleeping");
    let victim = victim(schedlab.id(), subreaper);
    assert!(Command::new("kill").args(["-KILL", &victim.to_string()]).status().unwrap().success());
    wait_until("nobody is left", || with_argument(&sleep).is_empty());
    wait_until("cleanup has run", || std::fs::exists(lab.path("log")).unwrap());
    String::from_utf8(schedlab.wait_with_output().unwrap().stderr).unwrap()
}

#[test]
fn whoever_is_killed_the_whole_tree_ends() {
    let error = killed(3, |_, subreaper| subreaper);
    assert!(error.contains("was killed by signal 9"), "{error}");
    let error = killed(4, |_, subreaper| parent_of(subreaper));
    assert!(error.contains("trial process died"), "{error}");
    // The killed program itself cannot print anything.
    killed(5, |schedlab, _| schedlab);
}

#[test]
fn a_command_is_compared_like_any_workload() {
    let lab = Lab::new("exec-ab");
    let out = lab.path("run");
    let arguments = [
        "ab", "-w", "exec", "--a", "nice=10", "--b", "nice=15", "--trials", "6", "--out", &out, "--json", "--top", "0",
    ];
    let figure = ["--metric", "([0-9]+)", "--direction", "lower", "--name", "nice", "--"];
    let ran = schedlab(&[&arguments[..], &figure, &["sh", "-c", "echo $((20 + $(nice)))"]].concat()).success();
    let contrast = json(&ran.stdout)["workloads"][0]["metrics"][0]["contrasts"][0].clone();
    assert_eq!(contrast["verdict"]["kind"], "worse", "{contrast}");
    assert_eq!(contrast["units"].as_u64(), Some(6));
}

#[test]
fn a_plans_command_needs_no_quoting() {
    let lab = Lab::new("exec-plan");
    let plan = lab.path("plan.toml");
    let text = r#"
        trials = 6
        [[workload]]
        run = "exec"
        command = ["sh", "-c", 'echo "a, b = 7"']
        options = { metric = 'a, b = ([0-9]+)', direction = "higher" }
        [[arm]]
        name = "a"
        [[arm]]
        name = "b"
    "#;
    std::fs::write(&plan, text).unwrap();
    let ran = schedlab(&["run", &plan, "--out", &lab.path("run"), "--json", "--top", "0"]).success();
    assert_eq!(json(&ran.stdout)["workloads"][0]["metrics"][0]["name"], "value");
    let switchback = text.replace("trials = 6", "trials = 6\ndesign = \"switchback\"");
    std::fs::write(&plan, switchback).unwrap();
    let refused = schedlab(&["run", &plan, "--out", &lab.path("no")]).failure();
    assert!(refused.stderr.contains("use blocks"), "{}", refused.stderr);
}

#[test]
fn a_load_that_is_a_command_runs_beside_and_is_gone_afterwards() {
    let sleep = mark(6);
    let load = format!("exec:sh -c '(setsid sleep {sleep} &) ; while :; do :; done'");
    let arguments = ["bench", "pipe:pin=same,duration=300ms", "--load", &load, "--json", "-", "--top", "0"];
    let outcome = json(&schedlab(&arguments).success().stdout);
    let report = &outcome["loads"][0];
    assert!(report["alive"] == true && report["asked_cpu_ns"] == 0, "{report}");
    assert!(report["achieved_cpu_ns"].as_u64().unwrap() > 10_000_000, "{report}");
    assert_eq!(with_argument(&sleep), [] as [u32; 0]);
}

#[test]
fn a_load_that_ends_or_fails_is_an_error_and_the_trial_stops_early() {
    for (command, counters, expected) in [
        ("exec:sleep 0.4", "full", "ended by itself"),
        ("exec:sh -c 'sleep 0.4; echo out of work >&2; exit 9'", "basic", "out of work"),
        ("exec:false", "full", "exited with code 1"),
    ] {
        let arguments = ["bench", "pipe:pin=same,duration=100s", "--counters", counters, "--load", command];
        let started = Instant::now();
        let ran = schedlab(&arguments).failure();
        assert!(ran.stderr.contains(expected) && ran.stderr.contains("load"), "{command}: {}", ran.stderr);
        assert!(started.elapsed() < Duration::from_secs(60), "{command}: the trial goes on without its load");
    }
    let ran = schedlab(&["bench", "pipe", "--load", "exec:true,metric=(x),direction=lower"]).failure();
    assert!(ran.stderr.contains("metric says nothing"), "{}", ran.stderr);
}
