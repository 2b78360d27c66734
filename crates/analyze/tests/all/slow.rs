//! Slow operations on drawn timelines: every nanosecond of each is assigned to something.

use crate::drawn::drawn;
use schedlab_analyze::trace::slow::{self, Slow, SlowPart, SlowRow, slow};
use schedlab_plan::SlowOperation;

/// A on CPU 0 wakes B on CPU 1 at 112 and sleeps. B waits until C leaves at 150, and wakes A at 160, which runs again
/// at 164.
const ROUND_TRIP: &str = "
    1  80 B S > .
    1  90 . R > C
    0 100 . R > A
    0 112 waking B by A on 1
    0 113 wakeup B on 1
    0 115 A S > .
    1 150 C R > B
    1 160 waking A by B on 0
    1 161 wakeup A on 0
    0 164 . R > A
    1 170 B S > C
    0 180 A S > .
";

fn operation(tid: u32, from_us: u64, to_us: u64) -> SlowOperation {
    SlowOperation { name: "latency".into(), start_ns: from_us * 1000, end_ns: to_us * 1000, tid, group: 0 }
}

fn found(text: &str, operations: &[SlowOperation]) -> Slow {
    slow(&mut drawn(text, slow::wanted()), operations, None).unwrap()
}

/// For each step: thread, what it did, how long, µs.
fn steps(row: &SlowRow) -> Vec<(&str, &'static str, u64)> {
    row.steps.iter().map(|step| (step.comm.as_str(), step.did, step.ns / 1000)).collect()
}

fn parts(parts: &[SlowPart]) -> Vec<(&'static str, &str, u64)> {
    parts.iter().map(|part| (part.did, part.whom.as_str(), part.ns / 1000)).collect()
}

/// Steps and parts each add up to the operation, and each step begins where the previous one ended.
fn adds_up(row: &SlowRow) {
    let mut at = 0;
    for step in &row.steps {
        assert_eq!(step.offset_ns, at, "{row:?}");
        at += step.ns;
    }
    assert_eq!(at, row.ns, "{row:?}");
    assert_eq!(row.parts.iter().map(|part| part.ns).sum::<u64>(), row.ns, "{row:?}");
}

#[test]
fn a_round_trip_is_followed_through_both_threads() {
    let found = found(ROUND_TRIP, &[operation(10, 110, 170)]);
    let row = &found.operations[0];
    adds_up(row);
    let known = [("A", "ran", 2), ("B", "waited", 38), ("B", "ran", 10), ("A", "waited", 4), ("A", "ran", 6)];
    assert_eq!(steps(row), known);
    assert_eq!(row.steps[1].waker.as_deref(), Some("A:10"));
    assert_eq!(parts(&row.steps[1].behind), [("waited", "C", 37), ("waited", "(placing)", 1)]);
    let known =
        [("waited", "C", 37), ("ran", "B", 10), ("ran", "A", 8), ("waited", "(idle)", 3), ("waited", "(placing)", 2)];
    assert_eq!(parts(&row.parts), known);
    assert_eq!((row.parts[0].tid, row.parts[0].cpu), (Some(12), Some(1)));
    let tasks: Vec<_> = row
        .tasks
        .iter()
        .map(|t| (t.comm.as_str(), t.running_ns / 1000, t.waiting_ns / 1000, t.sleeping_ns / 1000))
        .collect();
    // A runs from 110 to 115, sleeps until 160, and waits until 164. B has slept since 80, and leaves its CPU at 170.
    assert_eq!(tasks, [("A", 11, 4, 45), ("B", 20, 38, 2)]);
    assert_eq!(found.outside, 0);
}

#[test]
fn a_sleep_until_an_interrupt_stays_a_sleep() {
    let text = "
        0 10 A D > C
        0 30 waking A by C on 0 irq
        0 31 wakeup A on 0
        0 37 C R > A
        0 50 A S > C
    ";
    let found = found(text, &[operation(10, 20, 45)]);
    let row = &found.operations[0];
    adds_up(row);
    assert_eq!(steps(row), [("A", "slept", 10), ("A", "waited", 7), ("A", "ran", 8)]);
    assert_eq!((row.steps[0].state, row.steps[1].waker.as_deref()), (Some("D"), Some("(interrupt)")));
}

#[test]
fn preemptions_and_moves_are_told() {
    let text = "
        0 10 . R > A
        0 20 A R > C
        0 25 migrate A 0 1
        1 40 . R > A
        1 60 A S > .
        0 61 C S > .
    ";
    let found = found(text, &[operation(10, 12, 50)]);
    let row = &found.operations[0];
    adds_up(row);
    assert_eq!(steps(row), [("A", "ran", 8), ("A", "waited", 20), ("A", "ran", 10)]);
    let wait = &row.steps[1];
    assert_eq!((wait.cpu, wait.from_cpu, wait.moves, &wait.waker), (Some(1), Some(0), 1, &None));
    // Five behind C; before that, on the queue of a CPU on which nothing was seen until 40.
    assert_eq!(parts(&wait.behind), [("waited", "(not known)", 15), ("waited", "C", 5)]);
    assert_eq!(row.tasks[0].migrations, 1);
}

#[test]
fn what_is_missing_is_not_guessed() {
    let text = "
        0 10 . R > A
        0 20 A S > .
        0 25 lost 4
        0 40 . R > A
        0 60 A S > .
    ";
    let operations = [operation(10, 12, 50), operation(10, 100, 200), operation(99, 12, 30)];
    let found = found(text, &operations);
    found.operations.iter().for_each(adds_up);
    assert_eq!(steps(&found.operations[1]), [("A", "ran", 8), ("A", "unknown", 20), ("A", "ran", 10)]);
    assert_eq!(steps(&found.operations[0]), [("A", "unknown", 100)], "behind the end of the trace");
    assert_eq!(steps(&found.operations[2]), [(":99", "unknown", 18)], "a thread that nobody met");
    assert_eq!(found.outside, 1);
}

#[test]
fn the_slowest_come_first_and_only_as_many_as_asked_for() {
    let operations = [operation(10, 110, 120), operation(10, 110, 170), operation(10, 110, 150)];
    let found = slow(&mut drawn(ROUND_TRIP, slow::wanted()), &operations, Some(2)).unwrap();
    assert_eq!(found.operations.iter().map(|row| row.ns).collect::<Vec<_>>(), [60_000, 40_000]);
    assert_eq!(found.more_operations, 1);
}
