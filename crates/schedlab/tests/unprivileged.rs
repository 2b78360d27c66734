//! The core needs no root: the same binary as user `nobody`, in a directory of its own.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const NOBODY: &str = "65534";

/// Runs the binary as nobody; `None` when this process may not become somebody else.
fn as_nobody(lab: &Lab, arguments: &[&str]) -> Option<std::process::Output> {
    let binary = lab.path("schedlab");
    if !Path::new(&binary).exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_schedlab"), &binary).unwrap();
        std::fs::set_permissions(lab.path(""), std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let dropped = ["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", &binary];
    let mut command = Command::new("setpriv");
    let output = command.args(dropped).args(arguments).env("HOME", lab.path("")).output().ok()?;
    let refused = String::from_utf8_lossy(&output.stderr).contains("setpriv:");
    (!refused).then_some(output)
}

#[test]
fn an_ab_runs_without_any_right_and_says_what_is_not_counted() {
    let lab = Lab::new("nobody");
    let out = lab.path("run");
    let arguments =
        ["ab", "-w", "pipe:pin=same", "--b", "policy=batch", "--trials", "6", "--trial", "30ms", "--out", &out];
    let Some(ran) = as_nobody(&lab, &arguments) else {
        eprintln!("schedlab-skip: an_ab_runs_without_any_right_and_says_what_is_not_counted: needs root");
        return;
    };
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{text}");
    let bench = as_nobody(&lab, &["bench", "pipe:pin=same,duration=50ms", "--json", "-"]).unwrap();
    let outcome = json(&String::from_utf8_lossy(&bench.stdout));
    let counters = outcome["counters"].as_array().unwrap();
    let value = |name: &str| counters.iter().find(|c| c["name"] == name && c["scope"] == "workload");
    for always in ["voluntary_switches", "run_delay_ns"] {
        let counter = value(always).unwrap_or_else(|| panic!("{always} comes from rusage and /proc: {counters:?}"));
        assert!(counter["count"]["exact"].is_u64(), "{counter}");
    }
    let refused = counters.iter().find(|c| c["source"] == "perf").expect("perf counters are named also when refused");
    assert!(refused["count"]["not_counted"].is_string(), "{refused}");
}

#[test]
fn cgroups_that_may_not_be_made_are_refused_before_the_first_trial() {
    let lab = Lab::new("nobody-cgroups");
    let out = lab.path("run");
    let Some(ran) = as_nobody(&lab, &["ab", "-w", "pipe:cgroups=apart", "--b", "nice=1", "--out", &out]) else {
        eprintln!("schedlab-skip: cgroups_that_may_not_be_made_are_refused_before_the_first_trial: needs root");
        return;
    };
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(!ran.status.success() && said.lines().count() == 1, "{said}");
    // Without any cpu controller there is another reason.
    assert!(said.contains("Delegate=yes") || said.contains("cpu controller"), "{said}");
    assert!(!Path::new(&out).exists(), "nothing half-written");
}

#[test]
fn a_setting_that_needs_root_is_not_applied_and_the_run_goes_on() {
    let lab = Lab::new("nobody-sysctl");
    let out = lab.path("run");
    let sysctl = "sysctl:kernel.sched_cfs_bandwidth_slice_us=4000";
    let arguments =
        ["ab", "-w", "pipe:pin=same", "--b", sysctl, "--trials", "6", "--trial", "20ms", "--out", &out, "--json"];
    let Some(ran) = as_nobody(&lab, &arguments) else {
        eprintln!("schedlab-skip: a_setting_that_needs_root_is_not_applied_and_the_run_goes_on: needs root");
        return;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let findings = json(&String::from_utf8_lossy(&ran.stdout));
    let contrast = &findings["workloads"][0]["metrics"][0]["contrasts"][0];
    assert_eq!(contrast["verdict"]["kind"], "no_verdict", "{contrast}");
    assert!(!findings["workloads"][0]["arms"][1]["not_applied"].as_array().unwrap().is_empty());
}

#[test]
fn without_the_right_the_fifo_class_of_transact_is_not_applicable_and_the_other_runs() {
    let lab = Lab::new("nobody-fifo");
    for thread in ["fresh", "kept"] {
        let spec = format!("transact:loops=30,compat=hwbinder,fifo-thread={thread}");
        let Some(ran) = as_nobody(&lab, &["bench", &spec]) else {
            eprintln!("schedlab-skip: without_the_right_the_fifo_class_of_transact: needs root to become nobody");
            return;
        };
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && said.contains("no FIFO class: SCHED_FIFO 99 was refused"), "{said}");
        let printed = json(&String::from_utf8_lossy(&ran.stdout));
        assert_eq!((&printed["ALL"]["I"], &printed["inheritance"]), (&30.into(), &"N/A".into()));
        assert!(printed["ALL"]["fifo_ms"]["avg"].is_null() && printed["ALL"]["other_ms"]["avg"].is_f64(), "{printed}");
    }
    // A filter needs no right either, and a payload is copied between processes of one user.
    for transport in ["seccomp-notify", "futex"] {
        let spec = format!("throughput:loops=5,bytes=64,transport={transport}");
        let ran = as_nobody(&lab, &["bench", &spec]).unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() || said.contains("(Linux "), "{transport}: {said}");
    }
}
