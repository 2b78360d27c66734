//! Text traces in each tool's wording.

mod ends;
mod lacks;
mod names;

use crate::drawing::{Observed, observe_events, read_all};
use crate::{Event, Kinds, ProblemKind, Reader, Syscall, Target, TraceError, What, convert};

fn read(text: &str) -> Result<(Vec<Event>, Reader), TraceError> {
    read_all(Reader::open("t", Box::new(text.as_bytes().to_vec()), Kinds::ALL)?)
}

fn observed(text: &str) -> Observed {
    let (events, reader) = read(text).expect("a trace");
    observe_events(&events, reader.names(), reader.states())
}

/// A on CPU 0 sleeps, is woken by an interrupt in B, and waits 5 µs.
const TRACEFS: &str = "\
# tracer: nop
#
# entries-in-buffer/entries-written: 4/4   #P:2
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
               A-10      [000] d..2.     1.000010: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
               B-11      [001] d.h2.     1.000020: sched_waking: comm=A pid=10 prio=120 target_cpu=000
          <idle>-0       [000] d.h2.     1.000022: sched_wakeup: comm=A pid=10 prio=120 target_cpu=000
          <idle>-0       [000] d..2.     1.000025: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
";

const ANSWER: [&str; 1] = ["A waited 1000020-1000025 Waking queued 1000022"];

#[test]
fn tracefs_text_is_read() {
    assert_eq!(observed(TRACEFS).waits(), ANSWER);
    let (events, _) = read(TRACEFS).unwrap();
    let What::Waking(wake) = events[1].what else { panic!("a waking") };
    assert_eq!((wake.waker.0, wake.context.is_hard(), wake.prio.get()), (11, true, Some(120)));
}

#[test]
fn the_option_fields_of_tracefs_is_read() {
    let hex = |line: &str| {
        let words =
            line.replace(" ==> ", " ").replace("prev_state=S", "prev_state=1").replace("prev_state=R", "prev_state=0");
        let word = |word: &str| match word.split_once('=').map(|(name, number)| (name, number.parse::<u32>())) {
            Some((name, Ok(number))) => format!("{name}=0x{number:x} ({number})"),
            _ => word.to_owned(),
        };
        words.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n"
    };
    let text: String = TRACEFS.lines().map(hex).collect();
    assert!(text.contains("prev_state=0x1 (1) next_comm=swapper/0 next_pid=0x0 (0) next_prio=0x78 (120)"), "{text}");
    assert_eq!(observed(&text).waits(), ANSWER);
    let fork = "A-10 [000] d..2. 1.000030: sched_process_fork: parent_comm=A parent_pid=0xa (10) child_comm=A child_pid=0xc (12)";
    let (events, reader) = read(&format!("{text}{fork}\n")).unwrap();
    assert!(
        matches!(events.last().unwrap().what, What::Fork { .. })
            && reader.problems().count(ProblemKind::BadRecord) == 0
    );
}

#[test]
fn trace_cmd_report_is_read_in_its_plugins_words() {
    let text = "\
cpus=2
               A-10    [000]     1.000010: sched_switch:         A:10 [120] S ==> swapper/0:0 [120]
               B-11    [001]     1.000020: sched_waking:         comm=A pid=10 prio=120 target_cpu=000
          <idle>-0     [000]     1.000022: sched_wakeup:         A:10 [120] CPU:000
          <idle>-0     [000]     1.000025: sched_switch:         swapper/0:0 [120] R ==> A:10 [120]
";
    assert_eq!(observed(text).waits(), ANSWER);
}

#[test]
fn perf_script_is_read() {
    let text = TRACEFS.lines().filter(|l| !l.starts_with('#')).map(|line| {
        let (head, tail) = line.split_once(": ").unwrap();
        let mut words = head.split_whitespace();
        let (comm, tid) = words.next().unwrap().rsplit_once('-').unwrap();
        format!("{comm} {tid} {} {}: sched:{tail}\n", words.next().unwrap(), words.next_back().unwrap())
    });
    assert_eq!(observed(&text.collect::<String>()).waits(), ANSWER);
}

/// The header of perf 6.1; with each version, its description of events gets longer.
#[test]
fn perf_script_with_its_header_is_read() {
    let event =
        "# event : name = sched:sched_switch, , id = { 41, 42 }, type = 2, size = 136, config = 0x13a\n".repeat(60);
    let head = "# ========\n# captured on    : Fri Nov 27 14:16:01 2026\n# header version : 1\n# nrcpus online : 2\n";
    let lines: String = TRACEFS.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    let text = format!("{head}{event}# ========\n#\n{lines}");
    assert_eq!(observed(&text).waits(), ANSWER);
    assert_eq!(read(&text).unwrap().1.problems().all().count(), 0);
}

