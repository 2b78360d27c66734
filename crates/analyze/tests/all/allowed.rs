//! Which CPUs a thread may use while it waits, from the recording's start, its end and the traced changes in between.

use crate::drawn::drawn;
use schedlab_analyze::trace::blame::VictimRow;
use schedlab_analyze::trace::{AnalysisRequest, Reader, Scope, affine, blame, cgroup_members, queues};
use schedlab_trace::recording::{About, BlockWriter, Moment, RecordingWriter, ThreadState, Totals};
use schedlab_trace::{Cpu, Kinds, What};
use std::collections::BTreeMap;

/// Threads of a snapshot: id, process, CPUs, cgroup.
type Threads<'a> = &'a [(u32, u32, &'a str, &'a str)];

fn states(threads: Threads<'_>) -> Vec<ThreadState> {
    let state = |(tid, pid, cpus, cgroup): &(u32, u32, &str, &str)| ThreadState {
        tid: *tid,
        pid: *pid,
        cpus_allowed: (*cpus).to_owned(),
        cgroup: (*cgroup).to_owned(),
        ..ThreadState::default()
    };
    threads.iter().map(state).collect()
}

/// A recording of the drawn events, between two snapshots.
fn recorded(text: &str, start: Threads<'_>, end: Threads<'_>) -> Vec<u8> {
    recorded_with(text, start, end, false)
}

/// The same; with `late`, the start's snapshot comes after the events, because a busy machine is slow to list its
/// threads.
fn recorded_with(text: &str, start: Threads<'_>, end: Threads<'_>, late: bool) -> Vec<u8> {
    let mut reader = drawn(text, Kinds::ALL);
    let (mut about, mut batch) = (About::default(), Vec::new());
    let events = "sched_switch,sched_waking,sched_process_fork,sys_enter,sys_exit,cgroup_attach_task";
    for (key, value) in
        [("clock", "CLOCK_MONOTONIC"), ("arch", "x86_64"), ("events", events), ("cgroup_hierarchy", "0")]
    {
        about.set(key, value);
    }
    let mut writer = RecordingWriter::begin(Vec::new(), &about, "", &[]).unwrap();
    if !late {
        writer.threads(Moment::Start, 0, &states(start)).unwrap();
    }
    let mut lanes: BTreeMap<Cpu, BlockWriter> = BTreeMap::new();
    while reader.next_batch(&mut batch).unwrap() {
        for event in batch.iter().filter(|event| !matches!(event.what, What::GapBegin | What::GapEnd { .. })) {
            lanes.entry(event.cpu).or_insert_with(|| BlockWriter::new(event.cpu)).push(event.ts, event.what);
        }
    }
    for lane in lanes.values_mut() {
        writer.block(&lane.finish(reader.names(), reader.states()).expect("events")).unwrap();
    }
    if late {
        writer.threads(Moment::Start, 0, &states(start)).unwrap();
    }
    writer.threads(Moment::End, 1_000_000, &states(end)).unwrap();
    writer.end(&Totals::default()).unwrap()
}

fn open(file: Vec<u8>, wanted: Kinds) -> Reader {
    Reader::open("recording", Box::new(file), wanted).expect("a recording")
}

fn victim(file: Vec<u8>, comm: &str) -> VictimRow {
    let found = blame(&mut open(file, blame::wanted()), &AnalysisRequest::default()).unwrap();
    found.victims.into_iter().find(|victim| victim.comm == comm).expect("it waited")
}

/// A (thread 10) waits three times, 20 µs each, for B on CPU 0, while CPU 1 is idle; there is room between the waits.
const WAITS: &str = "
    1 1 C S > .
    0 2 . R > B
    0 10 waking A by B on 0
    0 30 B S > A
    0 32 first
    0 40 A S > B
    0 50 waking A by B on 0
    0 60 midst
    0 70 B S > A
    0 72 second
    0 80 A S > B
    0 90 waking A by B on 0
    0 110 B S > A
    0 120 A S > B
";

