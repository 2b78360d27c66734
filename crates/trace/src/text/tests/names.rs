//! A thread's name can be any 15 bytes: each is read back, or a problem reports that its line is ambiguous.

use super::read;
use crate::{Event, Kinds, Name, ProblemKind, Reader, What};
use schedlab_stats::Random;

/// What is drawn.
struct Dice(Random);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n as usize) as u64
    }

    /// A name composed of the formats' own words, up to the kernel's maximum length.
    fn name(&mut self) -> String {
        const PARTS: [&str; 30] = [
            "a",
            "-",
            " ",
            "  ",
            "=",
            ":",
            "[",
            "]",
            "(",
            ")",
            "7",
            "12",
            " pid=",
            "pid=5",
            " prio=1",
            "comm=",
            " ==> ",
            " next_pid=5",
            " next_comm=",
            " prev_state=",
            "[001]",
            " 1.2: ",
            "<idle>",
            "<...>x",
            "kworker/u8:2",
            "é",
            ":1 [1] S ==> ",
            " newcomm=",
            "success=0",
            "#",
        ];
        let mut name = String::new();
        for _ in 0..self.below(6) {
            let part = PARTS[self.below(PARTS.len() as u64) as usize];
            if name.len() + part.len() <= 15 {
                name += part;
            }
        }
        name
    }
}

/// The lines of events with these names, and the names that they contain in order.
fn lines(a: &str, b: &str) -> [(String, Vec<String>); 9] {
    let (one, two) = (vec![a.to_owned()], vec![a.to_owned(), b.to_owned()]);
    [
        (
            format!(
                "sched_switch: prev_comm={a} prev_pid=77 prev_prio=120 prev_state=S ==> next_comm={b} next_pid=78 \
                 next_prio=120"
            ),
            two.clone(),
        ),
        (
            format!(
                "sched_switch: prev_comm={a} prev_pid=77 prev_prio=120 prev_state=1 next_comm={b} next_pid=78 next_prio=120"
            ),
            two.clone(),
        ),
        (format!("sched_switch:         {a}:77 [120] S ==> {b}:78 [120]"), two),
        (format!("sched_waking: comm={a} pid=77 prio=120 target_cpu=001"), one.clone()),
        (format!("sched_wakeup: comm={a} pid=77 prio=120 success=1 target_cpu=001"), one.clone()),
        (format!("sched_wakeup:         {a}:77 [120] success=1 CPU:001"), one.clone()),
        (format!("sched_migrate_task: comm={a} pid=77 prio=120 orig_cpu=0 dest_cpu=1"), one.clone()),
        (format!("task_newtask: pid=77 comm={a} clone_flags=1200000 oom_score_adj=0"), one.clone()),
        (format!("sched_process_fork: comm={b} pid=78 child_comm={a} child_pid=77"), one),
    ]
}

/// The names of an event, and the first thread of it.
fn found(event: &Event, reader: &Reader) -> (u32, Vec<String>) {
    let text = |names: &[Name]| names.iter().map(|name| reader.names().text(*name).to_owned()).collect();
    match event.what {
        What::Switch { prev, prev_comm, next_comm, .. } => (prev.0, text(&[prev_comm, next_comm])),
        What::Waking(wake) | What::Wakeup(wake) => (wake.tid.0, text(&[wake.comm])),
        What::Migrate { tid, comm, .. } => (tid.0, text(&[comm])),
        What::Fork { child, comm, .. } => (child.0, text(&[comm])),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_name_is_read_back_or_reported() {
    let mut dice = Dice(Random::new(1));
    let (mut right, mut seen) = (0, 0);
    for _ in 0..1500 {
        let (a, b) = (dice.name(), dice.name());
        for (words, names) in lines(&a, &b) {
            // The text of trace-cmd's plugin begins after the spaces.
            if words.contains(":         ") && a.starts_with(char::is_whitespace) {
                continue;
            }
            let text = format!("# tracer: nop\n{a:>16}-77      [001] d..2.  1.450000: {words}\n");
            let Ok((events, reader)) = read(&text) else {
                seen += 1;
                continue;
            };
            let event = events.iter().find(|e| e.cpu.0 == 1).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((event.ts, found(event, &reader)), (1_450_000_000, (77, names)), "{text}");
            assert_eq!(reader.problems().count(ProblemKind::BadRecord), 0);
            right += 1;
        }
    }
    assert!(seen < right / 100, "{seen} of {right} lines can be read in two ways");
}

#[test]
fn what_can_be_read_in_two_ways_is_reported_and_not_chosen() {
    let ambiguous = "a-1 [000] .... 1.000000: task_rename: pid=1 oldcomm=a newcomm=b newcomm=c oom_score_adj=0\n";
    let good = "a-1 [000] .... 1.000001: task_rename: pid=1 oldcomm=a newcomm=b oom_score_adj=0\n";
    let (events, reader) = read(&format!("{ambiguous}{good}")).unwrap();
    assert_eq!((events.len(), reader.problems().count(ProblemKind::BadRecord)), (1, 1));
    let why = reader.problems().all().next().unwrap().to_string();
    assert!(why.contains("does not read as task_rename, or not in one way only; skipped"), "{why}");
}

#[test]
fn a_line_end_in_a_name_is_reported() {
    let text = "a-1 [000] .... 1.000000: sched_waking: comm=x\ny pid=5 prio=120 target_cpu=000\n\
                x\ny-1 [000] .... 1.000001: sched_waking: comm=x pid=5 prio=120 target_cpu=000\n";
    let (events, reader) = read(text).unwrap();
    // Both halves.
    assert_eq!((events.len(), reader.problems().count(ProblemKind::BadRecord)), (1, 2));
}

#[test]
fn names_that_are_no_text_are_read_around() {
    let line = b"  \xff\xfe-5 [000] .... 1.000000: sched_waking: comm=\xff\xfe pid=5 prio=120 target_cpu=000\n";
    let mut reader = Reader::open("t", Box::new(line.to_vec()), crate::Kinds::ALL).unwrap();
    let mut batch = Vec::new();
    assert!(reader.next_batch(&mut batch).unwrap());
    assert_eq!(found(&batch[0], &reader), (5, vec!["\u{fffd}\u{fffd}".to_owned()]));
}

/// As on Linux 6.14 and some later versions.
#[test]
fn a_rename_that_does_not_say_of_whom_is_nobodys_and_traced_by_who_runs() {
    let text = "<idle>-0 [000] d..2. 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
                next_comm=a next_pid=10 next_prio=120\n\
                a-10 [000] .... 1.000001: task_rename: oldcomm=a newcomm=worker oom_score_adj=0\n";
    let mut reader = Reader::open("t", Box::new(text.as_bytes().to_vec()), Kinds::ALL).unwrap();
    let mut out = Vec::new();
    crate::convert(&mut reader, crate::Target::Text, &[], &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let rename = out.lines().find(|line| line.contains("task_rename")).expect("it is converted");
    assert!(rename.trim_start().starts_with("a-10") && rename.contains("pid=0 "), "{rename}");
}
