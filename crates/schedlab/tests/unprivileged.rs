//! The core needs no root: the same binary as user `nobody`, in a temporary directory.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, as_nobody, json};
use std::path::Path;

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
    let bench = as_nobody(&lab, &["bench", "pipe:pin=same,duration=300ms", "--json", "-", "--top", "0"]).unwrap();
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
fn a_recording_that_may_not_be_made_leaves_no_directory() {
    let lab = Lab::new("nobody-record");
    let out = lab.path("new/place");
    let workload = "pipe:pin=same,loops=10";
    for arguments in [
        &["record", "-o", &out, "-d", "1ms"][..],
        &["record", "-o", &out, "--", "true"],
        &["record", "-o", &out, "--", workload],
        &["bench", workload, "--trace", &out],
    ] {
        let Some(ran) = as_nobody(&lab, arguments) else {
            eprintln!("schedlab-skip: a_recording_that_may_not_be_made_leaves_no_directory: needs root");
            return;
        };
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        if ran.status.success() {
            // If every user may trace here (kernel.perf_event_paranoid is -1), the trace is made.
            assert!(Path::new(&out).join("trace.slt").exists(), "{arguments:?}");
            std::fs::remove_dir_all(lab.path("new")).unwrap();
            continue;
        }
        assert!(said.contains("tracefs") || said.contains("/run/schedlab"), "{arguments:?}: {said}");
        assert!(!Path::new(&lab.path("new")).exists(), "{arguments:?}");
    }
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
    // Without any cpu controller the reason is another one.
    assert!(said.contains("Delegate=yes") || said.contains("cpu controller"), "{said}");
    assert!(!Path::new(&out).exists(), "nothing half-written");
}

#[test]
fn a_setting_that_needs_root_is_not_applied_and_gets_no_verdict() {
    let lab = Lab::new("nobody-sysctl");
    let out = lab.path("run");
    let sysctl = "sysctl:kernel.sched_cfs_bandwidth_slice_us=4000";
    let arguments = [
        "ab",
        "-w",
        "pipe:pin=same",
        "--b",
        sysctl,
        "--trials",
        "6",
        "--trial",
        "20ms",
        "--out",
        &out,
        "--json",
        "--top",
        "0",
    ];
    let Some(ran) = as_nobody(&lab, &arguments) else {
        eprintln!("schedlab-skip: a_setting_that_needs_root_is_not_applied_and_gets_no_verdict: needs root");
        return;
    };
    assert_eq!(ran.status.code(), Some(5), "{}", String::from_utf8_lossy(&ran.stderr));
    let findings = json(&String::from_utf8_lossy(&ran.stdout));
    assert_eq!(findings["workloads"][0]["metrics"], json("[]"), "nothing was measured");
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
    // A filter needs no privileges either, and a payload can be copied between processes of the same user.
    for transport in ["seccomp-notify", "futex"] {
        let spec = format!("throughput:loops=5,bytes=64,transport={transport}");
        let ran = as_nobody(&lab, &["bench", &spec]).unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() || said.contains("(Linux "), "{transport}: {said}");
    }
}

#[test]
fn a_profile_is_of_ones_own_processes_and_says_what_more_needs() {
    let lab = Lab::new("nobody-profile");
    let test = "a_profile_is_of_ones_own_processes_and_says_what_more_needs";
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let burn = "BEGIN { for (i = 0; i < 3000000; i++) x += i % 7 }";
    let Some(ran) = as_nobody(&lab, &["profile", "-F", "1999", "--json", "--", "awk", burn]) else {
        eprintln!("schedlab-skip: {test}: needs root to become nobody");
        return;
    };
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    if !matches!(paranoid.trim(), "-1" | "0" | "1" | "2") || said.contains("perf events are refused") {
        assert!(!ran.status.success() && said.contains("kernel.perf_event_paranoid is"), "{said}");
        eprintln!("schedlab-skip: {test}: needs kernel.perf_event_paranoid of 2 or less");
        return;
    }
    assert!(ran.status.success(), "{said}");
    let found = json(&String::from_utf8_lossy(&ran.stdout));
    assert!(found["samples"].as_u64() > Some(20), "{found}");
    if paranoid.trim() == "2" {
        assert!(found["notes"].to_string().contains("user code only: the kernel's side needs root"), "{found}");
        let in_kernel = |f: &&serde_json::Value| f["image"] == "[kernel]";
        assert_eq!(found["functions"].as_array().unwrap().iter().find(in_kernel), None);
        let whole = as_nobody(&lab, &["profile", "-d", "10ms"]).unwrap();
        let said = String::from_utf8_lossy(&whole.stderr).into_owned();
        assert!(!whole.status.success() && said.lines().count() == 1, "{said}");
        assert!(said.contains("the whole machine can be sampled by root") && said.contains("it is 2"), "{said}");
    }
}

#[test]
fn a_restore_with_nothing_of_ones_own_is_quiet_about_what_is_another_users() {
    let test = "a_restore_with_nothing_of_ones_own_is_quiet_about_what_is_another_users";
    let lab = Lab::new("unprivileged-restore");
    // What a killed run of root leaves; the name is unique to this test.
    let entry = Path::new("/run/schedlab/netns").join(format!("schedlab-test-{}", std::process::id()));
    let made = std::fs::create_dir_all(entry.parent().unwrap()).and_then(|()| std::fs::write(&entry, "7"));
    if made.is_err() {
        eprintln!("schedlab-skip: {test}: needs root");
        return;
    }
    let output = as_nobody(&lab, &["tune", "restore"]);
    let _ = std::fs::remove_file(&entry);
    let Some(output) = output else {
        eprintln!("schedlab-skip: {test}: needs setpriv and root");
        return;
    };
    let (said, seen) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success() && said.is_empty(), "{said}{seen}");
    assert!(seen.contains("0 settings restored"), "{seen}");
}

/// `tune set` writes the caller's network namespace, an arm writes that of its trial.
#[test]
fn a_network_knob_is_for_an_arm_and_not_for_tune_set() {
    let lab = Lab::new("nobody-net");
    let Some(ran) = as_nobody(&lab, &["tune", "catalog", "tcp_autocorking", "rmem_max", "--json"]) else {
        eprintln!("schedlab-skip: a_network_knob_is_for_an_arm_and_not_for_tune_set: needs root");
        return;
    };
    let knobs = json(&String::from_utf8_lossy(&ran.stdout))["knobs"].clone();
    let why = knobs[0]["why_not"].as_str().unwrap();
    assert!(knobs[0]["settable"] == false && why.contains("needs root: run with sudo; an arm"), "{why}");
    let plan = ["ab", "-w", "pipe", "--trial", "20ms", "--trials", "6", "--out", &lab.path("net")];
    let arm = as_nobody(&lab, &[&plan[..], &["--b", "sysctl:net.ipv4.tcp_autocorking=0"]].concat()).unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&arm.stdout), String::from_utf8_lossy(&arm.stderr));
    match knobs[0]["arm"].as_bool() {
        Some(true) => assert!(arm.status.success() && !said.contains("not applied"), "{said}"),
        _ => assert!(said.contains("not applied"), "{said}"),
    }
    assert_ne!(knobs[1]["arm"], true, "rmem_max is the whole host's: {knobs}");
    let text = String::from_utf8(as_nobody(&lab, &["tune", "catalog", "tcp_autocorking"]).unwrap().stdout).unwrap();
    assert!(text.contains("not set by `tune set` here") || knobs[0]["arm"] != true, "{text}");
}
