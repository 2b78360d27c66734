//! Hand-written timelines that are parsed as traces. Each line is an event: CPU, time in µs, what happened. Threads are
//! letters with ids from 10 (`A`) on; `A=7` has another id, `A!50` another priority than 120; `.` is the idle thread.
//!
//! ```text
//! 0 10 A S > B            A leaves CPU 0 asleep, B gets it
//! 1 12 waking A by C      sched_waking, and where A was: `on 0`; `irq` or `softirq` behind it: in an interrupt in C
//! 0 13 wakeup A on 0
//! 0 14 new A by B on 0    … fork B A
//! 0 15 migrate A 0 1
//! 0 16 irq 27 eth0        … irq-end 27, softirq 3, softirq-end 3
//! 0 17 boost A 120 50
//! 0 18 queue w f on 0 by A    work item w of function f; activate w f, start w f by K, end w f by K
//! 0 19 call A 202 1f          sys_enter: number, first argument in hexadecimal; return A 202 0
//! 0 20 attach A /group
//! 0 21 lost 3
//! ```

use schedlab_analyze::trace::Reader;
use schedlab_trace::Kinds;
use std::fmt::Write;

/// A reader of a drawing.
pub(crate) fn drawn(text: &str, wanted: Kinds) -> Reader {
    Reader::open("drawing", Box::new(ftrace(text).into_bytes()), wanted).expect("a trace")
}

/// The lines that the kernel would print.
pub(crate) fn ftrace(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let cpu: u16 = words[0].parse().expect("a CPU");
        if let ["lost", number] = words[2..] {
            writeln!(out, "CPU:{cpu} [LOST {number} EVENTS]").expect("a string");
            continue;
        }
        let us: u64 = words[1].parse().expect("a time in µs");
        let (by, flags, event) = event(&words[2..]);
        let (comm, tid, _) = thread(by);
        let time = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
        writeln!(out, "{comm}-{tid} [{cpu:03}] {flags} {time}: {event}").expect("a string");
    }
    out
}

fn event<'a>(words: &[&'a str]) -> (&'a str, &'static str, String) {
    const PLAIN: &str = "d..2.";
    match *words {
        [prev, state, ">", next] => {
            let ((p, ptid, pprio), (n, ntid, nprio)) = (thread(prev), thread(next));
            let event = format!(
                "sched_switch: prev_comm={p} prev_pid={ptid} prev_prio={pprio} prev_state={state} ==> next_comm={n} \
                 next_pid={ntid} next_prio={nprio}"
            );
            (prev, PLAIN, event)
        }
        ["waking", who, "by", waker, "on", on, ref rest @ ..] => {
            let flags = match rest {
                ["irq"] => "d.h2.",
                ["softirq"] => "d.s2.",
                _ => PLAIN,
            };
            (waker, flags, wake("sched_waking", who, on))
        }
        ["wakeup", who, "on", on] => (".", PLAIN, wake("sched_wakeup", who, on)),
        ["new", who, "by", parent, "on", on] => (parent, PLAIN, wake("sched_wakeup_new", who, on)),
        ["fork", parent, child] => {
            let ((p, ptid, _), (c, ctid, _)) = (thread(parent), thread(child));
            (parent, PLAIN, format!("sched_process_fork: comm={p} pid={ptid} child_comm={c} child_pid={ctid}"))
        }
        ["migrate", who, from, to] => {
            let (comm, tid, prio) = thread(who);
            (".", PLAIN, format!("sched_migrate_task: comm={comm} pid={tid} prio={prio} orig_cpu={from} dest_cpu={to}"))
        }
        ["irq", line, name] => (".", "d.h2.", format!("irq_handler_entry: irq={line} name={name}")),
        ["irq-end", line] => (".", "d.h2.", format!("irq_handler_exit: irq={line} ret=handled")),
        ["softirq", vec] => (".", "d.s2.", format!("softirq_entry: vec={vec} [action=X]")),
        ["softirq-end", vec] => (".", "d.s2.", format!("softirq_exit: vec={vec} [action=X]")),
        ["boost", who, from, to] => {
            let (comm, tid, _) = thread(who);
            (who, PLAIN, format!("sched_pi_setprio: comm={comm} pid={tid} oldprio={from} newprio={to}"))
        }
        ["queue", work, function, "on", cpu, "by", who] => {
            let item = format!("work struct={work} function={function} workqueue=events req_cpu={cpu} cpu={cpu}");
            (who, PLAIN, format!("workqueue_queue_work: {item}"))
        }
        ["activate", work, _function] => (".", PLAIN, format!("workqueue_activate_work: work struct {work}")),
        ["start", work, function, "by", who] => {
            (who, PLAIN, format!("workqueue_execute_start: work struct {work}: function {function}"))
        }
        ["end", work, function, "by", who] => {
            (who, PLAIN, format!("workqueue_execute_end: work struct {work}: function {function}"))
        }
        ["call", who, number, arg0] => (who, PLAIN, format!("sys_enter: NR {number} ({arg0}, 0, 0, 0, 0, 0)")),
        ["return", who, number, ret] => (who, PLAIN, format!("sys_exit: NR {number} = {ret}")),
        ["attach", who, group] => {
            let (comm, tid, _) = thread(who);
            let group = format!("dst_root=0 dst_id=7 dst_level=1 dst_path={group}");
            (".", PLAIN, format!("cgroup_attach_task: {group} pid={tid} comm={comm}"))
        }
        _ => panic!("`{}` is not an event", words.join(" ")),
    }
}

fn wake(event: &str, who: &str, on: &str) -> String {
    let (comm, tid, prio) = thread(who);
    format!("{event}: comm={comm} pid={tid} prio={prio} target_cpu={on:0>3}")
}

fn thread(word: &str) -> (String, u32, i32) {
    let (word, prio) =
        word.split_once('!').map_or((word, 120), |(word, prio)| (word, prio.parse().expect("a priority")));
    match word.split_once('=') {
        _ if word == "." => ("<idle>".into(), 0, 120),
        Some((name, tid)) => (name.into(), tid.parse().expect("a thread id"), prio),
        None => (word.into(), 10 + u32::from(word.as_bytes()[0] - b'A'), prio),
    }
}
