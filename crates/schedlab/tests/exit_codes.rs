//! Exit codes, on which scripts rely: which words are usage errors, what a signal ends, what leaves nothing to compare.

mod program;

use program::{Lab, json, schedlab};
use schedlab_sys::signal::{SIGINT, SIGTERM, kill};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// SIGHUP on every architecture we build for.
const SIGHUP: i32 = 1;

#[test]
fn a_run_directory_that_cannot_be_made_names_the_option() {
    let lab = Lab::new("codes-out");
    let values = lab.path("x.csv");
    std::fs::write(&values, "arm,value\na,1\na,2\nb,3\nb,4\n").unwrap();
    for command in [&["import", &values][..], &["ab", "-w", "pipe:loops=10", "--b", "nice=1", "--trials", "6"]] {
        let refused = schedlab(&[command, &["-o", "/proc/no"]].concat());
        assert!(refused.code == 1 && refused.stderr.contains("with -o DIR: /proc/no"), "{}", refused.stderr);
    }
}

#[test]
fn words_that_cannot_be_meant_are_2_and_what_this_machine_refuses_is_1() {
    let lab = Lab::new("codes");
    let plan = |name: &str, text: &str| {
        std::fs::write(lab.path(name), text).unwrap();
        lab.path(name)
    };
    let arms = "[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"nice=1\"\n";
    let (no_toml, unknown_key) = (plan("a", "trials = "), plan("b", &format!("trails = 6\n{arms}")));
    let short = plan("c", &format!("budget = \"10ms\"\n{arms}"));
    let absent = lab.path("absent.toml");
    let ab = ["ab", "-w", "pipe", "--b", "nice=1", "--dry-run"];
    let with = |more: &[&'static str]| [&ab[..], more].concat();
    for (code, arguments) in [
        (2, vec!["bench"]),
        (2, vec!["ab", "-w", "pipe", "--bb", "nice=1"]),
        (2, vec!["bench", "mesaging"]),
        (2, vec!["bench", "pipe/9"]),
        (2, vec!["bench", "pipe:pni=same"]),
        (2, vec!["bench", "pipe:duration=5"]),
        (2, vec!["bench", "pipe", "--set", "slcie=1ms"]),
        (2, vec!["bench", "pipe", "--set", "nice=99"]),
        (2, vec!["bench", "pipe", "--", "true"]),
        (2, vec!["ab", "-w", "pipe", "--b", "policy=bacth"]),
        (2, vec!["ab", "-w", "exec", "--b", "nice=1"]),
        (2, with(&["--sesoi", "0"])),
        (2, with(&["--budget", "1ms"])),
        (2, with(&["--trials", "2"])),
        (2, with(&["--json"])),
        (2, vec!["record"]),
        (2, vec!["record", "-d", "5"]),
        (2, vec!["record", "-d", "0s"]),
        (2, vec!["record", "-d", "-5s"]),
        (2, with(&["--budget", "-1s"])),
        (2, vec!["record", "-d", "1s", "--events", "foo"]),
        (2, vec!["trace", "latency", "--time", "5,3", "t"]),
        (2, vec!["trace", "latency", "--prio", "foo", "t"]),
        (2, vec!["trace", "latency", "--state", "Q", "t"]),
        (2, vec!["trace", "convert", "-o", "x.foo", "t"]),
        (2, vec!["vm", "fetch", "debian:6.1", "--mirror", "notaurl"]),
        (2, vec!["vm", "fetch", "debian"]),
        (2, vec!["vm", "run", "--kernel", "debian:6.x", "--", "list"]),
        (2, vec!["run", &no_toml]),
        (2, vec!["run", &unknown_key]),
        (2, vec!["run", &short]),
        (1, vec!["run", &absent]),
        (1, vec!["report", "/nowhere"]),
        (1, vec!["bench", "pipe", "--set", "sysctl:kernel.nosuch=1"]),
        (1, vec!["bench", "pipe", "--set", "cpus=4095"]),
        (1, vec!["bench", "pipe:cpus=4095"]),
        (1, vec!["ab", "-w", "pipe:cpus=4095", "--b", "nice=1", "--dry-run"]),
        (2, vec!["bench", "pipe:cpus=x"]),
        (1, vec!["bench", "pipe", "--json", "/nowhere/outcome.json"]),
        (0, with(&[])),
    ] {
        let ran = schedlab(&arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        // The same prefix for all errors.
        assert!(code == 0 || ran.stderr.starts_with("schedlab: "), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("error:"), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn an_arm_that_is_not_applied_is_known_before_anything_is_measured() {
    let lab = Lab::new("not-applied");
    let out = lab.path("run");
    // Less than -1 is out of range, and not every user may write it at all.
    let refused = "sysctl:kernel.sched_rt_runtime_us=-2";
    let ran = schedlab(&["ab", "-w", "pipe:pin=same", "--b", refused, "--trials", "6", "--trial", "20ms", "-o", &out]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(!ran.stderr.contains("block"), "no pilot: {}", ran.stderr);
    let run = schedlab_run::RunReader::open(std::path::Path::new(&out)).unwrap();
    assert_eq!(run.trials.len(), 1);
    assert!(run.trials[0].outcome.is_none() && run.manifest.ended.starts_with("nothing left to compare"));
    assert!(!ran.stdout.contains("settled"), "one trial settles nothing: {}", ran.stdout);
    assert!(ran.stdout.contains("`B` is not applied") && !ran.stdout.contains("% faster"), "{}", ran.stdout);
}

/// Starts a run, sends it the signal when a tenth of its blocks are done, and returns its exit code and output.
fn ended_by(signal: i32, arguments: &[&str], directory: &str) -> (Option<i32>, String) {
    let mut child = program::command()
        .args(arguments)
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut said, mut seen) = (String::new(), false);
    for line in BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok) {
        if line.starts_with("pipe: block ") && !seen {
            seen = true;
            kill(child.id(), signal).unwrap();
        }
        said += &format!("{line}\n");
    }
    (child.wait().unwrap().code(), said)
}

#[test]
fn a_run_that_is_told_to_end_says_by_its_code_and_how_to_go_on() {
    let lab = Lab::new("told");
    let ab = ["ab", "-w", "pipe:loops=10,pin=same", "--b", "nice=1", "--trials", "200", "--counters", "basic"];
    for (signal, code, out) in [(SIGINT, 130, ""), (SIGTERM, 143, "-2"), (SIGHUP, 129, "-3")] {
        let (ended, said) = ended_by(signal, &ab, &lab.path(""));
        assert_eq!((ended, said.matches("the run ends after this trial").count()), (Some(code), 1), "{said}");
        let line =
            said.lines().find_map(|line| line.strip_prefix("schedlab: interrupted; to continue: ")).expect(&said);
        let words = schedlab_plan::shell_words::split(line).unwrap();
        let dir = format!("out/ab-pipe-loops-10-pin-same{out}");
        assert_eq!(words[1..], [&["ab", "--resume", "-o", &dir][..], &ab[1..]].concat());
        let run = || schedlab_run::RunReader::open(std::path::Path::new(&lab.path(&dir))).unwrap();
        let before = run().trials.len();
        assert!(before > 8 && run().manifest.ended == "interrupted", "{said}");
        // The printed command line works, and prints the same when it is told to end.
        let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let (ended, said) = ended_by(signal, &words, &lab.path(""));
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains("resumed after") && said.contains(line), "{said}");
        assert!(run().trials.len() > before, "{said}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_answered_with_the_option_that_names_another() {
    let lab = Lab::new("place");
    std::fs::write(lab.path("out"), "a file where runs would be").unwrap();
    for arguments in [&["ab", "-w", "pipe", "--b", "nice=1", "--trials", "6"][..], &["record", "-d", "1s"]] {
        let ran = program::command().args(arguments).current_dir(lab.path("")).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.code() == Some(1) && said.contains("-o DIR"), "{arguments:?}: {said}");
    }
}

#[test]
fn two_commands_are_compared_without_a_third() {
    let lab = Lab::new("two-commands");
    let out = lab.path("run");
    let arguments = ["ab", "true", "sleep 0.5", "--trials", "6", "--json", "-o", &out];
    let contrast = json(&schedlab(&arguments).success().stdout)["workloads"][0]["metrics"][0]["contrasts"][0].clone();
    assert_eq!(contrast["verdict"]["kind"], "worse", "{contrast}");
    let page = schedlab(&["report", &out, "--full"]).success().stdout;
    let text = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.starts_with("• B (`sleep 0.5`) is ") && text.contains("] than A (`true`): 6 "), "{page}");
    assert!(!text.contains("makes true") && !text.contains("option:command=true: "), "{page}");
    // The same, written as a setting.
    let plan = |arguments: &[&str]| schedlab(&[&["ab"], arguments, &["--seed", "1", "--dry-run"]].concat());
    let of_settings = ["-w", "exec", "--a", "option:command=true", "--b", "nice=1;option:command=sleep 0.1"];
    let arms = |plan: &str| plan.lines().filter(|line| line.starts_with("set = ")).collect::<Vec<_>>().join(", ");
    let of_commands = plan(&["true", "sleep 0.1", "--b", "nice=1"]).success().stdout;
    assert_eq!(arms(&of_commands), arms(&plan(&of_settings).success().stdout));
    for (arguments, needle) in [
        (&["true"][..], "2 values"),
        (&["true", "sh -c 'a; b'"], "put the command into a script"),
        (&["true", "false", "-w", "pipe"], "cannot be used with '--workload"),
        (&["-w", "pipe"], "--b <SPEC>"),
    ] {
        let ran = plan(arguments);
        assert!(ran.code == 2 && ran.stderr.contains(needle), "{arguments:?}: {} {}", ran.code, ran.stderr);
    }
    // A command that only one side has leaves the other one without.
    let one = schedlab(&["ab", "-w", "exec", "--a", "option:command=true", "--b", "nice=1", "--dry-run"]);
    assert!(one.code == 2 && one.stderr.contains("there is no command"), "{}", one.stderr);
}
