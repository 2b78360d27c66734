//! Merging the events of several CPUs: late ones are moved to their places, and gaps are marked where they begin.

use super::*;
use crate::event::Missing;
use crate::event::Prio;
use crate::names::Name;
use crate::prev_state::StateId;
use crate::problem::ProblemKind;

fn idle(cpu: u16, ts: u64) -> Event {
    Event { ts, cpu: Cpu(cpu), what: What::CpuIdle { state: 1, cpu: Cpu(cpu) } }
}

fn switch(cpu: u16, ts: u64, prev: u32, next: u32) -> Event {
    let what = What::Switch {
        prev: Tid(prev),
        next: Tid(next),
        prev_comm: Name::UNKNOWN,
        next_comm: Name::UNKNOWN,
        prev_prio: Prio::UNKNOWN,
        next_prio: Prio::UNKNOWN,
        prev_state: StateId::UNKNOWN,
    };
    Event { ts, cpu: Cpu(cpu), what }
}

fn take_all(order: &mut Order) -> Vec<(u64, u16)> {
    events(order).iter().map(|e| (e.ts, e.cpu.0)).collect()
}

fn events(order: &mut Order) -> Vec<Event> {
    let mut all = Vec::new();
    while order.is_ready() {
        let mut batch = Vec::new();
        order.take(&mut batch);
        all.extend(batch);
    }
    all
}

#[test]
fn a_round_lets_go_what_the_round_before_had_seen() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    for event in [idle(0, 10), idle(0, 30), idle(1, 5), idle(1, 31)] {
        order.push(event, &mut problems);
    }
    order.end_of_round(&mut problems);
    assert!(!order.is_ready());
    // CPU 1 delivers more events from before 31.
    for event in [idle(0, 40), idle(1, 35)] {
        order.push(event, &mut problems);
    }
    order.end_of_round(&mut problems);
    assert_eq!(take_all(&mut order), [(5, 1), (10, 0), (30, 0), (31, 1)]);
    order.finish(&mut problems);
    assert_eq!(take_all(&mut order), [(35, 1), (40, 0)]);
    assert_eq!((order.pending, problems.all().count()), (0, 0));
}

#[test]
fn neighbours_that_changed_places_are_put_right() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    for event in [idle(0, 10), idle(0, 30), idle(0, 20)] {
        order.push(event, &mut problems);
    }
    order.finish(&mut problems);
    assert_eq!(take_all(&mut order), [(10, 0), (20, 0), (30, 0)]);
    assert_eq!(problems.all().count(), 0);
}

#[test]
fn a_clock_that_goes_back_is_a_gap_and_time_goes_on() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    for event in [idle(0, 5_000_000), idle(0, 1_000), idle(0, 5_000_001)] {
        order.push(event, &mut problems);
    }
    order.finish(&mut problems);
    let found = events(&mut order);
    assert!(found.is_sorted_by_key(|e| e.ts), "{found:?}");
    assert_eq!(found[1].what, What::GapBegin);
    assert_eq!(found[3].what, What::GapEnd { missing: Missing::Clock, lost: 0 });
    assert_eq!(problems.count(ProblemKind::ClockBack), 1);
}

#[test]
fn what_comes_after_its_round_is_reported_and_time_goes_on() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    order.push(idle(0, 1_000), &mut problems);
    order.push(idle(1, 900), &mut problems);
    order.end_of_round(&mut problems);
    order.push(idle(0, 2_000), &mut problems);
    order.end_of_round(&mut problems);
    let mut found = events(&mut order);
    // CPU 1 was expected to have no more events up to 1000.
    for event in [switch(1, 950, 7, 8), switch(1, 960, 8, 9), switch(1, 1_500, 9, 0)] {
        order.push(event, &mut problems);
    }
    order.finish(&mut problems);
    found.extend(events(&mut order));
    let reported: Vec<_> = found.iter().filter(|e| e.cpu.0 == 1).map(|e| (e.ts, e.what)).collect();
    assert_eq!(reported[1], (900, What::GapBegin));
    assert_eq!([reported[2].0, reported[3].0], [1_000, 1_000]);
    assert_eq!(reported[4], (1_500, What::GapEnd { missing: Missing::Clock, lost: 0 }));
    assert_eq!((problems.count(ProblemKind::Unsorted), problems.all().count()), (2, 1));
}

#[test]
fn a_gap_begins_at_the_last_event_before_it() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    for event in [switch(0, 10, 0, 7), idle(1, 15), switch(0, 20, 8, 0)] {
        order.push(event, &mut problems);
    }
    order.lost(Cpu(1), 30, 5, &mut problems);
    order.push(idle(1, 29), &mut problems);
    order.finish(&mut problems);
    let found: Vec<_> = events(&mut order).iter().map(|e| (e.ts, e.cpu.0, e.what)).collect();
    assert_eq!(found[1], (10, 0, What::GapBegin));
    assert_eq!(found[3], (15, 1, What::GapBegin));
    assert_eq!(found[4], (20, 0, What::GapEnd { missing: Missing::Chain, lost: 0 }));
    assert_eq!(found[6], (29, 1, What::GapEnd { missing: Missing::Lost, lost: 5 }));
    assert_eq!((problems.count(ProblemKind::ChainBreak), problems.count(ProblemKind::Lost)), (1, 5));
}

