//! Wake-affine statistics: each rule as a drawing with its answer.

use crate::drawn::drawn;
use schedlab_analyze::trace::{Affine, AnalysisRequest, affine};

fn with(text: &str, options: &AnalysisRequest) -> Affine {
    affine(&mut drawn(text, affine::wanted()), options).expect("readable to its end")
}

/// With two CPUs that share a cache.
fn found(text: &str) -> Affine {
    with(text, &AnalysisRequest { llc_size: Some(2), each_task: true, ..AnalysisRequest::default() })
}

/// Wakings, flips, sleeps and wakees of a waker.
fn of(found: &Affine, comm: &str) -> (u64, u64, u64, u64) {
    let row = found.rows.iter().find(|row| row.comm == comm).expect("a waker of that name");
    (row.wakings, row.flips, row.sleeps, row.wakees)
}

#[test]
fn partners_turn_once_and_one_of_many_turns_each_time() {
    // A wakes B and C in turn, B and C wake A only.
    let mut text = String::from("0 1 . R > A\n1 1 . R > B\n1 2 B S > .\n1 3 . R > C\n1 4 C S > .\n");
    for round in 0..4_u32 {
        let at = 10 + 20 * round;
        for (wakee, at) in [("B", at), ("C", at + 10)] {
            text += &format!("0 {at} waking {wakee} by A on 1\n0 {} A S > .\n1 {} . R > {wakee}\n", at + 1, at + 2);
            text +=
                &format!("1 {} waking A by {wakee} on 0\n1 {} {wakee} S > .\n0 {} . R > A\n", at + 3, at + 4, at + 5);
        }
    }
    let found = found(&text);
    assert_eq!(of(&found, "A"), (8, 8, 8, 2));
    assert_eq!((of(&found, "B").0, of(&found, "B").1, of(&found, "B").3), (4, 1, 1));
    let row = found.rows.iter().find(|row| row.comm == "A").expect("A wakes");
    assert_eq!((row.flips_per_cycle(), row.most_flips), (Some(1.0), 8));
    assert_eq!((row.wide, row.unsettled, row.wide_share()), (0, 8, None), "what A had before is not known");
    assert_eq!((found.total.wakings, found.total.wakees, found.excluded.on_cpu), (16, 2, 0));
}

#[test]
fn wakings_that_choose_no_cpu_are_told_apart() {
    let found = found(
        "
        0 1 . R > A
        1 1 . R > B
        2 1 . R > R!50
        2 2 R!50 S > .
        0 10 waking B by A on 1
        0 11 waking A by A on 0
        0 12 waking R!50 by A on 2
        1 15 B S > .
        0 20 waking B by A on 1
        ",
    );
    assert_eq!((found.excluded.on_cpu, found.excluded.itself, found.excluded.other_class), (1, 1, 1));
    assert_eq!((of(&found, "A"), found.total.wakings), ((1, 1, 0, 1), 1));
}

#[test]
fn who_is_not_known_yet_is_not_taken_for_the_idle_thread() {
    let found = found("0 1 . R > B\n0 2 B S > .\n1 10 waking B by A on 0\n1 20 A S > .\n");
    assert_eq!((found.excluded.by_strangers, found.total.wakings, found.rows.len()), (1, 0, 0));
}

#[test]
fn an_interrupt_is_charged_to_whom_it_met() {
    let found = found(
        "
        0 1 . R > A
        0 2 A S > .
        1 1 . R > B
        0 10 waking A by . on 0 irq
        0 12 . R > A
        0 14 A S > .
        1 20 waking A by B on 0 irq
        ",
    );
    assert_eq!((of(&found, "B"), of(&found, "(idle of CPU 0)")), ((1, 1, 0, 1), (1, 1, 0, 1)));
    assert_eq!(found.rows.iter().find(|row| row.tid == Some(0)).expect("idle").flips_per_cycle(), None);
}

/// A starts P and Q on two CPUs and wakes them in turn; each of these wakes R and S in turn. All except A are new
/// threads.
fn wide() -> String {
    let mut text = String::from("0 1 . R > A\n");
    for (at, child) in ["P", "Q", "R", "S"].iter().enumerate() {
        let at = 2 + 4 * at;
        text += &format!("0 {at} fork A {child}\n0 {} new {child} by A on 1\n", at + 1);
        text += &format!("1 {} . R > {child}\n1 {} {child} S > .\n", at + 2, at + 3);
    }
    for round in 0..6 {
        for (n, (waker, wakee)) in [("P", "R"), ("P", "S"), ("R", "P"), ("R", "Q")].iter().enumerate() {
            let at = 100 + 100 * round + 20 * n;
            text += &format!("1 {at} . R > {waker}\n1 {} waking {wakee} by {waker} on 0\n", at + 1);
            text += &format!("1 {} {waker} S > .\n0 {} A R > {wakee}\n0 {} {wakee} S > A\n", at + 2, at + 3, at + 4);
        }
    }
    text
}

#[test]
fn who_turns_to_many_beside_one_who_turns_to_some_is_wide() {
    let found = with(&wide(), &AnalysisRequest { llc_size: Some(1), each_task: true, ..AnalysisRequest::default() });
    let row = |comm: &str| found.rows.iter().find(|row| row.comm == comm).expect("a waker");
    // P has flips before R has its first one: no waking is wide until both have some. Wakings of Q and S never are,
    // because these wake nobody.
    assert_eq!((row("P").wakings, row("P").wide, row("P").unsettled), (12, 5, 0));
    assert_eq!((row("R").wakings, row("R").wide, row("R").unsettled), (12, 6, 0));
    assert_eq!(found.total.wide_share(), Some(11.0 / 24.0));
    let larger = with(&wide(), &AnalysisRequest { llc_size: Some(4), ..AnalysisRequest::default() });
    assert_eq!((larger.total.wide, larger.total.unsettled, larger.llc_size_assumed), (0, 0, false));
}

#[test]
fn without_the_number_of_cpus_nothing_is_estimated() {
    let found = with(&wide(), &AnalysisRequest::default());
    assert_eq!((found.llc_size, found.total.wakings, found.total.unsettled), (None, 24, 24));
}

#[test]
fn filters_choose_wakers_and_leave_the_count_of_flips_as_it_is() {
    let mut options = AnalysisRequest { llc_size: Some(1), ..AnalysisRequest::default() };
    options.scope.tasks.comms = vec!["R".into()];
    let found = with(&wide(), &options);
    assert_eq!((found.rows.len(), found.total.wakings, found.total.wide), (1, 12, 6));
    options.scope.window.set_times("0.000650,").expect("a time");
    let late = with(&wide(), &options);
    assert_eq!((late.total.wakings, late.total.wide, late.total.most_flips), (1, 0, 12), "Q turns to nobody");
}
