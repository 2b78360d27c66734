//! The rules of the state machine, each as a small drawing with the expected result.

mod losses;

use super::Engine;
use crate::drawing::{Drawing, observe, observe_by};

#[test]
fn a_wakeup_is_split_at_the_queue() {
    let seen = observe(
        "
        0 10 A S > .
        1 20 waking A by B
        1 22 wakeup A on 0
        0 29 . R > A
        0 40 A S > .
    ",
    );
    assert_eq!(
        seen.lines,
        ["A slept 10-20 Interruptible", "A waited 20-29 Waking queued 22", "A ran 29-40 on 0 to Interruptible",]
    );
}

#[test]
fn a_wakeup_at_the_begin_of_a_trace_with_wakings_lacks_its_own() {
    let begin = "
        0 10 wakeup A on 0
        0 12 B S > A
        0 20 A S > B
    ";
    assert_eq!(observe(begin).waits(), ["A waited 10-12 WakeupOnly queued 10"], "of a trace without wakings");
    let seen = observe(&format!("{begin}0 25 waking A by B\n0 27 B S > A"));
    assert_eq!(seen.waits(), ["A censored WakeupOnly Gap", "A waited 25-27 Waking"]);
    assert_eq!(seen.counts.unseen_wakings, 2, "and that of B at 20");
}

#[test]
fn preemption_in_the_kernel_and_on_the_way_to_user_mode_are_one_kind() {
    let seen = observe(
        "
        0 10 A R > B
        0 15 B S > A
        0 20 A R+ > B
        0 26 B S > A
    ",
    );
    assert_eq!(seen.waits(), ["A waited 10-15 Preempted", "A waited 20-26 Preempted"]);
}

#[test]
fn a_waking_while_preempted_cancels_a_sleep_and_the_wait_goes_on() {
    let seen = observe(
        "
        0 10 A R+ > B
        1 12 waking A by C
        1 13 wakeup A on 0
        0 18 B S > A
    ",
    );
    assert_eq!(seen.waits(), ["A waited 10-18 Preempted"]);
    assert_eq!(seen.counts.cancelled, 1);
}

#[test]
fn a_waking_before_the_switch_out_is_kept_and_repaired() {
    let seen = observe(
        "
        0 10 . R > A
        1 14 waking A by B
        0 15 A S > .
        0 19 . R > A
        0 30 A S > .
    ",
    );
    assert_eq!(seen.waits(), ["A waited 15-19 Repaired"]);
    assert_eq!((seen.counts.repaired, seen.counts.cancelled), (1, 0));
}

#[test]
fn a_repaired_wait_keeps_the_time_of_its_queue() {
    let seen = observe(
        "
        0 10 . R > A
        1 14 waking A by B
        0 15 A S > .
        1 17 wakeup A on 0
        0 19 . R > A
    ",
    );
    assert_eq!(seen.waits(), ["A waited 15-19 Repaired queued 17"]);
}

#[test]
fn a_pending_waking_before_another_one_was_a_cancelled_sleep() {
    let seen = observe(
        "
        0 10 . R > A
        1 14 waking A by B
        0 15 A S > .
        1 40 waking A by B
        0 44 . R > A
    ",
    );
    assert_eq!(seen.waits(), ["A waited 40-44 Waking"]);
    assert_eq!((seen.counts.repaired, seen.counts.cancelled), (0, 1));
}

#[test]
fn a_wakeup_while_still_running_settles_that_it_did_not_sleep() {
    let seen = observe(
        "
        0 10 . R > A
        1 14 waking A by B
        1 14 wakeup A on 0
        0 25 A S > .
        0 30 . R > A
    ",
    );
    assert_eq!(seen.waits(), Vec::<&str>::new());
    assert_eq!((seen.counts.cancelled, seen.counts.unseen_wakings), (1, 1));
}

#[test]
fn a_pending_waking_before_a_preemption_was_a_cancelled_sleep() {
    let seen = observe(
        "
        0 10 . R > A
        1 14 waking A by B
        0 15 A R > B
        0 19 B S > A
    ",
    );
    assert_eq!(seen.waits(), ["A waited 15-19 Preempted"]);
    assert_eq!(seen.counts.cancelled, 1);
}

