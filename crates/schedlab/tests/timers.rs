//! `timer` and `wakeup` through the binary: missing privileges, and an arm with a planted stall.

#![allow(clippy::print_stderr)] // A skip says why.

mod program;

use program::{Lab, as_nobody, json, schedlab};
use std::path::Path;

#[test]
fn a_policy_without_rights_is_one_clear_line() {
    let lab = Lab::new("timer-nobody");
    let Some(ran) = as_nobody(&lab, &["bench", "timer:loops=5,policy=fifo:80"]) else {
        eprintln!("schedlab-skip: a_policy_without_rights_is_one_clear_line: needs root");
        return;
    };
    let complaint = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!((ran.status.code(), complaint.lines().count()), (Some(1), 1), "{complaint}");
    assert!(complaint.contains("policy=fifo:80") && complaint.contains("CAP_SYS_NICE"), "{complaint}");
    let ran = as_nobody(&lab, &["bench", "timer:loops=5"]).unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    if Path::new("/dev/cpu_dma_latency").exists() {
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(text.contains("cpu_dma_latency was not set"), "what is different here is said: {text}");
    }
}

#[test]
fn a_planted_stall_is_a_setting_of_an_arm() {
    let ran =
        schedlab(&["bench", "wakeup:1x1,rate=1000,work=0,think=0,duration=150ms", "--set", "plant=stall:40ms/100ms"]);
    assert!(ran.success().stdout.contains("wakeup/2: "));
    let outcome =
        schedlab(&["bench", "timer:duration=150ms", "--set", "plant=stall:40ms/100ms", "--json", "-", "--top", "0"]);
    let outcome = json(&outcome.success().stdout);
    let missed = outcome["metrics"].as_array().unwrap().iter().find(|m| m["name"] == "missed_periods").unwrap();
    assert!(missed["value"].as_f64().unwrap() >= 20.0, "{missed}");
    let refused = schedlab(&["bench", "timer", "--set", "plant=stall:2s/1s"]).failure();
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
}
