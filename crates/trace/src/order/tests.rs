//! Events of several CPUs into one order, late ones put in their places, gaps marked where they begin.

use super::*;
use crate::event::Prio;
use crate::names::Name;
use crate::prev_state::StateId;

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
    order.end_of_round();
    assert!(!order.is_ready());
    // CPU 1 had more to say about the time before 31.
    for event in [idle(0, 40), idle(1, 35)] {
        order.push(event, &mut problems);
    }
    order.end_of_round();
    assert_eq!(take_all(&mut order), [(5, 1), (10, 0), (30, 0), (31, 1)]);
    order.finish();
    assert_eq!(take_all(&mut order), [(35, 1), (40, 0)]);
    assert_eq!((order.pending, problems.all().count()), (0, 0));
}

#[test]
fn neighbours_that_changed_places_are_put_right() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    for event in [idle(0, 10), idle(0, 30), idle(0, 20)] {
        order.push(event, &mut problems);
    }
    order.finish();
    assert_eq!(take_all(&mut order), [(10, 0), (20, 0), (30, 0)]);
    assert_eq!(problems.all().count(), 0);
}

#[test]
fn a_clock_that_goes_back_is_a_gap_and_time_goes_on() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    for event in [idle(0, 5_000_000), idle(0, 1_000), idle(0, 5_000_001)] {
        order.push(event, &mut problems);
    }
    order.finish();
    let found = events(&mut order);
    assert!(found.is_sorted_by_key(|e| e.ts), "{found:?}");
    assert_eq!(found[1].what, What::GapBegin);
    assert_eq!(found[3].what, What::GapEnd { missing: Missing::Clock, lost: 0 });
    assert_eq!(problems.count(ProblemKind::ClockBack), 1);
}

#[test]
fn what_comes_after_its_round_is_told_and_time_goes_on() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    order.push(idle(0, 1_000), &mut problems);
    order.push(idle(1, 900), &mut problems);
    order.end_of_round();
    order.push(idle(0, 2_000), &mut problems);
    order.end_of_round();
    let mut found = events(&mut order);
    // CPU 1 had been said to have nothing more of the time up to 1000.
    for event in [switch(1, 950, 7, 8), switch(1, 960, 8, 9), switch(1, 1_500, 9, 0)] {
        order.push(event, &mut problems);
    }
    order.finish();
    found.extend(events(&mut order));
    let told: Vec<_> = found.iter().filter(|e| e.cpu.0 == 1).map(|e| (e.ts, e.what)).collect();
    assert_eq!(told[1], (900, What::GapBegin));
    assert_eq!([told[2].0, told[3].0], [1_000, 1_000]);
    assert_eq!(told[4], (1_500, What::GapEnd { missing: Missing::Clock, lost: 0 }));
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
    order.finish();
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
        order.finish();
        assert_eq!(take_all(&mut order), expected);
    }
}

#[test]
fn batches_are_bounded_and_nothing_is_left_over() {
    let (mut order, mut problems) = (Order::default(), Problems::default());
    for ts in 0..10_000 {
        order.push(idle((ts % 3) as u16, ts), &mut problems);
    }
    order.finish();
    let mut batch = Vec::new();
    order.take(&mut batch);
    assert_eq!(batch.len(), BATCH);
    let rest = events(&mut order);
    assert_eq!(batch.len() + rest.len(), 10_000);
    assert!(batch.iter().chain(&rest).map(|e| e.ts).eq(0..10_000));
}
