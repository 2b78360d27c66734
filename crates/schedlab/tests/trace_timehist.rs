//! `trace timehist` and `trace latency` find the same waits in a file.

mod program;

use program::{Lab, json, schedlab};
use serde_json::Value;

/// A waits 10 µs for CPU 0; while it runs, events are lost, so that its run time is unknown.
const TRACE: &str = "\
    <idle>-0    [000] d..2.     1.000010: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
         A-10   [000] d..2.     1.000015: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
         C-12   [001] d..2.     1.000020: sched_waking: comm=A pid=10 prio=120 target_cpu=000
    <idle>-0    [000] d..2.     1.000030: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
CPU:0 [LOST 2 EVENTS]
         A-10   [000] d..2.     1.000040: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=B next_pid=11 next_prio=120
         B-11   [000] d..2.     1.000050: sched_switch: prev_comm=B prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn a_wait_has_its_line_also_where_the_time_on_a_cpu_after_it_is_not_known() {
    let lab = Lab::new("waits-of-both");
    let file = lab.path("trace.txt");
    std::fs::write(&file, TRACE).unwrap();
    let latency = json(&schedlab(&["trace", "latency", &file, "--json"]).success().stdout);
    let waits = &latency["total"]["wakeup"]["count"];
    assert_eq!((waits, &latency["total"]["censored_runs"]), (&1.into(), &1.into()));
    let lines = schedlab(&["trace", "timehist", &file, "--json", "--top", "0"]).success().stdout;
    let rows: Vec<Value> = lines.lines().map(json).collect();
    let waited: Vec<&Value> = rows.iter().filter(|row| !row["wakeup_wait_ns"].is_null()).collect();
    assert_eq!(waited.len() as u64, *waits, "{lines}");
    let row = waited[0];
    // The time when it left is unknown, so the time when it got the CPU is printed.
    assert_eq!((&row["at_ns"], &row["wakeup_wait_ns"]), (&1_000_030_000_u64.into(), &10_000.into()));
    assert_eq!((&row["run_ns"], &row["left"], &row["comm"]), (&Value::Null, &Value::Null, &"A".into()));
    let page = schedlab(&["trace", "timehist", &file]).success().stdout;
    let line = page.lines().find(|line| line.contains("1.000030")).unwrap_or_else(|| panic!("{page}"));
    assert_eq!(line.split_whitespace().rev().take(2).collect::<Vec<_>>(), ["–", "–"], "ran and left: {page}");
}
