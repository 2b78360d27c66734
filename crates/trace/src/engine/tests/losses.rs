//! What remains true after a loss, and what becomes unknown.

use crate::drawing::observe;
use crate::engine::{Engine, Observer};
use crate::event::{Cpu, Event, What};

#[test]
fn a_lost_switch_in_makes_no_long_wait() {
    let seen = observe(
        "
        0 10 A S > .
        1 20 waking A by B
        0 900 A S > .
        1 950 waking A by B
        0 953 . R > A
    ",
    );
    assert_eq!(seen.waits(), ["A censored Waking Contradiction", "A waited 950-953 Waking"]);
}

#[test]
fn a_second_waking_proves_that_the_first_wait_had_ended() {
    let seen = observe(
        "
        0 10 A S > .
        1 20 waking A by B
        1 90 waking A by B
        0 93 . R > A
    ",
    );
    assert_eq!(seen.waits(), ["A censored Waking Contradiction", "A waited 90-93 Waking"]);
    assert_eq!(seen.counts.double_wakings, 1);
}

#[test]
fn a_second_wakeup_proves_it_too() {
    let seen = observe(
        "
        0 10 A S > .
        1 20 waking A by B
        1 21 wakeup A on 0
        2 60 wakeup A on 2
        2 65 . R > A
    ",
    );
    assert_eq!(seen.waits(), ["A censored Waking Contradiction", "A censored WakeupOnly Gap"]);
    assert_eq!(seen.counts.double_wakings, 1);
}

#[test]
fn a_move_before_anything_else_of_a_thread_names_its_cpus_too() {
    let seen = observe(
        "
        1 3 B S > .
        0 5 migrate A 1 0
        0 10 . R > A
        0 20 A S > .
        0 30 waking A by C
        1 40 lost 9
        1 45 . R > B
        0 50 . R > A
    ",
    );
    assert_eq!(seen.waits(), ["A censored Waking Gap"]);
}

#[test]
fn a_move_names_the_cpu_that_it_came_to_unseen() {
    let seen = observe(
        "
        0 4 A S > .
        1 5 B S > .
        2 20 waking A by C
        2 21 wakeup A on 0
        0 50 migrate A 1 0
        0 60 . R > A
        1 90 lost 9
        1 95 . R > B
    ",
    );
    assert_eq!(seen.waits(), ["A censored Waking Gap"]);
}

#[test]
fn a_sleep_ends_with_the_waking_and_is_not_known_where_that_is_lost() {
    let seen = observe(
        "
        1 5 waking B by C
        0 10 A S > .
        1 20 wakeup A on 0
        0 22 . R > A
    ",
    );
    assert_eq!(seen.of(&["slept"]), Vec::<&str>::new());
}

#[test]
fn a_gap_censors_the_waits_of_its_cpu_and_no_others() {
    let seen = observe(
        "
        0 10 A S > .
        1 10 B S > .
        2 20 waking A by C
        2 20 waking B by C
        0 30 lost 3
        0 31 . R > A
        1 31 . R > B
    ",
    );
    assert_eq!(seen.waits(), ["A censored Waking Gap", "B waited 20-31 Waking"]);
    assert_eq!((seen.counts.gaps, seen.counts.events), (1, 6), "a mark of a gap is not an event");
}

#[test]
fn a_gap_counts_from_the_last_event_before_it() {
    // A ran unseen on CPU 1 between 40 and 60: its wait ends before anyone knows that CPU 1 lost events.
    let seen = observe(
        "
        1 5 A S > .
        2 10 waking A by C
        0 50 . R > A
        1 60 lost 9
        1 70 . R > B
    ",
    );
    assert_eq!(seen.waits(), ["A censored Waking Gap"]);
}