#[test]
fn systrace_html_is_read() {
    let lines: String = TRACEFS.lines().map(|l| format!("{l}\\n\\\n")).collect();
    let html = format!(
        "<!DOCTYPE html>\n<script>{}</script>\n<script class=\"trace-data\">\n{lines}</script>\n",
        "x".repeat(600_000)
    );
    assert_eq!(observed(&html).waits(), ANSWER);
}

#[test]
fn what_is_compressed_inside_a_page_is_reported() {
    let packed = format!("<script class=\"trace-data\">\nH4sI{}\n</script>\n", "Ab+/".repeat(40));
    let page = |lines: &str| format!("<!DOCTYPE html>\n<script class=\"trace-data\">\n{lines}</script>\n{packed}");
    let (events, reader) = read(&page(TRACEFS)).unwrap();
    assert_eq!((events.len(), reader.problems().count(ProblemKind::SkippedPart)), (read(TRACEFS).unwrap().0.len(), 1));
    let refused = read(&page("")).err().expect("no event").to_string();
    assert!(refused.contains("what line 5 of the page holds is compressed"), "{refused}");
}

#[test]
fn until_every_ring_has_begun_no_wait_is_believed() {
    let line = |cpu: u32, us: u32, event: &str| format!("x-1 [{cpu:03}] ..... 1.{us:06}: {event}\n");
    let switch = |prev: u32, next: u32| {
        format!(
            "sched_switch: prev_comm=t{prev} prev_pid={prev} prev_prio=120 prev_state=S ==> next_comm=t{next} next_pid={next} next_prio=120"
        )
    };
    let waits = |began: &str| {
        let waking = "sched_waking: comm=t9 pid=9 prio=120 target_cpu=001";
        let lines = [line(1, 10, &switch(0, 7)), line(1, 11, waking), line(1, 12, &switch(7, 0))];
        let after = [line(0, 50, &switch(8, 0)), line(1, 60, &switch(0, 9))];
        observed(&[lines.concat(), began.to_owned(), after.concat()].concat()).waits().join(" ")
    };
    assert_eq!(waits(""), "t9 waited 1000011-1000060 Waking");
    // It was never seen on CPU 0, but may have run there.
    assert_eq!(waits("##### CPU 0 buffer started ####\n"), "t9 censored Waking Gap");
}

#[test]
fn a_full_ring_is_held_until_its_last_cpu_begins() {
    let line =
        |cpu: u32, ms: u32, event: &str| format!("x-1 [{cpu:03}] ..... {}.{:03}000: {event}\n", ms / 1000, ms % 1000);
    let switch = |prev: u32, next: u32| {
        format!(
            "sched_switch: prev_comm=t{prev} prev_pid={prev} prev_prio=120 prev_state=S ==> next_comm=t{next} next_pid={next} next_prio=120"
        )
    };
    let waking = "sched_waking: comm=t9 pid=9 prio=120 target_cpu=000";
    let mut lines = [line(0, 1_000, &switch(7, 0)), line(0, 1_001, waking), line(0, 1_900, &switch(0, 9))].concat();
    // Longer than events are normally held back, and more than is read at once.
    for at in 0..20_000 {
        lines += &line(0, 2_000 + at, &if at % 2 == 0 { switch(9, 8) } else { switch(8, 9) });
    }
    lines += &["##### CPU 1 buffer started ####\n", &line(1, 22_000, &switch(6, 0)), &line(0, 22_100, &switch(9, 0))]
        .concat();
    let waits = |header: &str, lines: &str| observed(&format!("# tracer: nop\n{header}{lines}")).waits().join(" ");
    let wrapped = "# entries-in-buffer/entries-written: 20005/90000   #P:2\n";
    assert_eq!(waits(wrapped, &lines), "t9 censored Waking Gap");
    // With the option `annotate` off, no line marks where a CPU begins.
    assert_eq!(waits(wrapped, &lines.replace("##### CPU 1 buffer started ####\n", "")), "t9 censored Waking Gap");
    // Nothing was overwritten.
    let whole = "# entries-in-buffer/entries-written: 20005/20005   #P:2\n";
    assert_eq!(waits(whole, &lines), "t9 waited 1001000-1900000 Waking");
}

#[test]
fn a_loss_between_the_lines_censors() {
    let text = TRACEFS.replace(
        "          <idle>-0       [000] d..2.",
        "CPU:0 [LOST 17 EVENTS]\n          <idle>-0       [000] d..2.",
    );
    assert_eq!(observed(&text).waits(), ["A censored Waking Gap"]);
    assert_eq!(read(&text).unwrap().1.problems().count(ProblemKind::Lost), 17);
}

