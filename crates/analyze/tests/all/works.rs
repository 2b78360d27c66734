//! How late work items run: each rule as a drawing with its answer.

use crate::drawn::drawn;
use schedlab_analyze::trace::kworkers::{FunctionRow, Parts};
use schedlab_analyze::trace::{AnalysisRequest, Kworkers, kworkers};

fn with(text: &str, options: &AnalysisRequest) -> Kworkers {
    kworkers(&mut drawn(text, kworkers::wanted()), options).expect("readable to its end")
}

fn found(text: &str) -> Kworkers {
    with(text, &AnalysisRequest::default())
}

/// The only item of a function: µs from queued to started, inactive, busy, waiting, and the rest.
fn item(found: &Kworkers, function: &str) -> (u64, u64, u64, u64, u64) {
    let row: &FunctionRow = found.functions.iter().find(|row| row.function == function).expect("the function");
    assert_eq!(row.latency.count, 1, "{function}");
    let Parts { inactive_ns, busy_ns, waiting_ns, other_ns } = row.parts;
    let us = |ns: u64| ns / 1000;
    (us(row.latency.histogram.sum_ns), us(inactive_ns), us(busy_ns), us(waiting_ns), us(other_ns))
}

/// K sleeps; A queues f at 10, K is woken at 12 and gets the CPU at 20, f begins at 21 and takes 9.
const ONE: &str = "
    0 1 K S > B
    1 2 . R > A
    1 10 queue 0xf0 f on 0 by A
    1 11 activate 0xf0 f
    1 12 waking K by A on 0
    0 20 B R > K
    0 21 start 0xf0 f by K
    0 30 end 0xf0 f by K
    0 31 K S > B
";

#[test]
fn an_item_waits_for_its_kworker_to_get_a_cpu() {
    let found = found(ONE);
    assert_eq!(item(&found, "f"), (11, 1, 0, 8, 2));
    let row = &found.functions[0];
    assert_eq!((row.workqueue.as_str(), row.execution.max_ns, found.started), ("events", Some(9_000), 1));
    let longest = row.longest.as_ref().expect("one item");
    assert_eq!((longest.worker, longest.cpu), (20, 0));
}

#[test]
fn an_item_waits_behind_another_one_of_a_busy_kworker() {
    let found = found(
        "
        0 1 . R > K
        1 2 . R > A
        1 5 queue 0xf0 f on 0 by A
        0 6 start 0xf0 f by K
        1 10 queue 0xf1 g on 0 by A
        0 20 K R > B
        0 24 B S > K
        0 30 end 0xf0 f by K
        0 31 start 0xf1 g by K
    ",
    );
    assert_eq!(item(&found, "g"), (21, 0, 20, 0, 1), "a preemption of the kworker is part of what it executed");
}

#[test]
fn an_item_waits_behind_the_limit_of_active_ones() {
    let late = ONE.replace("1 11 activate", "1 12 activate").replace("1 12 waking", "1 13 waking");
    assert_eq!(item(&found(&late), "f"), (11, 2, 0, 7, 2));
}

#[test]
fn cancelled_and_unseen_items_are_counted_apart() {
    let found = found(
        "
        0 1 . R > K
        1 2 . R > A
        1 5 queue 0xf0 f on 0 by A
        1 9 queue 0xf0 f on 0 by A
        0 12 start 0xf0 f by K
        0 13 end 0xf0 f by K
        0 14 start 0xf1 g by K
        0 15 end 0xf1 g by K
        1 16 queue 0xf2 h on 0 by A
    ",
    );
    assert_eq!(item(&found, "f").0, 3);
    let unseen = found.functions.iter().find(|row| row.function == "g").expect("g was started");
    assert_eq!((unseen.latency.count, unseen.unseen), (0, 1));
    assert_eq!((found.queued_again, found.left_over, found.started), (1, 1, 2));
}

#[test]
fn items_over_missing_events_are_in_no_number() {
    let found = found(&ONE.replace("0 20 B R > K", "0 19 lost 3\n0 20 B R > K"));
    assert_eq!((found.functions[0].latency.count, found.functions[0].censored), (0, 1));
}

#[test]
fn a_gap_elsewhere_does_not_touch_an_item() {
    let found = found(&ONE.replace("0 20 B R > K", "3 15 . R > X=77\n3 19 lost 3\n3 20 X=77 S > .\n0 20 B R > K"));
    assert_eq!((found.functions[0].latency.count, found.functions[0].censored), (1, 0));
}

#[test]
fn without_work_items_kworkers_are_told_by_pool() {
    let found = found(
        "
        0 1 kworker/0:1=40 S > B
        1 10 waking kworker/0:1=40 by A on 0
        0 20 B R > kworker/0:1=40
        0 22 kworker/0:1=40 S > kworker/0:2=41
        0 23 kworker/0:2=41 S > B
    ",
    );
    assert!(!found.by_function && found.functions.is_empty());
    let pool = &found.pools[0];
    assert_eq!((pool.pool.as_str(), pool.workers, pool.wakeup.max_ns), ("kworker/0:*", 2, Some(10_000)));
    assert!(found.lacking[0].starts_with("workqueue_execute_start was not recorded"), "{:?}", found.lacking);
}

#[test]
fn filters_choose_kworkers_and_times() {
    let mut options = AnalysisRequest::default();
    options.scope.tasks.tids = vec![999];
    assert_eq!(with(ONE, &options).started, 0);
    let mut options = AnalysisRequest::default();
    options.scope.window.from_ns = 22_000;
    assert_eq!(with(ONE, &options).started, 0);
}
