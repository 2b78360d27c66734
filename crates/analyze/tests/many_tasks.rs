//! Traces with more tasks than are kept one by one: ended tasks are summed by name, and a task that the filter names by
//! its id is not lost among them.

use schedlab_analyze::trace::{AnalysisRequest, Reader, Scope, TaskFilter, blame, inversions, latency, states};
use std::fmt::Write;
use std::sync::OnceLock;

/// One more than are kept.
const FIRST: u32 = 1000;
const MOST: u32 = (1 << 17) + 1;

/// This many threads occur, and then three with the name `late` run one after the other: ids 7, 8 and 9, which wait 3,
/// 5 and 7 us behind B. At first the second one is called `early`.
fn trace() -> Vec<u8> {
    static TRACE: OnceLock<Vec<u8>> = OnceLock::new();
    TRACE.get_or_init(written).clone()
}

fn written() -> Vec<u8> {
    let mut text = String::with_capacity(MOST as usize * 90);
    let out = &mut text;
    for tid in FIRST..FIRST + MOST {
        writeln!(out, "x-1 [000] ..... 1.000000: sched_waking: comm=f pid={tid} prio=120 target_cpu=000")
            .expect("a string");
    }
    let switch =
        |out: &mut String, us: u32, (prev, prev_tid, state): (&str, u32, &str), (next, next_tid): (&str, u32)| {
            writeln!(
            out,
            "{prev}-{prev_tid} [000] ..... 1.{us:06}: sched_switch: prev_comm={prev} prev_pid={prev_tid} prev_prio=120 \
             prev_state={state} ==> next_comm={next} next_pid={next_tid} next_prio=120"
        )
        .expect("a string");
        };
    switch(out, 1, ("swapper/0", 0, "R"), ("B", 2));
    for (n, (tid, name, wait)) in [(7, "late", 3), (8, "early", 5), (9, "late", 7)].into_iter().enumerate() {
        let us = 100 * (n as u32 + 1);
        writeln!(out, "B-2 [000] ..... 1.{us:06}: sched_wakeup_new: comm={name} pid={tid} prio=120 target_cpu=000")
            .expect("a string");
        switch(out, us + wait, ("B", 2, "R"), (name, tid));
        if name == "early" {
            writeln!(
                out,
                "{name}-{tid} [000] ..... 1.{:06}: task_rename: pid={tid} oldcomm={name} newcomm=late oom_score_adj=0",
                us + 20
            )
            .expect("a string");
        }
        switch(out, us + 50, ("late", tid, "X"), ("B", 2));
    }
    text.into_bytes()
}

fn open(wanted: schedlab_trace::Kinds) -> Reader {
    Reader::open("many", Box::new(trace()), wanted.with(schedlab_trace::Kind::TaskRename)).expect("a trace")
}

fn of(comms: &[&str], tids: &[u32]) -> Scope {
    let comms = comms.iter().map(|comm| (*comm).to_owned()).collect();
    Scope { tasks: TaskFilter { comms, tids: tids.to_vec(), within: None }, ..Scope::default() }
}

#[test]
fn a_thread_that_is_asked_for_by_its_id_keeps_its_row() {
    let rows = |scope: Scope, each_task| {
        let options = AnalysisRequest { scope, each_task, ..AnalysisRequest::default() };
        let found = latency(&mut open(latency::wanted()), &options).expect("readable");
        let rows = found.rows.into_iter().map(|row| (row.comm, row.tid, row.tasks, row.wakeup.max_ns));
        rows.collect::<Vec<_>>()
    };
    let late = |tid, us: u64| ("late".to_owned(), Some(tid), 1, Some(us * 1000));
    assert_eq!(rows(of(&[], &[7, 9]), true), [late(9, 7), late(7, 3)]);
    // By its first name, as if each task were kept; the others only by their last name.
    assert_eq!(rows(of(&["early"], &[]), true), [("late".to_owned(), None, 1, Some(5_000))]);
    let within = TaskFilter { within: Some([7].into()), ..TaskFilter::default() };
    assert_eq!(rows(Scope { tasks: within, ..Scope::default() }, false), [("late".to_owned(), None, 1, Some(3_000))]);
}

#[test]
fn blame_and_states_keep_it_too() {
    let options = AnalysisRequest { scope: of(&[], &[8]), each_task: true, ..AnalysisRequest::default() };
    let found = blame(&mut open(blame::wanted()), &options).expect("readable");
    let victims: Vec<_> = found.victims.iter().map(|row| (row.comm.as_str(), row.tid, row.waited_ns)).collect();
    assert_eq!(victims, [("late", Some(8), 5_000)]);
    let found =
        states(&mut open(states::wanted()), &AnalysisRequest { scope: of(&[], &[9]), ..AnalysisRequest::default() })
            .expect("readable");
    let rows: Vec<_> = found.rows.iter().map(|row| (row.comm.as_str(), row.tid, row.running_ns)).collect();
    assert_eq!(rows, [("late", Some(9), 43_000)]);
    let mut options = schedlab_analyze::trace::AnalysisRequest { scope: of(&[], &[7]), ..Default::default() };
    options.scope.set_prios("fair").expect("a class");
    let found = inversions(&mut open(inversions::wanted()), &options).expect("readable");
    assert_eq!(
        found.held.iter().map(|row| (row.comm.as_str(), row.tid, row.waits)).collect::<Vec<_>>(),
        [("late", Some(7), 1)]
    );
}