#[test]
fn an_id_that_is_used_again_is_another_task() {
    let seen = observe(
        "
        0 10 . R > A
        0 20 A X > .
        1 30 fork C D=10
        1 31 new D=10 on 0
        0 35 . R > D=10
        0 40 D=10 S > .
    ",
    );
    assert_eq!(
        seen.of(&["waited", "ran"]),
        ["A#0 ran 10-20 on 0 to Dead", "D#1 waited 31-35 New queued 31", "D#1 ran 35-40 on 0 to Interruptible",]
    );
    let (old, new) = (&seen.tasks[0], &seen.tasks[1]);
    assert_eq!((old.end, new.start, new.parent.map(|p| p.0)), (Some(20_000), Some(30_000), Some(12)));
}

#[test]
fn an_id_that_is_used_again_is_seen_without_its_fork() {
    let seen = observe(
        "
        0 10 . R > A
        0 20 A Z > .
        0 35 . R > D=10
        0 40 D=10 S > .
    ",
    );
    assert_eq!(seen.of(&["ran"]), ["A#0 ran 10-20 on 0 to Dead", "D#1 ran 35-40 on 0 to Interruptible"]);
    assert_eq!(seen.waits(), Vec::<&str>::new());
}

#[test]
fn a_thread_that_exits_runs_on_until_it_leaves_or_the_trace_ends() {
    let of_end = |text: &str| observe(text).tasks[0].end;
    assert_eq!(of_end("0 10 . R > A\n0 20 exit A\n0 25 A X > ."), Some(25_000));
    assert_eq!(of_end("0 10 . R > A\n0 20 exit A\n1 30 . R > B"), Some(30_000));
    assert_eq!(of_end("0 10 . R > A\n0 20 exit A\n0 25 A D > .\n1 30 . R > B"), Some(30_000));
}

#[test]
fn a_fork_reported_twice_is_one_task() {
    let seen = observe(
        "
        1 30 fork C D
        1 30 fork C D
        1 31 new D on 0
        0 35 . R > D
    ",
    );
    assert_eq!(seen.waits(), ["D waited 31-35 New queued 31"]);
    assert_eq!(seen.tasks.len(), 1);
}

#[test]
fn a_renamed_thread_is_the_same_task() {
    let seen = observe(
        "
        0 10 A S > .
        1 15 rename A sh
        1 20 waking A=10 by B
        0 29 . R > sh=10
    ",
    );
    assert_eq!(seen.tasks.len(), 1);
    assert_eq!(seen.waits(), ["A waited 20-29 Waking"]);
}

#[test]
fn exec_in_a_thread_takes_over_the_leaders_id() {
    let seen = observe(
        "
        0 10 . R > B
        0 12 exec A B
        0 20 A S > .
        1 25 waking A by C
        0 29 . R > A
    ",
    );
    assert_eq!(
        seen.of(&["ran", "waited"]),
        ["A ran 10-20 on 0 to Interruptible", "A waited 25-29 Waking", "A ran 29-29 on 0 to the end",]
    );
    assert_eq!(seen.counts.gaps, 0);
}

#[test]
fn a_migration_while_waiting_is_part_of_the_wait() {
    let seen = observe(
        "
        0 10 A S > .
        2 20 waking A by B
        2 21 wakeup A on 0
        1 25 migrate A 0 1
        1 29 . R > A
    ",
    );
    assert_eq!(seen.of(&["waited", "moved"]), ["A waited 20-29 Waking queued 21", "A moved 0 to 1"]);
}

#[test]
fn each_cpu_has_its_own_idle_thread() {
    let seen = observe(
        "
        0 10 A S > .
        1 11 B S > .
        0 12 . R > A
        1 13 . R > B
    ",
    );
    assert_eq!(seen.waits(), Vec::<&str>::new());
    assert_eq!((seen.counts.gaps, seen.tasks.len()), (0, 2));
}

#[test]
fn a_clock_that_goes_back_censors_what_overlaps_it() {
    let seen = observe(
        "
        0 5000 A S > .
        1 5010 waking A by B
        0 20 . R > A
        0 5030 A S > .
        1 5040 waking A by B
        0 5044 . R > A
    ",
    );
    assert_eq!(seen.of(&["run-censored", "waited", "censored"]), ["A run-censored Gap", "A waited 5040-5044 Waking"]);
}

