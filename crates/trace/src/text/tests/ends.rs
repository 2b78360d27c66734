//! Truncated texts, invalid times, and numbers that contradict the header.

use super::{ANSWER, TRACEFS, observed, read};
use crate::{ProblemKind, TraceError};

fn error(text: &str) -> String {
    read(text).err().map(|error: TraceError| error.to_string()).unwrap_or_default()
}

#[test]
fn every_cut_is_reported() {
    for at in 0..TRACEFS.len() {
        if !TRACEFS.is_char_boundary(at) {
            continue;
        }
        // Refused, or reported, because the header announces four events.
        if let Ok((events, reader)) = read(&TRACEFS[..at]) {
            let truncated = reader.problems().count(ProblemKind::Truncated);
            assert!(truncated > 0, "cut at {at}");
            assert!(events.len() < 4, "a line without an end is not believed");
        }
    }
    assert_eq!(read(TRACEFS).unwrap().1.problems().count(ProblemKind::Truncated), 0);
}

#[test]
fn a_number_that_was_cut_is_not_believed() {
    let whole = "a-1 [000] d..2. 1.000000: sched_waking: comm=x pid=1234 prio=120 target_cpu=012\n";
    let cut = format!("{whole}a-1 [000] 1.000001: sched_waking: comm=x pid=1234 prio=120 target_cpu=01");
    let (events, reader) = read(&cut).unwrap();
    assert_eq!(events.len(), 1);
    let why: Vec<String> = reader.problems().all().map(|p| p.to_string()).collect();
    assert_eq!(why, ["line 2: the trace ends inside a line, of which 72 bytes are there; skipped"]);
    assert_eq!(read(whole).unwrap().1.problems().all().count(), 0);
    assert_eq!(read(&format!("{whole}\n")).unwrap().1.problems().all().count(), 0);
    // The padding in front of the next line, which was cut.
    assert_eq!(read(&format!("{whole}  ")).unwrap().1.problems().count(ProblemKind::Truncated), 1);
}

#[test]
fn a_second_trace_after_the_first_is_a_gap() {
    let line = |at: u32| format!("a-1 [000] d..2. {at}.000000: sched_waking: comm=x pid=9 prio=120 target_cpu=000\n");
    let trace = |at: u32| format!("# tracer: nop\n#\n{}{}", line(at), line(at + 1));
    assert_eq!(read(&trace(1)).unwrap().1.problems().all().count(), 0);
    let (_, reader) = read(&(trace(1) + &trace(5))).unwrap();
    let why: Vec<String> = reader.problems().all().map(|p| p.to_string()).collect();
    assert!(why.len() == 1 && why[0].starts_with("line 5: another trace begins here"), "{why:?}");
}

#[test]
fn ftraces_raw_lines_are_refused_with_the_option_to_turn_off() {
    let raw = "# tracer: nop\n#\n18468 0 4333117456519 type: 366\n17897 1 4333117490975 type: 366\n";
    assert!(error(raw).contains("turn off the trace options raw, hex and bin"), "{}", error(raw));
}

#[test]
fn a_page_whose_script_does_not_end_is_reported() {
    let page = format!("<html><script src=\"x\"></script>\n<script class=\"trace-data\">\n{TRACEFS}</script>\n</html>");
    let cut = |text: &str| read(text).unwrap().1.problems().count(ProblemKind::Truncated);
    assert_eq!(cut(&page), 0);
    let lines = page.rfind("</script>").unwrap();
    assert_eq!(cut(&page[..lines]), 1, "all events are there, but not the end");
}

#[test]
fn a_tracer_that_joins_lines_announces_more_than_it_prints() {
    let text = TRACEFS.replace("4/4", "9/9");
    let cut = |text: &str| read(text).unwrap().1.problems().count(ProblemKind::Truncated);
    assert_eq!((cut(&text), cut(&text.replace("tracer: nop", "tracer: function_graph"))), (1, 0));
}

#[test]
fn clocks_that_count_no_time_are_refused() {
    let counted = TRACEFS.replace("1.0000", "34990109");
    let why = error(&counted);
    assert!(
        why.contains("its events have counts for times (3499010910), of the clock x86-tsc, counter or uptime"),
        "{why}"
    );
    assert!(why.contains("record with a clock that counts time"), "{why}");
    // One of several was damaged.
    let (events, reader) = read(&TRACEFS.replacen("1.000022", "1000022", 1)).unwrap();
    assert_eq!((events.len(), reader.problems().count(ProblemKind::BadRecord)), (3, 1));
}

