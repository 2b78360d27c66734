//! Lengths of queues: each rule as a drawing with its answer, and a random scheduler whose answer is known.

use crate::drawn::drawn;
use schedlab_analyze::trace::{AnalysisRequest, Latency, Queues, latency, queues};
use schedlab_stats::Random;
use std::fmt::Write;

fn with(text: &str, options: &AnalysisRequest) -> Queues {
    queues(&mut drawn(text, queues::wanted()), options).expect("readable to its end")
}

fn found(text: &str) -> Queues {
    with(text, &AnalysisRequest::default())
}

/// Time of a CPU at each length, µs.
fn times(found: &Queues, at: usize) -> Vec<u64> {
    found.cpus[at].at_ns.iter().map(|ns| ns / 1000).collect()
}

/// With this, threads count from `sched_wakeup` on, because it is traced; it is on a CPU that no test looks at.
const WAKEUPS: &str = "3 1 wakeup Z on 9\n";

const WOKEN: &str = "
    0 10 . R > A
    0 20 A S > .
    1 25 waking A by B on 0
    0 27 wakeup A on 0
    0 30 . R > A
    0 40 A S > .
";

#[test]
fn a_woken_thread_counts_while_its_cpu_is_still_idle() {
    let seen = found(&format!("{WAKEUPS}{WOKEN}"));
    assert_eq!((times(&seen, 0), seen.cpus.len(), seen.counted_from), (vec![7, 23], 1, "sched_wakeup"));
    assert_eq!((seen.cpus[0].running_ns, seen.cpus[0].waiting_ns, seen.missed_ns), (20_000, 3_000, 0));
    let first = found(WOKEN);
    assert_eq!(times(&first, 0), [5, 25], "up to the first sched_wakeup of a trace wakings count");
    let without = found(&WOKEN.replace("0 27 wakeup A on 0", ""));
    assert_eq!((times(&without, 0), without.counted_from), (vec![5, 25], "sched_waking"));
    assert!(without.lacking.iter().any(|s| s.contains("woken threads count from sched_waking on")));
}

const PREEMPTED: &str = "
    0 10 . R > A
    0 20 A R > B
    0 25 B R+ > A
    0 30 A S > B
    0 40 B S > .
";

#[test]
fn a_preempted_thread_waits_where_it_ran() {
    let seen = found(PREEMPTED);
    assert_eq!((times(&seen, 0), seen.all.max, seen.all.max_at_ns), (vec![0, 20, 10], 2, Some(20_000)));
    assert_eq!((seen.cpus[0].mean, seen.cpus[0].unknown_ns), (Some(40.0 / 30.0), 0));
    assert_eq!(seen.crowded_ns, 10_000);
}

#[test]
fn a_thread_that_is_moved_waits_on_its_new_cpu() {
    let seen = found(
        "
        0 10 . R > A
        1 10 . R > B
        0 12 wakeup C on 0
        0 20 migrate C 0 1
        1 30 B S > C
        0 40 A S > .
        1 50 C S > .
    ",
    );
    assert_eq!((times(&seen, 0), times(&seen, 1)), (vec![10, 22, 8], vec![0, 30, 10]));
    assert_eq!((seen.crowded_ns, seen.not_conserved_ns, seen.all.waiting_ns), (18_000, 0, 18_000));
}

#[test]
fn work_is_not_conserved_while_a_cpu_that_is_known_is_idle() {
    const TWO: &str = "
        0 10 . R > A
        1 11 B S > .
        0 12 wakeup C on 0
        0 20 A S > C
        0 30 C S > .
    ";
    let seen = found(TWO);
    assert_eq!((seen.crowded_ns, seen.not_conserved_ns, seen.affinity_known), (8_000, 8_000, false));
    let unseen = found(&TWO.replace("1 11 B S > .", ""));
    assert_eq!((unseen.crowded_ns, unseen.not_conserved_ns), (8_000, 0));
}

#[test]
fn a_cancelled_sleep_puts_nobody_into_a_queue() {
    const CANCELLED: &str = "
        0 10 . R > A
        1 12 waking A by B on 0
        0 13 wakeup A on 0
        0 20 A S > .
        1 30 waking A by B on 0
        0 31 wakeup A on 0
        0 35 . R > A
        0 40 A S > .
    ";
    assert_eq!(times(&found(CANCELLED), 0), [11, 19]);
    let wakings =
        CANCELLED.lines().filter(|line| !line.contains("wakeup")).fold(String::new(), |all, l| all + l + "\n");
    assert_eq!(times(&found(&wakings), 0), [10, 20]);
}

