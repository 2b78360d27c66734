//! What threads wait behind: each rule as a drawing with its answer.

use crate::drawn::drawn;
use schedlab_analyze::trace::{AnalysisRequest, Blame, Scope, blame};

fn found(text: &str) -> Blame {
    with(text, &AnalysisRequest::default())
}

fn with(text: &str, options: &AnalysisRequest) -> Blame {
    blame(&mut drawn(text, blame::wanted()), options).expect("readable to its end")
}

/// Causes with their time in µs.
fn causes(found: &Blame) -> Vec<(&str, u64)> {
    found.causes.iter().map(|row| (row.share.cause.as_str(), row.share.ns / 1000)).collect()
}

#[test]
fn a_preempted_thread_waits_behind_all_who_run_meanwhile() {
    let found = found(
        "
        0 5 . R > A
        0 10 A R > B
        0 15 B R > C
        0 17 C S > A
        0 30 A S > .
    ",
    );
    assert_eq!(causes(&found), [("B", 5), ("C", 2)]);
    assert_eq!((found.total.waits, found.total.waited_ns), (1, 7_000));
    let wait = &found.longest[0];
    assert_eq!((wait.comm.as_str(), wait.after, wait.ns, wait.waker.as_deref()), ("A", "preemption", 7_000, None));
    let parts: Vec<_> = wait.parts.iter().map(|part| (part.cause.as_str(), part.most_tid, part.ns)).collect();
    assert_eq!(parts, [("B", Some(11), 5_000), ("C", Some(12), 2_000)]);
    assert_eq!(found.causes[0].most_against, "A");
}

#[test]
fn threads_of_one_name_are_one_part_of_a_long_wait() {
    let found = found(
        "
        0 10 A R > w=30
        0 14 w=30 R > w=31
        0 20 w=31 R > w=30
        0 21 w=30 S > A
    ",
    );
    let wait = found.longest.iter().find(|wait| wait.comm == "A").expect("A waited");
    let part = &wait.parts[0];
    assert_eq!((wait.parts.len(), part.ns, part.threads, part.most_tid, part.most_ns), (1, 11_000, 2, Some(31), 6_000));
}

#[test]
fn placing_queueing_and_an_idle_cpu_waking_up_are_told_apart() {
    let found = found(
        "
        0 10 A S > .
        1 20 waking A by C on 0
        0 23 wakeup A on 0
        0 29 . R > A
        0 40 A S > .
    ",
    );
    assert_eq!(causes(&found), [("(idle)", 6), ("(placing)", 3)]);
    assert_eq!(found.total.idle_elsewhere_ns, 0, "its own CPU was the idle one");
    assert_eq!(found.longest[0].waker.as_deref(), Some(":12"), "a thread that was never on a CPU has no name");
}

#[test]
fn interrupts_have_their_own_share() {
    let found = found(
        "
        0 10 A R > B
        0 12 softirq 3
        0 13 irq 27 eth0
        0 14 irq-end 27
        0 16 softirq-end 3
        0 20 B S > A
    ",
    );
    assert_eq!(causes(&found), [("B", 6), ("(softirq NET_RX)", 3), ("(irq 27 eth0)", 1)]);
    assert!(found.lacking.iter().all(|s| !s.contains("irq")), "{:?}", found.lacking);
}

#[test]
fn a_wait_goes_with_the_thread_from_queue_to_queue() {
    let found = found(
        "
        0 1 . R > B
        1 2 . R > C
        0 3 B R > A
        0 10 A R > B
        2 14 migrate A 0 1
        1 20 C S > A
        0 30 B S > .
    ",
    );
    let of_a = found.victims.iter().find(|row| row.comm == "A").expect("A waited");
    let shares: Vec<_> = of_a.shares.iter().map(|share| (share.cause.as_str(), share.ns / 1000)).collect();
    assert_eq!(shares, [("C", 6), ("B", 4)]);
    assert_eq!(found.longest[0].moves, 1);
}

#[test]
fn a_move_by_the_waker_is_the_placement() {
    // As in `perf sched record`: no sched_wakeup, and the waker migrates the thread before it enqueues it.
    let found = found(
        "
        0 5 . R > B
        1 6 . R > D
        2 7 . R > C
        1 8 D S > .
        1 9 . R > A
        1 10 A S > D
        2 20 waking A by C on 1
        2 22 migrate A 1 0
        0 30 B S > A
        0 40 A S > .
    ",
    );
    let of_a = found.victims.iter().find(|row| row.comm == "A").expect("A waited");
    let shares: Vec<_> = of_a.shares.iter().map(|share| (share.cause.as_str(), share.ns / 1000)).collect();
    assert_eq!(shares, [("B", 8), ("(placing)", 2)]);
}