#[test]
fn a_letter_of_system_and_name_that_was_damaged_is_reported() {
    let line = "pipe 31 [000] 2.000500000:       sched:sched_waking: comm=pipe pid=32 prio=120 target_cpu=000\n";
    let lines = line.repeat(3);
    assert_eq!(read(&lines).unwrap().1.problems().count(ProblemKind::BadRecord), 0);
    let words = [
        "sched:sched_w!king:",
        "sched:sch\u{fffd}d_waking:",
        "sched8sched_waking:",
        "sched:sched_waking ",
        "sched:sched_wakingz",
    ];
    for spoilt in words {
        let (events, reader) = read(&lines.replacen("sched:sched_waking:", spoilt, 1)).unwrap();
        assert_eq!((events.len(), reader.problems().count(ProblemKind::BadRecord)), (2, 1), "{spoilt}");
    }
}

#[test]
fn a_letter_of_an_events_name_that_was_damaged_is_reported() {
    let (events, reader) = read(&TRACEFS.replace("sched_waking:", "qched_waking:")).unwrap();
    let why: Vec<String> = reader.problems().all().map(|p| p.to_string()).collect();
    assert_eq!(
        (events.len(), &why[..]),
        (3, &["an event is called `qched_waking`, almost as sched_waking; skipped".to_owned()][..])
    );
    assert_eq!(read(&TRACEFS.replace("sched_waking:", "sched_walking:")).unwrap().1.problems().all().count(), 0);
}

#[test]
fn a_cpu_beyond_the_header_is_not_believed() {
    let beyond = TRACEFS.replace("<idle>-0       [000] d.h2.", "<idle>-0       [007] d.h2.");
    let (events, reader) = read(&beyond).unwrap();
    assert_eq!((events.len(), reader.problems().count(ProblemKind::ImpossibleNumber)), (3, 1));
    let none = beyond.replace("   #P:2", "");
    assert_eq!(read(&none).unwrap().0.len(), 4);
    let (events, reader) = read(&format!("cpus=2\n{none}")).unwrap();
    assert_eq!((events.len(), reader.problems().count(ProblemKind::ImpossibleNumber)), (3, 1));
}

/// `echo latency-format > trace_options` on a 6.18 kernel.
#[test]
fn the_latency_format_is_read_in_microseconds() {
    let text = "\
# tracer: nop
#
# nop latency trace v1.1.5 on 6.18.44
# --------------------------------------------------------------------
# latency: 0 us, #4/4, CPU#0 | (M:PREEMPT(none) VP:0, KP:0, SP:0 HP:0 #P:2)
#  cmd     pid     |||||| time  |   caller
       A-10        0d..2. 1000010us : sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
       B-11        1d.h2. 1000020us+: sched_waking: comm=A pid=10 prio=120 target_cpu=000
  <idle>-0         0d.h2. 1000022us : sched_wakeup: comm=A pid=10 prio=120 target_cpu=000
  <idle>-0         0d..2. 1000025us!: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
";
    assert_eq!(observed(text).waits(), ANSWER);
    let (events, reader) = read(text).unwrap();
    assert_eq!(events, read(TRACEFS).unwrap().0);
    assert_eq!(reader.info().clock, "of the recording, in whole µs since the ring's first event");
    assert_eq!(reader.problems().count(ProblemKind::Truncated), 0);
}

#[test]
fn times_that_are_differences_are_reported_with_the_option_that_prints_them() {
    let lines = |times: [&str; 5]| {
        let line = |(n, time): (usize, &str)| {
            format!("perf {} [000] {time}: sched:sched_waking: comm=x pid=99 prio=120 target_cpu=000\n", 7 + n)
        };
        times.into_iter().enumerate().map(line).collect::<String>()
    };
    let has_hint = |text: &str| {
        let (_, reader) = read(text).unwrap();
        reader.problems().all().any(|problem| problem.first.contains("--deltatime"))
    };
    assert!(has_hint(&lines(["0.000000000", "0.006279000", "0.000003586", "0.000001201", "0.000002228"])));
    assert!(!has_hint(&lines(["9.000000000", "9.006279000", "9.006289000", "9.006299000", "9.007000000"])));
}