#[test]
fn a_waking_before_the_switch_out_is_told_where_it_was_not_counted() {
    const EARLY: &str = "
        0 10 . R > A
        1 18 waking A by B on 0
        0 20 A S > C
        0 21 wakeup A on 0
        0 25 C S > A
        0 30 A S > .
    ";
    let seen = found(EARLY);
    assert_eq!((times(&seen, 0), seen.missed_ns), (vec![0, 16, 4], 0));
    let late = found(&EARLY.replace("0 21 wakeup A on 0", ""));
    assert_eq!((times(&late, 0), late.missed_ns), (vec![0, 20], 5_000));
}

#[test]
fn missing_events_are_no_empty_queue() {
    let seen = found(
        "
        0 10 . R > A
        0 12 wakeup C on 0
        0 20 A R > B
        0 22 lost 3
        0 40 D S > E
        0 50 E S > .
    ",
    );
    assert_eq!((times(&seen, 0), seen.cpus[0].unknown_ns, seen.censored_ns), (vec![0, 12, 8], 20_000, 8_000));
    let broken = found(
        "
        0 10 . R > A
        0 20 A S > B
        0 30 C S > D
        0 40 D S > .
    ",
    );
    assert_eq!((times(&broken, 0), broken.cpus[0].unknown_ns), (vec![0, 20], 10_000));
    let waited_on = found(
        "
        0 10 . R > A
        0 12 wakeup E on 0
        0 20 A S > B
        0 30 C S > D
        0 40 D S > E
        0 50 E S > .
    ",
    );
    assert_eq!((times(&waited_on, 0), waited_on.cpus[0].unknown_ns), (vec![0, 12, 18], 10_000));
    assert_eq!(waited_on.censored_ns, 18_000);
}

#[test]
fn nothing_is_known_until_a_clock_that_went_back_has_caught_up() {
    let seen = found(
        "
        0 5000 A S > .
        0 20 . R > A
        0 5030 A S > .
        0 5040 . R > A
        0 5050 A S > .
    ",
    );
    assert_eq!((times(&seen, 0), seen.cpus[0].unknown_ns), (vec![10, 10], 30_000));
}

#[test]
fn who_left_unseen_is_not_in_the_queue_of_an_idle_cpu() {
    let seen = found(
        "
        0 10 . R > A
        1 10 . R > B
        0 11 wakeup C on 0
        1 12 lost 2
        1 20 D S > .
        0 30 A S > .
        0 40 . R > A
        0 50 A S > .
    ",
    );
    assert_eq!((times(&seen, 0), seen.censored_ns), (vec![10, 11, 19], 19_000));
}

#[test]
fn a_cpu_is_not_known_before_its_first_switch_and_who_waits_at_the_end_waits() {
    let seen = found(
        "
        0 10 . R > A
        1 12 wakeup C on 1
        1 15 B R > D
        1 20 D S > B
    ",
    );
    assert_eq!((times(&seen, 1), seen.cpus[1].unknown_ns), (vec![0, 0, 0, 5], 5_000));
    assert_eq!((seen.missed_ns, seen.unfinished_ns), (0, 5_000));
}

#[test]
fn a_window_cuts_the_time_and_cpus_are_chosen() {
    let mut options = AnalysisRequest::default();
    options.scope.window.set_times("0.000015,0.000032").unwrap();
    let seen = with(PREEMPTED, &options);
    assert_eq!((times(&seen, 0), seen.start_ns), (vec![0, 7, 10], 15_000));
    options.scope.window.cpus = Some(vec![schedlab_trace::Cpu(1)]);
    let none = with(PREEMPTED, &options);
    assert_eq!((none.cpus.len(), none.crowded_ns, none.all.mean), (0, 0, None));
}