#[test]
fn states_as_numbers_are_guessed_and_that_is_said() {
    let text = TRACEFS.replace("prev_state=R", "prev_state=4096");
    let (events, reader) = read(&text).unwrap();
    let What::Switch { prev_state, .. } = events[3].what else { panic!("a switch") };
    assert_eq!(reader.states().letters(prev_state), "R+");
    assert_eq!(reader.problems().count(ProblemKind::GuessedStates), 1);
}

#[test]
fn every_kind_of_event_is_read() {
    let lines = [
        "sched_wakeup_new: comm=my task pid=12 prio=99 target_cpu=001",
        "sched_migrate_task: comm=a b pid=12 prio=120 orig_cpu=0 dest_cpu=1",
        "sched_stat_runtime: comm=a pid=12 runtime=12345 [ns] vruntime=1 [ns]",
        "sched_pi_setprio: comm=a pid=12 oldprio=120 newprio=98",
        "sched_process_fork: comm=sh pid=10 child_comm=sh child_pid=12",
        "sched_process_exit: comm=a pid=12 prio=120 group_dead=true",
        "sched_process_exec: filename=/bin/true pid=12 old_pid=13",
        "task_newtask: pid=14 comm=new one clone_flags=1200000 oom_score_adj=0",
        "task_rename: pid=12 oldcomm=a newcomm=b c oom_score_adj=0",
        "irq_handler_entry: irq=27 name=virtio0-input.0",
        "irq_handler_exit: irq=27 ret=handled",
        "softirq_raise: vec=3 [action=NET_RX]",
        "softirq_entry: vec=3 [action=NET_RX]",
        "softirq_exit: vec=3 [action=NET_RX]",
        "workqueue_queue_work: work struct=000000007b1d40ab function=vmstat_update workqueue=mm_percpu_wq req_cpu=1 cpu=1",
        "workqueue_activate_work: work struct 000000007b1d40ab function=vmstat_update ",
        "workqueue_execute_start: work struct 000000007b1d40ab: function vmstat_update",
        "workqueue_execute_end: work struct 000000007b1d40ab: function vmstat_update",
        "cpu_idle: state=4294967295 cpu_id=1",
        "sys_enter: NR 202 (7ffd00001234, 80, 1, 0, 0, 0)",
        "sys_enter: NR 0 (3, 7ffd00001234, 1000, 0, 0, 0)",
        "sys_exit: NR 202 = -110",
        "cgroup_attach_task: dst_root=2 dst_id=4711 dst_level=1 dst_path=/serve/my web pid=12 comm=a b",
    ];
    let text: String =
        lines.iter().enumerate().map(|(n, l)| format!("kworker/1:1-31 [001] .... 1.{n:06}: {l}\n")).collect();
    let (events, reader) = read(&text).unwrap();
    assert_eq!(reader.problems().all().map(|p| p.first).collect::<Vec<_>>(), Vec::<String>::new());
    let name = |name| reader.names().text(name);
    assert_eq!(events.len(), lines.len());
    let What::WakeupNew(wake) = events[0].what else { panic!() };
    assert_eq!((name(wake.comm), wake.prio.get(), wake.target_cpu.0), ("my task", Some(99), 1));
    let What::StatRuntime { runtime, .. } = events[2].what else { panic!() };
    assert_eq!(runtime.get(), 12345);
    let What::Comm { comm, tid } = events[8].what else { panic!() };
    assert_eq!((name(comm), tid.0), ("b c", 12));
    let What::WorkQueued { work, function, workqueue, cpu } = events[14].what else { panic!() };
    let queued = (work.get(), name(function), name(workqueue), cpu.0);
    assert_eq!(queued, (0x7b1d40ab, "vmstat_update", "mm_percpu_wq", 1));
    let What::WorkStarted { worker, function, .. } = events[16].what else { panic!() };
    assert_eq!((worker.0, name(function)), (31, "vmstat_update"));
    assert_eq!(events[18].what, What::CpuIdle { state: u32::MAX, cpu: crate::Cpu(1) });
    let (tid, futex) = (crate::Tid(31), Syscall(202));
    let enter = |number, arg0: u64, arg1| What::SysEnter { tid, number, arg0: arg0.into(), arg1 };
    // There is no room for an address as the second argument.
    let calls = [enter(futex, 0x7ffd_0000_1234, 0x80), enter(Syscall(0), 3, u32::MAX)];
    assert_eq!([events[19].what, events[20].what], calls);
    assert_eq!(events[21].what, What::SysExit { tid, number: futex, ret: (-110_i64 as u64).into() });
    let What::CgroupAttach { tid, comm, dst_root, dst_path } = events[22].what else { panic!() };
    assert_eq!((tid.0, name(comm), dst_root, name(dst_path)), (12, "a b", 2, "/serve/my web"));
}

