//! What a text lacks because of the choice of what was recorded and printed.

use super::{TRACEFS, read};
use crate::ProblemKind;

/// The notes about the recording.
fn notes(text: &str) -> Vec<String> {
    let (_, reader) = read(text).expect("a trace");
    reader
        .problems()
        .all()
        .filter(|p| matches!(p.kind, ProblemKind::Recording | ProblemKind::SomeCpus))
        .map(|p| p.to_string())
        .collect()
}

#[test]
fn wakings_without_the_context_are_reported() {
    let without = TRACEFS.replace("d..2.", "").replace("d.h2.", "");
    let reported = notes(&without);
    assert!(
        reported.len() == 1 && reported[0].starts_with("the interrupt context of wakings is not in this text"),
        "{reported:?}"
    );
    let switches: String = without.lines().filter(|l| !l.contains("_wak")).map(|l| format!("{l}\n")).collect();
    assert_eq!((notes(TRACEFS), notes(&switches)), (vec![], vec![]));
}

#[test]
fn each_thing_that_is_lacking_has_its_note() {
    let without = TRACEFS.replace("d..2.", "").replace("d.h2.", "").replace("4/4", "4/9");
    let reported = notes(&without);
    assert!(
        reported.len() == 2 && reported[0].ends_with("irq-info") && reported[1].ends_with("first event (5 in all)"),
        "{reported:?}"
    );
}

#[test]
fn words_without_a_plus_are_reported() {
    let text = |state: &str| {
        format!(
            "cpus=1\n  A-10    [000] d..2.  1.000010: sched_switch:         A:10 [120] {state} ==> swapper/0:0 [120]\n\
             <idle>-0  [000] d..2.  1.000025: sched_switch:         swapper/0:0 [120] R ==> B:11 [120]\n"
        )
    };
    assert_eq!(notes(&text("S")), Vec::<String>::new());
    let reported = notes(&text("R"));
    assert!(reported[0].contains("do not show a preemption inside the kernel: `R` is `R` or `R+`"), "{reported:?}");
    assert_eq!(notes(&TRACEFS.replace("prev_state=S", "prev_state=R")), Vec::<String>::new());
}

/// One of two CPUs, CPU 0, as in `per_cpu/cpu0/trace` or with `perf script -C 0`: A is moved away, and comes back.
#[test]
fn a_part_of_the_cpus_is_reported() {
    let line = |cpu: u32, ms: u32, event: &str| format!("  A-10 [{cpu:03}] d..2. 1.{ms:03}000: {event}\n");
    let switch = |prev: u32, next: u32| {
        format!(
            "sched_switch: prev_comm=A prev_pid={prev} prev_prio=120 prev_state=R ==> next_comm=A next_pid={next} next_prio=120"
        )
    };
    let away = "sched_migrate_task: comm=A pid=10 prio=120 orig_cpu=0 dest_cpu=1";
    let woken = "sched_wakeup: comm=B pid=11 prio=120 target_cpu=001";
    let part = [line(0, 1, &switch(10, 0)), line(0, 2, away), line(0, 3, woken), line(0, 40, &switch(0, 10))].concat();
    let reported = notes(&part);
    let expected = "the trace has events of CPU 0 and none of CPU 1, to which tasks were sent: what they did there is \
                    missing, and a wait may have been a run there; record and print all CPUs";
    assert_eq!(reported, [expected]);
    // The other CPU has an event, or is not known to have missed one: idle CPUs are not reported.
    assert_eq!(notes(&format!("{part}{}", line(1, 50, "cpu_idle: state=1 cpu_id=1"))), Vec::<String>::new());
    assert_eq!(notes(&part.replace("dest_cpu=1", "dest_cpu=0")), Vec::<String>::new());
}