#[test]
fn slices_have_means_and_holes() {
    let text = "
        0 1000 . R > A
        1 1256 . R > D
        0 1512 A R > B
        0 1768 B S > A
        0 2024 A S > .
    ";
    let seen = with(text, &AnalysisRequest { slices: 4, ..AnalysisRequest::default() });
    assert_eq!(seen.slice_ns, 262_144);
    let rounded = |at: usize| seen.cpus[at].slices.iter().map(|m| m.map(|m| (m * 100.0).round())).collect::<Vec<_>>();
    assert_eq!(rounded(0), [Some(100.0), Some(105.0), Some(193.0), Some(100.0)]);
    assert_eq!(rounded(1), [Some(100.0); 4], "of the first slice 6 µs are known");
}

/// A random scheduler of three CPUs: its events, and the true time at each length, ns.
fn made_up(seed: u64, wakeups: bool) -> (String, Vec<Vec<u64>>) {
    let name = |thread: usize| format!("{}", char::from(b'A' + thread as u8));
    let (mut chance, mut text, mut times) = (Random::new(seed), String::from(WAKEUPS), vec![vec![0; 12]; 3]);
    if !wakeups {
        text.clear();
    }
    let (mut running, mut queues, mut asleep) =
        ([None; 3], [const { Vec::<usize>::new() }; 3], (0..8).collect::<Vec<usize>>());
    for cpu in 0..3 {
        writeln!(text, "{cpu} 10 H=9{cpu} S > .").unwrap();
    }
    for ts in 11..600 {
        for cpu in 0..3 {
            times[cpu][usize::from(running[cpu].is_some()) + queues[cpu].len()] += 1000;
        }
        let cpu = chance.below(3);
        match chance.below(4) {
            0 if !asleep.is_empty() => {
                let thread = asleep.swap_remove(chance.below(asleep.len()));
                queues[cpu].push(thread);
                let event = if wakeups { "wakeup" } else { "waking" };
                let by = if wakeups { "" } else { "by H=90" };
                writeln!(text, "{cpu} {ts} {event} {} {by} on {cpu}", name(thread)).unwrap();
            }
            1 if !queues[cpu].is_empty() => {
                let (thread, to) = (queues[cpu].remove(0), (cpu + 1) % 3);
                queues[to].push(thread);
                writeln!(text, "{cpu} {ts} migrate {} {cpu} {to}", name(thread)).unwrap();
            }
            _ if running[cpu].is_some() || !queues[cpu].is_empty() => {
                let next = if queues[cpu].is_empty() { None } else { Some(queues[cpu].remove(0)) };
                let preempted = next.is_some() && chance.below(2) == 0;
                let prev = std::mem::replace(&mut running[cpu], next);
                match prev {
                    Some(prev) if preempted => queues[cpu].push(prev),
                    Some(prev) => asleep.push(prev),
                    None => {}
                }
                let of = |thread: Option<usize>| thread.map_or(".".to_owned(), name);
                let state = if preempted { "R" } else { "S" };
                writeln!(text, "{cpu} {ts} {} {state} > {}", of(prev), of(next)).unwrap();
            }
            _ => {}
        }
    }
    // The trace extends to its last event.
    writeln!(text, "2 600 wakeup Y on 9").unwrap();
    for cpu in 0..3 {
        times[cpu][usize::from(running[cpu].is_some()) + queues[cpu].len()] += 1000;
        let used = times[cpu].iter().rposition(|ns| *ns > 0).map_or(0, |at| at + 1);
        times[cpu].truncate(used);
    }
    (text, times)
}

#[test]
fn lengths_are_those_of_a_scheduler_that_is_known_and_add_up_to_runs_and_waits() {
    for seed in 0..40 {
        let (text, times) = made_up(seed, seed % 2 == 0);
        let seen = found(&text);
        let is: Vec<Vec<u64>> = seen.cpus.iter().map(|row| row.at_ns.clone()).collect();
        assert_eq!(is, times, "{seed}: {text}");
        assert_eq!((seen.missed_ns, seen.censored_ns, seen.trace.gaps), (0, 0, 0), "{seed}");
        let options = AnalysisRequest::default();
        let Latency { total, .. } = latency(&mut drawn(&text, latency::wanted()), &options).expect("readable");
        let waited = total.wakeup.histogram.sum_ns + total.preempt.histogram.sum_ns;
        assert_eq!(seen.all.waiting_ns - seen.unfinished_ns, waited, "{seed}");
        assert_eq!(seen.all.running_ns, total.run_ns, "{seed}");
    }
}
