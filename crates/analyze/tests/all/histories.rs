//! Times on a CPU, line by line, and the part of a trace in a window of time and CPUs.

use crate::drawn::drawn;
use schedlab_analyze::trace::{AnalysisRequest, Scope, blame, latency, timehist, turns};
use schedlab_trace::Cpu;

#[test]
fn a_run_has_the_name_that_its_thread_had_then() {
    let text = "
        0 10 . R > sh=40
        0 20 sh=40 S > .
        0 30 . R > sudo=40
        0 45 sudo=40 S > .
    ";
    let mut rows = Vec::new();
    timehist(&mut drawn(text, timehist::wanted()), &Scope::default(), &mut |row| {
        rows.push((row.comm.clone(), row.run_ns.unwrap() / 1000));
        true
    })
    .unwrap();
    assert_eq!(rows, [("sh".to_owned(), 10), ("sudo".to_owned(), 15)]);
}

#[test]
fn a_wait_before_a_run_that_is_not_known_has_a_row_and_so_each_wait_of_latency_has() {
    let text = "
        0 10 . R > A
        0 15 A S > .
        1 20 waking A by C on 0
        0 30 . R > A
        0 35 lost 2
        0 40 A S > B
        0 50 B R > .
        1 70 . R > B
        1 75 lost 2
    ";
    let mut rows = Vec::new();
    timehist(&mut drawn(text, timehist::wanted()), &Scope::default(), &mut |row| {
        rows.push((row.comm.clone(), row.at_ns / 1000, row.wakeup_wait_ns.or(row.preempt_wait_ns), row.run_ns));
        true
    })
    .unwrap();
    let row = |comm: &str, at, wait, run| (comm.to_owned(), at, wait, run);
    let expected = [
        row("A", 15, None, Some(5_000)),
        row("A", 30, Some(10_000), None),
        row("B", 50, None, Some(10_000)),
        row("B", 70, Some(20_000), None),
    ];
    assert_eq!(rows, expected);
    let found = latency(&mut drawn(text, latency::wanted()), &AnalysisRequest::default()).unwrap().total;
    assert_eq!((found.wakeup.count, found.preempt.count, found.censored_runs), (1, 1, 2));
    // A picture shows the hole instead.
    let (_, turns) = turns(&mut drawn(text, timehist::wanted()), &Scope::default(), 9).unwrap();
    assert_eq!(turns.unwrap().rows.len(), 2);
}

/// For each row of a drawing: thread, sleep (µs), and the system call in which it slept.
fn slept(text: &str) -> Vec<(String, Option<u64>, Option<String>)> {
    let mut rows = Vec::new();
    timehist(&mut drawn(text, timehist::wanted()), &Scope::default(), &mut |row| {
        rows.push((row.comm.clone(), row.slept_ns.map(|ns| ns / 1000), row.slept_in.clone()));
        true
    })
    .unwrap();
    rows
}

#[test]
fn a_sleep_is_in_the_call_that_was_entered_before_it_and_left_after_it() {
    let text = "
        0 10 . R > A
        0 12 call A 202 7ffd
        0 20 A S > .
        1 30 waking A by C on 0
        1 31 . R > A
        1 32 return A 202 0
        1 33 call A 0 3
        1 34 return A 0 1
        1 40 A D > .
        1 50 waking A by C on 1
        1 51 . R > A
        1 52 call A 232 4
        1 55 A R > B
        1 58 B S > A
        1 60 A S > .
        0 70 waking A by C on 1
        1 71 . R > A
        1 80 A S > .
    ";
    let row = |slept, call: Option<&str>| ("A".to_owned(), slept, call.map(str::to_owned));
    let of_a: Vec<_> = slept(text).into_iter().filter(|row| row.0 == "A").collect();
    let expected = [
        row(None, None),
        row(Some(10), Some("syscall 202")),
        // A page fault: the thread was in no system call.
        row(Some(10), None),
        // A preemption inside a system call is not a sleep, and the call continues.
        row(None, None),
        row(Some(10), Some("syscall 232")),
    ];
    assert_eq!(of_a, expected);
}

#[test]
fn a_call_that_may_have_returned_unseen_names_no_sleep() {
    // A appears on a CPU where it was not seen before, so its sleep is known but its call is not.
    let text = "
        0 10 . R > A
        0 12 call A 202 1
        1 14 . R > B
        1 15 lost 3
        1 18 B R > B
        0 20 A S > .
        0 30 waking A by C on 0
        0 31 . R > A
        0 32 return A 202 0
        0 33 call A 202 1
        0 40 A S > .
        0 50 waking A by C on 0
        0 51 . R > A
        0 60 A S > .
    ";
    let of_a: Vec<_> = slept(text).into_iter().filter(|row| row.0 == "A").map(|row| (row.1, row.2)).collect();
    assert_eq!(of_a, [(None, None), (Some(10), None), (Some(10), Some("syscall 202".to_owned()))]);
}

#[test]
fn the_last_call_of_a_thread_is_not_that_of_a_later_one() {
    let text = "
        0 10 . R > A
        0 12 call A 60 0
        0 20 A X > .
        0 30 fork C D=10
        0 31 new D=10 by C on 0
        0 32 . R > D=10
        0 40 D=10 S > .
        0 50 waking D=10 by C on 0
        0 51 . R > D=10
        0 60 D=10 S > .
    ";
    let rows: Vec<_> = slept(text).into_iter().map(|row| (row.1, row.2)).collect();
    assert_eq!(rows, [(None, None), (None, None), (Some(10), None)]);
}

#[test]
fn what_is_censored_outside_the_window_does_not_count() {
    let text = "
        0 10 . R > A
        0 15 A S > .
        1 20 waking A by C on 0
        0 25 lost 2
        0 30 . R > A
        0 40 A S > B
    ";
    let censored = |from_us: u64, cpus: Option<Vec<Cpu>>| {
        let mut scope = Scope::default();
        (scope.window.from_ns, scope.window.cpus) = (from_us * 1000, cpus);
        let options = AnalysisRequest { scope: scope.clone(), ..AnalysisRequest::default() };
        let latency = latency(&mut drawn(text, latency::wanted()), &options).unwrap();
        let options = AnalysisRequest { scope, ..AnalysisRequest::default() };
        let blame = blame(&mut drawn(text, blame::wanted()), &options).unwrap();
        (latency.total.wakeup.censored[0], blame.total.censored[0])
    };
    let both = || Some(vec![Cpu(0), Cpu(1)]);
    assert_eq!([censored(0, None), censored(0, both())], [(1, 1), (1, 1)]);
    assert_eq!([censored(35, None), censored(35, both())], [(0, 0), (0, 0)]);
}