#[test]
fn a_wait_on_a_cpu_that_was_not_recorded_may_have_been_a_run() {
    let sent = "
        0 1 . R > W
        0 10 waking A by W
        0 11 wakeup A on 1
        0 20 waking B by W
        0 21 wakeup B on 1
        0 10005 migrate A 1 0
        0 10009 W S > A
        0 10010 migrate B 1 0
        0 10015 A S > B
    ";
    let observe_more = |more: &str| observe(&format!("{sent}{more}"));
    // For 10 ms, CPU 1 may still be on its way to switching A in; after that it counts as not recorded.
    assert_eq!(observe(sent).waits(), ["A waited 10-10009 Waking queued 11", "B censored Waking Gap"]);
    let waits = ["A waited 10-10009 Waking queued 11", "B waited 20-10015 Waking queued 21"];
    assert_eq!(observe_more("1 15 waking C by V").waits()[..2], waits, "it has an event");
    let of_perf = observe_more("1 15 exit C").waits()[..2].concat();
    assert!(of_perf.ends_with("B censored Waking Gap"), "perf's own records begin before the tracepoints: {of_perf}");
    assert_eq!(
        observe(&sent.replace("B on 1", "B on 0").replace("B 1 0", "B 0 0")).waits(),
        waits,
        "one may be damage"
    );
}

#[test]
fn a_trace_that_ends_leaves_waits_unfinished() {
    let seen = observe(
        "
        0 10 A S > .
        0 10 . R > B
        1 20 waking A by C
        0 30 B R > D
        0 40 D S > .
    ",
    );
    assert_eq!(seen.waits(), ["A censored Waking Unfinished", "B censored Preempted Unfinished"]);
}

#[test]
fn first_seen_at_a_waking_is_a_wait_unless_it_was_running() {
    let seen = observe(
        "
        1 20 waking A by C
        0 25 . R > A
        1 26 waking B by C
        2 28 B S > .
        2 30 . R > B
    ",
    );
    assert_eq!(seen.waits(), ["A waited 20-25 Waking", "B waited 28-30 Repaired"]);
}

#[test]
fn without_wakings_a_wakeup_begins_the_wait() {
    let seen = observe(
        "
        0 10 A S > .
        1 22 wakeup A on 0
        0 29 . R > A
    ",
    );
    assert_eq!(seen.waits(), ["A waited 22-29 WakeupOnly queued 22"]);
}

#[test]
fn a_sleep_that_ends_without_a_waking_is_counted_and_no_wait() {
    let seen = observe(
        "
        0 10 A S > .
        0 29 . R > A
    ",
    );
    assert_eq!((seen.waits().len(), seen.counts.unseen_wakings), (0, 1));
}

#[test]
fn a_wakeup_alone_begins_a_wait_only_where_wakings_are_not_recorded() {
    const ALONE: &str = "
        0 1 . R > A
        0 12 A S > .
        0 95 wakeup A on 0
        0 99 . R > A
    ";
    assert_eq!(observe(ALONE).waits(), ["A waited 95-99 WakeupOnly queued 95"]);
    // Another thread's waking shows that A's was lost, or came before the trace.
    let seen = observe(&format!("1 5 waking B by W\n{ALONE}"));
    assert_eq!((seen.waits()[0], seen.counts.unseen_wakings), ("A censored WakeupOnly Gap", 1));
}

#[test]
fn of_very_many_tasks_the_ended_ones_are_let_go() {
    let lives = (0..20).map(|n| {
        let (start, tid) = (100 * n, 50 + n);
        format!("0 {} new T={tid} on 0\n0 {} . R > T={tid}\n0 {} T={tid} X > .\n", start + 1, start + 5, start + 9)
    });
    let drawing = Drawing::new(&lives.collect::<String>());
    let seen = observe_by(Engine::remembering(8), &drawing.ordered(), &drawing.names, &drawing.states);
    assert_eq!((seen.tasks.len(), seen.retired), (8, 13));
    assert_eq!(seen.of(&["waited"]).len(), 20);
}
