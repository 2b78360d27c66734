//! Chains of wakeups: each rule as a drawing with its answer.

use crate::drawn::drawn;
use schedlab_analyze::trace::{AnalysisRequest, Chains, Scope, chains};

fn with(text: &str, options: &AnalysisRequest) -> Chains {
    chains(&mut drawn(text, chains::wanted()), options).expect("readable to its end")
}

fn found(text: &str) -> Chains {
    with(text, &AnalysisRequest::default())
}

/// Paths with the number of their chains and their waits in µs.
fn paths(found: &Chains) -> Vec<(String, u64, u64)> {
    found.paths.iter().map(|row| (row.path.join(" > "), row.chains, row.waited_ns / 1000)).collect()
}

/// An interrupt wakes A, which wakes B; all threads were asleep.
const FROM_AN_INTERRUPT: &str = "
    0 1 A S > .
    1 2 B S > .
    2 3 . R > C
    0 8 irq 27 eth0
    0 10 waking A by . on 0 irq
    0 11 irq-end 27
    0 13 . R > A
    0 20 waking B by A on 1
    0 25 A S > .
    1 28 . R > B
    1 40 B S > .
";

#[test]
fn a_chain_goes_from_an_interrupt_to_who_wakes_nobody() {
    let found = found(FROM_AN_INTERRUPT);
    assert_eq!(paths(&found), [("(irq 27 eth0) > A > B".to_owned(), 1, 3 + 8)]);
    let chain = &found.longest[0];
    assert_eq!((chain.delay_ns, chain.elapsed_ns, chain.whole), (11_000, 18_000, true));
    let steps: Vec<_> = chain.steps.iter().map(|s| (s.waker.as_str(), s.comm.as_str(), s.waited_ns / 1000)).collect();
    assert_eq!(steps, [("(irq 27 eth0)", "A", 3), ("A", "B", 8)]);
    let pairs: Vec<_> =
        found.pairs.iter().map(|p| (p.waker.as_str(), p.wakee.as_str(), p.wakeups, p.other_cpu)).collect();
    assert_eq!(pairs, [("A", "B", 1, 1), ("(irq 27 eth0)", "A", 1, 0)]);
}

#[test]
fn an_interrupt_without_a_name_is_still_not_the_thread_below_it() {
    let found = found(
        "
        0 1 A S > .
        1 2 . R > B
        1 10 waking A by B on 0 irq
        0 13 . R > A
        0 20 A S > .
        1 21 waking A by B on 0 softirq
        0 22 . R > A
        0 23 A S > .
    ",
    );
    let paths: Vec<String> = paths(&found).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, ["(hard interrupt) > A", "(soft interrupt) > A"]);
}

#[test]
fn a_round_trip_ends_where_a_task_comes_in_again() {
    let found = found(
        "
        0 1 . R > A
        1 2 B S > .
        0 10 waking B by A on 1
        0 11 A S > .
        1 13 . R > B
        1 20 waking A by B on 0
        1 21 B S > .
        0 24 . R > A
        0 30 waking B by A on 1
        0 31 A S > .
        1 32 . R > B
        1 40 B S > .
    ",
    );
    assert_eq!(paths(&found), [("A > B > A".to_owned(), 1, 3 + 4), ("A > B".to_owned(), 1, 2)]);
}

#[test]
fn a_preempted_waker_adds_its_wait() {
    let found = found(
        "
        0 1 A S > .
        1 2 B S > .
        0 10 waking A by . on 0 irq
        0 13 . R > A
        0 14 A R > D
        0 19 D S > A
        0 20 waking B by A on 1
        0 25 A S > .
        1 26 . R > B
        1 40 B S > .
    ",
    );
    let long = &found.longest[0];
    assert_eq!(paths(&found)[0], ("(hard interrupt) > A > B".to_owned(), 1, 3 + 5 + 6));
    assert_eq!(long.steps[1].waker_preempted_ns, 5_000);
}

#[test]
fn a_sleep_ends_what_a_task_carries() {
    let found = found(
        "
        0 1 A S > .
        1 2 B S > .
        0 10 waking A by . on 0 irq
        0 13 . R > A
        0 14 A S > .
        0 15 . R > A
        0 20 waking B by A on 1
        1 26 . R > B
        1 40 B S > .
    ",
    );
    let expected = [("A > B".to_owned(), 1, 6), ("(hard interrupt) > A".to_owned(), 1, 3)];
    assert_eq!(paths(&found), expected);
}

#[test]
fn a_wait_over_missing_events_carries_nothing_on() {
    let found = found(
        "
        0 1 A S > .
        1 2 B S > .
        0 10 waking A by . on 0 irq
        0 12 lost 4
        0 13 . R > A
        0 20 waking B by A on 1
        1 26 . R > B
        1 40 B S > .
    ",
    );
    assert_eq!(paths(&found), [("A > B".to_owned(), 1, 6)]);
    assert_eq!(found.censored, [1, 0, 0]);
}

#[test]
fn censored_wakeups_are_counted_by_the_filter() {
    let text = "
        0 1 A S > .
        1 2 B S > .
        0 10 waking A by . on 0 irq
        0 12 lost 4
        0 13 . R > A
        1 26 . R > B
    ";
    let censored = |change: &dyn Fn(&mut Scope)| {
        let mut options = AnalysisRequest::default();
        change(&mut options.scope);
        with(text, &options).censored[0]
    };
    assert_eq!(censored(&|_| {}), 1);
    assert_eq!(censored(&|scope| scope.tasks.comms = vec!["A".into()]), 1);
    assert_eq!(censored(&|scope| scope.tasks.comms = vec!["B".into()]), 0);
    assert_eq!(censored(&|scope| scope.window.from_ns = 20_000), 0);
    assert_eq!(censored(&|scope| scope.set_states("D").unwrap()), 0);
}

#[test]
fn a_wait_before_a_fork_is_counted_once() {
    let found = found(
        "
        0 1 A S > .
        1 2 B S > .
        2 3 C S > .
        0 10 waking A by . on 0 irq
        0 13 . R > A
        0 20 waking B by A on 1
        0 20 waking C by A on 2
        1 22 . R > B
        2 24 . R > C
        0 25 A S > .
        1 30 B S > .
        2 31 C S > .
    ",
    );
    let rows: Vec<_> =
        found.paths.iter().map(|row| (row.path.last().unwrap().as_str(), row.waited_ns, row.delay_ns)).collect();
    assert_eq!(rows, [("B", 3_000 + 2_000, 5_000), ("C", 4_000, 7_000)]);
    assert_eq!((found.longest.len(), found.longest[0].delay_ns), (1, 7_000), "one chain for each origin");
}

#[test]
fn a_chain_is_of_everybody_in_it() {
    for comm in ["A", "B"] {
        let mut options = AnalysisRequest::default();
        options.scope.tasks.comms = vec![comm.into()];
        assert_eq!(with(FROM_AN_INTERRUPT, &options).paths.len(), 1, "{comm}");
    }
    let mut options = AnalysisRequest::default();
    options.scope.tasks.comms = vec!["C".into()];
    let found = with(FROM_AN_INTERRUPT, &options);
    assert_eq!((found.paths.len(), found.pairs.len(), found.wakeups), (0, 0, 0));
}
