//! The copies of a trial and its trace: each number as a drawing with its answer.

use crate::drawn::drawn;
use schedlab_analyze::trace::copies::CopyTasks;
use schedlab_analyze::trace::{Copies, CopiesOfArms, CopiesOrder, copies};

/// Copy 0 is A and B, copy 1 is C and D. The steady phase is from 100 to 200 µs, in ten slices.
fn found(text: &str) -> Copies {
    let copy = |copy, first, operations| CopyTasks { copy, tids: [first, first + 1], operations };
    let order = CopiesOrder { copies: vec![copy(0, 10, 30), copy(1, 12, 10)], steady: (100_000, 200_000), slices: 10 };
    copies(&mut drawn(text, copies::wanted()), &order).expect("readable to its end")
}

/// A and B are on CPU 0 from 60 on. B moves to CPU 1 at 140 and back at 170. C is on CPU 1, and D does not occur.
const MOVED: &str = "
    0 50 . R > A
    0 60 A S > B
    1 90 . R > C
    0 110 waking A by B on 0
    0 120 B S > A
    1 125 C R > E
    0 130 waking B by A on 1
    1 140 E S > B
    1 150 B S > C
    0 160 waking B by A on 0
    0 170 A R > B
    0 190 B S > A
    1 230 C S > .
";

#[test]
fn time_on_one_cpu_is_counted_by_where_each_was_switched_in_last() {
    let found = found(MOVED);
    let row = &found.copies[0];
    // Together from 100 to 140 and from 170 to 200.
    assert_eq!(row.co_located_share, Some(0.7));
    assert_eq!((row.flips, row.migrations, row.known_share), (2, 2, 1.0));
    let together: Vec<Option<f64>> = row.slices.iter().map(|slice| slice.together).collect();
    let (yes, no) = (Some(1.0), Some(0.0));
    assert_eq!(together, [yes, yes, yes, yes, no, no, no, yes, yes, yes]);
    let cpus: Vec<Option<u16>> = row.slices.iter().map(|slice| slice.cpus[1]).collect();
    assert_eq!(cpus, [0, 0, 0, 0, 1, 1, 1, 0, 0, 0].map(Some));
    // The CPU of C is known, that of D is not.
    let other = &found.copies[1];
    assert_eq!((other.co_located_share, other.known_share, other.flips), (None, 0.0, 0));
    assert_eq!(other.slices[3].cpus, [Some(1), None]);
}

#[test]
fn waits_switches_and_runs_are_those_of_the_steady_phase() {
    let found = found(MOVED);
    let row = &found.copies[0];
    // A: woken at 110, in at 120; preempted at 170, in at 190. B: woken at 130, in at 140; woken at 160, in at 170.
    assert_eq!((row.queue_delay_ns, row.waits), ([30_000, 20_000], 4));
    assert_eq!(row.queue_delay_ns_per_op, 50_000.0 / 30.0);
    // A leaves at 170, B at 120, 150 and 190; what happened at 60 was before the steady phase.
    assert_eq!((row.voluntary, row.involuntary), (3, 1));
    // A runs from 120 to 170 and from 190 to the end of the phase; B from 100 to 120, 140 to 150, 170 to 190.
    assert_eq!(row.run_ns, [60_000, 50_000]);
    // C waits from 125 to 150 and runs beyond the end of the phase.
    assert_eq!((found.copies[1].queue_delay_ns, found.copies[1].run_ns), ([25_000, 0], [75_000, 0]));
}

#[test]
fn scores_are_against_the_mean_of_their_trial() {
    let found = found(MOVED);
    let relative: Vec<f64> = found.copies.iter().map(|row| row.relative).collect();
    assert_eq!(relative, [1.5, 0.5]);
    assert_eq!(found.copies[0].score_per_s, 300_000.0);
    let arms = CopiesOfArms::new(vec![("free".into(), vec![found.clone(), found])]);
    let arm = &arms.arms[0];
    // The shares of two copies are known, one per trial and equal to each other: nothing varies.
    let of = |name: &str| arm.correlations.iter().find(|c| c.of == name).expect("a correlation");
    assert_eq!((of("co_located_share").copies, of("co_located_share").r), (2, None));
    let r = of("queue_delay_ns_per_op").r.expect("two values of two trials");
    assert!((r + 1.0).abs() < 1e-9, "the copy that waits more does less: {r}");
    // Ratios of 1.5 and 0.5 twice, and one mean per trial: 4 × 0.25 over 2.
    assert!((arm.spread.expect("a spread") - 0.5f64.sqrt()).abs() < 1e-9);
}

#[test]
fn behind_missing_events_nobody_knows_where_the_partners_are() {
    let found = found(
        "
        0 50 . R > A
        0 60 A S > B
        0 120 B S > A
        0 0 lost 5
        0 150 A S > B
        0 160 B S > A
        0 230 A S > .
    ",
    );
    let row = &found.copies[0];
    assert_eq!(row.co_located_share, Some(1.0));
    // From the last event before the loss to A's next switch-in.
    assert_eq!(row.known_share, 0.6);
}
