//! Priority inversions: each rule as a drawing with its answer.

use crate::drawn::drawn;
use schedlab_analyze::trace::Reader;
use schedlab_analyze::trace::{AnalysisRequest, Inversions, Scope, blame, inversions, latency};

fn with(text: &str, options: &AnalysisRequest) -> Inversions {
    inversions(&mut drawn(text, inversions::wanted()), options).expect("readable to its end")
}

fn found(text: &str) -> Inversions {
    with(text, &AnalysisRequest::default())
}

/// H (50) waits for L (120) to release a lock, and M (110) keeps L from running.
const THROUGH_A_LOCK: &str = "
    0 1 . R > L!120
    1 2 . R > H!50
    1 10 H!50 D > .
    0 12 L!120 R > M!110
    0 32 M!110 S > L!120
    0 35 waking H!50 by L!120 on 1
    1 38 . R > H!50
    1 50 H!50 S > .
    0 60 L!120 S > .
";

#[test]
fn a_thread_is_held_up_through_the_one_it_depends_on() {
    let found = found(THROUGH_A_LOCK);
    let row = &found.held[0];
    assert_eq!((row.comm.as_str(), row.prio, row.waits), ("H", Some(50), 1));
    assert_eq!((row.chain.ns, row.chain.times, row.own.ns), (20_000, 1, 0));
    assert_eq!((found.lower[0].comm.as_str(), found.lower[0].chain.ns), ("M", 20_000));
    let longest = &found.longest[0];
    assert_eq!((longest.ns, longest.links[0].who.comm.as_str(), longest.links[0].boosted), (20_000, "L", false));
    assert_eq!((longest.links[0].behind[0].who.comm.as_str(), longest.links[0].behind[0].cpu), ("M", 0));
}

#[test]
fn a_chain_of_two_is_followed() {
    // H waits for K, which sleeps until L wakes it; M keeps first K and then L from running.
    let found = found(
        "
        0 1 . R > L
        1 2 . R > H!50
        2 3 . R > K
        2 4 K R > M=30
        1 10 H!50 D > .
        2 14 M=30 S > K
        2 15 K D > .
        0 16 L R > M=31!110
        0 26 M=31!110 S > L
        0 30 waking K by L on 2
        2 31 . R > K
        2 35 waking H!50 by K on 1
        1 36 . R > H!50
        1 40 H!50 S > .
    ",
    );
    let links: Vec<_> = found.longest[0].links.iter().map(|link| (link.who.comm.as_str(), link.ns / 1000)).collect();
    assert_eq!(links, [("L", 10)], "what held up K before L mattered is not counted: it slept for L");
}

#[test]
fn a_lower_thread_on_its_own_cpu_is_counted_and_a_higher_one_is_not() {
    let found = found(
        "
        0 1 . R > B!120
        1 2 H!50 S > .
        1 3 . R > D!10
        2 9 waking H!50 by C on 0
        0 19 B!120 R > H!50
        0 20 H!50 S > B!120
        2 25 waking H!50 by C on 1
        1 30 D!10 S > H!50
        1 31 H!50 S > .
    ",
    );
    assert_eq!((found.held[0].own.ns, found.held[0].own.times, found.held[0].waits), (10_000, 1, 2));
    assert_eq!(found.longest.len(), 1);
    assert_eq!(found.longest[0].own[0].who.comm, "B");
}

#[test]
fn what_happens_after_the_sleep_or_before_it_does_not_count() {
    // L was kept from running only before H began to sleep.
    let found = found(
        "
        0 1 . R > L
        1 2 . R > H!50
        0 3 L R > M
        0 9 M S > L
        1 10 H!50 D > .
        0 35 waking H!50 by L on 1
        1 38 . R > H!50
        1 50 H!50 S > .
    ",
    );
    assert_eq!((found.total.chain.ns, found.total.own.ns, found.longest.len()), (0, 0, 0));
}

#[test]
fn an_interrupt_holds_up_nobody_through_others() {
    let woken_by_irq = THROUGH_A_LOCK.replace("waking H!50 by L!120 on 1", "waking H!50 by L!120 on 1 irq");
    assert_eq!(found(&woken_by_irq).total.chain.ns, 0);
}

#[test]
fn inherited_priorities_are_told() {
    let boosted = THROUGH_A_LOCK.replace("0 12 L!120 R", "1 11 boost L 120 50\n0 12 L!50 R");
    let found = found(&boosted);
    assert_eq!(found.boosts, 1);
    assert!(found.longest[0].links[0].boosted);
    assert!(found.lacking.iter().all(|s| !s.contains("pi_setprio")), "{:?}", found.lacking);
}

#[test]
fn only_real_time_threads_are_held_up_unless_priorities_are_asked_for() {
    let fair = THROUGH_A_LOCK.replace("H!50", "H!100");
    assert_eq!(found(&fair).total.waits, 0);
    let mut options = AnalysisRequest::default();
    options.scope.set_prios("100").unwrap();
    assert_eq!(with(&fair, &options).total.chain.ns, 20_000);
}

#[test]
fn an_unknown_wait_is_counted_apart() {
    let found = found(
        "
        0 1 . R > H!50
        0 10 H!50 R > B
        0 12 lost 3
        0 20 B S > H!50
    ",
    );
    assert_eq!((found.total.waits, found.total.censored), (0, [1, 0, 0]));
}

#[test]
fn a_censored_wait_has_the_priority_that_was_told_last() {
    // H is never switched in, and only A's switch-out shows that its priority is no longer 120.
    let text = "
        0 1 . R > A
        0 5 waking H!50 by A on 0
        0 8 A!60 R > B
        0 9 B R > C
    ";
    let censored = |prios: &str| {
        let mut scope = Scope::default();
        scope.set_prios(prios).unwrap();
        let options = AnalysisRequest { scope: scope.clone(), ..AnalysisRequest::default() };
        let total = latency(&mut drawn(text, latency::wanted()), &options).expect("readable").total;
        let found = blame(&mut drawn(text, blame::wanted()), &AnalysisRequest { scope, ..AnalysisRequest::default() });
        let by_latency = total.wakeup.censored[2] + total.preempt.censored[2];
        assert_eq!(found.expect("readable").total.censored, [0, 0, by_latency], "{prios}");
        by_latency
    };
    assert_eq!((censored("50"), censored("60"), censored("120"), censored("rt"), censored("0-139")), (1, 1, 1, 2, 3));
}

#[test]
fn waits_whose_priority_nobody_said_are_told() {
    // The priority in our own text format if it is not known.
    let text = "a-1 [000] ..... 1.000001: sched_waking: comm=A pid=10 prio=-2 target_cpu=000\n";
    let told = |prios: &str| {
        let mut scope = Scope::default();
        scope.set_prios(prios).unwrap();
        let open = |wanted| Reader::open("t", Box::new(text.as_bytes().to_vec()), wanted).expect("a trace");
        let options = AnalysisRequest { scope: scope.clone(), ..AnalysisRequest::default() };
        let latency = latency(&mut open(latency::wanted()), &options).expect("readable");
        let blame = blame(&mut open(blame::wanted()), &AnalysisRequest { scope, ..AnalysisRequest::default() });
        let said = "the trace does not say the priority of 1 wait, of whichever task: --prio leaves out these";
        [latency.lacking, blame.expect("readable").lacking].map(|lacking| lacking.iter().any(|line| line == said))
    };
    assert_eq!(told("120"), [true; 2]);
    assert_eq!(told("rt"), [true; 2]);
}