#[test]
fn what_shows_that_a_thread_was_elsewhere_counts_its_gaps() {
    // A and C were seen on CPU 0 only, and B on CPU 2. All of them ran unseen on CPU 1 between 20 and 60.
    let seen = observe(
        "
        1 5 . R > D
        0 10 C R > A
        0 12 A R > E
        2 14 B S > .
        0 40 waking C by E
        2 62 migrate A 1 0
        2 64 waking B by F on 1
        1 66 lost 9
        0 70 E R > A
        0 71 A R > C
        2 72 . R > B
    ",
    );
    assert_eq!(seen.waits()[..2], ["A censored Preempted Gap", "C censored Preempted Gap"]);
    assert_eq!(seen.of(&["slept"]), [""; 0], "B slept more than once");
    let nothing_lost = observe("0 10 C R > A\n0 40 waking C by A\n0 71 A S > C");
    assert_eq!(nothing_lost.waits(), ["C waited 10-71 Preempted"]);
}

#[test]
fn a_break_of_the_chain_is_a_gap_though_nothing_was_lost() {
    let seen = observe(
        "
        0 10 . R > A
        0 20 B S > .
        1 25 waking B by C
        0 28 . R > B
        1 30 waking A by C
        0 35 B R > A
    ",
    );
    assert_eq!(seen.waits(), ["B waited 25-28 Waking", "A waited 30-35 Waking", "B censored Preempted Unfinished"]);
    assert_eq!(seen.of(&["run-censored"]), ["A run-censored Contradiction"]);
}

#[test]
fn a_new_thread_after_a_gap_is_another_task() {
    let seen = observe(
        "
        0 10 . R > A
        0 20 B S > .
        1 30 new N=10 on 0
        0 35 . R > N=10
        0 40 N=10 S > .
    ",
    );
    assert_eq!(seen.of(&["ran"]), ["N#2 ran 35-40 on 0 to Interruptible"]);
}

#[test]
fn a_pending_waking_repairs_nothing_where_the_true_one_may_be_lost() {
    // W wakes A before A leaves CPU 0. That sleep may have been cancelled, and the waking that counts may be among CPU
    // 1's lost events.
    let then = |events: &str| {
        observe(&format!(
            "
            0 1 . R > A
            1 1 . R > W
            1 10 waking A by W
            0 12 A S > .
            1 13 waking B by W
            1 20 lost 1
            {events}
            0 99 . R > A
        "
        ))
    };
    let seen = then("1 95 waking C by W");
    assert_eq!((seen.waits()[0], seen.counts.repaired), ("A censored Repaired Gap", 0));
    let seen = then("1 60 waking C by W\n0 95 wakeup A on 0");
    assert_eq!((seen.waits()[0], seen.of(&["slept"]).len()), ("A censored WakeupOnly Gap", 0));
}

#[test]
fn a_run_is_falsified_by_the_gaps_of_its_own_cpu_alone() {
    // A was on CPU 1 before; while it runs on CPU 0, whose events are complete, CPU 1 loses some.
    let run = |cpu: u16| {
        observe(&format!(
            "
            1 1 . R > A
            1 5 A S > .
            0 10 waking A by W
            0 12 . R > A
            {cpu} 20 lost 3
            0 50 A S > .
        "
        ))
    };
    assert_eq!(run(1).of(&["ran", "run-censored"]).last(), Some(&"A ran 12-50 on 0 to Interruptible"));
    assert_eq!(run(0).of(&["ran", "run-censored"]).last(), Some(&"A run-censored Gap"));
}

/// A recorder that works in rounds yields events before it knows that another CPU lost some at that time.
#[test]
fn a_gap_that_begins_before_what_was_taken_is_late() {
    struct Nobody;
    impl Observer for Nobody {}
    let late = |begin: u64| {
        let mut engine = Engine::default();
        for (ts, cpu, what) in [(20, 0, What::CpuIdle { state: 1, cpu: Cpu(0) }), (begin, 1, What::GapBegin)] {
            engine.take(&Event { ts, cpu: Cpu(cpu), what }, &[], &mut Nobody);
        }
        let counts = engine.counts();
        (counts.gaps, counts.late_gaps)
    };
    assert_eq!((late(5), late(20)), ((1, 1), (1, 0)));
}