/// The waits with one more event at each of three places; an empty text adds none.
fn with(first: &str, midst: &str, second: &str) -> String {
    let place = |text: &str, at: &str, what: &str| {
        let line = |line: &str| match line.trim().ends_with(at) {
            true if what.is_empty() => String::new(),
            true => line.replace(at, what),
            false => line.to_owned(),
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    place(&place(&place(WAITS, "first", first), "midst", midst), "second", second)
}

/// µs in A's waits with another idle CPU that it may use, and the number of waits with an unknown set. D may use both
/// CPUs.
fn elsewhere(text: &str, at_start: &str, at_end: &str) -> (u64, u64) {
    let threads = |a| [(10, 10, a, "/"), (11, 11, "0-1", "/"), (12, 12, "0-1", "/"), (13, 13, "0-1", "/")];
    let found = victim(recorded(text, &threads(at_start), &threads(at_end)), "A");
    assert_eq!((found.waits, found.waited_ns), (3, 60_000));
    (found.idle_elsewhere_ns / 1000, found.unknown_set_waits)
}

#[test]
fn without_a_traced_change_start_and_end_must_agree() {
    let plain = with("", "", "");
    assert_eq!(elsewhere(&plain, "0", "0"), (0, 0));
    assert_eq!(elsewhere(&plain, "0-1", "0-1"), (60, 0));
    assert_eq!(elsewhere(&plain, "0", "0-1"), (60, 3), "the upper bound, and it says so");
    assert_eq!(elsewhere(&plain, "0-1", "0"), (60, 3));
}

#[test]
fn a_start_that_stands_behind_the_first_events_is_found() {
    let threads = |a| [(10, 10, a, "/"), (12, 12, "0-1", "/")];
    for (at_end, expected) in [("0", (0, 0)), ("0-1", (60_000, 3))] {
        let file = recorded_with(&with("", "", ""), &threads("0"), &threads(at_end), true);
        let found = victim(file, "A");
        assert_eq!((found.idle_elsewhere_ns, found.unknown_set_waits), expected);
    }
}

#[test]
fn before_the_first_change_it_is_the_starts_and_after_the_last_the_ends() {
    let own = with("call A 203 0", "", "");
    assert_eq!(elsewhere(&own, "0", "0-1"), (40, 0));
    assert_eq!(elsewhere(&own, "0-1", "0"), (20, 0));
    // The call by another thread, which names A: 10 is hexadecimal a.
    assert_eq!(elsewhere(&with("call B 203 a", "", ""), "0", "0-1"), (40, 0));
    assert_eq!(elsewhere(&with("call B 203 b", "", ""), "0", "0"), (0, 0), "that was about B");
    assert_eq!(elsewhere(&with("call A 202 0", "", ""), "0", "0-1"), (60, 3), "that was another call");
    // Between two changes the set is unknown.
    let twice = with("call A 203 0", "", "call A 203 0");
    assert_eq!(elsewhere(&twice, "0", "0"), (20, 1));
    assert_eq!(elsewhere(&twice, "0-1", "0"), (40, 1));
}

#[test]
fn a_wait_in_which_the_set_changes_is_of_neither() {
    assert_eq!(elsewhere(&with("", "call C 203 a", ""), "0", "0-1"), (40, 1));
    assert_eq!(elsewhere(&with("", "call C 203 a", ""), "0-1", "0"), (40, 1));
}

#[test]
fn after_a_move_to_a_cgroup_nothing_is_known() {
    assert_eq!(elsewhere(&with("attach A /set", "", ""), "0", "0"), (40, 2));
    assert_eq!(
        elsewhere(&with("call A 203 0", "", "attach A /set"), "0", "0"),
        (40, 2),
        "the end is not known to be this"
    );
    assert_eq!(elsewhere(&with("attach A /set", "", "call A 203 0"), "0", "0"), (20, 1));
}

#[test]
fn a_child_inherits_what_is_not_known() {
    let born = "
        1 1 C S > .
        0 2 . R > A
        0 3 call A 203 0
        0 5 fork A E
        0 6 call A 203 0
        0 10 new E by A on 0
        0 30 A S > E
        0 40 E S > .
    ";
    let (start, end) = ([(10, 10, "0", "/"), (12, 12, "0-1", "/")], [(10, 10, "0", "/"), (12, 12, "0-1", "/")]);
    let found = victim(recorded(born, &start, &end), "E");
    assert_eq!((found.waits, found.idle_elsewhere_ns, found.unknown_set_waits), (1, 20_000, 1));
    let known = born.replace("        0 3 call A 203 0\n", "");
    let found = victim(recorded(&known, &start, &end), "E");
    assert_eq!((found.waits, found.idle_elsewhere_ns, found.unknown_set_waits), (1, 0, 0));
}

#[test]
fn other_analyses_take_the_same_sets() {
    let threads = |a| [(10, 10, a, "/"), (11, 11, "0-1", "/"), (12, 12, "0-1", "/")];
    let crowded = |text: &str, start, end| {
        let file = recorded(text, &threads(start), &threads(end));
        let options = AnalysisRequest { scope: Scope::default(), ..AnalysisRequest::default() };
        queues(&mut open(file, queues::wanted()), &options).unwrap().not_conserved_ns / 1000
    };
    let plain = with("", "", "");
    assert_eq!([crowded(&plain, "0", "0"), crowded(&plain, "0", "0-1")], [0, 60]);
    assert_eq!(crowded(&with("call A 203 0", "", ""), "0", "0-1"), 40);
    let file = recorded(&plain, &threads("0"), &threads("0-1"));
    assert!(affine(&mut open(file, affine::wanted()), &Default::default()).unwrap().affinity_known);
}

#[test]
fn a_thread_is_in_the_cgroup_it_was_moved_to_with_its_process_and_its_later_children() {
    let text = "
        0 2 . R > B
        0 5 fork A F
        0 10 attach A /serve/web
        0 15 fork A G
        0 20 fork B H
        0 30 B S > .
    ";
    let start = [(10, 10, "0-1", "/"), (11, 11, "0-1", "/serve"), (12, 10, "0-1", "/")];
    let end = [(15, 15, "0-1", "/"), (16, 16, "0-1", "/serve/web")];
    let members = |group: &str, text: &str| {
        let mut reader = open(recorded(text, &start, &end), schedlab_analyze::trace::cgroups::wanted());
        let mut members: Vec<u32> = cgroup_members(&mut reader, &[group.to_owned()]).unwrap().into_iter().collect();
        members.sort_unstable();
        members
    };
    // A with C from its process, and its child G; F was born before, and H belongs to B.
    assert_eq!(members("/serve/web", text), [10, 12, 16]);
    assert_eq!(members("/serve", text), [10, 11, 12, 16, 17]);
    // A is moved away again before G is born.
    let away = text.replace("0 15 fork", "0 12 attach A /\n        0 15 fork").replace("A G", "A I");
    assert_eq!(members("/serve/web", &away), [10, 12, 16]);
    let unmoved = text.replace("attach A /serve/web", "call A 1 1");
    assert_eq!(members("/serve/web", &unmoved), [16]);
}