#[test]
fn lines_that_lie_are_skipped_and_reported() {
    let text = format!(
        "{TRACEFS}a-1 [000] 2.0: sched_switch: prev_comm=x\na-1 [000] 2.1: sched_waking: comm=x pid=99999999\n"
    );
    let (events, reader) = read(&text).unwrap();
    assert_eq!((events.len(), reader.problems().count(ProblemKind::BadRecord)), (4, 2));
    assert!(
        reader.problems().all().any(|p| p.first.starts_with("line 10: `prev_comm=x` does not read as sched_switch"))
    );
}

#[test]
fn a_hole_is_reported_wherever_it_is() {
    let (header, body) = TRACEFS.split_at(TRACEFS.rfind("#").unwrap());
    let body = &body[body.find('\n').unwrap() + 1..];
    let text = format!("{}{}", header.replace("4/4", "40/40"), body.repeat(10));
    for fill in ["\0", " ", "x"] {
        for from in (header.len() + 1..text.len() - 700).step_by(7) {
            let spoilt = format!("{}{}{}", &text[..from], fill.repeat(600), &text[from + 600..]);
            let (_, reader) = read(&spoilt).unwrap();
            assert!(reader.problems().count(ProblemKind::BadRecord) > 0, "{fill:?} at {from}");
        }
    }
    let (_, reader) = read(&text).unwrap();
    assert_eq!(reader.problems().count(ProblemKind::BadRecord), 0);
}

#[test]
fn text_without_scheduler_events_is_refused() {
    let error = |text: &str| read(text).err().expect("refused").to_string();
    assert!(error("# tracer: nop\n#\n").starts_with("t has no scheduler events (none of its lines is an event)"));
    assert!(error("a-1 [000] 1.0: bprint: x\n").starts_with("t has no scheduler events (bprint)"));
    assert!(error("Once upon a time\n").starts_with("t is not a trace"));
}

#[test]
fn every_cut_and_every_spoilt_byte_is_survived() {
    for at in 0..TRACEFS.len() {
        let _ = read(&TRACEFS[..at]);
        for value in [b' ', b'9', b':', 0xff] {
            let mut bytes = TRACEFS.as_bytes().to_vec();
            bytes[at] = value;
            let _ = read(&String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn who_traced_is_written_as_far_as_switches_say_it() {
    let switch = |prev: &str, tid: u32| {
        format!(
            "sched_switch: prev_comm={prev} prev_pid={tid} prev_prio=120 prev_state=S ==> next_comm=C next_pid=12 next_prio=120"
        )
    };
    let line = |cpu: u32, us: u32, event: &str| format!("x-1 [{cpu:03}] ..... 1.{us:06}: {event}\n");
    let lost = "CPU:1 [LOST 3 EVENTS]\n";
    let trace = [
        line(0, 10, "softirq_raise: vec=1"),
        line(1, 11, "softirq_raise: vec=1"),
        line(1, 12, &switch("B", 11)),
        line(1, 13, "softirq_raise: vec=1"),
        lost.into(),
        line(1, 14, "softirq_raise: vec=1"),
        line(1, 15, &switch("swapper/1", 0)),
        line(1, 16, "softirq_raise: vec=1"),
        lost.into(),
        line(1, 17, "softirq_raise: vec=1"),
    ];
    let mut reader = Reader::open("t", Box::new(trace.concat().into_bytes()), Kinds::ALL).unwrap();
    let mut out = Vec::new();
    assert_eq!(convert(&mut reader, Target::Text, &[], &mut out).unwrap().written, 8);
    let written = String::from_utf8(out).unwrap();
    let tasks = written.lines().filter_map(|line| line.split_once(" [00")).map(|(task, _)| task.trim());
    // CPU 0 never switches, and it is unknown who is on CPU 1 after the second loss: neither is claimed to be idle.
    let expected = ["<...>-0", "B-11", "B-11", "C-12", "<idle>-0", "<idle>-0", "C-12", "<...>-0"];
    assert_eq!(tasks.collect::<Vec<_>>(), expected);
    assert_eq!(read(&written).unwrap().0, read(&trace.concat()).unwrap().0, "our reader takes such lines");
}
