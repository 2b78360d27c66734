//! How single events affect a wait: what it is charged to, which chain it is in, how much of it is known.

use super::{TRACES, blames, chained, latencies, open, worked};
use schedlab_analyze::trace::{AnalysisRequest, Scope, TimeWindow, inversions, states};

/// The time of waits by cause, and the part with another CPU idle.
fn causes(name: &str) -> (Vec<(String, u64)>, u64) {
    let found = blames(name);
    let causes = found.causes.iter().map(|c| (c.share.cause.clone(), c.share.ns)).collect();
    (causes, found.total.idle_elsewhere_ns)
}

fn are(expected: &[(&str, u64)], idle_elsewhere_ns: u64) -> (Vec<(String, u64)>, u64) {
    (expected.iter().map(|(cause, ns)| ((*cause).to_owned(), *ns)).collect(), idle_elsewhere_ns)
}

#[test]
fn only_what_a_waker_does_is_placing() {
    assert_eq!(causes("woken_while_preempted"), are(&[("B", 30_000), ("X", 1_000)], 0));
    assert_eq!(causes("pulled_after_its_waker_left"), are(&[("B", 30_000), ("(idle)", 1_000)], 25_000));
    assert_eq!(causes("placed_before_a_cpu_idles"), are(&[("Z", 7_000), ("(placing)", 3_000)], 5_000));
}

#[test]
fn a_cpu_in_an_interrupt_is_no_idle_one() {
    let expected = are(&[("(irq 5 eth0)", 7_000), ("(idle)", 2_000), ("(placing)", 1_000)], 0);
    assert_eq!(causes("interrupt_of_an_idle_cpu"), expected);
}

#[test]
fn who_woke_is_who_ended_the_sleep() {
    let found = chained("wakeup_of_who_runs");
    let pairs: Vec<_> =
        found.pairs.iter().map(|pair| (pair.waker.as_str(), pair.wakee.as_str(), pair.wakeups)).collect();
    assert_eq!(pairs, [("Y", "A", 1)]);
    assert_eq!((found.longest[0].steps[0].waking_at_ns, found.longest[0].elapsed_ns), (50_000, 1_000));
    let longest = &blames("wakeup_of_who_runs").longest[0];
    assert_eq!((longest.waker.as_deref(), longest.ns), (Some("Y"), 1_000));
}

#[test]
fn a_chain_ends_with_who_woke_nobody_and_where_it_is_too_long() {
    let found = chained("end_of_a_chain");
    assert_eq!((found.paths[0].path.as_slice(), found.paths[0].waited_ns), (&["X".into(), "A".into()][..], 10_000));
    let found = chained("long_chain");
    let delays: Vec<_> = found.longest.iter().map(|chain| (chain.steps.len(), chain.delay_ns)).collect();
    assert_eq!((delays, found.cut), (vec![(16, 160_000), (2, 20_000)], 1));
    let waited = |sum, ns: u64| sum + ns;
    let of_paths = found.paths.iter().map(|path| path.waited_ns).fold(0, waited);
    assert_eq!(of_paths, found.pairs.iter().map(|pair| pair.waited_ns).fold(0, waited));
}

#[test]
fn a_wait_is_counted_once_however_many_chains_share_it() {
    let found = chained("wakes_two_after_a_preemption");
    let paths: Vec<_> =
        found.paths.iter().map(|path| (path.path.last().unwrap().as_str(), path.delay_ns, path.waited_ns)).collect();
    assert_eq!(paths, [("B", 38_000, 38_000), ("C", 45_000, 10_000)]);
    for name in TRACES {
        let total = latencies(name).total;
        let waited = total.wakeup.histogram.sum_ns + total.preempt.histogram.sum_ns;
        assert!(chained(name).paths.iter().map(|path| path.waited_ns).sum::<u64>() <= waited, "{name}");
    }
}

#[test]
fn a_second_wakeup_proves_what_is_missing() {
    let total = latencies("second_wakeup").total;
    assert_eq!((total.wakeup.count, total.wakeup.censored), (0, [1, 1, 0]));
}

#[test]
fn who_exits_is_there_until_it_has_left_its_cpu() {
    let found = states(&mut open("exit_goes_on", states::wanted()), &AnalysisRequest::default()).expect("readable");
    let row = found.rows.iter().find(|row| row.comm == "A").expect("A ran");
    let slept = row.uninterruptible_ns;
    assert_eq!((row.seen_ns, row.running_ns, slept, row.unknown_ns), (49_000, 29_000, 10_000, 5_000));
}

#[test]
fn a_kworker_is_busy_with_however_many_items() {
    let longest = worked("twenty_items").functions.remove(0).longest.expect("items");
    let parts = longest.parts;
    assert_eq!((parts.busy_ns, parts.waiting_ns, parts.other_ns), (190_000, 3_000, 3_000));
}

#[test]
fn what_is_censored_at_another_time_is_not_told() {
    let censored = |from_ns| {
        let window = TimeWindow { from_ns, ..TimeWindow::default() };
        let mut scope = Scope { window, ..Scope::default() };
        scope.set_prios("fair").expect("a class");
        let options = AnalysisRequest { scope, ..AnalysisRequest::default() };
        let found = inversions(&mut open("second_wakeup", inversions::wanted()), &options).expect("readable");
        (found.held.len(), found.total.censored)
    };
    assert_eq!((censored(0), censored(50_000)), ((1, [1, 1, 0]), (0, [0; 3])));
}
