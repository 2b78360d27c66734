//! Sampled profiles with known answers: one line per call chain, `task: outermost … innermost × samples`; kernel
//! functions have the prefix `k:`, a function without a name is `?`.

use schedlab_analyze::profile::{
    Operations, Profile, ProfileFindings, ProfileOptions, SortBy, annotate, folded, functions_named, profile,
};
use schedlab_plan::profile::{CallChain, Frame, Function, Image, Instruction, Sample};

/// The index of a value in the list; adds it if it is missing.
fn number<T: PartialEq>(all: &mut Vec<T>, value: T) -> u32 {
    let at = all.iter().position(|other| *other == value).unwrap_or_else(|| {
        all.push(value);
        all.len() - 1
    });
    at as u32
}

/// One sample per millisecond from the first second on, each with a weight of 1 ms.
fn drawn(lines: &str) -> Profile {
    let mut made =
        Profile { pace: "cpu-clock".into(), unit: "ns".into(), start_ns: 1_000_000_000, ..Profile::default() };
    made.blind_with_interrupts_off = true;
    made.images = vec![
        Image { name: "/bin/program".into(), is_kernel: false },
        Image { name: "[kernel]".into(), is_kernel: true },
    ];
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (comm, rest) = line.split_once(": ").unwrap();
        let (chain, samples) = rest.split_once(" × ").unwrap();
        let mut frames: Vec<u32> = Vec::new();
        for word in chain.split(' ').rev() {
            let (image, word) = word.strip_prefix("k:").map_or((0, word), |name| (1, name));
            let (name, offset) = word.split_once('+').unwrap_or((word, "0"));
            let name = if name == "?" { "" } else { name }.to_owned();
            let function = number(&mut made.functions, Function { name, image, ..Function::default() });
            frames.push(number(&mut made.frames, Frame { function, offset: offset.parse().unwrap() }));
        }
        let idle_task = comm == "swapper";
        let comm = number(&mut made.comms, comm.to_owned());
        let chain = number(&mut made.chains, CallChain { comm, idle_task, frames });
        for _ in 0..samples.parse::<u32>().unwrap() {
            let at_us = made.samples.len() as u32 * 1_000;
            made.samples.push(Sample { at_us, weight: 1_000_000, chain, ..Sample::default() });
        }
    }
    made
}

const PING: &str = "
    ping: main+10 k:do_syscall_64+5 k:pipe_write+7 × 10
    ping: main+10 k:do_syscall_64+5 k:schedule+1 k:finish_task_switch.isra.0+9 × 40
    pong: main+20 k:do_syscall_64+5 k:pipe_read+3 × 20
    pong: main+22 × 10
    pong: ? × 20
    swapper: k:do_idle k:pv_native_safe_halt × 50
    swapper: k:do_idle k:handle_softirqs × 0
";

/// `function alone with-callees` of each row.
fn rows(found: &ProfileFindings) -> Vec<String> {
    let row = |f: &schedlab_analyze::profile::FunctionShare| {
        format!("{} {:.0} {:.0}", f.name, f.share * 100.0, f.share_with_callees * 100.0)
    };
    found.functions.iter().map(row).collect()
}

#[test]
fn shares_are_of_the_time_that_cpus_worked() {
    let found = profile(&drawn(PING), &ProfileOptions::default());
    assert_eq!((found.samples, found.idle_samples, found.weight), (100, 50, 100_000_000));
    let expected = [
        "finish_task_switch.isra.0 40 40",
        " 20 20",
        "pipe_read 20 20",
        "main 10 80",
        "pipe_write 10 10",
        "do_syscall_64 0 70",
        "schedule 0 40",
    ];
    assert_eq!(rows(&found), expected);
    assert_eq!(found.functions[1].image_base(), "program");
    let first = &found.functions[0];
    assert!((0.08..0.11).contains(&first.share_margin), "{}", first.share_margin);
    assert_eq!((first.per_operation, found.per_operation), (None, None));
    let tasks: Vec<(&str, u64)> = found.tasks.iter().map(|t| (t.comm.as_str(), t.samples)).collect();
    assert_eq!(tasks, [("ping", 50), ("pong", 50)]);
}

#[test]
fn what_stands_where_interrupts_come_back_on_is_marked_unless_the_pace_sees_through() {
    let mut drawn = drawn(PING);
    let marked = |found: &ProfileFindings| -> Vec<String> {
        found.functions.iter().filter(|f| f.interrupts_back_on).map(|f| f.name.clone()).collect()
    };
    let found = profile(&drawn, &ProfileOptions::default());
    assert_eq!(marked(&found), ["finish_task_switch.isra.0", "do_syscall_64"]);
    assert_eq!(found.share_interrupts_back_on, Some(0.4));
    drawn.blind_with_interrupts_off = false;
    let found = profile(&drawn, &ProfileOptions::default());
    assert_eq!((marked(&found), found.share_interrupts_back_on), (Vec::new(), None));
    drawn.blind_with_interrupts_off = true;
    drawn.images[1].is_kernel = false;
    assert!(
        marked(&profile(&drawn, &ProfileOptions::default())).is_empty(),
        "a program's function of that name is its own"
    );
}

#[test]
fn operations_take_the_samples_of_their_time() {
    let drawn = drawn(PING);
    // Of the samples from 10 ms to 50 ms, 40 are in the switch.
    let during_ns = (1_010_000_000, 1_050_000_000);
    let operations = Operations { count: 20, name: "round trip".into(), during_ns };
    let options = ProfileOptions { operations: Some(operations), ..ProfileOptions::default() };
    let found = profile(&drawn, &options);
    assert_eq!((found.samples, found.per_operation), (40, Some(2_000_000.0)));
    let switch = &found.functions[0];
    assert_eq!((switch.per_operation, switch.per_operation_with_callees), (Some(2_000_000.0), Some(2_000_000.0)));
    let nothing_done = ProfileOptions { operations: Some(Operations::default()), ..ProfileOptions::default() };
    assert_eq!(profile(&drawn, &nothing_done).samples, 100, "without an operation the whole is told");
}