#[test]
fn time_in_which_another_cpu_is_idle_is_told() {
    let drawing = "
        0 1 . R > B
        1 2 . R > D
        0 3 B R > A
        0 10 A R > B
        1 12 D S > .
        1 17 . R > D
        0 20 B S > A
        0 30 A S > .
    ";
    let of = |drawing: &str| {
        let found = found(drawing);
        let row = found.victims.iter().find(|row| row.waited_ns == 10_000).expect("one wait of 10 µs").clone();
        (row.idle_elsewhere_ns, row.one_cpu)
    };
    assert_eq!(of(drawing), (5_000, false));
    // A thread bound to one CPU cannot run elsewhere.
    assert_eq!(of(&drawing.replace(" A ", " ksoftirqd/0=16 ").replace("> A", "> ksoftirqd/0=16")), (0, true));
}

#[test]
fn what_lies_before_the_first_switch_of_a_cpu_is_not_known() {
    let found = found(
        "
        1 10 waking A by C on 0
        1 11 wakeup A on 0
        0 15 B S > A
        0 30 A S > .
    ",
    );
    assert_eq!(causes(&found), [("(not known)", 4), ("(placing)", 1)]);
}

#[test]
fn waits_over_missing_events_are_counted_and_not_divided() {
    let found = found(
        "
        0 5 . R > A
        0 10 A R > B
        0 12 lost 3
        0 20 B S > A
        0 30 A R > B
        0 31 B S > A
    ",
    );
    assert_eq!(causes(&found), [("B", 1)]);
    assert_eq!(found.total.censored, [1, 0, 0]);
}

#[test]
fn a_repaired_wait_begins_at_the_switch_out() {
    let found = found(
        "
        0 10 . R > A
        1 14 waking A by C on 0
        0 15 A S > B
        1 17 wakeup A on 0
        0 19 B S > A
    ",
    );
    assert_eq!(causes(&found), [("(placing)", 2), ("B", 2)]);
}

#[test]
fn filters_choose_waits_by_state_priority_name_and_id() {
    let drawing = "
        0 5 . R > A!50
        0 10 A!50 R > B
        0 15 B R > A!50
        0 20 A!50 S > B
        1 22 waking A!50 by C on 0
        0 24 B R > A!50
        0 30 A!50 S > B
    ";
    let waits = |set: &dyn Fn(&mut Scope)| {
        let mut options = AnalysisRequest::default();
        set(&mut options.scope);
        with(drawing, &options).total.waits
    };
    assert_eq!(waits(&|_| ()), 4);
    assert_eq!(waits(&|scope| scope.set_states("S").unwrap()), 1);
    assert_eq!(waits(&|scope| scope.set_states("R").unwrap()), 3);
    assert_eq!(waits(&|scope| scope.set_prios("rt").unwrap()), 2);
    assert_eq!(waits(&|scope| scope.tasks.comms = vec!["B*".into()]), 2);
    assert_eq!(waits(&|scope| scope.tasks.tids = vec![10]), 2);
    assert_eq!(waits(&|scope| scope.window.from_ns = 22_500), 2);
    let mut options = AnalysisRequest { top: Some(1), ..AnalysisRequest::default() };
    options.scope.tasks.comms = vec!["A".into()];
    let found = with(drawing, &options);
    assert_eq!((found.causes.len(), found.longest.len(), found.longest[0].tid), (1, 1, 10));
}

#[test]
fn an_id_that_is_used_again_is_another_victim() {
    let found = with(
        "
        0 5 . R > A
        0 10 A R > B
        0 12 B S > A
        0 20 A X > B
        1 30 new D=10 by C on 0
        0 35 B S > D=10
        0 40 D=10 S > .
    ",
        &AnalysisRequest { each_task: true, ..AnalysisRequest::default() },
    );
    let rows: Vec<_> = found.victims.iter().map(|row| (row.comm.as_str(), row.tid, row.waited_ns)).collect();
    assert_eq!(rows, [("D", Some(10), 5_000), ("A", Some(10), 2_000)]);
}

#[test]
fn parts_that_are_not_listed_make_a_long_wait_whole() {
    let mut text = "0 10 A R > B\n".to_owned();
    for (at, letter) in ('B'..='J').enumerate() {
        let next = if letter == 'J' { 'A' } else { char::from(letter as u8 + 1) };
        text += &format!("0 {} {letter} S > {next}\n", 20 + 10 * at + at);
    }
    let found = found(&text);
    let wait = &found.longest[0];
    let listed: u64 = wait.parts.iter().map(|part| part.ns).sum();
    assert_eq!((wait.parts.len(), listed + wait.others_ns), (6, wait.ns));
    assert!(wait.others_ns > 0);
}

#[test]
fn the_list_of_waits_says_how_many_are_not_in_it() {
    let mut text = String::new();
    for round in 0..130 {
        let at = 10 * round;
        text += &format!("0 {} A R > B\n0 {} B S > A\n", at + 1, at + 2 + round % 5);
    }
    let all = found(&text);
    assert_eq!((all.longest.len(), all.more_waits, all.total.waits), (100, 30, 130));
    let some = with(&text, &AnalysisRequest { top: Some(7), ..AnalysisRequest::default() });
    assert_eq!((some.longest.len(), some.more_waits), (7, 123));
}