#[test]
fn a_sorted_file_decides_between_equal_times() {
    for (mut order, expected) in [
        (Order::of_a_sorted_file(), [(10, 1), (10, 0), (10, 2), (10, 0), (11, 1)]),
        (Order::default(), [(10, 0), (10, 0), (10, 1), (10, 2), (11, 1)]),
    ] {
        let mut problems = Problems::default();
        for (cpu, ts) in [(1, 10), (0, 10), (2, 10), (0, 10), (1, 11)] {
            order.push(idle(cpu, ts), &mut problems);
        }
        order.finish(&mut problems);
        assert_eq!(take_all(&mut order), expected);
    }
}

/// In whole microseconds, the last event before a gap has the same time as events of other CPUs that come later in the
/// file.
#[test]
fn a_gap_of_a_sorted_file_begins_right_after_the_event_before_it() {
    let (mut order, mut problems) = (Order::of_a_sorted_file(), Problems::default());
    for event in [switch(0, 10, 1, 2), idle(1, 10), switch(0, 12, 3, 4), idle(1, 12)] {
        order.push(event, &mut problems);
    }
    order.finish(&mut problems);
    let found: Vec<_> = events(&mut order).iter().map(|e| (e.ts, e.cpu.0, e.what.is_mark())).collect();
    assert_eq!(
        found,
        [(10, 0, false), (10, 0, true), (10, 1, false), (12, 0, true), (12, 0, false), (12, 1, false)],
        "the gap goes from one switch of CPU 0 to the other"
    );
}

#[test]
fn batches_are_bounded_and_nothing_is_left_over() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    for ts in 0..10_000 {
        order.push(idle((ts % 3) as u16, ts), &mut problems);
    }
    order.finish(&mut problems);
    let mut batch = Vec::new();
    order.take(&mut batch);
    assert_eq!(batch.len(), BATCH);
    let rest = events(&mut order);
    assert_eq!(batch.len() + rest.len(), 10_000);
    assert!(batch.iter().chain(&rest).map(|e| e.ts).eq(0..10_000));
}

/// Times and marks of the events of a CPU.
fn marks(events: &[Event], cpu: Cpu) -> Vec<(u64, Option<u32>)> {
    let of_cpu = events.iter().filter(|event| event.cpu == cpu);
    let marks = of_cpu.filter_map(|event| match event.what {
        What::GapBegin => Some((event.ts, None)),
        What::GapEnd { lost, .. } => Some((event.ts, Some(lost))),
        _ => None,
    });
    marks.collect()
}

#[test]
fn what_is_missing_before_a_cpu_begins_is_missing_from_the_begin_of_the_trace() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    order.lost(Cpu(0), 5_010, 4, &mut problems);
    order.push(idle(0, 5_010), &mut problems);
    order.lost(Cpu(1), 5_300, 7, &mut problems);
    order.lost(Cpu(1), 5_300, 2, &mut problems);
    order.push(idle(1, 5_300), &mut problems);
    order.begins_late(Cpu(2));
    order.push(idle(2, 5_200), &mut problems);
    // From another ring of the same CPU.
    order.push(idle(3, 5_050), &mut problems);
    order.push(idle(3, 5_400), &mut problems);
    order.begins_at(Cpu(3), 5_400);
    order.begins_at(Cpu(4), 5_000);
    order.push(idle(4, 5_500), &mut problems);
    order.finish(&mut problems);
    let found = events(&mut order);
    assert!(found.is_sorted_by_key(|event| event.ts) && order.pending == 0, "{found:?}");
    assert_eq!(found[0].ts, 5_010, "no mark moves the begin of the trace");
    let of = |cpu: u16| marks(&found, Cpu(cpu));
    assert_eq!(of(0), [(5_010, None), (5_010, Some(4))], "before the trace there is nothing that it could hide");
    assert_eq!(of(1), [(5_010, None), (5_300, Some(9))]);
    assert_eq!(of(2), [(5_010, None), (5_200, Some(0))]);
    assert_eq!(of(3), [(5_010, None), (5_400, Some(0))]);
    assert_eq!((of(4), problems.count(ProblemKind::Lost)), (vec![], 4 + 7 + 2 + 1));
    assert!(found.iter().any(|event| matches!(event.what, What::WaitsUnknown { until } if until.get() == 5_400)));
}

#[test]
fn a_cpu_that_begins_when_others_were_handed_out_is_unknown_until_then() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    order.push(idle(0, 100), &mut problems);
    order.lost(Cpu(1), 150, 3, &mut problems);
    order.release(120, &mut problems);
    let mut found = events(&mut order);
    assert_eq!(marks(&found, Cpu(1)), [(100, None)]);
    order.push(idle(0, 200), &mut problems);
    order.push(idle(1, 300), &mut problems);
    order.begins_late(Cpu(2));
    order.push(idle(2, 250), &mut problems);
    order.finish(&mut problems);
    found.extend(events(&mut order));
    assert!(found.is_sorted_by_key(|event| event.ts) && order.pending == 0, "{found:?}");
    assert_eq!(marks(&found, Cpu(1)), [(100, None), (300, Some(3))]);
    assert_eq!(marks(&found, Cpu(2)), [(100, None), (250, Some(0))], "from what was told last");
}

#[test]
fn a_loss_of_an_unknown_cpu_before_any_event_begins_with_the_trace() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    order.lost(Cpu::ANY, 500, 1, &mut problems);
    order.push(idle(0, 400), &mut problems);
    order.push(idle(0, 600), &mut problems);
    order.finish(&mut problems);
    let found = events(&mut order);
    assert_eq!(marks(&found, Cpu::ANY), [(400, None), (500, Some(1))]);
}