#[test]
fn parts_of_few_samples_are_not_held_against_others() {
    let of = |samples: u32| profile(&drawn(&format!("ping: main k:schedule × {samples}")), &ProfileOptions::default());
    assert!(of(5).comparable_groups().unwrap_err().starts_with("only 5 samples in a trial"));
    assert_eq!(of(400).comparable_groups().unwrap().groups[0].group, "scheduler");
}

#[test]
fn tables_are_cut_and_say_so() {
    let options = ProfileOptions { top: Some(2), top_chains: Some(1), sort: SortBy::Total, operations: None };
    let found = profile(&drawn(PING), &options);
    assert_eq!(rows(&found), ["main 10 80", "do_syscall_64 0 70"]);
    assert_eq!((found.more_functions, found.more_chains, found.chains.len()), (5, 4, 1));
    assert_eq!(found.chains[0].functions, ["main", "do_syscall_64", "schedule", "finish_task_switch.isra.0"]);
    assert_eq!(found.chains[0].share, 0.4);
}

#[test]
fn a_function_that_calls_itself_counts_once() {
    let found = profile(&drawn("p: main walk walk walk × 3\np: main walk × 1"), &ProfileOptions::default());
    assert_eq!(rows(&found), ["walk 100 100", "main 0 100"]);
}

#[test]
fn interrupts_served_while_idle_are_work() {
    let found = profile(
        &drawn("swapper: k:do_idle k:net_rx_action × 3\nswapper: k:default_idle × 1"),
        &ProfileOptions::default(),
    );
    assert_eq!((found.samples, found.idle_samples), (3, 1));
}

#[test]
fn stacks_fold_to_what_flame_graphs_are_drawn_from() {
    let mut drawn = drawn(PING);
    drawn.comms[0] = "pi;ng\n".into();
    let lines: Vec<String> = folded(&drawn, None).into_iter().map(|(stack, n)| format!("{stack} {n}")).collect();
    let expected = [
        "pi:ng ;main;do_syscall_64;pipe_write 10",
        "pi:ng ;main;do_syscall_64;schedule;finish_task_switch.isra.0 40",
        "pong;[program] 20",
        "pong;main 10",
        "pong;main;do_syscall_64;pipe_read 20",
    ];
    assert_eq!(lines, expected);
    let none = folded(&drawn, Some((0, 5)));
    assert!(none.is_empty());
}

#[test]
fn instructions_take_the_samples_that_stand_on_them() {
    let drawn = drawn("p: main+4 f+8 × 3\np: main+4 f+12 × 1\np: f+16 g+2 × 5\np: f+16 × 0");
    let [f] = functions_named(&drawn, "f").unwrap()[..] else { panic!("one function") };
    let text = |offset: u64, text: &str| Instruction { offset, text: text.into() };
    let code = Ok(vec![text(0, "push rbp"), text(8, "sti"), text(12, "ret")]);
    let found = annotate(&drawn, f, None, &code);
    let rows: Vec<String> =
        found.rows.iter().map(|r| format!("{} {} {:.2} {}", r.offset, r.samples, r.share, r.text)).collect();
    assert_eq!(rows, ["0 0 0.00 push rbp", "8 3 0.75 sti", "12 1 0.25 ret"]);
    assert_eq!((found.samples, found.share), (4, 4.0 / 9.0));
    let found = annotate(&drawn, f, None, &Err("no file".into()));
    let offsets: Vec<u64> = found.rows.iter().map(|row| row.offset).collect();
    assert_eq!((offsets, found.no_text.as_deref()), (vec![8, 12], Some("no file")));
}

#[test]
fn a_function_is_found_by_its_name_or_the_nearest_is_named() {
    let drawn = drawn(PING);
    assert_eq!(functions_named(&drawn, "finish_task_switch").unwrap().len(), 1);
    assert_eq!(functions_named(&drawn, "finish_task_switch.isra.0").unwrap().len(), 1);
    let why = functions_named(&drawn, "pipe_rite").unwrap_err();
    assert_eq!(why, "no sample is in a function `pipe_rite` (did you mean `pipe_write`?)");
    assert!(functions_named(&drawn, "").is_err());
    // A kernel in which the function has a prefix.
    let renamed = self::drawn("p: k:anon_pipe_write+7 × 10\np: k:vfs_write k:ksys_write × 1");
    let [write] = functions_named(&renamed, "pipe_write").unwrap()[..] else { panic!("one function") };
    assert_eq!(renamed.functions[write].name, "anon_pipe_write");
    assert!(functions_named(&renamed, "write").is_err(), "any of three");
}

#[test]
fn a_profile_of_nothing_or_with_wrong_numbers_has_findings_too() {
    let found = profile(&Profile::default(), &ProfileOptions::default());
    assert_eq!((found.samples, found.functions.len(), found.share_interrupts_back_on), (0, 0, None));
    let mut damaged = drawn(PING);
    damaged.frames.truncate(2);
    damaged.functions.truncate(1);
    damaged.images.clear();
    damaged.comms.clear();
    damaged.samples.push(Sample { weight: 1, chain: 999, ..Sample::default() });
    profile(&damaged, &ProfileOptions::default());
    folded(&damaged, None);
}
